/* SPDX-License-Identifier: Apache-2.0 */
/* chance.h - a reference in double precision: lines of few hits that a busy RoI makes by chance. */
#ifndef HOUGH_TEST_CHANCE_H
#define HOUGH_TEST_CHANCE_H
#include <stdbool.h>

#include "events.h"
#include "parameters.h"

/* Whether n hits, along z, are three or four that are too likely by chance. */
bool is_chance(const struct hough_config *c, const struct event *e, const uint32_t *hits,
               uint32_t n);
#endif
