/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wholefile.h"

#include <errno.h>
#include <unistd.h>

#include "base/folder.h"

static int print_into(const char *path, void (*print)(const void *content, FILE *out),
                      const void *content)
{
    FILE *out = fopen(path, "we");
    int r = 0;

    if (!out)
        return -errno;
    print(content, out);
    if (fflush(out) != 0 || fsync(fileno(out)) < 0)
        r = -errno;
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    return r;
}

int wholefile_write(const char *folder, const char *name,
                    void (*print)(const void *content, FILE *out), const void *content)
{
    char path[4096], partial[4096];
    int r = folder_make(folder);

    if (r < 0)
        return r;
    if (snprintf(path, sizeof path, "%.3800s/%s", folder, name) >= (int)sizeof path ||
        snprintf(partial, sizeof partial, "%.4000s.%ld.partial", path, (long)gettid()) >=
            (int)sizeof partial) /* two threads may write the same file */
        return -ENAMETOOLONG;
    r = print_into(partial, print, content);
    if (r == 0 && link(partial, path) < 0) /* which, unlike rename, replaces nothing */
        r = -errno;
    unlink(partial);
    return r;
}
