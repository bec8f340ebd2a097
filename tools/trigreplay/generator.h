/* SPDX-License-Identifier: Apache-2.0 */
/* generator.h - simulated RoIs, with truth, of four detectors:
 *
 *   toy      a window of an ATLAS-like inner detector, as spacepoints (gen_toy.c)
 *   velo     LHCb-like planes around the beam, no field, as hits, as tracks (gen_velo.c) or as raw
 *            banks (gen_banks.c)
 *   pixel    CMS-like pixel barrels and discs in 3.8 T, as hits (gen_helix.c) or as pixels with
 *            charge (gen_pixels.c)
 *   trackml  the barrels of the TrackML detector in 2 T, as hits (gen_helix.c)
 *
 * and volumes of a phantom, as bricks (gen_phantom.c).
 *
 * RoI number i is a pure function of (preset, seed, i), in whatever order RoIs are made, and
 * identical to the bit on every machine.
 */
#ifndef TRIGD_GENERATOR_H
#define TRIGD_GENERATOR_H
#include <stdbool.h>
#include <stdint.h>

#include "kinds.h"
#include "trigd.pb-c.h"

#define GENERATOR_NOISE 0xffffffffu /* particle of a noise point */
#define GENERATOR_NONE  0xffffffffu /* no such vertex, or it is not known */

/* What made a vertex (Truth.vertex_kind). */
enum generator_vertex {
    GENERATOR_PRIMARY,
    GENERATOR_BEAUTY,  /* decay of a b hadron */
    GENERATOR_CHARM,   /* of a charmed one */
    GENERATOR_STRANGE, /* of a strange one */
    GENERATOR_OTHER
};

/* Where a particle has been (Truth.particle_flags). */
enum generator_flag {
    GENERATOR_FROM_BEAUTY = 1,
    GENERATOR_FROM_CHARM = 2,
    GENERATOR_FROM_STRANGE = 4,
    GENERATOR_LONG = 8, /* LHCb: seen in all of its tracking detectors */
};

enum generator_detector {
    GENERATOR_TOY,
    GENERATOR_VELO,
    GENERATOR_VELO_TRACKS,
    GENERATOR_VELO_BANKS,
    GENERATOR_PIXEL,
    GENERATOR_PIXEL_CHARGE,
    GENERATOR_TRACKML,
    GENERATOR_PHANTOM,
    GENERATOR_PHANTOM_TRUTH /* the same volumes: 255 where there is white matter */
};

struct generator_preset {
    const char *name, *help;
    double pileup;       /* mean number of other collisions; velo: of all, from 1 to 20 */
    double tracks;       /* mean charged particles of a collision */
    double hard_tracks;  /* of the hard scatter; toy: more of them inside the RoI; velo: at vertex
                            0, beside those of the other collisions */
    double noise;        /* mean noise points in the RoI */
    double eta_max;      /* RoI centres lie within */
    double eta_half;     /* half width of the RoI */
    double phi_half_rad; /* >= pi: full circle */
    enum generator_detector detector;
    double b_fraction; /* of the RoIs whose collision 0 makes a pair of b hadrons */
    bool has_material; /* velo: that does more than scatter; photons; merged clusters */
};

/* The presets; the table ends with a NULL name. */
extern const struct generator_preset generator_presets[];
const struct generator_preset *generator_find(const char *name); /* NULL: there is none */

/* The kind of raw banks, collections/banks.yaml, which is declared with the first call;
 * TRG_KIND_NONE: there is no memory for it. */
uint32_t generator_banks_kind(void);
/* The same of pixels with charge, collections/pixels.yaml. */
uint32_t generator_pixels_kind(void);
/* The kind of the voxels of bricks, collections/brick_values.yaml, which is declared with the first
 * call, as the rows beside it are, bricks.yaml; TRG_KIND_NONE: there is no memory for them. */
