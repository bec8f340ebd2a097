/* SPDX-License-Identifier: Apache-2.0 */
/* bench_farm - trigsup beside a bare proxy of libzmq (ROUTER and DEALER) with the same clients,
 * messages and answers; four nodes one of which is four times slower; a simulation of rules that
 * give out RoIs, and of farms of up to 1,000 nodes; RoIs by address; supervisors side by side. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addresses.h"
#include "args.h"
#include "crowd.h"
#include "faults.h"
#include "island.h"
#include "middle.h"
#include "process.h"
#include "result.h"
#include "scale.h"
#include "simulate.h"
#include "slow.h"

#define RATE_GOAL      0.9 /* of the proxy's */
#define RANDOM_GOAL    10.0
#define CONSTANT_GOAL  5.0
#define LOAD           0.9
#define SIMULATED_ROIS 40000u
#define SEEDS          9u

static struct options {
    struct results out;
    const char *only;
    uint32_t rounds, window, clients, nodes, io_threads, supervisors;
    double seconds, slow_seconds;
} options = {.out = {.bench = "farm"},
             .rounds = 7,
             .window = 64,
             .clients = 2,
             .nodes = 1,
             .io_threads = 1,
             .supervisors = 2,
             .seconds = 0.5,
             .slow_seconds = 5};

enum { FARM, PROXY, SIDES };
static const enum server_kind kind[SIDES] = {SERVER_TRIGD, SERVER_ANSWER};
static const char *const side_name[SIDES] = {"trigsup", "proxy"};

static int complain(const char *what, int r)
{
    fprintf(stderr, "bench_farm: %s: %s\n", what, strerror(-r));
    return r;
}

static bool is_wanted(const char *part)
{
    return !options.only || !strcmp(options.only, part);
}

/* ---------------------------------------------------------------- beside the proxy */

struct sides {
    struct middle middle[SIDES];
    struct crowd crowd[SIDES];
};

static void judge(const char *size, struct result *rate, struct result *cpu)
{
    char command[128];
    const struct results out = {.bench = "farm", .command = command, .json = options.out.json};
    const struct result_figure rates = {.unit = "1/s",
                                        .higher_is_better = true,
                                        .goal = RATE_GOAL * result_median(&rate[PROXY]),
                                        .baseline = "ROUTER-DEALER proxy",
                                        .baseline_value = result_median(&rate[PROXY])};
    const struct result_figure times = {
        .unit = "us", .baseline = rates.baseline, .baseline_value = result_median(&cpu[PROXY])};

    for (uint32_t i = 0; i < SIDES; i++)
        printf("%-10s %-8s %12.0f messages/s %8.2f us of its processor time a message\n", size,
               side_name[i], result_median(&rate[i]), result_median(&cpu[i]));
    snprintf(command, sizeof command, "bench_farm --clients %u --nodes %u --io-threads %u",
             options.clients, options.nodes, options.io_threads);
    result_report(&out, &rates, &rate[FARM], "ipc, %s: RoIs through trigsup", size);
    result_report(&out, &times, &cpu[FARM], "ipc, %s: processor time of an RoI", size);
}

static int measure_size(struct sides *s, const char *size, uint32_t points)
{
    struct result rate[SIDES] = {{.n = 0}}, cpu[SIDES] = {{.n = 0}};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < SIDES; i++)
        r = crowd_points(&s->crowd[i], points);
    for (uint32_t round = 0; r == 0 && round <= options.rounds; round++)
        for (uint32_t i = 0; r == 0 && i < SIDES; i++) {
            struct crowd_run run;

            r = crowd_run(&s->crowd[i], &s->middle[i].server, options.seconds, 0, &run);
            if (r == 0 && round) { /* the first one warms up */
                result_add(&rate[i], run.rate);
                result_add(&cpu[i], run.cpu_us);
            }
        }
    if (r == 0)
        judge(size, rate, cpu);
    return r;
}

static int measure_sides(const char *folder)
{
    static struct sides s; /* large */
    const struct middle_setup setup = {
        .folder = folder, .nodes = options.nodes, .io_threads = options.io_threads};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < SIDES; i++) {
        r = middle_start(&s.middle[i], kind[i], &setup);
        if (r == 0)
            r = crowd_open(&s.crowd[i], &s.middle[i].server, options.clients, options.window);
        if (r < 0)
            complain(side_name[i], r);
    }
    if (r == 0)
        r = measure_size(&s, "lowlum", 333);
    if (r == 0)
        r = measure_size(&s, "highlum", 8104);
    for (uint32_t i = 0; i < SIDES; i++) {
        crowd_close(&s.crowd[i]);
        middle_stop(&s.middle[i]);
    }
    return r;
}

/* ---------------------------------------------------------------- a slow node */

