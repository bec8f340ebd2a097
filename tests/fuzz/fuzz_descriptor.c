/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what the inspector's process says of a plugin: a refusal has a sentence; what was
 * taken can be walked, its defaults set and written. */
#include <stdio.h>
#include <string.h>

#include "plugin/descriptor.h"
#include "plugin/plugin_inner.h"
#include "want.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* As configuration, menu and `show plugin` use it. */
static void walk(const struct plugin *p)
{
    unsigned char *params = calloc(1, p->d.config_size + 1);
    char text[256], why[512];

    WANT(params);
    plugin_defaults(p, params);
    for (uint32_t i = 0; i < p->n_params; i++) {
        plugin_get(p, i, params, text, sizeof text);
        (void)plugin_set(p, p->d.params[i].name, text, params, why, sizeof why);
    }
    for (const struct trg_preset *preset = p->d.presets; preset && preset->name; preset++)
        WANT(plugin_preset(p, preset->name, params, why, sizeof why) == 0 || *why);
    (void)plugin_runs_on(p, "cuda");
    free(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct plugin p = {.path = "fuzz.so", .fd = -1};
    char why[512] = "";
    void *block = NULL;

    if (descriptor_unpack(data, n, &p, &block) < 0)
        return 0;
    if (plugin_check_tables(&p, why, sizeof why) == 0)
        walk(&p);
    else
        WANT(*why);
    free(block);
    return 0;
}
