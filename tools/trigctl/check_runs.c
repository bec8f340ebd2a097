/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_inner.h"
#include "clock.h"
#include "watch.h"

struct flow { /* a run in progress */
    struct check *c;
    struct rig *rig;
    const struct run *run;
    struct outcome *o;
    uint32_t at;              /* position in the run's order of the next RoI */
    uint32_t from[RIG_SLOTS]; /* of the first RoI of the batch in a slot */
    uint64_t began_ns;        /* the last batch */
    char *why;
    size_t bytes;
};

void check_free(struct outcome *outcomes, uint32_t n)
{
    for (uint32_t i = 0; outcomes && i < n; i++)
        outcome_fini(&outcomes[i]);
    free(outcomes);
}

static struct outcome *new_outcomes(struct check *c, const struct run *run)
{
    const struct plugin *p = c->plugin;
    struct outcome *o = calloc(run->n, sizeof *o);
    struct room room;

    room_init(&p->d, c->config, &room);
    for (uint32_t i = 0; o && i < run->n; i++) {
        uint32_t n_in[TRG_INPUTS_MAX] = {0}, most[TRG_OUTPUTS_MAX] = {0};

        for (uint32_t k = 0; k < p->n_inputs; k++)
            n_in[k] = sample_source(c->sample, k, run->order[i])->n;
        room_items(&room, n_in, most);
        if (outcome_init(&o[i], p, most, run->garbage) < 0) {
            check_free(o, i);
            return NULL;
        }
    }
    return o;
}

/* How many RoIs from `from` on make the next batch. */
static uint32_t batch_size(struct check *c, const struct run *run, uint32_t from)
{
    uint32_t most = run->random ? 1 + sample_below(run->random, run->max_rois) : run->max_rois;
    uint32_t items[TRG_INPUTS_MAX] = {0}, n;

    for (n = 0; n < most && from + n < run->n; n++) {
        for (uint32_t k = 0; k < c->plugin->n_inputs; k++) {
            items[k] += sample_source(c->sample, k, run->order[from + n])->n;
            if (items[k] > CHECK_ITEMS)
                return n;
        }
    }
    return n;
}

static bool failed(int r, const char *call, char *why, size_t bytes)
{
    if (r < 0 && r != -EILSEQ)
        snprintf(why, bytes, "%s returned %d (%s)", call, r, strerror(-r));
    return r < 0;
}

static int begin(void *ctx, struct drive_slot *slot)
{
    struct flow *f = ctx;
    const uint32_t from = f->at, number = slot->batch.slot;
    uint32_t n;
    int r;

    if (from == f->run->n)
        return 0;
    n = batch_size(f->c, f->run, from);
    f->from[number] = from;
    f->at += n;
    f->began_ns = clock_ns();
    r = rig_submit(f->rig, number, f->c->sample, f->run->order + from, n, f->o + from);
    return failed(r, "submit", f->why, f->bytes) ? r : 1;
}

static int end(void *ctx, struct drive_slot *slot)
{
    struct flow *f = ctx;
    const uint32_t number = slot->batch.slot;
    int r = rig_collect(f->rig, number, f->o + f->from[number], f->why, f->bytes);

    if (f->run->least_ns) {
        const uint64_t took = clock_ns() - f->began_ns;
        uint64_t *least = &f->run->least_ns[f->from[number]];

        *least = took < *least ? took : *least;
    }
    failed(r, "collect", f->why, f->bytes);
    return r;
}

struct outcome *check_run(struct check *c, struct rig *rig, const struct run *run, char *why,
                          size_t bytes)
{
    struct flow f = {.c = c, .rig = rig, .run = run, .why = why, .bytes = bytes};
    const struct drive_loop loop = {
        .begin = begin, .end = end, .ctx = &f, .in_flight = run->in_flight};

    f.o = new_outcomes(c, run);
    if (failed(f.o ? 0 : -ENOMEM, "memory for the outcomes", why, bytes))
        return NULL;
    if (drive_run(rig->drive, &loop) == 0)
        return f.o;
    check_free(f.o, run->n);
    return NULL;
}

/* ---------------------------------------------------------------- against the first answers */

struct runs { /* one device's checks */
    struct check *c;
    struct rig *rig;
    struct outcome *first; /* of every RoI of the sample, each alone in a batch */
    uint64_t random;
};

/* Where an RoI of the sample stands in a run, for a message. */
static void name_roi(char *why, size_t bytes, const struct check *c, uint32_t roi,
                     const char *inner)
{
    char items[32];

    snprintf(items, sizeof items, "%u items", sample_source(c->sample, 0, roi)->n);
    snprintf(why, bytes, "RoI %u of the sample (%s): %s", roi,
             roi < SAMPLE_CASES ? check_case_name(c, roi) : items, inner);
}

