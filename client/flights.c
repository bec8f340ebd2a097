/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "events.h"

#define CREDITS_MAX (1u << 20) /* what we ever use of a grant */
#define ROOM_LEAST  64u

/* Room for four times as many RoIs on their way as there are credits, so that a free place is
 * quickly found.  What is on its way stays: numbers that differ modulo the old room differ modulo a
 * multiple of it. */
int flights_grant(struct trg_client *c, uint32_t credits)
{
    uint32_t room = c->room ? c->room : ROOM_LEAST, old_room = c->room;
    struct flight *old = c->flight, *flight;
    uint64_t *again;

    credits = credits < CREDITS_MAX ? credits : CREDITS_MAX;
    while (room < 4 * credits)
        room *= 2;
    if (room != old_room) {
        again = realloc(c->again, room * sizeof *again);
        if (!again)
            return -ENOMEM;
        c->again = again;
        flight = calloc(room, sizeof *flight);
        if (!flight)
            return -ENOMEM;
        c->flight = flight;
        c->room = room;
        for (uint32_t i = 0; i < old_room; i++)
            if (old[i].state != FLIGHT_FREE)
                *flights_of(c, old[i].token) = old[i];
        free(old);
    }
    c->stats.credits = credits;
    return 0;
}

/* Decisions can overtake, so a place that is still taken is passed over. */
struct flight *flights_new(struct trg_client *c, const struct trg_client_roi *roi)
{
    struct flight *f;

    while (flights_of(c, c->next_token)->state != FLIGHT_FREE)
        c->next_token++;
    f = flights_of(c, c->next_token);
    *f = (struct flight){.roi = *roi, .token = c->next_token++};
    return f;
}

void flights_again(struct trg_client *c, struct flight *f, bool not_taken)
{
    f->state = FLIGHT_AGAIN;
    f->not_taken = not_taken;
    if (c->is_finishing)
        flights_lose(c, f);
    else
        c->again[c->stats.waiting++] = f->token; /* each flight is in it once at most */
}

void flights_lose(struct trg_client *c, struct flight *f)
{
    struct trg_client_end end = {.kind = TRG_CLIENT_LOST, .not_taken = f->not_taken};

    flights_end(c, f, &end);
}

void flights_lose_all(struct trg_client *c)
{
    for (uint32_t i = 0; i < c->room; i++)
        if (c->flight[i].state == FLIGHT_SENT || c->flight[i].state == FLIGHT_AGAIN)
            flights_lose(c, &c->flight[i]);
    events_close(c);
}

bool flights_are_open(const struct trg_client *c)
{
    return c->stats.outstanding || c->stats.waiting || c->crossings.n_open;
}

static void call_back(struct trg_client *c, const struct flight *f, struct trg_client_end *end)
{
    end->size = sizeof *end;
    end->user = f->roi.user;
    if (end->kind != TRG_CLIENT_DECIDED) { /* a decision says so itself */
        end->run = f->roi.info.run;
        end->l1id = f->roi.info.l1id;
        end->roi_id = f->roi.info.roi_id;
    }
    end->sendings = f->sendings;
    end->sent_ns = f->sent_ns;
    if (!end->text)
        end->text = "";
    c->n_ended++;
    c->ended(c->arg, end);
}

void flights_end(struct trg_client *c, struct flight *f, struct trg_client_end *end)
{
    const bool was_told = f->was_told;
    const uint32_t event = f->event;

    f->was_told = true;
    f->state = event ? FLIGHT_TOLD : FLIGHT_FREE;
    c->n_told += event != 0;
    if (!was_told)
        call_back(c, f, end); /* its place may be another's then */
    if (event)
        events_answered(c, event, (enum trg_client_end_kind)end->kind);
}
