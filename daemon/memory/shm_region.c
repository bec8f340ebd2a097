/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"

#define AHEAD 4u /* entries that are fetched before they are taken */

#define PAGE 4096u

struct shm_window {
    struct pool *pool;
    struct shm_sizes sizes;
    uint64_t up_at, down_at, data_at, bytes; /* of a region */
    uint64_t at;                             /* of the first place, from the pool's base */
    uint32_t n;
    struct shm_region *region; /* [n] */
};

static uint64_t whole_pages(uint64_t n)
{
    return (n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* ---------------------------------------------------------------- the window */

/* Takes a range of addresses that the pool and all places fit in, and moves the pool there. */
static int move_pool(struct shm_window *w)
{
    struct pool *p = w->pool;
    uint64_t all = w->at + w->n * w->bytes;
    unsigned char *base =
        mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        return -errno;
    if (mmap(base, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->fd, 0) ==
        MAP_FAILED) {
        int r = -errno;

        munmap(base, all);
        return r;
    }
    munmap(p->base, p->bytes);
    p->base = base;
    p->rois = (struct roi *)(void *)base;
    return 0;
}

int shm_window_open(struct pool *pool, uint32_t n, const struct shm_sizes *sizes,
                    struct shm_window **ret_window)
{
    struct shm_window *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return -ENOMEM;
    w->pool = pool;
    w->sizes = *sizes;
    w->up_at = whole_pages(sizeof(struct shm_head));
    w->down_at = w->up_at + whole_pages(sizes->entries * sizeof(struct shm_roi));
    w->data_at = w->down_at + SHM_DOWN_BYTES;
    w->bytes = w->data_at + whole_pages(sizes->data_bytes);
    w->at = whole_pages(pool->bytes);
    w->n = n;
    w->region = calloc(n, sizeof *w->region);
    r = w->region ? move_pool(w) : -ENOMEM;
    if (r < 0) {
        free(w->region);
        free(w);
        return r;
    }
    for (uint32_t i = 0; i < n; i++)
        w->region[i] = (struct shm_region){.window = w, .number = i + 1, .fd = -1};
    *ret_window = w;
    return 0;
}

void shm_window_close(struct shm_window *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->region[i].fd >= 0)
            close(w->region[i].fd);
    /* the pool unmaps its own part */
    munmap(w->pool->base + w->at, w->n * w->bytes);
    free(w->region);
    free(w);
}

uint64_t shm_window_data_bytes(const struct shm_window *w)
{
    return w->sizes.data_bytes;
}

void shm_window_geometry(const struct shm_window *w, struct shm_geometry *ret_geometry)
{
    *ret_geometry = (struct shm_geometry){.at = w->at,
                                          .n = w->n,
                                          .bytes = w->bytes,
                                          .data_at = w->data_at,
                                          .data_bytes = w->bytes - w->data_at};
}

const struct shm_region *shm_window_region(const struct shm_window *w, uint32_t number)
{
    return &w->region[number - 1];
}

/* ---------------------------------------------------------------- regions */

/* Seals the size: a file that shrinks would end the daemon with SIGBUS. */
static int make_file(const struct shm_window *w, int *ret_fd)
{
    int fd = memfd_create("trigd-client", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)w->bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static unsigned char *place_of(const struct shm_region *r)
{
    const struct shm_window *w = r->window;

    return w->pool->base + w->at + (r->number - 1) * w->bytes;
}

unsigned char *shm_region_data(const struct shm_region *r)
{
    return place_of(r) + r->window->data_at;
}

static struct shm_region *free_place(struct shm_window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->region[i].fd < 0)
            return &w->region[i];
    return NULL;
}

int shm_region_new(struct shm_window *w, struct shm_region **ret_region)
{
    struct shm_region *r = free_place(w);
    int fd = -1, error;

    if (!r)
        return -ENOSPC;
    error = make_file(w, &fd);
    if (error < 0)
        return error;
    if (mmap(place_of(r), w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
        error = -errno;
        close(fd);
        return error;
    }
    *r = (struct shm_region){.window = w,
                             .number = r->number,
                             .epoch = r->epoch + 1,
                             .fd = fd,
                             .head = (struct shm_head *)(void *)place_of(r)};
    memcpy(r->head->magic, SHM_MAGIC, sizeof r->head->magic);
    r->head->entries = w->sizes.entries;
    r->head->down_bytes = SHM_DOWN_BYTES;
    r->head->up_at = w->up_at;
    r->head->down_at = w->down_at;
    r->head->data_at = w->data_at;
    r->head->data_bytes = w->sizes.data_bytes;
    *ret_region = r;
    return 0;
}

static void unmap_idle(struct shm_region *r)
{
    if (!r->is_orphan || r->n_rois)
        return;
    /* the addresses stay taken; where that fails the next region is mapped over this one */
    if (mmap(place_of(r), r->window->bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        log_warn("ingress", "the memory of a client that is gone is kept", "error=\"%s\"",
                 strerror(errno));
    close(r->fd);
    r->fd = -1;
    r->head = NULL;
}

void shm_region_drop(struct shm_region *r)
{
    r->is_orphan = true;
    unmap_idle(r);
}

void shm_region_hold(struct shm_region *r)
{
    r->n_rois++;
}

void shm_region_release(struct shm_window *w, uint32_t number)
{
    struct shm_region *r = &w->region[number - 1];

    r->n_rois--;
    unmap_idle(r);
}

/* ---------------------------------------------------------------- up */

static void fetch_entry(const struct shm_roi *entry)
{
    __builtin_prefetch(entry);
    __builtin_prefetch((const char *)entry + 64);
}

int shm_region_take(struct shm_region *r, struct shm_roi *ret_roi)
{
    const struct shm_window *w = r->window;
    const struct shm_roi *entries = (const struct shm_roi *)(void *)(place_of(r) + w->up_at);

    /* the client writes its position all the time: a look at it takes it away from there */
    if (r->up_seen == r->up_tail) {
        const uint32_t head = atomic_load_explicit(&r->head->up_head, memory_order_acquire);

        if (head - r->up_tail > w->sizes.entries)
            return -EPROTO;
        r->up_seen = head;
    }
    if (r->up_seen == r->up_tail)
        return 0;
    if (r->up_seen - r->up_tail > AHEAD)
        fetch_entry(&entries[(r->up_tail + AHEAD) % w->sizes.entries]);
    memcpy(ret_roi, &entries[r->up_tail % w->sizes.entries], sizeof *ret_roi);
    r->up_tail++;
    return 1;
}

void shm_region_taken(struct shm_region *r)
{
    atomic_store_explicit(&r->head->up_tail, r->up_tail, memory_order_release);
}

void shm_region_sleep(struct shm_region *r, bool sleeps)
{
    atomic_store_explicit(&r->head->daemon_sleeps, sleeps, memory_order_seq_cst);
}

bool shm_region_has_entries(const struct shm_region *r)
{
    return r->up_seen != r->up_tail ||
           atomic_load_explicit(&r->head->up_head, memory_order_seq_cst) != r->up_tail;
}

/* ---------------------------------------------------------------- down */

static unsigned char *down_at(const struct shm_region *r, uint64_t position)
{
    return place_of(r) + r->window->down_at + position % SHM_DOWN_BYTES;
}

/* Whether n bytes from down_head on are free; looks at the client's position when they seem not. */
static int is_free(struct shm_region *r, uint64_t n)
{
    if (r->down_head + n - r->down_seen > SHM_DOWN_BYTES) {
        uint64_t seen = atomic_load_explicit(&r->head->down_tail, memory_order_acquire);

        /* it never goes back and never overtakes */
        if (seen - r->down_seen > r->down_head - r->down_seen)
            return -EPROTO;
        r->down_seen = seen;
    }
    return r->down_head + n - r->down_seen > SHM_DOWN_BYTES ? -EAGAIN : 0;
}

int shm_region_room(struct shm_region *r, uint32_t n, void **ret_bytes)
{
    const uint32_t wrap = SHM_WRAP;
    uint32_t room = shm_answer_room(n);
    uint64_t left = SHM_DOWN_BYTES - r->down_head % SHM_DOWN_BYTES;
    int error;

    if (n > SHM_ANSWER_MAX)
        return -EMSGSIZE;
    error = is_free(r, room + (left < room ? left : 0));
    if (error < 0)
        return error;
    if (left < room) { /* an answer lies in one piece */
        memcpy(down_at(r, r->down_head), &wrap, sizeof wrap);
        r->down_head += left;
    }
    *ret_bytes = down_at(r, r->down_head) + sizeof n;
    return 0;
}

bool shm_region_send(struct shm_region *r, uint32_t n)
{
    memcpy(down_at(r, r->down_head), &n, sizeof n);
    r->down_head += shm_answer_room(n);
    atomic_store_explicit(&r->head->down_head, r->down_head, memory_order_seq_cst);
    return atomic_load_explicit(&r->head->client_sleeps, memory_order_seq_cst) &&
           atomic_exchange(&r->head->client_sleeps, 0);
}
