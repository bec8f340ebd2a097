/* SPDX-License-Identifier: Apache-2.0 */
#include "gen_store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void generated_init(struct generated *g)
{
    memset(g, 0, sizeof *g);
}

void generated_fini(struct generated *g)
{
    struct generated_hits *h = &g->hits;
    struct generated_tracks *t = &g->tracks;
    void *all[] = {g->phi,
                   g->rho,
                   g->z,
                   g->layer,
                   h->x,
                   h->y,
                   h->z,
                   h->layer,
                   h->id,
                   t->x,
                   t->y,
                   t->z,
                   t->tx,
                   t->ty,
                   t->var_x,
                   t->var_tx,
                   t->cov_x_tx,
                   t->chi2,
                   t->qop,
                   t->n_hits,
                   g->banks.sensor,
                   g->banks.word,
                   g->pixels.module,
                   g->pixels.column,
                   g->pixels.row,
                   g->pixels.charge,
                   g->brick.bytes,
                   g->particle,
                   g->shared_item,
                   g->shared_particle,
                   g->vertex_x,
                   g->vertex_y,
                   g->vertex_z,
                   g->vertex_tracks,
                   g->vertex_kind,
                   g->vertex_parent,
                   g->particle_vertex,
                   g->particle_flags,
                   g->pt,
                   g->eta,
                   g->phi0,
                   g->d0,
                   g->z0,
                   g->charge,
                   g->pdg};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    generated_init(g);
}

void store_begin(struct generated *g, uint32_t kind)
{
    g->kind = kind;
    g->n = g->n_crossings = g->n_vertices = g->n_particles = g->n_shared = 0;
}

void store_info(struct generated *g, const struct generator_preset *p, uint64_t i, uint32_t bcid,
                double z_max)
{
    g->info = (struct trg_roi_info){.run = 1,
                                    .l1id = (uint32_t)i,
                                    .bcid = bcid,
                                    .lumi_block = (uint32_t)(i / 100000) + 1,
                                    .l1_bits = 1,
                                    .eta_half = (float)p->eta_half,
                                    .phi_half_rad = (float)p->phi_half_rad,
                                    .z_min_mm = (float)-z_max,
                                    .z_max_mm = (float)z_max};
}

/* ---------------------------------------------------------------- room */

struct growing { /* one array of several that grow together; their elements have 1 to 4 bytes */
    void *array; /* address of the pointer */
    size_t size;
};

/* Makes the arrays long enough for one more than `n`. */
static int make_room(uint32_t n, uint32_t *room, uint32_t first, const struct growing *list,
                     size_t n_arrays)
{
    uint32_t wanted = *room ? 2 * *room : first;

    if (n < *room)
        return 0;
    if (wanted < *room)
        return -ENOMEM;
    for (size_t i = 0; i < n_arrays; i++) {
        void *old, *more;

        memcpy(&old, list[i].array, sizeof old);
        more = realloc(old, wanted * list[i].size);
        if (!more)
            return -ENOMEM;
        memcpy(list[i].array, &more, sizeof more);
    }
    *room = wanted;
    return 0;
}

#define ARRAY(p)          \
    {                     \
        &(p), sizeof *(p) \
    }
#define COUNT(all) (sizeof(all) / sizeof *(all))

static int room_for_particle_of(struct generated *g)
{
    const struct growing all[] = {ARRAY(g->particle)};

    return make_room(g->n, &g->particle_of_room, 1024, all, COUNT(all));
}

static int room_for_spacepoint(struct generated *g)
{
    const struct growing all[] = {ARRAY(g->phi), ARRAY(g->rho), ARRAY(g->z), ARRAY(g->layer)};

    return make_room(g->n, &g->room, 1024, all, COUNT(all));
}

static int room_for_hit(struct generated *g, uint32_t n)
{
    struct generated_hits *h = &g->hits;
    const struct growing all[] = {ARRAY(h->x), ARRAY(h->y), ARRAY(h->z), ARRAY(h->layer),
                                  ARRAY(h->id)};

    return make_room(n, &h->room, 1024, all, COUNT(all));
}

