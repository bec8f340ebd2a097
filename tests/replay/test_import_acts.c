/* SPDX-License-Identifier: Apache-2.0 */
/* Importing TrackML's events, ACTS's space points, tracks, and particles that a detector is to see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "imports.h"

/* ---------------------------------------------------------------- trackml */

#define TRACKML_HITS                              \
    "hit_id,x,y,z,volume_id,layer_id,module_id\n" \
    "6,-76.5,-11.25,-1502.5,7,2,1\n"              \
    "9,32.0,0,10,8,2,1\n"                         \
    "11,0,72.0,20,8,4,1\n"                        \
    "12,0,1020,20,17,4,1\n"
#define TRACKML_TRUTH                                       \
    "hit_id,particle_id,tx,ty,tz,tpx,tpy,tpz,weight\n"      \
    "6,0,0,0,0,0,0,0,0\n9,4503668346847232,0,0,0,0,0,0,0\n" \
    "11,4503668346847233,0,0,0,0,0,0,0\n12,4503668346847232,0,0,0,0,0,0,0\n"
#define TRACKML_PARTICLES                                   \
    "particle_id,particle_type,vx,vy,vz,px,py,pz,q,nhits\n" \
    "4503668346847231,211,0.01,0,5,1,0,1,1,7\n"             \
    "4503668346847232,-13,3,4,5,1,0,-1,-1,7\n"              \
    "4503668346847233,211,0,0.02,7,0,1,1,1,7\n"

static void trackml_events_keep_hits_and_particles(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Truth *t;

    put(p, "event000000042-hits.csv.gz", TRACKML_HITS);
    put(p, "event000000042-truth.csv", TRACKML_TRUTH);
    put(p, "event000000042-particles.csv.gz", TRACKML_PARTICLES);
    imports(p, "trackml", p->folder);
    assert_int_equal(p->n, 1);
    assert_int_equal(roi(p, 0)->l1id, 42);
    assert_int_equal(roi(p, 0)->hits->n_x_mm, 4);
    assert_int_equal(roi(p, 0)->hits->id[3], 12);
    assert_int_equal(layer_of(roi(p, 0), 0), 35); /* the outermost disc of pixels, z < 0 */
    assert_int_equal(layer_of(roi(p, 0), 1), 0);
    assert_int_equal(layer_of(roi(p, 0), 2), 1);
    assert_int_equal(layer_of(roi(p, 0), 3), 9);
    t = roi(p, 0)->truth;
    assert_int_equal(t->n_particle_pdg, 2); /* the first has no hits */
    assert_int_equal(t->particle_pdg[0], -13);
    assert_int_equal(t->item_particle[0], GENERATOR_NOISE);
    assert_int_equal(t->item_particle[1], 0);
    assert_int_equal(t->item_particle[2], 1);
    assert_int_equal(t->item_particle[3], 0);
    assert_int_equal(t->n_vertex_z_mm, 3); /* collisions first */
    assert_int_equal(t->vertex_kind[1], GENERATOR_PRIMARY);
    assert_int_equal(t->vertex_kind[2], GENERATOR_OTHER);
    assert_near((double)t->vertex_x_mm[2], 3, 0);
    assert_int_equal(t->particle_vertex[0], 2);
    assert_int_equal(t->vertex_tracks[2], 1);
    assert_int_equal(t->vertex_tracks[0] + t->vertex_tracks[1], 1);
    assert_near((double)t->particle_d0_mm[0], -4, 0.01); /* along x, 4 mm above the beam */
    assert_near((double)t->particle_z0_mm[0], 5 + 3, 0.01);
}

/* Pile-up events of the challenge come without the truth of their hits. */
static void trackml_events_may_lack_the_truth_of_hits(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Truth *t;

    put(p, "event7-hits.csv", TRACKML_HITS);
    put(p, "event7-particles.csv",
        "particle_id,vx,vy,vz,px,py,pz,q,nhits\n1,0,0,5,1,0,1,1,7\n2,0,0,9,1,0,1,1,7\n"
        "3,0,0,9,1,0,1,-1,0\n4,0,0,9,1,1,1,-1,2\n");
    imports(p, "trackml", p->file[0]);
    t = roi(p, 0)->truth;
    assert_int_equal(t->n_item_particle, 0);
    assert_int_equal(t->n_particle_pt_gev, 3);
    assert_near((double)t->vertex_z_mm[0], 9, 0); /* more particles */
    assert_int_equal(t->vertex_tracks[0], 2);
    assert_int_equal(t->particle_pdg[0], 0);
}

