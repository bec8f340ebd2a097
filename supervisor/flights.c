/* SPDX-License-Identifier: Apache-2.0 */
#include "flights.h"

#include <errno.h>
#include <stdlib.h>

#define ROI_BITS   8u /* of a token: RoI, flight, epoch */
#define PLACE_BITS 20u

_Static_assert(1u << ROI_BITS == ROUTE_ROIS, "an RoI's number within its batch has a byte");

int flights_open(struct flights *fs, uint32_t most)
{
    *fs = (struct flights){.most = most};
    fs->flight = calloc(most, sizeof *fs->flight);
    fs->free = calloc(most, sizeof *fs->free);
    TAILQ_INIT(&fs->by_age);
    TAILQ_INIT(&fs->waiting);
    TAILQ_INIT(&fs->fetched);
    if (!fs->flight || !fs->free || most > 1u << PLACE_BITS) {
        flights_close(fs);
        return -ENOMEM;
    }
    for (uint32_t i = most; i-- > 0;) {
        fs->free[fs->n_free++] = i;
        zmq_msg_init(&fs->flight[i].body);
    }
    return 0;
}

void flights_close(struct flights *fs)
{
    for (uint32_t i = 0; fs->flight && i < fs->most; i++) {
        zmq_msg_close(&fs->flight[i].body);
        free(fs->flight[i].roi);
    }
    free(fs->flight);
    free(fs->free);
    *fs = (struct flights){.most = 0};
}

static bool make_room(struct flight *f, uint32_t n)
{
    struct flight_roi *more;

    if (n <= f->room)
        return true;
    more = realloc(f->roi, n * sizeof *more);
    if (!more)
        return false;
    f->roi = more;
    f->room = n;
    return true;
}

struct flight *flights_take(struct flights *fs, uint32_t n, const struct mask *open, uint32_t bytes,
                            zmq_msg_t *body)
{
    struct flight *f;

    if (!fs->n_free)
        return NULL;
    f = &fs->flight[fs->free[fs->n_free - 1]];
    if (!make_room(f, n))
        return NULL;
    fs->n_free--;
    f->epoch++;
    if (!f->epoch) /* so that no token is 0, which protobuf leaves out */
        f->epoch = 1;
    f->n = n;
    f->is_routed = f->was_given_again = f->is_waiting = f->is_fetched = false;
    f->has_body = body != NULL;
    f->bytes = bytes;
    f->open = *open;
    f->waiting = mask_first(0);
    for (uint32_t i = 0; i < FLIGHT_HOLDS; i++)
        f->hold[i] = (struct hold){.flight = f, .link = FLIGHTS_NONE};
    if (body)
        zmq_msg_move(&f->body, body);
    TAILQ_INSERT_TAIL(&fs->by_age, f, by_age);
    flights_wait(fs, f, &f->open, false);
    return f;
}

bool flights_put_if_done(struct flights *fs, struct flight *f)
{
    if (!mask_is_empty(&f->open))
        return false;
    for (uint32_t i = 0; i < FLIGHT_HOLDS; i++)
        if (f->hold[i].link != FLIGHTS_NONE)
            return false;
    TAILQ_REMOVE(&fs->by_age, f, by_age);
    zmq_msg_close(&f->body);
    zmq_msg_init(&f->body);
    f->n = 0;
    fs->free[fs->n_free++] = (uint32_t)(f - fs->flight);
    return true;
}

uint64_t flights_token(const struct flights *fs, const struct flight *f)
{
    return (uint64_t)f->epoch << (PLACE_BITS + ROI_BITS) | (uint64_t)(f - fs->flight) << ROI_BITS;
}

struct flight *flights_find(const struct flights *fs, uint64_t token, uint32_t *ret_roi)
{
    const uint64_t place = token >> ROI_BITS & ((1u << PLACE_BITS) - 1);
    struct flight *f;

    if (place >= fs->most)
        return NULL;
    f = &fs->flight[place];
    *ret_roi = (uint32_t)(token & (ROUTE_ROIS - 1));
    return f->epoch == token >> (PLACE_BITS + ROI_BITS) && *ret_roi < f->n ? f : NULL;
}

uint64_t flight_client_token(const struct flight *f, uint32_t i)
{
    return f->is_routed ? f->route.token + i : f->roi[i].token;
}

uint64_t flight_event_of(uint32_t run, uint32_t l1id)
{
    return (uint64_t)run << 32 | l1id;
}

uint64_t flight_event(const struct flight *f, uint32_t i)
{
    return f->is_routed ? flight_event_of(f->route.run, f->route.l1id) : f->roi[i].event;
}

struct hold *flight_hold(struct flight *f, uint32_t link)
{
    for (uint32_t i = 0; i < FLIGHT_HOLDS; i++)
        if (f->hold[i].link == link)
            return &f->hold[i];
    return NULL;
}

struct mask flight_held(const struct flight *f)
{
    struct mask held = {{0}};

    for (uint32_t i = 0; i < FLIGHT_HOLDS; i++)
        if (f->hold[i].link != FLIGHTS_NONE)
            held = mask_or(&held, &f->hold[i].rois);
    return held;
}

void flights_wait(struct flights *fs, struct flight *f, const struct mask *rois, bool is_first)
{
    f->waiting = mask_or(&f->waiting, rois);
    if (f->is_waiting || f->is_fetched || mask_is_empty(&f->waiting))
        return;
    f->is_waiting = true;
    if (is_first)
        TAILQ_INSERT_HEAD(&fs->waiting, f, of_waiting);
    else
        TAILQ_INSERT_TAIL(&fs->waiting, f, of_waiting);
}

void flights_fetch(struct flights *fs, struct flight *f)
{
    f->is_waiting = false;
    f->is_fetched = true;
    TAILQ_REMOVE(&fs->waiting, f, of_waiting);
    TAILQ_INSERT_TAIL(&fs->fetched, f, of_waiting);
}

void flights_fetched(struct flights *fs, struct flight *f, zmq_msg_t *body)
{
    const struct mask none = {{0}};

    f->is_fetched = false;
    TAILQ_REMOVE(&fs->fetched, f, of_waiting);
    f->has_body = true;
    zmq_msg_move(&f->body, body);
    flights_wait(fs, f, &none, false);
}

void flights_stop_waiting(struct flights *fs, struct flight *f, const struct mask *rois)
{
    f->waiting = mask_without(&f->waiting, rois);
    if (!mask_is_empty(&f->waiting))
        return;
    if (f->is_waiting)
        TAILQ_REMOVE(&fs->waiting, f, of_waiting);
    if (f->is_fetched)
        TAILQ_REMOVE(&fs->fetched, f, of_waiting);
    f->is_waiting = f->is_fetched = false;
}
