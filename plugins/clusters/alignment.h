/* SPDX-License-Identifier: Apache-2.0 */
/* alignment.h - the condition `alignment`: sensors that are displaced and turned. */
#ifndef CLUSTERS_ALIGNMENT_H
#define CLUSTERS_ALIGNMENT_H
#include "clusters.h"
#include "trigd/plugin.h"

/* Displaces and turns sensors as the table says; rows of sensors that are not there are left out.
 * `middle`: from a sensor's corner to its centre, along columns and rows, mm. */
void alignment_apply(const struct trg_input *table, const float *middle, struct cl_sensor *sensors,
                     uint32_t n_sensors);
#endif