static void trackml_hits_alone_are_an_event(void **state)
{
    struct place *p = *state;

    put(p, "event8-hits.csv", TRACKML_HITS);
    imports(p, "trackml", p->folder);
    assert_int_equal(p->n, 1);
    assert_true(roi(p, 0)->hits->n_x_mm > 0);
    assert_null(roi(p, 0)->truth);
}

static void bad_trackml_files_get_a_sentence(void **state)
{
    static const struct {
        const char *name, *text, *sentence;
    } list[] = {
        {"-hits.csv", TRACKML_HITS "13,1,2,3,8,10,1\n",
         "-hits.csv:6: volume_id 8 has no layer_id 10 in TrackML's detector"},
        {"-hits.csv", TRACKML_HITS "9,1,2,3,8,2,1\n", "-hits.csv: hit_id 9 is there twice"},
        {"-truth.csv", TRACKML_TRUTH "77,0,0,0,0,0,0,0,0\n",
         "-truth.csv:6: hit_id 77 is not in the hits' file"},
        {"-truth.csv", TRACKML_TRUTH "9,5,0,0,0,0,0,0,0\n",
         "hit_id 9 is of particle_id 5, which the particles' file has not"},
        {"-particles.csv", TRACKML_PARTICLES "1,211,0,0,0,0,0,1,1,7\n",
         "-particles.csv:5: px and py: a transverse momentum above 1e-6 GeV is wanted"},
        {"-particles.csv", TRACKML_PARTICLES "1,211,0,0,0,1,0,1,0.5,7\n",
         "-particles.csv:5: q \"0.5\": a whole number from -120 to 120 is wanted"},
        {"-particles.csv", TRACKML_PARTICLES "4503668346847231,211,0,0,0,1,0,1,1,7\n",
         "-particles.csv: particle_id 4503668346847231 is there twice"},
    };
    static const char *const names[] = {"-hits.csv", "-truth.csv", "-particles.csv"};
    static const char *const good[] = {TRACKML_HITS, TRACKML_TRUTH, TRACKML_PARTICLES};
    struct place *p = *state;
    char name[64];

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "event1%s", names[k]);
            put(p, name, strcmp(names[k], list[i].name) != 0 ? good[k] : list[i].text);
        }
        refuses(p, "trackml", p->folder, list[i].sentence);
        forget(p);
    }
}

/* ---------------------------------------------------------------- spacepoints */

/* Volume and layer as ACTS packs them. */
static unsigned long long geometry(unsigned long long volume, unsigned long long layer)
{
    return volume << 56 | layer << 36 | 1234 << 8;
}

static void spacepoints_take_layers_from_columns(void **state)
{
    const Trigd__V1__Spacepoints *s;
    struct place *p = *state;
    char text[512];

    put(p, "a-spacepoint.csv", "x,y,z,layer\n0,-30,5,3\n40,0,-7.5,255\n");
    put(p, "b-spacepoint.csv", "z,phi,r,volume_id,layer_id\n1,4,32,8,2\n2,-3,172,9,14\n");
    snprintf(text, sizeof text, "geometry_id,x,y,z\n%llu,1,0,0\n%llu,2,0,0\n", geometry(17, 8),
             geometry(23, 2));
    put(p, "c-spacepoint.csv", text);
    imports(p, "spacepoints", p->folder);
    assert_int_equal(p->n, 3);
    s = roi(p, 0)->spacepoints;
    assert_int_equal(s->n_phi_rad, 2);
    assert_near((double)s->phi_rad[0], -1.5707963, 1e-6);
    assert_near((double)s->rho_mm[0], 30, 0);
    assert_near((double)s->z_mm[1], -7.5, 0);
    assert_int_equal(s->layer.data[1], 255);
    assert_null(roi(p, 0)->truth);
    s = roi(p, 1)->spacepoints;
    assert_near((double)s->phi_rad[0], 4 - 6.2831853, 1e-6);
    assert_near((double)s->rho_mm[1], 172, 0);
    assert_int_equal(s->layer.data[0], 0);
    assert_int_equal(s->layer.data[1], 16);
    s = roi(p, 2)->spacepoints; /* 23: the Open Data Detector */
    assert_int_equal(s->layer.data[0], 3);
    assert_int_equal(s->layer.data[1], 41);
}

static void spacepoints_take_layers_from_measurements(void **state)
{
    struct place *p = *state;
    char text[512];

    put(p, "event000000003-spacepoint.csv",
        "measurement_id,sp_x,sp_y,sp_z,sp_radius,sp_covr\n12,3,4,5,5,0\n2,30,40,5,50,0\n");
    snprintf(text, sizeof text, "measurement_id,geometry_id,local_key\n2,%llu,3\n12,%llu,3\n",
             geometry(18, 4), geometry(16, 2));
    put(p, "event000000003-measurements.csv.gz", text);
    imports(p, "spacepoints", p->file[0]);
    assert_int_equal(roi(p, 0)->l1id, 3);
    assert_int_equal(roi(p, 0)->spacepoints->layer.data[0], 35);
    assert_int_equal(roi(p, 0)->spacepoints->layer.data[1], 11);
}

