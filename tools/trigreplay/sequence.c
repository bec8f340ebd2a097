/* SPDX-License-Identifier: Apache-2.0 */
#include "sequence.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "declared.h"
#include "log.h"
#include "roifile.h"
#include "roiset.h"

struct sequence {
    char **path;
    size_t n, next; /* files; the one to open */
    struct roifile_reader *file;
    struct roiset *met;
    Trigd__V1__RoiBatch *batch;
    size_t i; /* the next RoI of the batch */
};

/* ---------------------------------------------------------------- files */

static int add_path(struct sequence *in, const char *folder, const char *name)
{
    char **more = realloc(in->path, (in->n + 1) * sizeof *more);

    if (!more)
        return -ENOMEM;
    in->path = more;
    if (asprintf(&more[in->n], "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
        return -ENOMEM;
    in->n++;
    return 0;
}

static bool is_roi_file(const char *name)
{
    const char *end = strstr(name, ".roi");

    return end && (!end[4] || !strcmp(end, ".roi.part"));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_folder(struct sequence *in, const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    int r = d ? 0 : -errno;

    while (r == 0 && (e = readdir(d)) != NULL)
        if (is_roi_file(e->d_name))
            r = add_path(in, folder, e->d_name);
    if (d)
        closedir(d);
    if (in->n)
        qsort(in->path, in->n, sizeof *in->path, by_name);
    return r == 0 && !in->n ? -ENODATA : r;
}

/* Collections that a file declares are those of the RoIs that are sent. */
static int take_declarations(const char *path, const Trigd__V1__FileHeader *header)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < header->n_collections; i++) {
        char why[256];
        uint32_t kind;

        r = declared_add(header->collections[i], &kind, why, sizeof why);
        if (r < 0)
            log_error("replay", "a collection of the file cannot be used", "file=\"%s\" why=\"%s\"",
                      path, why);
    }
    return r;
}

static int open_next(struct sequence *in)
{
    const char *path = in->path[in->next];
    int r;

    roifile_close(in->file);
    in->file = NULL;
    r = roifile_open(path, &in->file);
    if (r == 0)
        r = take_declarations(path, roifile_header(in->file));
    in->next++;
    return r;
}

int sequence_open(const char *path, struct sequence **ret_sequence)
{
    struct sequence *in = calloc(1, sizeof *in);
    struct stat st;
    int r = in ? roiset_new(&in->met) : -ENOMEM;

    if (r == 0 && stat(path, &st) < 0)
        r = -errno;
    if (r == 0)
        r = S_ISDIR(st.st_mode) ? list_folder(in, path) : add_path(in, NULL, path);
    if (r == 0)
        r = open_next(in);
    if (r < 0) {
        sequence_close(in);
        return r;
    }
    *ret_sequence = in;
    return 0;
}

const Trigd__V1__FileHeader *sequence_header(const struct sequence *in)
{
    return roifile_header(in->file);
}

/* ---------------------------------------------------------------- RoIs */

static void drop_batch(struct sequence *in)
{
    if (in->batch)
        trigd__v1__roi_batch__free_unpacked(in->batch, NULL);
    in->batch = NULL;
    in->i = 0;
}

/* The next record of all files: 1; 0 at the end. */
static int next_batch(struct sequence *in)
{
    const void *bytes;
    size_t n;
    int r;

    drop_batch(in);
    while ((r = roifile_next(in->file, &bytes, &n)) == 0) {
        if (in->next == in->n)
            return 0;
        r = open_next(in);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    in->batch = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    return in->batch ? 1 : -EBADMSG;
}

/* Each RoI of the debug stream counts: what was sent again is there for another reason. */
static bool keeps_first(const Trigd__V1__FileHeader *h)
{
    return h->stream[0] && strcmp(h->stream, "debug") != 0;
}

int sequence_next(struct sequence *in, Trigd__V1__Roi **ret_roi)
{
    for (;;) {
        Trigd__V1__Roi *roi;
        int r = 1;

        while (!in->batch || in->i == in->batch->n_rois) {
            r = next_batch(in);
            if (r <= 0)
                return r;
        }
        roi = in->batch->rois[in->i++];
        if (keeps_first(roifile_header(in->file)))
            r = roiset_add(in->met, roi);
        if (r < 0)
            return r;
        if (r == 1) {
            *ret_roi = roi;
            return 1;
        }
    }
}

void sequence_close(struct sequence *in)
{
    if (!in)
        return;
    drop_batch(in);
    roifile_close(in->file);
    roiset_free(in->met);
    for (size_t i = 0; i < in->n; i++)
        free(in->path[i]);
    free(in->path);
    free(in);
}
