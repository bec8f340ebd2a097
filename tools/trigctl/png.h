/* SPDX-License-Identifier: Apache-2.0 */
/* png.h - an image of 8-bit RGB as PNG in base64, for a data URI. */
#ifndef TRIGCTL_PNG_H
#define TRIGCTL_PNG_H
#include <stdint.h>
#include <stdio.h>

/* rgb: rows from the top.  -ENOMEM, -EIO. */
int png_write_base64(const uint8_t *rgb, uint32_t width, uint32_t height, FILE *out);
#endif
