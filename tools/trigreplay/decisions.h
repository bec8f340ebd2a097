/* SPDX-License-Identifier: Apache-2.0 */
/* decisions.h - saves the decisions of a run: an RoI file in blocks whose RoIs have numbers and a
 * decision, and nothing else.  Any thread may add. */
#ifndef TRIGD_DECISIONS_H
#define TRIGD_DECISIONS_H
#include "trigd/client.h"

struct decisions;
/* Refuses a file that exists (-EEXIST). */
int decisions_open(const char *path, struct decisions **ret_decisions);
/* The daemon has answered; the first time this creates the file. */
void decisions_begin(struct decisions *d, const struct trg_client *client);
void decisions_add(struct decisions *d, const struct trg_client_end *end);
/* Completes the file; the first error of all calls.  NULL is fine. */
int decisions_close(struct decisions *d);
#endif
