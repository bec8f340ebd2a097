/* SPDX-License-Identifier: Apache-2.0 */
#include "imports.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "roifile.h"

int make_place(void **state)
{
    struct place *p = calloc(1, sizeof *p);

    assert_non_null(p);
    snprintf(p->folder, sizeof p->folder, "%.60s/import-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->out, sizeof p->out, "%s/out.roi", p->folder);
    import_init(&p->im);
    *state = p;
    return 0;
}

void forget(struct place *p)
{
    while (p->n)
        trigd__v1__roi_batch__free_unpacked(p->roi[--p->n], NULL);
    while (p->n_files) {
        unlink(p->file[--p->n_files]);
        free(p->file[p->n_files]);
    }
    unlink(p->out);
}

int clear_place(void **state)
{
    struct place *p = *state;

    forget(p);
    import_fini(&p->im);
    assert_int_equal(rmdir(p->folder), 0);
    free(p);
    return 0;
}

/* A file of the folder; gzipped if its name says so. */
void put(struct place *p, const char *name, const char *text)
{
    char *path;
    gzFile f;

    assert_true(p->n_files < FILES_MAX);
    assert_true(asprintf(&path, "%s/%s", p->folder, name) > 0);
    p->file[p->n_files++] = path;
    f = gzopen(path, strstr(name, ".gz") ? "wb" : "wbT");
    assert_non_null(f);
    assert_int_equal(gzputs(f, text), (int)strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
}

int import_one(struct place *p, const char *format, char *path)
{
    const struct import_format *f = import_find(format);

    assert_non_null(f);
    return import_files(&p->im, f, &path, 1, p->out);
}

/* Imports the path, which must work, and reads all RoIs. */
void imports(struct place *p, const char *format, char *path)
{
    struct roifile_reader *r;
    const void *bytes;
    size_t n;

    if (import_one(p, format, path) < 0)
        fail_msg("%s", p->im.problem.text);
    assert_int_equal(roifile_open(p->out, &r), 0);
    while (roifile_next(r, &bytes, &n) == 1) {
        assert_true(p->n < ROIS_MAX);
        p->roi[p->n] = trigd__v1__roi_batch__unpack(NULL, n, bytes);
        assert_non_null(p->roi[p->n]);
        assert_int_equal(p->roi[p->n]->n_rois, 1);
        p->n++;
    }
    roifile_close(r);
}

/* Importing fails with this sentence, and leaves no file. */
void refuses(struct place *p, const char *format, char *path, const char *sentence)
{
    const char *text = p->im.problem.text;

    assert_true(import_one(p, format, path) < 0);
    if (!strstr(text, sentence))
        fail_msg("\"%s\" does not say \"%s\"", text, sentence);
    assert_true(access(p->out, F_OK) < 0);
}

const Trigd__V1__Roi *roi(const struct place *p, uint32_t i)
{
    assert_true(i < p->n);
    return p->roi[i]->rois[0];
}

void assert_near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance))
        fail_msg("%g is not %g within %g", value, want, tolerance);
}

unsigned int layer_of(const Trigd__V1__Roi *r, size_t hit)
{
    return r->hits->layer.data[2 * hit] + 256u * r->hits->layer.data[2 * hit + 1];
}