static void bad_spacepoints_get_a_sentence(void **state)
{
    static const struct {
        const char *text, *sentence;
    } list[] = {
        {"0.03,-0.4,-0.1\n",
         "a.csv:1: columns x, y, z or sp_x, sp_y, sp_z or r, phi, z are wanted"},
        {"x,y,z\n", "a.csv:1: no column tells the layer: layer, volume_id and layer_id"},
        {"x,y,z,measurement_id\n", "measurement_id tells the layer only with the file"},
        {"x,y,z,layer\n1,2,3,256\n", "a.csv:2: layer \"256\": a whole number from 0 to 255"},
        {"x,y,z,volume_id,layer_id\n1,2,3,8,3\n",
         "a.csv: point 1: volume 8, layer 3 is none of TrackML's; a column layer can tell others"},
        {"r,phi,z,layer\n-1,2,3,4\n", "a.csv:2: r \"-1\": a number from 0 to 100000 is wanted"},
        {"r,phi,z,layer\n1,7,3,4\n", "a.csv:2: phi \"7\": a number from -6.28319 to 6.28319"},
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        put(p, "a.csv", list[i].text);
        refuses(p, "spacepoints", p->file[0], list[i].sentence);
        forget(p);
    }
}

/* ---------------------------------------------------------------- tracks */

static void tracks_come_with_their_vertices(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Tracks *t;

    put(p, "a-tracks.csv",
        "event,n_hits,x,y,z,tx,ty,var_x,var_tx,cov_x_tx,chi2,qop\n"
        "7,5,0.5,-1,20,0.1,-0.2,4e-4,1e-8,1e-6,6.5,-0.25\n7,3,1,2,3,0,0,1,1,0,0,0\n"
        "9,4,0,0,0,0.3,0,1e-4,1e-9,0,1,0\n");
    put(p, "a-vertices.csv",
        "event,kind,x,y,z,n_tracks\n9,0,0.1,0.2,-5,12\n7,0,0,0,3,2\n"
        "7,1,1,1,10,3\n");
    imports(p, "tracks", p->folder);
    assert_int_equal(p->n, 2);
    assert_int_equal(roi(p, 0)->l1id, 7);
    t = roi(p, 0)->tracks;
    assert_int_equal(t->n_x_mm, 2);
    assert_near((double)t->tx[0], 0.1, 1e-6);
    assert_near((double)t->qop_per_gev[0], -0.25, 1e-6);
    assert_int_equal(t->n_hits[0], 5);
    assert_int_equal(roi(p, 0)->truth->n_vertex_z_mm, 2);
    assert_int_equal(roi(p, 0)->truth->vertex_kind[1], GENERATOR_BEAUTY);
    assert_int_equal(roi(p, 0)->truth->vertex_tracks[1], 3);
    assert_int_equal(roi(p, 0)->truth->n_item_particle, 0);
    assert_near((double)roi(p, 1)->truth->vertex_z_mm[0], -5, 1e-6);
    forget(p);

    put(p, "event12-tracks.csv", "x,y,z,tx,ty,var_x,var_tx\n"); /* no tracks, no truth: an event */
    imports(p, "tracks", p->file[0]);
    assert_int_equal(p->n, 1);
    assert_int_equal(roi(p, 0)->l1id, 12);
    assert_true(!roi(p, 0)->truth);
}

static void bad_tracks_get_a_sentence(void **state)
{
    static const char head[] = "x,y,z,tx,ty,var_x,var_tx\n";
    static const struct {
        const char *text, *vertices, *sentence;
    } list[] = {
        {"x,y,z,tx,ty,var_x\n", NULL, "a-tracks.csv:1: there is no column \"var_tx\""},
        {"x,y,z,tx,ty,var_x,var_tx\n1,2,3,0,0,-1,0\n", NULL,
         "a-tracks.csv:2: var_x \"-1\": a number from 0 to 1e+12 is wanted"},
        {"x,y,z,tx,ty,var_x,var_tx\n1,2,3,nan,0,1,0\n", NULL,
         "a-tracks.csv:2: tx \"nan\": a number from -1e+06 to 1e+06 is wanted"},
        {head, "event,kind,x,y,z,n_tracks\n",
         "a-vertices.csv:1: column \"event\" is wanted here and in the tracks' file, or in "
         "neither"},
        {head, "kind,x,y,z,n_tracks\n9,0,0,0,1\n", "a-vertices.csv:2: kind \"9\": a whole number"},
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        put(p, "a-tracks.csv", list[i].text);
        if (list[i].vertices)
            put(p, "a-vertices.csv", list[i].vertices);
        refuses(p, "tracks", p->file[0], list[i].sentence);
        forget(p);
    }
}

