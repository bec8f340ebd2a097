/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness.h"

static float column[3][ROI_MAX_POINTS];
static uint8_t layer[ROI_MAX_POINTS];

static void make_points(void)
{
    for (uint32_t i = 0; i < ROI_MAX_POINTS; i++) {
        column[0][i] = -1.5f + 3.0f * (float)i / ROI_MAX_POINTS; /* phi */
        column[1][i] = 50.0f + (float)(i % 8) * 60.0f;           /* rho */
        column[2][i] = (float)(i % 100) - 50.0f;                 /* z */
        layer[i] = (uint8_t)(i % 8);
    }
}

void roi_fill(Trigd__V1__Roi *m, Trigd__V1__Spacepoints *points, const struct roi_spec *spec)
{
    assert_true(spec->n <= ROI_MAX_POINTS);
    if (column[1][0] == 0.0f)
        make_points();
    trigd__v1__roi__init(m);
    trigd__v1__spacepoints__init(points);
    m->token = spec->token;
    m->run = 1;
    m->l1id = spec->l1id;
    m->roi_id = spec->roi_id;
    m->l1_bits = spec->l1_bits;
    m->deadline_us = spec->deadline_us;
    m->event_rois = spec->event_rois;
    m->type = spec->type;
    m->phi_half_rad = 3.2f;
    m->z_min_mm = -200;
    m->z_max_mm = 200;
    m->spacepoints = points;
    points->n_phi_rad = points->n_rho_mm = points->n_z_mm = points->layer.len = spec->n;
    points->phi_rad = column[0];
    points->rho_mm = column[1];
    points->z_mm = column[2];
    points->layer.data = layer;
}

void link_send_rois(struct link *l, const struct roi_spec *specs, uint32_t n)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi *rois = calloc(n, sizeof *rois), **list = calloc(n, sizeof *list);
    Trigd__V1__Spacepoints *points = calloc(n, sizeof *points);

    assert_true(rois && list && points);
    for (uint32_t i = 0; i < n; i++) {
        roi_fill(&rois[i], &points[i], &specs[i]);
        list[i] = &rois[i];
    }
    batch.n_rois = n;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(l, &m);
    free(rois);
    free(list);
    free(points);
}
