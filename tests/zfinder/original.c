/* SPDX-License-Identifier: Apache-2.0 */
#include "original.h"

#define WITH(triplets, per_slice, charges, central)                                          \
    {                                                                                        \
        "triplet_mode", triplets, "histogram_per_slice", per_slice, "charge_aware", charges, \
            "prefer_central", central                                                        \
    }

const struct original_setting original_settings[ORIGINAL_SETTINGS] = {
    {"a histogram per slice, pairs", WITH("0", "true", "true", "false"), {0.957, 0.60}},
    {"a histogram per slice, fast triplets", WITH("1", "true", "true", "false"), {0.969, 0.75}},
    {"a histogram per slice, all triplets", WITH("2", "true", "true", "false"), {0.961, 0.58}},
    {"one histogram, pairs", WITH("0", "false", "true", "false"), {0.977, 0.07}},
    {"one histogram, fast triplets", WITH("1", "false", "true", "false"), {0.985, 0.41}},
    {"one histogram, all triplets", WITH("2", "false", "true", "false"), {0.974, 0.57}},
    {"as the tool declares it", WITH("0", "false", "false", "true"), {0.971, 0.05}}};
