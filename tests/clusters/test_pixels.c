/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of single pixels with charge: by hand, and on random and generated events against a
 * reference that compares every pixel of a module with every other, on every device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../plugins/clusters/parameters.h"
#include "algotest.h"
#include "generator.h"
#include "geometry.h"

#define PIXELS  600u /* most of a random event */
#define COLUMNS 416
#define ROWS    160
#define MODULES 1184
#define EVENTS  30u
#define BATCH   7u

struct event {
    uint32_t n, room;
    uint16_t *module, *column, *row, *charge;
};

struct cluster {
    uint32_t module, size, charge, first; /* first: the order, by column and row of a pixel */
    double column, row;                   /* mean, weighted with the charge */
};

struct reference {
    uint32_t n, n_bad, n_pixels;
    struct cluster *cluster; /* room for one of each pixel */
};

static struct geometry geometry; /* of the events that are being looked at */
static uint32_t other_devices;

static void choose(const char *name)
{
    char why[256] = "";

    geometry_fini(&geometry);
    if (geometry_open(name, &geometry, why, sizeof why) < 0)
        fail_msg("%s", why);
}

static int open_host(void **state)
{
    (void)state;
    return algo_host_open(&host, "pixels");
}

static int finish(void **state)
{
    print_message("%u runs on devices other than the CPU\n", other_devices);
    geometry_fini(&geometry);
    return close_host(state);
}

/* ---------------------------------------------------------------- reference */

static void event_new(struct event *e, uint32_t room)
{
    *e = (struct event){.room = room};
    e->module = calloc(4 * (size_t)room + 1, sizeof *e->module);
    assert_non_null(e->module);
    e->column = e->module + room;
    e->row = e->column + room;
    e->charge = e->row + room;
}

static void event_free(struct event *e)
{
    free(e->module);
}

static void add(struct event *e, uint32_t module, uint32_t column, uint32_t row, uint32_t charge)
{
    assert_true(e->n < e->room);
    e->module[e->n] = (uint16_t)module;
    e->column[e->n] = (uint16_t)column;
    e->row[e->n] = (uint16_t)row;
    e->charge[e->n++] = (uint16_t)charge;
}

static bool is_good(const struct event *e, uint32_t i)
{
    return e->module[i] < geometry.n_sensors && e->column[i] < COLUMNS && e->row[i] < ROWS &&
           e->charge[i];
}

/* The pixels of a module, each once. */
static void merge(const struct event *e, uint32_t module, struct event *m)
{
    m->n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t k = 0;

        if (e->module[i] != module || !is_good(e, i))
            continue;
        while (k < m->n && (m->column[k] != e->column[i] || m->row[k] != e->row[i]))
            k++;
        if (k == m->n)
            add(m, module, e->column[i], e->row[i], 0);
        m->charge[k] =
            (uint16_t)(m->charge[k] + e->charge[i] < 4095 ? m->charge[k] + e->charge[i] : 4095);
    }
}

static bool touch(const struct event *e, uint32_t i, uint32_t k)
{
    return abs(e->column[i] - e->column[k]) <= 1 && abs(e->row[i] - e->row[k]) <= 1;
}

static int compare(const void *a, const void *b)
{
    const struct cluster *p = a, *q = b;

    return p->first < q->first ? -1 : 1;
}

/* Each pixel takes the lowest label among those that touch it, until none changes. */
static void spread_labels(const struct event *e, uint32_t *label)
{
    bool changes = true;

    for (uint32_t i = 0; i < e->n; i++)
        label[i] = i;
    while (changes) {
        changes = false;
        for (uint32_t i = 0; i < e->n; i++)
            for (uint32_t k = 0; k < e->n; k++)
                if (label[k] < label[i] && touch(e, i, k)) {
                    label[i] = label[k];
                    changes = true;
                }
    }
}

static struct cluster cluster_of(const struct event *e, const uint32_t *label, uint32_t l)
{
    struct cluster c = {.first = UINT32_MAX};

    for (uint32_t i = 0; i < e->n; i++) {
        const uint32_t order = (uint32_t)e->column[i] << 16 | e->row[i];

        if (label[i] != l)
            continue;
        c.module = e->module[i];
        c.size++;
        c.charge += e->charge[i];
        c.column += (double)e->charge[i] * e->column[i];
        c.row += (double)e->charge[i] * e->row[i];
        c.first = order < c.first ? order : c.first;
    }
    return c;
}

