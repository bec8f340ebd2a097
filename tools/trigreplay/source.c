/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encoding.h"
#include "generator.h"
#include "sequence.h"

#define MAKERS_MAX   31u /* threads beside the caller's */
#define ROIS_A_MAKER 16u /* fewer are not worth a thread */

/* Items of all collections of an RoI. */
static uint32_t items_of(const Trigd__V1__Roi *roi)
{
    size_t n = roi->spacepoints ? roi->spacepoints->n_phi_rad : 0;

    if (roi->quantized_spacepoints)
        n += roi->quantized_spacepoints->layer.len;
    n += roi->hits ? roi->hits->n_x_mm : 0;
    n += roi->tracks ? roi->tracks->n_x_mm : 0;
    for (size_t i = 0; i < roi->n_columns; i++) {
        const Trigd__V1__Columns *m = roi->columns[i];
        const uint32_t kind = kind_of_hash(m->hash);

        if (kind && m->n_encoded)
            n += m->encoded[0].len / encoding_item_bytes(kind, true, 0);
        else if (kind && m->n_column)
            n += m->column[0].len / encoding_item_bytes(kind, false, 0);
    }
    return (uint32_t)n;
}

/* Packs an RoI without what is the generator's, or what every sending gives anew. */
static int pack_roi(const Trigd__V1__Roi *from, enum layout layout, struct source_roi *ret_roi)
{
    const Trigd__V1__Truth *truth = from->truth;
    struct source_roi r = {.has_truth = truth && truth->n_vertex_z_mm};
    struct layout_room room = {.n = 0};
    Trigd__V1__Roi roi = *from;
    int error = layout_apply(layout, &roi, &room);

    if (r.has_truth)
        r.truth_z_mm = truth->vertex_z_mm[0];
    r.items = items_of(&roi);
    r.run = roi.run;
    r.l1id = roi.l1id;
    r.event_rois = roi.event_rois;
    r.parts = 1;
    roi.truth = NULL;
    roi.kept = NULL;
    roi.token = 0;
    roi.l1id = 0;
    if (error == 0) {
        r.n = trigd__v1__roi__get_packed_size(&roi);
        r.bytes = malloc(r.n ? r.n : 1);
        error = r.bytes ? 0 : -ENOMEM;
    }
    if (error == 0) {
        trigd__v1__roi__pack(&roi, r.bytes);
        *ret_roi = r;
    }
    layout_room_fini(&room);
    return error;
}

struct making { /* shared by the threads that make RoIs */
    const struct generator_preset *preset;
    uint64_t seed;
    enum layout layout;
    struct source *source;
    _Atomic uint32_t next;
    _Atomic int result;
};

static void *make_rois(void *arg)
{
    struct making *m = arg;
    struct generated g;
    uint32_t i;

    generated_init(&g);
    while ((i = atomic_fetch_add(&m->next, 1)) < m->source->n && atomic_load(&m->result) == 0) {
        struct generated_message message;
        int r = generator_make(m->preset, m->seed, i, &g);

        if (r == 0) {
            generated_message(&g, &message);
            r = pack_roi(&message.roi, m->layout, &m->source->roi[i]);
        }
        if (r < 0)
            atomic_store(&m->result, r);
    }
    generated_fini(&g);
    return NULL;
}

