/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/poison.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/folder.h"
#include "base/hash.h"
#include "log.h"
#include "stream/roi_message.h"

#define FILTER_WORDS 64u
#define CLOSE_MS     2000u /* for the disk to take the list at the end */

struct poison {
    char path[PATH_MAX]; /* of the file; "" for none */
    int lock_fd;
    uint32_t most;
    _Atomic uint64_t filter[FILTER_WORDS]; /* a bit for the numbers of each entry */
    pthread_mutex_t lock;                  /* of what follows */
    pthread_cond_t bell;
    uint32_t n;
    struct poison_entry *entry; /* [most], oldest first */
    bool is_changed, stop;
    pthread_t thread;
    bool has_thread;
    struct ending ending;
};

/* ---------------------------------------------------------------- the filter */

static uint64_t numbers_hash(uint32_t run, uint32_t l1id, uint32_t roi_id)
{
    const uint64_t h = ((uint64_t)run << 32 | l1id) * UINT64_C(0x9e3779b97f4a7c15) + roi_id;

    return (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

static void filter_add(struct poison *p, const struct poison_entry *e)
{
    const uint64_t h = numbers_hash(e->run, e->l1id, e->roi_id);

    atomic_fetch_or_explicit(&p->filter[h / 64 % FILTER_WORDS], 1ull << (h % 64),
                             memory_order_relaxed);
}

static void filter_make(struct poison *p)
{
    for (uint32_t i = 0; i < FILTER_WORDS; i++)
        atomic_store_explicit(&p->filter[i], 0, memory_order_relaxed);
    for (uint32_t i = 0; i < p->n; i++)
        filter_add(p, &p->entry[i]);
}

static bool filter_may_have(const struct poison *p, const struct trg_roi_info *info)
{
    const uint64_t h = numbers_hash(info->run, info->l1id, info->roi_id);

    return atomic_load_explicit(&p->filter[h / 64 % FILTER_WORDS], memory_order_relaxed) >>
               (h % 64) &
           1;
}

/* ---------------------------------------------------------------- the file */

static void write_list(struct poison *p)
{
    uint32_t n;
    struct poison_entry *copy = poison_list(p, &n);
    int r = copy ? poison_file_write(p->path, copy, n) : -ENOMEM;

    free(copy);
    if (r < 0)
        log_error("dispatch", "the list of RoIs that ended workers cannot be written",
                  "file=\"%s\" error=\"%s\"", p->path, strerror(-r));
}

static void *run(void *arg)
{
    struct poison *p = arg;
    bool is_changed = true;

    while (is_changed) {
        pthread_mutex_lock(&p->lock);
        while (!p->is_changed && !p->stop)
            pthread_cond_wait(&p->bell, &p->lock);
        is_changed = p->is_changed;
        p->is_changed = false;
        pthread_mutex_unlock(&p->lock);
        if (is_changed)
            write_list(p);
    }
    ending_say(&p->ending);
    return NULL;
}

/* Takes the file for this daemon, unless another one has it. */
static int take_file(struct poison *p, const char *folder)
{
    char lock[PATH_MAX];
    int r = folder_make(folder);

    if (r < 0)
        return r;
    if (snprintf(lock, sizeof lock, "%s/poison.lock", folder) >= (int)sizeof lock)
        return -ENAMETOOLONG;
    p->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (p->lock_fd < 0)
        return -errno;
    if (flock(p->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        log_warn("dispatch",
                 "another daemon keeps RoIs that ended workers in this state_dir; this one "
                 "remembers its own until it ends",
                 "folder=\"%s\"", folder);
        return 0;
    }
    snprintf(p->path, sizeof p->path, "%.4000s/poison", folder);
    return 0;
}

/* ---------------------------------------------------------------- opening and closing */

static int open_list(struct poison *p, const struct config *c)
{
    int r = 0;

    p->entry = calloc(p->most, sizeof *p->entry);
    if (!p->entry)
        return -ENOMEM;
    if (c->state_dir[0])
        r = take_file(p, c->state_dir);
    if (r == 0 && p->path[0])
        r = poison_file_read(p->path, p->entry, p->most);
    if (r < 0) {
        log_error("dispatch", "cannot use the state folder (state_dir)",
                  "folder=\"%s\" error=\"%s\"", c->state_dir, strerror(-r));
        return r;
    }
    p->n = (uint32_t)r;
    if (p->n)
        log_warn("dispatch", "RoIs that ended a worker are known: they are not processed again",
                 "file=\"%s\" rois=%u", p->path, p->n);
    filter_make(p);
    if (!p->path[0])
        return 0;
    r = -pthread_create(&p->thread, NULL, run, p);
    p->has_thread = r == 0;
    return r;
}

int poison_open(const struct config *config, struct poison **ret_poison)
{
    struct poison *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    p->lock_fd = -1;
    p->most = config->workers.remember;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->bell, NULL);
    ending_init(&p->ending);
    r = open_list(p, config);
    if (r < 0) {
        poison_close(p);
        return r;
    }
    *ret_poison = p;
    return 0;
}

void poison_close(struct poison *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->bell);
    pthread_mutex_unlock(&p->lock);
    if (p->has_thread && !ending_join(&p->ending, p->thread, CLOSE_MS)) {
        log_error("dispatch", "the disk of state_dir does not answer", "file=\"%s\"", p->path);
        return; /* its thread uses it until the process ends */
    }
    if (p->lock_fd >= 0)
        close(p->lock_fd);
    ending_fini(&p->ending);
    pthread_cond_destroy(&p->bell);
    pthread_mutex_destroy(&p->lock);
    free(p->entry);
    free(p);
}

/* ---------------------------------------------------------------- the list */

/* All that a plugin sees of an RoI; 0 without memory. */
static uint64_t fingerprint(const struct pool *pool, const struct roi *r)
{
    struct roi copy = *r;
    const struct roi_content all = {.has_payload = true};
    struct roi_message *m;
    uint64_t print;

    copy.token = 0; /* the client's own */
    if (roi_message_pack(pool, &copy, &all, &m) < 0)
        return 0;
    print = hash_bytes(m->packed, m->bytes);
    free(m);
    return print;
}

static struct poison_entry *find(struct poison *p, uint64_t print)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->entry[i].print == print)
            return &p->entry[i];
    return NULL;
}

