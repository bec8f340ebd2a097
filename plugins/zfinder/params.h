/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - what users set and see of the z-finder: parameters, presets, values for hypotheses. */
#ifndef ZFINDER_PARAMS_H
#define ZFINDER_PARAMS_H
#include "vertices.h"

enum { /* places in zf_values */
       VALUE_N,
       VALUE_Z,
       VALUE_WEIGHT,
       VALUE_SIGNIFICANCE,
       VALUE_ENTRIES,
       VALUE_POINTS,
       VALUE_DIGEST_HIGH,
       VALUE_DIGEST_LOW
};
extern const struct trg_param zf_params[];
extern const struct trg_preset zf_presets[];
extern const struct trg_value zf_values[];

/* Bins of one charge, at eta 0, where there are most. */
double zf_most_bins(const struct zf_config *c);
/* Whether the parameters are right together: -EINVAL with a sentence in `why`. */
int zf_check(const void *config, char *why, size_t bytes);
#endif
