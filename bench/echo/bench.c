/* SPDX-License-Identifier: Apache-2.0 */
/* bench_echo - trigd with a plugin that does nothing, beside a bare ZeroMQ echo of the same
 * messages and that echo with decoding: one client drives the three in turns. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "echo.h"
#include "points.h"
#include "result.h"

#define RATE_GOAL 0.9 /* of the throughput of the echo that decodes */
#define P99_GOAL  1.5 /* times its p99 at the same load */
#define LOAD      0.5 /* the load: this much of its throughput */

static const char usage[] =
    "usage: bench_echo [--json FILE] [--rounds N] [--seconds S] [--window N]\n"
    "                  [--only ipc|tcp]\n";
static const char *const name[SERVER_KINDS] = {"echo", "echo and decode", "decode and answer",
                                               "trigd"};

static struct options {
    const char *json, *only;
    uint32_t rounds, window;
    double seconds;
} options = {.rounds = 5, .window = 256, .seconds = 0.4};

struct bench {
    struct server server[SERVER_KINDS];
    struct client client[SERVER_KINDS];
    char folder[32];
    const char *transport;
    FILE *json;
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

static void add(struct figures *f, const struct client_run *run)
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
            struct client_run run;
            int r = rate > 0
                        ? client_run_load(&b->client[k], &b->server[k], options.seconds, rate, &run)
                        : client_run_full(&b->client[k], &b->server[k], options.seconds, &run);

            if (r < 0)
                return complain(name[k], r);
            if (round)
                add(&figures[k], &run);
        }
    return 0;
}

/* ---------------------------------------------------------------- telling */

static void tell(const char *what, const struct figures *figures, bool with_rate)
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

static void write_figure(struct bench *b, const char *size, const char *figure, const char *unit,
                         bool higher, double goal, const struct result *mine,
                         const struct result *theirs)
{
    char text[128];
    struct result_figure f = {.bench = "echo",
                              .figure = text,
                              .unit = unit,
                              .command = "bench_echo",
                              .higher_is_better = higher,
                              .goal = goal * result_median(theirs),
                              .baseline = name[SERVER_DECODE],
                              .baseline_value = result_median(theirs)};

    snprintf(text, sizeof text, "%s, %s: %s", b->transport, size, figure);
    result_write(b->json, &f, mine);
}

static void judge(const char *what, double ratio, bool good, const char *goal)
{
    printf("%s of trigd is %.2f of the echo that decodes (goal %s: %s)\n", what, ratio, goal,
           good ? "met" : "NOT met");
}

static int measure_size(struct bench *b, const char *size)
{
    struct figures full[SERVER_KINDS], load[SERVER_KINDS];
    const struct figures *decode = &full[SERVER_DECODE], *trigd = &full[SERVER_TRIGD];
    double ratio, rate;
    char title[128];
    int r = measure(b, 0, full);

    if (r < 0)
        return r;
    snprintf(title, sizeof title, "%s, %s, %zu bytes: %u unanswered at a time", b->transport, size,
             b->client[0].bytes, options.window);
    tell(title, full, true);
    ratio = result_median(&trigd->rate) / result_median(&decode->rate);
    judge("throughput", ratio, ratio >= RATE_GOAL, ">= 0.9");
    write_figure(b, size, "decisions", "1/s", true, RATE_GOAL, &trigd->rate, &decode->rate);
    write_figure(b, size, "processor time of a decision", "us", false, 0, &trigd->cpu,
                 &decode->cpu);

    rate = LOAD * result_median(&decode->rate);
    r = measure(b, rate, load);
    if (r < 0)
        return r;
    decode = &load[SERVER_DECODE];
    trigd = &load[SERVER_TRIGD];
    snprintf(title, sizeof title, "%s, %s: at %.0f messages/s", b->transport, size, rate);
    tell(title, load, true);
    ratio = result_median(&trigd->p99) / result_median(&decode->p99);
    judge("p99", ratio, ratio <= P99_GOAL, "<= 1.5");
    write_figure(b, size, "p50 at half load", "us", false, 0, &trigd->p50, &decode->p50);
    write_figure(b, size, "p99 at half load", "us", false, P99_GOAL, &trigd->p99, &decode->p99);
    write_figure(b, size, "p99.9 at half load", "us", false, 0, &trigd->p999, &decode->p999);
    return 0;
}

