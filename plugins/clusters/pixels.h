/* SPDX-License-Identifier: Apache-2.0 */
/* pixels.h - what the kernel and the host side of the clustering of single pixels share.  Words as
 * in clusters.h; a pixel is an item and a node.  Its key is module, column, row. */
#ifndef PIXELS_H
#define PIXELS_H
#include "clusters.h"

#define PX_CHARGE_MAX 4095u
#define PX_LOW_BITS   11u /* products of charge and place are summed in two parts of so many bits */

/* Sums over the pixels of a cluster. */
enum px_sum {
    PX_SIZE,
    PX_CHARGE,
    PX_COLUMN_LOW, /* of charge times column */
    PX_COLUMN_HIGH,
    PX_ROW_LOW,
    PX_ROW_HIGH,
    PX_COLUMN_BIT,
    PX_ROW_BIT,
    PX_SUMS
};

/* Arrays of `room` words in the scratch memory of a slot. */
enum px_array {
    PX_KEY,
    PX_KEY_2,
    PX_VALUE, /* the charge; 0: the pixel is merged with another, or cannot be */
    PX_VALUE_2,
    PX_PARENT,
    PX_SUM,
    PX_ARRAYS = PX_SUM + PX_SUMS
};
#endif