static int room_for_bank(struct generated *g)
{
    const struct growing all[] = {ARRAY(g->banks.sensor), ARRAY(g->banks.word)};

    return make_room(g->n, &g->banks.room, 1024, all, COUNT(all));
}

static int room_for_pixel(struct generated *g)
{
    struct generated_pixels *p = &g->pixels;
    const struct growing all[] = {ARRAY(p->module), ARRAY(p->column), ARRAY(p->row),
                                  ARRAY(p->charge)};

    return make_room(g->n, &p->room, 4096, all, COUNT(all));
}

static int room_for_track(struct generated *g)
{
    struct generated_tracks *t = &g->tracks;
    const struct growing all[] = {ARRAY(t->x),      ARRAY(t->y),        ARRAY(t->z),
                                  ARRAY(t->tx),     ARRAY(t->ty),       ARRAY(t->var_x),
                                  ARRAY(t->var_tx), ARRAY(t->cov_x_tx), ARRAY(t->chi2),
                                  ARRAY(t->qop),    ARRAY(t->n_hits)};

    return make_room(g->n, &t->room, 256, all, COUNT(all));
}

/* ---------------------------------------------------------------- truth */

int store_vertex(struct generated *g, double x, double y, double z, uint32_t kind, uint32_t parent,
                 uint32_t *ret_vertex)
{
    const struct growing all[] = {ARRAY(g->vertex_x),    ARRAY(g->vertex_y),
                                  ARRAY(g->vertex_z),    ARRAY(g->vertex_tracks),
                                  ARRAY(g->vertex_kind), ARRAY(g->vertex_parent)};
    int r = make_room(g->n_vertices, &g->vertex_room, 64, all, COUNT(all));
    uint32_t i = g->n_vertices;

    if (r < 0)
        return r;
    g->vertex_x[i] = (float)x;
    g->vertex_y[i] = (float)y;
    g->vertex_z[i] = (float)z;
    g->vertex_tracks[i] = 0;
    g->vertex_kind[i] = kind;
    g->vertex_parent[i] = parent;
    g->n_vertices++;
    *ret_vertex = i;
    return 0;
}

int store_particle(struct generated *g, const struct store_particle *p)
{
    const struct growing all[] = {ARRAY(g->particle_vertex),
                                  ARRAY(g->particle_flags),
                                  ARRAY(g->pt),
                                  ARRAY(g->eta),
                                  ARRAY(g->phi0),
                                  ARRAY(g->d0),
                                  ARRAY(g->z0),
                                  ARRAY(g->charge),
                                  ARRAY(g->pdg)};
    int r = make_room(g->n_particles, &g->particle_room, 512, all, COUNT(all));
    uint32_t i = g->n_particles;

    if (r < 0)
        return r;
    g->particle_vertex[i] = p->vertex;
    g->particle_flags[i] = p->flags;
    g->pt[i] = (float)p->pt;
    g->eta[i] = (float)p->eta;
    g->phi0[i] = (float)p->phi;
    g->d0[i] = (float)p->d0;
    g->z0[i] = (float)p->z0;
    g->charge[i] = p->charge;
    g->pdg[i] = p->pdg;
    return 0;
}

void store_keep_particle(struct generated *g, bool is_visible)
{
    uint32_t vertex = g->particle_vertex[g->n_particles++];

    if (is_visible && vertex != GENERATOR_NONE)
        g->vertex_tracks[vertex]++;
}

int store_claim(struct generated *g, uint32_t item, uint32_t particle)
{
    const struct growing all[] = {ARRAY(g->shared_item), ARRAY(g->shared_particle)};
    int r;

    if (g->particle[item] == GENERATOR_NOISE)
        g->particle[item] = particle;
    if (g->particle[item] == particle)
        return 0;
    r = make_room(g->n_shared, &g->shared_room, 64, all, COUNT(all));
    if (r < 0)
        return r;
    g->shared_item[g->n_shared] = item;
    g->shared_particle[g->n_shared++] = particle;
    return 0;
}

