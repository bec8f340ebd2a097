/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "asker.h"
#include "clock.h"
#include "crowd.h"
#include "middle.h"
#include "points.h"
#include "process.h"
#include "result.h"
#include "side.h"

#define GOAL_HZ 1e6
#define WINDOW  4096u
#define PACK    64u   /* questions in a message */
#define TURNS   4u    /* messages of questions that a window has, at least */
#define HIGHLUM 8104u /* spacepoints */
#define LOWLUM  333u
#define BODIES  128u /* unanswered, each with its body */

struct ctx { /* one supervisor with its nodes, and one client */
    unsigned nodes, pack, batch, window;
    double seconds;
    const void *body; /* of each RoI; NULL: only passes go to the nodes */
    size_t body_bytes;
    struct middle middle;
    struct asker asker;
};

static int open_one(void *arg, const char *folder)
{
    struct ctx *c = arg;
    const struct middle_setup setup = {.folder = folder, .nodes = c->nodes, .io_threads = 1};
    int r = middle_start(&c->middle, SERVER_TRIGD, &setup);

    if (r == 0)
        r = asker_open(&c->asker, c->middle.server.endpoint, c->window, c->pack, c->batch);
    c->asker.body = c->body;
    c->asker.body_bytes = c->body_bytes;
    return r;
}

static int run_one(void *arg, double *ret_done)
{
    struct ctx *c = arg;
    const uint64_t before = c->asker.decided;
    const int r = asker_run(&c->asker, c->seconds);

    *ret_done = (double)(c->asker.decided - before);
    return r;
}

static void close_one(void *arg)
{
    struct ctx *c = arg;

    asker_close(&c->asker);
    middle_stop(&c->middle);
}

static void report(FILE *json, const char *figure, const char *unit, double goal,
                   const struct result *r)
{
    const struct results out = {
        .bench = "farm", .command = "bench_farm --only addresses", .json = json};
    const struct result_figure f = {
        .unit = unit, .goal = goal, .higher_is_better = !strcmp(unit, "1/s")};

    result_report(&out, &f, r, "%s", figure);
}

/* Rounds of one supervisor; rates, and its processor time of an address. */
static int play(struct ctx *c, const char *folder, unsigned rounds, struct result *rate,
                struct result *cpu)
{
    int r = open_one(c, folder);

    for (unsigned i = 0; r == 0 && i <= rounds; i++) {
        const uint64_t before = process_cpu_ns(c->middle.server.pid), began_ns = clock_ns();
        double done;

        r = run_one(c, &done);
        if (r < 0 || !i) /* the first one warms up */
            continue;
        result_add(rate, done / ((double)(clock_ns() - began_ns) * 1e-9));
        result_add(cpu, (double)(process_cpu_ns(c->middle.server.pid) - before) / 1e3 / done);
    }
    close_one(c);
    return r;
}

/* Passes alone.  One address is for all RoIs of a batch, which are of one event. */
static int measure_passes(const char *folder, unsigned nodes, unsigned pack, unsigned batch,
                          double seconds, unsigned rounds, FILE *json)
{
    static struct ctx c;
    const bool is_one = batch == 1;
    struct result rate = {.n = 0}, cpu = {.n = 0};
    char how[32], figure[128];
    int r;

    c = (struct ctx){
        .nodes = nodes, .pack = pack, .batch = batch, .window = WINDOW, .seconds = seconds};
    r = play(&c, folder, rounds, &rate, &cpu);
    if (r < 0)
        return r;
    snprintf(how, sizeof how, is_one ? "%u asked at once" : "%u in a batch", is_one ? pack : batch);
    snprintf(figure, sizeof figure, "ipc, %u nodes: %s, %s", nodes,
             is_one ? "addresses" : "RoIs by address", how);
    report(json, figure, "1/s", 0, &rate);
    snprintf(figure, sizeof figure, "ipc, %u nodes: processor time of an %s, %s", nodes,
             is_one ? "address" : "RoI by address", how);
    report(json, figure, "us", 0, &cpu);
    return 0;
}

