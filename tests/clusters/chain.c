/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 8u

static int generate(struct chain *c, const char *preset, uint64_t seed)
{
    const struct generator_preset *p = generator_find(preset);
    int r = p ? 0 : -EINVAL;

    for (uint32_t i = 0; r == 0 && i < c->n; i++) {
        struct generated *g = &c->generated[i];

        r = generator_make(p, seed, i, g);
        c->banks[i] = (struct banks){.n = g->n, .sensor = g->banks.sensor, .word = g->banks.word};
    }
    return r;
}

static int make_hits(struct chain *c, const struct algo_host *host, struct trg_device *device,
                     const struct condition_list *conditions)
{
    struct trg_result *results = calloc(c->n, sizeof *results);
    struct batches *b = NULL;
    uint32_t most = 1;
    int r = results ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < c->n; i++)
        most = c->banks[i].n > most ? c->banks[i].n : most;
    if (r == 0)
        r = batches_open(&(struct batches_setup){.host = &host->host,
                                                 .plugin = &host->plugin->d,
                                                 .config = &c->config,
                                                 .device = device,
                                                 .slots = 2,
                                                 .max_rois = BATCH,
                                                 .max_items = BATCH * most,
                                                 .conditions = conditions},
                         &b);
    if (r == 0)
        r = clusters_run(b, c->banks, c->n, results, c->hits);
    batches_close(b);
    free(results);
    return r;
}

int chain_tracks(const struct algo_host *hough, const struct event *events, uint32_t n,
                 struct products *ret_tracks)
{
    struct trg_result *results = calloc(n, sizeof *results);
    struct trg_device *device = NULL;
    struct hough_config config;
    struct batches *b = NULL;
    uint32_t most = 1;
    int r = results ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < n; i++)
        most = events[i].n > most ? events[i].n : most;
    if (r == 0)
        r = algo_configure(hough->plugin, NULL, NULL, &config);
    if (r == 0)
        r = backends_device(hough->backends, "cpu", 0, &device);
    if (r == 0)
        r = batches_open(&(struct batches_setup){.host = &hough->host,
                                                 .plugin = &hough->plugin->d,
                                                 .config = &config,
                                                 .device = device,
                                                 .slots = 2,
                                                 .max_rois = BATCH,
                                                 .max_items = BATCH * most},
                         &b);
    if (r == 0)
        r = hough_run(b, events, n, results, ret_tracks);
    batches_close(b);
    free(results);
    return r;
}

/* Hits and tracks of its banks. */
static int make_tracks(struct chain *c, const struct algo_host *clusters, struct trg_device *device,
                       const struct condition_list *conditions)
{
    int r = make_hits(c, clusters, device, conditions);

    for (uint32_t i = 0; r == 0 && i < c->n; i++)
        r = truth_event(&c->generated[i], &c->hits[i], &c->events[i]);
    return r == 0 ? chain_tracks(&c->hough, c->events, c->n, c->tracks) : r;
}

int chain_open(struct chain *c, const struct algo_host *clusters, struct trg_device *device,
               const char *preset, uint64_t seed, uint32_t n)
{
    int r;

    memset(c, 0, sizeof *c);
    c->n = n;
    c->generated = calloc(n, sizeof *c->generated);
    c->banks = calloc(n, sizeof *c->banks);
    c->hits = calloc(n, sizeof *c->hits);
    c->tracks = calloc(n, sizeof *c->tracks);
    c->events = calloc(n, sizeof *c->events);
    if (!c->generated || !c->banks || !c->hits || !c->tracks || !c->events)
        return -ENOMEM;
    r = algo_configure(clusters->plugin, NULL, NULL, &c->config);
    if (r == 0)
        r = algo_host_open(&c->hough, "hough");
    if (r == 0)
        r = generate(c, preset, seed);
    if (r == 0)
        r = make_tracks(c, clusters, device, NULL);
    return r;
}

int chain_again(const struct chain *c, const struct algo_host *clusters, struct trg_device *device,
                struct banks *banks, const struct condition_list *conditions, struct match *ret)
{
    struct chain other = *c;
    int r;

    other.banks = banks;
    other.hits = calloc(c->n, sizeof *other.hits);
    other.tracks = calloc(c->n, sizeof *other.tracks);
    other.events = calloc(c->n, sizeof *other.events);
    r = other.hits && other.tracks && other.events
            ? make_tracks(&other, clusters, device, conditions)
            : -ENOMEM;
    memset(ret, 0, sizeof *ret);
    for (uint32_t i = 0; r == 0 && i < c->n; i++)
        r = match_add(ret, &other.events[i], &other.tracks[i]);
    products_free(other.hits, c->n);
    products_free(other.tracks, c->n);
    if (other.events)
        events_free(other.events, c->n);
    return r;
}

void chain_close(struct chain *c)
{
    for (uint32_t i = 0; c->generated && i < c->n; i++)
        generated_fini(&c->generated[i]);
    products_free(c->hits, c->n);
    products_free(c->tracks, c->n);
    if (c->events)
        events_free(c->events, c->n);
    free(c->generated);
    free(c->banks);
    algo_host_close(&c->hough);
}
