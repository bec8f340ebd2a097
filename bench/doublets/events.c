/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"
#include "plugin/plugin_host.h"

extern const struct trg_plugin trg_plugin;

struct lane {
    struct drive *drive; /* with one slot */
    struct drive_slot *slot;
    uint32_t *capacity;
};

void events_config(struct doublets_config *c)
{
    struct plugin p = {.d = trg_plugin};

    while (doublets_params[p.n_params].name)
        p.n_params++;
    plugin_defaults(&p, c);
}

/* Room for the doublets of every event on the host. */
static int make_outputs(struct lane *l, const struct doublets_config *c,
                        const struct generated *events, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        l->capacity[i] = doublets_limit(c, events[i].n);
        for (uint32_t k = 0; k < 2; k++) {
            l->slot->batch.outputs[0][i].column[k] =
                malloc((l->capacity[i] + 1) * sizeof(uint32_t));
            if (!l->slot->batch.outputs[0][i].column[k])
                return -ENOMEM;
        }
    }
    return 0;
}

void lane_close(struct lane *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; l->slot && i < l->drive->s.limits.max_rois; i++) {
        free(l->slot->batch.outputs[0][i].column[0]);
        free(l->slot->batch.outputs[0][i].column[1]);
    }
    drive_close(l->drive);
    free(l->capacity);
    free(l);
}

static int open_lane(struct lane *l, const struct device *device, const struct doublets_config *c,
                     const struct generated *events, uint32_t n)
{
    struct drive_setup setup = {.host = &devices_host,
                                .plugin = &trg_plugin,
                                .config = c,
                                .device = device->d,
                                .limits = {.size = sizeof setup.limits, .slots = 1, .max_rois = n}};
    int r;

    for (uint32_t i = 0; i < n; i++)
        setup.limits.max_items += events[i].n;
    setup.limits.max_items_roi = setup.limits.max_items;
    l->capacity = calloc(n, sizeof *l->capacity);
    r = l->capacity ? drive_open(&setup, &l->drive) : -ENOMEM;
    if (r < 0)
        return r;
    l->slot = &l->drive->slot[0];
    for (uint32_t i = 0; i < n; i++) {
        const struct generated_hits *h = &events[i].hits;

        l->slot->infos[i] = events[i].info;
        l->drive->sources[0][i] =
            (struct stage_source){.n = events[i].n, .column = {h->x, h->y, h->z, h->layer, h->id}};
    }
    drive_gather(l->drive, l->slot, n);
    r = make_outputs(l, c, events, n);
    return r < 0 ? r : drive_create(l->drive);
}

struct lane *lane_open(const struct device *device, const struct doublets_config *c,
                       const struct generated *events, uint32_t n)
{
    struct lane *l = calloc(1, sizeof *l);
    int r = l ? open_lane(l, device, c, events, n) : -ENOMEM;

    if (r == 0)
        return l;
    fprintf(stderr, "cannot run %u events on %s: %s\n", n, device->info.name, strerror(-r));
    lane_close(l);
    return NULL;
}

int lane_run(struct lane *l, bool to_host)
{
    int r;

    for (uint32_t i = 0; i < l->slot->batch.n_rois; i++)
        l->slot->batch.outputs[0][i].capacity = to_host ? l->capacity[i] : 0;
    r = drive_copy_in(l->drive, l->slot);
    if (r == 0)
        r = drive_submit(l->drive, l->slot);
    return r < 0 ? r : drive_collect(l->drive, l->slot);
}

const struct trg_result *lane_result(const struct lane *l, uint32_t i)
{
    return &l->slot->results[i];
}

const struct trg_output *lane_output(const struct lane *l, uint32_t i)
{
    return &l->slot->batch.outputs[0][i];
}
