/* SPDX-License-Identifier: Apache-2.0 */
/* bench_echo - trigd with a plugin that does nothing, beside a bare ZeroMQ echo of the same
 * messages, that echo with decoding, and a sink that decodes and answers: the same clients drive
 * the four in turns. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "crowd.h"
#include "echo.h"
#include "process.h"
#include "result.h"

#define RATE_GOAL 0.9 /* of the throughput of the echo that decodes */
#define SINK_GOAL 0.9 /* of that of the sink, which decodes and answers a decision */
#define P99_GOAL  1.5 /* times the p99 of an echo, bare or decoding, at the same load */
#define LOAD      0.5 /* the load: this much of the throughput of --load-of */

static const char *const name[SERVER_KINDS] = {"echo", "echo and decode", "decode and answer",
                                               "trigd"};

static struct options {
    struct results out;
    const char *only, *load_of; /* decode or trigd */
    uint32_t rounds, window;
    uint32_t clients, io_threads;    /* io_threads: of ZeroMQ in each server */
    uint32_t client_cores;           /* that servers do not use; 0: all share all */
    uint32_t threads;                /* of the bare servers */
    uint32_t shards, gather_threads; /* of trigd */
    double seconds;
} options = {.out = {.bench = "echo", .has_table = true},
             .rounds = 5,
             .window = 256,
             .clients = 1,
             .io_threads = 1,
             .threads = 1,
             .load_of = "decode",
             .seconds = 0.4};

struct bench {
    struct server server[SERVER_KINDS];
    struct crowd crowd[SERVER_KINDS];
    const char *transport;
};

struct figures { /* of one server */
    struct result rate, cpu, p50, p99, p999;
};

/* ---------------------------------------------------------------- measuring */

static int complain(const char *what, int r)
{
    fprintf(stderr, "bench_echo: %s: %s\n", what, strerror(-r));
    return r;
}

static void add(struct figures *f, const struct crowd_run *run)
{
    result_add(&f->rate, run->rate);
    result_add(&f->cpu, run->cpu_us);
    result_add(&f->p50, run->p50_us);
    result_add(&f->p99, run->p99_us);
    result_add(&f->p999, run->p999_us);
}

/* One run after another, round by round; the first round warms up.  A rate of 0 is as fast as
 * possible. */
static int measure(struct bench *b, double rate, struct figures *figures)
{
    memset(figures, 0, SERVER_KINDS * sizeof *figures);
    for (uint32_t round = 0; round <= options.rounds; round++)
        for (uint32_t k = 0; k < SERVER_KINDS; k++) {
            struct crowd_run run;
            int r = crowd_run(&b->crowd[k], &b->server[k], options.seconds, rate, &run);

            if (r < 0)
                return complain(name[k], r);
            if (round)
                add(&figures[k], &run);
        }
    return 0;
}

/* ---------------------------------------------------------------- telling */

static void print_table(const char *what, const struct figures *figures, bool with_rate)
{
    printf("\n%s\n%-18s %12s %9s %9s %9s %9s\n", what, "", with_rate ? "messages/s" : "", "cpu us",
           "p50 us", "p99 us", "p99.9 us");
    for (uint32_t k = 0; k < SERVER_KINDS; k++) {
        const struct figures *f = &figures[k];

        printf("%-18s %12.0f %9.2f %9.1f %9.1f %9.1f\n", name[k], result_median(&f->rate),
               result_median(&f->cpu), result_median(&f->p50), result_median(&f->p99),
               result_median(&f->p999));
    }
}

struct row { /* one figure of trigd beside that of another server */
    const char *figure, *unit;
    bool higher_is_better;
    double goal; /* times the other's */
    enum server_kind other;
};

