/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the clustering share; include after cmocka.h. */
#ifndef CLUSTERS_TESTING_H
#define CLUSTERS_TESTING_H
#include <math.h>

#include "algotest.h"
#include "banks.h"
#include "geometry.h"
#include "reference.h"

#define PLACE_ERROR 2e-4 /* mm: a float's last place at 1 m, thrice */

static struct geometry geometry;

static inline int open_host(void **state)
{
    char why[256];

    (void)state;
    if (geometry_open("velo", &geometry, why, sizeof why) < 0) {
        print_error("%s\n", why);
        return -1;
    }
    return algo_host_open(&host, "clusters");
}

static inline int close_all(void **state)
{
    geometry_fini(&geometry);
    return close_host(state);
}

/* Runs RoIs on a device, `batch` at a time. */
static inline void run_on(struct trg_device *device, const struct clusters_config *c,
                          const struct banks *banks, uint32_t n, uint32_t batch,
                          struct trg_result *results, struct products *found)
{
    uint32_t most = 1;
    struct batches *b;

    for (uint32_t i = 0; i < n; i++)
        most = banks[i].n > most ? banks[i].n : most;
    assert_int_equal(batches_open(&(struct batches_setup){.host = &host.host,
                                                          .plugin = &host.plugin->d,
                                                          .config = c,
                                                          .device = device,
                                                          .slots = 2,
                                                          .max_rois = batch,
                                                          .max_items = batch * most},
                                  &b),
                     0);
    assert_int_equal(clusters_run(b, banks, n, results, found), 0);
    batches_close(b);
}

/* The clusters of an RoI are those of the reference, in the same order. */
static inline void assert_clusters(const struct reference *r, const struct trg_result *result,
                                   const struct products *p)
{
    assert_int_equal(result->status, TRG_OK);
    assert_int_equal((uint32_t)result->value[0], r->n);
    assert_int_equal((uint32_t)result->value[2], r->n_bad);
    assert_int_equal((uint32_t)result->value[3], r->n_pixels);
    assert_int_equal(p->of[0].n, r->n);
    assert_int_equal(p->of[1].n, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct reference_cluster *c = &r->cluster[i];

        assert_int_equal(hit_id(p)[i], 0x80000000u | c->sensor << 18 | c->column << 8 | c->row);
        assert_int_equal(hit_layer(p)[i], geometry.sensor[c->sensor].layer);
        assert_int_equal(cluster_size(p)[i], c->size < 65535 ? c->size : 65535);
        assert_int_equal(cluster_columns(p)[i], c->n_columns < 32 ? c->n_columns : 32);
        assert_int_equal(cluster_rows(p)[i], c->n_rows < 32 ? c->n_rows : 32);
        for (uint32_t a = 0; a < 3; a++)
            assert_true(fabs((double)hit_place(p, a)[i] - c->place[a]) < PLACE_ERROR);
    }
}
#endif