bool poison_knows(struct poison *p, const struct pool *pool, const struct roi *r)
{
    struct poison_entry *e;
    uint64_t print;

    if (!filter_may_have(p, &r->info))
        return false;
    print = fingerprint(pool, r);
    pthread_mutex_lock(&p->lock);
    e = find(p, print);
    if (e)
        e->n_again++;
    pthread_mutex_unlock(&p->lock);
    return e != NULL;
}

static void append(struct poison *p, const struct poison_entry *e)
{
    if (p->n == p->most) {
        memmove(p->entry, p->entry + 1, (p->n - 1) * sizeof *p->entry);
        p->n--;
        p->entry[p->n++] = *e;
        filter_make(p);
    } else {
        p->entry[p->n++] = *e;
        filter_add(p, e);
    }
    p->is_changed = true;
    pthread_cond_signal(&p->bell);
}

void poison_add(struct poison *p, const struct pool *pool, const struct roi *r, const char *reason)
{
    struct poison_entry e = {.print = fingerprint(pool, r),
                             .unix_s = (uint64_t)time(NULL),
                             .run = r->info.run,
                             .l1id = r->info.l1id,
                             .roi_id = r->info.roi_id};

    snprintf(e.reason, sizeof e.reason, "%.*s", POISON_REASON - 1, reason);
    pthread_mutex_lock(&p->lock);
    if (e.print && !find(p, e.print))
        append(p, &e);
    pthread_mutex_unlock(&p->lock);
}

uint32_t poison_clear(struct poison *p)
{
    uint32_t n;

    pthread_mutex_lock(&p->lock);
    n = p->n;
    p->n = 0;
    filter_make(p);
    p->is_changed = true;
    pthread_cond_signal(&p->bell);
    pthread_mutex_unlock(&p->lock);
    return n;
}

struct poison_entry *poison_list(struct poison *p, uint32_t *ret_n)
{
    struct poison_entry *copy;

    pthread_mutex_lock(&p->lock);
    copy = malloc((p->n + 1u) * sizeof *copy);
    if (copy)
        memcpy(copy, p->entry, p->n * sizeof *copy);
    *ret_n = p->n;
    pthread_mutex_unlock(&p->lock);
    return copy;
}
