/* SPDX-License-Identifier: Apache-2.0 */
#include "rundoc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/wholefile.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "trigd/plugin.h"

#define ANEW_MAX 1000u /* documents of one run: the daemon was started again so often */

/* X(name): counters of what went wrong. */
#define FAILURES(X)      \
    X(timeouts)          \
    X(too_late)          \
    X(truncated)         \
    X(retried)           \
    X(poison)            \
    X(poison_known)      \
    X(plugin_errors)     \
    X(errors)            \
    X(event_errors)      \
    X(events_incomplete) \
    X(busy)              \
    X(undeliverable)     \
    X(cut_off)           \
    X(reload_failures)   \
    X(log_dropped)

/* ---------------------------------------------------------------- members */

static void print_text(const char *name, const char *text, FILE *out)
{
    fprintf(out, ",\n \"%s\": ", name);
    json_string(text, out);
}

static void print_time(const char *name, uint64_t unix_ns, FILE *out)
{
    char text[JSON_TIME];

    fprintf(out, ",\n \"%s\": \"%s\", \"%s_unix_ns\": %" PRIu64, name, json_time(unix_ns, text),
            name, unix_ns);
}

static void print_menu(const struct rundoc *d, FILE *out)
{
    fprintf(out, ",\n \"menu\": {\"key\": \"%016" PRIx64 "\", \"file\": ", d->menu_key);
    json_string(d->menu_file, out);
    fputs(", \"steps\": [", out);
    for (uint32_t i = 0; i < d->n_plugins; i++) {
        fprintf(out, "%s\n  {\"step\": ", i ? "," : "");
        json_string(d->plugin[i].step, out);
        fputs(", \"plugin\": ", out);
        json_string(d->plugin[i].plugin, out);
        fputs(", \"version\": ", out);
        json_string(d->plugin[i].version, out);
        fputc('}', out);
    }
    fputs("]}", out);
}

static void print_head(const struct rundoc *d, FILE *out)
{
    fprintf(out, "{\"format\": \"trigd run\", \"version\": 1, \"document\": \"%s\",\n \"run\": %u",
            d->ended_unix_ns ? "end" : "start", d->run);
    fprintf(out, ", \"numbers\": \"%s\"", d->numbers ? "run control" : "client");
    print_text("by", d->by, out);
    print_time("began", d->began_unix_ns, out);
    print_text("program", d->program, out);
    print_text("name", d->name, out);
    print_text("config", d->config_path, out);
    fprintf(out, ",\n \"versions\": {\"%s\": \"%s\", \"plugin_abi\": %u}", d->program,
            TRIGD_VERSION, TRG_PLUGIN_ABI);
    print_menu(d, out);
}

static void print_counts(const struct rundoc *d, FILE *out)
{
    const struct stats_global *a = d->before, *b = d->after;

#define SINCE(name) (stats_get(&b->name) - stats_get(&a->name))
    fprintf(out,
            ",\n \"ledger\": {\"received\": %" PRIu64 ", \"accepted\": %" PRIu64
            ", \"rejected\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"in_flight\": %" PRIu64 "}",
            SINCE(received), SINCE(accepted), SINCE(rejected), SINCE(failed),
            stats_get(&b->in_flight));
    fprintf(out, ",\n \"failures\": {\"dead_s\": %.6f", (double)SINCE(dead_ns) * 1e-9);
#define PRINT(name) fprintf(out, ", \"" #name "\": %" PRIu64, SINCE(name));
    FAILURES(PRINT)
    fprintf(out, ", \"documents\": %u}", d->n_errors);
#undef PRINT
#undef SINCE
}

static void print_end(const struct rundoc *d, FILE *out)
{
    print_time("ended", d->ended_unix_ns, out);
    print_text("why", d->why, out);
    fprintf(out, ",\n \"seconds\": %.3f, \"paused_s\": %.3f, \"last_lumi_block\": %u",
            (double)(d->ended_unix_ns - d->began_unix_ns) * 1e-9, (double)d->paused_ns * 1e-9,
            d->last_block);
    print_counts(d, out);
}

static void print(const void *document, FILE *out)
{
    const struct rundoc *d = document;

    print_head(d, out);
    if (d->ended_unix_ns)
        print_end(d, out);
    if (d->more)
        d->more(d->ctx, out);
    if (d->ended_unix_ns) {
        fputs(",\n \"accounts\": ", out);
        account_print(d->accounts, out);
    }
    fputs("}\n", out);
}

/* ---------------------------------------------------------------- files */

int rundoc_write(const char *folder, const struct rundoc *d, bool is_anew)
{
    const char *what = d->ended_unix_ns ? "end" : "start";
    char name[64];
    int r;

    snprintf(name, sizeof name, "%u.%s.json", d->run, what);
    r = wholefile_write(folder, name, print, d);
    for (uint32_t i = 2; r == -EEXIST && is_anew && i < ANEW_MAX; i++) {
        snprintf(name, sizeof name, "%u.%s.%u.json", d->run, what, i);
        r = wholefile_write(folder, name, print, d);
    }
    if (r < 0)
        log_error("run", "the document of a run cannot be written",
                  "folder=\"%s\" file=\"%s\" error=\"%s\"", folder, name, strerror(-r));
    else
        log_info("run", "document written", "folder=\"%s\" file=\"%s\"", folder, name);
    return r;
}

void rundoc_refusal(int error, uint32_t run, const char *folder, char *text, size_t bytes)
{
    snprintf(text, bytes,
             error == -EEXIST
                 ? "run %u has been already: there are documents of it in %.160s"
                 : "the document of run %u cannot be written in %.160s; the log says why",
             run, folder);
}

uint32_t rundoc_last(const char *folder)
{
    const struct dirent *e;
    uint32_t last = 0;
    DIR *dir = opendir(folder);

    while (dir && (e = readdir(dir)) != NULL) {
        char *end;
        const unsigned long n = strtoul(e->d_name, &end, 10);

        if (end > e->d_name && *end == '.' && n > last && n <= UINT32_MAX)
            last = (uint32_t)n;
    }
    if (dir)
        closedir(dir);
    return last;
}
