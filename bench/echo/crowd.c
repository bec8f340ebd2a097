/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <errno.h>
#include <stdlib.h>

#include "crew.h"
#include "points.h"
#include "process.h"
#include "result.h"

/* Each client has events of its own: a farm gives the RoIs of one event to one node. */
#define EVENTS (3 * CLIENT_TOKEN)

struct member { /* one thread of a run */
    struct client *client;
    double seconds, rate;
};

int crowd_open(struct crowd *c, const struct server *s, uint32_t n, uint32_t window)
{
    int r = 0;

    c->message = NULL;
    for (c->n = 0; c->n < n && r == 0; c->n++) {
        r = client_open(&c->client[c->n], s, window);
        c->client[c->n].next += c->n * EVENTS;
    }
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

/* Puts the latencies of all together; returns how many, 0 without memory. */
static size_t merge(const struct crowd *c, struct crowd_run *ret)
{
    size_t n = 0, at = 0;
    double *all;

    for (uint32_t i = 0; i < c->n; i++)
        n += c->client[i].n_latencies;
    all = malloc(n * sizeof *all);
    if (!all)
        return 0;
    for (uint32_t i = 0; i < c->n; i++) {
        for (size_t k = 0; k < c->client[i].n_latencies; k++)
            all[at++] = 1e-3 * (double)c->client[i].latency_ns[k];
    }
    ret->p50_us = result_quantile(all, n, 0.5);
    ret->p99_us = result_quantile(all, n, 0.99);
    ret->p999_us = result_quantile(all, n, 0.999);
    ret->most_us = result_quantile(all, n, 1);
    free(all);
    return n;
}

static int run_member(void *arg)
{
    const struct member *m = arg;

    return client_run(m->client, m->seconds, m->rate);
}

int crowd_run(struct crowd *c, const struct server *s, double seconds, double rate,
              struct crowd_run *ret_run)
{
    const uint64_t cpu = process_cpu_ns(s->pid);
    struct member member[CROWD_MAX];
    struct crew_time time;
    size_t n;
    int r;

    for (uint32_t i = 0; i < c->n; i++)
        member[i] =
            (struct member){.client = &c->client[i], .seconds = seconds, .rate = rate / c->n};
    r = crew_run(c->n, run_member, member, sizeof *member, &time);
    if (r < 0)
        return r;
    n = merge(c, ret_run);
    if (!n)
        return -ENOMEM;
    ret_run->rate = (double)n / time.wall_s;
    ret_run->cpu_us = (double)(process_cpu_ns(s->pid) - cpu) / 1000 / (double)n;
    return 0;
}
