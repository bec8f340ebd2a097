/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a connection to the HTTP socket sends before it ends: it is answered with HTTP
 * or ended, and the server serves on. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fixture.h"
#include "log.h"
#include "monitor/http.h"
#include "want.h"

#define LOOK_EACH 64u /* inputs */
#define WAIT_MS   20
#define HEALTH_MS 60000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char path[64];

static void end(void)
{
    unlink(path);
    strncat(path, ".lock", sizeof path - strlen(path) - 1);
    unlink(path);
}

static void begin(void)
{
    static struct fixture f;
    static struct http *http;

    WANT(fixture_init(&f) == 0);
    snprintf(path, sizeof path, "/tmp/trigd-fuzz-http-%d", (int)getpid());
    f.config.http.address = "";
    f.config.http.socket = path;
    log_set_level(TRG_ERROR);
    WANT(http_start(&f.view, &http) == 0);
    WANT(atexit(end) == 0);
}

/* Sends the bytes and the end; the first bytes of the answer, as text, if it comes in time: the
 * server waits for the rest of a request that is none. */
static void ask(const void *data, size_t n, int wait_ms, char *ret_text, size_t room)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct pollfd p = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .events = POLLIN};
    ssize_t got = 0;

    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    WANT(p.fd >= 0 && connect(p.fd, (const struct sockaddr *)&a, sizeof a) == 0);
    (void)!send(p.fd, data, n, MSG_NOSIGNAL); /* it may be cut off */
    shutdown(p.fd, SHUT_WR);
    if (poll(&p, 1, wait_ms) > 0)
        got = recv(p.fd, ret_text, room - 1, 0);
    ret_text[got > 0 ? got : 0] = '\0';
    close(p.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char health[] = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    static unsigned count;
    char answer[16];

    if (!count)
        begin();
    ask(data, n, WAIT_MS, answer, sizeof answer);
    WANT(!answer[0] || !memcmp(answer, "HTTP/1.", 7));
    if (count++ % LOOK_EACH == 0) {
        ask(health, sizeof health - 1, HEALTH_MS, answer, sizeof answer);
        WANT(!memcmp(answer, "HTTP/1.1 200", 12));
    }
    return 0;
}
