/* SPDX-License-Identifier: Apache-2.0 */
/* roiset.h - the RoIs that were met: a reader of streams keeps the first copy of each. */
#ifndef TRIGD_ROISET_H
#define TRIGD_ROISET_H
#include <stdint.h>

#include "trigd.pb-c.h"

struct roiset;
int roiset_new(struct roiset **ret_set);
void roiset_free(struct roiset *s); /* NULL is fine */
/* 1: it is new, by run, L1 id and number; 0: it was met; -ENOMEM. */
int roiset_add(struct roiset *s, const Trigd__V1__Roi *roi);
#endif
