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

/* Whether a batch that arrives during a slice goes before it on the device: CUDA has priorities. */
static bool batches_go_first(struct trg_device *device)
{
    struct trg_device_info info;

    trg_device_info(device, &info);
    return !strcmp(info.backend, "cuda");
}

static int start(struct worker_guest *g, int plugin_fd, const struct worker_guest_place *place)
{
    struct guest_run_setup setup = {.params = g->m.params,
                                    .device = place->device,
                                    .host = place->host,
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
    int r = plugin_host_open_copy(place->plugins, plugin_fd, g->m.plugin, &setup.plugin, why,
                                  sizeof why);

    if (r < 0) {
        log_error("guest", "a plugin cannot be loaded", "why=\"%s\"", why);
        return r;
    }
    if (batches_go_first(place->device)) {
        setup.batches = place->batches;
        setup.spin_ns = place->spin_ns;
    }
    return guest_run_start(&setup, &g->run);
}

struct worker_guest *worker_guest_open(const struct worker_guest_message *m, const int *fds,
                                       const struct worker_guest_place *place)
{
    struct worker_guest *g = calloc(1, sizeof *g);
    int r = g ? guest_page_map(fds[0], &g->page) : -ENOMEM;

    if (r < 0) {
        log_error("guest", "a guest cannot be started", "error=\"%s\"", strerror(-r));
        free(g);
        return NULL;
    }
    g->m = *m;
    r = start(g, fds[1], place);
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
