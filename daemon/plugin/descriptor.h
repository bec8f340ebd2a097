/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h - the data of a plugin's descriptor as bytes, from the process that loaded the
 * plugin to one that does not run its code. */
#ifndef TRIGD_DESCRIPTOR_H
#define TRIGD_DESCRIPTOR_H
#include <stddef.h>

#include "plugin/plugin_host.h"

#define DESCRIPTOR_BYTES (256u << 10) /* of one, at most */

/* Writes at most DESCRIPTOR_BYTES.  The descriptor was checked.  -E2BIG, -ENOMEM. */
int descriptor_pack(const struct plugin *p, unsigned char *bytes, size_t *ret_n);
/* Fills `d`, without functions, and what p says of them.  All that `d` points to lies in one block,
 * which the caller frees.  The bytes may be anything: what they say still has to be checked.
 * -EBADMSG, -ENOMEM. */
int descriptor_unpack(const unsigned char *bytes, size_t n, struct plugin *p, void **ret_block);
#endif
