/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - `clients.weights`: "PATTERN=WEIGHT, PATTERN=WEIGHT ..." with patterns of names as
 * those of files (`*`, `?`, `[...]`). */
#ifndef TRIGD_WEIGHTS_H
#define TRIGD_WEIGHTS_H
#include <stdbool.h>
#include <stdint.h>

#define WEIGHTS_MOST 1000u

bool weights_are_good(const char *list);
/* The weight of the first pattern that fits the name; 1 when none does. */
uint32_t weights_of(const char *list, const char *name);
#endif
