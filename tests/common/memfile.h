/* SPDX-License-Identifier: Apache-2.0 */
/* memfile.h - bytes as a file, for readers that want a path. */
#ifndef TRIGD_TEST_MEMFILE_H
#define TRIGD_TEST_MEMFILE_H
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "want.h"

struct memfile {
    int fd;
    char path[64];
};

/* Only its owner may read it, as files of keys have to be. */
static inline struct memfile memfile_new(const void *bytes, size_t n)
{
    struct memfile f = {.fd = memfd_create("memfile", MFD_CLOEXEC)};

    WANT(f.fd >= 0 && fchmod(f.fd, 0600) == 0);
    WANT(write(f.fd, bytes, n) == (ssize_t)n);
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

static inline void memfile_close(struct memfile *f)
{
    close(f->fd);
}
#endif
