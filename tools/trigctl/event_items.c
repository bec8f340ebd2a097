/* SPDX-License-Identifier: Apache-2.0 */
#include "event_items.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "kinds.h"
#include "quantized.h"
#include "recode.h"
#include "trigd/collection.h"

#define MATCH_MM 0.5f  /* a point so near to a track is of it */
#define ALONE_MM 10.0f /* half of what is drawn of a track without points */

static int add(struct event_items *e, const struct event_item *item)
{
    if (array_grow(&e->item, e->n, &e->room, sizeof *e->item) < 0)
        return -ENOMEM;
    e->item[e->n++] = *item;
    e->count[item->kind]++;
    return 0;
}

static void name_source(struct event_items *e, const char *name)
{
    const size_t n = strlen(e->sources);

    if (!strstr(e->sources, name))
        snprintf(e->sources + n, sizeof e->sources - n, "%s%s", n ? ", " : "", name);
}

static int add_spacepoints(struct event_items *e, const Trigd__V1__Spacepoints *s)
{
    int r = s->n_rho_mm == s->n_phi_rad && s->n_z_mm == s->n_phi_rad ? 0 : -EBADMSG;

    name_source(e, "spacepoints");
    for (size_t i = 0; r == 0 && i < s->n_phi_rad; i++)
        r = add(e, &(struct event_item){.x = s->rho_mm[i] * cosf(s->phi_rad[i]),
                                        .y = s->rho_mm[i] * sinf(s->phi_rad[i]),
                                        .z = s->z_mm[i]});
    return r;
}

static int add_hits(struct event_items *e, const Trigd__V1__Hits *h)
{
    int r = h->n_y_mm == h->n_x_mm && h->n_z_mm == h->n_x_mm ? 0 : -EBADMSG;

    name_source(e, "hits");
    for (size_t i = 0; r == 0 && i < h->n_x_mm; i++)
        r = add(e, &(struct event_item){.x = h->x_mm[i], .y = h->y_mm[i], .z = h->z_mm[i]});
    return r;
}

static int add_tracks(struct event_items *e, const Trigd__V1__Tracks *t)
{
    const size_t n = t->n_x_mm;
    int r = t->n_y_mm == n && t->n_z_mm == n && t->n_tx == n && t->n_ty == n ? 0 : -EBADMSG;

    name_source(e, "tracks");
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add(e, &(struct event_item){.kind = EVENT_TRACKS,
                                        .x = t->x_mm[i],
                                        .y = t->y_mm[i],
                                        .z = t->z_mm[i],
                                        .tx = t->tx[i],
                                        .ty = t->ty[i]});
    return r;
}

/* The column of single-precision numbers of that name; NULL: there is none. */
static const ProtobufCBinaryData *floats(const struct trg_collection *c,
                                         const Trigd__V1__Columns *m, const char *name)
{
    for (uint32_t i = 0; i < c->n_columns && i < m->n_column; i++)
        if (!strcmp(c->column[i].name, name) && c->column[i].length == 1 &&
            (c->column[i].type == TRG_F32 || !strcmp(name, "type")))
            return &m->column[i];
    return NULL;
}

static float at(const ProtobufCBinaryData *column, size_t i)
{
    float value = 0;

    if (column && (i + 1) * sizeof value <= column->len)
        memcpy(&value, column->data + i * sizeof value, sizeof value);
    return value;
}

/* The columns of a declared collection that say where its items are. */
struct places {
    const ProtobufCBinaryData *x, *y, *z, *rho, *phi; /* x and y, or rho and phi */
    const ProtobufCBinaryData *tx, *ty, *type;        /* NULL: there is none */
};

static bool find_places(const struct trg_collection *c, const Trigd__V1__Columns *m,
                        struct places *p)
{
    *p = (struct places){.x = floats(c, m, "x"),
                         .y = floats(c, m, "y"),
                         .z = floats(c, m, "z"),
                         .rho = floats(c, m, "rho"),
                         .phi = floats(c, m, "phi"),
                         .tx = floats(c, m, "tx"),
                         .ty = floats(c, m, "ty"),
                         .type = floats(c, m, "type")};
    return p->z && ((p->x && p->y) || (p->rho && p->phi));
}

