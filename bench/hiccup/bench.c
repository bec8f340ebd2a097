/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hiccup - how long the machine itself stops a thread that has a core of its own.
 *
 * One thread on each core reads the clock again and again; a gap between two readings is time in
 * which it could not run.  From the gaps follows by how much work comes late that only a thread on
 * such a core can do, and that needs half of its time: what arrives during a gap of length d waits
 * for its end, and then behind what came before it, so that a work at the beginning is d late, and
 * what comes 2 d after that not any more.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "result.h"

#define CORES_MAX 1024u
#define LEAST_NS  2000u /* shorter gaps are not kept */
#define GAPS_MAX  (1u << 20)

struct core {
    uint32_t number;
    uint32_t *gap; /* [n], ns */
    uint32_t n;
    bool is_full;
    uint64_t ns; /* how long it looked */
    int error;
    pthread_t thread;
};

struct bench {
    struct core core[CORES_MAX];
    uint32_t n;
    double seconds;
    const char *json;
};

/* ---------------------------------------------------------------- looking */

static int stay_on(uint32_t core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return -pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

struct look {
    struct core *core;
    pthread_barrier_t *start;
    uint64_t ns;
};

static void *look(void *arg)
{
    const struct look *l = arg;
    struct core *c = l->core;
    uint64_t begin, last, now;

    c->error = stay_on(c->number);
    memset(c->gap, 0xff, GAPS_MAX * sizeof *c->gap); /* no page fault while it looks */
    pthread_barrier_wait(l->start);
    begin = last = clock_ns();
    do {
        now = clock_ns();
        if (now - last >= LEAST_NS) {
            if (c->n == GAPS_MAX)
                c->is_full = true;
            else
                c->gap[c->n++] = now - last < UINT32_MAX ? (uint32_t)(now - last) : UINT32_MAX;
        }
        last = now;
    } while (now - begin < l->ns);
    c->ns = now - begin;
    return NULL;
}

static int find_cores(struct bench *b)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return -errno;
    for (uint32_t i = 0; i < CPU_SETSIZE && b->n < CORES_MAX; i++)
        if (CPU_ISSET(i, &set))
            b->core[b->n++].number = i;
    return 0;
}

static int look_everywhere(struct bench *b)
{
    struct look *l = calloc(b->n, sizeof *l);
    pthread_barrier_t start;
    int r = l ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < b->n; i++) {
        b->core[i].gap = malloc(GAPS_MAX * sizeof *b->core[i].gap);
        r = b->core[i].gap ? 0 : -ENOMEM;
    }
    if (r < 0) {
        free(l);
        return r;
    }
    pthread_barrier_init(&start, NULL, b->n);
    for (uint32_t i = 0; i < b->n; i++) {
        l[i] = (struct look){&b->core[i], &start, (uint64_t)(b->seconds * 1e9)};
        /* without all of them the barrier would never open */
        if (pthread_create(&b->core[i].thread, NULL, look, &l[i]) != 0) {
            fputs("bench_hiccup: cannot start a thread\n", stderr);
            exit(1);
        }
    }
    for (uint32_t i = 0; i < b->n; i++)
        pthread_join(b->core[i].thread, NULL);
    pthread_barrier_destroy(&start);
    free(l);
    for (uint32_t i = 0; r == 0 && i < b->n; i++)
        r = b->core[i].is_full ? -EOVERFLOW : b->core[i].error;
    return r;
}

/* ---------------------------------------------------------------- what follows */

struct seen { /* of one core, or of all */
    double ns;
    double above[4]; /* gaps of at least so many us, 1/s */
    double share;    /* of the time, in gaps of at least 50 us */
    double longest_us;
    double p99_us, p999_us; /* lateness of work for `threads` of them one after the other */
};

static const uint32_t least_us[4] = {10, 50, 100, 500};

/* The fraction of work that comes more than w late. */
static double late(const struct core *cores, uint32_t n, uint32_t threads, double w_ns)
{
    double sum = 0, ns = 0;

    for (uint32_t i = 0; i < n; i++) {
        ns += (double)cores[i].ns;
        for (uint32_t k = 0; k < cores[i].n; k++)
            if (cores[i].gap[k] > w_ns)
                sum += cores[i].gap[k] - w_ns;
    }
    return ns > 0 ? threads * 2 * sum / ns : 0;
}

/* By how much the part 1 - q comes late at least, us. */
static double lateness_us(const struct core *cores, uint32_t n, uint32_t threads, double q)
{
    double low = 0, high = 1e9;

    while (high - low > 50) {
        double w = (low + high) / 2;

        if (late(cores, n, threads, w) > 1 - q)
            low = w;
        else
            high = w;
    }
    return high * 1e-3 < 0.1 ? 0 : high * 1e-3;
}

