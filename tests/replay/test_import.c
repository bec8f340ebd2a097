/* SPDX-License-Identifier: Apache-2.0 */
/* Importing events of others: what a small file of each format becomes, and the sentence that each
 * mistake gets. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "imports.h"

/* ---------------------------------------------------------------- velopix */

#define VELOPIX_COLUMNS                                                                    \
    "\"description\":[\"key\",\"pid\",\"p\",\"pt\",\"eta\",\"phi\",\"isLong\",\"isDown\"," \
    "\"hasVelo\",\"hasUT\",\"hasScifi\",\"fromBeautyDecay\",\"fromCharmDecay\","           \
    "\"fromStrangeDecay\",\"charge\",\"hits\"]"
#define VELOPIX_HITS                                                            \
    "\"module_prefix_sum\":[0,2,2,3,5],\"x\":[1.5,2,3,4,5],\"y\":[-1,2,3,4,5]," \
    "\"z\":[-287,-287,-262,-250,-249.5]"

static void velopix_events_keep_hits_and_particles(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Roi *r;

    put(p, "velo_event_17.json",
        "{" VELOPIX_HITS ",\"montecarlo\":{" VELOPIX_COLUMNS ",\"particles\":["
        "[7,211,3000.0,500.0,2.5,-1.25,1,0,1,1,1,1,1,0,0.999,[0,2,3]],"
        "[8,-11,10,1,4,0.5,0,0,1,0,0,0,0,1,-1.0,[2,4]]]}}");
    imports(p, "velopix", p->file[0]);
    assert_int_equal(p->n, 1);
    r = roi(p, 0);
    assert_int_equal(r->l1id, 17);
    assert_int_equal(r->hits->n_x_mm, 5);
    assert_near((double)r->hits->x_mm[0], 1.5, 0);
    assert_near((double)r->hits->z_mm[4], -249.5, 0);
    assert_int_equal(layer_of(r, 1), 0);
    assert_int_equal(layer_of(r, 2), 2); /* module 1 is empty */
    assert_int_equal(layer_of(r, 4), 3);
    assert_int_equal(r->truth->n_item_particle, 5);
    assert_int_equal(r->truth->item_particle[0], 0);
    assert_int_equal(r->truth->item_particle[1], GENERATOR_NOISE);
    assert_int_equal(r->truth->item_particle[2], 0); /* the first that names it, and the other */
    assert_int_equal(r->truth->n_shared_item, 1);
    assert_int_equal(r->truth->n_shared_particle, 1);
    assert_int_equal(r->truth->shared_item[0], 2);
    assert_int_equal(r->truth->shared_particle[0], 1);
    assert_int_equal(r->truth->item_particle[4], 1);
    assert_near((double)r->truth->particle_pt_gev[0], 0.5, 1e-6);
    assert_int_equal(r->truth->particle_flags[0],
                     GENERATOR_FROM_BEAUTY | GENERATOR_FROM_CHARM | GENERATOR_LONG);
    assert_int_equal(r->truth->particle_pdg[1], -11);
    assert_int_equal(r->truth->particle_charge[1], -1);
    assert_int_equal(r->truth->particle_vertex[1], GENERATOR_NONE);
    assert_int_equal(r->truth->n_vertex_z_mm, 0);
    assert_int_equal(r->truth->n_particle_d0_mm, 0);
}

static void velopix_events_may_lack_truth_or_hits(void **state)
{
    struct place *p = *state;

    put(p, "a.json", "{" VELOPIX_HITS "}");
    put(p, "b.json", "{\"module_prefix_sum\":[0,0],\"x\":[],\"y\":[],\"z\":[]}");
    imports(p, "velopix", p->folder);
    assert_int_equal(p->n, 2);
    assert_null(roi(p, 0)->truth);
    assert_int_equal(roi(p, 1)->hits->n_x_mm, 0);
}

