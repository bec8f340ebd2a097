/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "png.h"

/* Between five colours of equal steps in lightness. */
static void colour(double part, uint8_t *rgb)
{
    static const double stop[5][3] = {
        {20, 11, 53}, {87, 20, 109}, {188, 55, 84}, {249, 142, 9}, {252, 255, 164}};
    const double at = 4 * fmin(fmax(part, 0), 1);
    const int i = at >= 4 ? 3 : (int)at;

    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)lround(stop[i][c] + (at - i) * (stop[i + 1][c] - stop[i][c]));
}

int picture_write(const char *path, const double *value, const unsigned char *kind, uint32_t nx,
                  uint32_t ny, double most)
{
    uint8_t *rgb = malloc(3 * (size_t)nx * ny), *file = NULL;
    size_t n = 0;
    FILE *f = rgb ? fopen(path, "wb") : NULL;
    int r = f ? 0 : rgb ? -errno : -ENOMEM;

    for (size_t at = 0; r == 0 && at < (size_t)nx * ny; at++) {
        const size_t i = (ny - 1 - at / nx) * nx + at % nx;

        if (kind[i])
            memset(rgb + 3 * at, 128, 3);
        else
            colour(value[i] / most, rgb + 3 * at);
    }
    if (r == 0)
        r = png_make(rgb, nx, ny, &file, &n);
    if (r == 0 && fwrite(file, n, 1, f) != 1)
        r = -EIO;
    if (f && fclose(f) != 0 && r == 0)
        r = -EIO;
    free(file);
    free(rgb);
    return r;
}
