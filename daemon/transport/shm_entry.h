/* SPDX-License-Identifier: Apache-2.0 */
/* shm_entry.h - an entry of shared memory to a checked RoI, as wire.c does for messages. */
#ifndef TRIGD_SHM_ENTRY_H
#define TRIGD_SHM_ENTRY_H
#include "memory/shm_region.h"
#include "wire.h"

/* Checks an entry, which is the caller's own copy, and that the columns that it names lie in the
 * region's data, and points to them.  Their values are left to the lanes (value_guard.h).  -EBADMSG
 * with the reason, and *ret_roi is not to be used. */
int shm_entry_check(const struct shm_roi *entry, const struct shm_region *region,
                    const struct wire_limits *limits, struct wire_roi *ret_roi,
                    struct wire_error *ret_error);
/* Bytes of the columns that an entry names. */
uint64_t shm_entry_bytes(const struct wire_roi *roi);
#endif