static bool compare(const struct runs *t, struct rig *rig, const struct run *run, char *why,
                    size_t bytes)
{
    struct outcome *o = check_run(t->c, rig, run, why, bytes);
    bool good = o != NULL;
    char inner[192];

    for (uint32_t i = 0; good && i < run->n; i++) {
        good = outcome_is_same(&t->first[run->order[i]], &o[i], t->c->plugin, inner, sizeof inner);
        if (!good)
            name_roi(why, bytes, t->c, run->order[i], inner);
    }
    check_free(o, run->n);
    return good;
}

static void compare_line(const struct runs *t, const struct run *run, const char *what)
{
    char why[256] = "";
    bool good = compare(t, t->rig, run, why, sizeof why);

    check_line(t->c, good, what, "%s", why);
}

static void in_order(uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t *random)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = sample_below(random, i), swap = order[i - 1];

        order[i - 1] = order[k];
        order[k] = swap;
    }
}

static bool check_first(struct runs *t, uint32_t *order)
{
    const struct run run = {
        .order = order, .n = t->c->sample->n, .max_rois = 1, .in_flight = 1, .garbage = 0x22};
    char why[256] = "", inner[192] = "";
    bool good = true;

    t->first = check_run(t->c, t->rig, &run, why, sizeof why);
    if (!t->first) {
        check_line(t->c, false, "every RoI alone in a batch", "%s", why);
        return false;
    }
    for (uint32_t i = 0; i < SAMPLE_CASES; i++) {
        bool is_valid = outcome_is_valid(&t->first[i], t->c->plugin, inner, sizeof inner);

        check_line(t->c, is_valid, check_case_name(t->c, i), "%s", inner);
    }
    for (uint32_t i = SAMPLE_CASES; good && i < run.n; i++) {
        good = outcome_is_valid(&t->first[i], t->c->plugin, inner, sizeof inner);
        if (!good)
            name_roi(why, sizeof why, t->c, i, inner);
    }
    check_line(t->c, good, t->c->o->rois_file ? "RoIs of the file" : "ordinary RoIs of mixed sizes",
               "%s", why);
    return true;
}

static void check_batches(struct runs *t, uint32_t *order)
{
    struct run run = {
        .order = order, .n = t->c->sample->n, .max_rois = 1, .in_flight = 1, .garbage = 0x33};
    char why[256] = "";
    bool good = true;

    compare_line(t, &run, "two runs give the same bits");
    run.max_rois = CHECK_ROIS_MAX;
    for (run.in_flight = 1; run.in_flight <= RIG_SLOTS; run.in_flight++) {
        char what[64];

        snprintf(what, sizeof what, "full batches, %u in flight", run.in_flight);
        compare_line(t, &run, what);
    }
    run.in_flight = RIG_SLOTS;
    run.random = &t->random;
    for (uint32_t round = 0; good && round < 8; round++) {
        shuffle(order, run.n, &t->random);
        run.garbage = (unsigned char)(0x40 + round);
        good = compare(t, t->rig, &run, why, sizeof why);
    }
    check_line(t->c, good, "no answer depends on batch, order or slot", "%s", why);
}

/* Batches that hold one RoI again and again. */
static void check_repeated(struct runs *t)
{
    static const enum sample_case cases[] = {SAMPLE_EMPTY, SAMPLE_ONE_ITEM, SAMPLE_LARGEST};
    uint32_t order[CHECK_ROIS_MAX];
    const struct run run = {.order = order,
                            .n = CHECK_ROIS_MAX,
                            .max_rois = CHECK_ROIS_MAX,
                            .in_flight = 2,
                            .garbage = 0x55};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char what[96];

        for (uint32_t k = 0; k < CHECK_ROIS_MAX; k++)
            order[k] = (uint32_t)cases[i];
        snprintf(what, sizeof what, "%u times %s", CHECK_ROIS_MAX, check_case_name(t->c, cases[i]));
        compare_line(t, &run, what);
    }
}

/* A second algo of the same device, used while the first one lives. */
static void check_second_algo(struct runs *t, uint32_t *order)
{
    const struct run run = {.order = order,
                            .n = t->c->sample->n,
                            .max_rois = CHECK_ROIS_MAX,
                            .in_flight = RIG_SLOTS,
                            .random = &t->random,
                            .garbage = 0x66};
    const struct rig_setup setup = check_setup(t->c, t->c->config, RIG_SLOTS);
    struct rig *second = NULL;
    char why[256] = "";
    int r = rig_open(&setup, &second);
    bool good;

    if (r == 0)
        r = rig_create(second);
    good = !failed(r, "create", why, sizeof why);
    for (int round = 0; good && round < 2; round++)
        good = compare(t, round ? t->rig : second, &run, why, sizeof why);
    rig_close(second);
    if (good) /* the first must live on without the second */
        good = compare(t, t->rig, &run, why, sizeof why);
    check_line(t->c, good, "two algos on one device do not disturb each other", "%s", why);
}

