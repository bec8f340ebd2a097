/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptor of a plugin must be, before anything is taken from it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugin/plugin_host.h"
#include "plugin/plugin_inner.h"
#include "plugin/room.h"
#include "refuse.h"

bool plugin_is_name(const char *s)
{
    if (!s || !islower((unsigned char)*s) || strlen(s) > 63)
        return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

/* Gives the declarations of one direction their numbers; `n` is how many there are. */
static int take_kinds(const struct trg_collection *const *declared, uint32_t most, const char *what,
                      uint32_t *kinds, uint32_t *n, char *why, size_t bytes)
{
    for (*n = 0; *n < most && declared[*n]; ++*n)
        if (kind_add(declared[*n], &kinds[*n], why, bytes) < 0)
            return -EINVAL;
    for (uint32_t i = *n; i < most; i++)
        if (declared[i])
            return refuse(why, bytes, "%s[%u] is given and %s[%u] is not; no gaps are allowed",
                          what, i, what, *n);
    return 0;
}

static int check_collections(struct plugin *p, char *why, size_t bytes)
{
    const struct trg_plugin *d = &p->d;

    if (take_kinds(d->consumes, TRG_INPUTS_MAX, "consumes", p->consumes, &p->n_inputs, why, bytes) <
            0 ||
        take_kinds(d->produces, TRG_OUTPUTS_MAX, "produces", p->produces, &p->n_outputs, why,
                   bytes) < 0)
        return -EINVAL;
    if (!p->n_inputs && !(d->flags & TRG_PLUGIN_GUEST))
        return refuse(why, bytes, "it consumes no collection; at least one is needed");
    if ((p->n_inputs || p->n_outputs) && (d->flags & TRG_PLUGIN_GUEST))
        return refuse(why, bytes, "it is a guest, and a guest has no collections");
    for (uint32_t i = 0; i < p->n_outputs; i++)
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(d->produces[i]->name, d->produces[k]->name))
                return refuse(why, bytes, "it produces %s twice", d->produces[i]->name);
    return room_check(d, why, bytes);
}

static int check_condition(const struct trg_condition *c, char *why, size_t bytes)
{
    if (!plugin_is_name(c->name) || !c->help || !c->table)
        return refuse(
            why, bytes,
            "condition '%s' has no help or table, or is not lower-case letters, digits and _",
            c->name);
    if (kind_check(c->table, why, bytes) < 0)
        return -EINVAL;
    for (uint32_t k = 0; k < c->table->n_columns; k++)
        if (c->table->column[k].type == TRG_F16)
            return refuse(why, bytes, "condition '%s' has a column of f16; use f32", c->name);
    if (c->flags & ~(uint32_t)TRG_CONDITION_OPTIONAL)
        return refuse(why, bytes, "condition '%s' has unknown flags %#x", c->name, c->flags);
    return 0;
}

static int check_conditions(const struct plugin *p, char *why, size_t bytes)
{
    const struct trg_condition *all = p->d.conditions;
    uint32_t n = 0;

    for (; all && all[n].name; n++) {
        if (n == TRG_CONDITIONS_MAX)
            return refuse(why, bytes, "it needs more than %d conditions", TRG_CONDITIONS_MAX);
        if (check_condition(&all[n], why, bytes) < 0)
            return -EINVAL;
        for (uint32_t k = 0; k < n; k++)
            if (!strcmp(all[n].name, all[k].name))
                return refuse(why, bytes, "condition '%s' is there twice", all[n].name);
    }
    return 0;
}

static int check_values(struct plugin *p, char *why, size_t bytes)
{
    for (const struct trg_value *v = p->d.values; v && v->name; v++) {
        if (!plugin_is_name(v->name))
            return refuse(why, bytes, "value '%s' is not lower-case letters, digits and _",
                          v->name);
        if (!v->unit || !v->help)
            return refuse(why, bytes, "value '%s' has no unit or no help", v->name);
        for (const struct trg_value *w = p->d.values; w < v; w++)
            if (!strcmp(v->name, w->name))
                return refuse(why, bytes, "value '%s' is there twice", v->name);
        if (++p->n_values > TRG_VALUES_MAX)
            return refuse(why, bytes, "it has more than %d values", TRG_VALUES_MAX);
    }
    return 0;
}