/* ---------------------------------------------------------------- all */

static int open_all(struct bench *b, bool tcp)
{
    for (uint32_t k = 0; k < SERVER_KINDS; k++) {
        int r = server_start(&b->server[k], (enum server_kind)k, b->folder, tcp, options.window);

        if (r == 0)
            r = client_open(&b->client[k], &b->server[k], options.window);
        if (r < 0)
            return complain(name[k], r);
    }
    return 0;
}

static void close_all(struct bench *b)
{
    for (uint32_t k = 0; k < SERVER_KINDS; k++) {
        client_close(&b->client[k]);
        server_stop(&b->server[k]);
    }
}

static int measure_points(struct bench *b, const char *size, uint32_t n)
{
    struct points p;
    size_t bytes;
    void *message;
    int r = points_new(n, &p);

    if (r < 0)
        return r;
    message = points_message(&p, CLIENT_TOKEN, &bytes);
    points_free(&p);
    if (!message)
        return -ENOMEM;
    for (uint32_t k = 0; k < SERVER_KINDS && r == 0; k++)
        r = client_message(&b->client[k], message, bytes);
    if (r == 0)
        r = measure_size(b, size);
    free(message);
    return r;
}

static int measure_transport(struct bench *b, bool tcp)
{
    int r;

    memset(b->server, 0, sizeof b->server);
    memset(b->client, 0, sizeof b->client);
    b->transport = tcp ? "tcp" : "ipc";
    r = open_all(b, tcp);
    if (r == 0)
        r = measure_points(b, "lowlum", 333);
    if (r == 0)
        r = measure_points(b, "highlum", 8104);
    close_all(b);
    return r;
}

/* Removes all that the servers left behind. */
static void clean(const char *folder)
{
    static const char *const file[] = {"trigd.yaml", "menu.yaml", "cache", "echo",
                                       "decode",     "answer",    "trigd", ""};
    char path[64];

    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file[i]);
        remove(path);
    }
}

static int run(void)
{
    struct bench b = {.folder = "/tmp/bench-echo-XXXXXX"};
    int r = 0;

    if (options.json && !(b.json = fopen(options.json, "w")))
        return complain(options.json, -errno);
    if (!mkdtemp(b.folder))
        return complain(b.folder, -errno);
    for (int tcp = 0; tcp < 2 && r == 0; tcp++)
        if (!options.only || !strcmp(options.only, tcp ? "tcp" : "ipc"))
            r = measure_transport(&b, tcp);
    clean(b.folder);
    if (b.json && fclose(b.json) != 0 && r == 0)
        r = complain(options.json, -EIO);
    return r;
}

static bool parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"json", required_argument, NULL, 'j'},    {"rounds", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'}, {"window", required_argument, NULL, 'w'},
        {"only", required_argument, NULL, 'o'},    {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (c) {
        case 'j':
            options.json = optarg;
            break;
        case 'r':
            options.rounds = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 's':
            options.seconds = strtod(optarg, NULL);
            break;
        case 'w':
            options.window = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'o':
            options.only = optarg;
            break;
        default:
            return false;
        }
    }
    return optind == argc && options.rounds >= 1 && options.rounds <= RESULT_RUNS_MAX &&
           options.seconds > 0 && options.window >= 1 && options.window <= 1000;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "--serve"))
        return echo_serve(argv[3], !strcmp(argv[2], "decode")   ? ECHO_DECODE
                                   : !strcmp(argv[2], "answer") ? ECHO_ANSWER
                                                                : ECHO_BARE);
    if (!parse(argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    return run() < 0 ? 1 : 0;
}
