/* SPDX-License-Identifier: Apache-2.0 */
/* The inspector: loads plugins with a host of its own and answers questions about them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fdmessage.h"
#include "base/sandbox.h"
#include "log.h"
#include "plugin/inspector.h"
#include "plugin/inspector_wire.h"

#define PREFIX " cannot be used: "

/* The host's sentence begins with the file, which the daemon says itself. */
static void cut_prefix(struct inspector_answer *a, const char *path)
{
    const size_t n = strlen(path);
    const char *rest = a->why + n;

    if (strncmp(a->why, path, n) != 0 || strncmp(rest, PREFIX, strlen(PREFIX)) != 0)
        return;
    rest += strlen(PREFIX);
    memmove(a->why, rest, strlen(rest) + 1);
}

static int answer(struct plugin_host *h, const struct inspector_question *q, int fd,
                  struct inspector_answer *a)
{
    const struct plugin *p;
    size_t n = 0;
    int r = plugin_host_open_copy(h, fd, q->path, &p, a->why, sizeof a->why);

    if (r < 0) {
        cut_prefix(a, q->path);
        return r;
    }
    if (q->what == INSPECTOR_CHECK)
        return plugin_check(p, q->config, a->why, sizeof a->why);
    r = descriptor_pack(p, a->descriptor, &n);
    if (r < 0)
        snprintf(a->why, sizeof a->why, "its descriptor is larger than %u bytes", DESCRIPTOR_BYTES);
    a->n = (uint32_t)n;
    return r;
}

int inspector_main(void)
{
    static struct inspector_question q;
    static struct inspector_answer a;
    struct plugin_host *h;
    int fd, n, r;

    child_enter();
    log_set_level(TRG_WARN);
    if (sandbox_enter() < 0 || plugin_host_new(NULL, 0, &h) < 0)
        return 1;
    while ((n = fdmessage_receive(CHILD_SOCKET, &q, sizeof q, &fd, 1)) == (int)sizeof q) {
        a = (struct inspector_answer){0};
        a.result = answer(h, &q, fd, &a);
        if (fd >= 0)
            close(fd);
        r = fdmessage_send(CHILD_SOCKET, &a, offsetof(struct inspector_answer, descriptor) + a.n,
                           NULL, 0, 0);
        if (r < 0 && r != -EPIPE)
            log_error("inspector", "cannot answer the daemon", "error=\"%s\"", strerror(-r));
    }
    plugin_host_free(h);
    return n == 0 ? 0 : 1;
}
