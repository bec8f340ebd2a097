/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "declared.h"
#include "generator.h"
#include "roifile.h"

#define SENSORS 208u /* LHCb's files have a bank of each, also of those without words */

struct banks { /* of an RoI: columns of its message, which may be unaligned */
    size_t n;
    const uint8_t *sensor, *word;
};

/* Writes an RoI to `out`; -ENODATA: it does not hold what is wanted. */
typedef int write_roi(const Trigd__V1__Roi *roi, FILE *out);

struct form {
    const char *path, *folder, *suffix, *what; /* the RoI file; of the files; of the RoIs */
    write_roi *write;
};

static int fail(int error, const char *path, const char *what)
{
    fprintf(stderr, "trigreplay: %s: %s\n", path, what);
    return error;
}

/* The columns of a collection; NULL: there are none, or of several lengths. */
static const ProtobufCBinaryData *find_columns(const Trigd__V1__Roi *roi, uint32_t kind,
                                               size_t *ret_n)
{
    const struct trg_collection *info = kind_info(kind);

    for (size_t i = 0; i < roi->n_columns; i++) {
        const Trigd__V1__Columns *c = roi->columns[i];
        bool is_whole = c->hash == info->hash && c->n_column == info->n_columns;

        for (uint32_t k = 0; is_whole && k < info->n_columns; k++)
            is_whole = c->column[k].len / trg_column_bytes(&info->column[k]) ==
                       c->column[0].len / trg_column_bytes(&info->column[0]);
        if (is_whole) {
            *ret_n = c->column[0].len / trg_column_bytes(&info->column[0]);
            return c->column;
        }
    }
    return NULL;
}

static uint32_t sensor_of(const struct banks *b, size_t i)
{
    return b->sensor[2 * i] | (uint32_t)b->sensor[2 * i + 1] << 8;
}

static unsigned char *put(unsigned char *to, uint32_t word)
{
    for (int k = 0; k < 4; k++)
        *to++ = (unsigned char)(word >> 8 * k);
    return to;
}

/* The file as bytes; NULL: no memory. */
static unsigned char *layout(const struct banks *b, uint32_t n_banks, size_t *ret_bytes)
{
    const size_t table = 4 + 4 * ((size_t)n_banks + 1),
                 bytes = table + 8 * (size_t)n_banks + 4 * b->n;
    unsigned char *all = calloc(1, bytes), *to;
    uint32_t *count = calloc(n_banks + (size_t)1, sizeof *count);

    if (all && count) {
        for (size_t i = 0; i < b->n; i++)
            count[sensor_of(b, i)]++;
        to = put(all, n_banks);
        for (uint32_t s = 0, at = 0; s <= n_banks; at += 8 + 4 * count[s++])
            to = put(to, at);
        for (uint32_t s = 0; s < n_banks; s++) {
            to = put(put(to, s), count[s]);
            for (size_t i = 0; count[s] && i < b->n; i++)
                if (sensor_of(b, i) == s) {
                    memcpy(to, b->word + 4 * i, 4);
                    to += 4;
                }
        }
        *ret_bytes = bytes;
    } else {
        free(all);
        all = NULL;
    }
    free(count);
    return all;
}

static int write_banks(const Trigd__V1__Roi *roi, FILE *out)
{
    struct banks b;
    const ProtobufCBinaryData *column = find_columns(roi, generator_banks_kind(), &b.n);
    uint32_t n_banks = SENSORS;
    unsigned char *bytes;
    size_t size = 0;
    int r = 0;

    if (!column)
        return -ENODATA;
    b.sensor = column[0].data;
    b.word = column[1].data;
    for (size_t i = 0; i < b.n; i++)
        n_banks = sensor_of(&b, i) >= n_banks ? sensor_of(&b, i) + 1 : n_banks;
    bytes = layout(&b, n_banks, &size);
    if (!bytes)
        r = -ENOMEM;
    else if (fwrite(bytes, 1, size, out) != size)
        r = -EIO;
    free(bytes);
    return r;
}

static int write_pixels(const Trigd__V1__Roi *roi, FILE *out)
{
    size_t n;
    const ProtobufCBinaryData *column = find_columns(roi, generator_pixels_kind(), &n);

    if (!column)
        return -ENODATA;
    fputs("module,column,row,charge\n", out);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            const uint8_t *b = column[k].data + 2 * i;

            fprintf(out, "%u%c", b[0] | (unsigned int)b[1] << 8, k < 3 ? ',' : '\n');
        }
    return ferror(out) ? -EIO : 0;
}

static int write_one(const struct form *f, const Trigd__V1__Roi *roi)
{
    char name[4096];
    FILE *out;
    int r;

    if ((size_t)snprintf(name, sizeof name, "%s/%u_%u%s", f->folder, roi->run, roi->l1id,
                         f->suffix) >= sizeof name)
        return fail(-ENAMETOOLONG, f->folder, "the path is too long");
    out = fopen(name, "wbx");
    if (!out)
        return fail(-errno, name, strerror(errno));
    r = f->write(roi, out);
    if (fclose(out) != 0 && r == 0)
        r = -EIO;
    if (r < 0)
        remove(name);
    if (r == -ENODATA)
        return fail(r, f->path, f->what);
    return r < 0 ? fail(r, name, r == -ENOMEM ? "no memory" : "cannot be written") : 0;
}

static int write_record(const struct form *f, const void *bytes, size_t n, int64_t *n_files)
{
    Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    int r = 0;

    if (!b)
        return fail(-EBADMSG, f->path, "a record is damaged");
    for (size_t i = 0; r == 0 && i < b->n_rois; i++) {
        r = write_one(f, b->rois[i]);
        *n_files += r == 0;
    }
    trigd__v1__roi_batch__free_unpacked(b, NULL);
    return r;
}

static int64_t write_all(const struct form *f, uint32_t kind)
{
    struct roifile_reader *file;
    int64_t n_files = 0;
    const void *bytes;
    size_t n;
    int r = kind ? roifile_open(f->path, &file) : -ENOMEM;

    if (r < 0)
        return fail(r, f->path, roifile_why(r));
    if (mkdir(f->folder, 0777) < 0 && errno != EEXIST)
        r = fail(-errno, f->folder, strerror(errno));
    while (r == 0 && (r = roifile_next(file, &bytes, &n)) == 1)
        r = write_record(f, bytes, n, &n_files);
    roifile_close(file);
    return r < 0 ? r : n_files;
}

int64_t export_banks(const char *path, const char *folder)
{
    const struct form f = {path, folder, ".bin", "an RoI without banks", write_banks};

    return write_all(&f, generator_banks_kind());
}

int64_t export_pixels(const char *path, const char *folder)
{
    const struct form f = {path, folder, "-pixels.csv", "an RoI without pixels", write_pixels};

    return write_all(&f, generator_pixels_kind());
}
