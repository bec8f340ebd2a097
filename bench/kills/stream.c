/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "trigd.pb-c.h"

#define PATIENCE_NS (10 * NS_PER_S)
#define BEHIND      64u /* RoIs sent at most before answers are taken again */

static int send_message(struct stream *s, const Trigd__V1__ToDaemon *m)
{
    unsigned char bytes[256];

    return zmq_send(s->socket, bytes, trigd__v1__to_daemon__pack(m, bytes), 0) < 0 ? -errno : 0;
}

static int take_decisions(struct stream *s, const Trigd__V1__DecisionBatch *b)
{
    for (size_t i = 0; i < b->n_decisions; i++) {
        const uint64_t token = b->decisions[i]->token;

        if (token >= s->n || s->roi[token].ended_ns)
            return -EPROTO;
        s->roi[token].ended_ns = clock_ns();
        s->roi[token].status = (uint8_t)b->decisions[i]->status;
        s->outstanding--;
    }
    return 0;
}

/* Takes the next answer, waiting for at most `ms`.  1, or 0: there was none. */
static int take_answer(struct stream *s, long ms)
{
    zmq_pollitem_t item = {.socket = s->socket, .events = ZMQ_POLLIN};
    Trigd__V1__FromDaemon *m;
    zmq_msg_t frame;
    int r = 1;

    if (zmq_poll(&item, 1, ms) <= 0)
        return 0;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, s->socket, 0) < 0) {
        zmq_msg_close(&frame);
        return -errno;
    }
    m = trigd__v1__from_daemon__unpack(NULL, zmq_msg_size(&frame), zmq_msg_data(&frame));
    zmq_msg_close(&frame);
    if (!m)
        return -EPROTO;
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
        r = take_decisions(s, m->decisions) < 0 ? -EPROTO : 1;
    else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_WELCOME)
        s->credits = m->welcome->credits;
    else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT)
        s->credits = m->credit->credits;
    else if (m->body_case != TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT)
        r = -EPROTO;
    trigd__v1__from_daemon__free_unpacked(m, NULL);
    return r;
}

int stream_open(struct stream *s, const char *endpoint, const struct source *source, uint32_t room)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;
    const uint64_t end_ns = clock_ns() + PATIENCE_NS;
    size_t largest = 0;
    int r = 0;

    *s = (struct stream){.source = source, .room = room};
    for (uint32_t i = 0; i < source->n; i++) {
        const struct source_pick pick = {.which = i, .token = UINT32_MAX, .l1id = UINT32_MAX};
        const size_t bytes = source_pack(source, &pick, 1, NULL);

        largest = bytes > largest ? bytes : largest;
    }
    s->roi = calloc(room, sizeof *s->roi);
    s->message = malloc(largest);
    s->context = zmq_ctx_new();
    s->socket = s->context ? zmq_socket(s->context, ZMQ_DEALER) : NULL;
    if (!s->roi || !s->message || !s->socket)
        return -ENOMEM;
    zmq_setsockopt(s->socket, ZMQ_LINGER, &(int){0}, sizeof(int));
    zmq_setsockopt(s->socket, ZMQ_SNDHWM, &(int){0}, sizeof(int));
    zmq_setsockopt(s->socket, ZMQ_RCVHWM, &(int){0}, sizeof(int));
    if (zmq_connect(s->socket, endpoint) < 0)
        return -errno;
    hello.protocol = 1;
    hello.name = (char *)"bench";
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &hello;
    r = send_message(s, &m);
    while (r >= 0 && !s->credits && clock_ns() < end_ns)
        r = take_answer(s, 100);
    return r < 0 ? r : s->credits ? 0 : -ETIMEDOUT;
}

void stream_close(struct stream *s)
{
    if (s->socket)
        zmq_close(s->socket);
    if (s->context)
        zmq_ctx_term(s->context);
    free(s->roi);
    free(s->message);
    *s = (struct stream){.n = 0};
}

static int send_next(struct stream *s)
{
    const struct source_pick pick = {.which = s->n % s->source->n, .token = s->n, .l1id = s->n + 1};
    const size_t bytes = source_pack(s->source, &pick, 1, s->message);

    s->roi[s->n].sent_ns = clock_ns();
    s->n++;
    s->outstanding++;
    return zmq_send(s->socket, s->message, bytes, 0) < 0 ? -errno : 0;
}

int stream_run(struct stream *s, double hz, uint32_t window, uint64_t until_ns)
{
    const uint64_t from_ns = clock_ns();
    const uint32_t limit = window < s->credits ? window : s->credits;
    uint32_t sent = 0;
    int r = 0;

    for (uint64_t now = from_ns; r >= 0 && now < until_ns && s->n < s->room; now = clock_ns()) {
        const double due = hz > 0 ? (double)(now - from_ns) * 1e-9 * hz : UINT32_MAX;

        for (uint32_t i = 0;
             r >= 0 && i < BEHIND && sent < due && s->outstanding < limit && s->n < s->room; i++) {
            r = send_next(s);
            sent++;
        }
        do
            r = r < 0 ? r : take_answer(s, 0);
        while (r == 1);
    }
    return r < 0 ? r : 0;
}

int stream_settle(struct stream *s)
{
    const uint64_t end_ns = clock_ns() + PATIENCE_NS;
    int r = 0;

    while (r >= 0 && s->outstanding && clock_ns() < end_ns)
        r = take_answer(s, 100);
    return r < 0 ? r : s->outstanding ? -ETIMEDOUT : 0;
}