static int measure_slow(const char *folder)
{
    for (int is_random = 0; is_random < 2; is_random++) {
        const struct result_figure f = {.unit = "service times",
                                        .goal = is_random ? RANDOM_GOAL : CONSTANT_GOAL};
        struct result p99;
        const int r =
            slow_measure(folder, LOAD, is_random, options.slow_seconds, options.rounds, &p99);

        if (r < 0)
            return complain("four nodes", r);
        result_report(&options.out, &f, &p99,
                      "4 nodes, one 4 times slower, load 0.9, %s times: p99",
                      is_random ? "exponential" : "constant");
    }
    return 0;
}

static void simulate(enum rule rule, uint32_t nodes, bool is_random, struct result *ret_p99)
{
    *ret_p99 = (struct result){.n = 0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct simulation s = {.rule = rule,
                                     .nodes = nodes,
                                     .rois = SIMULATED_ROIS,
                                     .load = LOAD,
                                     .slow = SLOW_TIMES,
                                     .is_random = is_random,
                                     .old = 1e6 / SLOW_SERVICE_US,
                                     .seed = 77 * seed};

        result_add(ret_p99, simulate_p99(&s));
    }
}

static void measure_rule(enum rule rule, uint32_t nodes, bool is_random)
{
    const double goal = is_random ? RANDOM_GOAL : CONSTANT_GOAL;
    const struct result_figure f = {.unit = "service times",
                                    .goal = rule == RULE_TRIGSUP ? goal : 0};
    struct result p99;

    simulate(rule, nodes, is_random, &p99);
    result_report(&options.out, &f, &p99,
                  "simulated, %u nodes, one 4 times slower, load 0.9, %s times, %s: p99", nodes,
                  is_random ? "exponential" : "constant", rule_name[rule]);
}

static void measure_rules(void)
{
    static const uint32_t nodes[] = {4, 32};

    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t rule = 0; rule < RULES; rule++) {
            measure_rule((enum rule)rule, nodes[i], false);
            measure_rule((enum rule)rule, nodes[i], true);
        }
}

/* ---------------------------------------------------------------- all */

static int run(void)
{
    char folder[PROCESS_FOLDER_BYTES];
    int r = process_new_folder(folder);

    if (r == 0 && is_wanted("proxy"))
        r = measure_sides(folder);
    if (r == 0 && is_wanted("slow"))
        r = measure_slow(folder);
    if (r == 0 && is_wanted("rules"))
        measure_rules();
    if (r == 0 && is_wanted("faults"))
        r = faults_measure(folder, options.rounds, options.out.json);
    if (r == 0 && is_wanted("scale"))
        r = scale_measure(folder, options.seconds, options.rounds, options.out.json);
    if (r == 0 && is_wanted("addresses"))
        r = addresses_measure(folder, options.supervisors, options.nodes, options.seconds,
                              options.rounds, options.out.json);
    if (r == 0 && is_wanted("supervisors"))
        r = scale_supervisors(folder, options.supervisors, options.clients, options.nodes,
                              options.seconds, options.rounds, options.out.json);
    process_remove_folder(folder);
    return result_end(&options.out, r);
}

/* The programs that the benchmark starts are itself; -1: it is the benchmark. */
static int be_other(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--proxy"))
        return middle_proxy(argv[2], argv[3], (int)strtol(argv[4], NULL, 10));
    if (argc == 3 && !strcmp(argv[1], "--worker"))
        return node_behind_proxy(argv[2]);
    if (argc == 8 && !strcmp(argv[1], "--node")) {
        const struct node_setup setup = {.farm = argv[2],
                                         .endpoint = argv[3],
                                         .name = argv[4],
                                         .menu_key = strtoull(argv[5], NULL, 10),
                                         .service_us = strtod(argv[6], NULL),
                                         .is_random = !strcmp(argv[7], "random")};

        return node_of_farm(&setup);
    }
    return -1;
}

int main(int argc, char **argv)
{
    const struct arg table[] = {
        {"rounds", ARG_U32, &options.rounds, 1, RESULT_RUNS_MAX, "N", "of which the median counts"},
        {"seconds", ARG_REAL, &options.seconds, 0.001, 3600, "S", "of a round"},
        {"slow-seconds", ARG_REAL, &options.slow_seconds, 1, 3600, "S",
         "of a round with a slow node"},
        {"window", ARG_U32, &options.window, 1, 1000, "N", "unanswered messages of a client"},
        {"clients", ARG_U32, &options.clients, 1, CROWD_MAX, "N", "at a time"},
        {"nodes", ARG_U32, &options.nodes, 1, MIDDLE_NODES, "N", "beside the proxy"},
        {"io-threads", ARG_U32, &options.io_threads, 1, 16, "N", "of ZeroMQ in the middle"},
        {"supervisors", ARG_U32, &options.supervisors, 1, 16, "N", "side by side"},
        {"only", ARG_TEXT, &options.only, 0, 0, "PART",
         "proxy, slow, rules, faults, scale, addresses or supervisors"},
        {"json", ARG_APPEND, &options.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = be_other(argc, argv);

    if (r >= 0)
        return r;
    r = args_parse(argc, argv, NULL, table);
    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (options.only && !strcmp(options.only, "faults"))
        island_enter(argv); /* for the network that is cut */
    return run();
}
