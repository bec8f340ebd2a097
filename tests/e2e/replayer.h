/* SPDX-License-Identifier: Apache-2.0 */
/* replayer.h - trigreplay as a process, and the report that it writes. */
#ifndef TRIGD_TEST_REPLAYER_H
#define TRIGD_TEST_REPLAYER_H
#include "harness.h"

#define REPLAYER_OPTIONS 24u

/* Starts `trigreplay run` against an endpoint, with more options (NULL is behind the last one); the
 * report goes to `report` in the server's folder. */
pid_t replayer_start(const struct server *s, const char *endpoint, const char *report,
                     const char *const *options);
/* Waits for its end; its exit code. */
int replayer_wait(pid_t pid);
/* Waits until every RoI and event has had its answer. */
void replayer_end(pid_t pid);
/* Runs another command of trigreplay to its end. */
void replayer_run(const char *const *words);
/* A number of the report. */
uint64_t replayer_number(const struct server *s, const char *report, const char *key);
#endif
