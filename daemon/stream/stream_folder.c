/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blockfile.h"
#include "log.h"

#define PART ".part"

/* Whether a name is STREAM-rNUMBER-b...: streams may be called "a" and "a-b". */
static bool is_of(const char *name, const char *stream)
{
    const size_t n = strlen(stream);

    if (strncmp(name, stream, n) != 0 || strncmp(name + n, "-r", 2) != 0)
        return false;
    name += n + 2;
    if (!isdigit((unsigned char)*name))
        return false;
    while (isdigit((unsigned char)*name))
        name++;
    return !strncmp(name, "-b", 2) && strstr(name, ".roi") != NULL;
}

uint64_t stream_folder_bytes(const char *folder, const char *stream)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    uint64_t bytes = 0;
    struct stat st;

    while (d && (e = readdir(d)) != NULL)
        if (is_of(e->d_name, stream) && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            bytes += (uint64_t)st.st_size;
    if (d)
        closedir(d);
    return bytes;
}

static void recover(const char *path)
{
    struct blockfile_recovery done;
    char whole[PATH_MAX];
    int r = blockfile_recover(path, &done);

    if (r == -EBUSY) /* another daemon writes it */
        return;
    snprintf(whole, sizeof whole, "%.*s", (int)(strlen(path) - strlen(PART)), path);
    if (r == 0 && (done.rois ? rename(path, whole) : unlink(path)) < 0)
        r = -errno;
    if (r == -EBADMSG)
        log_error("stream", "a file of an earlier run is damaged and is left as it is",
                  "file=\"%s\"", path);
    else if (r < 0)
        log_error("stream", "a file of an earlier run cannot be completed",
                  "file=\"%s\" error=\"%s\"", path, strerror(-r));
    else
        log_info("stream", "a file of an earlier run is complete now",
                 "file=\"%s\" rois=%llu cut_bytes=%llu", done.rois ? whole : path,
                 (unsigned long long)done.rois, (unsigned long long)done.cut_bytes);
}

void stream_folder_recover(const char *folder, const char *stream)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    char path[PATH_MAX];

    while (d && (e = readdir(d)) != NULL) {
        const size_t n = strlen(e->d_name);

        if (!is_of(e->d_name, stream) || n < strlen(PART) ||
            strcmp(e->d_name + n - strlen(PART), PART) != 0)
            continue;
        snprintf(path, sizeof path, "%.3800s/%s", folder, e->d_name);
        recover(path);
    }
    if (d)
        closedir(d);
}
