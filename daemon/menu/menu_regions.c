/* SPDX-License-Identifier: Apache-2.0 */
/* menu_regions.c - the parts of the detector whose RoIs a chain looks at. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "menu/menu_build.h"

#define PHI_MAX 3.1416 /* pi, as clients may round it: what RoIs hold */

static void check_phi(struct builder *b, const struct menu_chain *c, const char *where,
                      const struct menu_file_region *fr)
{
    const double *const phi[] = {fr->phi_min, fr->phi_max};

    if (!fr->phi_min != !fr->phi_max)
        yamlfile_problem(b->f, where, "chain \"%s\": the region has %s and no %s", c->name,
                         fr->phi_min ? "phi_min_rad" : "phi_max_rad",
                         fr->phi_min ? "phi_max_rad" : "phi_min_rad");
    for (uint32_t i = 0; i < 2; i++)
        if (phi[i] && !(fabs(*phi[i]) <= PHI_MAX))
            yamlfile_problem(b->f, where,
                             "chain \"%s\": %s of the region is %g; -pi to pi is allowed (a region "
                             "across pi has phi_min_rad above phi_max_rad)",
                             c->name, i ? "phi_max_rad" : "phi_min_rad", *phi[i]);
    if (fr->phi_min && fr->phi_max && *fr->phi_min == *fr->phi_max)
        yamlfile_problem(b->f, where, "chain \"%s\": the region is empty: both ends in phi are %g",
                         c->name, *fr->phi_min);
}

static void build_region(struct builder *b, const struct menu_chain *c, const char *where,
                         const struct menu_file_region *fr, struct menu_region *ret)
{
    if (!fr->eta_min && !fr->eta_max && !fr->phi_min && !fr->phi_max)
        yamlfile_problem(b->f, where, "chain \"%s\": the region has limits neither in eta nor phi",
                         c->name);
    check_phi(b, c, where, fr);
    *ret = (struct menu_region){.eta_min = fr->eta_min ? *fr->eta_min : -INFINITY,
                                .eta_max = fr->eta_max ? *fr->eta_max : INFINITY,
                                .phi_width = INFINITY};
    if (!(ret->eta_min < ret->eta_max))
        yamlfile_problem(b->f, where,
                         "chain \"%s\": the region is empty: eta_min is %g and eta_max %g", c->name,
                         ret->eta_min, ret->eta_max);
    if (!fr->phi_min || !fr->phi_max)
        return;
    ret->phi_min = *fr->phi_min;
    ret->phi_width = *fr->phi_max - *fr->phi_min;
    if (ret->phi_width < 0)
        ret->phi_width += 2 * M_PI;
}

int menu_build_regions(struct builder *b, struct menu_chain *c, uint32_t chain)
{
    const struct menu_file_chain *fc = &b->file->chains[chain];
    char where[WHERE_BYTES];

    if (!fc->n_regions)
        return 0;
    c->region = calloc(fc->n_regions, sizeof *c->region);
    if (!c->region)
        return -ENOMEM;
    c->n_regions = fc->n_regions;
    for (uint32_t i = 0; i < fc->n_regions; i++) {
        snprintf(where, sizeof where, "chains[%u].regions[%u]", chain, i);
        build_region(b, c, where, &fc->regions[i], &c->region[i]);
    }
    return 0;
}

bool menu_region_has(const struct menu_region *r, float eta, float phi_rad)
{
    double phi = (double)phi_rad - r->phi_min;

    if (phi < 0)
        phi += 2 * M_PI;
    return (double)eta >= r->eta_min && (double)eta < r->eta_max && phi < r->phi_width;
}
