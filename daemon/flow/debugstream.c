/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/debugstream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/folder.h"
#include "clock.h"
#include "declared.h"
#include "flow/roi_message.h"
#include "flow/roi_why.h"
#include "log.h"
#include "roifile.h"

#define SAY_NS   (10 * NS_PER_S) /* between two lines about RoIs that are lost */
#define WRITE_MS 1000u           /* at the end, beside limits.drain_ms */

struct debugstream {
    const struct config *config;
    struct stats *stats;
    uint64_t max_bytes, free_bytes, wait_bytes;
    char path[4096], folder[4096];
    struct roifile_writer
        *file;       /* opened with the first RoI; of the thread, as are the next three */
    uint64_t n_lost; /* since the last line about it */
    uint64_t said_ns;
    bool is_losing;
    pthread_t thread;
    struct ending ending;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t bell;
    struct roi_message *first, **end; /* what waits */
    uint64_t waiting;                 /* its bytes, and those of what is being written */
    bool stop;
    bool is_left; /* nobody waits for the thread any more: `stats` and `config` are gone */
};

/* ---------------------------------------------------------------- the thread */

static int open_file(struct debugstream *d)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct declared declared;

    declared_fill(kinds_declared(), &declared);
    header.n_collections = declared.n;
    header.collections = declared.list;
    header.version = 1;
    header.creator = (char *)"trigd debug stream";
    header.created_unix_s = (uint64_t)time(NULL);
    return roifile_create(d->path, &header, &d->file);
}

/* Whether the disk may take so many bytes more. */
static int check_room(const struct debugstream *d, size_t bytes)
{
    struct statvfs v;

    if ((d->file ? roifile_bytes(d->file) : 0) + bytes > d->max_bytes)
        return -EDQUOT;
    if (statvfs(d->folder, &v) < 0)
        return -errno;
    return (uint64_t)v.f_bavail * v.f_frsize < d->free_bytes + bytes ? -ENOSPC : 0;
}

static void count_lost(struct debugstream *d, int error)
{
    const bool is_full = error == -EDQUOT || error == -ENOSPC || error == -EFBIG;
    const uint64_t now = clock_ns();

    stats_add(is_full ? &d->stats->g.debug_lost_disk : &d->stats->g.debug_lost_error, 1);
    d->n_lost++;
    if (d->is_losing && now < d->said_ns + SAY_NS)
        return;
    log_error("egress", "RoIs of the debug stream cannot be written",
              "file=\"%s\" rois=%llu error=\"%s\"", d->path, (unsigned long long)d->n_lost,
              strerror(-error));
    d->is_losing = true;
    d->said_ns = now;
    d->n_lost = 0;
}

static int write_one(struct debugstream *d, const struct roi_message *m)
{
    int r = check_room(d, m->bytes);

    if (r == 0 && !d->file)
        r = open_file(d);
    return r < 0 ? r : roifile_append(d->file, m->packed, m->bytes, 1);
}

static void count(struct debugstream *d, int r)
{
    atomic_fetch_sub(&d->stats->g.debug_waiting, 1);
    if (r < 0) {
        count_lost(d, r);
        return;
    }
    stats_add(&d->stats->g.debug_written, 1);
    if (d->is_losing)
        log_info("egress", "RoIs of the debug stream are written again", "file=\"%s\" lost=%llu",
                 d->path, (unsigned long long)d->n_lost);
    d->is_losing = false;
    d->n_lost = 0;
}

/* The next RoI that waits, or NULL at the end. */
static struct roi_message *take(struct debugstream *d)
{
    struct roi_message *m;

    pthread_mutex_lock(&d->lock);
    while (!d->first && !d->stop)
        pthread_cond_wait(&d->bell, &d->lock);
    m = d->first;
    if (m) {
        d->first = m->next;
        if (!d->first)
            d->end = &d->first;
    }
    pthread_mutex_unlock(&d->lock);
    return m;
}

static void *run(void *arg)
{
    struct debugstream *d = arg;
    struct roi_message *m;

    while ((m = take(d)) != NULL) {
        const int r = write_one(d, m);

        pthread_mutex_lock(&d->lock);
        d->waiting -= m->bytes;
        if (!d->is_left)
            count(d, r);
        pthread_mutex_unlock(&d->lock);
        free(m);
    }
    ending_say(&d->ending);
    return NULL;
}

