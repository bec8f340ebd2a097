/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - paths by brute force: doubles, recursion, the formulas as CMS writes them. */
#ifndef PATHS_REFERENCE_H
#define PATHS_REFERENCE_H
#include "driver.h"

struct reference_path {
    uint32_t n_hits, hit[PA_HITS_MAX];
};

struct reference {
    uint32_t n_paths, room;
    struct reference_path *path; /* in the order that the plugin promises */
    uint32_t n_links, n_used;    /* links; doublets that may be used */
};

/* All paths; memory that is out ends the program. */
void reference_find(const struct pa_config *c, const struct roi *r, struct reference *ret);
void reference_fini(struct reference *r);
/* Takes out doublets until no link is so close to a cut that rounding could decide it. */
void reference_clarify(const struct pa_config *c, struct roi *r);
#endif
