/* SPDX-License-Identifier: Apache-2.0 */
#include "resend.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "connection.h"
#include "kinds.h"
#include "sequence.h"

struct going { /* an RoI on its way */
    Trigd__V1__Roi *roi;
    unsigned char *bytes; /* packed, as it is sent */
};

struct talk {
    const struct resending *how;
    const char *endpoint;
    struct trg_client *client;
    uint32_t declared; /* the collections of its Hello */
    uint32_t credits;
    struct going going[RESEND_WINDOW];
    struct trg_client_roi rois[RESEND_WINDOW];
    uint32_t n;     /* of both */
    uint32_t ended; /* of those */
    int error;      /* of an answer */
};

/* ---------------------------------------------------------------- answers */

static Trigd__V1__Decision *decision_of(const struct trg_client_end *end)
{
    const size_t n = trg_client_end_message(end, NULL, 0);
    unsigned char *bytes = malloc(n + 1);
    Trigd__V1__Decision *d = NULL;

    if (bytes) {
        trg_client_end_message(end, bytes, n);
        d = trigd__v1__decision__unpack(NULL, n, bytes);
    }
    free(bytes);
    return d;
}

static void take_end(void *arg, const struct trg_client_end *end)
{
    struct talk *t = arg;
    Trigd__V1__Decision *d = NULL;

    if (end->kind == TRG_CLIENT_LOST)
        return;
    t->ended++;
    if (end->kind == TRG_CLIENT_DECIDED && !(d = decision_of(end)))
        t->error = -ENOMEM;
    else if (t->how->answer)
        t->how->answer(t->how->ctx, t->going[end->user].roi, d);
    if (d)
        trigd__v1__decision__free_unpacked(d, NULL);
}

/* ---------------------------------------------------------------- sending */

static int open_client(struct talk *t)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    const struct trg_collection *declared[KINDS_MAX];
    struct trg_client_stats s = {.size = sizeof s};
    char why[512];
    int r;

    trg_client_close(t->client);
    t->client = NULL;
    o.endpoint = t->endpoint;
    o.name = "resend";
    o.want_credits = t->how->window;
    o.timeout_ms = t->how->answer_ms;
    o.ended = take_end;
    o.arg = t;
    connection_declare(&o, declared);
    t->declared = kinds_declared();
    r = trg_client_open(&o, &t->client, why, sizeof why);
    if (r < 0) {
        fprintf(stderr, "trigreplay: %s\n", why);
        return r;
    }
    trg_client_stats(t->client, &s);
    t->credits = s.credits < t->how->window ? s.credits : t->how->window;
    return t->credits ? 0 : -EBUSY;
}

/* Adds a copy of an RoI.  What the file says of its end, and the simulation, stay here.  One that
 * is sent alone has no others of its event. */
static int add(struct talk *t, const Trigd__V1__Roi *roi)
{
    struct going *g = &t->going[t->n];
    Trigd__V1__Roi bare = *roi;
    size_t n = trigd__v1__roi__get_packed_size(roi);

    g->bytes = malloc(n + 1);
    if (!g->bytes)
        return -ENOMEM;
    trigd__v1__roi__pack(roi, g->bytes);
    g->roi = trigd__v1__roi__unpack(NULL, n, g->bytes);
    if (!g->roi) {
        free(g->bytes);
        return -ENOMEM;
    }
    bare.token = 0;
    bare.l1id = 0;
    bare.is_repeat = false;
    bare.kept = NULL;
    bare.truth = NULL;
    if (t->how->window == 1)
        bare.event_rois = 0;
    n = trigd__v1__roi__pack(&bare, g->bytes);
    t->rois[t->n] = (struct trg_client_roi){.info = {.run = roi->run, .l1id = roi->l1id},
                                            .event_rois = bare.event_rois,
                                            .packed = g->bytes,
                                            .packed_bytes = n,
                                            .user = t->n};
    t->n++;
    return 0;
}

static void forget(struct talk *t)
{
    while (t->n) {
        struct going *g = &t->going[--t->n];

        trigd__v1__roi__free_unpacked(g->roi, NULL);
        free(g->bytes);
    }
    t->ended = 0;
}

/* Sends what was added and waits for its ends. */
static int send_added(struct talk *t)
{
    uint32_t before;
    int r = t->declared == kinds_declared() ? 0 : open_client(t);

    if (r == 0)
        r = trg_client_await_room(t->client, t->n, t->how->answer_ms);
    if (r == 0)
        r = trg_client_send(t->client, t->rois, t->n);
    if (r < 0)
        return r;
    do {
        before = t->ended;
        r = trg_client_drain(t->client, t->how->answer_ms);
    } while (r == -ETIMEDOUT && t->ended > before);
    if (r == 0)
        forget(t);
    return r < 0 ? r : t->error;
}

/* Whether an RoI goes with those that are added: there are credits for it, and for its event. */
static bool fits(const struct talk *t, const Trigd__V1__Roi *roi)
{
    const struct trg_client_roi *last = t->n ? &t->rois[t->n - 1] : NULL;
    const bool is_next =
        last && last->event_rois > 1 && last->info.run == roi->run && last->info.l1id == roi->l1id;
    const uint32_t more = is_next || roi->event_rois <= 1 ? 1 : roi->event_rois;

    return !last || t->n + more <= t->credits;
}

static int send_all(struct talk *t, struct sequence *in)
{
    Trigd__V1__Roi *roi;
    int r = open_client(t);

    while (r == 0 && (r = sequence_next(in, &roi)) == 1) {
        r = fits(t, roi) ? 0 : send_added(t);
        if (r == 0)
            r = add(t, roi);
    }
    return r == 0 && t->n ? send_added(t) : r;
}

int resend(const char *endpoint, const char *path, const struct resending *how)
{
    struct talk t = {.how = how, .endpoint = endpoint};
    struct sequence *in;
    int r = sequence_open(path, &in);

    if (r < 0)
        return r;
    r = send_all(&t, in);
    trg_client_close(t.client);
    forget(&t);
    sequence_close(in);
    return r;
}