/* ---------------------------------------------------------------- opening and closing */

int debugstream_open(const struct config *config, uint32_t shard, struct stats *stats,
                     struct debugstream **ret_debug)
{
    const char *folder = config->debug_stream.folder;
    struct debugstream *d;
    struct tm tm;
    time_t now = time(NULL);
    char stamp[32], number[16] = "";
    int r = folder_make(folder);

    if (r < 0) {
        log_error("egress", "cannot make the debug stream's folder (debug_stream.folder)",
                  "folder=\"%s\" error=\"%s\"", folder, strerror(-r));
        return r;
    }
    d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->config = config;
    d->stats = stats;
    d->max_bytes = (uint64_t)config->debug_stream.max_mbytes << 20;
    d->free_bytes = (uint64_t)config->debug_stream.free_mbytes << 20;
    d->wait_bytes = (uint64_t)config->debug_stream.wait_mbytes << 20;
    d->end = &d->first;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->bell, NULL);
    ending_init(&d->ending);
    snprintf(d->folder, sizeof d->folder, "%s", folder);
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    if (shard)
        snprintf(number, sizeof number, "-%u", shard);
    snprintf(d->path, sizeof d->path, "%.4000s/debug-%s-%d%s.roi", folder, stamp, (int)getpid(),
             number);
    r = -pthread_create(&d->thread, NULL, run, d);
    if (r < 0) {
        free(d);
        return r;
    }
    *ret_debug = d;
    return 0;
}

/* Waits for the thread to write the rest; false when the disk takes too long. */
static bool end_thread(struct debugstream *d)
{
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_signal(&d->bell);
    pthread_mutex_unlock(&d->lock);
    if (ending_join(&d->ending, d->thread, d->config->limits.drain_ms + WRITE_MS))
        return true;
    pthread_mutex_lock(&d->lock);
    d->is_left = true;
    pthread_mutex_unlock(&d->lock);
    return false;
}

void debugstream_close(struct debugstream *d)
{
    int r;

    if (!d)
        return;
    if (!end_thread(d)) { /* it still uses `d`, until the process ends */
        log_error("egress", "the debug stream's disk does not answer: RoIs are lost",
                  "file=\"%s\" rois=%llu", d->path,
                  (unsigned long long)stats_get(&d->stats->g.debug_waiting));
        return;
    }
    r = d->file ? roifile_finish(d->file) : 0;
    if (r < 0)
        log_error("egress", "cannot close the debug stream's file", "file=\"%s\" error=\"%s\"",
                  d->path, strerror(-r));
    ending_fini(&d->ending);
    pthread_cond_destroy(&d->bell);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---------------------------------------------------------------- handing over */

/* Puts an RoI at the end of what waits; false without room. */
static bool put(struct debugstream *d, struct roi_message *m)
{
    bool has_room;

    pthread_mutex_lock(&d->lock);
    has_room = d->waiting + m->bytes <= d->wait_bytes;
    if (has_room) {
        d->waiting += m->bytes;
        atomic_fetch_add(&d->stats->g.debug_waiting, 1);
        *d->end = m;
        d->end = &m->next;
        pthread_cond_signal(&d->bell);
    }
    pthread_mutex_unlock(&d->lock);
    return has_room;
}

void debugstream_write(struct debugstream *d, const struct pool *pool, const struct roi *r,
                       const struct menu *menu)
{
    Trigd__V1__Kept kept = TRIGD__V1__KEPT__INIT;
    char reason[ROI_WHY_BYTES];
    struct roi_message *m;

    roi_why_say(&r->why, menu, d->config, reason);
    kept.status = (Trigd__V1__Status)r->status;
    kept.reason = reason;
    kept.unix_s = (uint64_t)time(NULL);
    kept.menu_key = menu->hash;
    stats_add(&d->stats->g.debug_rois, 1);
    if (roi_message_pack(pool, r, &kept, &m) < 0) {
        stats_add(&d->stats->g.debug_lost_memory, 1);
        return;
    }
    if (put(d, m))
        return;
    stats_add(&d->stats->g.debug_lost_memory, 1);
    free(m);
}