static int measure_sides(const char *folder, unsigned supervisors, unsigned nodes, double seconds,
                         unsigned rounds, FILE *json)
{
    static struct ctx c;
    const struct side side = {.open = open_one, .run = run_one, .close = close_one, .ctx = &c};
    struct result rate = {.n = 0};
    struct sides *s = NULL;
    char figure[128];
    double one;
    int r;

    c = (struct ctx){
        .nodes = nodes, .pack = PACK, .batch = 1, .window = WINDOW, .seconds = seconds};
    r = sides_open(&side, supervisors, folder, &s);
    for (unsigned i = 0; r == 0 && i <= rounds; i++) {
        r = sides_run(s, &one);
        if (r == 0 && i)
            result_add(&rate, one);
    }
    sides_close(s);
    snprintf(figure, sizeof figure, "ipc, %u supervisors side by side: addresses", supervisors);
    if (r == 0)
        report(json, figure, "1/s", GOAL_HZ, &rate);
    return r;
}

/* ---------------------------------------------------------------- with bodies */

static int by_body(const char *folder, unsigned nodes, uint32_t points, double seconds,
                   unsigned rounds, struct result *rate, struct result *cpu)
{
    static struct crowd crowd; /* large */
    const struct middle_setup setup = {.folder = folder, .nodes = nodes, .io_threads = 1};
    struct middle m;
    int r = middle_start(&m, SERVER_TRIGD, &setup);

    if (r == 0)
        r = crowd_open(&crowd, &m.server, 1, BODIES);
    if (r == 0)
        r = crowd_points(&crowd, points);
    for (unsigned i = 0; r == 0 && i <= rounds; i++) {
        struct crowd_run run;

        r = crowd_run(&crowd, &m.server, seconds, 0, &run);
        if (r == 0 && i) {
            result_add(rate, run.rate);
            result_add(cpu, run.cpu_us);
        }
    }
    crowd_close(&crowd);
    middle_stop(&m);
    return r;
}

static int by_address(const char *folder, unsigned nodes, uint32_t points, double seconds,
                      unsigned rounds, struct result *rate, struct result *cpu)
{
    static struct ctx c;
    struct points p;
    void *message;
    int r = points_new(points, &p);

    if (r < 0)
        return r;
    c = (struct ctx){.nodes = nodes, .pack = 1, .batch = 1, .window = BODIES, .seconds = seconds};
    message = points_message(&p, CLIENT_TOKEN, &c.body_bytes);
    points_free(&p);
    c.body = message;
    r = message ? play(&c, folder, rounds, rate, cpu) : -ENOMEM;
    free(message);
    return r;
}

static int measure_bodies(const char *folder, unsigned nodes, const char *size, uint32_t points,
                          double seconds, unsigned rounds, FILE *json)
{
    struct result rate[2] = {{.n = 0}}, cpu[2] = {{.n = 0}};
    static const char *const way[] = {"through the supervisor", "by address"};
    char figure[128];
    int r = by_body(folder, nodes, points, seconds, rounds, &rate[0], &cpu[0]);

    if (r == 0)
        r = by_address(folder, nodes, points, seconds, rounds, &rate[1], &cpu[1]);
    for (unsigned i = 0; r == 0 && i < 2; i++) {
        snprintf(figure, sizeof figure, "ipc, %s, %u nodes, %s: RoIs", size, nodes, way[i]);
        report(json, figure, "1/s", 0, &rate[i]);
        snprintf(figure, sizeof figure,
                 "ipc, %s, %u nodes, %s: processor time of an RoI at the supervisor", size, nodes,
                 way[i]);
        report(json, figure, "us", 0, &cpu[i]);
    }
    return r;
}

int addresses_measure(const char *folder, unsigned supervisors, unsigned nodes, double seconds,
                      unsigned rounds, FILE *json)
{
    static const unsigned batch[] = {16, 64};
    int r = measure_passes(folder, nodes, 1, 1, seconds, rounds, json);

    if (r == 0)
        r = measure_passes(folder, nodes, PACK, 1, seconds, rounds, json);
    for (unsigned i = 0; r == 0 && i < sizeof batch / sizeof *batch; i++)
        r = measure_passes(folder, nodes, WINDOW / TURNS / batch[i], batch[i], seconds, rounds,
                           json);
    if (r == 0)
        r = measure_bodies(folder, nodes, "lowlum", LOWLUM, seconds, rounds, json);
    if (r == 0)
        r = measure_bodies(folder, nodes, "highlum", HIGHLUM, seconds, rounds, json);
    if (r == 0)
        r = measure_sides(folder, supervisors, nodes, seconds, rounds, json);
    return r;
}
