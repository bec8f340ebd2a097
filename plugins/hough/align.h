/* SPDX-License-Identifier: Apache-2.0 */
/* align.h - hits of layers that are displaced and turned. */
#ifndef HOUGH_ALIGN_H
#define HOUGH_ALIGN_H
#include "trigd/kernel.h"

#define HG_ALIGN_LAYERS 1024u /* as layer_alignment.yaml allows */

struct hg_placement { /* of a layer; all 0: where its hits say */
    float z;          /* of the point that it is turned about */
    float turn[3][3]; /* rotation less the identity */
    float shift[3];
};

struct hg_align_par {
    struct trg_span in, moved;
};
#endif
