/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody reads stderr: nothing waits for it, lines are dropped in order, counted, and told. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "crowd.h"
#include "logsink.h"
#include "sharer.h"

#define LINES 5000u
#define ROIS  2000u

/* stderr becomes the writing end; returns the old one. */
static int take_stderr(int writing)
{
    int old = dup(STDERR_FILENO);

    assert_true(old >= 0);
    assert_int_equal(dup2(writing, STDERR_FILENO), STDERR_FILENO);
    return old;
}

static void give_stderr(int old)
{
    assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
    close(old);
}

/* Writes numbered lines while nobody reads, reads all, and compares what is there with the books.
 */
static void drop_and_tell(int reading, int writing)
{
    char line[128], *text = malloc(1u << 20), *at, *end;
    uint64_t began = clock_ns(), kept = 0, told = 0, next = 0;
    size_t n = 0;
    int old = take_stderr(writing);
    ssize_t got;

    assert_non_null(text);
    assert_int_equal(logsink_start(), 0);
    for (uint32_t i = 0; i < LINES; i++) {
        int length = snprintf(line, sizeof line,
                              "line %u of a test that nobody reads, as long as "
                              "one of the daemon's, more or less so\n",
                              i);

        logsink_write(line, (size_t)length);
    }
    began = clock_ns() - began;
    assert_true(logsink_dropped() > 0);
    do { /* until all is there, and the line about the rest */
        struct pollfd p = {.fd = reading, .events = POLLIN};

        if (poll(&p, 1, 500) <= 0)
            break;
        got = read(reading, text + n, (1u << 20) - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    } while (true);
    logsink_stop(1000);
    give_stderr(old);
    text[n] = '\0';
    for (at = text; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        unsigned number;

        *end = '\0';
        if (strstr(at, "lines were dropped")) {
            told += strtoull(strstr(at, " lines=") + strlen(" lines="), NULL, 10);
        } else {
            assert_int_equal(sscanf(at, "line %u of", &number), 1);
            assert_true(number >= next); /* in order, each once */
            next = number + 1;
            kept++;
        }
    }
    assert_int_equal(*at, '\0'); /* no half of a line */
    free(text);
    assert_int_equal(kept + logsink_dropped(), LINES);
    assert_int_equal(told, logsink_dropped());
    assert_true(began < 2 * NS_PER_S); /* to write on for ever would be longer */
}

static void a_pipe_that_nobody_reads(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    drop_and_tell(ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
}

/* The daemon serves, and ends, with a pipe for stderr that was full before it began. */
static void a_daemon_goes_on(void **state)
{
    struct server s;
    struct member *m;
    void *context = zmq_ctx_new();
    char block[4096];
    uint64_t began;
    int ends[2], old;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    memset(block, '\n', sizeof block);
    while (write(ends[1], block, sizeof block) > 0) {
    }
    while (write(ends[1], block, 1) > 0) {
    }
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0); /* as a pipe is that a shell makes */
    old = take_stderr(ends[1]);
    sharer_server(
        &s,
        "devices: [{backend: cpu, index: 0, lanes: 1}]\n"
        "log: {level: debug}\n"
        "clients: {max: 16, shm_mbytes: 4}\n",
        "name: log\n"
        "streams: [physics]\n"
        "steps: [{name: f, plugin: fault}]\n"
        "chains: [{name: c, id: 1, steps: [{step: f}], prescale: 1, streams: [physics]}]\n");
    give_stderr(old);
    m = crowd_of(2);
    member_open(&m[0], &s, context, false, "zmq", 0);
    member_open(&m[1], &s, context, true, "shm", 0);
    crowd_meet(m, 2);
    while (m[0].sent < ROIS || m[1].sent < ROIS) {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t room = member_room(&m[i]);

            if (m[i].sent < ROIS)
                member_send(&m[i], room < ROIS - m[i].sent ? room : ROIS - m[i].sent, 0);
        }
        crowd_pump(m, 2, 1);
    }
    crowd_settle(m, 2);
    assert_int_equal(m[0].decided + m[1].decided, 2 * ROIS);
    crowd_check(&s, m, 2);
    crowd_close();
    zmq_ctx_term(context);
    began = clock_ns();
    assert_int_equal(server_end(&s, SIGTERM, 20), 0);
    print_message("the daemon ended after %.1f s\n", (double)(clock_ns() - began) * 1e-9);
    server_clean(&s);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_that_nobody_reads),
        cmocka_unit_test(a_daemon_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