/* One with slopes holds tracks, "vertices" vertices, and any other points.  One without positions,
 * or that is not known here, has nothing to draw. */
static int add_plain(struct event_items *e, const Trigd__V1__Columns *m)
{
    const struct trg_collection *c = kind_info(kind_of_hash(m->hash));
    enum event_kind kind;
    struct places p;
    int r = 0;

    if (!c || !find_places(c, m, &p))
        return 0;
    if ((p.x ? p.x : p.rho)->len != p.z->len || (p.x ? p.y : p.phi)->len != p.z->len)
        return -EBADMSG;
    name_source(e, c->name);
    kind = !strcmp(c->name, "vertices") ? EVENT_VERTICES
           : p.tx && p.ty               ? EVENT_TRACKS
                                        : EVENT_POINTS;
    for (size_t i = 0; r == 0 && i < p.z->len / sizeof(float); i++)
        r = add(e, &(struct event_item){.kind = kind,
                                        .x = p.x ? at(p.x, i) : at(p.rho, i) * cosf(at(p.phi, i)),
                                        .y = p.x ? at(p.y, i) : at(p.rho, i) * sinf(at(p.phi, i)),
                                        .z = at(p.z, i),
                                        .tx = at(p.tx, i),
                                        .ty = at(p.ty, i),
                                        .is_secondary = kind == EVENT_VERTICES && p.type &&
                                                        at(p.type, i) != 0});
    return r;
}

static int add_columns(struct event_items *e, const Trigd__V1__Columns *m)
{
    struct recode plain = {.data = NULL};
    int r;

    if (!m->n_encoded || !recode_can(m->hash))
        return add_plain(e, m);
    r = recode_plain(m, &plain);
    if (r == 0)
        r = add_plain(e, &plain.columns);
    recode_fini(&plain);
    return r;
}

int event_items_add(struct event_items *e, const Trigd__V1__Roi *roi)
{
    struct quantized quantized;
    int r = 0;

    e->run = roi->run;
    e->l1id = roi->l1id;
    e->n_rois++;
    if (roi->spacepoints)
        r = add_spacepoints(e, roi->spacepoints);
    if (r == 0 && roi->quantized_spacepoints)
        r = add_columns(e, quantized_columns(roi->quantized_spacepoints, &quantized));
    if (r == 0 && roi->hits)
        r = add_hits(e, roi->hits);
    if (r == 0 && roi->tracks)
        r = add_tracks(e, roi->tracks);
    for (size_t i = 0; r == 0 && i < roi->n_columns; i++)
        r = add_columns(e, roi->columns[i]);
    for (size_t i = 0; r == 0 && roi->kept && i < roi->kept->n_products; i++)
        if (roi->kept->products[i]->columns)
            r = add_columns(e, roi->kept->products[i]->columns);
    return r;
}

static bool is_near(const struct event_item *track, const struct event_item *point)
{
    const float dz = point->z - track->z;

    return fabsf(track->x + track->tx * dz - point->x) < MATCH_MM &&
           fabsf(track->y + track->ty * dz - point->y) < MATCH_MM;
}

void event_items_match(struct event_items *e)
{
    for (size_t i = 0; i < e->n; i++) {
        struct event_item *t = &e->item[i];
        bool is_alone = true;

        if (t->kind != EVENT_TRACKS)
            continue;
        t->z_from = t->z_to = t->z;
        for (size_t k = 0; k < e->n; k++) {
            const struct event_item *p = &e->item[k];

            if (p->kind != EVENT_POINTS || !is_near(t, p))
                continue;
            t->z_from = fminf(t->z_from, p->z);
            t->z_to = fmaxf(t->z_to, p->z);
            is_alone = false;
        }
        if (is_alone) {
            const float along = ALONE_MM / sqrtf(1 + t->tx * t->tx + t->ty * t->ty);

            t->z_from = t->z - along;
            t->z_to = t->z + along;
        }
    }
}

void event_items_fini(struct event_items *e)
{
    free(e->item);
    *e = (struct event_items){.item = NULL};
}
