/* SPDX-License-Identifier: Apache-2.0 */
#include "roifiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

int place_make(void **state)
{
    struct place *p = calloc(1, sizeof *p);

    assert_non_null(p);
    snprintf(p->folder, sizeof p->folder, "%.40s/roifile-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof p->path, "%s/a.roi", p->folder);
    *state = p;
    return 0;
}

int place_clear(void **state)
{
    struct place *p = *state;

    unlink(p->path);
    rmdir(p->folder);
    free(p);
    return 0;
}

size_t batch_pack(uint32_t l1id, uint32_t n, unsigned char *dst, size_t room)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi roi[8], *list[8];

    assert_true(n <= 8);
    for (uint32_t i = 0; i < n; i++) {
        trigd__v1__roi__init(&roi[i]);
        roi[i].l1id = l1id + i;
        roi[i].eta = 0.5f * (float)i;
        list[i] = &roi[i];
    }
    batch.n_rois = n;
    batch.rois = list;
    assert_true(trigd__v1__roi_batch__get_packed_size(&batch) <= room);
    return trigd__v1__roi_batch__pack(&batch, dst);
}

int records_read(struct roifile_reader *r, uint32_t first, uint32_t n)
{
    const void *bytes;
    size_t size;

    for (uint32_t i = first; i < first + n; i++) {
        Trigd__V1__RoiBatch *batch;

        assert_int_equal(roifile_next(r, &bytes, &size), 1);
        batch = trigd__v1__roi_batch__unpack(NULL, size, bytes);
        assert_non_null(batch);
        assert_int_equal(batch->n_rois, 1 + i % 3);
        for (size_t k = 0; k < batch->n_rois; k++)
            assert_int_equal(batch->rois[k]->l1id, 100 * i + k);
        trigd__v1__roi_batch__free_unpacked(batch, NULL);
    }
    return roifile_next(r, &bytes, &size);
}

size_t file_load(const char *path, unsigned char *dst, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(dst, 1, room, f);
    assert_true(n < room);
    fclose(f);
    return n;
}

void file_store(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

void file_limit(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
