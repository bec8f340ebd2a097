/* SPDX-License-Identifier: Apache-2.0 */
/* The nine histogram algorithms: on every device the same integers as a naive count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "histogram.program.h"
#include "kit.h"
#include "testing.h"

#define ROIS_MAX 5u

struct sizes {
    uint32_t n_rois, entries, bins, weighted;
};

struct input {
    struct sizes s;
    uint32_t offsets[ROIS_MAX + 1];
    float *z;
    uint32_t *weights;
    struct vx_grid grids[ROIS_MAX];
    uint32_t *want; /* [n_rois][bins] */
};

static void make(struct input *in, struct sizes s, uint64_t *random)
{
    uint32_t n = 0;

    memset(in, 0, sizeof *in);
    in->s = s;
    for (uint32_t r = 0; r < s.n_rois; r++) {
        in->offsets[r] = n;
        n += r == 1 ? 0 : s.entries; /* one of them is empty */
        in->grids[r] = (struct vx_grid){.first = -100,
                                        .inv_width = (float)s.bins / 200,
                                        .width = 200 / (float)s.bins,
                                        .n_bins = s.bins - r % 3};
    }
    in->offsets[s.n_rois] = n;
    in->z = calloc(n + 1, sizeof *in->z);
    in->weights = calloc(n + 1, sizeof *in->weights);
    in->want = calloc((size_t)s.n_rois * s.bins, sizeof *in->want);
    assert_true(in->z && in->weights && in->want);
    for (uint32_t i = 0; i < n; i++) {
        double u = toy_uniform(random); /* some outside, some crowding in one bin */

        in->z[i] = u < 0.05   ? VX_NOWHERE
                   : u < 0.15 ? -150 + 300 * (float)toy_uniform(random)
                   : u < 0.4  ? 3.0f
                              : 40 * (float)toy_gauss(random);
        in->weights[i] = 1 + (uint32_t)(16 * toy_uniform(random));
    }
    for (uint32_t r = 0; r < s.n_rois; r++)
        for (uint32_t i = in->offsets[r]; i < in->offsets[r + 1]; i++) {
            /* the rule is float32: that is part of the contract */
            float b = (in->z[i] - in->grids[r].first) * in->grids[r].inv_width;

            if (b >= 0 && floorf(b) < (float)in->grids[r].n_bins)
                in->want[r * s.bins + (uint32_t)b] += s.weighted ? in->weights[i] : 1;
        }
}

static void drop(struct input *in)
{
    free(in->z);
    free(in->weights);
    free(in->want);
}

static void run_algorithm(struct kit *k, const struct vx_histogram_kernels *kernels,
                          const struct input *in, enum vx_histogram algorithm)
{
    const uint32_t n = in->offsets[in->s.n_rois];
    const size_t bytes = (size_t)in->s.n_rois * in->s.bins * sizeof(uint32_t);
    uint32_t *got = calloc(1, bytes);
    struct launcher l = launcher_on(k->queue, &k->info);
    struct vx_histogram_job job = {.kernels = kernels,
                                   .device = &k->info,
                                   .algorithm = algorithm,
                                   .n_entries = n,
                                   .n_bins = in->s.bins,
                                   .par = {.in = {.n_rois = in->s.n_rois, .n_items = n},
                                           .n_rois = in->s.n_rois,
                                           .bins_room = in->s.bins,
                                           .weighted = in->s.weighted}};

    assert_non_null(got);
    assert_int_equal(kit_upload(k, in->offsets, sizeof in->offsets, &job.data), 0);
    assert_int_equal(kit_upload(k, in->z, (n + 1) * sizeof *in->z, &job.z), 0);
    assert_int_equal(kit_upload(k, in->weights, (n + 1) * sizeof *in->weights, &job.weights), 0);
    assert_int_equal(kit_upload(k, in->grids, sizeof in->grids, &job.grids), 0);
    assert_int_equal(kit_upload(k, NULL, bytes, &job.bins), 0);
    vx_histogram_launch(&l, &job);
    assert_int_equal(l.result, 0);
    assert_int_equal(kit_download(k, job.bins, got, bytes), 0);
    for (uint32_t r = 0; r < in->s.n_rois; r++)
        for (uint32_t b = 0; b < in->grids[r].n_bins; b++)
            if (got[r * in->s.bins + b] != in->want[r * in->s.bins + b])
                fail_msg("algorithm %u, %u entries, %u bins, weighted %u: RoI %u bin %u has %u, "
                         "not %u",
                         (unsigned)algorithm, in->s.entries, in->s.bins, in->s.weighted, r, b,
                         got[r * in->s.bins + b], in->want[r * in->s.bins + b]);
    trg_buffer_free(job.data);
    trg_buffer_free(job.z);
    trg_buffer_free(job.weights);
    trg_buffer_free(job.grids);
    trg_buffer_free(job.bins);
    free(got);
}

static void on_device(struct trg_device *device, void *arg)
{
    static const struct sizes sizes[] = {
        {1, 100, 100, 0},   {3, 1000, 257, 1},  {5, 333, 1000, 1}, {1, 20000, 100, 0},
        {2, 5000, 8000, 0}, {1, 3000, 8192, 1}, {4, 1, 3, 1},
    };
    uint64_t random = *(uint64_t *)arg;
    struct vx_histogram_kernels kernels = {0};
    struct kit k;

    assert_int_equal(kit_open(device, &histogram_program, &k), 0);
    assert_int_equal(vx_histogram_open(device, VX_HIST_COUNT, &kernels), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct input in;

        make(&in, sizes[i], &random);
        for (uint32_t a = VX_HIST_AUTO; a < VX_HIST_COUNT; a++)
            run_algorithm(&k, &kernels, &in, (enum vx_histogram)a);
        drop(&in);
    }
    vx_histogram_close(&kernels);
    kit_close(&k);
}

static void all_algorithms(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    each_device(on_device, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_algorithms)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
