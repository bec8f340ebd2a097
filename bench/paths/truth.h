/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - TrackML event 1, the one whose truth is public in small, in the pixel detector. */
#ifndef PATHS_TRUTH_H
#define PATHS_TRUTH_H
#include "events.h"

/* Hits of $TRIGD_DATA/trackml/event000000001-hits.csv.gz on the four pixel barrels and the first
 * three discs of each side, numbered as the plugins do, with their particles, and doublets of the
 * plugin doublets.  -ENOENT, silently, without the file. */
int truth_event(const struct algo_host *h, const char *const *settings, struct event *ret);
#endif
