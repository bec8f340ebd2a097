/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - numbers on a grid as a PNG file in colours. */
#ifndef LATTICE_PICTURE_H
#define LATTICE_PICTURE_H
#include <stdint.h>

/* Writes value [ny][nx], row 0 at the bottom, from 0 (dark blue) to `most` (yellow); cells where
 * `kind` is not 0 are grey.  0 or a negative errno. */
int picture_write(const char *path, const double *value, const unsigned char *kind, uint32_t nx,
                  uint32_t ny, double most);
#endif
