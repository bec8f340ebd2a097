/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/poison_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "log.h"

#define HEAD       "trigd poison 1\n"
#define LINE_BYTES (POISON_REASON + 128)

/* ---------------------------------------------------------------- reading */

/* "CHECK PRINT UNIX_S RUN L1ID ROI REASON"; the check sum is of what follows it. */
static bool parse(const char *line, struct poison_entry *ret_entry)
{
    struct poison_entry e = {0};
    uint64_t check;
    int at = 0, end = 0;

    if (sscanf(line, "%16" SCNx64 " %n", &check, &at) != 1 || at != 17 ||
        check != hash_bytes(line + at, strlen(line + at)))
        return false;
    if (sscanf(line + at, "%16" SCNx64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 "%n",
               &e.print, &e.unix_s, &e.run, &e.l1id, &e.roi_id, &end) != 5 ||
        line[at + end] != ' ')
        return false;
    snprintf(e.reason, sizeof e.reason, "%.*s", POISON_REASON - 1, line + at + end + 1);
    *ret_entry = e;
    return true;
}

int poison_file_read(const char *path, struct poison_entry *ret_entry, uint32_t most)
{
    char line[LINE_BYTES];
    uint32_t n = 0, n_bad = 0;
    FILE *f = fopen(path, "re");

    if (!f)
        return errno == ENOENT ? 0 : -errno;
    n_bad += !fgets(line, sizeof line, f) || strcmp(line, HEAD) != 0;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (n < most && parse(line, &ret_entry[n]))
            n++;
        else
            n_bad++;
    }
    fclose(f);
    if (n_bad)
        log_warn("dispatch", "the list of RoIs that ended workers is damaged: lines are left out",
                 "file=\"%s\" lines=%u kept=%u", path, n_bad, n);
    return (int)n;
}

/* ---------------------------------------------------------------- writing */

static void print_entry(const struct poison_entry *e, FILE *f)
{
    char line[LINE_BYTES];

    snprintf(line, sizeof line, "%016" PRIx64 " %" PRIu64 " %u %u %u %s", e->print, e->unix_s,
             e->run, e->l1id, e->roi_id, e->reason);
    fprintf(f, "%016" PRIx64 " %s\n", hash_bytes(line, strlen(line)), line);
}

static int write_new(const char *path, const struct poison_entry *entry, uint32_t n)
{
    FILE *f = fopen(path, "we");
    int r = 0;

    if (!f)
        return -errno;
    fputs(HEAD, f);
    for (uint32_t i = 0; i < n; i++)
        print_entry(&entry[i], f);
    if (fflush(f) != 0 || fsync(fileno(f)) < 0)
        r = -errno;
    if (fclose(f) != 0 && r == 0)
        r = -errno;
    return r;
}

/* The new name is on the disk as well. */
static int sync_folder(const char *path)
{
    char copy[PATH_MAX];
    int fd, r = 0;

    snprintf(copy, sizeof copy, "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fsync(fd) < 0)
        r = -errno;
    close(fd);
    return r;
}

int poison_file_write(const char *path, const struct poison_entry *entry, uint32_t n)
{
    char fresh[PATH_MAX];
    int r;

    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
        return -ENAMETOOLONG;
    r = write_new(fresh, entry, n);
    if (r == 0 && rename(fresh, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(fresh);
    return r < 0 ? r : sync_folder(path);
}
