/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ending.h"
#include "blockfile.h"
#include "clock.h"
#include "log.h"

#define SAY_NS   (10 * NS_PER_S)   /* between two lines about RoIs that are lost */
#define AGAIN_NS (100 * NS_PER_MS) /* between two attempts at a full disk */

struct stream_writer {
    struct stream_writer_setup s;
    struct stream_files *files; /* of the thread, as are the next three */
    uint64_t n_lost;            /* since the last line about it */
    uint64_t said_ns;
    bool is_losing;
    pthread_t thread;
    struct ending ending;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t bell;
    struct stats_stream *stats[SHARDS_MAX];
    struct roi_message *first, **end; /* what waits */
    uint64_t waiting;                 /* its bytes, and those that the thread has not gathered */
    bool sleeps_long;                 /* the thread: beyond flush_ns */
    bool is_full;                     /* the thread waits for room on the disk */
    bool is_stopping;
    bool stop;
    bool is_left; /* the thread is on its own: its statistics are gone */
};

/* ---------------------------------------------------------------- stopping the daemon */

/* Decides whether the daemon may take RoIs; under the lock. */
static void set_stopping(struct stream_writer *w)
{
    const bool was = w->is_stopping;

    if (!w->s.stops || w->is_left)
        return;
    w->is_stopping = !w->stop && (w->is_full || w->waiting > w->s.wait_bytes ||
                                  (was && w->waiting > w->s.wait_bytes / 2));
    if (w->is_stopping == was)
        return;
    if (w->is_stopping)
        atomic_fetch_add(w->s.n_stopping, 1);
    else
        atomic_fetch_sub(w->s.n_stopping, 1);
    if (!w->stats[0])
        return;
    atomic_fetch_add(&w->stats[0]->stops, w->is_stopping);
    stats_set(&w->stats[0]->is_stopping, w->is_stopping);
}