static void bad_velopix_files_get_a_sentence(void **state)
{
    static const struct {
        const char *text, *sentence;
    } list[] = {
        {"{\n\"x\": [1,\n", "a.json:3: not JSON: "},
        {"", "a.json:1: not JSON: "},
        {"[]", "a.json: the file: one JSON object is wanted"},
        {"{\"x\":[1]}", "a.json: y: a list as long as that of x is wanted"},
        {"{\"x\":[],\"y\":[],\"z\":[1]}", "a.json: z: a list as long as that of x is wanted"},
        {"{\"x\":[1],\"y\":[1],\"z\":[\"a\"]}", "a.json: z[0]: a number of mm is wanted"},
        {"{\"x\":[1],\"y\":[1e9],\"z\":[1]}", "a.json: y[0]: a number of mm is wanted"},
        {"{\"x\":[1],\"y\":[1],\"z\":[1]}", "a.json: module_prefix_sum: a list with where"},
        {"{\"x\":[1],\"y\":[1],\"z\":[1],\"module_prefix_sum\":[0,2]}",
         "a.json: module_prefix_sum[1]: a whole number from 0 to 1 is wanted"},
        {"{\"x\":[1],\"y\":[1],\"z\":[1],\"module_prefix_sum\":[0,1,0]}",
         "a.json: module_prefix_sum[2]: a whole number from 1 to 1 is wanted"},
        {"{\"x\":[1],\"y\":[1],\"z\":[1],\"module_prefix_sum\":[0,0]}",
         "a.json: module_prefix_sum: 0 first and the number of hits last is wanted"},
        {"{" VELOPIX_HITS ",\"montecarlo\":{}}",
         "a.json: montecarlo.description: there is no column \"pid\""},
        {"{" VELOPIX_HITS ",\"montecarlo\":{" VELOPIX_COLUMNS "}}",
         "a.json: montecarlo.particles: a list is wanted"},
        {"{" VELOPIX_HITS ",\"montecarlo\":{" VELOPIX_COLUMNS ",\"particles\":[3]}}",
         "a.json: montecarlo.particles[0], pid: a number is wanted"},
        {"{" VELOPIX_HITS ",\"montecarlo\":{" VELOPIX_COLUMNS ",\"particles\":["
         "[7,211,3000.0,500.0,2.5,-1.25,1,0,1,1,1,1,1,0,0.999,[0,5]]]}}",
         "a.json: montecarlo.particles[0], hits: the number of a hit is wanted"},
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        put(p, "a.json", list[i].text);
        refuses(p, "velopix", p->file[0], list[i].sentence);
        forget(p);
    }
}

/* ---------------------------------------------------------------- lhcb-csv */

#define LHCB_HITS                                                 \
    "hit_id,module,sensor,lhcbid,npixel,x_mm,y_mm,z_mm,mc_keys\n" \
    "10,0,0,2147512340,2,9.5,-34.8,-288.08,4710\n"                \
    "11,51,2,2147532923,1,10.25,-27.75,750.5,2232\n"              \
    "12,51,2,2147532924,1,10.5,-27.75,750.5,2232\n"
#define LHCB_PVS "n_tracks,x_mm,y_mm,z_mm\n35,0,0.0032,18.0225\n0,0.01,0.02,-160\n"
#define LHCB_PARTICLES                                                                           \
    "key,pid,p_MeV,pt_MeV,eta,phi,ovx,ovy,ovz,isLong,isDown,hasVelo,hasUT,hasSciFi,fromB,fromD," \
    "fromS,motherKey,decayMotherKey,decayMotherPid,charge,nVeloHitsTruth,velo_hit_ids\n"

static void lhcb_events_keep_vertices_and_particles(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Truth *t;

    put(p, "77_1234-hits.csv", LHCB_HITS);
    put(p, "77_1234-pvs.csv.gz", LHCB_PVS);
    put(p, "77_1234-particles.csv",
        LHCB_PARTICLES "1,211,3000,500,2,0,0,0.0032,18.0225,1,1,1,1,1,0,0,0,5,1,-999999,1,1,10\n"
                       "2,-13,3000,1000,2,1.5,0.5,0,20,0,0,1,0,0,1,1,0,5,1,-999999,-1,2,11 12\r\n"
                       "3,13,3000,1000,2,1.5,0.5,0,20,0,0,1,0,0,1,1,0,5,1,-999999,1,1,12\n"
                       "\n"
                       "4,-321,300,1000,-2,1.5,9,0,20,0,0,1,0,0,0,0,0,5,1,-999999,-1,0,\n");
    imports(p, "lhcb-csv", p->folder);
    assert_int_equal(p->n, 1);
    assert_int_equal(roi(p, 0)->run, 77);
    assert_int_equal(roi(p, 0)->l1id, 1234);
    assert_int_equal(roi(p, 0)->hits->id[2], 12);
    assert_int_equal(layer_of(roi(p, 0), 1), 51);
    t = roi(p, 0)->truth;
    assert_int_equal(t->n_vertex_z_mm, 4); /* two collisions, a charm decay, another */
    assert_int_equal(t->vertex_tracks[0], 35);
    assert_int_equal(t->vertex_kind[1], GENERATOR_PRIMARY);
    assert_int_equal(t->vertex_kind[2], GENERATOR_CHARM);
    assert_int_equal(t->vertex_kind[3], GENERATOR_OTHER);
    assert_near((double)t->vertex_x_mm[2], 0.5, 0);
    assert_int_equal(t->vertex_tracks[2], 0); /* none with three hits */
    assert_int_equal(t->n_particle_pdg, 4);
    assert_int_equal(t->particle_vertex[0], 0);
    assert_int_equal(t->particle_vertex[1], 2);
    assert_int_equal(t->particle_vertex[2], 2);
    assert_int_equal(t->item_particle[0], 0);
    assert_int_equal(t->item_particle[1], 1);
    assert_int_equal(t->item_particle[2], 1);
    assert_int_equal(t->particle_flags[0], GENERATOR_LONG);
    assert_near((double)t->particle_d0_mm[0], -0.0032, 1e-6); /* along x, above the beam */
    assert_near((double)t->particle_z0_mm[0], 18.0225, 1e-4);
    assert_near((double)t->particle_d0_mm[1], 0.5 * sin(1.5), 1e-6);
    assert_near((double)t->particle_z0_mm[1], 20 - 0.5 * cos(1.5) * sinh(2), 1e-5);
}

