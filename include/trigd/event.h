/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/event.h - the data of an RoI as algorithms see it: its identity and its collections.
 *
 * The collections of trigd itself are declared in collections/NAME.yaml, from which
 * trigd/collections.h is made.  Columns are only appended, declarations keep their names.
 */
#ifndef TRG_EVENT_H
#define TRG_EVENT_H
#include <stddef.h>
#include <stdint.h>

#include "trigd/collections.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In column "type" of vertices.  A column that a plugin does not fill is 0. */
enum trg_vertex_type { TRG_PRIMARY = 0, TRG_SECONDARY = 1 };

#define TRG_NO_HIT 0xffffffffu /* in the hit columns of paths */

/* Identity of an RoI and its window of the detector.  Plain 4-byte members, so that the host,
 * CUDA and OpenCL agree on the layout (kernel.h repeats it for the device). */
struct trg_roi_info {
    uint32_t run, l1id, roi_id, bcid, lumi_block;
    uint32_t l1_bits;   /* level-1 trigger items that fired */
    float eta, phi_rad; /* centre of the window */
    float eta_half;     /* half width in eta */
    float phi_half_rad; /* half width in phi; >= pi means the full circle */
    float z_min_mm, z_max_mm;
};

#ifdef __cplusplus
}
#endif
#endif
