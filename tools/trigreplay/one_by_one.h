/* SPDX-License-Identifier: Apache-2.0 */
/* one_by_one.h - sends the RoIs of a file to a daemon as they are, each after the answer to the one
 * before. */
#ifndef TRIGD_ONE_BY_ONE_H
#define TRIGD_ONE_BY_ONE_H
#include <stdint.h>

#include "trigd.pb-c.h"

/* Takes the answer to an RoI; `decision` is NULL where it was refused. */
typedef void one_by_one_fn(void *ctx, const Trigd__V1__Roi *roi,
                           const Trigd__V1__Decision *decision);
/* `path` is a file or a folder; `answer` may be NULL.  0, or a negative errno: -ETIMEDOUT when an
 * answer does not come within the time. */
int one_by_one(const char *endpoint, const char *path, uint32_t answer_ms, one_by_one_fn *answer,
               void *ctx);
#endif
