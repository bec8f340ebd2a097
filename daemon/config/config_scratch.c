/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_scratch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* Replaces a text by `before`, the folder, and `after`. */
static int set(char **text, const char *before, const char *folder, const char *after)
{
    char *fresh;

    if (asprintf(&fresh, "%s%s%s", before, folder, after) < 0)
        return -ENOMEM;
    free(*text);
    *text = fresh;
    return 0;
}

/* Its RoIs were written before. */
static void drop_streams(struct config *c)
{
    for (uint32_t i = 0; i < c->n_streams; i++) {
        free(c->streams[i].stream);
        free(c->streams[i].folder);
        free(c->streams[i].when_full);
    }
    free(c->streams);
    c->streams = NULL;
    c->n_streams = 0;
}

int config_scratch(struct config *c, const char *folder)
{
    const struct {
        char **text;
        const char *before, *after;
    } moved[] = {{&c->endpoints[0], "ipc://", "/in"},     {&c->control.socket, "", "/control"},
                 {&c->state_dir, "", "/state"},           {&c->accounts_dir, "", "/accounts"},
                 {&c->histograms_dir, "", "/histograms"}, {&c->control.audit, "", "/audit"},
                 {&c->debug_stream.folder, "", "/debug"}};
    char path[PATH_MAX];
    int r = 0;

    if (!realpath(folder, path)) {
        r = -errno;
        log_error("config", "cannot use the scratch folder", "folder=\"%s\" error=\"%s\"", folder,
                  strerror(errno));
        return r;
    }
    while (c->n_endpoints > 1)
        free(c->endpoints[--c->n_endpoints]);
    for (size_t i = 0; r == 0 && i < sizeof moved / sizeof *moved; i++)
        r = set(moved[i].text, moved[i].before, path, moved[i].after);
    drop_streams(c);
    c->http.address[0] = '\0';
    c->http.socket[0] = '\0';
    c->runs.control = false; /* its RoIs have their numbers */
    return r;
}
