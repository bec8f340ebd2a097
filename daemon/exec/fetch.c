/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/fetch.h"

#include <errno.h>
#include <stdlib.h>

#include "encoding.h"

#define ROOM_MORE (UINT64_C(64) << 20) /* for small RoIs, at most */

int fetch_open(uint32_t max_rois, struct fetch *ret_fetch)
{
    struct fetch f = {.least = FETCH_LEAST,
                      .batch = FETCH_BATCH,
                      .max_rois = max_rois,
                      .max_parts = 2 * max_rois};

    f.at = calloc(f.max_rois, sizeof *f.at);
    f.parts = calloc(f.max_parts, sizeof *f.parts);
    if (!f.at || !f.parts) {
        fetch_close(&f);
        return -ENOMEM;
    }
    *ret_fetch = f;
    return 0;
}

void fetch_close(struct fetch *f)
{
    free(f->at);
    free(f->parts);
    *f = (struct fetch){0};
}

uint64_t fetch_room(uint32_t max_rois, uint64_t bytes)
{
    const uint64_t more = max_rois * FETCH_LEAST;

    return bytes + (more < ROOM_MORE ? more : ROOM_MORE);
}

uint64_t fetch_left(const struct fetch_window *w, uint64_t at)
{
    const uint64_t in_region = (at - w->first) % w->distance;
    const uint64_t piece = w->bytes - in_region % w->bytes, region = w->whole - in_region;

    return piece < region ? piece : region;
}

/* From the first column's start to the last one's end. */
static uint64_t columns_bytes(uint32_t kind, const struct arena_source *from)
{
    uint64_t bytes = 0;

    for (uint32_t c = 0; c < kind_info(kind)->n_columns; c++)
        bytes += arena_align(from->capacity * encoding_item_bytes(kind, from->is_encoded != 0, c));
    return bytes;
}

/* Lets the last part have its least. */
static void pad(struct fetch *f, const struct fetch_window *w)
{
    struct trg_copy_part *last = f->n_parts ? &f->parts[f->n_parts - 1] : NULL;
    uint64_t left;

    if (last && last->bytes < f->least) {
        left = fetch_left(w, last->src_at);
        last->bytes = left < f->least ? left : f->least;
    }
    f->bytes = last ? arena_align(last->dst_at + last->bytes) : 0;
}

static bool follows(const struct fetch *f, const struct fetch_window *w, uint64_t at,
                    uint64_t bytes)
{
    const struct trg_copy_part *last = f->n_parts ? &f->parts[f->n_parts - 1] : NULL;

    return last && last->src_at + last->bytes == at &&
           fetch_left(w, last->src_at) >= last->bytes + bytes;
}

/* Adds what an RoI has, in as many parts as it lies in. */
static bool add(struct fetch *f, const struct fetch_window *w, uint64_t at, uint64_t bytes,
                uint64_t *ret_at)
{
    if (follows(f, w, at, bytes)) {
        struct trg_copy_part *last = &f->parts[f->n_parts - 1];

        *ret_at = last->dst_at + last->bytes;
        last->bytes += bytes;
        return true;
    }
    pad(f, w);
    *ret_at = f->bytes;
    while (bytes) {
        const uint64_t left = fetch_left(w, at), n = bytes < left ? bytes : left;

        if (f->n_parts == f->max_parts)
            return false;
        f->parts[f->n_parts++] = (struct trg_copy_part){f->bytes, at, n};
        f->bytes += n;
        at += n;
        bytes -= n;
    }
    return true;
}

static uint64_t wanted_bytes(uint32_t kind, uint32_t n_rois, const struct arena_source *sources)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < n_rois; i++)
        bytes += sources[i].n ? columns_bytes(kind, &sources[i]) : 0;
    return bytes;
}

bool fetch_plan(struct fetch *f, const struct fetch_window *w, uint32_t kind, uint32_t n_rois,
                const struct arena_source *sources, uint64_t room)
{
    const uint64_t wanted = wanted_bytes(kind, n_rois, sources);
    const uint64_t most = FETCH_MORE * wanted < room ? FETCH_MORE * wanted : room;

    if (n_rois > f->max_rois || wanted < f->batch)
        return false;
    f->n_parts = 0;
    f->bytes = 0;
    for (uint32_t i = 0; i < n_rois && f->bytes <= most; i++) {
        const uint64_t bytes = sources[i].n ? columns_bytes(kind, &sources[i]) : 0;

        f->at[i] = 0;
        if (bytes && !add(f, w, sources[i].at, bytes, &f->at[i]))
            return false;
    }
    pad(f, w);
    return f->bytes <= most;
}
