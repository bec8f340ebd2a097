/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

#define PATIENCE_MS 10000u
#define BEHIND      64u /* RoIs sent at most before answers are taken again */

static void ended(void *arg, const struct trg_client_end *end)
{
    struct stream *s = arg;

    s->outstanding--;
    s->is_refused |= end->kind != TRG_CLIENT_DECIDED;
    s->roi[end->user].ended_ns = end->received_ns;
    s->roi[end->user].status = (uint8_t)end->status;
}

int stream_open(struct stream *s, const char *endpoint, const struct source *source, uint32_t room)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    char why[256];
    int r;

    *s = (struct stream){.source = source, .room = room};
    s->roi = calloc(room, sizeof *s->roi);
    if (!s->roi)
        return -ENOMEM;
    o.endpoint = endpoint;
    o.name = "bench";
    o.ended = ended;
    o.arg = s;
    r = trg_client_open(&o, &s->client, why, sizeof why);
    if (r == 0)
        r = trg_client_await_room(s->client, 1, PATIENCE_MS);
    else
        fprintf(stderr, "bench: %s\n", why);
    if (r == 0)
        s->credits = trg_client_room(s->client);
    return r;
}

void stream_close(struct stream *s)
{
    trg_client_close(s->client);
    free(s->roi);
    *s = (struct stream){.n = 0};
}

static int send_next(struct stream *s)
{
    const struct source_roi *from = &s->source->roi[s->n % s->source->n];
    const struct trg_client_roi roi = {
        .info.l1id = s->n + 1, .packed = from->bytes, .packed_bytes = from->n, .user = s->n};

    s->roi[s->n].sent_ns = clock_ns();
    s->n++;
    s->outstanding++;
    return trg_client_send(s->client, &roi, 1);
}

/* Takes what has come; nothing may be answered Busy or twice. */
static int take_answers(struct stream *s)
{
    struct trg_client_stats stats = {.size = sizeof stats};
    int r = trg_client_receive(s->client);

    if (r >= 0)
        r = trg_client_tick(s->client);
    trg_client_stats(s->client, &stats);
    return r < 0 ? r : s->is_refused || stats.busy || stats.duplicates ? -EPROTO : 0;
}

int stream_run(struct stream *s, double hz, uint32_t window, uint64_t until_ns)
{
    const uint64_t from_ns = clock_ns();
    const uint32_t limit = window < s->credits ? window : s->credits;
    uint32_t sent = 0;
    int r = 0;

    for (uint64_t now = from_ns; r >= 0 && now < until_ns && s->n < s->room; now = clock_ns()) {
        const double due = hz > 0 ? (double)(now - from_ns) * 1e-9 * hz : UINT32_MAX;

        for (uint32_t i = 0; r >= 0 && i < BEHIND && sent < due && s->outstanding < limit &&
                             s->n < s->room && trg_client_room(s->client);
             i++) {
            r = send_next(s);
            sent++;
        }
        r = r < 0 ? r : take_answers(s);
    }
    return r < 0 ? r : 0;
}

int stream_settle(struct stream *s)
{
    int r = trg_client_drain(s->client, PATIENCE_MS);

    return r < 0 ? r : take_answers(s);
}

int stream_measure(struct stream *s, uint32_t window, uint64_t ns, double *ret_hz)
{
    const uint32_t before = s->n;
    const uint64_t from_ns = clock_ns();
    int r = stream_run(s, 0, window, from_ns + ns);

    if (r == 0)
        r = stream_settle(s);
    *ret_hz = (s->n - before) / ((double)(clock_ns() - from_ns) * 1e-9);
    return r;
}
