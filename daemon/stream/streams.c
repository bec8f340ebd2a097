/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/streams.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/folder.h"
#include "clock.h"
#include "log.h"
#include "stream/roi_message.h"
#include "stream/roi_why.h"
#include "stream/stream_titles.h"
#include "stream/stream_writer.h"

#define CLOSE_MS  1000u /* at the end, beside limits.drain_ms */
#define DEBUG     "debug"
#define MEBI(n)   ((uint64_t)(n) << 20)
#define MILLIS(n) ((n)*NS_PER_MS)

struct streams {
    const struct config *config;
    uint32_t n;                                     /* those of the configuration */
    struct stream_writer *writer[MENU_STREAMS_MAX]; /* the debug stream's behind them, or NULL */
    _Atomic uint32_t n_stopping;
    pthread_mutex_t lock;         /* of `titles` */
    struct stream_titles *titles; /* the newest first */
    struct stream_titles *last[SHARDS_MAX];
};

/* ---------------------------------------------------------------- opening and closing */

static int open_writer(struct streams *s, uint32_t place, const struct stream_files_setup *files,
                       uint32_t wait_mbytes, bool stops)
{
    const struct stream_writer_setup setup = {.files = *files,
                                              .wait_bytes = MEBI(wait_mbytes),
                                              .stops = stops,
                                              .n_stopping = &s->n_stopping,
                                              .close_ms = s->config->limits.drain_ms + CLOSE_MS};
    int r = folder_make(files->folder);

    if (r < 0) {
        log_error("stream", "cannot make the folder of a stream",
                  "stream=\"%s\" folder=\"%s\" error=\"%s\"", files->name, files->folder,
                  strerror(-r));
        return r;
    }
    return stream_writer_open(&setup, &s->writer[place]);
}

static int open_stream(struct streams *s, uint32_t place)
{
    const struct config_stream *c = &s->config->streams[place];
    const struct stream_files_setup files = {.name = c->stream,
                                             .folder = c->folder,
                                             .level = c->level,
                                             .file_bytes = MEBI(c->file_mbytes),
                                             .quota_bytes = MEBI(c->quota_mbytes),
                                             .run_bytes = UINT64_MAX,
                                             .free_bytes = MEBI(c->free_mbytes),
                                             .age_ns = c->file_s * NS_PER_S,
                                             .flush_ns = MILLIS(c->flush_ms),
                                             .sync_ns = MILLIS(c->sync_ms),
                                             .by_lumi_block = c->by_lumi_block};

    return open_writer(s, place, &files, c->wait_mbytes, !strcmp(c->when_full, "stop"));
}

/* RoIs that failed: each is in the file at once, so that it is there after a crash. */
static int open_debug(struct streams *s)
{
    const struct config *c = s->config;
    const struct stream_files_setup files = {.name = DEBUG,
                                             .folder = c->debug_stream.folder,
                                             .level = 1,
                                             .file_bytes = UINT64_MAX,
                                             .run_bytes = MEBI(c->debug_stream.max_mbytes),
                                             .free_bytes = MEBI(c->debug_stream.free_mbytes),
                                             .is_debug = true};

    return open_writer(s, s->n, &files, c->debug_stream.wait_mbytes, false);
}

int streams_open(const struct config *config, struct streams **ret_streams)
{
    struct streams *s = calloc(1, sizeof *s);
    int r = 0;

    if (!s)
        return -ENOMEM;
    pthread_mutex_init(&s->lock, NULL);
    s->config = config;
    s->n = config->n_streams;
    for (uint32_t i = 0; r == 0 && i < s->n; i++)
        r = open_stream(s, i);
    if (r == 0 && config->debug_stream.folder[0])
        r = open_debug(s);
    if (r < 0) {
        streams_close(s);
        return r;
    }
    *ret_streams = s;
    return 0;
}

