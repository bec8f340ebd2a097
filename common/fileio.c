/* SPDX-License-Identifier: Apache-2.0 */
#include "fileio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

ssize_t fileio_read_at(int fd, void *dst, size_t n, uint64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)dst + done, n - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static int write_all(int fd, struct iovec *part, int n, uint64_t at)
{
    while (n > 0) {
        ssize_t done = pwritev(fd, part, n, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        at += (uint64_t)done;
        for (; n > 0 && (size_t)done >= part->iov_len; n--, part++)
            done -= (ssize_t)part->iov_len;
        if (n > 0) {
            part->iov_base = (char *)part->iov_base + done;
            part->iov_len -= (size_t)done;
        }
    }
    return 0;
}

int fileio_put(int fd, struct iovec *part, int n, uint64_t at)
{
    int r = write_all(fd, part, n, at);

    if (r < 0 && ftruncate(fd, (off_t)at) < 0)
        log_error("roifile", "cannot cut off what was half written", "error=\"%s\"",
                  strerror(errno));
    return r;
}

uint32_t varint_put(uint64_t v, unsigned char *dst)
{
    uint32_t n = 0;

    while (v >= 0x80) {
        dst[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    dst[n++] = (unsigned char)v;
    return n;
}

uint32_t varint_get(const unsigned char *bytes, size_t n, uint64_t *ret_value)
{
    uint64_t v = 0;

    for (uint32_t i = 0; i < n && i < VARINT_MAX; i++) {
        v |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] & 0x80)
            continue;
        *ret_value = v;
        return i + 1;
    }
    return 0;
}