/* ---------------------------------------------------------------- items */

int store_spacepoint(struct generated *g, double phi, double rho, double z, uint32_t layer,
                     uint32_t particle)
{
    int r = room_for_spacepoint(g);

    if (r == 0)
        r = room_for_particle_of(g);
    if (r < 0)
        return r;
    g->phi[g->n] = (float)phi;
    g->rho[g->n] = (float)rho;
    g->z[g->n] = (float)z;
    g->layer[g->n] = (uint8_t)layer;
    g->particle[g->n++] = particle;
    return 0;
}

static void put_hit(struct generated_hits *h, uint32_t at, const double *place, uint32_t layer,
                    uint32_t id)
{
    h->x[at] = (float)place[0];
    h->y[at] = (float)place[1];
    h->z[at] = (float)place[2];
    h->layer[at] = (uint16_t)layer;
    h->id[at] = id;
}

int store_hit(struct generated *g, double x, double y, double z, uint32_t layer, uint32_t particle)
{
    int r = room_for_hit(g, g->n);

    if (r == 0)
        r = room_for_particle_of(g);
    if (r < 0)
        return r;
    put_hit(&g->hits, g->n, (const double[]){x, y, z}, layer, g->n);
    g->particle[g->n++] = particle;
    return 0;
}

int store_crossing(struct generated *g, double x, double y, double z, uint32_t layer,
                   uint32_t particle)
{
    const int r = room_for_hit(g, g->n_crossings);

    if (r < 0)
        return r;
    put_hit(&g->hits, g->n_crossings++, (const double[]){x, y, z}, layer, particle);
    return 0;
}

int store_bank(struct generated *g, uint32_t sensor, uint32_t word, uint32_t particle)
{
    int r = room_for_bank(g);

    if (r == 0)
        r = room_for_particle_of(g);
    if (r < 0)
        return r;
    g->banks.sensor[g->n] = (uint16_t)sensor;
    g->banks.word[g->n] = word;
    g->particle[g->n++] = particle;
    return 0;
}

int store_pixel(struct generated *g, const struct store_pixel *p, uint32_t particle)
{
    int r = room_for_pixel(g);

    if (r == 0)
        r = room_for_particle_of(g);
    if (r < 0)
        return r;
    g->pixels.module[g->n] = (uint16_t)p->module;
    g->pixels.column[g->n] = (uint16_t)p->column;
    g->pixels.row[g->n] = (uint16_t)p->row;
    g->pixels.charge[g->n] = (uint16_t)p->charge;
    g->particle[g->n++] = particle;
    return 0;
}

int store_track(struct generated *g, const struct store_track *t, uint32_t particle)
{
    struct generated_tracks *c = &g->tracks;
    int r = room_for_track(g);

    if (r == 0)
        r = room_for_particle_of(g);
    if (r < 0)
        return r;
    c->x[g->n] = (float)t->x;
    c->y[g->n] = (float)t->y;
    c->z[g->n] = (float)t->z;
    c->tx[g->n] = (float)t->tx;
    c->ty[g->n] = (float)t->ty;
    c->var_x[g->n] = (float)t->var_x;
    c->var_tx[g->n] = (float)t->var_tx;
    c->cov_x_tx[g->n] = (float)t->cov_x_tx;
    c->chi2[g->n] = (float)t->chi2;
    c->qop[g->n] = (float)t->qop;
    c->n_hits[g->n] = t->n_hits;
    g->particle[g->n++] = particle;
    return 0;
}

/* ---------------------------------------------------------------- order */

struct key { /* what items are sorted by; `at` last, so that no two are alike */
    uint32_t layer, at;
    float z, x;
};

