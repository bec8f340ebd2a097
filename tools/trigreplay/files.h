/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - RoI files made and looked at by hand. */
#ifndef TRIGD_FILES_H
#define TRIGD_FILES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "generator.h"
#include "layout.h"

/* Writes RoIs 0 .. rois-1 of a generator preset, with a type and their truth, until `stop` is set;
 * unless `event_rois` is 0, events of so many RoIs, the last one whole.
 * 0, or a negative errno with a sentence on stderr. */
int files_generate(const char *path, const struct generator_preset *preset, uint64_t seed,
                   uint64_t rois, enum layout layout, uint32_t type, uint32_t event_rois,
                   const _Atomic bool *stop);
/* Prints the header, the first RoIs and how much there is.  0, or a negative errno with a sentence
 * on stderr; a damaged file is shown as far as it can be read. */
int files_show(const char *path, FILE *out);
#endif
