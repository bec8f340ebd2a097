/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "import.h"

/* The plugins' layer for one of the importer's, of which 0 to 3 are pixel barrels and from 10 and
 * 29 on pixel discs at z > 0 and z < 0; 10 or more: it is left out. */
static uint32_t layer_of(uint32_t layer)
{
    if (layer < 4)
        return layer;
    if (layer >= 10 && layer < 13)
        return layer - 10 + 4;
    return layer >= 29 && layer < 32 ? layer - 29 + 7 : 10;
}

static void keep_pixels(struct event *e)
{
    struct generated *g = &e->truth;
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t layer = layer_of(g->hits.layer[i]);

        if (layer >= 10)
            continue;
        roi_hit(&e->roi, (double)g->hits.x[i], (double)g->hits.y[i], (double)g->hits.z[i], layer);
        g->particle[n++] = g->particle[i];
    }
    g->n = n;
}

int truth_event(const struct algo_host *h, const char *const *settings, struct event *ret)
{
    const char *data = getenv("TRIGD_DATA");
    struct import im;
    char path[400];
    int r;

    snprintf(path, sizeof path, "%s/trackml/event000000001-hits.csv.gz", data ? data : "");
    if (!data || access(path, R_OK) != 0)
        return -ENOENT;
    import_init(&im);
    r = import_trackml(&im, path);
    if (r < 0) {
        fprintf(stderr, "%s\n", im.problem.text);
        import_fini(&im);
        return r;
    }
    *ret = (struct event){.truth = im.g};
    generated_init(&im.g); /* it was given away */
    import_fini(&im);
    keep_pixels(ret);
    r = event_doublets(h, settings, &ret->roi);
    if (r < 0)
        event_fini(ret);
    return r;
}
