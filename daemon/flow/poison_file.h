/* SPDX-License-Identifier: Apache-2.0 */
/* poison_file.h - the file of RoIs that ended a worker: text, a line each with a check sum,
 * replaced as a whole. */
#ifndef TRIGD_POISON_FILE_H
#define TRIGD_POISON_FILE_H
#include <stdint.h>

#define POISON_REASON 192

struct poison_entry {
    uint64_t print; /* of all that a plugin sees of the RoI */
    uint64_t unix_s;
    uint64_t n_again; /* times that it was sent again; since the start of the daemon */
    uint32_t run, l1id, roi_id;
    char reason[POISON_REASON];
};

/* Reads at most `most` entries; lines that are damaged are left out, with a line in the log.
 * Returns how many, 0 without a file, or a negative errno. */
int poison_file_read(const char *path, struct poison_entry *ret_entry, uint32_t most);
/* Replaces the file: readers see the old one or the new one, also after a crash. */
int poison_file_write(const char *path, const struct poison_entry *entry, uint32_t n);
#endif
