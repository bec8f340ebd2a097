/* SPDX-License-Identifier: Apache-2.0 */
/* A volume of the size of the MNI head, 8,675,289 voxels, under the project's models of 240 stumps:
 * every label of each device of a backend is that of the slow and obvious way, out of core and in
 * bricks.  So the labels of all backends are equal to the bit; the digest of each is printed, and
 * is the committed one. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"
#include "driver.h"
#include "phantom.h"
#include "reference.h"
#include "slabs.h"

#define EDGE  64u
#define BATCH 8u

static const uint32_t n[3] = {197, 233, 189};
static const struct head_case {
    const char *model;
    uint64_t digest; /* of the reference's labels as bits */
} cases[] = {{"mni-white", 0xbf0cdf96fd1b27ac}, {"mni-grey", 0x04f34772f30deec0}};

struct head {
    struct vox_volume volume; /* its values are `values` */
    struct vox_model model;
    uint8_t *values, *expected, *bricks;
    unsigned char *bits, *wanted;
    size_t bytes; /* of bits */
};

static uint64_t fnv1a(const unsigned char *data, size_t bytes)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ data[i]) * 1099511628211u;
    return h;
}

/* Nested shells of integers, so that the volume is the same wherever it is made. */
static void make_values(uint8_t *values)
{
    static const uint32_t ends[] = {20000, 34000, 46000, 56000}, shade[] = {190, 130, 30, 80};
    uint64_t state = 1;

    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0]; x++) {
                const int32_t a = (int32_t)(512 * x / n[0]) - 256,
                              b = (int32_t)(512 * y / n[1]) - 256;
                const int32_t c = (int32_t)(512 * z / n[2]) - 256;
                const uint32_t fold = (x * y / 64 + z) % 32 * 200;
                const uint32_t r = (uint32_t)(a * a + b * b + c * c) + fold;
                uint32_t s = 0;

                while (s < 4 && r >= ends[s])
                    s++;
                *values++ = (uint8_t)((s < 4 ? shade[s] : 8) + devices_random(&state) % 33);
            }
}

static void pack(const struct head *h, const uint8_t *labels, unsigned char *bits)
{
    const size_t row = vox_row_bytes(&h->volume);

    memset(bits, 0, h->bytes);
    for (size_t i = 0; i < (size_t)n[0] * n[1] * n[2]; i++)
        bits[i / n[0] * row + i % n[0] / 8] |= (unsigned char)(labels[i] << i % n[0] % 8);
}

static void open_head(struct head *h)
{
    const size_t all = (size_t)n[0] * n[1] * n[2];

    *h = (struct head){.volume = {.n = {n[0], n[1], n[2]}, .value_bytes = 1}};
    h->bytes = vox_row_bytes(&h->volume) * n[1] * n[2];
    h->volume.values = h->values = malloc(all);
    h->expected = malloc(all);
    h->bricks = malloc(all);
    h->bits = malloc(h->bytes);
    h->wanted = malloc(h->bytes);
    assert_true(h->values && h->expected && h->bricks && h->bits && h->wanted);
    make_values(h->values);
}

static void close_head(struct head *h)
{
    free(h->values);
    free(h->expected);
    free(h->bricks);
    free(h->bits);
    free(h->wanted);
}

static void expect(const struct head *h, const struct head_case *c, const struct device *on,
                   const char *way)
{
    const uint64_t digest = fnv1a(h->bits, h->bytes);

    print_message("%s, %s, %s: %016" PRIx64 "\n", c->model, on->info.name, way, digest);
    for (size_t i = 0; i < h->bytes; i++)
        if (h->bits[i] != h->wanted[i])
            fail_msg("%s, %s: byte %zu of the labels is %02x, not %02x", c->model, way, i,
                     h->bits[i], h->wanted[i]);
    assert_true(digest == c->digest);
}

static void out_of_core(struct head *h, const struct head_case *c, const struct device *on,
                        uint64_t count)
{
    char why[256] = "";
    struct vox_tables tables;
    struct vox_slabs job = {.device = on->d,
                            .tables = &tables,
                            .volume = &h->volume,
                            .planes = 50,
                            .threads = 2,
                            .labels = h->bits};
    struct vox_slabs_lanes *lanes;
    struct vox_slabs_sums sums;

    assert_int_equal(vox_tables_make(&h->model, &tables, why, sizeof why), 0);
    assert_int_equal(vox_slabs_open(&job, &lanes), 0);
    memset(h->bits, 0xff, h->bytes);
    assert_int_equal(vox_slabs_run(lanes, &sums), 0);
    vox_slabs_close(lanes);
    vox_tables_fini(&tables);
    assert_true(sums.count == count);
    expect(h, c, on, "out of core");
}

static void in_bricks(struct head *h, const struct head_case *c, const struct device *on,
                      uint64_t count)
{
    const struct volume v = {.values = h->values, .n = {n[0], n[1], n[2]}};
    struct labelled l = {.labels = h->bricks};

    label_volume(on->d, &h->model, &(struct vox_setup){.labels = VOX_LABELS_BITS}, &v,
                 (uint32_t[]){EDGE, EDGE, EDGE}, BATCH, &l);
    assert_true(l.count == count);
    pack(h, h->bricks, h->bits);
    expect(h, c, on, "in bricks");
}

static void test_head(void **state)
{
    const uint32_t origin[3] = {0};
    char path[512], why[256] = "";
    struct head h;

    (void)state;
    open_head(&h);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct reference_sums sums;

        snprintf(path, sizeof path, MODELS "/%s.model", cases[k].model);
        if (vox_model_read(path, &h.model, why, sizeof why) < 0)
            fail_msg("%s", why);
        reference_labels(&h.model, h.values, n, origin, h.expected);
        assert_int_equal(reference_sums(h.expected, n, origin, &sums), 0);
        print_message("%s: %u of 8675289 labelled\n", cases[k].model, sums.count);
        assert_in_range(sums.count, 86753, 8588536); /* 1 % to 99 % */
        pack(&h, h.expected, h.wanted);
        for (uint32_t i = 0; i < devices_count(); i++) {
            out_of_core(&h, &cases[k], devices_get(i), sums.count);
            in_bricks(&h, &cases[k], devices_get(i), sums.count);
        }
        vox_model_fini(&h.model);
    }
    close_head(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_head)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
