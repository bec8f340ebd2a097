/* SPDX-License-Identifier: Apache-2.0 */
/* png.h - images of 8-bit RGB as PNG; `rgb` holds rows from the top.  Errors: -ENOMEM, -EIO. */
#ifndef TRIGCTL_PNG_H
#define TRIGCTL_PNG_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file in memory, which the caller frees. */
int png_make(const uint8_t *rgb, uint32_t width, uint32_t height, uint8_t **ret_file,
             size_t *ret_bytes);
/* One in base64, for a data URI. */
int png_write_base64(const uint8_t *rgb, uint32_t width, uint32_t height, FILE *out);
#endif
