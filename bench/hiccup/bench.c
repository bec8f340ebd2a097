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
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "crew.h"
#include "result.h"

#define CORES_MAX RESULT_RUNS_MAX /* those beyond are left out */
#define LEAST_NS  2000u           /* shorter gaps are not kept */
#define GAPS_MAX  (1u << 20)

struct core {
    uint32_t number;
    uint32_t *gap; /* [n], ns */
    uint32_t n;
    uint64_t look_ns, ns; /* how long it is to look, and did */
};

struct bench {
    struct core core[CORES_MAX];
    uint32_t n;
    double seconds;
    struct results out;
};

/* ---------------------------------------------------------------- looking */

static int stay_on(uint32_t core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return -pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static int look(void *arg)
{
    struct core *c = arg;
    uint64_t begin, last, now;
    int r = stay_on(c->number);

    begin = last = clock_ns();
    do {
        now = clock_ns();
        if (now - last >= LEAST_NS) {
            if (c->n == GAPS_MAX)
                r = -EOVERFLOW;
            else
                c->gap[c->n++] = now - last < UINT32_MAX ? (uint32_t)(now - last) : UINT32_MAX;
        }
        last = now;
    } while (now - begin < c->look_ns);
    c->ns = now - begin;
    return r;
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
    struct crew_time time;

    for (uint32_t i = 0; i < b->n; i++) {
        b->core[i].look_ns = (uint64_t)(b->seconds * 1e9);
        b->core[i].gap = malloc(GAPS_MAX * sizeof *b->core[i].gap);
        if (!b->core[i].gap)
            return -ENOMEM;
        memset(b->core[i].gap, 0xff, GAPS_MAX * sizeof *b->core[i].gap); /* no page fault later */
    }
    return crew_run(b->n, look, b->core, sizeof *b->core, &time);
}

/* ---------------------------------------------------------------- what follows */

enum {
    ABOVE_10,
    ABOVE_50,
    ABOVE_100,
    ABOVE_500,
    SHARE,
    LONGEST,
    P99,
    P999,
    ROW_P99,
    ROW_P999,
    SEEN
};
static const double least_us[4] = {10, 50, 100, 500};

struct seen { /* of one core */
    /* gaps of at least so many us, 1/s; time in those of 50 us and more, %; the longest, us; by how
     * much work for one thread comes late, and for three of them one after the other, us */
    double value[SEEN];
};

/* The fraction of work that comes more than w late, in so many threads one after the other. */
static double late(const struct core *c, uint32_t threads, double w_ns)
{
    double sum = 0;

    for (uint32_t k = 0; k < c->n; k++)
        if (c->gap[k] > w_ns)
            sum += c->gap[k] - w_ns;
    return threads * 2 * sum / (double)c->ns;
}

/* By how much the part 1 - q comes late at least, us. */
static double lateness_us(const struct core *c, uint32_t threads, double q)
{
    double low = 0, high = 1e9;

    while (high - low > 50) {
        double w = (low + high) / 2;

        if (late(c, threads, w) > 1 - q)
            low = w;
        else
            high = w;
    }
    return high * 1e-3 < 0.1 ? 0 : high * 1e-3;
}

static struct seen see(const struct core *c)
{
    struct seen s = {.value = {[P99] = lateness_us(c, 1, 0.99),
                               [P999] = lateness_us(c, 1, 0.999),
                               [ROW_P99] = lateness_us(c, 3, 0.99),
                               [ROW_P999] = lateness_us(c, 3, 0.999)}};
    double ns = (double)c->ns;

    for (uint32_t k = 0; k < c->n; k++) {
        double us = c->gap[k] * 1e-3;

        for (uint32_t a = 0; a < 4; a++)
            s.value[ABOVE_10 + a] += us >= least_us[a] ? 1e9 / ns : 0;
        s.value[SHARE] += us >= 50 ? 100 * us * 1e3 / ns : 0;
        s.value[LONGEST] = us > s.value[LONGEST] ? us : s.value[LONGEST];
    }
    return s;
}

/* The core in the middle, of each value by itself. */
static struct seen middle(const struct seen *cores, uint32_t n)
{
    struct seen s;

    for (uint32_t v = 0; v < SEEN; v++) {
        struct result r = {.n = 0};

        for (uint32_t i = 0; i < n; i++)
            result_add(&r, cores[i].value[v]);
        s.value[v] = result_median(&r);
    }
    return s;
}

/* ---------------------------------------------------------------- telling */

static void print_row(const char *what, const struct seen *s)
{
    printf("%-7s", what);
    for (uint32_t v = 0; v < SEEN; v++)
        printf(v == SHARE ? " %7.3f" : " %7.1f", s->value[v]);
    putchar('\n');
}

static void write_all(const struct results *out, const struct seen *median)
{
    static const struct {
        const char *figure, *unit;
        uint32_t value;
    } rows[] = {{"gaps of 50 us and more", "1/s", ABOVE_50},
                {"gaps of 100 us and more", "1/s", ABOVE_100},
                {"time in gaps of 50 us and more", "%", SHARE},
                {"late in p99, one half busy thread", "us", P99},
                {"late in p99.9, one half busy thread", "us", P999},
                {"late in p99, three half busy threads in a row", "us", ROW_P99},
                {"late in p99.9, three half busy threads in a row", "us", ROW_P999}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        result_report_value(out, &(struct result_figure){.unit = rows[i].unit},
                            median->value[rows[i].value], 0, 1, "%s", rows[i].figure);
}

static void report(const struct bench *b)
{
    static struct seen cores[CORES_MAX];
    struct seen median;

    printf(
        "%u cores looked for %.1f s.  Gaps a second of at least so many us; %% of the time in "
        "those "
        "of 50 us and more;\nthe longest, us; by how much work of a half busy thread comes late, "
        "us, and of three in a row\n%-7s %7s %7s %7s %7s %7s %7s %7s %7s %7s %7s\n",
        b->n, b->seconds, "core", "10", "50", "100", "500", "%", "longest", "p99", "p99.9",
        "3: p99", "p99.9");
    for (uint32_t i = 0; i < b->n; i++) {
        char what[16];

        cores[i] = see(&b->core[i]);
        snprintf(what, sizeof what, "%u", b->core[i].number);
        print_row(what, &cores[i]);
    }
    median = middle(cores, b->n);
    print_row("median", &median);
    write_all(&b->out, &median);
}

int main(int argc, char **argv)
{
    static struct bench b = {.seconds = 2, .out = {.bench = "hiccup", .has_table = true}};
    const struct arg table[] = {
        {"seconds", ARG_REAL, &b.seconds, 0.001, 3600, "S", "to look (default 2)"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    r = find_cores(&b);
    if (r == 0)
        r = look_everywhere(&b);
    if (r == 0)
        report(&b);
    for (uint32_t i = 0; i < b.n; i++)
        free(b.core[i].gap);
    return result_end(&b.out, r);
}
