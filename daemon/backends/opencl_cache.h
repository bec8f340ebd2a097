/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_cache.h - program binaries on disk: one file for each program, options, device and driver.
 * A cache that does not work costs a warning and a build, nothing else. */
#ifndef TRIGD_BACKENDS_OPENCL_CACHE_H
#define TRIGD_BACKENDS_OPENCL_CACHE_H
#include "common.h"

struct opencl_key { /* zero it, then add all that a binary depends on */
    uint64_t hash[2];
};

void opencl_key_add(struct opencl_key *key, const char *text);

/* 0 and a binary that the caller frees; -ENOENT when there is none (with a warning when there is a
 * file and it is damaged). */
int opencl_cache_load(const struct backend_log *log, const char *name, const struct opencl_key *key,
                      unsigned char **ret_data, size_t *ret_bytes);

/* Keeps a binary; readers see the old file or the new one, never a part. */
void opencl_cache_store(const struct backend_log *log, const char *name,
                        const struct opencl_key *key, const unsigned char *data, size_t bytes);
#endif
