/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/life.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

#define PAGE 4096u

struct word { /* of the page; the list is the owner's, and the kernel's */
    _Atomic uint32_t owner;
    struct robust_list entry;
    struct robust_list_head head;
};

struct life {
    int page_fd, end_fd;
    struct word *word;
    pthread_t thread;
    bool has_thread;
};

static int map(int page_fd, struct word **ret_word)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);

    if (page == MAP_FAILED)
        return -errno;
    *ret_word = page;
    return 0;
}

static void wait_at(struct word *w, uint32_t owner)
{
    syscall(SYS_futex, &w->owner, FUTEX_WAIT, owner, NULL, NULL, 0);
}

static void wake(struct word *w)
{
    syscall(SYS_futex, &w->owner, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---------------------------------------------------------------- the front */

/* Waits until the word has no owner any more; 0: it has none yet. */
static void *await_end(void *arg)
{
    const struct life *l = arg;
    const uint64_t one = 1;
    uint32_t owner;

    while (!((owner = atomic_load(&l->word->owner)) & FUTEX_OWNER_DIED)) {
        if (owner && !(owner & FUTEX_WAITERS)) /* else the kernel wakes nobody */
            atomic_fetch_or(&l->word->owner, FUTEX_WAITERS);
        else
            wait_at(l->word, owner);
    }
    if (write(l->end_fd, &one, sizeof one) < 0)
        log_error("worker", "cannot write an eventfd", "error=\"%s\"", strerror(errno));
    return NULL;
}

static int open_all(struct life *l)
{
    int r;

    l->page_fd = memfd_create("trigd-life", MFD_CLOEXEC);
    l->end_fd = eventfd(0, EFD_CLOEXEC);
    if (l->page_fd < 0 || l->end_fd < 0 || ftruncate(l->page_fd, PAGE) < 0)
        return -errno;
    r = map(l->page_fd, &l->word);
    if (r == 0)
        r = -pthread_create(&l->thread, NULL, await_end, l);
    l->has_thread = r == 0;
    return r;
}

int life_new(struct life **ret_life)
{
    struct life *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    l->page_fd = l->end_fd = -1;
    r = open_all(l);
    if (r < 0) {
        life_free(l);
        return r;
    }
    *ret_life = l;
    return 0;
}

void life_free(struct life *l)
{
    if (!l)
        return;
    if (l->has_thread) {
        atomic_store(&l->word->owner, FUTEX_OWNER_DIED);
        wake(l->word);
        pthread_join(l->thread, NULL);
    }
    if (l->word)
        munmap(l->word, PAGE);
    if (l->page_fd >= 0)
        close(l->page_fd);
    if (l->end_fd >= 0)
        close(l->end_fd);
    free(l);
}

int life_page(const struct life *l)
{
    return l->page_fd;
}

int life_fd(const struct life *l)
{
    return l->end_fd;
}

/* ---------------------------------------------------------------- the process */

/* A thread has one list, and the C library one for each: so this one does nothing else. */
static void *own(void *arg)
{
    struct word *w = arg;

    w->entry.next = &w->head.list;
    w->head = (struct robust_list_head){.list = {.next = &w->entry},
                                        .futex_offset = (long)offsetof(struct word, owner) -
                                                        (long)offsetof(struct word, entry)};
    if (syscall(SYS_set_robust_list, &w->head, sizeof w->head) < 0)
        log_warn("worker", "the end of this process will be seen late", "error=\"%s\"",
                 strerror(errno));
    atomic_store(&w->owner, (uint32_t)gettid());
    wake(w);
    while (pause() < 0) { /* it always is, after a signal */
    }
    return NULL;
}

int life_hold(int page_fd)
{
    struct word *w = NULL;
    pthread_t thread;
    int r = map(page_fd, &w);

    if (r < 0)
        return r;
    r = -pthread_create(&thread, NULL, own, w);
    if (r < 0) {
        munmap(w, PAGE);
        return r;
    }
    pthread_detach(thread);
    while (!atomic_load(&w->owner))
        wait_at(w, 0);
    return 0;
}
