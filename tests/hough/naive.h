/* SPDX-License-Identifier: Apache-2.0 */
/* naive.h - the search by triplet once more, as its README tells it: double precision, every hit of
 * a station looked at for every road and every pair, no windows and no order of hits. */
#ifndef HOUGH_NAIVE_H
#define HOUGH_NAIVE_H
#include "serial.h"

/* Finds the tracks of an event with the parameters of the preset `velo`.  -ENOMEM. */
int naive_find(const struct hough_config *c, const struct event *e,
               struct serial_tracks *ret_tracks);
#endif
