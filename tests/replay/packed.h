/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - messages with RoIs of a source, as the client library makes them. */
#ifndef TRIGD_TEST_PACKED_H
#define TRIGD_TEST_PACKED_H
#include "source.h"

struct pick {       /* an RoI to send */
    uint32_t which; /* of the source */
    uint32_t l1id;
    uint64_t token;
    bool is_repeat;
};

/* The bytes of a ToDaemon message with n picks, at most 8; the caller frees *ret_bytes. */
size_t packed(const struct source *s, const struct pick *picks, uint32_t n,
              unsigned char **ret_bytes);
#endif
