/* SPDX-License-Identifier: Apache-2.0 */
#include "shmclient.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

#define LOOK_NS     (200 * NS_PER_US) /* between two looks at the socket while the ring is used */
#define LEAST_SHIFT 10u               /* the smallest piece of room is 1 KiB */
#define CLASSES     40u               /* pieces of 1 KiB times a power of two */
#define NO_PIECE    UINT64_MAX

struct shmclient {
    int fd;
    uint64_t looked_ns;
    unsigned char packet[SHM_PACKET_MAX];

    struct shm_head *head; /* NULL before the Welcome */
    uint64_t bytes;        /* of the region */
    struct shm_roi *up;
    unsigned char *down, *data;
    uint32_t entries, up_head, up_seen; /* the daemon's position when last looked at */
    uint64_t down_bytes, down_tail;

    /* room: pieces that were given back, by size, linked through their first bytes; the rest of
     * the data was never taken */
    uint64_t data_bytes, untouched, n_taken;
    uint64_t given[CLASSES];
};

/* ---------------------------------------------------------------- the connection */

int shmclient_open(const char *path, struct shmclient **ret_client)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct shmclient *c;
    int r;

    if (strncmp(path, SHM_SCHEME, strlen(SHM_SCHEME)) == 0)
        path += strlen(SHM_SCHEME);
    if (strlen(path) >= sizeof a.sun_path)
        return -ENAMETOOLONG;
    memcpy(a.sun_path, path, strlen(path) + 1);
    c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    r = c->fd < 0 || connect(c->fd, (const struct sockaddr *)&a, sizeof a) < 0 ? -errno : 0;
    if (r < 0) {
        shmclient_close(c);
        return r;
    }
    *ret_client = c;
    return 0;
}

void shmclient_close(struct shmclient *c)
{
    if (!c)
        return;
    if (c->head)
        munmap(c->head, c->bytes);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

int shmclient_fd(const struct shmclient *c)
{
    return c->fd;
}

struct shm_head *shmclient_head(struct shmclient *c)
{
    return c->head;
}

int shmclient_tell(struct shmclient *c, const Trigd__V1__ToDaemon *m)
{
    size_t n = trigd__v1__to_daemon__get_packed_size(m);
    unsigned char few[512], *bytes = few; /* of most; a Hello with declarations has more */
    int r;

    if (n > SHM_PACKET_MAX)
        return -EMSGSIZE;
    if (n > sizeof few)
        bytes = malloc(n);
    if (!bytes)
        return -ENOMEM;
    trigd__v1__to_daemon__pack(m, bytes);
    r = shm_packet_send(c->fd, bytes, n, -1);
    if (bytes != few)
        free(bytes);
    return r;
}

/* ---------------------------------------------------------------- the region */

static bool is_known(const struct shm_head *h, uint64_t bytes)
{
    return bytes >= sizeof *h && memcmp(h->magic, SHM_MAGIC, sizeof h->magic) == 0 &&
           h->data_at + h->data_bytes <= bytes && h->down_at + h->down_bytes <= bytes &&
           h->up_at + h->entries * sizeof(struct shm_roi) <= bytes;
}

/* Maps the region that came with a Welcome; a second one is the same again. */
static int map_region(struct shmclient *c, int fd)
{
    struct stat s;
    struct shm_head *h;

    if (c->head)
        return 0;
    if (fstat(fd, &s) < 0)
        return -errno;
    h = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED)
        return -errno;
    if (!is_known(h, (uint64_t)s.st_size)) {
        munmap(h, (size_t)s.st_size);
        return -EPROTO;
    }
    c->head = h;
    c->bytes = (uint64_t)s.st_size;
    c->up = (struct shm_roi *)(void *)((unsigned char *)h + h->up_at);
    c->down = (unsigned char *)h + h->down_at;
    c->data = (unsigned char *)h + h->data_at;
    c->entries = h->entries;
    c->down_bytes = h->down_bytes;
    c->data_bytes = h->data_bytes;
    for (uint32_t i = 0; i < CLASSES; i++)
        c->given[i] = NO_PIECE;
    return 0;
}

/* ---------------------------------------------------------------- answers */

/* The next answer in the ring, in place; it is given back when the next one is asked for. */
static uint32_t next_answer(struct shmclient *c, const void **ret_bytes)
{
    uint64_t head = atomic_load_explicit(&c->head->down_head, memory_order_acquire);
    uint32_t n;

    atomic_store_explicit(&c->head->down_tail, c->down_tail, memory_order_release);
    if (head == c->down_tail)
        return 0;
    memcpy(&n, c->down + c->down_tail % c->down_bytes, sizeof n);
    if (n == SHM_WRAP) {
        c->down_tail += c->down_bytes - c->down_tail % c->down_bytes;
        memcpy(&n, c->down, sizeof n);
    }
    *ret_bytes = c->down + c->down_tail % c->down_bytes + sizeof n;
    c->down_tail += shm_answer_room(n);
    return n;
}

