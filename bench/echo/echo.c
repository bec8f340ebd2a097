/* SPDX-License-Identifier: Apache-2.0 */
#include "echo.h"

#include <stdbool.h>
#include <stdio.h>
#include <zmq.h>

#include "answer.h"
#include "wire.h"

static const struct wire_limits limits = {
    .max_message_bytes = 16u << 20, .max_rois = 256, .max_items = 262144, .max_layer = 31};

/* The message, when it is a batch of good RoIs, else NULL. */
static const Trigd__V1__ToDaemon *decode(struct wire_decoder *d, zmq_msg_t *body)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error e;
    struct wire_roi roi;

    if (wire_decode(d, zmq_msg_data(body), zmq_msg_size(body), &m, &e) < 0 ||
        m->body_case != TRIGD__V1__TO_DAEMON__BODY_BATCH)
        return NULL;
    for (size_t i = 0; i < m->batch->n_rois; i++)
        if (wire_roi(d, m->batch->rois[i], &roi, &e) < 0)
            return NULL;
    return m;
}

/* Puts an acceptance of the first RoI in the place of the message. */
static bool answer(const Trigd__V1__ToDaemon *m, zmq_msg_t *body)
{
    const Trigd__V1__Roi *roi = m->batch->rois[0];
    const uint64_t token = roi->token;
    const uint32_t run = roi->run, l1id = roi->l1id;

    zmq_msg_close(body);
    return answer_make(token, run, l1id, body);
}

/* One message there and back; false on an error. */
static bool turn(void *socket, struct wire_decoder *d, enum echo_mode mode)
{
    const Trigd__V1__ToDaemon *m;
    zmq_msg_t id, body;

    zmq_msg_init(&id);
    zmq_msg_init(&body);
    if (zmq_msg_recv(&id, socket, 0) < 0 || zmq_msg_recv(&body, socket, 0) < 0)
        return false;
    if (mode != ECHO_BARE) {
        m = decode(d, &body);
        if (!m || (mode == ECHO_ANSWER && !answer(m, &body)))
            return false;
    }
    return zmq_msg_send(&id, socket, ZMQ_SNDMORE) >= 0 && zmq_msg_send(&body, socket, 0) >= 0;
}

int echo_serve(const char *endpoint, enum echo_mode mode, int io_threads)
{
    void *context = zmq_ctx_new();
    bool set = context && zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads) == 0;
    void *socket = set ? zmq_socket(context, ZMQ_ROUTER) : NULL;
    struct wire_decoder *d = NULL;

    if (!socket || zmq_bind(socket, endpoint) < 0) {
        fprintf(stderr, "bench_echo: %s: %s\n", endpoint, zmq_strerror(zmq_errno()));
        return 1;
    }
    if (wire_decoder_new(&limits, &d) < 0)
        return 1;
    while (turn(socket, d, mode)) {
    }
    fprintf(stderr, "bench_echo: the echo stopped: %s\n", zmq_strerror(zmq_errno()));
    return 1;
}
