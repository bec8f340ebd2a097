/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEEDING_H
#define SEEDING_H

struct seeding_config {
    unsigned int max_seeds, threshold_mev;
};

struct seeding_par {
    struct trg_span towers;
};
#endif
