/* SPDX-License-Identifier: Apache-2.0 */
/* A volume in a file, larger than a device should need to hold: mapped, in slabs, by 1 to 16
 * threads, from the file to labels as bits.  The file is written first, so its pages are in the
 * cache. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "slabs.h"

#define PLANE_EDGE  2048u
#define SLAB_PLANES 64u /* two more are the halo */

static int write_planes(const struct bench *b, FILE *f, const uint32_t *n)
{
    unsigned char *row = malloc(n[0]);
    int r = row ? 0 : -ENOMEM;

    for (uint32_t z = 0; r == 0 && z < n[2]; z++)
        for (uint32_t y = 0; r == 0 && y < n[1]; y++) {
            const unsigned char *from =
                b->values + ((size_t)(z % b->n[2]) * b->n[1] + y % b->n[1]) * b->n[0];

            for (uint32_t x = 0; x < n[0]; x += b->n[0])
                memcpy(row + x, from, n[0] - x < b->n[0] ? n[0] - x : b->n[0]);
            r = fwrite(row, 1, n[0], f) == n[0] ? 0 : -EIO;
        }
    free(row);
    return r;
}

/* The volume of the bench side by side, in a file that is gone when it is closed. */
static int make_file(const struct bench *b, const uint32_t *n, struct vox_volume *ret_volume)
{
    const struct vox_volume raw = {.n = {n[0], n[1], n[2]}, .value_bytes = 1};
    const char *folder = getenv("TMPDIR");
    char path[512], why[512] = "";
    FILE *f;
    int fd, r;

    snprintf(path, sizeof path, "%s/trigd-voxels-XXXXXX", folder ? folder : "/tmp");
    fd = mkstemp(path);
    f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f)
        return -errno;
    r = write_planes(b, f, n);
    if (fclose(f) != 0 && r == 0)
        r = -errno;
    if (r == 0 && vox_volume_open(path, &raw, ret_volume, why, sizeof why) < 0) {
        fprintf(stderr, "%s\n", why);
        r = -EINVAL;
    }
    unlink(path);
    return r;
}

static int run_slabs(void *arg, uint32_t times)
{
    struct vox_slabs_sums sums;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++)
        r = vox_slabs_run(arg, &sums);
    return r;
}

static int with_threads(const struct bench *b, const struct place *p, struct vox_slabs *job,
                        uint32_t threads)
{
    const uint32_t *n = job->volume->n;
    struct vox_slabs_lanes *lanes;
    struct work work = {run_slabs, NULL, (double)n[0] * n[1] * n[2], false};
    char figure[128];
    double per_s;
    int r;

    job->threads = threads;
    r = vox_slabs_open(job, &lanes);
    if (r < 0)
        return r;
    work.arg = lanes;
    snprintf(figure, sizeof figure, "out of core, %u x %u x %u, file to labels, %u threads", n[0],
             n[1], n[2], threads);
    r = measure(b, p, figure, &work, 0, &per_s);
    vox_slabs_close(lanes);
    return r;
}

int bench_out_of_core(const struct bench *b, const struct place *p)
{
    static const uint32_t threads[] = {1, 2, 4, 8, 16};
    const uint32_t n[] = {PLANE_EDGE, PLANE_EDGE, b->planes};
    struct vox_volume volume = {0};
    struct vox_slabs job = {
        .device = p->device, .tables = &b->tables, .volume = &volume, .planes = SLAB_PLANES};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int r;

    if (!b->planes)
        return 0;
    r = make_file(b, n, &volume);
    if (r == 0) {
        job.labels = malloc(vox_row_bytes(&volume) * n[1] * n[2]);
        r = job.labels ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < sizeof threads / sizeof *threads; i++)
        if ((long)threads[i] <= cores)
            r = with_threads(b, p, &job, threads[i]);
    free(job.labels);
    vox_volume_close(&volume);
    return r;
}