static void find(const struct event *e, struct reference *r)
{
    uint32_t *label = calloc(e->n + 1u, sizeof *label);
    struct event m;

    *r = (struct reference){.cluster = calloc(e->n + 1u, sizeof *r->cluster)};
    assert_true(label && r->cluster);
    event_new(&m, e->n);
    for (uint32_t i = 0; i < e->n; i++)
        r->n_bad += !is_good(e, i);
    for (uint32_t module = 0; module < geometry.n_sensors; module++) {
        const uint32_t first = r->n;

        merge(e, module, &m);
        spread_labels(&m, label);
        r->n_pixels += m.n;
        for (uint32_t l = 0; l < m.n; l++) {
            struct cluster c = cluster_of(&m, label, l);

            if (!c.size)
                continue;
            c.column /= c.charge;
            c.row /= c.charge;
            r->cluster[r->n++] = c;
        }
        if (r->n > first)
            qsort(r->cluster + first, r->n - first, sizeof *r->cluster, compare);
    }
    event_free(&m);
    free(label);
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

static void run_on(struct trg_device *device, const char *detector, const struct event *events,
                   uint32_t n, struct trg_result *results, struct products *found)
{
    struct pixels_config c;
    struct batches *b;
    uint32_t most = 1;

    for (uint32_t i = 0; i < n; i++)
        most = events[i].n > most ? events[i].n : most;
    configure(&c, NULL, SETTINGS("geometry", detector));
    assert_int_equal(batches_open(&(struct batches_setup){.host = &host.host,
                                                          .plugin = &host.plugin->d,
                                                          .config = &c,
                                                          .device = device,
                                                          .slots = 2,
                                                          .max_rois = BATCH,
                                                          .max_items = BATCH * most},
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

/* A pair of unequal pixels, a diagonal one in any order, a pixel twice, and some that cannot be. */
static void pixels_by_hand(void **state)
{
    static const struct cluster want[] = {
        {.module = 3, .size = 2, .charge = 40, .column = 10.75, .row = 5},
        {.module = 3, .size = 1, .charge = 30, .column = 20, .row = 0},
        {.module = 4, .size = 2, .charge = 4, .column = 51.5, .row = 159 - 0.5}};
    struct event list, *e = &list;
    struct products *p = calloc(1, sizeof *p);
    struct trg_result result;

    (void)state;
    assert_non_null(p);
    choose("barrel");
    event_new(e, 10);
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
    run_on(cpu(), "barrel", e, 1, &result, p);
    assert_int_equal(p->of[0].n, 3);
    assert_int_equal((uint32_t)result.value[2], 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(((const uint16_t *)p->of[1].column[0])[i], want[i].size);
        assert_int_equal(((const uint32_t *)p->of[1].column[3])[i], want[i].charge);
        assert_place(&want[i], p, i);
    }
    products_free(p, 1);
    event_free(e);
}

/* ---------------------------------------------------------------- random events */

struct task {
    const char *detector;
    uint32_t n;
    const struct event *events;
    const struct reference *reference;
};

static void on_device(struct trg_device *device, void *ctx)
{
    const struct task *t = ctx;
    struct trg_result results[EVENTS];
    struct products *found = calloc(t->n, sizeof *found);

    assert_non_null(found);
    run_on(device, t->detector, t->events, t->n, results, found);
    for (uint32_t i = 0; i < t->n; i++)
        assert_found(&t->reference[i], &results[i], &found[i]);
    products_free(found, t->n);
}

/* The events on every device; they are freed. */
static void check(const char *detector, struct event *events, uint32_t n)
{
    struct reference r[EVENTS];
    struct task t = {detector, n, events, r};

    for (uint32_t i = 0; i < n; i++)
        find(&events[i], &r[i]);
    other_devices += each_device(on_device, &t);
    for (uint32_t i = 0; i < n; i++) {
        event_free(&events[i]);
        free(r[i].cluster);
    }
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
    struct event events[EVENTS];
    uint64_t seed = fresh_seed();

    (void)state;
    choose("barrel");
    for (uint32_t i = 0; i < EVENTS; i++) {
        event_new(&events[i], PIXELS);
        make_event(&seed, &events[i]);
    }
    check("barrel", events, EVENTS);
}

/* ---------------------------------------------------------------- generated events */

static void shuffle(uint64_t *seed, struct event *e)
{
    for (uint32_t i = e->n; i > 1; i--) {
        const uint32_t k = draw(seed, i);

        for (uint32_t c = 0; c < 4; c++) {
            uint16_t *column = e->module + c * (size_t)e->room, spare = column[i - 1];

            column[i - 1] = column[k];
            column[k] = spare;
        }
    }
}

/* The event of a preset; every second one in no order. */
static void generate(const char *preset, uint64_t *seed, uint32_t i, struct event *e)
{
    struct generated g;

    generated_init(&g);
    assert_int_equal(generator_make(generator_find(preset), *seed, i, &g), 0);
    event_new(e, g.n);
    for (uint32_t k = 0; k < g.n; k++)
        add(e, g.pixels.module[k], g.pixels.column[k], g.pixels.row[k], g.pixels.charge[k]);
    generated_fini(&g);
    if (i % 2)
        shuffle(seed, e);
    print_message("%s: %u pixels\n", preset, e->n);
}

/* As dense as in a CMS-like detector with 50 and 140 collisions; one event in each batch is empty.
 */
static void dense_events(void **state)
{
    struct event events[5];
    uint64_t seed = fresh_seed();

    (void)state;
    choose("cms");
    generate("pixel50-charge", &seed, 0, &events[0]);
    generate("pixel50-charge", &seed, 1, &events[1]);
    event_new(&events[2], 0);
    generate("pixel140-charge", &seed, 2, &events[3]);
    generate("pixel140-charge", &seed, 3, &events[4]);
    assert_true(events[0].n > 10000 && events[3].n > 40000);
    check("cms", events, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_by_hand),
        cmocka_unit_test(random_events),
        cmocka_unit_test(dense_events),
    };

    return cmocka_run_group_tests(tests, open_host, finish);
}
