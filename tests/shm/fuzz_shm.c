/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all as an entry of shared memory and as the data behind it: what passes the checks
 * points into the data, and what a lane gathers of it has values that are allowed. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "exec/stage.h"
#include "transport/shm_entry.h"

#include "samples.collections.h"
#include "want.h"

#define DATA 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct wire_limits limits = {
    .max_message_bytes = 1u << 20, .max_rois = 8, .max_items = 1000, .max_layer = 31};

static struct shm_region *open_region(void)
{
    const struct shm_sizes sizes = {.entries = 64, .data_bytes = DATA};
    struct shm_window *window;
    struct shm_region *region;
    struct pool *pool;

    if (pool_open(16, 1u << 20, &pool) < 0 || shm_window_open(pool, 1, &sizes, &window) < 0 ||
        shm_region_new(window, &region) < 0)
        exit(1);
    return region;
}

static void check_column(const struct trg_column *info, const unsigned char *at, uint32_t n)
{
    size_t size = trg_type_size(info->type);

    for (uint32_t i = 0; i < n * info->length; i++) {
        float v;

        if (!strcmp(info->name, "layer"))
            WANT(at[i * size] + (size == 2 ? 256u * at[i * size + 1] : 0) <= limits.max_layer);
        if (info->type != TRG_F32)
            continue;
        memcpy(&v, at + i * size, sizeof v);
        WANT(isfinite(v));
    }
}

/* Gathers a collection as a lane does it. */
static void gather(uint32_t slot, const struct wire_roi *w, const unsigned char *data)
{
    const struct wire_collection *c = &w->collection[slot];
    const uint32_t kind = c->kind;
    static _Alignas(64) unsigned char staged[2 * DATA];
    const struct trg_collection *info = kind_info(kind);
    const struct trg_roi_info roi = {.l1id = 1};
    struct stage_guard guard = {.max_layer = limits.max_layer};
    struct stage_source source = {
        .n = c->n, .guard = &guard, .is_encoded = c->is_encoded, .sent = wire_sent(w, c)};
    struct trg_span span;

    WANT(stage_bytes(kind, 1, c->n) <= sizeof staged);
    for (uint32_t i = 0; i < info->n_columns; i++) {
        const unsigned char *at = c->column[i];

        WANT(at >= data && at + c->n * encoding_item_bytes(kind, c->is_encoded, i) <= data + DATA);
        source.column[i] = at;
    }
    stage_fill(kind, 1, &roi, &source, staged, &span);
    for (uint32_t i = 0; i < info->n_columns; i++)
        check_column(&info->column[i], staged + span.column[i], c->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct shm_region *region; /* one for all inputs */
    struct shm_roi entry = {.token = 0};
    struct wire_error e;
    struct wire_roi w;
    int r;

    if (!region) {
        char why[256];
        uint32_t kind;

        region = open_region();
        WANT(kind_add(&trg_samples, &kind, why, sizeof why) == 0);
    }
    memcpy(&entry, data, n < sizeof entry ? n : sizeof entry);
    memset(shm_region_data(region), 0, DATA);
    if (n > sizeof entry)
        memcpy(shm_region_data(region), data + sizeof entry,
               n - sizeof entry < DATA ? n - sizeof entry : DATA);
    r = shm_entry_check(&entry, region, &limits, &w, &e);
    if (r < 0) {
        WANT(r == -EBADMSG && e.code > TRIGD__V1__ERROR__CODE__NONE);
        WANT(memchr(e.text, '\0', sizeof e.text) != NULL && strlen(e.text) >= 20);
        return 0;
    }
    WANT(w.token == entry.token && fabsf(w.info.eta) <= 10);
    for (uint32_t k = 0; k < WIRE_SLOTS; k++) {
        WANT(w.collection[k].n <= limits.max_items);
        if (w.collection[k].is_there)
            gather(k, &w, shm_region_data(region));
    }
    return 0;
}
