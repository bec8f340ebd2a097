/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_u32(unsigned char *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* A chunk: its length, name, data and CRC (PNG specification, 5.3). */
static int put_chunk(FILE *f, const char *name, const unsigned char *data, uint32_t bytes)
{
    unsigned char head[8], tail[4];
    uLong crc;

    put_u32(head, bytes);
    memcpy(head + 4, name, 4);
    crc = crc32(crc32(0, NULL, 0), head + 4, 4);
    if (bytes)
        crc = crc32(crc, data, bytes);
    put_u32(tail, (uint32_t)crc);
    return fwrite(head, 8, 1, f) == 1 && (!bytes || fwrite(data, bytes, 1, f) == 1) &&
                   fwrite(tail, 4, 1, f) == 1
               ? 0
               : -EIO;
}

/* Between five colours of equal steps in lightness. */
static void colour(double part, unsigned char *rgb)
{
    static const double stop[5][3] = {
        {20, 11, 53}, {87, 20, 109}, {188, 55, 84}, {249, 142, 9}, {252, 255, 164}};
    const double at = 4 * fmin(fmax(part, 0), 1);
    const int i = at >= 4 ? 3 : (int)at;

    for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned char)lround(stop[i][c] + (at - i) * (stop[i + 1][c] - stop[i][c]));
}

static int write_png(FILE *f, const unsigned char *rows, size_t bytes, uint32_t nx, uint32_t ny)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {[8] = 8, [9] = 2}; /* 8 bits, red green blue */
    uLongf packed_bytes = compressBound(bytes);
    unsigned char *packed = malloc(packed_bytes);
    int r = packed ? 0 : -ENOMEM;

    put_u32(header, nx);
    put_u32(header + 4, ny);
    if (r == 0 && compress2(packed, &packed_bytes, rows, bytes, 9) != Z_OK)
        r = -EIO;
    if (r == 0 && fwrite(signature, 8, 1, f) != 1)
        r = -EIO;
    if (r == 0)
        r = put_chunk(f, "IHDR", header, sizeof header);
    if (r == 0)
        r = put_chunk(f, "IDAT", packed, (uint32_t)packed_bytes);
    if (r == 0)
        r = put_chunk(f, "IEND", NULL, 0);
    free(packed);
    return r;
}

int picture_write(const char *path, const double *value, const unsigned char *kind, uint32_t nx,
                  uint32_t ny, double most)
{
    const size_t row_bytes = 1 + 3 * (size_t)nx;
    unsigned char *rows = calloc(ny, row_bytes);
    FILE *f = rows ? fopen(path, "wb") : NULL;
    int r = f ? 0 : rows ? -errno : -ENOMEM;

    for (uint32_t y = 0; r == 0 && y < ny; y++)
        for (uint32_t x = 0; x < nx; x++) {
            const size_t i = (size_t)(ny - 1 - y) * nx + x;
            unsigned char *rgb = rows + y * row_bytes + 1 + 3 * (size_t)x;

            if (kind[i])
                memset(rgb, 128, 3);
            else
                colour(value[i] / most, rgb);
        }
    if (r == 0)
        r = write_png(f, rows, ny * row_bytes, nx, ny);
    if (f && fclose(f) != 0 && r == 0)
        r = -EIO;
    free(rows);
    return r;
}
