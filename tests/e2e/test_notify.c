/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd is told: ready, that the loop turns, stopping. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "harness.h"

#define WATCHDOG_US "400000"

/* Receives states until one begins so. */
static void wait_state(int fd, const char *state)
{
    uint64_t limit = clock_ns() + 60 * NS_PER_S;
    char text[256];

    while (clock_ns() < limit) {
        ssize_t got = recv(fd, text, sizeof text - 1, 0);

        if (got < 0)
            continue;
        text[got] = '\0';
        if (!strncmp(text, state, strlen(state)))
            return;
    }
    fail_msg("%s did not come", state);
}

static void systemd_is_told(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 1};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct server s;
    char text[256];

    (void)state;
    assert_true(fd >= 0);
    server_prepare(&s, "devices: [{backend: cpu, index: 0, lanes: 1}]\n",
                   "name: notify\n"
                   "streams: [physics]\n"
                   "steps: [{name: f, plugin: fault}]\n"
                   "chains:\n"
                   "  - {name: c, id: 1, steps: [{step: f}], prescale: 1, streams: [physics]}\n");
    snprintf(a.sun_path, sizeof a.sun_path, "%s/notify", s.folder);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", a.sun_path, 1), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", WATCHDOG_US, 1), 0);
    server_launch(&s);
    wait_state(fd, "READY=1");
    for (uint32_t i = 0; i < 3; i++)
        wait_state(fd, "WATCHDOG=1");
    /* a loop that stands still is not said to turn */
    assert_int_equal(kill(s.pid, SIGSTOP), 0);
    while (recv(fd, text, sizeof text, 0) >= 0) { /* what was sent before */
    }
    assert_true(recv(fd, text, sizeof text, 0) < 0);
    assert_int_equal(kill(s.pid, SIGCONT), 0);
    wait_state(fd, "WATCHDOG=1");
    assert_int_equal(kill(s.pid, SIGTERM), 0);
    wait_state(fd, "STOPPING=1");
    assert_int_equal(server_wait_end(&s, 30), 0);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(fd);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(systemd_is_told)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
