/* SPDX-License-Identifier: Apache-2.0 */
/* storm_interpose - preloaded into a daemon: steps of its wall clock, and a disk that hangs, is
 * slow or fails.
 *
 * The file $STORM_PAGE is mapped and says what to do, so a storm changes it while the daemon runs;
 * workers inherit it. Only the calls that trigd makes for files of streams and its state are taken:
 * pwritev, fsync, fdatasync, rename, and open for writing below $STORM_DISK. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "interpose.h"

static struct page still; /* without a page nothing is changed */
static struct page *page = &still;
static const char *folder;

#define REAL(name) ((__typeof__(&name))real(#name))

/* What a call would have reached without this library. */
static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) {
        fprintf(stderr, "storm_interpose: no %s in libc\n", name);
        _exit(99);
    }
    return found;
}

__attribute__((constructor)) static void open_page(void)
{
    const char *path = getenv("STORM_PAGE");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (path && mapped == MAP_FAILED) {
        fprintf(stderr, "storm_interpose: %s: %s\n", path, strerror(errno));
        _exit(99);
    }
    if (mapped != MAP_FAILED)
        page = mapped;
    if (fd >= 0)
        close(fd);
    folder = getenv("STORM_DISK");
}

/* ---------------------------------------------------------------- the disk */

static void nap(uint32_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR) { /* no signal ends a wait for a disk */
    }
}

/* 0, or the error that the disk gives. */
static int ask_disk(void)
{
    uint32_t disk = atomic_load(&page->disk);

    if (disk == DISK_IS_SLOW)
        nap(atomic_load(&page->slow_ms));
    if (disk == DISK_HANGS) {
        atomic_fetch_add(&page->n_hanging, 1);
        while (atomic_load(&page->disk) == DISK_HANGS)
            nap(1);
        atomic_fetch_sub(&page->n_hanging, 1);
    }
    return disk == DISK_FAILS ? EIO : 0;
}

static int is_on_disk(const char *path)
{
    return folder && !strncmp(path, folder, strlen(folder));
}

/* Returns -1 from the function around it when the disk fails. */
#define ASK_DISK()              \
    do {                        \
        int error = ask_disk(); \
        if (error) {            \
            errno = error;      \
            return -1;          \
        }                       \
    } while (0)

ssize_t pwritev(int fd, const struct iovec *part, int n, off_t at)
{
    ASK_DISK();
    return REAL(pwritev)(fd, part, n, at);
}

int fsync(int fd)
{
    ASK_DISK();
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    ASK_DISK();
    return REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
    if (is_on_disk(to))
        ASK_DISK();
    return REAL(rename)(from, to);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list more;

    va_start(more, flags);
    if (flags & O_CREAT)
        mode = va_arg(more, mode_t);
    va_end(more);
    if ((flags & O_ACCMODE) != O_RDONLY && is_on_disk(path))
        ASK_DISK();
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* ---------------------------------------------------------------- the clock */

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    static _Atomic(__typeof__(&clock_gettime)) in_libc;
    __typeof__(&clock_gettime) call = atomic_load(&in_libc);
    int64_t ns;
    int r;

    if (!call)
        atomic_store(&in_libc, call = REAL(clock_gettime));
    r = call(clock, ret_time);
    if (r < 0 || clock != CLOCK_REALTIME)
        return r;
    ns = (int64_t)ret_time->tv_sec * 1000000000 + ret_time->tv_nsec + atomic_load(&page->wall_ns);
    ret_time->tv_sec = ns / 1000000000;
    ret_time->tv_nsec = ns % 1000000000;
    return 0;
}

time_t time(time_t *ret_time)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (ret_time)
        *ret_time = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    ret_time->tv_sec = t.tv_sec;
    ret_time->tv_usec = t.tv_nsec / 1000;
    return 0;
}
