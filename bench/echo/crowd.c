/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "points.h"
#include "process.h"

struct member { /* one thread of a run */
    struct client *client;
    double seconds, rate;
    pthread_t thread;
    int result;
};

int crowd_open(struct crowd *c, const struct server *s, uint32_t n, uint32_t window)
{
    int r = 0;

    c->message = NULL;
    for (c->n = 0; c->n < n && r == 0; c->n++)
        r = client_open(&c->client[c->n], s, window);
    return r;
}

void crowd_close(struct crowd *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        client_close(&c->client[i]);
    c->n = 0;
    free(c->message);
    c->message = NULL;
}

int crowd_points(struct crowd *c, uint32_t points)
{
    struct points p;
    size_t bytes;
    int r = points_new(points, &p);

    if (r < 0)
        return r;
    free(c->message);
    c->message = points_message(&p, CLIENT_TOKEN, &bytes);
    points_free(&p);
    if (!c->message)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->n && r == 0; i++)
        r = client_message(&c->client[i], c->message, bytes);
    return r;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double quantile_us(const uint64_t *sorted, size_t n, double q)
{
    size_t i = (size_t)(q * (double)n);

    return (double)sorted[i < n ? i : n - 1] / 1000;
}

/* Puts the latencies of all together; returns how many, 0 without memory. */
static size_t merge(const struct crowd *c, struct crowd_run *ret)
{
    size_t n = 0, at = 0;
    uint64_t *all;

    for (uint32_t i = 0; i < c->n; i++)
        n += c->client[i].n_latencies;
    all = malloc(n * sizeof *all);
    if (!all)
        return 0;
    for (uint32_t i = 0; i < c->n; i++) {
        memcpy(all + at, c->client[i].latency_ns, c->client[i].n_latencies * sizeof *all);
        at += c->client[i].n_latencies;
    }
    qsort(all, n, sizeof *all, by_size);
    ret->p50_us = quantile_us(all, n, 0.5);
    ret->p99_us = quantile_us(all, n, 0.99);
    ret->p999_us = quantile_us(all, n, 0.999);
    free(all);
    return n;
}

static void *run_member(void *arg)
{
    struct member *m = arg;

    m->result = client_run(m->client, m->seconds, m->rate);
    return NULL;
}

int crowd_run(struct crowd *c, const struct server *s, double seconds, double rate,
              struct crowd_run *ret_run)
{
    struct member member[CROWD_MAX];
    uint64_t cpu = process_cpu_ns(s->pid), began = clock_ns(), ns;
    uint32_t started = 0;
    int r = 0;
    size_t n;

    for (; started < c->n && r == 0; started++) {
        member[started] =
            (struct member){.client = &c->client[started], .seconds = seconds, .rate = rate / c->n};
        r = -pthread_create(&member[started].thread, NULL, run_member, &member[started]);
    }
    for (uint32_t i = 0; i < started - (r < 0); i++) {
        pthread_join(member[i].thread, NULL);
        if (r == 0)
            r = member[i].result;
    }
    if (r < 0)
        return r;
    ns = clock_ns() - began;
    n = merge(c, ret_run);
    if (!n)
        return -ENOMEM;
    ret_run->rate = (double)n / ((double)ns / 1e9);
    ret_run->cpu_us = (double)(process_cpu_ns(s->pid) - cpu) / 1000 / (double)n;
    return 0;
}
