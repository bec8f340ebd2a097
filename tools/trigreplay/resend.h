/* SPDX-License-Identifier: Apache-2.0 */
/* resend.h - sends the RoIs of files to a daemon as they are, with their own numbers. */
#ifndef TRIGD_RESEND_H
#define TRIGD_RESEND_H
#include <stdint.h>

#include "trigd.pb-c.h"

#define RESEND_WINDOW 256u /* most RoIs on their way */

struct resending {
    uint32_t answer_ms; /* longest wait for an answer */
    /* RoIs that are sent together, 1 to RESEND_WINDOW, then all answered; 1: each alone.  The RoIs
     * of an event, which stand together in a stream, are decided together. */
    uint32_t window;
    /* Takes the answer to an RoI; `decision` is NULL where it was refused.  May be NULL. */
    void (*answer)(void *ctx, const Trigd__V1__Roi *roi, const Trigd__V1__Decision *decision);
    void *ctx;
};

/* `path` is a file or a folder, the endpoint one of ZeroMQ.  0, or a negative errno: -ETIMEDOUT
 * when an answer does not come within the time. */
int resend(const char *endpoint, const char *path, const struct resending *how);
#endif
