/* SPDX-License-Identifier: Apache-2.0 */
#include "phantom.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Grey values of the shells, from the outside in, and where each ends. */
static const struct shell {
    float radius, value;
} shells[] = {{0.62f, 190}, {0.80f, 130}, {0.88f, 30}, {0.95f, 80}};

static uint8_t tissue(float radius, float fold, uint32_t noise)
{
    float value = 8;

    for (uint32_t i = 4; i--;)
        if (radius + (i < 2 ? fold : 0) < shells[i].radius)
            value = shells[i].value;
    value += (float)(noise % 17) - 8;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

void phantom_head(const uint32_t *n, uint64_t seed, uint8_t *volume)
{
    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0]; x++) {
                const float a = 2 * ((float)x + 0.5f) / (float)n[0] - 1;
                const float b = 2 * ((float)y + 0.5f) / (float)n[1] - 1;
                const float c = 2 * ((float)z + 0.5f) / (float)n[2] - 1;
                const float fold = 0.04f * sinf(17 * a) * sinf(19 * b) * sinf(23 * c);

                *volume++ = tissue(sqrtf(a * a + b * b + c * c), fold, draw(&seed));
            }
}

void phantom_noise(const uint32_t *n, uint64_t seed, uint8_t *volume)
{
    const size_t all = (size_t)n[0] * n[1] * n[2];

    for (size_t i = 0; i < all; i++)
        volume[i] = (uint8_t)draw(&seed);
}

int phantom_model(const uint32_t *size, uint32_t n, uint64_t seed, struct vox_model *ret_model)
{
    struct vox_stump *stumps = calloc(n, sizeof *stumps);
    const int32_t most = n ? (1 << 29) / (int32_t)n - 1 : 0;

    if (!stumps)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        struct vox_stump *s = &stumps[i];
        const int32_t weight = (int32_t)(draw(&seed) % (uint32_t)most) + 1;
        const int32_t side = draw(&seed) % 2 ? 1 : -1;

        s->feature = (enum vox_feature)(draw(&seed) % VOX_FEATURES);
        if (s->feature < VOX_V)
            s->at_most = (int32_t)(draw(&seed) % size[s->feature]);
        else if (s->feature == VOX_S) /* small ones are the common ones */
            s->at_most = (int32_t)(draw(&seed) % (1u << draw(&seed) % 18u));
        else
            s->at_most = (int32_t)(draw(&seed) % 260u) - (s->feature == VOX_V ? 2 : 130);
        s->left = side * weight;
        s->right = draw(&seed) % 8 ? -s->left : s->left; /* some are constant */
    }
    *ret_model = (struct vox_model){.name = "phantom", .n_stumps = n, .stumps = stumps};
    return 0;
}
