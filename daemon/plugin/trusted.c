/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trusted.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "plugin/plugin_host.h"

#define OVERRIDE "; security.allow_writable_plugins: true would take it all the same"

static int refuse(const char *path, const char *what, const struct stat *s, char *why, size_t bytes)
{
    snprintf(why, bytes, "%s %s (mode %04o, owner %u, group %u)" OVERRIDE, path, what,
             (unsigned)s->st_mode & 07777, (unsigned)s->st_uid, (unsigned)s->st_gid);
    return -EPERM;
}

static bool is_sticky(const struct stat *s)
{
    return S_ISDIR(s->st_mode) && s->st_mode & S_ISVTX;
}

/* Of the file and its folder also the owner and the group. */
static int check(const char *path, bool is_near, char *why, size_t bytes)
{
    struct stat s;

    if (stat(path, &s) < 0) {
        const int r = -errno;

        snprintf(why, bytes, "%s: %s", path, strerror(-r));
        return r;
    }
    if (s.st_mode & S_IWOTH && !is_sticky(&s))
        return refuse(path, "can be written by every user", &s, why, bytes);
    if (!is_near)
        return 0;
    if (s.st_mode & S_IWGRP && s.st_gid && s.st_gid != getegid() && !is_sticky(&s))
        return refuse(path, "can be written by a group that is not the daemon's", &s, why, bytes);
    if (geteuid() && s.st_uid && s.st_uid != geteuid())
        return refuse(path, "belongs to another user", &s, why, bytes);
    return 0;
}

int trusted_file(const char *path, char *why, size_t bytes)
{
    char at[4096];
    char *end;
    int r = check(path, true, why, bytes);

    snprintf(at, sizeof at, "%s", path);
    for (uint32_t above = 0; r == 0 && (end = strrchr(at, '/')) != NULL; above++) {
        *end = '\0';
        r = check(*at ? at : "/", above == 0, why, bytes);
    }
    return r;
}

static int check_file(void *ctx, const char *path)
{
    char real[4096], why[4608];
    int r = realpath(path, real) ? trusted_file(real, why, sizeof why) : 0;

    (void)ctx;
    if (r < 0)
        log_error("plugins", "code that others can change is not loaded", "file=\"%s\" why=\"%s\"",
                  real, why);
    return r;
}

int trusted_backends(const char *folder)
{
    return backends_files(folder, check_file, NULL);
}
