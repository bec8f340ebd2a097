/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include <cmocka.h>

#include "clock.h"
#include "keys.h"
#include "messages.h"

#define MESSAGE_ROIS 64u

static struct member *crowd;
static uint32_t n_crowd;

struct member *crowd_of(uint32_t n)
{
    crowd = calloc(n, sizeof *crowd);
    assert_non_null(crowd);
    n_crowd = n;
    return crowd;
}

void crowd_close(void)
{
    for (uint32_t i = 0; i < n_crowd; i++)
        member_close(&crowd[i]);
    free(crowd);
    crowd = NULL;
    n_crowd = 0;
}

void crowd_end(void *context, struct server *s)
{
    crowd_close();
    zmq_ctx_term(context);
    server_stop(s);
}

static void tell(struct member *m, const Trigd__V1__ToDaemon *message)
{
    size_t n = trigd__v1__to_daemon__get_packed_size(message);
    unsigned char *bytes = malloc(n);

    assert_non_null(bytes);
    trigd__v1__to_daemon__pack(message, bytes);
    if (m->shm)
        assert_int_equal(shmclient_tell(m->shm, message), 0);
    else
        assert_int_equal(zmq_send(m->socket, bytes, n, 0), n);
    free(bytes);
}

void member_open(struct member *m, const struct server *s, void *context, bool is_shm,
                 const char *name, uint32_t want)
{
    char endpoint[128];

    snprintf(endpoint, sizeof endpoint, SHM_SCHEME "%s/shm", s->folder);
    member_open_at(m, is_shm ? endpoint : s->endpoint, context, name, want);
}

void member_open_at(struct member *m, const char *endpoint, void *context, const char *name,
                    uint32_t want)
{
    member_open_with(m, endpoint, context, name, want, NULL, NULL);
}

