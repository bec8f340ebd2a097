/* SPDX-License-Identifier: Apache-2.0 */
/* import_ids.h - a file's own numbers (of hits, of particles) and our indices. */
#ifndef TRIGD_IMPORT_IDS_H
#define TRIGD_IMPORT_IDS_H
#include <stdint.h>

struct ids {
    uint32_t n, room;
    struct id {
        uint64_t id;
        uint32_t index;
    } * list;
};

/* -ENOMEM. */
int ids_add(struct ids *all, uint64_t id, uint32_t index);
/* After the last was added, before the first is looked up.  -EEXIST: one is there twice, given
 * back. */
int ids_sort(struct ids *all, uint64_t *ret_twice);
/* -ENOENT. */
int ids_find(const struct ids *all, uint64_t id, uint32_t *ret_index);
void ids_free(struct ids *all);
#endif