uint32_t generator_brick_kind(void);
/* What the RoIs of a preset hold. */
uint32_t generator_kind(const struct generator_preset *preset);
/* The declared collections of RoIs of a kind, 1 << kind each. */
uint32_t generator_declared(uint32_t kind);

/* One RoI; its arrays belong to it and are used again for the next.  It holds one collection, told
 * by `kind`, with n items: the arrays of that one are filled.  With the voxels of a brick it holds
 * the row of bricks, too. */
struct generated {
    struct trg_roi_info info;
    uint32_t kind; /* TRG_SPACEPOINTS, TRG_HITS, TRG_TRACKS, generator_banks_kind(),
                    * generator_pixels_kind() or generator_brick_kind() */
    uint32_t n, room;
    float *phi, *rho, *z; /* spacepoints */
    uint8_t *layer;
    struct generated_hits {
        uint32_t room;
        float *x, *y, *z;
        uint16_t *layer;
        uint32_t *id;
    } hits;
    struct generated_tracks {
        uint32_t room;
        float *x, *y, *z, *tx, *ty, *var_x, *var_tx, *cov_x_tx, *chi2, *qop;
        uint32_t *n_hits;
    } tracks;
    struct generated_banks {
        uint32_t room;
        uint16_t *sensor;
        uint32_t *word;
    } banks;
    struct generated_pixels {
        uint32_t room;
        uint16_t *module, *column, *row, *charge;
    } pixels;
    struct generated_brick {
        uint32_t room;
        uint8_t *bytes;
        uint16_t n[3], origin[3], volume[3];
        uint8_t type;
        int32_t low;
        uint32_t width;
    } brick;
    uint32_t n_crossings; /* with banks or pixels, the places where particles crossed sensors: the
                             columns of `hits`, id is the particle */
    uint32_t *particle;   /* of each item, or GENERATOR_NOISE */
    uint32_t particle_of_room;
    uint32_t n_shared, shared_room; /* further particles of items: see trigd.proto */
    uint32_t *shared_item, *shared_particle;
    uint32_t n_vertices, vertex_room;
    float *vertex_x, *vertex_y, *vertex_z; /* vertex 0 is the hard scatter */
    uint32_t *vertex_tracks; /* charged particles of it with an item; velo: with >= 3 hits */
    uint32_t *vertex_kind, *vertex_parent;
    uint32_t n_particles, particle_room;
    uint32_t *particle_vertex, *particle_flags;
    float *pt, *eta, *phi0; /* where it was made */
    float *d0, *z0;         /* at its point closest to the beam line: see trigd.proto */
    int32_t *charge, *pdg;
};

void generated_init(struct generated *g);
void generated_fini(struct generated *g);
/* RoIs number `first` to `first` + n - 1 of a preset on the heap; NULL: there is no such preset, or
 * memory is out. */
struct generated *generated_new(const char *preset, uint64_t seed, uint64_t first, uint32_t n);
void generated_free(struct generated *g, uint32_t n); /* NULL is fine */
/* Makes RoI number i.  -ENOMEM. */
int generator_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                   struct generated *ret_roi);
/* Column c of the RoI's collection, n items in the type of kind_info(g->kind); NULL: there is
 * no such column. */
const void *generated_column(const struct generated *g, uint32_t c);

/* Whether `particle` says who made each item: not of voxels. */
bool generated_has_particles(const struct generated *g);

/* The same as a message: the parts point into `g` and are borrowed until it changes. */
struct generated_message {
    Trigd__V1__Roi roi;
    Trigd__V1__Spacepoints spacepoints;
    Trigd__V1__Hits hits;
    Trigd__V1__Tracks tracks;
    Trigd__V1__Truth truth;
    Trigd__V1__Columns columns[2], *columns_list[2];
    ProtobufCBinaryData column[4], row[6]; /* of a brick: its voxels, its row */
};
void generated_message(const struct generated *g, struct generated_message *ret_message);
#endif
