/* SPDX-License-Identifier: Apache-2.0 */
/* import_layers.h - one way to number the layers of TrackML's detector and of its successor, the
 * Open Data Detector of ACTS: 48 layers, the barrels first.
 *
 *     0 .. 9     barrels from the inside: pixels 0-3, short strips 4-7, long strips 8-9
 *     10 .. 28   discs at z > 0 from the middle: pixels 10-16, short 17-22, long strips 23-28
 *     29 .. 47   discs at z < 0, likewise
 *
 * The first ten are those of the generator's preset trackml.
 */
#ifndef TRIGD_IMPORT_LAYERS_H
#define TRIGD_IMPORT_LAYERS_H
#include <stdbool.h>
#include <stdint.h>

/* Whether a volume is one that only TrackML's detector has (it has 7-9, 12-14, 16-18), or only the
 * Open Data Detector (16-18, 23-25, 28-30). */
bool layers_is_only_trackml(uint64_t volume);
bool layers_is_only_odd(uint64_t volume);

/* The layer of volume and layer numbers (2, 4, ...) as the files give them; -EINVAL: the detector
 * has no such one. */
int layers_find(bool is_odd, uint64_t volume, uint64_t layer);
#endif
