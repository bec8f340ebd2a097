/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of single pixels with charge: by hand, and on random events against a reference that
 * compares every pixel with every other, on every device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../plugins/clusters/parameters.h"
#include "algotest.h"
#include "geometry.h"

#define PIXELS  600u /* most of an event */
#define COLUMNS 416
#define ROWS    160
#define MODULES 1184
#define EVENTS  30u

struct event {
    uint32_t n;
    uint16_t module[PIXELS], column[PIXELS], row[PIXELS], charge[PIXELS];
};

struct cluster {
    uint32_t module, size, charge, first; /* first: the order, by column and row of a pixel */
    double column, row;                   /* mean, weighted with the charge */
};

struct reference {
    uint32_t n, n_bad, n_pixels;
    struct cluster cluster[PIXELS];
};

static struct geometry geometry;
static uint32_t other_devices;

static int open_host(void **state)
{
    char why[256];

    (void)state;
    if (geometry_open("barrel", &geometry, why, sizeof why) < 0) {
        print_error("%s\n", why);
        return -1;
    }
    return algo_host_open(&host, "pixels");
}

static int finish(void **state)
{
    print_message("%u runs on devices other than the CPU\n", other_devices);
    geometry_fini(&geometry);
    return close_host(state);
}

/* ---------------------------------------------------------------- reference */

static bool is_good(const struct event *e, uint32_t i)
{
    return e->module[i] < MODULES && e->column[i] < COLUMNS && e->row[i] < ROWS && e->charge[i];
}

/* The event with each pixel once. */
static struct event merge(const struct event *e, uint32_t *n_bad)
{
    struct event m = {.n = 0};

    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t k = 0;

        if (!is_good(e, i)) {
            ++*n_bad;
            continue;
        }
        while (k < m.n && (m.module[k] != e->module[i] || m.column[k] != e->column[i] ||
                           m.row[k] != e->row[i]))
            k++;
        if (k == m.n) {
            m.module[k] = e->module[i];
            m.column[k] = e->column[i];
            m.row[k] = e->row[i];
            m.n++;
        }
        m.charge[k] =
            (uint16_t)(m.charge[k] + e->charge[i] < 4095 ? m.charge[k] + e->charge[i] : 4095);
    }
    return m;
}

static bool touch(const struct event *e, uint32_t i, uint32_t k)
{
    return e->module[i] == e->module[k] && abs(e->column[i] - e->column[k]) <= 1 &&
           abs(e->row[i] - e->row[k]) <= 1;
}

static int compare(const void *a, const void *b)
{
    const struct cluster *p = a, *q = b;

    if (p->module != q->module)
        return p->module < q->module ? -1 : 1;
    return p->first < q->first ? -1 : 1;
}

/* Each pixel takes the lowest label among those that touch it, until none changes. */
static void find(const struct event *raw, struct reference *r)
{
    uint32_t label[PIXELS];
    struct event e;
    bool changes = true;

    memset(r, 0, sizeof *r);
    e = merge(raw, &r->n_bad);
    r->n_pixels = e.n;
    for (uint32_t i = 0; i < e.n; i++)
        label[i] = i;
    while (changes) {
        changes = false;
        for (uint32_t i = 0; i < e.n; i++)
            for (uint32_t k = 0; k < e.n; k++)
                if (label[k] < label[i] && touch(&e, i, k)) {
                    label[i] = label[k];
                    changes = true;
                }
    }
    for (uint32_t l = 0; l < e.n; l++) {
        struct cluster c = {.first = UINT32_MAX};

        for (uint32_t i = 0; i < e.n; i++) {
            const uint32_t order = (uint32_t)e.column[i] << 16 | e.row[i];

            if (label[i] != l)
                continue;
            c.module = e.module[i];
            c.size++;
            c.charge += e.charge[i];
            c.column += (double)e.charge[i] * e.column[i];
            c.row += (double)e.charge[i] * e.row[i];
            c.first = order < c.first ? order : c.first;
        }
        if (!c.size)
            continue;
        c.column /= c.charge;
        c.row /= c.charge;
        r->cluster[r->n++] = c;
    }
    if (r->n)
        qsort(r->cluster, r->n, sizeof *r->cluster, compare);
}

/* ---------------------------------------------------------------- on a device */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct event *e = (const struct event *)rois + i;

    ret_sources[0] =
        (struct stage_source){.n = e->n, .column = {e->module, e->column, e->row, e->charge}};
    *ret_info = (struct trg_roi_info){.run = 1, .l1id = i};
}

static void run_on(struct trg_device *device, const struct event *events, uint32_t n,
                   struct trg_result *results, struct products *found)
{
    struct pixels_config c;
    struct batches *b;

    configure(&c, NULL, NULL);
    assert_int_equal(batches_open(&(struct batches_setup){.host = &host.host,
                                                          .plugin = &host.plugin->d,
                                                          .config = &c,
                                                          .device = device,
                                                          .slots = 2,
                                                          .max_rois = 7,
                                                          .max_items = 7 * PIXELS},
                                  &b),
                     0);
    assert_int_equal(batches_run(b, &(struct batches_work){.n = n,
                                                           .input = input,
                                                           .rois = events,
                                                           .results = results,
                                                           .products = found}),
                     0);
    batches_close(b);
}

