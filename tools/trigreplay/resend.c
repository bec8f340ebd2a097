/* SPDX-License-Identifier: Apache-2.0 */
#include "resend.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <zmq.h>

#include "clock.h"
#include "sequence.h"

#define BUSY_NS 5000000 /* before an RoI that was answered Busy is sent again */

struct talk {
    const struct resending *r;
    void *context, *socket;
    const Trigd__V1__FileHeader *header; /* of the file that is sent */
    Trigd__V1__Roi *sent[RESEND_WINDOW]; /* on their way, copies; NULL: a free place */
    uint32_t n, window;                  /* how many are, and may be */
    uint64_t token;
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

static int hello(const struct talk *t)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__Hello h = TRIGD__V1__HELLO__INIT;

    h.protocol = 1;
    h.name = (char *)"resend";
    h.want_credits = t->r->window;
    h.n_collections = t->header->n_collections;
    h.collections = t->header->collections;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = &h;
    return send_message(t, &m);
}

/* ---------------------------------------------------------------- RoIs on their way */

/* A copy with what the file says of its end; NULL: no memory. */
static Trigd__V1__Roi *copy_roi(const Trigd__V1__Roi *roi)
{
    const size_t n = trigd__v1__roi__get_packed_size(roi);
    unsigned char *bytes = malloc(n + 1);
    Trigd__V1__Roi *copy = NULL;

    if (bytes) {
        trigd__v1__roi__pack(roi, bytes);
        copy = trigd__v1__roi__unpack(NULL, n, bytes);
    }
    free(bytes);
    return copy;
}

static Trigd__V1__Roi **find(struct talk *t, uint64_t token)
{
    for (uint32_t i = 0; i < RESEND_WINDOW; i++)
        if (t->sent[i] ? t->sent[i]->token == token : !token)
            return &t->sent[i];
    return NULL;
}

/* What the file says of its end, and the simulation, stay here.  An RoI that is sent alone has no
 * others of its event. */
static int send_roi(const struct talk *t, const Trigd__V1__Roi *roi)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi bare = *roi, *list = &bare;

    bare.kept = NULL;
    bare.truth = NULL;
    if (t->r->window == 1)
        bare.event_rois = 0;
    batch.n_rois = 1;
    batch.rois = &list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    return send_message(t, &m);
}

static int send_next(struct talk *t, Trigd__V1__Roi *roi)
{
    Trigd__V1__Roi **place = find(t, 0);

    if (!place)
        return -ENOBUFS;
    roi->token = ++t->token;
    *place = copy_roi(roi);
    if (!*place)
        return -ENOMEM;
    t->n++;
    return send_roi(t, *place);
}

/* ---------------------------------------------------------------- answers */

static void end(struct talk *t, uint64_t token, const Trigd__V1__Decision *decision)
{
    Trigd__V1__Roi **place = token ? find(t, token) : NULL;

    if (!place)
        return;
    if (t->r->answer)
        t->r->answer(t->r->ctx, *place, decision);
    trigd__v1__roi__free_unpacked(*place, NULL);
    *place = NULL;
    t->n--;
}

static int send_again(struct talk *t, const Trigd__V1__Busy *busy)
{
    const struct timespec pause = {.tv_nsec = BUSY_NS};
    int r = 0;

    nanosleep(&pause, NULL);
    for (size_t i = 0; r == 0 && i < busy->n_tokens; i++) {
        Trigd__V1__Roi **place = busy->tokens[i] ? find(t, busy->tokens[i]) : NULL;

        if (place)
            r = send_roi(t, *place);
    }
    return r;
}

static int take(struct talk *t, const Trigd__V1__FromDaemon *m)
{
    switch (m->body_case) {
    case TRIGD__V1__FROM_DAEMON__BODY_WELCOME:
        t->window = m->welcome->credits < t->r->window ? m->welcome->credits : t->r->window;
        return t->window ? 0 : -EBUSY;
    case TRIGD__V1__FROM_DAEMON__BODY_DECISIONS:
        for (size_t i = 0; i < m->decisions->n_decisions; i++)
            end(t, m->decisions->decisions[i]->token, m->decisions->decisions[i]);
        return 0;
    case TRIGD__V1__FROM_DAEMON__BODY_ERROR:
        if (m->error->has_token)
            end(t, m->error->token, NULL);
        return 0;
    case TRIGD__V1__FROM_DAEMON__BODY_BUSY:
        return send_again(t, m->busy);
    default:
        return 0;
    }
}

/* Takes messages until fewer than `most` RoIs are on their way and the daemon has said Welcome.
 * Hello again keeps a silent client alive: one RoI may take longer than three heartbeats. */
static int await(struct talk *t, uint32_t most)
{
    uint64_t until = clock_ns() + t->r->answer_ms * NS_PER_MS;
    int r = 0;

    while (r == 0 && (t->n >= most || !t->window)) {
        const uint32_t before = t->n;
        Trigd__V1__FromDaemon *m = receive(t, clock_ns() + NS_PER_S);

        if (!m) {
            r = clock_ns() < until ? hello(t) : -ETIMEDOUT;
            continue;
        }
        r = take(t, m);
        trigd__v1__from_daemon__free_unpacked(m, NULL);
        if (t->n < before)
            until = clock_ns() + t->r->answer_ms * NS_PER_MS;
    }
    return r;
}

static int send_all(struct talk *t, struct sequence *in)
{
    Trigd__V1__Roi *roi;
    int r;

    t->header = sequence_header(in);
    r = hello(t);
    if (r == 0)
        r = await(t, 1);
    while (r == 0 && (r = sequence_next(in, &roi)) == 1) {
        t->header = sequence_header(in);
        r = send_next(t, roi);
        if (r == 0)
            r = await(t, t->window);
    }
    return r < 0 ? r : await(t, 1);
}

int resend(const char *endpoint, const char *path, const struct resending *how)
{
    struct talk t = {.r = how, .context = zmq_ctx_new()};
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
    for (uint32_t i = 0; i < RESEND_WINDOW; i++)
        if (t.sent[i])
            trigd__v1__roi__free_unpacked(t.sent[i], NULL);
    if (t.socket)
        zmq_close(t.socket);
    if (t.context)
        zmq_ctx_term(t.context);
    sequence_close(in);
    return r;
}