/* Makes the RoIs on all cores: each is a function of its number alone. */
static int make_all(struct making *m)
{
    pthread_t thread[MAKERS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n = 0, wanted = cores > 1 ? (uint32_t)cores - 1 : 0;

    while (n < wanted && n < MAKERS_MAX && n < m->source->n / ROIS_A_MAKER &&
           pthread_create(&thread[n], NULL, make_rois, m) == 0)
        n++;
    make_rois(m);
    while (n)
        pthread_join(thread[--n], NULL);
    return atomic_load(&m->result);
}

/* Adds up the items, and finds the RoIs of one event, which follow each other. */
static void look_through(struct source *s)
{
    for (uint32_t i = 0, n; i < s->n; i += n) {
        const struct source_roi *first = &s->roi[i];

        for (n = 1; i + n < s->n && n < first->event_rois && first[n].run == first->run &&
                    first[n].l1id == first->l1id;
             n++) {
        }
        s->has_events |= first->event_rois > 1;
        for (uint32_t k = 0; k < n; k++) {
            s->roi[i + k].part = k;
            s->roi[i + k].parts = n;
            s->items += s->roi[i + k].items;
        }
    }
}

int source_generate(const char *preset, uint64_t seed, uint32_t n, enum layout layout,
                    struct source *ret_source)
{
    struct source s = {.n = n};
    struct making m = {
        .preset = generator_find(preset), .seed = seed, .layout = layout, .source = &s};
    int r;

    if (!m.preset)
        return -EINVAL;
    s.roi = calloc(n, sizeof *s.roi);
    if (!s.roi)
        return -ENOMEM;
    r = make_all(&m);
    if (r < 0) {
        source_free(&s);
        return r;
    }
    look_through(&s);
    *ret_source = s;
    return 0;
}

static int read_all(struct sequence *in, uint32_t n, enum layout layout, struct source *s)
{
    Trigd__V1__Roi *roi;
    int r = 0;

    while (r == 0 && s->n < n && (r = sequence_next(in, &roi)) == 1) {
        r = pack_roi(roi, layout, &s->roi[s->n]);
        s->n += r == 0;
    }
    return r;
}

int source_read(const char *path, uint32_t n, enum layout layout, struct source *ret_source)
{
    struct source s = {.n = 0};
    struct sequence *in;
    int r = sequence_open(path, &in);

    if (r < 0)
        return r;
    s.roi = calloc(n, sizeof *s.roi);
    r = s.roi ? read_all(in, n, layout, &s) : -ENOMEM;
    sequence_close(in);
    if (r == 0 && !s.n)
        r = -ENODATA;
    if (r < 0) {
        source_free(&s);
        return r;
    }
    look_through(&s);
    *ret_source = s;
    return 0;
}

/* Packs a changed RoI anew. */
static int put_back(struct source_roi *to, const Trigd__V1__Roi *roi)
{
    unsigned char *bytes = realloc(to->bytes, trigd__v1__roi__get_packed_size(roi) + 1);

    if (!bytes)
        return -ENOMEM;
    to->bytes = bytes;
    to->n = trigd__v1__roi__pack(roi, bytes);
    return 0;
}

int source_stamp(struct source *s, const uint32_t *type, uint32_t deadline_us)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < s->n; i++) {
        Trigd__V1__Roi *roi = trigd__v1__roi__unpack(NULL, s->roi[i].n, s->roi[i].bytes);

        if (!roi)
            return -ENOMEM;
        if (type)
            roi->type = *type;
        if (deadline_us)
            roi->deadline_us = deadline_us;
        r = put_back(&s->roi[i], roi);
        trigd__v1__roi__free_unpacked(roi, NULL);
    }
    return r;
}

/* Makes an RoI part `part` of an event of n, whose first RoI is `first` (NULL: itself). */
static int join(struct source_roi *to, Trigd__V1__Roi *roi, const Trigd__V1__Roi *first,
                uint32_t part, uint32_t n)
{
    if (first) {
        roi->run = first->run;
        roi->bcid = first->bcid;
        roi->lumi_block = first->lumi_block;
        roi->l1_bits = first->l1_bits;
    }
    roi->roi_id = part;
    roi->event_rois = n;
    to->event_rois = n;
    to->part = part;
    to->parts = n;
    return put_back(to, roi);
}

int source_group(struct source *s, uint32_t n)
{
    Trigd__V1__Roi *first = NULL;
    int r = 0;

    for (uint32_t i = s->n - s->n % n; i < s->n; i++) {
        s->items -= s->roi[i].items;
        free(s->roi[i].bytes);
    }
    s->n -= s->n % n;
    s->has_events = true;
    for (uint32_t i = 0; r == 0 && i < s->n; i++) {
        Trigd__V1__Roi *roi = trigd__v1__roi__unpack(NULL, s->roi[i].n, s->roi[i].bytes);

        if (!roi) {
            r = -ENOMEM;
            break;
        }
        r = join(&s->roi[i], roi, i % n ? first : NULL, i % n, n);
        if (i % n) {
            trigd__v1__roi__free_unpacked(roi, NULL);
            continue;
        }
        if (first)
            trigd__v1__roi__free_unpacked(first, NULL);
        first = roi;
    }
    if (first)
        trigd__v1__roi__free_unpacked(first, NULL);
    return r == 0 && !s->n ? -ENODATA : r;
}

void source_free(struct source *s)
{
    for (uint32_t i = 0; s->roi && i < s->n; i++)
        free(s->roi[i].bytes);
    free(s->roi);
    *s = (struct source){.n = 0};
}
