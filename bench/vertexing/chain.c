/* SPDX-License-Identifier: Apache-2.0 */
/* The whole plugin: events a second, copies in and out included, as a lane runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "event.h"
#include "parts.h"
#include "resident.h"
#include "serial.h"
#include "source.h"

#define THREADS_MAX 64u

struct sample {
    const char *name;
    uint32_t n;
    struct event *events;
};

struct job {
    struct batches *batches;
    const struct sample *s;
};

static int run_job(void *arg, uint32_t times)
{
    struct job *j = arg;
    int r = 0;

    while (r == 0 && times--)
        r = vx_run(j->batches, j->s->events, j->s->n, NULL);
    return r;
}

static int run_serial(void *arg, uint32_t times)
{
    const struct sample *s = arg;

    while (times--)
        for (uint32_t i = 0; i < s->n; i++)
            if (serial_primaries(&s->events[i]) < 0)
                return -ENOMEM;
    return 0;
}

/* What is measured: a sample with a setting, in batches of one size. */
struct setting {
    const struct vx_config *config;
    const char *what;
    const struct sample *s;
    uint32_t batch;
    double serial;
};

static int one(const struct bench *b, const struct algo_host *h, struct trg_device *device,
               const struct setting *m, uint32_t threads)
{
    struct job jobs[THREADS_MAX] = {{0}};
    struct work work[THREADS_MAX];
    struct trg_device_info info;
    struct timing t;
    char text[96], name[64];
    int r = 0;

    trg_device_info(device, &info);
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    snprintf(text, sizeof text, "%s, %s, batch %u, %u lanes", m->what, m->s->name, m->batch,
             threads);
    if (!is_wanted(b, text))
        return 0;
    for (uint32_t i = 0; r == 0 && i < threads; i++) {
        r = vx_open(h, device, m->config, m->batch, m->batch * 450 + 8192, &jobs[i].batches);
        jobs[i].s = m->s;
        work[i] = (struct work){run_job, &jobs[i], info.is_host != 0};
    }
    if (r == 0)
        r = measure_all(b, work, threads, &t);
    device_name(device, name, sizeof name);
    if (r == 0)
        report(b, &(struct figure){.what = text,
                                   .device = name,
                                   .unit = "events/s",
                                   .per_s = (double)threads * m->s->n / t.us * 1e6,
                                   .t = t,
                                   .serial_per_s = m->serial});
    for (uint32_t i = 0; i < threads; i++)
        batches_close(jobs[i].batches);
    return r;
}

static int run_resident(void *arg, uint32_t times)
{
    return resident_run(arg, times);
}

/* The whole sample as one batch of tracks that are in the device's memory already. */
static int one_resident(const struct bench *b, const struct algo_host *h, struct trg_device *device,
                        const struct setting *m)
{
    struct resident *resident = NULL;
    struct timing t;
    char text[96], name[64];
    int r;

    snprintf(text, sizeof text, "%s, %s, tracks on the device, batch %u", m->what, m->s->name,
             m->s->n);
    if (!is_wanted(b, text))
        return 0;
    device_name(device, name, sizeof name);
    r = resident_open(h, device, m->config, m->s->events, m->s->n, &resident);
    if (r == 0)
        r = measure(b, &(struct work){run_resident, resident, false}, &t);
    if (r == 0)
        report(b, &(struct figure){.what = text,
                                   .device = name,
                                   .unit = "events/s",
                                   .per_s = m->s->n / t.us * 1e6,
                                   .t = t,
                                   .serial_per_s = m->serial});
    resident_close(resident);
    return r;
}

static int all_settings(const struct bench *b, const struct algo_host *h, struct trg_device *device,
                        const struct sample *s, double serial)
{
    static const struct {
        const char *what, *settings[7];
    } list[] = {
        {"whole chain", {NULL}},
        {"primary vertices in 3-D", {"secondaries", "false", NULL}},
        {"seeding and one round", {"secondaries", "false", "passes", "1", "max_rounds", "1", NULL}},
        {"pairwise seeding, 3-D", {"secondaries", "false", "seeding", "pairs", NULL}},
    };
    static const uint32_t batches[] = {1, 64, 1024};
    struct trg_device_info info;
    int r = 0;

    trg_device_info(device, &info);
    for (size_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++) {
        struct vx_config c;

        r = algo_configure(h->plugin, NULL, list[i].settings, &c);
        for (uint32_t k = 0; r == 0 && k < 3; k++) {
            const struct setting m = {&c, list[i].what, s, batches[k], serial};

            if ((info.is_host && batches[k] != 64) || batches[k] > s->n)
                continue;
            r = one(b, h, device, &m, 1);
            if (r == 0 && (info.is_host ? b->cores > 1 : batches[k] == 1024))
                r = one(b, h, device, &m, info.is_host ? b->cores : 2);
        }
        if (r == 0 && !info.is_host)
            r = one_resident(b, h, device, &(struct setting){&c, list[i].what, s, s->n, serial});
    }
    return r;
}

/* `velo`: generated events of the VELO; `dense`: 318 tracks of 23 vertices, the event that a
 * density finder is timed with. */
static int make(struct sample *s, bool dense)
{
    const struct toy toy = {.n_pv = 23, .tracks = 11.8, .beam_sigma = 0.03, .sigma_z = 50};
    int r = 0;

    s->name = dense ? "23 vertices, 318 tracks" : "velo-tracks";
    s->events = calloc(s->n, sizeof *s->events);
    if (!s->events)
        return -ENOMEM;
    if (!dense)
        return source_generate("velo-tracks", 1, 0, s->n, NULL, s->events);
    for (uint32_t i = 0; r == 0 && i < s->n; i++) {
        r = event_init(&s->events[i], 1024);
        if (r == 0)
            toy_make(&toy, 1, i, &s->events[i]);
    }
    return r;
}

int bench_chain(const struct bench *b, const struct algo_host *h, struct trg_device *device)
{
    static double serial[2];
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < 2; k++) {
        struct sample s = {.n = b->quick ? 512 : 4096};

        r = make(&s, k == 1);
        if (r == 0 && serial[k] <= 0) {
            struct timing t;

            r = measure(b, &(struct work){run_serial, &s, true}, &t);
            serial[k] = r ? 0 : s.n / t.us * 1e6;
            report(b,
                   &(struct figure){.what = k ? "serial primary vertices, 23 vertices, 318 tracks"
                                              : "serial primary vertices, velo-tracks",
                                    .device = "one core",
                                    .unit = "events/s",
                                    .per_s = serial[k],
                                    .t = t,
                                    .serial_per_s = serial[k]});
        }
        if (r == 0)
            r = all_settings(b, h, device, &s, serial[k]);
        source_free(s.events, s.n);
    }
    return r;
}
