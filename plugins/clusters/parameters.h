/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the parameters of both plugins, as the tables in parameters.c explain them. */
#ifndef CLUSTERS_PARAMETERS_H
#define CLUSTERS_PARAMETERS_H
#include "trigd/plugin.h"

struct clusters_config {
    uint32_t geometry; /* number in geometry_texts */
    uint32_t hint;
    float sigma_one, sigma_two, sigma_more;
};

struct pixels_config {
    uint32_t geometry; /* number in geometry_texts */
    float sigma_one, sigma_two, sigma_more;
};

extern const struct trg_param clusters_params[];
extern const struct trg_param pixels_params[];
#endif
