/* SPDX-License-Identifier: Apache-2.0 */
/* A head of nested, folded ellipsoids with noise: skin, fluid, grey and white matter.  Every eight
 * RoIs are the bricks of one, with its own place, size and folds.  A voxel is a function of its
 * volume and its place, so the halos of neighbours are the same. */
#include <string.h>

#include "gen.h"
#include "gen_bricks.h"

#define NX    128u
#define NY    128u
#define NZ    96u
#define NOISE 32u /* values of a tissue spread by as much to either side */

static const uint32_t size[3] = {NX, NY, NZ};

/* From the outside in: where a tissue begins, in radii of the head, and its value. */
static const struct shell {
    double radius;
    int value;
    bool is_folded;
} shells[] = {{0.95, 80, false}, {0.88, 45, false}, {0.80, 130, true}, {0.62, 180, true}};
#define N_SHELLS (sizeof shells / sizeof *shells)
#define WHITE    N_SHELLS

struct phantom {
    uint64_t key; /* of the noise */
    double at[3][NX], fold[3][NX];
    bool is_truth; /* 255 where there is white matter, else 0 */
};

/* A sine of any x. */
static double wave(double x)
{
    const double turns = x / (2 * EXACT_PI);

    return exact_sin_wide((turns - floor(turns + 0.5)) * 2 * EXACT_PI);
}

static void make(uint64_t seed, uint64_t volume, struct phantom *p)
{
    static const double waves[3] = {17, 19, 23};
    struct random r;

    random_seed(&r, seed, volume);
    p->key = random_u64(&r);
    for (uint32_t a = 0; a < 3; a++) {
        const double centre = random_range(&r, -0.06, 0.06), scale = random_range(&r, 0.9, 1.0);
        const double phase = random_range(&r, -EXACT_PI, EXACT_PI);

        for (uint32_t i = 0; i < size[a]; i++) {
            p->at[a][i] = ((2 * (i + 0.5)) / size[a] - 1 - centre) / scale;
            p->fold[a][i] = wave(waves[a] * p->at[a][i] + phase);
        }
    }
}

/* How many shells the voxel lies within. */
static uint32_t depth(const struct phantom *p, uint32_t x, uint32_t y, uint32_t z)
{
    const double a = p->at[0][x], b = p->at[1][y], c = p->at[2][z];
    const double radius = sqrt(a * a + b * b + c * c);
    const double fold = 0.05 * p->fold[0][x] * p->fold[1][y] * p->fold[2][z];
    uint32_t n = 0;

    while (n < N_SHELLS && radius + (shells[n].is_folded ? fold : 0) < shells[n].radius)
        n++;
    return n;
}

static void row(const void *ctx, uint32_t x, uint32_t y, uint32_t z, uint32_t count, uint8_t *out)
{
    const struct phantom *p = ctx;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tissue = depth(p, x + i, y, z);
        struct random noise = {.state = p->key ^ (((uint64_t)z * NY + y) * NX + x + i)};
        int value = tissue ? shells[tissue - 1].value : 12;

        value += (int)(random_u64(&noise) % (2 * NOISE + 1)) - (int)NOISE;
        value = value < 0 ? 0 : value;
        out[i] = (uint8_t)(p->is_truth ? (tissue == WHITE ? 255 : 0) : value);
    }
}

int gen_phantom_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                     struct generated *ret_roi)
{
    struct phantom p = {.is_truth = preset->detector == GENERATOR_PHANTOM_TRUTH};
    const struct bricks_volume v = {
        .n = {NX, NY, NZ}, .width = 256, .edge = BRICKS_EDGE, .row = row, .ctx = &p};
    const uint32_t bricks = bricks_count(&v);

    make(seed, i / bricks, &p);
    return bricks_cut(&v, (uint32_t)(i % bricks), (uint32_t)(i / bricks), ret_roi);
}
