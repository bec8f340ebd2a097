/* SPDX-License-Identifier: Apache-2.0 */
#include "sharer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "workers.h"

#define SHARDS 3u /* of the tests with several */

static void write_endpoint(const struct server *s, char *ret_text, size_t bytes)
{
    snprintf(ret_text, bytes, SHM_SCHEME "%s/shm", s->folder);
}

/* Binds a port of loopback, 0: any; returns it, or 0 when it is taken. */
static uint16_t try_port(uint16_t port, int *ret_fd)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    socklen_t n = sizeof a;

    *ret_fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(*ret_fd >= 0);
    if (bind(*ret_fd, (struct sockaddr *)&a, sizeof a) < 0)
        return 0;
    assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&a, &n), 0);
    return ntohs(a.sin_port);
}

uint16_t sharer_free_port(void)
{
    uint16_t port;
    bool are_free;

    do {
        int fd[SHARDS];

        port = try_port(0, &fd[0]);
        are_free = port != 0;
        for (uint16_t i = 1; i < SHARDS; i++)
            are_free &= try_port((uint16_t)(port + i), &fd[i]) != 0;
        for (uint32_t i = 0; i < SHARDS; i++)
            close(fd[i]);
    } while (!are_free);
    return port;
}

void sharer_server(struct server *s, const char *config, const char *menu)
{
    sharer_prepare(s, NULL, config, menu);
    server_spawn(s);
}

void sharer_prepare(struct server *s, const char *third, const char *config, const char *menu)
{
    char endpoints[400];

    server_prepare(s, config, menu);
    snprintf(endpoints, sizeof endpoints, "\"%s\", \"shm://%s/shm\"%s%s", s->endpoint, s->folder,
             third ? ", " : "", third ? third : "");
    server_configure(s, endpoints, config);
}

void sharer_gpu_server(struct server *s, const char *config, const char *menu)
{
    assert_int_equal(setenv("TRIGD_TEST_BACKENDS", "backends-cpu-gpu", 1), 0);
    sharer_prepare(s, NULL, config, menu);
    assert_int_equal(unsetenv("TRIGD_TEST_BACKENDS"), 0);
    workers_launch(s);
    server_wait_ready(s);
}

uint64_t sharer_pulled(struct server *s, const char *lane)
{
    return server_row_number(s, "lanes", lane, "pulled");
}

void sharer_open(struct sharer *c, const struct server *s)
{
    char endpoint[128];

    memset(c, 0, sizeof *c);
    write_endpoint(s, endpoint, sizeof endpoint);
    assert_int_equal(shmclient_open(endpoint, &c->client), 0);
}

void sharer_close(struct sharer *c)
{
    if (c->last)
        trigd__v1__from_daemon__free_unpacked(c->last, NULL);
    shmclient_close(c->client);
    memset(c, 0, sizeof *c);
}

void sharer_tell(struct sharer *c, const Trigd__V1__ToDaemon *m)
{
    assert_int_equal(shmclient_tell(c->client, m), 0);
}

/* Waits for something to read; false at the limit. */
static bool wait_for_more(struct sharer *c, uint64_t limit_ns)
{
    struct pollfd p = {.fd = shmclient_fd(c->client), .events = POLLIN};
    uint64_t now = clock_ns();

    if (now >= limit_ns)
        return false;
    if (shmclient_sleep(c->client))
        poll(&p, 1, (int)((limit_ns - now) / NS_PER_MS) + 1);
    shmclient_awake(c->client);
    return true;
}

Trigd__V1__FromDaemon *sharer_receive(struct sharer *c, int limit_ms, bool *ret_gone)
{
    uint64_t limit = clock_ns() + NS_PER_MS * (unsigned)limit_ms;
    const void *bytes;
    int n;

    if (c->last)
        trigd__v1__from_daemon__free_unpacked(c->last, NULL);
    c->last = NULL;
    while ((n = shmclient_receive(c->client, &bytes)) == 0)
        if (!wait_for_more(c, limit))
            return NULL;
    if (n < 0) {
        assert_int_equal(n, -ECONNRESET);
        if (!ret_gone)
            fail_msg("the daemon hung up");
        *ret_gone = true;
        return NULL;
    }
    c->last = trigd__v1__from_daemon__unpack(NULL, (size_t)n, bytes);
    assert_non_null(c->last);
    return c->last;
}

