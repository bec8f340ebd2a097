/* SPDX-License-Identifier: Apache-2.0 */
/* roifiles.h - what tests of RoI files share: a folder, records that are known, damage. */
#ifndef TRIGD_TEST_ROIFILES_H
#define TRIGD_TEST_ROIFILES_H
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "roifile.h"

struct place { /* a folder and a file in it */
    char folder[64], path[96];
};
int place_make(void **state);
int place_clear(void **state);

/* A packed batch of `n` RoIs that are known by `l1id` and the ones after it. */
size_t batch_pack(uint32_t l1id, uint32_t n, unsigned char *dst, size_t room);
/* Wants exactly the records `first` and following of those of 1, 2, 3, 1, 2, 3, ... RoIs, the first
 * of record i with l1id 100 i; returns roifile_next's last answer. */
int records_read(struct roifile_reader *r, uint32_t first, uint32_t n);

size_t file_load(const char *path, unsigned char *dst, size_t room);
void file_store(const char *path, const unsigned char *bytes, size_t n);
/* No file of this process gets longer. */
void file_limit(rlim_t bytes);
#endif