static void assert_place(const struct cluster *c, const struct products *p, uint32_t i)
{
    const struct geometry_sensor *s = &geometry.sensor[c->module];
    const uint32_t whole = (uint32_t)c->column;
    const double here = (double)geometry.centre[whole], next = (double)geometry.centre[whole + 1];
    const double a = here + (c->column - whole) * (next - here);
    const double b = (c->row + 0.5) * (double)geometry.row_pitch;

    for (uint32_t axis = 0; axis < 3; axis++) {
        const float *column = p->of[0].column[axis];
        const double want =
            (double)s->column[axis] * a + (double)s->row[axis] * b + (double)s->corner[axis];

        assert_true(fabs((double)column[i] - want) < 2e-4);
    }
    assert_int_equal(((const uint16_t *)p->of[0].column[3])[i], s->layer);
}

static void assert_found(const struct reference *r, const struct trg_result *result,
                         const struct products *p)
{
    assert_int_equal(p->of[0].n, r->n);
    assert_int_equal(p->of[1].n, r->n);
    assert_int_equal((uint32_t)result->value[2], r->n_bad);
    assert_int_equal((uint32_t)result->value[3], r->n_pixels);
    for (uint32_t i = 0; i < r->n; i++) {
        assert_int_equal(((const uint32_t *)p->of[0].column[4])[i], i);
        assert_int_equal(((const uint16_t *)p->of[1].column[0])[i], r->cluster[i].size);
        assert_int_equal(((const uint32_t *)p->of[1].column[3])[i], r->cluster[i].charge);
        assert_place(&r->cluster[i], p, i);
    }
}

/* ---------------------------------------------------------------- by hand */

static void add(struct event *e, uint32_t module, uint32_t column, uint32_t row, uint32_t charge)
{
    assert_true(e->n < PIXELS);
    e->module[e->n] = (uint16_t)module;
    e->column[e->n] = (uint16_t)column;
    e->row[e->n] = (uint16_t)row;
    e->charge[e->n++] = (uint16_t)charge;
}

/* A pair of unequal pixels, a diagonal one in any order, a pixel twice, and some that cannot be. */
static void pixels_by_hand(void **state)
{
    static const struct cluster want[] = {
        {.module = 3, .size = 2, .charge = 40, .column = 10.75, .row = 5},
        {.module = 3, .size = 1, .charge = 30, .column = 20, .row = 0},
        {.module = 4, .size = 2, .charge = 4, .column = 51.5, .row = 159 - 0.5}};
    struct event *e = calloc(1, sizeof *e);
    struct products *p = calloc(1, sizeof *p);
    struct trg_result result;

    (void)state;
    assert_true(e && p);
    add(e, 4, 52, 159, 2);
    add(e, 3, 20, 0, 10);
    add(e, 4, 51, 158, 2);
    add(e, 3, 11, 5, 30);
    add(e, 3, 10, 5, 10);
    add(e, 3, 20, 0, 20);
    add(e, MODULES, 1, 1, 1);
    add(e, 1, COLUMNS, 1, 1);
    add(e, 1, 1, ROWS, 1);
    add(e, 1, 1, 1, 0);
    run_on(cpu(), e, 1, &result, p);
    assert_int_equal(p->of[0].n, 3);
    assert_int_equal((uint32_t)result.value[2], 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(((const uint16_t *)p->of[1].column[0])[i], want[i].size);
        assert_int_equal(((const uint32_t *)p->of[1].column[3])[i], want[i].charge);
        assert_place(&want[i], p, i);
    }
    products_free(p, 1);
    free(e);
}

/* ---------------------------------------------------------------- random events */

struct task {
    const struct event *events;
    const struct reference *reference;
};

static void on_device(struct trg_device *device, void *ctx)
{
    const struct task *t = ctx;
    struct trg_result results[EVENTS];
    struct products *found = calloc(EVENTS, sizeof *found);

    assert_non_null(found);
    run_on(device, t->events, EVENTS, results, found);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_found(&t->reference[i], &results[i], &found[i]);
    products_free(found, EVENTS);
}

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    return (uint32_t)seed_uniform(seed, 0, n);
}

/* Pixels about some places of some modules, in any order, some of them twice or impossible. */
static void make_event(uint64_t *seed, struct event *e)
{
    const uint32_t n = draw(seed, PIXELS), spread = 2 + draw(seed, 30);

    while (e->n < n) {
        const uint32_t module = draw(seed, 8) ? draw(seed, 5) : draw(seed, MODULES + 2);
        const uint32_t column = draw(seed, 5) * 100, row = draw(seed, 3) * 75;

        add(e, module, column + draw(seed, spread), row + draw(seed, spread),
            draw(seed, 3) ? 1 + draw(seed, 300) : draw(seed, 4095));
    }
}

static void random_events(void **state)
{
    struct event *events = calloc(EVENTS, sizeof *events);
    struct reference *r = calloc(EVENTS, sizeof *r);
    struct task t = {events, r};
    uint64_t seed = fresh_seed();

    (void)state;
    assert_true(events && r);
    for (uint32_t i = 0; i < EVENTS; i++) {
        make_event(&seed, &events[i]);
        find(&events[i], &r[i]);
    }
    other_devices = each_device(on_device, &t);
    free(events);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_by_hand),
        cmocka_unit_test(random_events),
    };

    return cmocka_run_group_tests(tests, open_host, finish);
}