/* ---------------------------------------------------------------- particles */

#define PARTICLES "event,vertex,kind,parent,x,y,z,px,py,pz,charge,pdg,flags\n"

static void particles_go_through_a_detector(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Roi *r;
    uint32_t seen = 0;

    put(p, "a.csv",
        PARTICLES "3,0,0,-1,0.01,0.02,5,0,0,0,0,0,0\n"
                  "3,0,0,-1,0.01,0.02,5,0.3,0.4,10,1,211,0\n"
                  "3,1,1,0,0.5,0.02,10,0.3,-1,20,-1,-13,1\n"
                  "4,0,0,-1,0,0,0,0,10,0.1,1,211,0\n");
    imports(p, "particles", p->file[0]);
    assert_int_equal(p->n, 2);
    r = roi(p, 0);
    assert_int_equal(r->l1id, 3);
    assert_int_equal(r->truth->n_vertex_z_mm, 2);
    assert_int_equal(r->truth->vertex_parent[1], 0);
    assert_int_equal(r->truth->n_particle_pdg, 2);
    assert_int_equal(r->truth->particle_flags[1], GENERATOR_FROM_BEAUTY);
    for (size_t i = 0; i < r->truth->n_item_particle; i++)
        seen += r->truth->item_particle[i] == 1;
    assert_true(seen >= 3);
    assert_int_equal(roi(p, 1)->truth->n_particle_pdg, 0); /* leaves between the modules */
    forget(p);

    p->im.preset = generator_find("pixel");
    put(p, "a.csv", PARTICLES "4,0,0,-1,0,0,0,0,10,0.1,1,211,0\n4,1,4,0,0,90,0,0,10,0.1,1,211,0\n");
    imports(p, "particles", p->file[0]);
    r = roi(p, 0);
    for (size_t i = 0; i < r->hits->n_x_mm; i++) /* made between the second and third layer */
        assert_true(r->truth->item_particle[i] != 1 || layer_of(r, i) >= 2);
    assert_near((double)r->truth->particle_d0_mm[0], 0, 1e-6);
}

static void bad_particles_get_a_sentence(void **state)
{
    static const struct {
        const char *text, *sentence;
    } list[] = {
        {"event\n", "a.csv:1: there is no column \"vertex\""},
        {PARTICLES "1,1,0,-1,0,0,0,1,1,1,1,211,0\n",
         "a.csv:2: vertex \"1\": a whole number from 0 to 0 is wanted"},
        {PARTICLES "1,0,0,0,0,0,0,1,1,1,1,211,0\n",
         "a.csv:2: parent \"0\": a whole number from -1 to -1 is wanted"},
        {PARTICLES "1,0,5,-1,0,0,0,1,1,1,1,211,0\n", "a.csv:2: kind \"5\": a whole number"},
        {PARTICLES "1,0,0,-1,0,0,0,0,0,1,1,211,0\n", "a.csv:2: px and py: a transverse momentum"},
        {PARTICLES "1,0,0,-1,0,0,0,1,0,1,2,211,0\n",
         "a.csv:2: charge \"2\": a whole number from -1 to 1 is wanted"},
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        put(p, "a.csv", list[i].text);
        refuses(p, "particles", p->file[0], list[i].sentence);
        forget(p);
    }
    refuses(p, "particles", p->folder, "files are wanted, not a folder");
    p->im.preset = generator_find("lowlum");
    put(p, "a.csv", PARTICLES);
    refuses(p, "particles", p->file[0], "preset lowlum has no detector for particles");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(trackml_events_keep_hits_and_particles),
        IN_PLACE(trackml_events_may_lack_the_truth_of_hits),
        IN_PLACE(trackml_hits_alone_are_an_event),
        IN_PLACE(bad_trackml_files_get_a_sentence),
        IN_PLACE(spacepoints_take_layers_from_columns),
        IN_PLACE(spacepoints_take_layers_from_measurements),
        IN_PLACE(bad_spacepoints_get_a_sentence),
        IN_PLACE(tracks_come_with_their_vertices),
        IN_PLACE(bad_tracks_get_a_sentence),
        IN_PLACE(particles_go_through_a_detector),
        IN_PLACE(bad_particles_get_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
