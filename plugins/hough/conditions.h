/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h - the beam line and the alignment that are in force for a batch. */
#ifndef HOUGH_CONDITIONS_H
#define HOUGH_CONDITIONS_H
#include "align.h"
#include "hough.h"
#include "trigd/plugin.h"

enum { HG_BEAM_LINE, HG_ALIGNMENT };
extern const struct trg_condition hough_conditions[];

/* The beam line stands before the parameters, where it is given. */
void hough_take_beam_line(const struct trg_input *table, struct hg_par *par);
/* Fills the placements of all layers. */
void hough_place_layers(const struct trg_input *table, struct hg_placement layers[HG_ALIGN_LAYERS]);
#endif
