/* SPDX-License-Identifier: Apache-2.0 */
/* Public events of LHCb, TrackML and others come in whole.  They are no part of this project:
 * TRIGD_DATA names their folder; without it the test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "imports.h"

#define SKIPPED 77

/* Folder or file `name` of the public events; skips the test if it is not there. */
static char *public_data(char *path, size_t room, const char *name)
{
    snprintf(path, room, "%s/%s", getenv("TRIGD_DATA"), name);
    if (access(path, R_OK) < 0) {
        print_message("skipped: no %s in TRIGD_DATA\n", name);
        skip();
    }
    return path;
}

static void public_velopix_events_come_in(void **state)
{
    struct place *p = *state;
    size_t hits = 0, claimed = 0;
    char path[512];

    imports(p, "velopix", public_data(path, sizeof path, "velopix"));
    assert_int_equal(p->n, 10);
    for (uint32_t i = 0; i < p->n; i++) {
        hits += roi(p, i)->hits->n_x_mm;
        for (size_t k = 0; k < roi(p, i)->truth->n_item_particle; k++)
            claimed += roi(p, i)->truth->item_particle[k] != GENERATOR_NOISE;
    }
    assert_int_equal(hits, 19626);
    assert_true(10 * claimed > 8 * hits);
}

static void public_lhcb_events_come_in(void **state)
{
    static const size_t pvs[] = {9, 4, 6, 5, 10, 7};
    struct place *p = *state;
    char path[512];

    imports(p, "lhcb-csv", public_data(path, sizeof path, "lhcb-minbias"));
    assert_int_equal(p->n, 6);
    for (uint32_t i = 0; i < p->n; i++) {
        const Trigd__V1__Truth *t = roi(p, i)->truth;
        size_t primary = 0, near = 0;

        for (size_t v = 0; v < t->n_vertex_kind; v++)
            primary += t->vertex_kind[v] == GENERATOR_PRIMARY;
        assert_int_equal(primary, pvs[i]);
        for (size_t k = 0; k < t->n_particle_pdg; k++)
            near += t->vertex_kind[t->particle_vertex[k]] == GENERATOR_PRIMARY;
        assert_true(5 * near > t->n_particle_pdg); /* places of both files agree */
    }
}

static void public_trackml_events_come_in(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Truth *t;
    size_t noise = 0;
    char path[512];

    imports(p, "trackml", public_data(path, sizeof path, "trackml"));
    assert_int_equal(p->n, 2);
    assert_int_equal(roi(p, 0)->l1id, 1);
    assert_int_equal(roi(p, 0)->hits->n_x_mm, 5527);
    assert_int_equal(roi(p, 1)->hits->n_x_mm, 93680);
    t = roi(p, 0)->truth;
    for (size_t i = 0; i < t->n_item_particle; i++)
        noise += t->item_particle[i] == GENERATOR_NOISE;
    assert_int_equal(noise, 829);
    assert_int_equal(roi(p, 1)->truth->n_item_particle, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(public_velopix_events_come_in),
        IN_PLACE(public_lhcb_events_come_in),
        IN_PLACE(public_trackml_events_come_in),
    };

    if (!getenv("TRIGD_DATA")) {
        printf("skipped: TRIGD_DATA names no folder of public events\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
