/* SPDX-License-Identifier: Apache-2.0 */
#include "echo.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "answer.h"
#include "crew.h"
#include "shard_endpoint.h"
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

struct place {      /* one thread */
    int io_threads; /* of ZeroMQ that are its own: shared, one may get the clients of two */
    const char *endpoint;
    uint32_t number;
    enum echo_mode mode;
};

static int serve(void *arg)
{
    const struct place *p = arg;
    char endpoint[160];
    void *context = zmq_ctx_new(), *socket = NULL;
    struct wire_decoder *d = NULL;
    int r = shard_endpoint(p->endpoint, p->number, endpoint, sizeof endpoint);

    if (context && zmq_ctx_set(context, ZMQ_IO_THREADS, p->io_threads) == 0)
        socket = zmq_socket(context, ZMQ_ROUTER);
    if (r < 0 || !socket || zmq_bind(socket, endpoint) < 0) {
        fprintf(stderr, "bench_echo: %s, thread %u: %s\n", p->endpoint, p->number,
                r < 0 ? strerror(-r) : zmq_strerror(zmq_errno()));
        exit(1); /* the clients would wait */
    }
    if (wire_decoder_new(&limits, &d) < 0)
        exit(1);
    while (turn(socket, d, p->mode)) {
    }
    fprintf(stderr, "bench_echo: the echo stopped: %s\n", zmq_strerror(zmq_errno()));
    exit(1);
}

int echo_serve(const char *endpoint, enum echo_mode mode, int io_threads, uint32_t threads)
{
    const int each = (io_threads + (int)threads - 1) / (int)threads;
    struct place *place = calloc(threads, sizeof *place);
    struct crew_time time;

    if (!place) {
        fprintf(stderr, "bench_echo: no memory for %u threads\n", threads);
        return 1;
    }
    for (uint32_t i = 0; i < threads; i++)
        place[i] = (struct place){each, endpoint, i, mode};
    crew_run(threads, serve, place, sizeof *place, &time);
    free(place);
    return 1;
}