void member_open_with(struct member *m, const char *endpoint, void *context, const char *name,
                      uint32_t want, const struct keyfile *keys, const char *server)
{
    Trigd__V1__ToDaemon message;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    int linger = 0, unlimited = 0;

    memset(m, 0, sizeof *m);
    snprintf(m->name, sizeof m->name, "%s", name);
    m->ended = calloc(MEMBER_ROIS, sizeof *m->ended);
    m->at = calloc(MEMBER_ROIS, sizeof *m->at);
    assert_true(m->ended && m->at);
    if (strncmp(endpoint, SHM_SCHEME, strlen(SHM_SCHEME)) == 0) {
        assert_int_equal(shmclient_open(endpoint, &m->shm), 0);
    } else {
        m->socket = zmq_socket(context, ZMQ_DEALER);
        assert_non_null(m->socket);
        zmq_setsockopt(m->socket, ZMQ_LINGER, &linger, sizeof linger);
        zmq_setsockopt(m->socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
        zmq_setsockopt(m->socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
        if (keys)
            keys_use(m->socket, keys, server);
        assert_int_equal(zmq_connect(m->socket, endpoint), 0);
    }
    message = message_hello(&hello, m->name);
    hello.want_credits = want;
    tell(m, &message);
}

void member_leave(struct member *m)
{
    Trigd__V1__ToDaemon message = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;

    message.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    message.bye = &bye;
    tell(m, &message);
}

void member_close(struct member *m)
{
    shmclient_close(m->shm);
    if (m->socket)
        zmq_close(m->socket);
    free(m->ended);
    free(m->at);
    memset(m, 0, sizeof *m);
}

/* ---------------------------------------------------------------- answers */

static uint64_t shared_bytes(void)
{
    return shm_collection_bytes(TRG_SPACEPOINTS, false, MEMBER_POINTS);
}

static void end_of(struct member *m, uint64_t token)
{
    assert_true(token < m->sent);
    if (m->ended[token % MEMBER_ROIS]++)
        fail_msg("%s: RoI %llu ended twice", m->name, (unsigned long long)token);
    m->outstanding--;
    if (m->shm)
        shmclient_give(m->shm, m->at[token % MEMBER_ROIS], shared_bytes());
}

static void set_credits(struct member *m, uint32_t credits)
{
    m->credits = credits;
    m->credits_ns = clock_ns();
    if (!m->is_welcome || credits < m->least_credits)
        m->least_credits = credits;
    m->is_welcome = true;
}

static void take_answer(struct member *m, const void *bytes, size_t n)
{
    Trigd__V1__FromDaemon *a = trigd__v1__from_daemon__unpack(NULL, n, bytes);

    assert_non_null(a);
    switch (a->body_case) {
    case TRIGD__V1__FROM_DAEMON__BODY_WELCOME:
        set_credits(m, a->welcome->credits);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_CREDIT:
        if (!m->is_welcome)
            fail_msg("%s: %u credits before its Welcome", m->name, a->credit->credits);
        set_credits(m, a->credit->credits);
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_DECISIONS:
        for (size_t i = 0; i < a->decisions->n_decisions; i++)
            end_of(m, a->decisions->decisions[i]->token);
        m->decided += (uint32_t)a->decisions->n_decisions;
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_BUSY:
        for (size_t i = 0; i < a->busy->n_tokens; i++)
            end_of(m, a->busy->tokens[i]);
        m->busy += (uint32_t)a->busy->n_tokens;
        break;
    case TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT:
        break;
    default:
        fail_msg("%s: %s", m->name, a->error ? a->error->text : "an answer of another kind");
    }
    trigd__v1__from_daemon__free_unpacked(a, NULL);
}

/* Takes in all answers that are there.  A token that comes twice, or was never sent, and an Error
 * fail the test. */
static void pump(struct member *m)
{
    const void *bytes;
    zmq_msg_t body;
    int n;

    if (m->shm) {
        while ((n = shmclient_receive(m->shm, &bytes)) > 0)
            take_answer(m, bytes, (size_t)n);
        assert_int_equal(n, 0);
        return;
    }
    zmq_msg_init(&body);
    while (zmq_msg_recv(&body, m->socket, ZMQ_DONTWAIT) >= 0)
        take_answer(m, zmq_msg_data(&body), zmq_msg_size(&body));
    zmq_msg_close(&body);
}

/* ---------------------------------------------------------------- RoIs */

uint32_t member_room(const struct member *m)
{
    return m->credits > m->outstanding ? m->credits - m->outstanding : 0;
}

static void send_shared(struct member *m, const struct roi_spec *spec)
{
    struct shm_roi entry = {.token = spec->token, .kinds = 1u << TRG_SPACEPOINTS};
    Trigd__V1__Roi r;
    Trigd__V1__Spacepoints p;
    const float *column[3];
    void *address;

    roi_fill(&r, &p, spec);
    assert_int_equal(
        shmclient_take(m->shm, shared_bytes(), &m->at[spec->token % MEMBER_ROIS], &address), 0);
    column[0] = p.phi_rad;
    column[1] = p.rho_mm;
    column[2] = p.z_mm;
    for (uint32_t c = 0; c < 3; c++)
        memcpy((unsigned char *)address + shm_column(TRG_SPACEPOINTS, false, spec->n, c), column[c],
               spec->n * sizeof(float));
    memcpy((unsigned char *)address + shm_column(TRG_SPACEPOINTS, false, spec->n, 3), p.layer.data,
           spec->n);
    entry.info = (struct trg_roi_info){.run = r.run,
                                       .roi_id = r.roi_id,
                                       .phi_half_rad = r.phi_half_rad,
                                       .z_min_mm = r.z_min_mm,
                                       .z_max_mm = r.z_max_mm};
    entry.in[0] = (struct shm_collection){.at = m->at[spec->token % MEMBER_ROIS], .n = spec->n};
    assert_int_equal(shmclient_put(m->shm, &entry), 0);
    shmclient_send(m->shm);
}

void member_send(struct member *m, uint32_t n, uint32_t roi_id)
{
    struct roi_spec specs[MESSAGE_ROIS];
    struct link l = {.socket = m->socket};

    while (n) {
        uint32_t now = n < MESSAGE_ROIS ? n : MESSAGE_ROIS;

        for (uint32_t i = 0; i < now; i++) {
            if (m->sent >= MEMBER_ROIS) { /* what was noted of an RoI long ago gives way */
                assert_int_equal(m->ended[m->sent % MEMBER_ROIS], 1);
                m->ended[m->sent % MEMBER_ROIS] = 0;
            }
            specs[i] = (struct roi_spec){.token = m->sent++, .roi_id = roi_id, .n = MEMBER_POINTS};
            if (m->shm)
                send_shared(m, &specs[i]);
        }
        if (!m->shm)
            link_send_rois(&l, specs, now);
        m->outstanding += now;
        n -= now;
    }
}

/* ---------------------------------------------------------------- all of them */

static void nap(void)
{
    struct timespec t = {.tv_nsec = 200000};

    nanosleep(&t, NULL);
}

void crowd_pump(struct member *m, uint32_t n, uint32_t ms)
{
    uint64_t limit = clock_ns() + NS_PER_MS * ms;

    do {
        for (uint32_t i = 0; i < n; i++)
            pump(&m[i]);
        nap();
    } while (clock_ns() < limit);
}

void crowd_meet(struct member *m, uint32_t n)
{
    uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;

    for (uint32_t i = 0; i < n; i++) {
        while (!m[i].is_welcome) {
            crowd_pump(m, n, 0);
            if (clock_ns() > limit)
                fail_msg("%s got no Welcome", m[i].name);
        }
    }
}

void crowd_settle(struct member *m, uint32_t n)
{
    uint64_t limit = clock_ns() + SERVER_PATIENCE_MS * NS_PER_MS;

    for (uint32_t i = 0; i < n; i++) {
        while (m[i].outstanding) {
            crowd_pump(m, n, 0);
            if (clock_ns() > limit)
                fail_msg("%s has %u RoIs without an end", m[i].name, m[i].outstanding);
        }
    }
}

void crowd_check(struct server *s, const struct member *m, uint32_t n)
{
    uint64_t sent = 0, decided = 0, busy = 0;

    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(m[i].sent, m[i].decided + m[i].busy);
        for (uint32_t k = 0; k < m[i].sent && k < MEMBER_ROIS; k++)
            assert_int_equal(m[i].ended[k], 1);
        sent += m[i].sent;
        decided += m[i].decided;
        busy += m[i].busy;
    }
    assert_int_equal(sent, decided + busy);
    assert_int_equal(server_counter(s, "received"), decided);
    assert_int_equal(server_counter(s, "busy"), busy);
    assert_int_equal(server_counter(s, "in_flight"), 0);
    assert_int_equal(server_counter(s, "undeliverable"), 0);
    server_check_ledger(s);
}
