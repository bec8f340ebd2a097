/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "crowd.h"
#include "island.h"
#include "middle.h"
#include "result.h"

#define NODES      4u
#define SERVICE_US 5000.0
#define LOAD       0.5
#define SECONDS    0.8
#define FAULT_NS   300000000 /* after the beginning of a round */
#define LOST_BEATS 4u        /* of 20 ms each */
#define GOAL_MS    180.0     /* 80 ms without a heartbeat, and 100 ms */
#define CLIENTS    2u
#define WINDOW     500u
#define POINTS     16u

#define CUT 0 /* instead of a signal: the network of its host is cut */

struct fault {
    pid_t pid;
    int signal, result;
};

static void *strike(void *arg)
{
    struct fault *f = arg;

    nanosleep(&(struct timespec){.tv_nsec = FAULT_NS}, NULL);
    f->result = f->signal == CUT ? island_cut(2) : kill(f->pid, f->signal) < 0 ? -errno : 0;
    return NULL;
}

/* One round, with a farm of its own. */
static int play(const char *folder, int sig, double *ret_ms)
{
    static struct crowd crowd; /* large */
    struct middle_setup setup = {
        .folder = folder, .nodes = NODES, .io_threads = 1, .lost_beats = LOST_BEATS};
    const double rate = LOAD * NODES * NODE_SLOTS * 1e6 / SERVICE_US;
    struct fault fault = {.signal = sig};
    struct crowd_run run = {.rate = 0};
    struct middle m;
    pthread_t thread;
    int r;

    for (uint32_t i = 0; i < NODES; i++)
        setup.service_us[i] = SERVICE_US;
    setup.is_island = sig == CUT;
    for (unsigned i = 1; i <= 2 && sig == CUT; i++)
        if (island_join(i) < 0)
            return -ENETUNREACH;
    r = middle_start(&m, SERVER_TRIGD, &setup);
    if (r == 0)
        r = crowd_open(&crowd, &m.server, CLIENTS, WINDOW);
    if (r == 0)
        r = crowd_points(&crowd, POINTS);
    fault.pid = m.node[NODES - 1];
    if (r == 0)
        r = -pthread_create(&thread, NULL, strike, &fault);
    if (r == 0) {
        r = crowd_run(&crowd, &m.server, SECONDS, rate, &run);
        pthread_join(thread, NULL);
        r = r < 0 ? r : fault.result;
    }
    kill(fault.pid, SIGCONT); /* so that it can end */
    *ret_ms = run.most_us / 1000;
    crowd_close(&crowd);
    middle_stop(&m);
    return r;
}

static int measure(const char *folder, const char *how, int sig, unsigned rounds, FILE *json)
{
    const struct results out = {
        .bench = "farm", .command = "bench_farm --only faults", .json = json};
    struct result ms = {.n = 0};
    int r = 0;

    for (unsigned i = 0; r == 0 && i < rounds; i++) {
        double one;

        r = play(folder, sig, &one);
        if (r == 0)
            result_add(&ms, one);
    }
    if (r == 0)
        result_report(&out, &(struct result_figure){.unit = "ms", .goal = GOAL_MS}, &ms,
                      "1 of 4 nodes %s, half load: longest wait for a decision", how);
    return r;
}

int faults_measure(const char *folder, unsigned rounds, FILE *json)
{
    int r = measure(folder, "killed", SIGKILL, rounds, json);

    if (r == 0)
        r = measure(folder, "stopped", SIGSTOP, rounds, json);
    if (r == 0 && !island_is_there())
        printf("a network that is cut needs a namespace: unshare -rn, and --only faults\n");
    else if (r == 0)
        r = measure(folder, "cut off the network", CUT, rounds, json);
    return r;
}
