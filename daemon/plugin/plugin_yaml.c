/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_yaml.h"

#include <stdio.h>
#include <string.h>

#define WHERE_BYTES 128
#define WHY_BYTES   512

void plugin_read_params(struct yamlfile *f, const char *where, const char *label,
                        const struct plugin *p, void *params)
{
    char at[WHERE_BYTES * 2], why[WHY_BYTES] = "";
    const char *key, *value;

    plugin_defaults(p, params);
    snprintf(at, sizeof at, "%s.preset", where);
    value = yamlfile_scalar(f, at);
    if (value && plugin_preset(p, value, params, why, sizeof why) < 0)
        yamlfile_problem(f, at, "%s", why);
    for (uint32_t i = 0; yamlfile_pair(f, where, i, &key, &value); i++) {
        snprintf(at, sizeof at, "%s.%.100s", where, key);
        if (!value)
            yamlfile_problem(f, at, "%s: one value is wanted", key);
        else if (strcmp(key, "preset") != 0 &&
                 plugin_set(p, key, value, params, why, sizeof why) < 0)
            yamlfile_problem(f, at, "%s", why);
    }
    if (!yamlfile_problems(f) && plugin_check(p, params, why, sizeof why) < 0)
        yamlfile_problem(f, where, "%s: %s", label, why);
}