static int compare(const void *a, const void *b)
{
    const struct key *p = a, *q = b;

    if (p->layer != q->layer)
        return p->layer < q->layer ? -1 : 1;
    if (p->z != q->z) /* lint: a stored number is compared with another */
        return p->z < q->z ? -1 : 1;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

/* array[i] = array[key[i].at], for elements of 4 bytes (2 for layers) by way of `spare`. */
static void permute(void *array, size_t size, const struct key *key, uint32_t n, void *spare)
{
    const char *from = array;
    char *to = spare;

    for (uint32_t i = 0; i < n; i++)
        memcpy(to + i * size, from + key[i].at * size, size);
    memcpy(array, spare, n * size);
}

static void permute_all(struct generated *g, const struct key *key, void *spare)
{
    struct generated_hits *h = &g->hits;
    struct generated_tracks *t = &g->tracks;
    const struct growing hits[] = {{h->x, 4}, {h->y, 4}, {h->z, 4}, {h->layer, 2}};
    const struct growing tracks[] = {{t->x, 4},    {t->y, 4},     {t->z, 4},      {t->tx, 4},
                                     {t->ty, 4},   {t->var_x, 4}, {t->var_tx, 4}, {t->cov_x_tx, 4},
                                     {t->chi2, 4}, {t->qop, 4},   {t->n_hits, 4}};
    bool is_hits = g->kind == TRG_HITS;
    const struct growing *all = is_hits ? hits : tracks;

    for (size_t i = 0; i < (is_hits ? COUNT(hits) : COUNT(tracks)); i++)
        permute(all[i].array, all[i].size, key, g->n, spare);
    permute(g->particle, 4, key, g->n, spare);
}

int store_sort(struct generated *g)
{
    bool is_hits = g->kind == TRG_HITS;
    struct key *key;
    void *spare;

    if (!g->n)
        return 0; /* and there may be no arrays yet */
    key = malloc(g->n * sizeof *key);
    spare = malloc(g->n * sizeof(uint32_t));
    if (!key || !spare) {
        free(key);
        free(spare);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < g->n; i++)
        key[i] = (struct key){.layer = is_hits ? g->hits.layer[i] : 0,
                              .z = is_hits ? g->hits.z[i] : 0,
                              .x = is_hits ? g->hits.x[i] : g->tracks.tx[i],
                              .at = i};
    qsort(key, g->n, sizeof *key, compare);
    permute_all(g, key, spare);
    free(key);
    free(spare);
    return 0;
}

/* The hit behind i that it is one with; n: there is none.  Those that are one with another already
 * have layer MERGED. */
#define MERGED 0xffffu
static uint32_t twin(const struct generated *g, uint32_t i, float distance)
{
    const struct generated_hits *h = &g->hits;

    for (uint32_t k = i + 1; k < g->n; k++) {
        if (h->layer[k] == MERGED)
            continue;
        if (h->layer[k] != h->layer[i] || h->z[k] > h->z[i] || h->x[k] - h->x[i] >= distance)
            break;
        if (fabsf(h->y[k] - h->y[i]) < distance)
            return k;
    }
    return g->n;
}

int store_merge(struct generated *g, double distance)
{
    struct generated_hits *h = &g->hits;
    uint32_t n = 0;
    int r = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t with;

        if (h->layer[i] == MERGED)
            continue;
        with = twin(g, i, (float)distance);
        h->x[n] = h->x[i];
        h->y[n] = h->y[i];
        h->z[n] = h->z[i];
        h->layer[n] = h->layer[i];
        h->id[n] = n;
        g->particle[n] = g->particle[i];
        if (with < g->n) {
            h->x[n] = (h->x[i] + h->x[with]) / 2;
            h->y[n] = (h->y[i] + h->y[with]) / 2;
            h->layer[with] = MERGED;
            if (r == 0 && g->particle[with] != GENERATOR_NOISE)
                r = store_claim(g, n, g->particle[with]);
        }
        n++;
    }
    g->n = n;
    return r;
}
