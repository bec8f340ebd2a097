/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the parameters of the clustering, as the table in parameters.c explains them. */
#ifndef CLUSTERS_PARAMETERS_H
#define CLUSTERS_PARAMETERS_H
#include "trigd/plugin.h"

struct clusters_config {
    uint32_t geometry; /* number in geometry_texts */
    uint32_t hint;
    float sigma_one, sigma_two, sigma_more;
};

extern const struct trg_param clusters_params[];
#endif
