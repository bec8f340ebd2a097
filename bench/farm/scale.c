/* SPDX-License-Identifier: Apache-2.0 */
#include "scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crowd.h"
#include "middle.h"
#include "policy.h"
#include "result.h"
#include "side.h"
#include "simulate.h"

#define POINTS     333u /* lowlum */
#define WINDOW     64u
#define CHOICES    20000u
#define FARM_HZ    1e6 /* RoIs that the simulated farms get in a second */
#define NODE_LOAD  0.9 /* of what their nodes can do */
#define MOST_BUSY  0.9 /* a supervisor is */
#define SEEDS      3u
#define ROIS       40000u
#define MOST_LINKS 1024u

static const uint32_t real[] = {1, 4, 16}, links[] = {4, 16, 64, 256, 1024},
                      farms[] = {16, 64, 256, 1000};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---------------------------------------------------------------- real nodes */

static int measure_real(const char *folder, uint32_t nodes, double seconds, unsigned rounds,
                        const struct results *out, double *ret_us)
{
    static struct crowd crowd; /* large */
    const struct middle_setup setup = {.folder = folder, .nodes = nodes, .io_threads = 1};
    struct result cpu = {.n = 0};
    struct middle m;
    int r = middle_start(&m, SERVER_TRIGD, &setup);

    if (r == 0)
        r = crowd_open(&crowd, &m.server, 2, WINDOW);
    if (r == 0)
        r = crowd_points(&crowd, POINTS);
    for (unsigned round = 0; r == 0 && round <= rounds; round++) {
        struct crowd_run run;

        r = crowd_run(&crowd, &m.server, seconds, 0, &run);
        if (r == 0 && round) /* the first one warms up */
            result_add(&cpu, run.cpu_us);
    }
    crowd_close(&crowd);
    middle_stop(&m);
    if (r == 0)
        result_report(out, &(struct result_figure){.unit = "us"}, &cpu,
                      "ipc, lowlum, %u nodes: processor time of an RoI", nodes);
    *ret_us = result_median(&cpu);
    return r;
}

/* ---------------------------------------------------------------- the choice alone */

/* Nodes that answered before, with a few RoIs each. */
static void fill(struct policy_node *node, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        node[i] = (struct policy_node){.may_take = true, .in_flight = i % 7};
        for (uint32_t k = 1; k < 600; k++)
            policy_answered(&node[i], 1 + k % 7,
                            (uint64_t)(1 + k % 7) * (900000 + 10000 * (i % 21)));
    }
}

static double choice_us(struct policy_node *node, uint32_t n)
{
    const uint32_t choices = CHOICES * 16 / (n + 12);
    const uint64_t began = clock_ns();
    uint32_t turn = 0;

    for (uint32_t i = 0; i < choices; i++)
        node[policy_choose(node, n, 1, &turn)].in_flight++;
    return (double)(clock_ns() - began) / 1000 / choices;
}

static double measure_choice(uint32_t n, unsigned rounds, const struct results *out)
{
    static struct policy_node node[MOST_LINKS];
    struct result us = {.n = 0};

    for (unsigned round = 0; round <= rounds; round++) {
        double one;

        fill(node, n);
        one = choice_us(node, n);
        if (round)
            result_add(&us, one);
    }
    result_report(out, &(struct result_figure){.unit = "us"}, &us,
                  "choice among %u shards of nodes", n);
    return result_median(&us);
}

/* ---------------------------------------------------------------- simulated */

struct costs {                   /* of an RoI at a supervisor, us */
    double few;                  /* with few nodes */
    double choice[COUNT(links)]; /* among so many links */
};

/* Between the numbers that were measured it grows evenly. */
static double cost_us(const struct costs *c, uint32_t n)
{
    size_t i = 1;
    double part;

    while (i + 1 < COUNT(links) && links[i] < n)
        i++;
    part = ((double)n - links[i - 1]) / (links[i] - links[i - 1]);
    if (part < 0)
        part = 0;
    return c->few - c->choice[0] + c->choice[i - 1] + part * (c->choice[i] - c->choice[i - 1]);
}

/* As few supervisors as can do it, with equal parts of the nodes. */
static uint32_t supervisors_for(const struct costs *c, uint32_t nodes)
{
    uint32_t s = (nodes + 255) / 256;

    while (s < nodes && FARM_HZ / s * cost_us(c, nodes / s) * 1e-6 > MOST_BUSY)
        s++;
    return s;
}

/* Clients are spread over the supervisors, which have nodes of their own: what one of them does all
 * of them do. */
