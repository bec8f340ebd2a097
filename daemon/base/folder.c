/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int make_one(const char *path)
{
    struct stat s;

    if (mkdir(path, 0750) == 0 || (errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return 0;
    return errno == EEXIST ? -ENOTDIR : -errno;
}

int folder_make(const char *path)
{
    char part[PATH_MAX];
    int n = snprintf(part, sizeof part, "%s", path);

    if (n < 0 || (size_t)n >= sizeof part)
        return -ENAMETOOLONG;
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_one(part) == -ENOTDIR)
            return -ENOTDIR; /* a parent that exists and cannot be written to is fine */
        *slash = '/';
    }
    return make_one(part);
}
