/* SPDX-License-Identifier: Apache-2.0 */
/* trackml.h - TrackML event 1001 (four barrel pixel layers) with doublets by cuts in phi and z. */
#ifndef PATHS_TRACKML_H
#define PATHS_TRACKML_H
#include "driver.h"

/* Reads $TRIGD_DATA/trackml/event000001001-hits.csv.gz and makes all doublets between
 * neighbouring layers with |dphi| and |z0| below the cuts.  -ENOENT, silently, without the file. */
int trackml_read(double dphi_rad, double z0_mm, struct roi *ret);
#endif