int shmclient_receive(struct shmclient *c, const void **ret_bytes)
{
    uint64_t now = clock_ns();
    uint32_t answer = c->head ? next_answer(c, ret_bytes) : 0;
    int fd = -1, n;

    if (answer)
        return (int)answer;
    if (c->head && now < c->looked_ns + LOOK_NS)
        return 0;
    do {
        n = shm_packet_receive(c->fd, c->packet, sizeof c->packet, &fd);
        if (fd >= 0) {
            int r = map_region(c, fd);

            close(fd);
            if (r < 0)
                return r;
        }
    } while (n == 1);                  /* it only wakes */
    if (n == -ECONNRESET && c->head) { /* what it wrote before it went is still there */
        answer = next_answer(c, ret_bytes);
        return answer ? (int)answer : n;
    }
    if (n == -EAGAIN) {
        c->looked_ns = now;
        return 0;
    }
    *ret_bytes = c->packet;
    return n;
}

bool shmclient_sleep(struct shmclient *c)
{
    c->looked_ns = 0;
    if (!c->head)
        return true;
    atomic_store_explicit(&c->head->client_sleeps, 1, memory_order_seq_cst);
    return atomic_load_explicit(&c->head->down_head, memory_order_seq_cst) == c->down_tail;
}

void shmclient_awake(struct shmclient *c)
{
    if (c->head)
        atomic_store_explicit(&c->head->client_sleeps, 0, memory_order_relaxed);
}

/* ---------------------------------------------------------------- room */

static uint32_t class_of(uint64_t bytes)
{
    uint32_t k = 0;

    while (((uint64_t)1 << (LEAST_SHIFT + k)) < bytes)
        k++;
    return k;
}

static void forget_pieces(struct shmclient *c)
{
    for (uint32_t i = 0; i < CLASSES; i++)
        c->given[i] = NO_PIECE;
    c->untouched = 0;
}

uint64_t shmclient_most(const struct shmclient *c)
{
    if (!c->head || c->data_bytes >> LEAST_SHIFT == 0)
        return 0;
    return (uint64_t)1 << (63 - __builtin_clzll(c->data_bytes));
}

int shmclient_take(struct shmclient *c, uint64_t bytes, uint64_t *ret_at, void **ret_address)
{
    uint32_t k;
    uint64_t size, at;

    if (!c->head)
        return -ENOTCONN;
    k = class_of(bytes);
    size = (uint64_t)1 << (LEAST_SHIFT + k);
    if (size > c->data_bytes)
        return -EMSGSIZE;
    if (!c->n_taken && c->given[k] == NO_PIECE)
        forget_pieces(c); /* all are free: cut them anew */
    at = c->given[k];
    if (at != NO_PIECE) {
        memcpy(&c->given[k], c->data + at, sizeof c->given[k]);
    } else if (c->untouched + size <= c->data_bytes) {
        at = c->untouched;
        c->untouched += size;
    } else {
        return -ENOSPC;
    }
    c->n_taken++;
    *ret_at = at;
    *ret_address = c->data + at;
    return 0;
}

void shmclient_give(struct shmclient *c, uint64_t at, uint64_t bytes)
{
    uint32_t k = class_of(bytes);

    memcpy(c->data + at, &c->given[k], sizeof c->given[k]);
    c->given[k] = at;
    c->n_taken--;
}

/* ---------------------------------------------------------------- RoIs */

int shmclient_put(struct shmclient *c, const struct shm_roi *roi)
{
    if (!c->head)
        return -ENOTCONN;
    if (c->up_head - c->up_seen >= c->entries)
        c->up_seen = atomic_load_explicit(&c->head->up_tail, memory_order_acquire);
    if (c->up_head - c->up_seen >= c->entries)
        return -EAGAIN;
    c->up[c->up_head++ % c->entries] = *roi;
    return 0;
}

void shmclient_send(struct shmclient *c)
{
    if (!c->head)
        return;
    atomic_store_explicit(&c->head->up_head, c->up_head, memory_order_seq_cst);
    if (atomic_load_explicit(&c->head->daemon_sleeps, memory_order_seq_cst))
        (void)shm_packet_send(c->fd, "", 1, -1); /* a full socket wakes as well */
}
