/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - the RoIs of a source as columns, for a daemon that shares memory. */
#ifndef TRIGD_COLUMNS_H
#define TRIGD_COLUMNS_H
#include "source.h"
#include "trigd/client.h"

struct columns; /* all RoIs of a source, unpacked; read by all threads */

/* -EBADMSG: an RoI whose columns differ in length, which only a message can carry. */
int columns_new(const struct source *s, struct columns **ret_columns);
void columns_free(struct columns *c); /* NULL is fine */

/* An RoI without its L1 id. */
const struct trg_client_roi *columns_roi(const struct columns *c, uint32_t which);
#endif
