/* SPDX-License-Identifier: Apache-2.0 */
#include "held.h"

#include <dirent.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "roifile.h"

static void hold_rois(struct roifile_reader *file, held_roi *each, void *ctx, struct held *h)
{
    const void *bytes;
    size_t n;

    while (roifile_next(file, &bytes, &n) == 1) {
        Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n, bytes);

        assert_non_null(b);
        assert_int_equal(b->n_rois, 1);
        assert_true(b->rois[0]->l1id < HELD_ROIS);
        assert_true(b->rois[0]->kept && b->rois[0]->kept->decision);
        assert_int_equal(b->rois[0]->kept->decision->l1id, b->rois[0]->l1id);
        h->n_twice += h->seen[b->rois[0]->l1id]++ != 0;
        h->n_rois++;
        each(ctx, b->rois[0]);
        if (h->first)
            trigd__v1__roi_batch__free_unpacked(b, NULL);
        else
            h->first = b;
    }
    assert_int_equal(roifile_lost(file), 0);
}

static void nothing(void *ctx, const Trigd__V1__Roi *roi)
{
    (void)ctx;
    (void)roi;
}

void held_read(const struct server *s, const char *pattern, struct held *ret_held)
{
    held_each(s, pattern, nothing, NULL, ret_held);
}

void held_each(const struct server *s, const char *pattern, held_roi *each, void *ctx,
               struct held *ret_held)
{
    char path[512];
    const struct dirent *e;
    DIR *d;

    memset(ret_held, 0, sizeof *ret_held);
    snprintf(path, sizeof path, "%s/state/streams", s->folder);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        struct roifile_reader *file;
        uint64_t blocks, rois;
        const uint32_t before = ret_held->n_rois;

        if (fnmatch(pattern, e->d_name, 0) != 0)
            continue;
        snprintf(path, sizeof path, "%s/state/streams/%s", s->folder, e->d_name);
        assert_int_equal(roifile_open(path, &file), 0);
        hold_rois(file, each, ctx, ret_held);
        if (roifile_totals(file, &blocks, &rois) == 1)
            assert_int_equal(rois, ret_held->n_rois - before);
        else
            assert_non_null(strstr(e->d_name, ".part"));
        roifile_close(file);
        ret_held->n_files++;
    }
    closedir(d);
}

void held_free(struct held *h)
{
    if (h->first)
        trigd__v1__roi_batch__free_unpacked(h->first, NULL);
    h->first = NULL;
}

uint32_t held_remove(const struct server *s, const char *pattern)
{
    char path[512];
    const struct dirent *e;
    uint32_t n = 0;
    DIR *d;

    snprintf(path, sizeof path, "%s/state/streams", s->folder);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL)
        if (fnmatch(pattern, e->d_name, 0) == 0)
            n += unlinkat(dirfd(d), e->d_name, 0) == 0;
    closedir(d);
    return n;
}
