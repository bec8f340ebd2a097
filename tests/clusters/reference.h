/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - the clusters once more, slow and from their definition: pixels are put into the
 * matrix of their sensor, and from each that is left all that touch it, diagonals included, are
 * taken out.  In double precision. */
#ifndef CLUSTERS_REFERENCE_H
#define CLUSTERS_REFERENCE_H
#include <stdbool.h>

#include "banks.h"
#include "geometry.h"

struct reference_cluster {
    uint32_t sensor, size, column, row; /* column, row: of the pixel in the centre */
    uint32_t n_columns, n_rows;         /* spanned */
    double place[3];                    /* mm */
    uint32_t first[3];                  /* the order: super-pixel column and row, pixel row */
};

struct reference {
    uint32_t n, room, n_bad, n_pixels;
    struct reference_cluster *cluster; /* in the order of the plugin's */
};

/* With `hint` a super-pixel all of whose words say that it is alone touches nothing. */
int reference_make(const struct geometry *g, const struct banks *b, bool hint,
                   struct reference *ret);
void reference_free(struct reference *r);
#endif
