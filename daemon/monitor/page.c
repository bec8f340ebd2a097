/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/page.h"

#include <string.h>

#include "monitor/show.h"
#include "monitor/show_rates.h"

extern const char page_css[], page_js[]; /* page/, put into C by the build */

#define SLOW_ROWS 8u

typedef void show_fn(const struct control_view *v, struct table *t);

static void open_section(const char *id, const char *title, FILE *out)
{
    fprintf(out, "<section id=%s aria-labelledby=h-%s><h2 id=h-%s>%s</h2>\n", id, id, id, title);
}

static void close_section(FILE *out)
{
    fputs("</section>\n", out);
}

static uint32_t rows_of(const struct table *t)
{
    return t->n_columns ? t->n_cells / t->n_columns : 0;
}

/* A table of `show`, in a part of a section; nothing where it has no rows. */
static void part(const struct control_view *v, show_fn *show, const char *caption, FILE *out)
{
    struct table t;

    table_init(&t);
    show(v, &t);
    if (rows_of(&t))
        page_table(&t, caption, UINT32_MAX, out);
    table_fini(&t);
}

static void rates_part(const struct control_view *v, enum windows_kind kind, uint32_t window,
                       FILE *out)
{
    char caption[64];
    struct table t;

    snprintf(caption, sizeof caption, "show rates %s: %s", windows_name[window],
             windows_kind_name(kind));
    table_init(&t);
    show_rates(v, kind, window, &t);
    if (rows_of(&t))
        page_table(&t, caption, UINT32_MAX, out);
    table_fini(&t);
}

/* ---------------------------------------------------------------- sections */

static void key_figure(const char *name, const char *value, const char *unit, FILE *out)
{
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    page_text(value, out);
    fprintf(out, "%s</dd></div>", unit);
}

/* State, key figures, the plots. */
static void state_section(const struct control_view *v, uint32_t window, FILE *out)
{
    const char *state = v->hooks.state(v->hooks.ctx);
    struct table t, info;

    table_init(&t);
    table_init(&info);
    show_rates(v, WINDOWS_OF_NODE, window, &t);
    show_info(v, &info);
    fprintf(out,
            "<section id=state data-version=\"%s\" data-title=\"%s: %s\" aria-labelledby=h-state>"
            "<h2 id=h-state>State: %s, up %s s</h2>\n<dl>",
            TRIGD_VERSION, v->extra ? "trigsup" : "trigd", state, state,
            page_cell(&info, 0, "uptime_s"));
    key_figure("received", page_cell(&t, 0, "received_per_s"), "/s", out);
    key_figure("accepted", page_cell(&t, 0, "accepted_per_s"), "/s", out);
    key_figure("failed", page_cell(&t, 0, "failed_per_s"), "/s", out);
    key_figure("in flight", page_cell(&info, 0, "in_flight"), "", out);
    key_figure("p50", page_cell(&t, 0, "p50_us"), " us", out);
    key_figure("p99", page_cell(&t, 0, "p99_us"), " us", out);
    key_figure("dead", page_cell(&t, 0, "dead"), "", out);
    key_figure("clients", page_cell(&info, 0, "clients"), "", out);
    fputs("</dl>\n", out);
    if (v->windows)
        page_plots(v->windows, out);
    close_section(out);
    table_fini(&info);
    table_fini(&t);
}

static void ledger_section(const struct control_view *v, uint32_t window, FILE *out)
{
    open_section("ledger", "Ledger: received = accepted + rejected + failed + in flight", out);
    part(v, show_ledger, "show ledger", out);
    rates_part(v, WINDOWS_OF_NODE, window, out);
    close_section(out);
}

static void chains_section(const struct control_view *v, uint32_t window, FILE *out)
{
    open_section("chains", "Chains against expectation", out);
    rates_part(v, WINDOWS_OF_CHAIN, window, out);
    part(v, show_chains, "show chains", out);
    close_section(out);
}

static void lanes_section(const struct control_view *v, uint32_t window, FILE *out)
{
    open_section("lanes", "Devices, lanes and slots", out);
    rates_part(v, WINDOWS_OF_DEVICE, window, out);
    part(v, show_devices, "show devices", out);
    rates_part(v, WINDOWS_OF_LANE, window, out);
    part(v, show_lanes, "show lanes", out);
    rates_part(v, WINDOWS_OF_STEP, window, out);
    part(v, show_workers, "show workers", out);
    close_section(out);
}

