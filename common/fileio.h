/* SPDX-License-Identifier: Apache-2.0 */
/* fileio.h - whole reads and writes at a place of a file, and protobuf's varints. */
#ifndef TRIGD_FILEIO_H
#define TRIGD_FILEIO_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define VARINT_MAX 10u /* bytes */

/* How many of the `n` bytes at `at` there are, which are then in `dst`; negative errno. */
ssize_t fileio_read_at(int fd, void *dst, size_t n, uint64_t at);
/* Writes the parts one behind the other at `at`, all or, with a negative errno, none: the file then
 * ends at `at`. */
int fileio_put(int fd, struct iovec *part, int n, uint64_t at);
static inline struct iovec fileio_part(const void *bytes, size_t n)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
}

/* Returns the bytes that it takes. */
uint32_t varint_put(uint64_t v, unsigned char *dst);
/* The same for the number at the front of `n` bytes; 0: it does not end in them. */
uint32_t varint_get(const unsigned char *bytes, size_t n, uint64_t *ret_value);
#endif
