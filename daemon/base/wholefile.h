/* SPDX-License-Identifier: Apache-2.0 */
/* wholefile.h - files that appear whole, on the disk, or not at all. */
#ifndef TRIGD_WHOLEFILE_H
#define TRIGD_WHOLEFILE_H
#include <stdio.h>

/* Writes FOLDER/NAME, the folder made if it is not there, and never over a file.  -EEXIST: there is
 * one; another negative errno: it could not be written. */
int wholefile_write(const char *folder, const char *name,
                    void (*print)(const void *content, FILE *out), const void *content);
#endif