/* The inputs of a step that takes over what an earlier one left on the device. */
static void check_on_device(struct runs *t, uint32_t *order)
{
    const struct run run = {.order = order,
                            .n = t->c->sample->n,
                            .max_rois = CHECK_ROIS_MAX,
                            .in_flight = RIG_SLOTS,
                            .garbage = 0x77};
    struct rig_setup setup = check_setup(t->c, t->c->config, RIG_SLOTS);
    struct rig *rig = NULL;
    char why[256] = "";
    int r;

    setup.on_device = true;
    r = rig_open(&setup, &rig);
    if (r == 0)
        r = rig_create(rig);
    check_line(t->c,
               !failed(r, "create", why, sizeof why) && compare(t, rig, &run, why, sizeof why),
               "inputs that are on the device only", "%s", why);
    rig_close(rig);
}

/* The worst of the batches that begin at `least_ns` against the cost that the plugin states. */
static bool judge_cost(const struct runs *t, const struct run *run, char *why, size_t bytes)
{
    const struct trg_cost *cost = &t->c->plugin->d.cost;
    uint32_t n;

    for (uint32_t from = 0; from < run->n; from += n) {
        uint64_t items = 0, stated;

        n = batch_size(t->c, run, from);
        for (uint32_t i = from; i < from + n; i++)
            for (uint32_t k = 0; k < t->c->plugin->n_inputs; k++)
                items += sample_source(t->c->sample, k, run->order[i])->n;
        stated = cost->batch_us * NS_PER_US + (uint64_t)n * cost->roi_us * NS_PER_US +
                 items * cost->item_ns;
        if (run->least_ns[from] <= stated)
            continue;
        snprintf(why, bytes,
                 "a batch of %u RoIs with %llu items took %.1f us at least; %.1f us are stated", n,
                 (unsigned long long)items, (double)run->least_ns[from] * 1e-3,
                 (double)stated * 1e-3);
        return false;
    }
    return true;
}

/* The cost that a plugin states; the least of some runs, since a machine has other work as well. */
static void check_cost(struct runs *t, uint32_t *order)
{
    struct run run = {.order = order,
                      .n = t->c->sample->n,
                      .max_rois = CHECK_ROIS_MAX,
                      .in_flight = 1,
                      .garbage = 0x88,
                      .least_ns = calloc(t->c->sample->n, sizeof *run.least_ns)};
    char why[256] = "no memory";
    bool good = run.least_ns != NULL;

    in_order(order, run.n);
    for (uint32_t i = 0; good && i < run.n; i++)
        run.least_ns[i] = UINT64_MAX;
    for (uint32_t round = 0; good && round < 5; round++)
        good = compare(t, t->rig, &run, why, sizeof why);
    good = good && judge_cost(t, &run, why, sizeof why);
    check_line(t->c, good, "no batch takes longer than the plugin states", "%s", why);
    free(run.least_ns);
}

static struct outcome *run_all(struct runs *t)
{
    uint32_t *order = calloc(t->c->sample->n, sizeof *order), calls;

    if (!order)
        return NULL;
    in_order(order, t->c->sample->n);
    watch_fail(0);
    if (check_first(t, order)) {
        check_batches(t, order);
        check_repeated(t);
        calls = watch_counts().calls;
        check_line(t->c, !calls, "submit and collect allocate nothing on the device",
                   "they made %u objects", calls);
        check_second_algo(t, order);
        if (t->c->plugin->d.cost.batch_us || t->c->plugin->d.cost.roi_us ||
            t->c->plugin->d.cost.item_ns)
            check_cost(t, order);
        if (t->c->plugin->d.flags & TRG_PLUGIN_DEVICE_INPUT)
            check_on_device(t, order);
    }
    free(order);
    return t->first;
}

struct outcome *check_runs(struct check *c)
{
    const struct rig_setup setup = check_setup(c, c->config, RIG_SLOTS);
    struct runs t = {.c = c, .random = c->o->seed};
    struct outcome *first = NULL;
    int r = rig_open(&setup, &t.rig);

    if (r == 0)
        r = rig_create(t.rig);
    if (r == 0)
        first = run_all(&t);
    else
        check_line(c, false, "a rig of three slots", "%s", strerror(-r));
    rig_close(t.rig);
    return first;
}
