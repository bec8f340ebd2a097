/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as an RoI file.  Every call must return, whatever they are; a record
 * that is read twice must be the same, and an index may not count more records than there are
 * bytes.  A file that was recovered has its end, and the same records. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blockfile.h"
#include "roifile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_roifile: %s\n", what);
    abort(); /* lint: how libFuzzer is told */
}

/* Walks all records; returns how many, and a sum over their bytes. */
static uint64_t walk(struct roifile_reader *r, uint64_t *ret_sum)
{
    const void *bytes;
    uint64_t records = 0;
    size_t n;

    *ret_sum = 0;
    while (roifile_next(r, &bytes, &n) == 1) {
        Trigd__V1__RoiBatch *batch = trigd__v1__roi_batch__unpack(NULL, n, bytes);

        if (batch)
            trigd__v1__roi_batch__free_unpacked(batch, NULL);
        for (size_t i = 0; i < n; i++)
            *ret_sum = *ret_sum * 31 + ((const unsigned char *)bytes)[i];
        records++;
    }
    return records;
}

static void read_file(const char *path, size_t size)
{
    struct roifile_reader *r;
    uint64_t records = 0, rois = 0, sum, again, first;

    if (roifile_open(path, &r) < 0)
        return;
    require(roifile_header(r) != NULL, "an open file without a header");
    if (roifile_totals(r, &records, &rois) == 1)
        require(records <= size, "more records than bytes");
    first = walk(r, &sum);
    require(roifile_next(r, &(const void *){NULL}, &(size_t){0}) <= 0, "a record behind the last");
    roifile_rewind(r);
    require(walk(r, &again) == first && again == sum, "two walks differ");
    roifile_close(r);
}

/* Recovery keeps what can be read, and is done once. */
static void recover(const char *path)
{
    struct blockfile_recovery done, again;
    struct roifile_reader *r;
    uint64_t before, sum, sum_again, blocks, rois;

    if (roifile_open(path, &r) < 0)
        return;
    before = walk(r, &sum);
    roifile_close(r);
    if (blockfile_recover(path, &done) < 0)
        return;
    require(roifile_open(path, &r) == 0, "a recovered file cannot be opened");
    require(walk(r, &sum_again) == before && sum_again == sum, "recovery changed the records");
    if (!done.was_whole)
        require(roifile_totals(r, &blocks, &rois) == 1 && rois == done.rois, "it has no good end");
    roifile_close(r);
    require(blockfile_recover(path, &again) == 0 && again.was_whole, "it was not whole");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("roi", MFD_CLOEXEC);

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no memory file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_file(path, size);
    recover(path);
    close(fd);
    return 0;
}
