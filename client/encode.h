/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h - RoIs as the two transports carry them: in a message, or as columns in shared memory.
 */
#ifndef TRIGD_ENCODE_H
#define TRIGD_ENCODE_H
#include "client_inner.h"

/* Whether the RoI's collections are known and few enough.  0, or -EINVAL with a sentence. */
int encode_check(const struct trg_client *c, const struct trg_client_roi *roi, char *why,
                 size_t bytes);

/* Bytes of the ToDaemon message with n RoIs, and of each RoI in it without tag and length.  NULL
 * stands for an empty RoI. */
size_t encode_size(struct flight *const *flights, uint32_t n, size_t *ret_sizes);
/* Writes it. */
void encode_message(struct flight *const *flights, const size_t *sizes, uint32_t n,
                    unsigned char *dst);

/* Bytes that an RoI takes in the memory. */
uint64_t encode_columns_size(const struct trg_client_roi *roi);
/* Copies its columns to `dst`, which is `at` in the data, and fills its entry. */
void encode_columns(const struct flight *f, uint64_t at, void *dst, struct shm_roi *ret_entry);
#endif
