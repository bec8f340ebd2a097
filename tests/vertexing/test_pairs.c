/* SPDX-License-Identifier: Apache-2.0 */
/* Pairwise seeding against the procedure of LHCb-PUB-2014-044, one pair after the other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kit.h"
#include "seeds.program.h"
#include "testing.h"

#define TRACKS 300u

struct cluster {
    double z, var;
    uint32_t n;
};

/* Of all pairs with D < 5 the one with the least |dz| becomes one, until there is none. */
static uint32_t merge_all(struct cluster *c, uint32_t n)
{
    for (;;) {
        double least = INFINITY;
        uint32_t a = 0, b = 0;

        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = i + 1; j < n; j++) {
                const double d = fabs(c[i].z - c[j].z);

                if (d < least && d * d < 25 * (c[i].var + c[j].var)) {
                    least = d;
                    a = i;
                    b = j;
                }
            }
        if (least == INFINITY)
            return n;
        c[a].z = (c[a].z * c[b].var + c[b].z * c[a].var) / (c[a].var + c[b].var);
        c[a].var = c[a].var * c[b].var / (c[a].var + c[b].var);
        c[a].n += c[b].n;
        c[b] = c[--n];
    }
}

static int by_z(const void *a, const void *b)
{
    const double x = ((const struct cluster *)a)->z, y = ((const struct cluster *)b)->z;

    return (x > y) - (x < y);
}

/* Six collisions, and tracks from anywhere. */
static void make(uint64_t *random, struct cluster *c, float *entry)
{
    double at[6];

    for (uint32_t k = 0; k < 6; k++)
        at[k] = 50 * toy_gauss(random);
    for (uint32_t i = 0; i < TRACKS; i++) {
        const double sigma = 0.05 - 0.3 * log(toy_uniform(random));

        entry[i] = (float)(i % 7 < 6 ? at[i % 7] + sigma * toy_gauss(random)
                                     : 200 * (toy_uniform(random) - 0.5));
        entry[TRACKS + i] = (float)(sigma * sigma);
        c[i] = (struct cluster){(double)entry[i], (double)entry[TRACKS + i], 1};
    }
}

struct pairs_case {
    uint64_t seed;
    uint32_t same, all; /* seeds that are the same, of how many */
};

static void run_one(struct kit *k, uint64_t *random, struct pairs_case *p)
{
    static const uint32_t offsets[2] = {0, TRACKS};
    const struct vx_par par = {.in = {.n_rois = 1, .n_items = TRACKS},
                               .n_rois = 1,
                               .items_room = TRACKS,
                               .max_pv = VX_PV_MAX,
                               .pair_distance = 5,
                               .seed_min_tracks = 3};
    const uint32_t places = vx_place(TRACKS, 1);
    struct cluster c[TRACKS];
    struct vx_vertex seeds[TRACKS];
    struct trg_buffer *data, *z, *grids, *out, *count;
    struct vx_counts counts;
    float entry[2 * TRACKS];
    uint32_t n, want = 0;

    make(random, c, entry);
    assert_int_equal(kit_upload(k, offsets, sizeof offsets, &data), 0);
    assert_int_equal(kit_upload(k, entry, sizeof entry, &z), 0);
    assert_int_equal(kit_upload(k, &(struct vx_grid){0}, sizeof(struct vx_grid), &grids), 0);
    assert_int_equal(kit_upload(k, NULL, places * sizeof *seeds, &out), 0);
    assert_int_equal(kit_upload(k, &(struct vx_counts){0}, sizeof counts, &count), 0);
    const struct trg_arg args[] = {TRG_BUF(data), TRG_BUF(z),     TRG_BUF(grids),
                                   TRG_BUF(out),  TRG_BUF(count), TRG_VAL(par)};

    assert_int_equal(kit_launch(k, "vx_seed_pairs", 1, 128, args, 6), 0);
    assert_int_equal(kit_download(k, count, &counts, sizeof counts), 0);
    assert_int_equal(kit_download(k, out, seeds, places * sizeof *seeds), 0);
    assert_int_equal(counts.n_seeds, counts.seeds_all);
    n = merge_all(c, TRACKS);
    qsort(c, n, sizeof *c, by_z);
    for (uint32_t i = 0; i < n; i++) {
        if (c[i].n < 3)
            continue;
        want++;
        for (uint32_t s = 0; s < counts.n_seeds; s++)
            if (fabs((double)seeds[s].z - c[i].z) < 1e-3 && seeds[s].weight == (float)c[i].n) {
                p->same++;
                break;
            }
    }
    p->all += want > counts.n_seeds ? want : counts.n_seeds;
    trg_buffer_free(data);
    trg_buffer_free(z);
    trg_buffer_free(grids);
    trg_buffer_free(out);
    trg_buffer_free(count);
}

static void on_device(struct trg_device *device, void *arg)
{
    struct pairs_case *p = arg;
    uint64_t random = p->seed;
    struct kit k;

    p->same = p->all = 0;
    assert_int_equal(kit_open(device, &seeds_program, &k), 0);
    for (uint32_t i = 0; i < 30; i++)
        run_one(&k, &random, p);
    kit_close(&k);
    print_message("%u of %u seeds are those of one pair after the other\n", p->same, p->all);
    assert_true(p->same > 0.99 * p->all);
}

/* Pairs that are each other's nearest merge at a time: the same seeds, but for a few where a
 * cluster came nearer to a third while it grew. */
static void against_one_by_one(void **state)
{
    struct pairs_case p = {.seed = fresh_seed()};

    (void)state;
    each_device(on_device, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_one_by_one)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
