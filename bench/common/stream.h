/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - a client that sends RoIs at a rate over ZeroMQ and keeps when and how each ended. */
#ifndef TRIGD_BENCH_STREAM_H
#define TRIGD_BENCH_STREAM_H
#include <stdbool.h>
#include <stdint.h>

#include "source.h"
#include "trigd/client.h"

struct stream_roi {             /* by number */
    uint64_t sent_ns, ended_ns; /* ended: 0 while it is in flight */
    uint8_t status;             /* of its decision */
};

struct stream {
    struct trg_client *client;
    const struct source *source;
    uint32_t credits, outstanding;
    uint32_t n, room; /* RoIs sent */
    struct stream_roi *roi;
    bool is_refused; /* one was answered in another way than by a decision */
};

/* Connects and says Hello; room for `room` RoIs.  Negative errno; -ETIMEDOUT: no Welcome came. */
int stream_open(struct stream *s, const char *endpoint, const struct source *source, uint32_t room);
void stream_close(struct stream *s);
/* Sends at `hz` (0: as many as `window` unanswered ones allow) and takes answers until `until_ns`.
 * -EPROTO: an RoI was answered in another way than by a decision, or twice. */
int stream_run(struct stream *s, double hz, uint32_t window, uint64_t until_ns);
/* Takes answers until none is outstanding.  -ETIMEDOUT: some did not come within 10 s. */
int stream_settle(struct stream *s);
/* Sends as many as `window` unanswered ones allow for `ns`; the rate with which they were answered.
 */
int stream_measure(struct stream *s, uint32_t window, uint64_t ns, double *ret_hz);
#endif
