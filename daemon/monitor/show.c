/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"

#define COLUMN(name, kind, help) table_column(t, #name, true);
#define CELL(name, kind, help)   table_cell(t, "%llu", (unsigned long long)stats_get(&e->name));

void show_info(const struct control_view *v, struct table *t)
{
    struct stats_global copy, *e = &copy;

    stats_snapshot(&v->stats->g, &copy);
    table_column(t, "name", false);
    table_column(t, "version", false);
    table_column(t, "state", false);
    table_column(t, "reloading", false);
    table_column(t, "pid", true);
    table_column(t, "uptime_s", true);
    table_column(t, "config", false);
    STATS_GLOBAL(COLUMN)
    table_cell(t, v->extra ? "trigsup" : "trigd");
    table_cell(t, "%s", TRIGD_VERSION);
    table_cell(t, "%s", v->hooks.state(v->hooks.ctx));
    table_cell(t, "%s", v->hooks.is_reloading(v->hooks.ctx) ? "yes" : "no");
    table_cell(t, "%ld", (long)getpid());
    table_cell(t, "%.3f", (double)(clock_ns() - v->stats->started_ns) * 1e-9);
    table_cell(t, "%s", v->config_path);
    STATS_GLOBAL(CELL)
}

void show_chains(const struct control_view *v, struct table *t)
{
    table_column(t, "chain", false);
    table_column(t, "prescale", true);
    STATS_CHAIN(COLUMN)
    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < STATS_CHAINS_MAX; i++) {
        const struct stats_chain *e = &v->stats->chain[i];

        if (!atomic_load(&e->used))
            continue;
        table_cell(t, "%s", e->name);
        table_cell(t, "%g", atomic_load(&e->prescale));
        STATS_CHAIN(CELL)
    }
    stats_unlock();
}

void show_steps(const struct control_view *v, struct table *t)
{
    table_column(t, "step", false);
    table_column(t, "plugin", false);
    table_column(t, "rois_a_batch", true);
    STATS_STEP(COLUMN)
    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < STATS_STEPS_MAX; i++) {
        const struct stats_step *e = &v->stats->step[i];
        uint64_t batches = stats_get(&e->batches);

        if (!atomic_load(&e->used))
            continue;
        table_cell(t, "%s", e->name);
        table_cell(t, "%s", e->plugin);
        table_cell(t, "%.1f", batches ? (double)stats_get(&e->rois) / (double)batches : 0);
        STATS_STEP(CELL)
    }
    stats_unlock();
}

void show_lanes(const struct control_view *v, struct table *t)
{
    table_column(t, "lane", false);
    table_column(t, "device", false);
    table_column(t, "slots", true);
    STATS_LANE(COLUMN)
    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < v->stats->n_lanes; i++) {
        const struct stats_lane *e = &v->stats->lane[i];

        if (!atomic_load(&e->used))
            continue;
        table_cell(t, "%s", e->name);
        table_cell(t, "%s", e->device);
        table_cell(t, "%u", e->slots);
        STATS_LANE(CELL)
    }
    stats_unlock();
}

void show_workers(const struct control_view *v, struct table *t)
{
    table_column(t, "worker", false);
    STATS_WORKER(COLUMN)
    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < STATS_WORKERS_MAX; i++) {
        const struct stats_worker *e = &v->stats->worker[i];

        if (!atomic_load(&e->used))
            continue;
        table_cell(t, "%s", e->name);
        STATS_WORKER(CELL)
    }
    stats_unlock();
}

void show_streams(const struct control_view *v, struct table *t)
{
    table_column(t, "stream", false);
    STATS_STREAM(COLUMN)
    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < STATS_STREAMS_MAX; i++) {
        const struct stats_stream *e = &v->stats->stream[i];

        if (!atomic_load(&e->used))
            continue;
        table_cell(t, "%s", e->name);
        STATS_STREAM(CELL)
    }
    stats_unlock();
}

