/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kills - workers are killed under half of the load that they can take: how long do the RoIs
 * take that were in flight, until their plugin has decided them? */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "daemon.h"
#include "result.h"
#include "stream.h"
#include "trigd.pb-c.h"

#define GOAL_MS    50.0 /* on CPU lanes */
#define ROIS       (1u << 24)
#define DISTINCT   200u
#define SEED       1u
#define MEASURE_NS (2 * NS_PER_S)     /* at full load, and before the first kill */
#define AFTER_NS   (1000 * NS_PER_MS) /* a kill: until the next one is prepared */
#define CAME_NS    (200 * NS_PER_MS)  /* after a kill: RoIs that came then */
#define CALM_NS    (500 * NS_PER_MS)  /* before a kill */

struct options {
    struct results out;
    const char *preset, *params, *devices;
    uint32_t kills;
    double goal_ms;
    bool has_spare;
};

struct bench {
    struct options o;
    struct bench_daemon daemon;
    char worker[32]; /* that is killed */
    struct source source;
    struct stream stream;
    double max_hz;
    uint32_t *kill_at; /* by kill: RoIs sent before */
    uint64_t *kill_ns; /* ... and when it was */
};

/* The process of the first worker that is none for retries; 0: it is down. */
static int find_worker(const struct bench *b, pid_t *ret_pid)
{
    const double pid = bench_daemon_number(&b->daemon, "show workers", b->worker, "pid");

    *ret_pid = pid > 0 ? (pid_t)pid : 0;
    return pid < 0 ? -EIO : 0;
}

/* ---------------------------------------------------------------- the runs */

static int run_for(struct bench *b, uint64_t ns)
{
    return stream_run(&b->stream, b->max_hz / 2, UINT32_MAX, clock_ns() + ns);
}

/* Kills the worker once it is up again after the last time.  It is looked for well before, since
 * no answer is taken meanwhile. */
static int kill_once(struct bench *b, uint32_t number)
{
    pid_t pid;
    int r;

    do {
        r = find_worker(b, &pid);
        if (r == 0)
            r = run_for(b, CALM_NS);
    } while (r == 0 && !pid);
    if (r < 0)
        return r;
    b->kill_at[number] = b->stream.n;
    b->kill_ns[number] = clock_ns();
    return kill(pid, SIGKILL) < 0 ? -errno : 0;
}

static int run_all(struct bench *b)
{
    int r = run_for(b, MEASURE_NS);

    for (uint32_t i = 0; r == 0 && i < b->o.kills; i++) {
        r = kill_once(b, i);
        if (r == 0)
            r = run_for(b, AFTER_NS);
    }
    return r < 0 ? r : stream_settle(&b->stream);
}

/* ---------------------------------------------------------------- what it shows */

struct sample { /* times of RoIs that their plugin decided, ms; and how many it did not */
    double *ms;
    uint32_t n, n_other;
};

static void note(struct sample *s, const struct stream_roi *r)
{
    if (r->status > TRIGD__V1__STATUS__TRUNCATED)
        s->n_other++;
    else
        s->ms[s->n++] = (double)(r->ended_ns - r->sent_ns) * 1e-6;
}

/* Of those from `first` on, which it sorts. */
static double quantile(struct sample *s, uint32_t first, double q)
{
    return result_quantile(s->ms + first, s->n - first, q);
}

enum part { HIT, CAME, REST, PARTS };
static const char *const part_name[PARTS] = {"in flight when their worker was killed",
                                             "sent in the 200 ms after it", "all others"};

static void show(const struct bench *b, enum part part, struct sample *s,
                 const struct result *by_kill)
{
    const struct result_figure judged = {.unit = "ms", .goal = part == HIT ? b->o.goal_ms : 0},
                               ms = {.unit = "ms"}, count = {.unit = ""};

    printf("%s: %u decided by the plugin, %u not; p50 %.1f, p99 %.1f, max %.1f ms; p99 of the "
           "median kill %.1f ms\n",
           part_name[part], s->n, s->n_other, quantile(s, 0, 0.5), quantile(s, 0, 0.99),
           quantile(s, 0, 1), result_median(by_kill));
    result_report_value(&b->o.out, &judged, quantile(s, 0, 0.99), 0, b->o.kills,
                        "%s at half load, RoIs %s: p99", b->o.preset, part_name[part]);
    result_report(&b->o.out, &ms, by_kill, "%s at half load, RoIs %s: p99, median of the kills",
                  b->o.preset, part_name[part]);
    result_report_value(&b->o.out, &count, s->n_other, 0, b->o.kills,
                        "%s at half load, RoIs %s: not decided by the plugin", b->o.preset,
                        part_name[part]);
}