static struct seen see(const struct core *cores, uint32_t n, uint32_t threads)
{
    struct seen s = {.p99_us = lateness_us(cores, n, threads, 0.99),
                     .p999_us = lateness_us(cores, n, threads, 0.999)};
    double stopped = 0;

    for (uint32_t i = 0; i < n; i++) {
        s.ns += (double)cores[i].ns;
        for (uint32_t k = 0; k < cores[i].n; k++) {
            double us = cores[i].gap[k] * 1e-3;

            for (uint32_t a = 0; a < 4; a++)
                s.above[a] += us >= least_us[a];
            stopped += us >= 50 ? us * 1e3 : 0;
            s.longest_us = us > s.longest_us ? us : s.longest_us;
        }
    }
    for (uint32_t a = 0; a < 4; a++)
        s.above[a] /= s.ns * 1e-9;
    s.share = stopped / s.ns;
    return s;
}

/* ---------------------------------------------------------------- telling */

static void tell(const char *what, const struct seen *s)
{
    printf("%-10s %9.1f %9.1f %9.1f %9.1f %9.3f %% %9.0f %9.1f %9.1f\n", what, s->above[0],
           s->above[1], s->above[2], s->above[3], 100 * s->share, s->longest_us, s->p99_us,
           s->p999_us);
}

static void write_one(FILE *json, const char *figure, const char *unit, double value)
{
    const struct result_figure f = {
        .bench = "hiccup", .figure = figure, .unit = unit, .command = "bench_hiccup"};

    result_write_value(json, &f, value, 0, 1);
}

static int write_all(const struct bench *b, const struct seen *one, const struct seen *three)
{
    FILE *json = fopen(b->json, "w");

    if (!json) {
        fprintf(stderr, "bench_hiccup: cannot write %s: %s\n", b->json, strerror(errno));
        return -errno;
    }
    write_one(json, "gaps of 50 us and more a second, mean of the cores", "1/s", one->above[1]);
    write_one(json, "gaps of 100 us and more a second, mean of the cores", "1/s", one->above[2]);
    write_one(json, "time in gaps of 50 us and more", "%", 100 * one->share);
    write_one(json, "one half busy thread: late in p99", "us", one->p99_us);
    write_one(json, "one half busy thread: late in p99.9", "us", one->p999_us);
    write_one(json, "three half busy threads in a row: late in p99", "us", three->p99_us);
    write_one(json, "three half busy threads in a row: late in p99.9", "us", three->p999_us);
    return fclose(json) == 0 ? 0 : -EIO;
}

static int report(const struct bench *b)
{
    struct seen one = see(b->core, b->n, 1), three = see(b->core, b->n, 3);

    printf(
        "%u cores looked for %.1f s; gaps a second of at least so many us; time in those of 50 us "
        "and more;\nlateness in us of work for one half busy thread, last row for three in a row\n"
        "%-10s %9u %9u %9u %9u %11s %9s %9s %9s\n",
        b->n, b->seconds, "core", least_us[0], least_us[1], least_us[2], least_us[3], "share",
        "longest", "p99", "p99.9");
    for (uint32_t i = 0; i < b->n; i++) {
        struct seen s = see(&b->core[i], 1, 1);
        char what[16];

        snprintf(what, sizeof what, "%u", b->core[i].number);
        tell(what, &s);
    }
    tell("all", &one);
    tell("3 in a row", &three);
    return b->json ? write_all(b, &one, &three) : 0;
}

static const char usage[] = "usage: bench_hiccup [--seconds S] [--json FILE]\n"
                            "Gaps in the time of a thread on each core (default 2 s).\n";

int main(int argc, char **argv)
{
    static const struct option table[] = {
        {"seconds", required_argument, NULL, 's'}, {"json", required_argument, NULL, 'j'}, {0}};
    static struct bench b = {.seconds = 2};
    int c, r;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == 's')
            b.seconds = strtod(optarg, NULL);
        else if (c == 'j')
            b.json = optarg;
        else
            b.seconds = 0;
    }
    if (optind != argc || !(b.seconds > 0 && b.seconds <= 3600)) {
        fputs(usage, stderr);
        return 2;
    }
    r = find_cores(&b);
    if (r == 0)
        r = look_everywhere(&b);
    if (r == 0)
        r = report(&b);
    else
        fprintf(stderr, "bench_hiccup: %s\n", strerror(-r));
    for (uint32_t i = 0; i < b.n; i++)
        free(b.core[i].gap);
    return r < 0 ? 1 : 0;
}