static void set_full(struct stream_writer *w, int error)
{
    pthread_mutex_lock(&w->lock);
    if (w->is_full != (error < 0)) {
        w->is_full = error < 0;
        if (w->is_full)
            log_error("stream", "no room for a stream: no RoIs are taken",
                      "stream=\"%s\" folder=\"%s\" error=\"%s\"", w->s.files.name,
                      w->s.files.folder, strerror(-error));
        else
            log_info("stream", "there is room for a stream again: RoIs are taken", "stream=\"%s\"",
                     w->s.files.name);
        set_stopping(w);
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---------------------------------------------------------------- counting, on the thread */

static stats_u64 *lost_by(struct stats_stream *s, int error)
{
    if (error == -ENOMEM)
        return &s->lost_memory;
    return stream_files_is_full(error) ? &s->lost_disk : &s->lost_error;
}

static void say(struct stream_writer *w, uint64_t n, int error)
{
    const uint64_t now = clock_ns();

    if (!error) {
        if (w->is_losing)
            log_info("stream", "RoIs of a stream are written again", "stream=\"%s\" lost=%llu",
                     w->s.files.name, (unsigned long long)w->n_lost);
        w->is_losing = false;
        w->n_lost = 0;
        return;
    }
    w->n_lost += n;
    if (w->is_losing && now < w->said_ns + SAY_NS)
        return;
    log_error("stream", "RoIs of a stream cannot be written",
              "stream=\"%s\" folder=\"%s\" rois=%llu error=\"%s\"", w->s.files.name,
              w->s.files.folder, (unsigned long long)w->n_lost, strerror(-error));
    w->is_losing = true;
    w->said_ns = now;
    w->n_lost = 0;
}

/* lost_memory is counted by shards as well, so these are sums of two threads. */
static void settle(void *ctx, const uint32_t *n_by_shard, int error, uint64_t bytes)
{
    struct stream_writer *w = ctx;
    uint64_t sum = 0;

    pthread_mutex_lock(&w->lock);
    for (uint32_t i = 0; i < SHARDS_MAX && !w->is_left; i++) {
        struct stats_stream *s = w->stats[i];

        if (!s || !n_by_shard[i])
            continue;
        atomic_fetch_add(error ? lost_by(s, error) : &s->written, n_by_shard[i]);
        atomic_fetch_sub(&s->waiting, n_by_shard[i]);
        sum += n_by_shard[i];
    }
    if (!w->is_left && w->stats[0])
        stats_add(&w->stats[0]->bytes, bytes);
    pthread_mutex_unlock(&w->lock);
    say(w, sum, error);
}

static void complete(void *ctx)
{
    struct stream_writer *w = ctx;

    pthread_mutex_lock(&w->lock);
    if (!w->is_left && w->stats[0])
        stats_add(&w->stats[0]->files, 1);
    pthread_mutex_unlock(&w->lock);
}

/* ---------------------------------------------------------------- writing, on the thread */

static bool is_ending(struct stream_writer *w)
{
    bool is;

    pthread_mutex_lock(&w->lock);
    is = w->stop;
    pthread_mutex_unlock(&w->lock);
    return is;
}

/* Whether to try again what failed: after a while, when the daemon stops for it. */
static bool wait_for_room(struct stream_writer *w, int error)
{
    const struct timespec again = {.tv_nsec = AGAIN_NS};

    if (!w->s.stops || !stream_files_is_full(error) || is_ending(w))
        return false;
    set_full(w, error);
    nanosleep(&again, NULL);
    return true;
}

static void write_one(struct stream_writer *w, const struct roi_message *m)
{
    uint32_t n[SHARDS_MAX] = {0};
    int r;

    while ((r = stream_files_add(w->files, m)) < 0 && wait_for_room(w, r)) {
    }
    if (r < 0) {
        stream_files_drop(w->files, r);
        n[m->shard] = 1;
        settle(w, n, r, 0);
    } else {
        set_full(w, 0);
    }
    pthread_mutex_lock(&w->lock);
    w->waiting -= m->bytes;
    set_stopping(w);
    pthread_mutex_unlock(&w->lock);
}

static void flush(struct stream_writer *w, bool all)
{
    int r;

    while ((r = stream_files_flush(w->files, all)) < 0 && wait_for_room(w, r)) {
    }
    if (r < 0)
        stream_files_drop(w->files, r);
    else
        set_full(w, 0);
}

/* Sleeps until RoIs are worth a block, or something is due; under the lock. */
static void sleep_until_due(struct stream_writer *w, uint64_t due_ns)
{
    const uint64_t now = clock_ns();
    const struct timespec until = {.tv_sec = (time_t)(due_ns / NS_PER_S),
                                   .tv_nsec = (long)(due_ns % NS_PER_S)};

    if (due_ns <= now || w->waiting >= BLOCKFILE_BLOCK)
        return;
    if (w->first && due_ns - now > w->s.files.flush_ns)
        return;
    w->sleeps_long = due_ns - now > w->s.files.flush_ns;
    if (due_ns == UINT64_MAX)
        pthread_cond_wait(&w->bell, &w->lock);
    else
        pthread_cond_timedwait(&w->bell, &w->lock, &until);
    w->sleeps_long = false;
}

/* What waits, or nothing when it is time to look at the files; false at the end. */
static bool take(struct stream_writer *w, struct roi_message **ret_list)
{
    const uint64_t due_ns = stream_files_due_ns(w->files);
    bool goes_on;

    pthread_mutex_lock(&w->lock);
    if (!w->stop)
        sleep_until_due(w, due_ns);
    *ret_list = w->first;
    w->first = NULL;
    w->end = &w->first;
    goes_on = *ret_list || !w->stop;
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

static void *run(void *arg)
{
    struct stream_writer *w = arg;
    struct roi_message *m;

    stream_files_recover(w->files);
    while (take(w, &m)) {
        while (m) {
            struct roi_message *next = m->next;

            write_one(w, m);
            free(m);
            m = next;
        }
        flush(w, false);
    }
    flush(w, true);
    stream_files_close(w->files);
    ending_say(&w->ending);
    return NULL;
}

/* ---------------------------------------------------------------- opening and closing */

static void free_writer(struct stream_writer *w)
{
    ending_fini(&w->ending);
    pthread_cond_destroy(&w->bell);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void init_bell(struct stream_writer *w)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->bell, &attr);
    pthread_condattr_destroy(&attr);
    ending_init(&w->ending);
}

int stream_writer_open(const struct stream_writer_setup *setup, struct stream_writer **ret_writer)
{
    struct stream_writer *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return -ENOMEM;
    w->s = *setup;
    w->s.files.settle = settle;
    w->s.files.complete = complete;
    w->s.files.ctx = w;
    w->end = &w->first;
    init_bell(w);
    r = stream_files_new(&w->s.files, &w->files);
    if (r == 0)
        r = -pthread_create(&w->thread, NULL, run, w);
    if (r < 0) {
        stream_files_close(w->files);
        free_writer(w);
        return r;
    }
    *ret_writer = w;
    return 0;
}

void stream_writer_join(struct stream_writer *w, uint32_t shard, struct stats_stream *stats)
{
    pthread_mutex_lock(&w->lock);
    w->stats[shard] = stats;
    pthread_mutex_unlock(&w->lock);
}

static void log_sums(struct stream_writer *w)
{
    uint64_t rois = 0, written = 0, lost = 0;

    for (uint32_t i = 0; i < SHARDS_MAX; i++)
        if (w->stats[i]) {
            rois += stats_get(&w->stats[i]->rois);
            written += stats_get(&w->stats[i]->written);
            lost += stats_get(&w->stats[i]->lost_memory) + stats_get(&w->stats[i]->lost_disk) +
                    stats_get(&w->stats[i]->lost_error);
        }
    log_info("stream", "stream closed", "stream=\"%s\" rois=%llu written=%llu lost=%llu",
             w->s.files.name, (unsigned long long)rois, (unsigned long long)written,
             (unsigned long long)lost);
}

void stream_writer_close(struct stream_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    set_stopping(w);
    pthread_cond_signal(&w->bell);
    pthread_mutex_unlock(&w->lock);
    if (ending_join(&w->ending, w->thread, w->s.close_ms)) {
        log_sums(w);
        free_writer(w);
        return;
    }
    pthread_mutex_lock(&w->lock); /* the thread still uses `w`, until the process ends */
    w->is_left = true;
    log_error("stream", "the disk of a stream does not answer: RoIs are lost",
              "stream=\"%s\" folder=\"%s\" bytes=%llu", w->s.files.name, w->s.files.folder,
              (unsigned long long)w->waiting);
    pthread_mutex_unlock(&w->lock);
}

/* ---------------------------------------------------------------- handing over */

void stream_writer_put(struct stream_writer *w, struct roi_message *m)
{
    struct stats_stream *s = w->stats[m->shard];
    bool has_room, rings;

    stats_add(&s->rois, 1);
    latency_add(&s->latency, m->latency_ns);
    pthread_mutex_lock(&w->lock);
    has_room = w->s.stops || w->waiting + m->bytes <= w->s.wait_bytes;
    if (has_room) {
        rings = w->sleeps_long ||
                (w->waiting < BLOCKFILE_BLOCK && w->waiting + m->bytes >= BLOCKFILE_BLOCK);
        w->sleeps_long = false;
        w->waiting += m->bytes;
        atomic_fetch_add(&s->waiting, 1);
        *w->end = m;
        w->end = &m->next;
        set_stopping(w);
        if (rings)
            pthread_cond_signal(&w->bell);
    }
    pthread_mutex_unlock(&w->lock);
    if (has_room)
        return;
    atomic_fetch_add(&s->lost_memory, 1);
    free(m);
}

void stream_writer_no_memory(struct stream_writer *w, uint32_t shard)
{
    stats_add(&w->stats[shard]->rois, 1);
    atomic_fetch_add(&w->stats[shard]->lost_memory, 1);
}
