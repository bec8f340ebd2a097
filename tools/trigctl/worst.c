/* SPDX-License-Identifier: Apache-2.0 */
/* worst.c - looks for RoIs that take long: shapes of the columns of an ordinary RoI with more and
 * more items, and random changes of the slowest so far.  The largest need not be the slowest: a
 * plugin may bound its work by leaving large ones out. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batches.h"
#include "check_inner.h"
#include "clock.h"
#include "kinds.h"
#include "values.h"

#define FEW_MOST   1024u
#define STEP       4u  /* a shape is tried with ever more items, so that a slow one is seen early */
#define SIZES      4u  /* n / 64, n / 16, n / 4, n */
#define PATIENCE_S 120 /* for one RoI; then the search ends with its shape */

enum shape { /* what becomes of the values of a column */
             AS_IS,
             ONE,    /* all the same */
             FEW,    /* some values, in turn */
             NARROW, /* a thousandth of their spread */
             LOW,    /* the least that is allowed */
             HIGH,   /* the most that is allowed */
             SORTED,
             SHAPES
};
static const char *const shape_name[] = {"as it is", "one value", "few values", "narrow",
                                         "lowest",   "highest",   "sorted"};

struct recipe {
    unsigned char shape[TRG_INPUTS_MAX][TRG_COLUMNS_MAX];
    uint32_t few;
    uint32_t n_items; /* of each input; 0: all sizes are tried */
};

struct search {
    struct check *c;
    struct batches *batches;
    struct sample *sample;
    void *column[TRG_INPUTS_MAX][TRG_COLUMNS_MAX]; /* of the RoI that is tried */
    uint32_t n_items;                              /* of each input, in the RoI that is tried */
    struct trg_result result;
    struct products products;
    bool is_host; /* the device is this thread */
    uint64_t random, until_ns;
    uint64_t ordinary_ns, slowest_ns;
    struct recipe slowest;
    uint32_t n_tried;
};

/* ---------------------------------------------------------------- shapes */

static void describe(const struct search *s, const struct recipe *r, char *text, size_t bytes)
{
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t k = 0; k < s->c->plugin->n_inputs; k++) {
        const struct trg_collection *info = s->c->plugin->d.consumes[k];

        for (uint32_t i = 0; i < info->n_columns && n < bytes; i++)
            if (r->shape[k][i])
                n += (size_t)snprintf(text + n, bytes - n, "%s%s.%s %s", n ? ", " : "", info->name,
                                      info->column[i].name, shape_name[r->shape[k][i]]);
    }
    if (n < bytes)
        snprintf(text + n, bytes - n, "%s few %u", n ? ";" : "as it is;", r->few);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void put(void *column, uint32_t type, size_t at, double v)
{
    const float f = (float)v;
    uint32_t u = (uint32_t)(int64_t)v;

    if (type == TRG_F32)
        memcpy(&u, &f, sizeof f);
    memcpy((unsigned char *)column + at * trg_type_size(type), &u, trg_type_size(type));
}

/* Ordinary values as `v`, shaped.  Halves stay as they are: they have a coding of their own. */
static void shape_values(enum shape shape, uint32_t few, struct values_range allowed, double *v,
                         size_t n)
{
    const double low = allowed.least > -1e4 ? allowed.least : -1e4;
    const double high = allowed.most < 1e4 ? allowed.most : 1e4;

    if (shape == SORTED)
        qsort(v, n, sizeof *v, by_value);
    for (size_t i = n; n && i-- > 0;) {
        if (shape == ONE)
            v[i] = v[0];
        else if (shape == FEW)
            v[i] = v[i % few];
        else if (shape == NARROW)
            v[i] = v[0] + (v[i] - v[0]) * 1e-3;
        else if (shape == LOW)
            v[i] = low;
        else if (shape == HIGH)
            v[i] = high;
    }
}

static int make_column(struct search *s, const struct recipe *r, uint32_t k, uint32_t i, double *v)
{
    const struct trg_column *column = &s->c->plugin->d.consumes[k]->column[i];
    const void *from = sample_source(s->sample, k, SAMPLE_LARGEST)->column[i];
    const size_t n = (size_t)s->n_items * column->length;
    const uint32_t few = r->few * column->length;
    bool is_number;

    memcpy(s->column[k][i], from, n * trg_type_size(column->type));
    is_number = s->sample->kind[k] == TRG_DOUBLETS || !strcmp(column->name, "id");
    if (column->type == TRG_F16 || r->shape[k][i] == AS_IS)
        return 0;
    for (size_t at = 0; at < n; at++)
        v[at] = values_at(column->type, from, at);
    if (is_number && (r->shape[k][i] == LOW || r->shape[k][i] == HIGH))
        return 0; /* numbers of hits stay numbers of hits that are there */
    shape_values((enum shape)r->shape[k][i], few, values_range(column, UINT8_MAX), v, n);
    for (size_t at = 0; at < n; at++)
        put(s->column[k][i], column->type, at, v[at]);
    return 0;
}