static void simulate_farm(const struct costs *c, uint32_t nodes, const struct results *out)
{
    const struct result_figure number = {.unit = "1"}, times = {.unit = "service times"};
    const uint32_t s = supervisors_for(c, nodes), part = nodes / s;
    const double us = cost_us(c, part),
                 service_us = NODE_LOAD * SIMULATE_SLOTS * nodes / FARM_HZ * 1e6;
    struct result p99 = {.n = 0}, free_p99 = {.n = 0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct simulation w = {.rule = RULE_TRIGSUP,
                               .nodes = part,
                               .rois = ROIS,
                               .load = NODE_LOAD,
                               .slow = 1,
                               .is_random = true,
                               .seed = 77 * seed,
                               .old = 1e6 / service_us,
                               .cost = us / service_us};

        result_add(&p99, simulate_p99(&w));
        w.cost = 0;
        result_add(&free_p99, simulate_p99(&w));
    }
    result_report_value(out, &number, s, 0, 1, "simulated, 1 MHz to %u nodes: supervisors", nodes);
    result_report_value(out, &number, FARM_HZ / s * us * 1e-6, 0, 1,
                        "simulated, 1 MHz to %u nodes: a supervisor is busy", nodes);
    result_report(out, &times, &p99, "simulated, 1 MHz to %u nodes: p99", nodes);
    result_report(out, &times, &free_p99,
                  "simulated, 1 MHz to %u nodes, supervisors that cost nothing: p99", nodes);
}

int scale_measure(const char *folder, double seconds, unsigned rounds, FILE *json)
{
    const struct results out = {
        .bench = "farm", .command = "bench_farm --only scale", .json = json};
    struct costs c = {.few = 0};
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT(real); i++) {
        double us;

        r = measure_real(folder, real[i], seconds, rounds, &out, &us);
        c.few = real[i] == 4 ? us : c.few;
    }
    for (size_t i = 0; r == 0 && i < COUNT(links); i++)
        c.choice[i] = measure_choice(links[i], rounds, &out);
    for (size_t i = 0; r == 0 && i < COUNT(farms); i++)
        simulate_farm(&c, farms[i], &out);
    return r;
}

/* ---------------------------------------------------------------- supervisors side by side */

struct one { /* a supervisor, with clients and nodes of its own */
    unsigned clients, nodes;
    double seconds;
    struct middle middle;
    struct crowd crowd;
};

static int open_one(void *arg, const char *folder)
{
    struct one *o = arg;
    const struct middle_setup setup = {.folder = folder, .nodes = o->nodes, .io_threads = 1};
    int r = middle_start(&o->middle, SERVER_TRIGD, &setup);

    if (r == 0)
        r = crowd_open(&o->crowd, &o->middle.server, o->clients, WINDOW);
    return r < 0 ? r : crowd_points(&o->crowd, POINTS);
}

static int run_one(void *arg, double *ret_done)
{
    struct one *o = arg;
    struct crowd_run run;
    const int r = crowd_run(&o->crowd, &o->middle.server, o->seconds, 0, &run);

    *ret_done = 0;
    for (uint32_t i = 0; i < o->crowd.n; i++)
        *ret_done += (double)o->crowd.client[i].n_latencies;
    return r;
}

static void close_one(void *arg)
{
    struct one *o = arg;

    crowd_close(&o->crowd);
    middle_stop(&o->middle);
}

int scale_supervisors(const char *folder, unsigned supervisors, unsigned clients, unsigned nodes,
                      double seconds, unsigned rounds, FILE *json)
{
    static struct one o; /* large */
    const struct side side = {.open = open_one, .run = run_one, .close = close_one, .ctx = &o};
    struct result rate = {.n = 0};
    const struct results out = {
        .bench = "farm", .command = "bench_farm --only supervisors", .json = json};
    const struct result_figure f = {.unit = "1/s", .higher_is_better = true, .goal = 1e6};
    struct sides *s = NULL;
    double one;
    int r;

    o = (struct one){.clients = clients, .nodes = nodes, .seconds = seconds};
    r = sides_open(&side, supervisors, folder, &s);
    for (unsigned round = 0; r == 0 && round <= rounds; round++) {
        r = sides_run(s, &one);
        if (r == 0 && round)
            result_add(&rate, one);
    }
    sides_close(s);
    if (r == 0)
        result_report(&out, &f, &rate, "ipc, lowlum: RoIs through %u supervisors side by side",
                      supervisors);
    return r;
}
