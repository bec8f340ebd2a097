/* SPDX-License-Identifier: Apache-2.0 */
/* rois.h - a file of RoIs with random values that the declarations of a plugin's inputs allow. */
#ifndef TRIGCTL_ROIS_H
#define TRIGCTL_ROIS_H
#include <stdint.h>

struct rois_options {
    const char *plugin; /* its file */
    const char *out;    /* the file to write; it must not exist */
    uint32_t n;
    uint64_t seed;
};

/* Writes the file and says on stderr what went wrong; 0 or a negative errno. */
int rois_make(const struct rois_options *o);
#endif
