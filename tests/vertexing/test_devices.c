/* SPDX-License-Identifier: Apache-2.0 */
/* Every device gives the same answers to the bit: values, vertices, covariances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

static uint32_t others;

struct job {
    const struct vx_config *c;
    const struct event *e;
    const struct vx_answer *want;
    uint32_t n;
};

static void on_device(struct trg_device *device, void *arg)
{
    static const uint32_t batches[] = {1, 16, 200};
    const struct job *j = arg;

    for (uint32_t b = 0; b < 3; b++) {
        uint32_t n = b ? j->n : j->n < 10 ? j->n : 10;
        struct vx_answer *a = answers_of(device, j->c, j->e, n, batches[b]);

        for (uint32_t i = 0; i < n; i++) {
            assert_memory_equal(&a[i].result, &j->want[i].result, sizeof a[i].result);
            assert_int_equal(a[i].n, j->want[i].n);
            for (uint32_t c = 0; c < TRG_COLUMNS_MAX; c++)
                assert_memory_equal(a[i].column[c], j->want[i].column[c], 4 * a[i].n);
        }
        vx_answers_free(a, n);
    }
}

static void compare_all(const char *preset, const char *const *settings, uint32_t n)
{
    struct toy toy = toy_velo;
    struct vx_config c;
    struct job j = {.c = &c, .n = n};
    struct event *e;
    struct vx_answer *want;

    toy.b_fraction = 0.5;
    configure(&c, preset, settings);
    e = toy_events(&toy, fresh_seed(), n);
    want = answers_of(cpu(), &c, e, n, 64);
    j.e = e;
    j.want = want;
    others += each_device(on_device, &j);
    vx_answers_free(want, n);
    free_events(e, n);
}

static void defaults(void **state)
{
    (void)state;
    compare_all(NULL, NULL, rois_or(200));
}

static void reference_seeding(void **state)
{
    (void)state;
    compare_all("reference", NULL, rois_or(60));
}

static void thesis(void **state)
{
    (void)state;
    compare_all("thesis", NULL, rois_or(20));
    compare_all("thesis", SETTINGS("layout", "compute_symmetric", "histogram", "hybrid"),
                rois_or(20));
}

static void other_bins(void **state)
{
    (void)state;
    compare_all(NULL, SETTINGS("bin_rule", "freedman_diaconis", "histogram", "bin_warp_block"),
                rois_or(40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(reference_seeding),
        cmocka_unit_test(thesis),
        cmocka_unit_test(other_bins),
    };
    int failed = cmocka_run_group_tests(tests, open_host, close_host);

    if (!failed && !others) {
        printf("skipped: there is no device besides the CPU\n");
        return 77;
    }
    return failed;
}