static void lhcb_hits_alone_are_an_event(void **state)
{
    struct place *p = *state;

    put(p, "3_4-hits.csv", LHCB_HITS);
    imports(p, "lhcb-csv", p->folder);
    assert_int_equal(p->n, 1);
    assert_int_equal(roi(p, 0)->l1id, 4);
    assert_true(roi(p, 0)->hits->n_x_mm > 0);
    assert_null(roi(p, 0)->truth);
}

static void bad_lhcb_files_get_a_sentence(void **state)
{
    static const struct {
        const char *name, *text, *sentence;
    } list[] = {
        {"-hits.csv", "", "1_2-hits.csv:1: the file is empty"},
        {"-hits.csv", "hit_id,module,x_mm,y_mm\n", "1_2-hits.csv:1: there is no column \"z_mm\""},
        {"-hits.csv", LHCB_HITS "1,2,3\n", "1_2-hits.csv:5: 3 fields, not 9 as in the first line"},
        {"-hits.csv", LHCB_HITS "-1,51,2,3,1,1,1,1,1\n",
         "1_2-hits.csv:5: hit_id \"-1\": a whole number from 0 to 4294967295 is wanted"},
        {"-hits.csv", LHCB_HITS "13,65536,2,3,1,1,1,1,1\n",
         "1_2-hits.csv:5: module \"65536\": a whole number from 0 to 65535 is wanted"},
        {"-hits.csv", LHCB_HITS "13,1,2,3,1,nan,1,1,1\n",
         "1_2-hits.csv:5: x_mm \"nan\": a number from -100000 to 100000 is wanted"},
        {"-hits.csv", LHCB_HITS "10,1,2,3,1,1,1,1,1\n", "1_2-hits.csv: hit_id 10 is there twice"},
        {"-pvs.csv", LHCB_PVS "1,2,3,\n", "1_2-pvs.csv:4: z_mm \"\": a number from"},
        {"-particles.csv",
         LHCB_PARTICLES "1,211,3000,500,2,0,0,0,18,1,1,1,1,1,0,0,0,5,1,-999999,1,1,10 13\n",
         "1_2-particles.csv:2: velo_hit_ids \"13\": a hit_id of the hits' file is wanted"},
        {"-particles.csv",
         LHCB_PARTICLES "1,211,3000,0,2,0,0,0,18,1,1,1,1,1,0,0,0,5,1,-999999,1,1,10\n",
         "1_2-particles.csv:2: pt_MeV \"0\": a number from 1e-06"},
    };
    struct place *p = *state;
    char name[64];

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        snprintf(name, sizeof name, "1_2%s", list[i].name);
        put(p, name, list[i].text);
        if (strcmp(list[i].name, "-hits.csv") != 0)
            put(p, "1_2-hits.csv", LHCB_HITS);
        refuses(p, "lhcb-csv", p->file[p->n_files - 1], list[i].sentence);
        forget(p);
    }
}

static void paths_that_cannot_be_get_a_sentence(void **state)
{
    struct place *p = *state;
    char nowhere[128];

    snprintf(nowhere, sizeof nowhere, "%s/none", p->folder);
    refuses(p, "lhcb-csv", nowhere, "none: cannot be read: No such file or directory");
    refuses(p, "lhcb-csv", p->folder, "there is no file *-hits.csv in this folder");
    refuses(p, "velopix", p->folder, "there is no file *.json in this folder");
    put(p, "out.roi", "there already");
    assert_int_equal(import_one(p, "velopix", p->folder), -EEXIST);
    assert_non_null(strstr(p->im.problem.text, "out.roi: cannot be written: File exists"));
    assert_int_equal(access(p->out, F_OK), 0); /* and is not touched */
    assert_null(import_find("nonesuch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(velopix_events_keep_hits_and_particles),
        IN_PLACE(velopix_events_may_lack_truth_or_hits),
        IN_PLACE(bad_velopix_files_get_a_sentence),
        IN_PLACE(lhcb_events_keep_vertices_and_particles),
        IN_PLACE(lhcb_hits_alone_are_an_event),
        IN_PLACE(bad_lhcb_files_get_a_sentence),
        IN_PLACE(paths_that_cannot_be_get_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
