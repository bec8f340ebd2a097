/* SPDX-License-Identifier: Apache-2.0 */
/* one_by_one.h - sends the RoIs of a file to a daemon as they are, each after the answer to the one
 * before. */
#ifndef TRIGD_ONE_BY_ONE_H
#define TRIGD_ONE_BY_ONE_H
#include <stdint.h>

/* 0, or a negative errno: -ETIMEDOUT when an answer does not come within the time. */
int one_by_one(const char *endpoint, const char *file, uint32_t answer_ms);
#endif
