/* SPDX-License-Identifier: Apache-2.0 */
/* geometry.h - where the pixels of a detector are, read from a text:
 *
 *     matrix COLUMNS ROWS COLUMN_PITCH ROW_PITCH CHIP_COLUMNS EDGE_PITCH    the sensors, all alike
 *     sensor LAYER  cx cy cz  rx ry rz  x y z                               one each, from sensor 0
 *
 * Lengths are in mm.  A sensor has chips of CHIP_COLUMNS columns side by side; columns that border
 * on another chip are EDGE_PITCH wide, the others COLUMN_PITCH.  (cx cy cz) is the direction in
 * which columns are counted, (rx ry rz) that of rows, both of length 1 and perpendicular; (x y z)
 * is the outer corner of column 0, row 0.  LAYER goes into the hits.  Empty lines and those that
 * begin with # are comments.
 *
 * Threads: what was read is constant.  Errors: 0 or a negative errno. */
#ifndef CLUSTERS_GEOMETRY_H
#define CLUSTERS_GEOMETRY_H
#include <stddef.h>
#include <stdint.h>

#define GEOMETRY_SENSORS_MAX 65535u
#define GEOMETRY_SIDE_MAX    4096u /* columns, and rows */

struct geometry_sensor {
    uint32_t layer;
    float column[3], row[3], corner[3];
};

struct geometry {
    uint32_t n_columns, n_rows;
    uint32_t n_sensors;
    float pitch, row_pitch; /* mm; pitch: of a column inside a chip */
    float *centre;          /* [n_columns + 1] of the columns, and of one more behind them */
    struct geometry_sensor *sensor; /* [n_sensors] */
};

/* Reads a text.  -EINVAL: `why` gets a sentence with its line; -ENOMEM.  On failure *ret is not
 * touched. */
int geometry_read(const char *text, struct geometry *ret, char *why, size_t why_bytes);
void geometry_fini(struct geometry *g); /* also one that is zero */

/* The geometries that are built in; the table ends with a NULL name. */
struct geometry_text {
    const char *name, *text;
};
extern const struct geometry_text geometry_texts[];

/* Reads a built-in one by its name; -ENOENT: there is none. */
int geometry_open(const char *name, struct geometry *ret, char *why, size_t why_bytes);
#endif
