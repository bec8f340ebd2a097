/* SPDX-License-Identifier: Apache-2.0 */
/* same_decision.h - whether an RoI was decided twice alike. */
#ifndef TRIGD_SAME_DECISION_H
#define TRIGD_SAME_DECISION_H
#include <stdbool.h>
#include <stddef.h>

#include "trigd.pb-c.h"

/* Compares status, chains, streams and, bit for bit, the values; not times, nor who asked.  The
 * values only where `before` has any.  Otherwise `why` gets what differs.  `now` may be NULL: it
 * was refused. */
bool same_decision(const Trigd__V1__Decision *before, const Trigd__V1__Decision *now, char *why,
                   size_t why_bytes);
#endif
