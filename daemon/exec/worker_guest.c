/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/guest_run.h"
#include "log.h"

struct worker_guest {
    struct worker_guest_message m; /* with its parameters */
    struct guest_page *page;
    struct guest_run *run;
};

static int start(struct worker_guest *g, int plugin_fd, struct trg_device *device,
                 const struct trg_host *host, struct plugin_host *plugins)
{
    struct guest_run_setup setup = {.params = g->m.params,
                                    .device = device,
                                    .host = host,
                                    .page = g->page,
                                    .name = g->m.name,
                                    .folder = g->m.folder,
                                    .is_partition = g->m.is_partition,
                                    .percent = g->m.percent,
                                    .slice_us = g->m.slice_us,
                                    .checkpoint_s = g->m.checkpoint_s,
                                    .memory_mbytes = g->m.memory_mbytes,
                                    .has_cpus = g->m.has_cpus,
                                    .cpus = g->m.cpus};
    char why[512];
    int r = plugin_host_open_copy(plugins, plugin_fd, g->m.plugin, &setup.plugin, why, sizeof why);

    if (r < 0) {
        log_error("guest", "a plugin cannot be loaded", "why=\"%s\"", why);
        return r;
    }
    return guest_run_start(&setup, &g->run);
}

struct worker_guest *worker_guest_open(const struct worker_guest_message *m, const int *fds,
                                       struct trg_device *device, const struct trg_host *host,
                                       struct plugin_host *plugins)
{
    struct worker_guest *g = calloc(1, sizeof *g);
    int r = g ? guest_page_map(fds[0], &g->page) : -ENOMEM;

    if (r < 0) {
        log_error("guest", "a guest cannot be started", "error=\"%s\"", strerror(-r));
        free(g);
        return NULL;
    }
    g->m = *m;
    r = start(g, fds[1], device, host, plugins);
    if (r < 0) {
        atomic_store(&g->page->error, r);
        atomic_store(&g->page->state, GUEST_FAILED);
        worker_guest_close(g);
        return NULL;
    }
    return g;
}

void worker_guest_close(struct worker_guest *g)
{
    if (!g)
        return;
    guest_run_end(g->run);
    guest_page_unmap(g->page);
    free(g);
}