void show_guests(const struct control_view *v, struct table *t)
{
    static const char *const column[] = {"guest", "plugin", "device", "when", "state"};
    struct guest_info g;

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], false);
    STATS_GUEST(COLUMN)
    table_column(t, "progress", false);
    table_column(t, "why", false);
    for (uint32_t i = 0; guests_look(v->guests, i, &g); i++) {
        const struct stats_guest *e = g.stats;

        table_cell(t, "%s", g.name);
        table_cell(t, "%s", g.plugin);
        table_cell(t, "%s", g.device);
        table_cell(t, "%s", g.when);
        table_cell(t, "%s", g.state);
        STATS_GUEST(CELL)
        table_cell(t, "%s", g.progress);
        table_cell(t, "%s", g.why);
    }
}

void show_clients(const struct control_view *v, struct table *t)
{
    table_column(t, "client", false);
    STATS_CLIENT(COLUMN)
    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < STATS_CLIENTS_MAX; i++) {
        const struct stats_client *e = &v->stats->client[i];

        if (!atomic_load(&e->used))
            continue;
        table_cell(t, "%s", e->name);
        STATS_CLIENT(CELL)
    }
    stats_unlock();
}

static void latency_row(struct table *t, const char *name, const struct latency *l)
{
    uint64_t count = atomic_load_explicit(&l->count, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(&l->sum_ns, memory_order_relaxed);
    double max = (double)atomic_load_explicit(&l->max_ns, memory_order_relaxed);
    const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

    table_cell(t, "%s", name);
    table_cell(t, "%llu", (unsigned long long)count);
    table_cell(t, "%.1f", count ? (double)sum / (double)count * 1e-3 : 0);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double ns = latency_quantile_ns(l, quantiles[i]); /* the middle of a bucket */

        table_cell(t, "%.1f", (ns < max ? ns : max) * 1e-3);
    }
    table_cell(t, "%.1f", max * 1e-3);
}

void show_latency(const struct control_view *v, struct table *t)
{
    static const char *const column[] = {"count",  "mean_us",  "p50_us", "p90_us",
                                         "p99_us", "p99.9_us", "max_us"};

    table_column(t, "stage", false);
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], true);
#define ROW(name, help) latency_row(t, #name, &v->stats->stage[STATS_STAGE_##name]);
    STATS_STAGES(ROW)
#undef ROW
    stats_lock();
    for (uint32_t i = 0; i < v->stats->n_lanes; i++)
        if (atomic_load(&v->stats->lane[i].used))
            latency_row(t, v->stats->lane[i].name, &v->stats->lane[i].latency);
    stats_unlock();
}

void show_ledger(const struct control_view *v, struct table *t)
{
    static const char *const column[] = {"received", "accepted",  "rejected",
                                         "failed",   "in_flight", "imbalance"};
    struct stats_ledger l;

    stats_ledger(&v->stats->g, &l);
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], true);
    table_cell(t, "%" PRIu64, l.received);
    table_cell(t, "%" PRIu64, l.accepted);
    table_cell(t, "%" PRIu64, l.rejected);
    table_cell(t, "%" PRIu64, l.failed);
    table_cell(t, "%" PRIu64, l.in_flight);
    table_cell(t, "%" PRId64, l.imbalance);
}

void show_poison(const struct control_view *v, struct table *t)
{
    static const char *const number[] = {"run", "l1id", "roi", "unix_s", "sent_again"};
    struct poison_entry *list;
    uint32_t n = 0;

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        table_column(t, number[i], true);
    table_column(t, "reason", false);
    list = v->poison ? poison_list(v->poison, &n) : NULL;
    for (uint32_t i = 0; list && i < n; i++) {
        table_cell(t, "%u", list[i].run);
        table_cell(t, "%u", list[i].l1id);
        table_cell(t, "%u", list[i].roi_id);
        table_cell(t, "%" PRIu64, list[i].unix_s);
        table_cell(t, "%" PRIu64, list[i].n_again);
        table_cell(t, "%s", list[i].reason);
    }
    free(list);
}

void show_plugins(const struct control_view *v, struct table *t)
{
    static const char *const column[] = {"plugin", "version", "backends", "summary", "file"};

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], false);
    if (!v->plugins)
        return;
    for (const struct plugin *p = NULL; (p = plugin_host_next(v->plugins, p)) != NULL;) {
        table_cell(t, "%s", p->d.name);
        table_cell(t, "%s", p->d.version);
        table_cell(t, "%s", p->d.backends);
        table_cell(t, "%s", p->d.summary);
        table_cell(t, "%s", p->path);
    }
}