static void write_figure(struct bench *b, const char *size, const struct row *row,
                         const struct result *mine, const struct result *theirs)
{
    char command[200], crowd[64] = "", apart[32] = "", bare[32] = "", own[64] = "",
                       threads[64] = "";
    const struct results out = {
        .bench = "echo", .command = command, .has_table = true, .json = options.out.json};
    const struct result_figure f = {.unit = row->unit,
                                    .higher_is_better = row->higher_is_better,
                                    .goal = row->goal * result_median(theirs),
                                    .baseline = name[row->other],
                                    .baseline_value = result_median(theirs)};

    if (options.clients > 1)
        snprintf(crowd, sizeof crowd, ", %u clients", options.clients);
    if (options.client_cores) {
        snprintf(crowd, sizeof crowd, ", %u clients on %u cores", options.clients,
                 options.client_cores);
        snprintf(apart, sizeof apart, " --client-cores %u", options.client_cores);
    }
    if (options.shards || options.gather_threads) {
        snprintf(own, sizeof own, " --shards %u --gather-threads %u", options.shards,
                 options.gather_threads);
        snprintf(threads, sizeof threads, ", %u shards, %u gather threads", options.shards,
                 options.gather_threads);
    }
    if (options.threads > 1)
        snprintf(bare, sizeof bare, ", bare with %u threads", options.threads);
    snprintf(command, sizeof command,
             "bench_echo --clients %u --io-threads %u --threads %u --load-of %s%s%s",
             options.clients, options.io_threads, options.threads, options.load_of, apart, own);
    result_report(&out, &f, mine, "%s, %s%s%s%s: %s", b->transport, size, crowd, bare, threads,
                  row->figure);
}

/* Says and writes how trigd's rate is beside another server's. */
static void judge_rate(struct bench *b, const char *size, const struct figures *full,
                       enum server_kind other, double goal)
{
    const struct row row = {.figure =
                                other == SERVER_ANSWER ? "decisions beside the sink" : "decisions",
                            .unit = "1/s",
                            .higher_is_better = true,
                            .goal = goal,
                            .other = other};
    double ratio = result_median(&full[SERVER_TRIGD].rate) / result_median(&full[other].rate);

    printf("throughput of trigd is %.2f of \"%s\" (goal >= %g: %s)\n", ratio, name[other], goal,
           ratio >= goal ? "met" : "NOT met");
    write_figure(b, size, &row, &full[SERVER_TRIGD].rate, &full[other].rate);
}

/* Else it is that of the echo that decodes, which then can follow as well. */
static bool is_load_of_trigd(void)
{
    return !strcmp(options.load_of, "trigd");
}

/* Says and writes how late trigd's answers are beside those of an echo at the same rate. */
static void judge_load(struct bench *b, const char *size, const struct figures *load,
                       enum server_kind other)
{
    const bool is_bare = other == SERVER_ECHO;
    const struct figures *mine = &load[SERVER_TRIGD], *theirs = &load[other];
    const double ratio = result_median(&mine->p99) / result_median(&theirs->p99);
    const char *at = is_load_of_trigd() ? "half of trigd's rate" : "half load";
    const char *beside = is_bare ? ", beside the bare echo" : "";
    char figure[96];
    struct row row = {.figure = figure, .unit = "us", .goal = 0, .other = other};

    printf("p99 of trigd is %.2f of \"%s\" (goal <= %g: %s)\n", ratio, name[other], P99_GOAL,
           ratio <= P99_GOAL ? "met" : "NOT met");
    snprintf(figure, sizeof figure, "p50 at %s%s", at, beside);
    write_figure(b, size, &row, &mine->p50, &theirs->p50);
    snprintf(figure, sizeof figure, "p99.9 at %s%s", at, beside);
    write_figure(b, size, &row, &mine->p999, &theirs->p999);
    snprintf(figure, sizeof figure, "p99 at %s%s", at, beside);
    row.goal = P99_GOAL;
    write_figure(b, size, &row, &mine->p99, &theirs->p99);
}

static int measure_size(struct bench *b, const char *size)
{
    static const struct row cpu = {
        .figure = "processor time of a decision", .unit = "us", .other = SERVER_DECODE};
    struct figures full[SERVER_KINDS], load[SERVER_KINDS];
    double rate;
    char title[160];
    int r = measure(b, 0, full);

    if (r < 0)
        return r;
    snprintf(title, sizeof title, "%s, %s, %zu bytes, %u clients: %u unanswered of each",
             b->transport, size, b->crowd[0].client[0].bytes, options.clients, options.window);
    print_table(title, full, true);
    judge_rate(b, size, full, SERVER_DECODE, RATE_GOAL);
    judge_rate(b, size, full, SERVER_ANSWER, SINK_GOAL);
    write_figure(b, size, &cpu, &full[SERVER_TRIGD].cpu, &full[SERVER_DECODE].cpu);

    rate = LOAD * result_median(&full[is_load_of_trigd() ? SERVER_TRIGD : SERVER_DECODE].rate);
    r = measure(b, rate, load);
    if (r < 0)
        return r;
    snprintf(title, sizeof title, "%s, %s: at %.0f messages/s", b->transport, size, rate);
    print_table(title, load, true);
    judge_load(b, size, load, SERVER_ECHO);
    if (!is_load_of_trigd())
        judge_load(b, size, load, SERVER_DECODE);
    return 0;
}

