/* SPDX-License-Identifier: Apache-2.0 */
/* menu_cut.c - cuts on values, of chains and histograms. */
#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "menu/menu_build.h"

int32_t menu_find_value(struct builder *b, const struct plugin *p, const char *where,
                        const char *name)
{
    const char *names[TRG_VALUES_MAX + 1] = {NULL}, *near;

    for (uint32_t i = 0; i < p->n_values; i++) {
        if (!strcmp(p->d.values[i].name, name))
            return (int32_t)i;
        names[i] = p->d.values[i].name;
    }
    near = nearest_of(name, names);
    yamlfile_problem(b->f, where, "plugin %s reports no value \"%s\"%s%s%s", p->d.name, name,
                     near[0] ? "; did you mean \"" : "", near, near[0] ? "\"?" : "");
    return -1;
}

void menu_build_cut(struct builder *b, const struct menu_step *s, const struct menu_file_cut *fc,
                    const char *where, struct menu_cut *cut)
{
    int32_t value = menu_find_value(b, s->plugin, where, fc->value);
    if (!fc->min && !fc->max)
        yamlfile_problem(b->f, where, "the cut on \"%s\" has neither min nor max", fc->value);
    *cut = (struct menu_cut){.value = value < 0 ? 0 : (uint32_t)value,
                             .absolute = fc->absolute,
                             .min = fc->min ? *fc->min : -INFINITY,
                             .max = fc->max ? *fc->max : INFINITY};
    if (cut->min > cut->max)
        yamlfile_problem(b->f, where, "the cut on \"%s\" has min above max", fc->value);
}
