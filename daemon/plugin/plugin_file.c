/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define SEAL_NS (5 * NS_PER_S)

static int copy_bytes(int from, int to)
{
    for (;;) {
        ssize_t n = sendfile(to, from, NULL, 1u << 30);

        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

/* The kernel refuses to seal while something else, such as memory that it moves, holds a page of
 * the file for a moment. */
static int seal(int fd)
{
    const uint64_t limit = clock_ns() + SEAL_NS;

    while (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        if (errno != EBUSY || clock_ns() > limit)
            return -errno;
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    return 0;
}

int plugin_file_copy(const char *path, int *ret_fd)
{
    int from = open(path, O_RDONLY | O_CLOEXEC), to, r;

    if (from < 0)
        return -errno;
    to = memfd_create("trigd-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    r = to < 0 ? -errno : copy_bytes(from, to);
    close(from);
    if (r == 0)
        r = seal(to);
    if (r < 0) {
        if (to >= 0)
            close(to);
        return r;
    }
    *ret_fd = to;
    return 0;
}

/* Of 64 bits and this machine's byte order; the loader refuses all others. */
static bool reaches_beyond(int fd, const ElfW(Ehdr) * head, off_t bytes)
{
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        ElfW(Phdr) part;
        off_t at = (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize);

        if (pread(fd, &part, sizeof part, at) != sizeof part)
            return true;
        if (part.p_type == PT_LOAD &&
            (part.p_filesz > (uint64_t)bytes || part.p_offset > (uint64_t)bytes - part.p_filesz))
            return true;
    }
    return false;
}

bool plugin_file_is_cut(int fd)
{
    ElfW(Ehdr) head;
    struct stat st;

    if (fstat(fd, &st) < 0 || pread(fd, &head, sizeof head, 0) != sizeof head)
        return false;
    return !memcmp(head.e_ident, ELFMAG, SELFMAG) && reaches_beyond(fd, &head, st.st_size);
}

void *plugin_file_load(int fd)
{
    char name[64];

    /* not "self": a debugger opens this name, too */
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)getpid(), fd);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

bool plugin_file_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}
