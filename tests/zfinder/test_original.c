/* SPDX-License-Identifier: Apache-2.0 */
/* The preset atlas against the answers of the ATLAS original, RoI by RoI: golden/original.csv tells
 * how they were made.  TRIGD_ROIS: of either sample, at most. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "original.h"
#include "testing.h"
#include "truth.h"

#define SEED      15u
#define SAME_MM   1e-3 /* the same vertex; the file is rounded to a tenth of this */
#define ROIS_MOST 1000u

struct golden { /* of one RoI; NAN: no vertex */
    double z[ORIGINAL_SETTINGS], weight[ORIGINAL_SETTINGS];
};

/* The answers for a sample; returns how many RoIs they are. */
static uint32_t read_golden(const char *sample, struct golden *ret)
{
    const char *source = getenv("TRIGD_SOURCE");
    char path[1024], line[1024];
    uint32_t n = 0;
    FILE *f;

    assert_non_null(source);
    snprintf(path, sizeof path, "%s/tests/zfinder/golden/original.csv", source);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *at = strchr(line, ',');

        if (!at || strncmp(line, sample, strlen(sample)) != 0)
            continue;
        assert_int_equal(strtoul(at + 1, &at, 10), n);
        assert_true(n < ROIS_MOST);
        for (size_t k = 0; k < ORIGINAL_SETTINGS; k++) {
            const char *z = at + 1;

            ret[n].z[k] = *z == ',' ? NAN : strtod(z, &at);
            at = strchr(z, ',');
            assert_non_null(at);
            ret[n].weight[k] = strtod(at + 1, &at);
        }
        n++;
    }
    fclose(f);
    return n;
}

/* RoIs whose first vertex is the original's, with its weight. */
static uint32_t count_same(const struct golden *want, size_t setting, const struct trg_result *r,
                           uint32_t n)
{
    uint32_t same = 0;

    for (uint32_t i = 0; i < n; i++) {
        const bool any = r[i].value[0] > 0;

        if (isnan(want[i].z[setting]))
            same += !any;
        else
            same += any && fabs((double)r[i].value[1] - want[i].z[setting]) <= SAME_MM &&
                    (double)r[i].value[2] == want[i].weight[setting];
    }
    return same;
}

/* `part` of n RoIs, within four statistical errors: fewer than all may be asked for. */
static void assert_part(uint32_t good, uint32_t n, double part)
{
    assert_true(fabs((double)good / n - part) <= 0.5 / n + 4 * sqrt(part * (1 - part) / n));
}

static void compare(const char *sample, uint32_t most, double goal)
{
    struct golden *want = calloc(ROIS_MOST, sizeof *want);
    struct trg_result *r = calloc(ROIS_MOST, sizeof *r);
    const bool is_high = strcmp(sample, "highlum") == 0;
    struct generated *g;
    uint32_t n;

    assert_non_null(want);
    assert_non_null(r);
    n = read_golden(sample, want);
    assert_true(n > 0);
    n = n < most ? n : most;
    g = make_rois(sample, SEED, n);
    for (size_t k = 0; k < ORIGINAL_SETTINGS; k++) {
        const struct original_setting *s = &original_settings[k];
        struct zf_config c;
        uint32_t same, good;

        configure(&c, "atlas", s->with);
        run_on(cpu(), &c, g, n, 32, r);
        same = count_same(want, k, r, n);
        good = count_found(g, n, r).good;
        print_message(
            "%-8s %-40s %u of %u the original's (1 um, weight), %u within 1 mm of the truth\n",
            sample, s->name, same, n, good);
        assert_true(same >= goal * n);
        assert_part(good, n, s->found[is_high]);
    }
    generated_free(g, n);
    free(want);
    free(r);
}

static void same_vertices_at_low_luminosity(void **state)
{
    (void)state;
    compare("lowlum", rois_or(1000), 0.999);
}

static void same_vertices_at_high_luminosity(void **state)
{
    (void)state;
    compare("highlum", rois_or(20), 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_vertices_at_low_luminosity),
        cmocka_unit_test(same_vertices_at_high_luminosity),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