/* ---------------------------------------------------------------- one RoI */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct search *s = rois;

    (void)i;
    *ret_info = s->sample->info[SAMPLE_LARGEST];
    for (uint32_t k = 0; k < s->c->plugin->n_inputs; k++) {
        ret_sources[k] = *sample_source(s->sample, k, SAMPLE_LARGEST);
        ret_sources[k].n = s->n_items;
        for (uint32_t c = 0; c < s->c->plugin->d.consumes[k]->n_columns; c++)
            ret_sources[k].column[c] = s->column[k][c];
    }
}

/* On a CPU the processor's time, which a busy machine does not lengthen. */
static uint64_t time_ns(const struct search *s)
{
    return s->is_host ? clock_thread_ns() : clock_ns();
}

/* The time of an RoI of that shape and size; the lesser of two, when the first is short. */
static int64_t time_of(struct search *s, const struct recipe *r, uint32_t n_items)
{
    const struct batches_work work = {
        .n = 1, .input = input, .rois = s, .results = &s->result, .products = &s->products};
    double *v = malloc((size_t)n_items * 64 * sizeof *v);
    uint64_t least = UINT64_MAX;

    if (!v)
        return -ENOMEM;
    s->n_items = n_items;
    for (uint32_t k = 0; k < s->c->plugin->n_inputs; k++)
        for (uint32_t i = 0; i < s->c->plugin->d.consumes[k]->n_columns; i++)
            make_column(s, r, k, i, v);
    free(v);
    for (uint32_t round = 0; round < 2 && least > 20 * NS_PER_MS; round++) {
        const uint64_t before = time_ns(s);
        int e;

        alarm(PATIENCE_S);
        e = batches_run(s->batches, &work);
        alarm(0);
        if (e < 0)
            return e;
        if (time_ns(s) - before < least)
            least = time_ns(s) - before;
    }
    s->n_tried++;
    return (int64_t)least;
}

/* ---------------------------------------------------------------- the search */

static char trying[512]; /* the shape, for the line about one that does not end */

static void give_up(int number)
{
    static const char head[] = "FAIL  an RoI did not end within two minutes: ";

    (void)number;
    if (write(STDOUT_FILENO, head, sizeof head - 1) < 0 ||
        write(STDOUT_FILENO, trying, strlen(trying)) < 0 || write(STDOUT_FILENO, "\n", 1) < 0)
        _exit(2); /* lint: in a signal handler */
    _exit(1);     /* lint: the same */
}

/* The slowest of the sizes of a shape, the least first.  One that has taken all of the time with
 * fewer items is not tried with more. */
static int64_t slowest_size(struct search *s, const struct recipe *r, uint32_t *ret_n_items)
{
    int64_t slowest = 0;

    for (uint32_t i = r->n_items ? 1 : SIZES; i-- > 0;) {
        uint32_t n = r->n_items ? r->n_items : s->c->o->worst_items;
        int64_t ns;

        for (uint32_t k = 0; k < i; k++)
            n /= STEP;
        ns = time_of(s, r, n);
        if (ns < 0)
            return ns;
        if (ns >= slowest)
            *ret_n_items = n;
        slowest = ns > slowest ? ns : slowest;
        if (clock_ns() > s->until_ns + 10 * NS_PER_S)
            break;
    }
    return slowest;
}

/* Tries a shape; keeps it when it is the slowest. */
static int try_recipe(struct search *s, const struct recipe *r)
{
    uint32_t n_items = 0;
    int64_t ns;

    describe(s, r, trying, sizeof trying);
    if (s->c->o->verbose)
        fprintf(stderr, "  try: %s\n", trying);
    ns = slowest_size(s, r, &n_items);
    if (ns < 0)
        return (int)ns;
    for (uint32_t i = 0; i < 3 && (uint64_t)ns > s->slowest_ns && ns < (int64_t)NS_PER_S; i++) {
        const int64_t again = time_of(s, r, n_items); /* the machine may have been busy */

        if (again < 0)
            return (int)again;
        ns = again < ns ? again : ns;
    }
    if ((uint64_t)ns > s->slowest_ns) {
        s->slowest_ns = (uint64_t)ns;
        s->slowest = *r;
        s->slowest.n_items = n_items;
    }
    return 0;
}

static uint32_t n_columns(const struct search *s)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < s->c->plugin->n_inputs; k++)
        n += s->c->plugin->d.consumes[k]->n_columns;
    return n;
}

static unsigned char *shape_at(const struct search *s, struct recipe *r, uint32_t at)
{
    uint32_t k = 0;

    while (at >= s->c->plugin->d.consumes[k]->n_columns)
        at -= s->c->plugin->d.consumes[k++]->n_columns;
    return &r->shape[k][at];
}

/* Shapes that are known to be awkward: one column or all of them alike, at one place, in a lattice.
 */
static int try_known(struct search *s)
{
    const uint32_t columns = n_columns(s);
    int r = 0;

    for (unsigned char shape = ONE; r == 0 && shape < SHAPES; shape++) {
        for (uint32_t at = 0; r == 0 && at <= columns && clock_ns() < s->until_ns; at++) {
            struct recipe one = {.few = 8};

            if (at < columns)
                *shape_at(s, &one, at) = shape;
            for (uint32_t i = 0; at == columns && i < columns; i++)
                *shape_at(s, &one, i) = shape;
            r = try_recipe(s, &one);
        }
    }
    return r;
}