static void show_parameters(const struct plugin *p, struct table *t)
{
    static const char *const column[] = {"parameter", "default", "unit", "allowed", "meaning"};

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], false);
    for (uint32_t i = 0; i < p->n_params; i++) {
        const struct trg_param *q = &p->d.params[i];

        table_cell(t, "%s", q->name);
        table_cell(t, "%s", q->dflt);
        table_cell(t, "%s", q->unit);
        if (q->type == TRG_PARAM_BOOL)
            table_cell(t, "false|true");
        else if (q->type == TRG_PARAM_CHOICE)
            table_cell(t, "%s", q->choices);
        else
            table_cell(t, "%g .. %g", q->min, q->max);
        table_cell(t, "%s", q->help);
    }
}

static void show_presets(const struct plugin *p, struct table *t)
{
    table_column(t, "preset", false);
    table_column(t, "meaning", false);
    for (const struct trg_preset *s = p->d.presets; s && s->name; s++) {
        table_cell(t, "%s", s->name);
        table_cell(t, "%s", s->help);
    }
}

static void show_values(const struct plugin *p, struct table *t)
{
    table_column(t, "value", false);
    table_column(t, "unit", false);
    table_column(t, "meaning", false);
    for (uint32_t i = 0; i < p->n_values; i++) {
        table_cell(t, "%s", p->d.values[i].name);
        table_cell(t, "%s", p->d.values[i].unit);
        table_cell(t, "%s", p->d.values[i].help);
    }
}

static void show_histogram(const struct histogram *h, struct table *t)
{
    const struct histogram_sums s = histogram_sums(h);

    table_cell(t, "%s", h->name);
    if (h->y.bins)
        table_cell(t, "%ux%u", h->x.bins, h->y.bins);
    else
        table_cell(t, "%u", h->x.bins);
    table_cell(t, "%g", h->x.min);
    table_cell(t, "%g", h->x.max);
    table_cell(t, "%" PRIu64, histogram_entries(h));
    table_cell(t, "%" PRIu64, s.underflow);
    table_cell(t, "%" PRIu64, s.overflow);
    table_cell(t, "%" PRIu64, h->nan);
    table_cell(t, "%g", s.inside ? s.sum / (double)s.inside : 0);
}

void show_histograms(const struct control_view *v, struct table *t)
{
    static const char *const column[] = {"bins",      "min",      "max", "entries",
                                         "underflow", "overflow", "nan", "mean"};
    struct histogram_list list;

    table_column(t, "histogram", false);
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], true);
    if (v->hooks.histograms(v->hooks.ctx, &list) < 0)
        return;
    for (const struct histogram *h = list.first; h; h = h->next)
        show_histogram(h, t);
    histograms_drop(&list);
}

/* "momentum[3] GeV", after a comma but for the first. */
static size_t show_column(const struct trg_column *c, bool is_first, char *text, size_t bytes)
{
    char length[8] = "";

    if (c->length > 1)
        snprintf(length, sizeof length, "[%u]", c->length);
    return (size_t)snprintf(text, bytes, "%s%s%s%s%s", is_first ? "" : ", ", c->name, length,
                            c->unit[0] ? " " : "", c->unit);
}

void show_conditions(const struct control_view *v, struct table *t)
{
    static const char *const column[] = {"condition", "table",    "from",
                                         "key",       "next_key", "next_at"};
    struct control_condition list[CONDITIONS_MAX];
    const int n = v->hooks.conditions(v->hooks.ctx, list);

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], false);
    table_column(t, "rows", true);
    for (int i = 0; i < n; i++) {
        const struct control_condition *c = &list[i];

        table_cell(t, "%s", c->name);
        table_cell(t, "%s", c->table);
        table_cell(t, "%s", !c->key ? "not given" : c->is_of_operator ? "operator" : "file");
        table_cell(t, "%016" PRIx64, c->key);
        table_cell(t, "%016" PRIx64, c->is_waiting ? c->next_key : c->key);
        if (c->is_waiting)
            table_cell(t, "%u:%u", c->next.run, c->next.block);
        else
            table_cell(t, "%s", "");
        table_cell(t, "%u", c->rows);
    }
}

