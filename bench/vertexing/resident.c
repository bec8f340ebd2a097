/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <errno.h>
#include <stdlib.h>

#include "drive.h"

#define SLOTS 3u

struct resident {
    struct drive *drive;
    uint32_t left; /* batches of the run */
};

void resident_close(struct resident *r)
{
    if (!r)
        return;
    drive_close(r->drive);
    free(r);
}

/* Puts the events' columns onto the device, for every slot. */
static int upload(struct drive *d, const struct event *events, uint32_t n)
{
    int r = 0;

    for (uint32_t i = 0; i < n; i++) {
        d->sources[0][i].n = events[i].n;
        for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
            d->sources[0][i].column[c] = events[i].column[c];
    }
    for (uint32_t k = 0; r == 0 && k < SLOTS; k++) {
        struct drive_slot *s = &d->slot[k];

        for (uint32_t i = 0; i < n; i++)
            s->infos[i] = events[i].info;
        drive_gather(d, s, n);
        r = drive_copy_in(d, s);
        if (r == 0)
            r = trg_finish(s->queue);
    }
    return r;
}

int resident_open(const struct algo_host *h, struct trg_device *device,
                  const struct vx_config *config, const struct event *events, uint32_t n,
                  struct resident **ret_resident)
{
    struct resident *r = calloc(1, sizeof *r);
    struct drive_setup setup = {
        .host = &h->host,
        .plugin = &h->plugin->d,
        .config = config,
        .device = device,
        .limits = {.size = sizeof setup.limits, .slots = SLOTS, .max_rois = n}};
    int e = r ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < n; i++)
        setup.limits.max_items += events[i].n;
    setup.limits.max_items_roi = setup.limits.max_items;
    if (e == 0)
        e = drive_open(&setup, &r->drive);
    if (e == 0)
        e = upload(r->drive, events, n);
    if (e == 0)
        e = drive_create(r->drive);
    if (e < 0) {
        resident_close(r);
        return e;
    }
    *ret_resident = r;
    return 0;
}

static int begin(void *ctx, struct drive_slot *s)
{
    struct resident *r = ctx;
    int e;

    if (!r->left)
        return 0;
    r->left--;
    e = drive_submit(r->drive, s);
    return e < 0 ? e : 1;
}

static int end(void *ctx, struct drive_slot *s)
{
    struct resident *r = ctx;

    return drive_collect(r->drive, s);
}

int resident_run(struct resident *r, uint32_t times)
{
    r->left = times;
    return drive_run(
        r->drive, &(struct drive_loop){.begin = begin, .end = end, .ctx = r, .in_flight = SLOTS});
}
