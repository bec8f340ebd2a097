/* SPDX-License-Identifier: Apache-2.0 */
/* PNG (ISO/IEC 15948): a signature, and the chunks IHDR, IDAT (zlib) and IEND. */
#include "png.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct bytes {
    uint8_t *data;
    size_t n;
};

static void put(struct bytes *b, const void *data, size_t n)
{
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_u32(struct bytes *b, uint32_t v)
{
    const uint8_t big[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

    put(b, big, sizeof big);
}

/* Length, type, data, and the checksum of the last two. */
static void put_chunk(struct bytes *b, const char *type, const uint8_t *data, size_t n)
{
    const size_t from = b->n + 4;

    put_u32(b, (uint32_t)n);
    put(b, type, 4);
    if (n)
        put(b, data, n);
    put_u32(b, (uint32_t)crc32(0, b->data + from, (uInt)(n + 4)));
}

int png_make(const uint8_t *rgb, uint32_t width, uint32_t height, uint8_t **ret_file,
             size_t *ret_bytes)
{
    const size_t row = 3 * (size_t)width + 1; /* a filter in front: none */
    uint8_t *raw = calloc(height, row), head[13] = {0};
    uLongf n = compressBound(row * height);
    uint8_t *packed = malloc(n);
    struct bytes b = {malloc(n + 128), 0}, of_head = {head, 0};
    int r = raw && packed && b.data ? 0 : -ENOMEM;

    for (uint32_t y = 0; r == 0 && y < height; y++)
        memcpy(raw + y * row + 1, rgb + 3 * (size_t)width * y, row - 1);
    if (r == 0 && compress2(packed, &n, raw, row * height, Z_BEST_COMPRESSION) != Z_OK)
        r = -EIO;
    if (r == 0) {
        put_u32(&of_head, width);
        put_u32(&of_head, height);
        put(&of_head, "\x08\x02\0\0", 5); /* 8 bits, RGB */
        put(&b, "\x89PNG\r\n\x1a\n", 8);
        put_chunk(&b, "IHDR", head, sizeof head);
        put_chunk(&b, "IDAT", packed, n);
        put_chunk(&b, "IEND", NULL, 0);
        *ret_file = b.data;
        *ret_bytes = b.n;
    } else {
        free(b.data);
    }
    free(raw);
    free(packed);
    return r;
}

int png_write_base64(const uint8_t *rgb, uint32_t width, uint32_t height, FILE *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *file;
    size_t n;
    const int r = png_make(rgb, width, height, &file, &n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t v = (uint32_t)file[i] << 16 | (left > 1 ? (uint32_t)file[i + 1] << 8 : 0) |
                           (left > 2 ? file[i + 2] : 0);

        putc(digit[v >> 18], out);
        putc(digit[v >> 12 & 63], out);
        putc(left > 1 ? digit[v >> 6 & 63] : '=', out);
        putc(left > 2 ? digit[v & 63] : '=', out);
    }
    free(file);
    return 0;
}
