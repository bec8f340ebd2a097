/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <stddef.h>

#define AT(member) offsetof(struct clusters_config, member)
const struct trg_param clusters_params[] = {
    {"geometry", TRG_PARAM_CHOICE, AT(geometry), "velo", 0, 0, "", "velo",
     "where the sensors are: a text in plugins/clusters/geometry"},
    {"hint", TRG_PARAM_BOOL, AT(hint), "true", 0, 0, "", NULL,
     "a super-pixel with bit 31 set touches nothing, as the readout says; false: it is looked at"},
    {"sigma_one", TRG_PARAM_F32, AT(sigma_one), "0.227", 0.001, 10, "", NULL,
     "resolution across a cluster of one column or row, in pitches"},
    {"sigma_two", TRG_PARAM_F32, AT(sigma_two), "0.195", 0.001, 10, "", NULL, "the same of two"},
    {"sigma_more", TRG_PARAM_F32, AT(sigma_more), "0.565", 0.001, 10, "", NULL, "the same of more"},
    {0},
};
#undef AT

#define AT(member) offsetof(struct pixels_config, member)
const struct trg_param pixels_params[] = {
    {"geometry", TRG_PARAM_CHOICE, AT(geometry), "barrel", 0, 0, "", "velo|barrel|cms",
     "where the modules are: a text in plugins/clusters/geometry; cms: barrel and end-caps"},
    {"sigma_one", TRG_PARAM_F32, AT(sigma_one), "0.289", 0.001, 10, "", NULL,
     "resolution across a cluster of one column or row, in pitches"},
    {"sigma_two", TRG_PARAM_F32, AT(sigma_two), "0.15", 0.001, 10, "", NULL, "the same of two"},
    {"sigma_more", TRG_PARAM_F32, AT(sigma_more), "0.3", 0.001, 10, "", NULL, "the same of more"},
    {0},
};