/* Sorts RoIs by the kills: number k holds for those that were sent after it and before the next. */
static void sort_out(const struct bench *b, uint32_t from, struct sample *s, struct result *by_kill)
{
    uint32_t before[PARTS] = {0};

    for (uint32_t i = from, k = 0; i < b->stream.n; i++) {
        const struct stream_roi *r = &b->stream.roi[i];

        if (k < b->o.kills && i == b->kill_at[k]) {
            result_add(&by_kill[HIT], quantile(&s[HIT], before[HIT], 0.99));
            for (enum part p = k ? CAME : REST; p < PARTS; p++)
                result_add(&by_kill[p], quantile(&s[p], before[p], 0.99));
            for (enum part p = HIT; p < PARTS; p++)
                before[p] = s[p].n;
            k++;
        }
        if (k < b->o.kills && r->ended_ns > b->kill_ns[k])
            note(&s[HIT], r);
        else if (k && r->sent_ns < b->kill_ns[k - 1] + CAME_NS)
            note(&s[CAME], r);
        else
            note(&s[REST], r);
    }
}

static int report(const struct bench *b, uint32_t from)
{
    struct sample s[PARTS] = {{.n = 0}};
    struct result by_kill[PARTS] = {{.n = 0}};
    bool has_room = true;

    for (enum part p = HIT; p < PARTS; p++) {
        s[p].ms = calloc(b->stream.n, sizeof(double));
        has_room &= s[p].ms != NULL;
    }
    if (has_room) {
        sort_out(b, from, s, by_kill);
        for (enum part p = HIT; p < PARTS; p++)
            show(b, p, &s[p], &by_kill[p]);
    }
    for (enum part p = HIT; p < PARTS; p++)
        free(s[p].ms);
    return has_room ? 0 : -ENOMEM;
}

/* Its first device is the one whose worker is killed: `{backend: cpu, ...}` has cpu:0/1. */
static int start_daemon(struct bench *b)
{
    const char *backend = strstr(b->o.devices, "backend: ");
    char config[800];

    if (!backend)
        return -EINVAL;
    backend += strlen("backend: ");
    snprintf(b->worker, sizeof b->worker, "%.*s:", (int)strcspn(backend, ",} "), backend);
    snprintf(config, sizeof config, BENCH_DAEMON_ALONE "devices: [%s]\nworkers: {spare: %s}\n",
             b->o.devices, b->o.has_spare ? "true" : "false");
    return bench_daemon_start(
        &b->daemon,
        &(struct bench_daemon_setup){.plugin = "zfinder", .params = b->o.params, .config = config});
}

static int measure(struct bench *b)
{
    uint32_t from = 0;
    int r = source_generate(b->o.preset, SEED, DISTINCT, LAYOUT_AS_MADE, &b->source);

    if (r == 0)
        r = start_daemon(b);
    if (r == 0)
        r = stream_open(&b->stream, b->daemon.endpoint, &b->source, ROIS);
    if (r == 0)
        r = stream_measure(&b->stream, UINT32_MAX, MEASURE_NS, &b->max_hz);
    from = b->stream.n;
    if (r == 0)
        r = run_all(b);
    if (r == 0) {
        printf("%s, %s: %.0f RoIs/s at most, %u kills at half of that\n", b->o.preset, b->o.devices,
               b->max_hz, b->o.kills);
        r = report(b, from);
    }
    return r;
}

static void parse(int argc, char **argv, struct options *o)
{
    const struct arg table[] = {
        {"json", ARG_APPEND, &o->out.json, 0, 0, "FILE", "append figures, one a line"},
        {"preset", ARG_TEXT, &o->preset, 0, 0, "P", "of trigreplay (default lowlum)"},
        {"params", ARG_TEXT, &o->params, 0, 0, "YAML", "of zfinder (default preset: pure)"},
        {"devices", ARG_TEXT, &o->devices, 0, 0, "YAML",
         "of the daemon (default {backend: cpu, lanes: 1})"},
        {"device", ARG_TEXT, &o->out.device, 0, 0, "NAME", "what they are called in results"},
        {"goal-ms", ARG_REAL, &o->goal_ms, 0, 1e6, "MS",
         "for the p99 of RoIs in flight (default 50)"},
        {"spare", ARG_FLAG, &o->has_spare, 0, 0, NULL, "a process waits beside the worker"},
        {"kills", ARG_U32, &o->kills, 1, RESULT_RUNS_MAX, "N", "default 20"},
        {0}};

    *o = (struct options){.out = {.bench = "kills", .has_table = true},
                          .preset = "lowlum",
                          .params = "preset: pure",
                          .devices = "{backend: cpu, lanes: 1}",
                          .kills = 20,
                          .goal_ms = GOAL_MS};
    if (args_parse(argc, argv, NULL, table) != ARGS_OK)
        exit(2);
}

int main(int argc, char **argv)
{
    struct bench b = {.max_hz = 0};
    int r = -ENOMEM;

    parse(argc, argv, &b.o);
    b.kill_at = calloc(b.o.kills, sizeof *b.kill_at);
    b.kill_ns = calloc(b.o.kills, sizeof *b.kill_ns);
    if (b.kill_at && b.kill_ns)
        r = measure(&b);
    stream_close(&b.stream);
    bench_daemon_stop(&b.daemon);
    source_free(&b.source);
    free(b.kill_at);
    free(b.kill_ns);
    return result_end(&b.o.out, r);
}
