/* SPDX-License-Identifier: Apache-2.0 */
/* The golden quadruplets of a TrackML event, found by a CMS library and by brute force alike: all
 * of them and no other, on every device and with every way of growing paths.  The files are not
 * part of the project: TRIGD_DATA names the folder that has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

#define CM       10.0 /* mm */
#define HITS_MAX 100000u

struct golden {
    const char *name, *theta_cut, *hard_pt_gev, *tolerance_mm;
    uint32_t n_doublets, n_paths;
};
/* theta_cut over pT min; tolerance: origin radius + phi cut, which CMS adds as lengths. */
static const struct golden sets[] = {{"A_tight", "0.02", "0.5", "3.02", 3031, 304},
                                     {"C_loose", "0.15", "0.2", "10.02", 8475, 4537}};

static FILE *open_file(const char *name, const char *end)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/paths-golden/%s%s", getenv("TRIGD_DATA"), name, end);
    f = fopen(path, "r");
    if (!f)
        fail_msg("cannot read %s", path);
    return f;
}

static uint32_t number[HITS_MAX]; /* of a hit id */

static void read_hits(struct roi *r)
{
    FILE *f = open_file("event000000001-barrel-pixel-hits_cm", ".txt");
    double x, y, z;
    unsigned layer, id;

    while (fscanf(f, "%u %lf %lf %lf %u", &layer, &x, &y, &z, &id) == 5) {
        assert_true(id < HITS_MAX);
        number[id] = roi_hit(r, x * CM, y * CM, z * CM, layer);
        r->id[number[id]] = id;
    }
    fclose(f);
}

static void read_doublets(struct roi *r, const char *name)
{
    FILE *f = open_file(name, "-doublets.csv");
    unsigned pair, inner, outer;

    assert_int_equal(fscanf(f, "%*[^\n]"), 0);
    while (fscanf(f, "%u,%u,%u", &pair, &inner, &outer) == 3)
        roi_doublet(r, number[inner], number[outer]);
    fclose(f);
}

struct quadruplet {
    uint32_t id[4];
};

static int by_ids(const void *a, const void *b)
{
    const struct quadruplet *x = a, *y = b;

    for (int i = 0; i < 4; i++)
        if (x->id[i] != y->id[i])
            return x->id[i] < y->id[i] ? -1 : 1;
    return 0;
}

struct task {
    const struct golden *set;
    struct roi roi;
    struct quadruplet want[8192];
};

static void read_quadruplets(struct task *t)
{
    FILE *f = open_file(t->set->name, "-quadruplets.csv");
    struct quadruplet q;
    uint32_t n = 0;

    assert_int_equal(fscanf(f, "%*[^\n]"), 0);
    while (fscanf(f, "%u,%u,%u,%u", &q.id[0], &q.id[1], &q.id[2], &q.id[3]) == 4)
        t->want[n++] = q;
    fclose(f);
    assert_int_equal(n, t->set->n_paths);
    qsort(t->want, n, sizeof q, by_ids);
}

static void compare(const struct task *t, const struct answer *a)
{
    struct quadruplet got[8192];

    assert_int_equal(a->result.status, TRG_OK);
    assert_int_equal(a->n, t->set->n_paths);
    for (uint32_t i = 0; i < a->n; i++) {
        assert_int_equal(a->path[0][i], 4);
        for (uint32_t k = 0; k < 4; k++)
            got[i].id[k] = t->roi.id[a->path[1 + k][i]];
    }
    qsort(got, a->n, sizeof *got, by_ids);
    assert_memory_equal(got, t->want, a->n * sizeof *got);
}

static void on_device(struct trg_device *device, void *ctx)
{
    static const char *const growths[] = {"breadth", "scan", "depth"};
    const struct task *t = ctx;

    for (uint32_t g = 0; g < 3; g++) {
        struct pa_config c;
        struct answer a;

        configure(&c, "quadruplets",
                  SETTINGS("theta_cut", t->set->theta_cut, "theta_cut_forward", t->set->theta_cut,
                           "hard_pt_gev", t->set->hard_pt_gev, "origin_tolerance_mm",
                           t->set->tolerance_mm, "origin_tolerance_outer_mm", t->set->tolerance_mm,
                           /* the files were made with 87 cm for 1 GeV */
                           "field_t", "3.834060", "duplicates", "keep", "growth", growths[g]));
        assert_int_equal(paths_run(&host, device, &c, &t->roi, 1, 1, &a), 0);
        compare(t, &a);
        answers_free(&a, 1);
    }
}

static void golden(void **state)
{
    static struct task t;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        t.set = &sets[i];
        roi_init(&t.roi);
        read_hits(&t.roi);
        read_doublets(&t.roi, t.set->name);
        assert_int_equal(t.roi.n_doublets, t.set->n_doublets);
        read_quadruplets(&t);
        print_message("%s: %u doublets, %u quadruplets\n", t.set->name, t.roi.n_doublets,
                      t.set->n_paths);
        each_device(on_device, &t);
        roi_fini(&t.roi);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden)};
    const char *data = getenv("TRIGD_DATA");

    if (!data || !*data) {
        printf("skipped: TRIGD_DATA does not name the folder with paths-golden\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, open_host, close_host);
}