static int check_param(const struct plugin *p, uint32_t i, char *why, size_t bytes)
{
    const struct trg_param *q = &p->d.params[i];

    if (!plugin_is_name(q->name) || !strcmp(q->name, "preset"))
        return refuse(why, bytes,
                      "parameter '%s': a name is lower-case letters, digits and _, and "
                      "not 'preset'",
                      q->name);
    for (uint32_t k = 0; k < i; k++)
        if (!strcmp(q->name, p->d.params[k].name))
            return refuse(why, bytes, "parameter '%s' is there twice", q->name);
    if (q->offset % 4 || q->offset + 4 > p->d.config_size)
        return refuse(why, bytes, "parameter '%s' lies at byte %zu of a config struct of %zu bytes",
                      q->name, q->offset, p->d.config_size);
    if (q->type > TRG_PARAM_CHOICE)
        return refuse(why, bytes, "parameter '%s' has the unknown type %d", q->name, (int)q->type);
    if (!q->dflt || !q->unit || !q->help)
        return refuse(why, bytes, "parameter '%s' lacks a default, a unit or a help", q->name);
    if ((q->type == TRG_PARAM_CHOICE) != (q->choices && *q->choices))
        return refuse(why, bytes,
                      "parameter '%s': choices are for the type CHOICE, and needed there", q->name);
    if ((q->type == TRG_PARAM_U32 || q->type == TRG_PARAM_F32) && !(q->min <= q->max))
        return refuse(why, bytes, "parameter '%s' has min %g above max %g", q->name, q->min,
                      q->max);
    return 0;
}

/* Tables must hold together before plugin_set may walk them; then it judges the defaults. */
static int check_params(struct plugin *p, char *why, size_t bytes)
{
    uint32_t params[1024], n = 0;
    char inner[256];

    if (p->d.config_size > sizeof params)
        return refuse(why, bytes, "its config struct has %zu bytes; at most %zu are allowed",
                      p->d.config_size, sizeof params);
    for (; p->d.params && p->d.params[n].name; n++)
        if (check_param(p, n, why, bytes) < 0)
            return -EINVAL;
    p->n_params = n;
    memset(params, 0, sizeof params);
    for (uint32_t i = 0; i < n; i++)
        if (plugin_set(p, p->d.params[i].name, p->d.params[i].dflt, params, inner, sizeof inner) <
            0)
            return refuse(why, bytes, "a default is wrong: %s", inner);
    for (const struct trg_preset *s = p->d.presets; s && s->name; s++) {
        if (!s->settings || !plugin_is_name(s->name))
            return refuse(why, bytes, "preset '%s' has no settings or is no name", s->name);
        if (plugin_preset(p, s->name, params, inner, sizeof inner) < 0)
            return refuse(why, bytes, "preset '%s' is wrong: %s", s->name, inner);
    }
    if (!p->d.check)
        return 0;
    plugin_defaults(p, params);
    inner[0] = '\0';
    if (p->d.check(params, inner, sizeof inner) < 0)
        return refuse(why, bytes, "its own check refuses the defaults: %s", inner);
    return 0;
}

static int check_backends(const char *words, char *why, size_t bytes)
{
    char text[64], *save = NULL, *word;

    if (!words || !*words || strlen(words) >= sizeof text)
        return refuse(why, bytes, "it names no backends; allowed are cpu, opencl, cuda");
    memcpy(text, words, strlen(words) + 1);
    for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (strcmp(word, "cpu") && strcmp(word, "opencl") && strcmp(word, "cuda"))
            return refuse(why, bytes, "it names the backend '%s'; allowed are cpu, opencl, cuda",
                          word);
    return 0;
}

int plugin_check_code(const struct trg_plugin *d, char *why, size_t bytes)
{
    const struct trg_guest *g = d->guest;

    if (!(d->flags & TRG_PLUGIN_GUEST)) {
        if (!d->create || !d->destroy || !d->submit || !d->collect)
            return refuse(why, bytes, "create, destroy, submit or collect is missing");
        return 0;
    }
    if (!g || g->size < sizeof *g || !g->open || !g->submit || !g->collect || !g->save ||
        !g->progress || !g->close)
        return refuse(why, bytes,
                      "it is a guest, and open, submit, collect, save, progress or close of its "
                      "table is missing");
    return 0;
}

int plugin_check_tables(struct plugin *p, char *why, size_t bytes)
{
    const char *file = strrchr(p->path, '/') ? strrchr(p->path, '/') + 1 : p->path;
    size_t n;

    if (!plugin_is_name(p->d.name))
        return refuse(why, bytes, "its name '%s' is not lower-case letters, digits and _",
                      p->d.name ? p->d.name : "");
    n = strlen(p->d.name);
    if (strncmp(file, p->d.name, n) || strcmp(file + n, ".so"))
        return refuse(why, bytes, "it calls itself '%s'; its file must be %s.so, not %s", p->d.name,
                      p->d.name, file);
    if (!p->d.version || !p->d.summary)
        return refuse(why, bytes, "it has no version or no summary");
    if (check_backends(p->d.backends, why, bytes) < 0 || check_values(p, why, bytes) < 0 ||
        check_conditions(p, why, bytes) < 0 || check_params(p, why, bytes) < 0)
        return -EINVAL;
    return check_collections(p, why, bytes);
}