/* " u16 (-1.5 + 0.001 n)", or " u16" where offset and step come with each RoI. */
static size_t show_encoding(const struct trg_collection *c, uint32_t k, char *text, size_t bytes)
{
    const struct trg_encoding e = trg_column_encoding(c, k);

    if (!(c->column[k].flags & TRG_COLUMN_ENCODED))
        return 0;
    return (size_t)(e.step > 0 ? snprintf(text, bytes, " u16 (%g + %g n)", (double)e.offset,
                                          (double)e.step)
                               : snprintf(text, bytes, " u16"));
}

/* "x mm, y mm, ..." */
static void list_columns(const struct trg_collection *c, char *text, size_t bytes)
{
    size_t n = 0;

    for (uint32_t k = 0; k < c->n_columns && n < bytes; k++) {
        n += show_column(&c->column[k], !k, text + n, bytes - n);
        if (n < bytes)
            n += show_encoding(c, k, text + n, bytes - n);
    }
}

static void show_collections(const struct plugin *p, struct table *t)
{
    static const char *const column[] = {"direction", "collection", "columns"};
    char text[512];

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], false);
    for (uint32_t i = 0; i < p->n_inputs + p->n_outputs; i++) {
        const struct trg_collection *info =
            i < p->n_inputs ? p->d.consumes[i] : p->d.produces[i - p->n_inputs];

        list_columns(info, text, sizeof text);
        table_cell(t, i < p->n_inputs ? "consumes" : "produces");
        table_cell(t, "%s", info->name);
        table_cell(t, "%s", text);
    }
}

static void show_needs(const struct plugin *p, struct table *t)
{
    static const char *const column[] = {"condition", "needed", "table", "columns", "meaning"};
    char text[256];

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i], false);
    for (const struct trg_condition *c = p->d.conditions; c && c->name; c++) {
        list_columns(c->table, text, sizeof text);
        table_cell(t, "%s", c->name);
        table_cell(t, "%s", c->flags & TRG_CONDITION_OPTIONAL ? "no" : "yes");
        table_cell(t, "%s", c->table->name);
        table_cell(t, "%s", text);
        table_cell(t, "%s", c->help);
    }
}

/* What the descriptor states; no row where it states nothing. */
static void show_cost(const struct plugin *p, struct table *t)
{
    const struct trg_cost *c = &p->d.cost;

    table_column(t, "batch_us", true);
    table_column(t, "roi_us", true);
    table_column(t, "item_ns", true);
    if (!c->batch_us && !c->roi_us && !c->item_ns)
        return;
    table_cell(t, "%u", c->batch_us);
    table_cell(t, "%u", c->roi_us);
    table_cell(t, "%u", c->item_ns);
}

void show_title(const char *name, bool first, enum table_format format, FILE *out)
{
    if (format != TABLE_JSON) {
        fprintf(out, "# %s\n", name);
        return;
    }
    putc(first ? '{' : ',', out);
    json_string(name, out);
    putc(':', out);
}

void show_plugin(const struct plugin *p, enum table_format format, FILE *out)
{
    static const struct {
        const char *name;
        void (*show)(const struct plugin *, struct table *);
    } part[] = {{"parameters", show_parameters}, {"presets", show_presets},
                {"values", show_values},         {"collections", show_collections},
                {"conditions", show_needs},      {"worst_case_cost", show_cost}};

    if (format == TABLE_TEXT)
        fprintf(out,
                "%s %s: %s (runs on %s)\n"
                "at most %u us a batch, %u us more for each RoI, %u ns for each item, on one core "
                "or a whole GPU\n",
                p->d.name, p->d.version, p->d.summary, p->d.backends, p->d.cost.batch_us,
                p->d.cost.roi_us, p->d.cost.item_ns);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        struct table t;

        show_title(part[i].name, i == 0, format, out);
        table_init(&t);
        part[i].show(p, &t);
        table_print(&t, format, false, out);
        table_fini(&t);
    }
    if (format == TABLE_JSON)
        fputs("}\n", out);
}