int streams_join(struct streams *s, uint32_t shard, struct stats *stats)
{
    struct stats_stream *entry[STATS_STREAMS_MAX + 1] = {NULL};

    for (uint32_t i = 0; i <= s->n; i++) {
        entry[i] = s->writer[i]
                       ? stats_stream_get(stats, i < s->n ? s->config->streams[i].stream : DEBUG)
                       : NULL;
        if (s->writer[i] && !entry[i])
            return -ENOSPC;
    }
    for (uint32_t i = 0; i <= s->n; i++)
        if (s->writer[i])
            stream_writer_join(s->writer[i], shard, entry[i]);
    return 0;
}

void streams_close(struct streams *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i <= s->n; i++)
        stream_writer_close(s->writer[i]);
    while (s->titles) {
        struct stream_titles *next = s->titles->next;

        free(s->titles);
        s->titles = next;
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

bool streams_are_stopping(const struct streams *s)
{
    return atomic_load_explicit(&s->n_stopping, memory_order_relaxed) != 0;
}

/* ---------------------------------------------------------------- handing over */

/* The titles of a menu generation, made when its first RoI comes; NULL: no memory. */
static struct stream_titles *find_titles(struct streams *s, const struct menu *menu,
                                         uint32_t generation)
{
    struct stream_titles *t;

    pthread_mutex_lock(&s->lock);
    for (t = s->titles; t && t->generation != generation; t = t->next) {
    }
    if (!t && stream_titles_new(menu, generation, &t) == 0) {
        t->next = s->titles;
        s->titles = t;
    }
    pthread_mutex_unlock(&s->lock);
    return t;
}

static const struct stream_titles *titles_of(struct streams *s, uint32_t shard,
                                             const struct menu *menu, uint32_t generation)
{
    struct stream_titles *t = s->last[shard];

    if (!t || t->generation != generation)
        t = s->last[shard] = find_titles(s, menu, generation);
    return t;
}

/* What the files of a stream hold of the RoI. */
static int pack(const struct pool *pool, const struct roi *r, const struct menu *menu,
                uint32_t stream, Trigd__V1__Kept *kept, struct roi_message **ret_message)
{
    const struct roi_content content = {.has_payload = menu->streams[stream].has_payload,
                                        .menu = menu,
                                        .products = menu->streams[stream].products,
                                        .kept = kept};
    const size_t n_results = kept->decision->n_results;
    int result;

    if (!menu->streams[stream].has_results)
        kept->decision->n_results = 0;
    result = roi_message_pack(pool, r, &content, ret_message);
    kept->decision->n_results = n_results;
    return result;
}

void streams_put(struct streams *s, uint32_t shard, const struct pool *pool, const struct roi *r,
                 const struct menu *menu, uint32_t generation, Trigd__V1__Decision *decision)
{
    const struct stream_titles *titles = titles_of(s, shard, menu, generation);
    const uint64_t latency_ns = clock_ns() - r->received_ns;
    Trigd__V1__Kept kept = TRIGD__V1__KEPT__INIT;
    char reason[ROI_WHY_BYTES] = "";

    if (roi_has_failed(r->status))
        roi_why_say(&r->why, menu, s->config, reason);
    kept.status = (Trigd__V1__Status)r->status;
    kept.reason = reason;
    kept.unix_s = (uint64_t)time(NULL);
    kept.menu_key = menu->hash;
    kept.decision = decision;
    for (uint64_t left = r->streams & menu->filed; left; left &= left - 1) {
        const uint32_t stream = (uint32_t)__builtin_ctzll(left);
        struct stream_writer *w = s->writer[menu->streams[stream].files - 1];
        struct roi_message *m;

        if (!titles || pack(pool, r, menu, stream, &kept, &m) < 0) {
            stream_writer_no_memory(w, shard);
            continue;
        }
        m->titles = titles;
        m->shard = shard;
        m->latency_ns = latency_ns;
        stream_writer_put(w, m);
    }
}
