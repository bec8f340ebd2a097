/* SPDX-License-Identifier: Apache-2.0 */
#include "base/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "json.h"
#include "log.h"
#include "memstream.h"

static atomic_int file = -1;

int audit_open(const char *path, const char *state_dir)
{
    char folder[4096], usual[4096];
    const char *slash;
    int r = 0, fd;

    if (!path[0] && !state_dir[0])
        return 0;
    if (!path[0]) {
        snprintf(usual, sizeof usual, "%.4000s/audit.jsonl", state_dir);
        path = usual;
    }
    slash = strrchr(path, '/');
    if (slash && slash > path) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        r = folder_make(folder);
    }
    fd = r < 0 ? r : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (r == 0 && fd < 0)
        r = -errno;
    if (r < 0) {
        log_error("audit", "cannot open the audit log", "file=\"%s\" error=\"%s\"", path,
                  strerror(-r));
        return r;
    }
    atomic_store(&file, fd);
    return 0;
}

static void print(const struct audit_line *line, FILE *out)
{
    struct timespec now;
    char stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(out, "{\"time\": \"%s\", \"pid\": %ld, \"by\": ",
            json_time((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, stamp),
            (long)getpid());
    json_string(line->by, out);
    fputs(", \"action\": ", out);
    json_string(line->action, out);
    if (line->result) {
        fputs(", \"result\": ", out);
        json_string(line->result, out);
    }
    fputs("}\n", out);
}

void audit_write(const struct audit_line *line)
{
    const int fd = atomic_load(&file);
    char *text = NULL;
    size_t n = 0;
    bool is_made = false;
    FILE *out;

    if (fd < 0)
        return;
    out = open_memstream(&text, &n);
    if (out) {
        print(line, out);
        is_made = memstream_close(out, &text) == 0;
    }
    if (!is_made || write(fd, text, n) != (ssize_t)n)
        log_error("audit", "a line of the audit log is lost", "by=\"%s\" action=\"%s\"", line->by,
                  line->action);
    free(text);
}

void audit_close(void)
{
    const int fd = atomic_exchange(&file, -1);

    if (fd >= 0)
        close(fd);
}