static void latency_section(const struct control_view *v, uint32_t window, FILE *out)
{
    open_section("latency", "Latency by stage", out);
    rates_part(v, WINDOWS_OF_STAGE, window, out);
    part(v, show_latency, "show latency", out);
    close_section(out);
}

static void ends_section(const struct control_view *v, uint32_t window, FILE *out)
{
    open_section("clients", "Clients and streams", out);
    rates_part(v, WINDOWS_OF_CLIENT, window, out);
    part(v, show_clients, "show clients", out);
    rates_part(v, WINDOWS_OF_STREAM, window, out);
    part(v, show_streams, "show streams", out);
    close_section(out);
}

static void slow_section(const struct control_view *v, FILE *out)
{
    struct table t;

    open_section("slow", "The slowest RoIs", out);
    table_init(&t);
    show_slow(v, &t);
    page_table(&t, "show slow", SLOW_ROWS, out);
    table_fini(&t);
    close_section(out);
}

/* A supervisor's own tables. */
static void extra_section(const struct control_view *v, FILE *out)
{
    open_section("farm", "The farm", out);
    for (uint32_t i = 0; i < v->n_extra; i++) {
        struct table t;

        if (!v->extra[i].show)
            continue;
        table_init(&t);
        if (v->extra[i].show(v->hooks.ctx, &t) == 0) {
            if (!strcmp(v->extra[i].words, "show nodes"))
                page_heat(&t, out);
            page_table(&t, v->extra[i].words, UINT32_MAX, out);
        }
        table_fini(&t);
    }
    close_section(out);
}

static void counters_section(const struct control_view *v, FILE *out)
{
    struct table t;

    open_section("counters", "All counters", out);
    fputs("<details id=all><summary>show info</summary><div class=wide><table><tbody>", out);
    table_init(&t);
    show_info(v, &t);
    for (uint32_t c = 0; c < t.n_columns && rows_of(&t); c++) {
        fprintf(out, "\n<tr><th scope=row>%s</th><td class=n>", t.column[c]);
        page_text(t.cell[c], out);
        fputs("</td></tr>", out);
    }
    table_fini(&t);
    fputs("</tbody></table></div></details>\n", out);
    close_section(out);
}

void page_sections(const struct control_view *v, uint32_t window, FILE *out)
{
    state_section(v, window, out);
    if (v->extra)
        extra_section(v, out);
    ledger_section(v, window, out);
    if (!v->extra) {
        chains_section(v, window, out);
        lanes_section(v, window, out);
    }
    latency_section(v, window, out);
    ends_section(v, window, out);
    if (!v->extra)
        slow_section(v, out);
    counters_section(v, out);
}

/* ---------------------------------------------------------------- the page */

void page_print(const struct control_view *v, uint32_t window, const char *nonce, FILE *out)
{
    const char *name = v->extra ? "trigsup" : "trigd";

    fprintf(out,
            "<!doctype html>\n<html lang=en data-version=\"%s\"><head><meta charset=utf-8>"
            "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
            "<title>%s: %s</title><link rel=icon href=\"data:,\">"
            "<noscript><meta http-equiv=refresh content=5></noscript>\n<style nonce=%s>",
            TRIGD_VERSION, name, v->hooks.state(v->hooks.ctx), nonce);
    fputs(page_css, out);
    fprintf(out,
            "</style></head>\n<body><a class=skip href=#main>Skip to the tables</a><header>"
            "<h1>%s %s</h1><p>",
            name, TRIGD_VERSION);
    page_text(v->config_path, out);
    fputs("</p><nav aria-label=\"Window of the rates\">", out);
    for (uint32_t i = 0; i < WINDOWS_N; i++)
        fprintf(out, "<a href=\"/?window=%s\"%s>%s</a>", windows_name[i],
                i == window ? " aria-current=page" : "", windows_name[i]);
    fputs("</nav><button id=pause type=button hidden aria-pressed=false>Pause</button>"
          "<p id=live role=status>as of its loading</p></header>\n<main id=main>\n",
          out);
    page_sections(v, window, out);
    fprintf(out,
            "</main>\n<footer><p>The tables are those of trigctl; <a href=/metrics>/metrics</a>, "
            "<a href=/healthz>/healthz</a>, <a href=/readyz>/readyz</a></p></footer>\n"
            "<script nonce=%s>",
            nonce);
    fputs(page_js, out);
    fputs("</script></body></html>\n", out);
}
