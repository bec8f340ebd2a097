/* SPDX-License-Identifier: Apache-2.0 */
#include "one_by_one.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zmq.h>

#include "clock.h"
#include "sequence.h"

struct talk {
    void *context, *socket;
    uint32_t answer_ms;
    one_by_one_fn *answer;
    void *ctx;
};

static int send_message(const struct talk *t, const Trigd__V1__ToDaemon *m)
{
    const size_t n = trigd__v1__to_daemon__get_packed_size(m);
    void *bytes = malloc(n);
    int r = 0;

    if (!bytes)
        return -ENOMEM;
    trigd__v1__to_daemon__pack(m, bytes);
    if (zmq_send(t->socket, bytes, n, 0) < 0)
        r = -errno;
    free(bytes);
    return r;
}

/* The next message, which the caller frees; NULL when none came by then. */
static Trigd__V1__FromDaemon *receive(const struct talk *t, uint64_t until_ns)
{
    zmq_pollitem_t item = {.socket = t->socket, .events = ZMQ_POLLIN};
    Trigd__V1__FromDaemon *m = NULL;
    const uint64_t now = clock_ns();
    zmq_msg_t body;

    if (now >= until_ns || zmq_poll(&item, 1, (long)((until_ns - now) / NS_PER_MS) + 1) <= 0)
        return NULL;
    zmq_msg_init(&body);
    if (zmq_msg_recv(&body, t->socket, 0) >= 0)
        m = trigd__v1__from_daemon__unpack(NULL, zmq_msg_size(&body), zmq_msg_data(&body));
    zmq_msg_close(&body);
    return m;
}

static int hello(const struct talk *t, const Trigd__V1__FileHeader *header)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello h = TRIGD__V1__HELLO__INIT;

    h.protocol = 1;
    h.name = (char *)"one-by-one";
    h.want_credits = 1;
    h.n_collections = header->n_collections;
    h.collections = header->collections;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &h;
    return send_message(t, &m);
}

/* Whether a message ends the RoI with that token: decided, or refused. */
static bool is_answer(const Trigd__V1__FromDaemon *m, uint64_t token)
{
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR)
        return m->error->has_token && m->error->token == token;
    return m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS &&
           m->decisions->n_decisions == 1 && m->decisions->decisions[0]->token == token;
}

/* Hello again keeps a silent client alive: one RoI may take longer than three heartbeats. */
static int await(const struct talk *t, const Trigd__V1__FileHeader *header,
                 const Trigd__V1__Roi *roi)
{
    const uint64_t until = clock_ns() + t->answer_ms * NS_PER_MS;
    bool is_done = false;
    int r = 0;

    while (r == 0 && !is_done && clock_ns() < until) {
        Trigd__V1__FromDaemon *m = receive(t, clock_ns() + NS_PER_S);

        if (!m) {
            r = hello(t, header);
            continue;
        }
        is_done = is_answer(m, roi->token);
        if (is_done && t->answer)
            t->answer(t->ctx, roi,
                      m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS
                          ? m->decisions->decisions[0]
                          : NULL);
        trigd__v1__from_daemon__free_unpacked(m, NULL);
    }
    return r < 0 || is_done ? r : -ETIMEDOUT;
}

/* What the file says of its end, and the simulation, stay here. */
static int send_roi(const struct talk *t, const Trigd__V1__FileHeader *header, Trigd__V1__Roi *roi,
                    uint64_t token)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi bare = *roi, *list = &bare;
    int r;

    roi->token = bare.token = token;
    bare.kept = NULL;
    bare.truth = NULL;
    bare.event_rois = 0; /* the others of its event are not sent with it */
    batch.n_rois = 1;
    batch.rois = &list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    r = send_message(t, &m);
    return r < 0 ? r : await(t, header, roi);
}

static int send_all(const struct talk *t, struct sequence *in)
{
    Trigd__V1__Roi *roi;
    uint64_t token = 0;
    int r = hello(t, sequence_header(in));

    while (r == 0 && (r = sequence_next(in, &roi)) == 1)
        r = send_roi(t, sequence_header(in), roi, ++token);
    return r;
}

int one_by_one(const char *endpoint, const char *path, uint32_t answer_ms, one_by_one_fn *answer,
               void *ctx)
{
    struct talk t = {
        .context = zmq_ctx_new(), .answer_ms = answer_ms, .answer = answer, .ctx = ctx};
    struct sequence *in;
    int linger = 0, r = sequence_open(path, &in);

    if (r < 0) {
        zmq_ctx_term(t.context);
        return r;
    }
    t.socket = t.context ? zmq_socket(t.context, ZMQ_DEALER) : NULL;
    if (!t.socket || zmq_setsockopt(t.socket, ZMQ_LINGER, &linger, sizeof linger) < 0 ||
        zmq_connect(t.socket, endpoint) < 0)
        r = -errno;
    if (r == 0)
        r = send_all(&t, in);
    if (t.socket)
        zmq_close(t.socket);
    if (t.context)
        zmq_ctx_term(t.context);
    sequence_close(in);
    return r;
}