/* From half as many to twice as many, as far as it may be. */
static uint32_t other_size(struct search *s, uint32_t n_items)
{
    const uint32_t n = n_items / 2 + sample_below(&s->random, n_items + n_items / 2 + 1);

    return n > s->c->o->worst_items ? s->c->o->worst_items : n;
}

/* Random changes of the slowest shape, one to three columns at a time, and of its size. */
static int try_changes(struct search *s)
{
    const uint32_t columns = n_columns(s);
    int r = 0;

    while (r == 0 && clock_ns() < s->until_ns) {
        struct recipe next = s->slowest;

        for (uint32_t i = 0; i <= sample_below(&s->random, 3); i++)
            *shape_at(s, &next, sample_below(&s->random, columns)) =
                (unsigned char)sample_below(&s->random, SHAPES);
        if (!sample_below(&s->random, 3))
            next.few = 1 + sample_below(&s->random, FEW_MOST);
        if (sample_below(&s->random, 2))
            next.n_items = other_size(s, next.n_items);
        r = try_recipe(s, &next);
    }
    return r;
}

/* ---------------------------------------------------------------- the answer */

static uint64_t stated_ns(const struct check *c)
{
    const struct trg_cost *cost = &c->plugin->d.cost;

    return (cost->batch_us + (uint64_t)cost->roi_us) * NS_PER_US +
           (uint64_t)c->o->worst_items * c->plugin->n_inputs * cost->item_ns;
}

static void report(struct search *s)
{
    const uint64_t stated = stated_ns(s->c);
    const bool is_stated = stated > 0;
    char text[512];

    describe(s, &s->slowest, text, sizeof text);
    printf("WORST %-9s %u items of each input: ordinary %.3f ms, slowest %.3f ms (%u items), %.1f "
           "times, "
           "stated %.3f ms; %u shapes tried\n      %s\n",
           s->c->where, s->c->o->worst_items, (double)s->ordinary_ns * 1e-6,
           (double)s->slowest_ns * 1e-6, s->slowest.n_items,
           (double)s->slowest_ns / (double)s->ordinary_ns, (double)stated * 1e-6, s->n_tried, text);
    check_line(s->c, is_stated && s->slowest_ns <= stated, "no RoI takes longer than stated",
               is_stated ? "the slowest takes %.3f ms; %.3f ms are stated (seed %llu)"
                         : "%.3f ms, and nothing is stated (%.3f; seed %llu)",
               (double)s->slowest_ns * 1e-6, (double)stated * 1e-6,
               (unsigned long long)s->c->o->seed);
}

static int run(struct search *s)
{
    struct recipe ordinary = {.few = 8};
    int r = try_recipe(s, &ordinary);

    s->ordinary_ns = s->slowest_ns;
    s->until_ns = clock_ns() + s->c->o->worst_s * NS_PER_S;
    if (r == 0)
        r = try_known(s);
    if (r == 0)
        r = try_changes(s);
    return r;
}

static int open_all(struct search *s)
{
    struct check *c = s->c;
    const struct sample_setup setup = {.kinds = c->plugin->consumes,
                                       .n_inputs = c->plugin->n_inputs,
                                       .max_items = c->o->worst_items,
                                       .max_layer = UINT8_MAX,
                                       .seed = c->o->seed};
    const struct batches_setup batches = {.host = &c->host,
                                          .plugin = &c->plugin->d,
                                          .config = c->config,
                                          .device = c->device,
                                          .slots = 1,
                                          .max_rois = 1,
                                          .max_items = c->o->worst_items};
    struct trg_device_info info;
    int r = sample_new(&setup, &s->sample);

    trg_device_info(c->device, &info);
    s->is_host = info.is_host;
    for (uint32_t k = 0; r == 0 && k < c->plugin->n_inputs; k++)
        for (uint32_t i = 0; r == 0 && i < c->plugin->d.consumes[k]->n_columns; i++) {
            s->column[k][i] = malloc((size_t)c->o->worst_items *
                                     trg_column_bytes(&c->plugin->d.consumes[k]->column[i]));
            r = s->column[k][i] ? 0 : -ENOMEM;
        }
    return r < 0 ? r : batches_open(&batches, &s->batches);
}

void check_worst(struct check *c)
{
    struct search s = {.c = c, .random = c->o->seed, .until_ns = UINT64_MAX / 2};
    int r = open_all(&s);

    signal(SIGALRM, give_up);
    if (r == 0)
        r = run(&s);
    if (r == 0)
        report(&s);
    else
        check_line(c, false, "no RoI takes longer than stated", "it failed: %s", strerror(-r));
    batches_close(s.batches);
    products_fini(&s.products);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
        for (uint32_t i = 0; i < TRG_COLUMNS_MAX; i++)
            free(s.column[k][i]);
    sample_free(s.sample);
}
