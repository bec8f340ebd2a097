/* SPDX-License-Identifier: Apache-2.0 */
/* In a steady state the daemon allocates nothing for an RoI over shared memory, and copies its
 * columns once: counted by a library in front of libc. */
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
                           shm_collection_bytes(TRG_SPACEPOINTS, N));
        *token += BATCH;
    }
}

static void none(void **state)
{
    char path[] = "/tmp/trigd-counts-XXXXXX";
    struct counts *counts;
    struct server s;
    struct sharer c;
    uint64_t token = 0, allocations, copied;
    double copies;

    (void)state;
#ifdef IS_SANITIZED
    skip(); /* a sanitizer has its own malloc and memcpy */
#endif
    counts = map_counts(path);
    start_counting(&s, path);
    sharer_open(&c, &s);
    sharer_hello(&c, "counted", 0);
    run_rounds(&c, &token, ROUNDS / 4);                   /* warms up */
    assert_true(atomic_load(&counts->allocations) > 100); /* it counts */
    allocations = atomic_load(&counts->allocations);
    copied = atomic_load(&counts->copied_bytes);
    run_rounds(&c, &token, ROUNDS);
    allocations = atomic_load(&counts->allocations) - allocations;
    copied = atomic_load(&counts->copied_bytes) - copied;
    copies = (double)copied / (ROUNDS * BATCH) / (N * (double)trg_item_size(TRG_SPACEPOINTS));
    printf("%llu allocations and %.3f copies for %u RoIs\n", (unsigned long long)allocations,
           copies, ROUNDS * BATCH);
    /* the daemon's housekeeping allocates now and then, its RoIs do not */
    assert_true(allocations < ROUNDS * BATCH / 100);
    assert_true(copies > 0.9 && copies < 1.1);
    sharer_close(&c);
    server_stop(&s);
    munmap(counts, sizeof *counts);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
