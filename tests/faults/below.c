/* SPDX-License-Identifier: Apache-2.0 */
#include "below.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SKIPPED 2  /* frames: below_fails and the interposed function */
#define LOOKED  24 /* frames that are looked at for the caller */

_Static_assert(sizeof(struct below_site) == 512, "the driver reads it");
_Static_assert(offsetof(struct below_file, site) == 512, "the driver reads it");

static struct below_file *file;
static char process[16];
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* ---------------------------------------------------------------- this process */

/* The mode that it was started in; false: it is no trigd. */
static bool find_process(void)
{
    char line[4096], *mode;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    const char *name;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    line[n] = '\0';
    name = strrchr(line, '/');
    if (strcmp(name ? name + 1 : line, "trigd") != 0)
        return false;
    mode = line + strlen(line) + 1;
    snprintf(process, sizeof process, "%s",
             mode < line + n && (!strcmp(mode, "--worker") || !strcmp(mode, "--inspector"))
                 ? mode + 2
                 : "front");
    return true;
}

/* With raw system calls: those of libc are interposed, and counted. */
__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("BELOW_FILE");
    void *frames[2], *map;
    int fd;

    is_inside = true;
    backtrace(frames, 2); /* loads the unwinder */
    if (path && find_process()) {
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
        map = (void *)syscall(SYS_mmap, NULL, sizeof *file, 3 /* read, write */, 1 /* shared */, fd,
                              0L);
        if (fd < 0 || (long)map < 0 || ((struct below_file *)map)->version != BELOW_VERSION) {
            fprintf(stderr, "below: %s cannot be used\n", path);
            _exit(120);
        }
        close(fd);
        file = map;
    }
    is_inside = false;
}

/* ---------------------------------------------------------------- sites */

static uint64_t hash_of(const char *text, uint64_t h)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Name of the object with an address, and where it lies there. */
static const char *object_of(void *address, uint64_t *ret_offset)
{
    struct dl_find_object found;

    if (_dl_find_object(address, &found) < 0) {
        *ret_offset = 0;
        return "?";
    }
    *ret_offset = (uint64_t)address - found.dlfo_link_map->l_addr;
    return found.dlfo_link_map->l_name[0] ? found.dlfo_link_map->l_name : "trigd";
}

static bool is_system(const char *object)
{
    return !strncmp(object, "/lib/", 5) || !strncmp(object, "/usr/", 5) ||
           !strncmp(object, "/lib64/", 7) || !strncmp(object, "linux-vdso", 10);
}

/* Libraries of the C runtime and of sanitizers call for whoever called them. */
static bool is_runtime(const char *object)
{
    const char *name = base_name(object);

    return !strncmp(name, "libc.so", 7) || !strncmp(name, "ld-linux", 8) ||
           !strncmp(name, "libasan", 7) || !strncmp(name, "libclang_rt", 11) ||
           !strncmp(name, "libubsan", 8) || !strncmp(name, "libbelow", 8);
}

static void describe(void *const *frames, int n, struct below_site *s)
{
    size_t used = 0;
    int kept = 0;

    for (int i = SKIPPED; i < n && kept < BELOW_FRAMES; i++) {
        uint64_t offset;
        const char *object = object_of(frames[i], &offset);

        if (!s->owner[0] && !is_runtime(object)) {
            snprintf(s->owner, sizeof s->owner, "%.*s", (int)sizeof s->owner - 1,
                     base_name(object));
            s->is_ours = !is_system(object);
        }
        if (!strncmp(base_name(object), "libbelow", 8))
            continue;
        used += (size_t)snprintf(s->trail + used, sizeof s->trail - used, "%s%.40s+%llx",
                                 kept ? " " : "", base_name(object), (unsigned long long)offset);
        kept++;
    }
}

/* The entry of a site; NULL: there are too many. */
static struct below_site *find_site(uint64_t hash, const struct below_site *fresh)
{
    for (uint32_t i = 0; i < BELOW_SITES; i++) {
        struct below_site *s = &file->site[(hash + i) % BELOW_SITES];
        uint64_t none = 0;

        if (atomic_load(&s->hash) == hash)
            return s;
        if (atomic_compare_exchange_strong(&s->hash, &none, hash)) {
            s->is_ours = fresh->is_ours;
            memcpy(s->process, fresh->process, sizeof s->process);
            memcpy(s->call, fresh->call, sizeof s->call);
            memcpy(s->owner, fresh->owner, sizeof s->owner);
            memcpy(s->trail, fresh->trail, sizeof s->trail);
            return s;
        }
        if (none == hash)
            return s;
    }
    return NULL;
}

/* Counts the call; whether it is the one that fails. */
static bool count(const char *call)
{
    struct below_site here = {0}, *s;
    void *frames[LOOKED];
    uint64_t hash;
    int n = backtrace(frames, LOOKED);

    memcpy(here.process, process, sizeof here.process);
    snprintf(here.call, sizeof here.call, "%s", call);
    describe(frames, n, &here);
    hash = hash_of(here.trail, hash_of(call, hash_of(process, 0xcbf29ce484222325u)));
    s = find_site(hash, &here);
    if (!s || atomic_fetch_add(&s->calls, 1) + 1 != file->at || hash != file->target)
        return false;
    file->fired_pid = (uint32_t)getpid();
    atomic_store(&file->fired, 1);
    return true;
}

bool below_fails(const char *call, int error)
{
    const int before = errno;
    bool fails;

    if (!file || is_inside)
        return false;
    is_inside = true;
    fails = count(call);
    is_inside = false;
    errno = fails ? error : before;
    return fails;
}

void *below_next(const char *name)
{
    const bool before = is_inside;
    void *next;

    is_inside = true;
    next = dlsym(RTLD_NEXT, name);
    if (!next) { /* of a library that a module brought along for itself */
        void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

        next = library ? dlsym(library, name) : NULL;
    }
    is_inside = before;
    if (!next) {
        static const char text[] = "below: a function has no next definition\n";

        if (write(2, text, sizeof text - 1) < 0)
            _exit(121);
        _exit(120);
    }
    return next;
}