Trigd__V1__FromDaemon *sharer_expect(struct sharer *c, Trigd__V1__FromDaemon__BodyCase kind)
{
    Trigd__V1__FromDaemon *m;

    do { /* credits come and go with other clients */
        m = sharer_receive(c, 10000, NULL);
    } while (m && m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT && m->body_case != kind);
    answer_expect(m, kind);
    return m;
}

void sharer_expect_gone(struct sharer *c)
{
    uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;
    bool gone = false;

    while (!gone && clock_ns() < limit)
        sharer_receive(c, 1000, &gone);
    assert_true(gone);
}

uint32_t sharer_hello(struct sharer *c, const char *name, uint32_t want)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    hello.protocol = 1;
    hello.name = (char *)name;
    hello.want_credits = want;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    sharer_tell(c, &m);
    return sharer_expect(c, TRIGD__V1__FROM_DAEMON__BODY_WELCOME)->welcome->credits;
}

struct shm_roi sharer_write(struct sharer *c, const struct roi_spec *spec, float **ret_phi)
{
    uint64_t at, bytes = shm_collection_bytes(TRG_SPACEPOINTS, false, spec->n);
    struct shm_roi entry = {.token = spec->token, .kinds = 1u << TRG_SPACEPOINTS};
    Trigd__V1__Roi m;
    Trigd__V1__Spacepoints p;
    unsigned char *dst;
    void *address;

    roi_fill(&m, &p, spec);
    assert_int_equal(shmclient_take(c->client, bytes, &at, &address), 0);
    dst = address;
    memcpy(dst, p.phi_rad, spec->n * sizeof(float));
    memcpy(dst + shm_column(TRG_SPACEPOINTS, false, spec->n, 1), p.rho_mm, spec->n * sizeof(float));
    memcpy(dst + shm_column(TRG_SPACEPOINTS, false, spec->n, 2), p.z_mm, spec->n * sizeof(float));
    memcpy(dst + shm_column(TRG_SPACEPOINTS, false, spec->n, 3), p.layer.data, spec->n);
    entry.info = (struct trg_roi_info){.run = m.run,
                                       .l1id = m.l1id,
                                       .roi_id = m.roi_id,
                                       .l1_bits = m.l1_bits,
                                       .phi_half_rad = m.phi_half_rad,
                                       .z_min_mm = m.z_min_mm,
                                       .z_max_mm = m.z_max_mm};
    if (spec->deadline_us) {
        entry.kinds |= SHM_DEADLINE;
        entry.type = spec->deadline_us << SHM_DEADLINE_AT;
    }
    entry.in[0] = (struct shm_collection){.at = at, .n = spec->n};
    if (ret_phi)
        *ret_phi = address;
    return entry;
}

void sharer_put(struct sharer *c, const struct shm_roi *entry)
{
    assert_int_equal(shmclient_put(c->client, entry), 0);
    shmclient_send(c->client);
}

void sharer_send_rois(struct sharer *c, const struct roi_spec *specs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct shm_roi entry = sharer_write(c, &specs[i], NULL);

        assert_int_equal(shmclient_put(c->client, &entry), 0);
    }
    shmclient_send(c->client);
}

void sharer_collect(struct sharer *c, uint64_t first, uint32_t n, uint8_t *ret_by_token)
{
    uint8_t *seen = calloc(n, 1);

    assert_non_null(seen);
    for (uint32_t got = 0; got < n;) {
        Trigd__V1__FromDaemon *m = sharer_expect(c, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);

        got += answer_note(m->decisions, first, n, seen, ret_by_token);
    }
    free(seen);
}
