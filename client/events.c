/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <stdio.h>

/* RoIs that begin with `first` and are of its event. */
static uint32_t together(const struct trg_client_roi *first, uint32_t left)
{
    uint32_t n = 1;

    while (n < left && first[n].event_rois > 1 && first[n].info.run == first->info.run &&
           first[n].info.l1id == first->info.l1id)
        n++;
    return n;
}

static int begin_one(struct trg_client *c, const struct trg_roi_info *info, uint32_t n,
                     uint32_t *ret_place, char *why, size_t bytes)
{
    if (crossings_grow(&c->crossings, c->room) < 0) {
        snprintf(why, bytes, "no memory for %u events", c->room);
        return -ENOMEM;
    }
    if (crossings_find(&c->crossings, info->run, info->l1id)) {
        snprintf(
            why, bytes,
            "event %u/%u (run/l1id) is on its way; its RoIs go one after the other in one call",
            info->run, info->l1id);
        return -EINVAL;
    }
    *ret_place = crossings_add(&c->crossings, info->run, info->l1id, n);
    return 0;
}

int events_begin(struct trg_client *c, const struct trg_client_roi *rois, uint32_t n,
                 uint32_t *ret_places, char *why, size_t bytes)
{
    uint32_t i, k;

    for (i = 0; i < n; i += k) {
        uint32_t place = 0;
        int r = 0;

        k = 1;
        if (rois[i].event_rois > 1) {
            k = together(&rois[i], n - i);
            r = begin_one(c, &rois[i].info, k, &place, why, bytes);
        }
        if (r < 0) {
            while (i--)
                if (ret_places[i] && (!i || ret_places[i - 1] != ret_places[i]))
                    crossings_remove(&c->crossings, ret_places[i]);
            return r;
        }
        for (uint32_t of = i; of < i + k; of++)
            ret_places[of] = place;
    }
    return 0;
}

void events_join(struct trg_client *c, uint32_t place, struct flight *f)
{
    struct crossing *e;

    f->event = place;
    if (!place)
        return;
    e = &c->crossings.at[place];
    e->last_token = f->token;
    if (e->n_joined++)
        return;
    e->first_token = f->token;
    c->stats.events_sent++;
}

/* ---------------------------------------------------------------- the end */

static void call_back(struct trg_client *c, struct trg_client_event_end *end)
{
    end->size = sizeof *end;
    if (c->event_ended)
        c->event_ended(c->arg, end);
}

/* Lets go of the RoIs of an event of which nothing more comes. */
static void leave(struct trg_client *c, uint32_t place)
{
    const struct crossing e = c->crossings.at[place];

    if (e.n_told < e.n_rois || (!e.is_decided && e.n_refused + e.n_lost < e.n_rois))
        return;
    for (uint64_t token = e.first_token; token <= e.last_token; token++) {
        struct flight *f = flights_of(c, token);

        if (f->state != FLIGHT_TOLD || f->token != token)
            continue;
        f->state = FLIGHT_FREE;
        c->n_told--;
    }
    crossings_remove(&c->crossings, place);
    if (e.is_decided)
        return;
    c->stats.events_refused += !e.n_lost;
    call_back(
        c, &(struct trg_client_event_end){.kind = e.n_lost ? TRG_CLIENT_LOST : TRG_CLIENT_REFUSED,
                                          .run = e.run,
                                          .l1id = e.l1id,
                                          .event_rois = e.n_rois});
}

void events_answered(struct trg_client *c, uint32_t place, enum trg_client_end_kind kind)
{
    struct crossing *e = &c->crossings.at[place];

    e->n_told++;
    e->n_refused += kind == TRG_CLIENT_REFUSED;
    e->n_lost += kind == TRG_CLIENT_LOST;
    leave(c, place);
}

static void count(struct trg_client_stats *s, const Trigd__V1__EventDecision *d)
{
    if (d->status != TRIGD__V1__STATUS__OK && d->status != TRIGD__V1__STATUS__TRUNCATED)
        s->events_failed++;
    else if (d->accept)
        s->events_accepted++;
    else
        s->events_rejected++;
}

static void tell(struct trg_client *c, const Trigd__V1__EventDecision *d, uint64_t now_ns)
{
    struct trg_client_event_end end = {.kind = TRG_CLIENT_DECIDED,
                                       .run = d->run,
                                       .l1id = d->l1id,
                                       .event_rois = d->rois,
                                       .came = d->came,
                                       .received_ns = now_ns,
                                       .accept = d->accept,
                                       .late = d->late,
                                       .repeated = d->repeated,
                                       .status = (uint32_t)d->status,
                                       .latency_us = d->latency_us,
                                       .menu_generation = d->menu_generation,
                                       .menu_key = d->menu_key,
                                       .prescale_key = d->prescale_key,
                                       .conditions_key = d->conditions_key,
                                       .chains_raw = d->chains_raw,
                                       .chains = d->chains,
                                       .streams = d->streams,
                                       .n_chains_raw = (uint32_t)d->n_chains_raw,
                                       .n_chains = (uint32_t)d->n_chains,
                                       .n_streams = (uint32_t)d->n_streams};

    call_back(c, &end);
}

void events_decided(struct trg_client *c, const Trigd__V1__EventDecision *d, uint64_t now_ns)
{
    const uint32_t place = crossings_find(&c->crossings, d->run, d->l1id);
    struct crossing *e = place ? &c->crossings.at[place] : NULL;

    if (!e || e->is_decided) {
        if (!d->repeated && !(e && e->is_repeat))
            *(e ? &c->stats.duplicates : &c->stats.unknown) += 1;
        return;
    }
    e->is_decided = true;
    count(&c->stats, d);
    tell(c, d, now_ns);
    leave(c, place);
}

/* ---------------------------------------------------------------- all */

void events_again(struct trg_client *c)
{
    for (uint32_t place = 1; c->crossings.n_open && place <= c->crossings.room; place++) {
        struct crossing *e = &c->crossings.at[place];

        e->n_told = e->n_refused = e->n_lost = 0;
        e->is_repeat = true;
    }
}

void events_close(struct trg_client *c)
{
    for (uint32_t place = 1; c->crossings.n_open && place <= c->crossings.room; place++) {
        const struct crossing e = c->crossings.at[place];

        if (!e.n_rois)
            continue;
        crossings_remove(&c->crossings, place);
        if (!e.is_decided)
            call_back(c, &(struct trg_client_event_end){.kind = TRG_CLIENT_LOST,
                                                        .run = e.run,
                                                        .l1id = e.l1id,
                                                        .event_rois = e.n_rois});
    }
}
