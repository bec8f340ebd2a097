/* SPDX-License-Identifier: Apache-2.0 */
/* In a steady state the daemon allocates nothing for an RoI, and copies its columns once: counted
 * by a library in front of libc.  What libzmq does for a message over ZeroMQ is counted as well. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "counts.h"
#include "sanitized.h"
#include "sharer.h"

#define N      300u /* spacepoints */
#define BATCH  32u
#define ROUNDS 200u

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "clients: {credits: 64, shm_mbytes: 4}\n";
static const char menu[] = "name: allocations\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: n, plugin: nothing}\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: n}], streams: [physics]}\n";

static struct counts *map_counts(char *path)
{
    int fd = mkstemp(path);
    void *p;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(struct counts)), 0);
    p = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(p != MAP_FAILED);
    close(fd);
    return p;
}

/* The daemon alone is to count. */
static void start_counting(struct server *s, const char *path)
{
    char library[512];

    snprintf(library, sizeof library, "%s/bench/counting.so", getenv("TRIGD_BUILD"));
    assert_int_equal(access(library, R_OK), 0);
    setenv("LD_PRELOAD", library, 1);
    setenv(COUNTS_FILE, path, 1);
    sharer_server(s, config, menu);
    unsetenv("LD_PRELOAD");
    unsetenv(COUNTS_FILE);
}

static void run_rounds(struct sharer *c, uint64_t *token, uint32_t rounds)
{
    struct roi_spec specs[BATCH];
    struct shm_roi entries[BATCH];

    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            specs[i] = (struct roi_spec){.token = *token + i, .n = N};
            entries[i] = sharer_write(c, &specs[i], NULL);
            assert_int_equal(shmclient_put(c->client, &entries[i]), 0);
        }
        shmclient_send(c->client);
        sharer_collect(c, *token, BATCH, NULL);
        for (uint32_t i = 0; i < BATCH; i++)
            shmclient_give(c->client, entries[i].in[0].at,
                           shm_collection_bytes(TRG_SPACEPOINTS, false, N));
        *token += BATCH;
    }
}

static void run_messages(struct link *l, uint64_t *token, uint32_t rounds)
{
    struct roi_spec specs[BATCH];

    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t i = 0; i < BATCH; i++)
            specs[i] = (struct roi_spec){.token = *token + i, .n = N};
        link_send_rois(l, specs, BATCH);
        link_collect(l, *token, BATCH, NULL);
        *token += BATCH;
    }
}

/* What the daemon did for ROUNDS * BATCH RoIs, after a quarter of them to warm up. */
static void count(struct sharer *c, struct link *l, struct counts *counts,
                  uint64_t *ret_allocations, double *ret_copies)
{
    uint64_t token = 0, allocations, copied;

    for (uint32_t part = 0; part < 2; part++) {
        allocations = atomic_load(&counts->allocations);
        copied = atomic_load(&counts->copied_bytes);
        assert_true(allocations > 100); /* it counts */
        if (c)
            run_rounds(c, &token, part ? ROUNDS : ROUNDS / 4);
        else
            run_messages(l, &token, part ? ROUNDS : ROUNDS / 4);
    }
    *ret_allocations = atomic_load(&counts->allocations) - allocations;
    *ret_copies = (double)(atomic_load(&counts->copied_bytes) - copied) / (ROUNDS * BATCH) /
                  (N * (double)kind_item_size(TRG_SPACEPOINTS));
    printf("%s: %llu allocations and %.3f copies for %u RoIs\n", c ? "shm" : "ipc",
           (unsigned long long)*ret_allocations, *ret_copies, ROUNDS * BATCH);
}

static void none(void **state)
{
    char path[] = "/tmp/trigd-counts-XXXXXX";
    struct counts *counts;
    struct server s;
    struct sharer c;
    struct link l;
    uint64_t allocations;
    double copies;

    (void)state;
#ifdef IS_SANITIZED
    skip(); /* a sanitizer has its own malloc and memcpy */
#endif
    counts = map_counts(path);
    start_counting(&s, path);
    sharer_open(&c, &s);
    link_open(&l, &s);
    sharer_hello(&c, "counted", 0);
    link_hello(&l, "counted too", 0);
    count(&c, NULL, counts, &allocations, &copies);
    /* the daemon's housekeeping allocates now and then, its RoIs do not */
    assert_true(allocations < ROUNDS * BATCH / 100);
    assert_true(copies > 0.9 && copies < 1.1);
    count(NULL, &l, counts, &allocations, &copies);
    /* libzmq allocates for messages, up and down, and copies what came with the end of another */
    assert_true(allocations < ROUNDS * BATCH / 4);
    assert_true(copies > 0.9 && copies < 1.3);
    sharer_close(&c);
    link_close(&l);
    server_stop(&s);
    munmap(counts, sizeof *counts);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