/* ---------------------------------------------------------------- all */

static int open_all(struct bench *b, bool tcp)
{
    const struct server_setup setup = {.tcp = tcp,
                                       .credits = options.window,
                                       .io_threads = options.io_threads,
                                       .threads = options.threads,
                                       .shards = options.shards,
                                       .gather_threads = options.gather_threads};

    for (uint32_t k = 0; k < SERVER_KINDS; k++) {
        const uint32_t apart = options.client_cores;
        int r = apart ? process_part(apart, false) : 0;

        if (r == 0)
            r = server_start(&b->server[k], (enum server_kind)k, &setup);
        if (r == 0 && apart)
            r = process_part(apart, true);
        if (r == 0)
            r = crowd_open(&b->crowd[k], &b->server[k], options.clients, options.window);
        if (r < 0)
            return complain(name[k], r);
    }
    return 0;
}

static void close_all(struct bench *b)
{
    for (uint32_t k = 0; k < SERVER_KINDS; k++) {
        crowd_close(&b->crowd[k]);
        server_stop(&b->server[k]);
    }
}

static int measure_points(struct bench *b, const char *size, uint32_t n)
{
    int r = 0;

    for (uint32_t k = 0; k < SERVER_KINDS && r == 0; k++)
        r = crowd_points(&b->crowd[k], n);
    return r < 0 ? r : measure_size(b, size);
}

static int measure_transport(struct bench *b, bool tcp)
{
    int r;

    memset(b->server, 0, sizeof b->server);
    memset(b->crowd, 0, sizeof b->crowd);
    b->transport = tcp ? "tcp" : "ipc";
    r = open_all(b, tcp);
    if (r == 0)
        r = measure_points(b, "lowlum", 333);
    if (r == 0)
        r = measure_points(b, "highlum", 8104);
    close_all(b);
    return r;
}

static int run(void)
{
    static struct bench b; /* large */
    int r = 0;

    for (int tcp = 0; tcp < 2 && r == 0; tcp++)
        if (!options.only || !strcmp(options.only, tcp ? "tcp" : "ipc"))
            r = measure_transport(&b, tcp);
    return result_end(&options.out, r);
}

int main(int argc, char **argv)
{
    const struct arg table[] = {
        {"rounds", ARG_U32, &options.rounds, 1, RESULT_RUNS_MAX, "N", "of which the median counts"},
        {"seconds", ARG_REAL, &options.seconds, 0.001, 3600, "S", "of a round"},
        {"window", ARG_U32, &options.window, 1, 1000, "N", "unanswered messages of a client"},
        {"only", ARG_TEXT, &options.only, 0, 0, "WAY", "ipc or tcp"},
        {"clients", ARG_U32, &options.clients, 1, CROWD_MAX, "N", "at a time"},
        {"io-threads", ARG_U32, &options.io_threads, 1, 16, "N", "of ZeroMQ in each server"},
        {"client-cores", ARG_U32, &options.client_cores, 0, 1024, "N",
         "for clients alone, the last ones; 0: all share all"},
        {"threads", ARG_U32, &options.threads, 1, 16, "N",
         "of each bare server, with a ROUTER each"},
        {"load-of", ARG_TEXT, &options.load_of, 0, 0, "WHO",
         "decode (default) or trigd: half of whose rate the load is"},
        {"shards", ARG_U32, &options.shards, 0, 16, "N", "of trigd; 0: as it likes"},
        {"gather-threads", ARG_U32, &options.gather_threads, 0, 16, "N", "of trigd"},
        {"json", ARG_APPEND, &options.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r;

    if (argc == 6 && !strcmp(argv[1], "--serve"))
        return echo_serve(argv[3],
                          !strcmp(argv[2], "decode")   ? ECHO_DECODE
                          : !strcmp(argv[2], "answer") ? ECHO_ANSWER
                                                       : ECHO_BARE,
                          (int)strtol(argv[4], NULL, 10), (uint32_t)strtoul(argv[5], NULL, 10));
    r = args_parse(argc, argv, NULL, table);
    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (!is_load_of_trigd() && strcmp(options.load_of, "decode") != 0) {
        fprintf(stderr, "bench_echo: --load-of is \"%s\"; decode or trigd is wanted\n",
                options.load_of);
        return 2;
    }
    return run();
}
