/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the decision of a server that does nothing else. */
#ifndef TRIGD_BENCH_ANSWER_H
#define TRIGD_BENCH_ANSWER_H
#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

/* A packed acceptance of one RoI; false: memory is out. */
bool answer_make(uint64_t token, uint32_t run, uint32_t l1id, zmq_msg_t *ret_body);
#endif
