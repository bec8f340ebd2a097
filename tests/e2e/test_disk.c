/* SPDX-License-Identifier: Apache-2.0 */
/* The disk hangs: decisions about RoIs of the debug stream do not wait for it, those of co-located
 * clients neither, and what waited is written when it works again. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "interpose.h"
#include "sharer.h"
#include "workers.h"

#define ROIS     64u
#define HARD_MS  3000u
#define PAGE     4096u
#define NO_FAULT 1u

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
                             "clients: {credits: 128, shm_mbytes: 8, heartbeat_ms: 20000}\n"
                             "limits: {soft_ms: 0, hard_ms: 3000}\n"
                             "debug_stream: {folder: debug}\n";

/* Starts a daemon whose disk does what the page says. */
static struct page *start(struct server *s)
{
    char library[300], path[300];
    struct page *page;
    int fd;

    sharer_prepare(s, NULL, config, workers_menu);
    snprintf(library, sizeof library, "%s/test-plugins/storm_interpose.so", getenv("TRIGD_BUILD"));
    snprintf(path, sizeof path, "%s/page", s->folder);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    close(fd);
    setenv("STORM_PAGE", path, 1);
    setenv("STORM_DISK", s->folder, 1);
    setenv("LD_PRELOAD", library, 1);
    server_spawn(s);
    unsetenv("LD_PRELOAD");
    return page;
}

/* RoIs of which every other one fails, and goes to the debug stream. */
static void make(struct roi_spec *spec, uint64_t first)
{
    for (uint32_t i = 0; i < ROIS; i++)
        spec[i] = (struct roi_spec){
            .token = first + i, .l1id = i, .roi_id = i % 2 ? FAULT_ROI : NO_FAULT, .n = 50};
}

static void check(const uint8_t *result)
{
    for (uint32_t i = 0; i < ROIS; i++)
        assert_int_equal(result[i], i % 2 ? FAILED : 1);
}

/* Both clients get all their answers before the hard limit, while a writer hangs. */
static void ask(struct sharer *c, struct link *l, struct page *page)
{
    struct roi_spec here[ROIS], there[ROIS];
    uint8_t answer[ROIS];
    const uint64_t begun = clock_ns();

    make(here, 1000);
    make(there, 2000);
    sharer_send_rois(c, here, ROIS);
    link_send_rois(l, there, ROIS);
    sharer_collect(c, 1000, ROIS, answer);
    check(answer);
    link_collect(l, 2000, ROIS, answer);
    check(answer);
    assert_true(clock_ns() - begun < HARD_MS * NS_PER_MS);
    while (!atomic_load(&page->n_hanging)) {
        assert_true(clock_ns() - begun < SERVER_PATIENCE_MS * NS_PER_MS);
        workers_nap(1);
    }
}

static void no_decision_waits_for_the_disk(void **state)
{
    struct server s;
    struct sharer c;
    struct link l;
    struct page *page = start(&s);

    (void)state;
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    link_open(&l, &s);
    link_hello(&l, "zmq", 0);
    atomic_store(&page->disk, DISK_HANGS);
    for (uint32_t i = 0; i < 5; i++)
        ask(&c, &l, page);
    assert_int_equal(server_stream(&s, "debug", "written"), 0);
    atomic_store(&page->disk, DISK_WORKS);
    server_wait_stream(&s, "debug", "written", 5 * ROIS);
    assert_int_equal(server_counter(&s, "received"), 10 * ROIS);
    assert_int_equal(server_counter(&s, "failed"), 5 * ROIS);
    sharer_close(&c);
    link_end_well(&s, &l);
    munmap(page, PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_decision_waits_for_the_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
