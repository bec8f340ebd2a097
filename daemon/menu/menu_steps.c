/* SPDX-License-Identifier: Apache-2.0 */
/* menu_steps.c - the steps of a menu: plugins, their parameters, and what feeds what. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "menu/menu_build.h"
#include "plugin/plugin_yaml.h"

void menu_check_name(struct builder *b, const char *where, const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:";

    if (name[strspn(name, allowed)] || strlen(name) > 63)
        yamlfile_problem(b->f, where,
                         "%s is \"%s\"; 1 to 63 letters, digits and _ - . : are allowed", where,
                         name);
}

int32_t menu_find_step(const struct menu *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_steps; i++)
        if (!strcmp(m->steps[i].name, name))
            return (int32_t)i;
    return -1;
}

/* A collection of the name that another step's plugin declares otherwise; NULL: none. */
static const char *declared_otherwise(const struct menu_step *s, const struct menu_step *other)
{
    const struct plugin *const plugins[] = {s->plugin, other->plugin};
    uint32_t kinds[2][TRG_INPUTS_MAX + TRG_OUTPUTS_MAX], n[2] = {0, 0};

    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < plugins[i]->n_inputs; k++)
            kinds[i][n[i]++] = plugins[i]->consumes[k];
        for (uint32_t k = 0; k < plugins[i]->n_outputs; k++)
            kinds[i][n[i]++] = plugins[i]->produces[k];
    }
    for (uint32_t i = 0; i < n[0]; i++)
        for (uint32_t k = 0; k < n[1]; k++)
            if (kinds[0][i] != kinds[1][k] &&
                !strcmp(kind_info(kinds[0][i])->name, kind_info(kinds[1][k])->name))
                return kind_info(kinds[0][i])->name;
    return NULL;
}

/* Whether a menu may use the plugin, and beside those of the steps above. */
static void check_plugin(struct builder *b, const struct menu_step *s, uint32_t number)
{
    char where[WHERE_BYTES];

    snprintf(where, sizeof where, "steps[%u].plugin", number);
    if (s->plugin->d.flags & TRG_PLUGIN_GUEST)
        yamlfile_problem(b->f, where,
                         "step \"%s\": plugin %s is a guest: it gets slices of work, and no RoIs",
                         s->name, s->plugin->d.name);
    for (uint32_t i = 0; i < number; i++) {
        const struct menu_step *other = &b->m->steps[i];
        const char *name = declared_otherwise(s, other);

        if (name)
            yamlfile_problem(b->f, where,
                             "step \"%s\": plugin %s declares %s otherwise than plugin %s of step "
                             "\"%s\" does",
                             s->name, s->plugin->d.name, name, other->plugin->d.name, other->name);
    }
}

/* Enters a condition that the plugin of a step needs. */
static void need_condition(struct builder *b, const struct menu_step *s, const char *where,
                           const struct trg_condition *c)
{
    const bool is_optional = c->flags & TRG_CONDITION_OPTIONAL;
    struct condition_need *need = b->m->condition;
    uint32_t i = 0;

    while (i < b->m->n_conditions && strcmp(need[i].name, c->name) != 0)
        i++;
    if (i == CONDITIONS_MAX)
        yamlfile_problem(b->f, where, "step \"%s\": a menu needs at most %u conditions", s->name,
                         CONDITIONS_MAX);
    else if (i < b->m->n_conditions && need[i].table->hash != c->table->hash)
        yamlfile_problem(
            b->f, where,
            "step \"%s\": plugin %s gives the condition %s other columns than a plugin "
            "above does",
            s->name, s->plugin->d.name, c->name);
    else if (i < b->m->n_conditions)
        need[i].is_optional &= is_optional;
    else
        need[b->m->n_conditions++] = (struct condition_need){c->name, c->table, is_optional};
}

static void need_conditions(struct builder *b, const struct menu_step *s, uint32_t number)
{
    char where[WHERE_BYTES];

    snprintf(where, sizeof where, "steps[%u].plugin", number);
    for (const struct trg_condition *c = s->plugin->d.conditions; c && c->name; c++)
        need_condition(b, s, where, c);
}

static void build_params(struct builder *b, struct menu_step *s, uint32_t number)
{
    char where[WHERE_BYTES], label[WHERE_BYTES];

    snprintf(where, sizeof where, "steps[%u].params", number);
    snprintf(label, sizeof label, "step \"%.63s\"", s->name);
    plugin_read_params(b->f, where, label, s->plugin, s->params);
}

/* ---------------------------------------------------------------- what feeds what */

/* A step above step `number`, or -1. */
static int32_t find_above(const struct builder *b, uint32_t number, const char *name)
{
    int32_t step = menu_find_step(b->m, name);

    return step < (int32_t)number ? step : -1;
}

/* Which of a step's products is of the kind; -1: none. */
static int32_t find_product(const struct menu_step *s, uint32_t kind)
{
    for (uint32_t k = 0; k < s->plugin->n_outputs; k++)
        if (s->plugin->produces[k] == kind)
            return (int32_t)k;
    return -1;
}

/* A step above that makes a declared collection which step s reads from the RoI; NULL: none. */
static const char *maker_above(const struct builder *b, uint32_t number, uint32_t kind)
{
    for (uint32_t i = 0; i < number && kind >= TRG_KIND_COUNT; i++)
        if (find_product(&b->m->steps[i], kind) >= 0)
            return b->m->steps[i].name;
    return NULL;
}

/* Where a consumed collection comes from: a listed earlier step that makes it, else the RoI. */
static void build_input(struct builder *b, struct menu_step *s, uint32_t number, uint32_t k)
{
    const struct menu_file_step *fs = &b->file->steps[number];
    uint32_t kind = s->plugin->consumes[k];
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < fs->n_inputs; i++) {
        int32_t from = find_above(b, number, fs->inputs[i]);
        int32_t product = from < 0 ? -1 : find_product(&b->m->steps[from], kind);

        snprintf(where, sizeof where, "steps[%u].inputs[%u]", number, i);
        if (from < 0 && k == 0)
            yamlfile_problem(b->f, where, "there is no step \"%s\" above step \"%s\"",
                             fs->inputs[i], s->name);
        if (product < 0)
            continue;
        s->input[k] = from;
        s->product[k] = (uint32_t)product;
    }
    snprintf(where, sizeof where, "steps[%u]", number);
    if (s->input[k] < 0 && kind > TRG_TRACKS && kind < TRG_KIND_COUNT)
        yamlfile_problem(b->f, where,
                         "step \"%s\" consumes %s, which no RoI holds and none of "
                         "its inputs makes",
                         s->name, kind_info(kind)->name);
    else if (s->input[k] < 0 && maker_above(b, number, kind))
        yamlfile_problem(b->f, where,
                         "step \"%s\" would read %s from the RoI, and step \"%s\" makes them: name "
                         "it among the inputs",
                         s->name, kind_info(kind)->name, maker_above(b, number, kind));
}

/* An input that makes nothing the step consumes would be ignored without a word. */
static void check_inputs(struct builder *b, const struct menu_step *s, uint32_t number)
{
    const struct menu_file_step *fs = &b->file->steps[number];
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < fs->n_inputs; i++) {
        int32_t from = find_above(b, number, fs->inputs[i]);
        bool is_used = from < 0; /* told by build_input */

        for (uint32_t k = 0; k < s->plugin->n_inputs; k++)
            is_used |= s->input[k] == from;
        snprintf(where, sizeof where, "steps[%u].inputs[%u]", number, i);
        if (!is_used)
            yamlfile_problem(b->f, where, "step \"%s\" does not consume what \"%s\" makes", s->name,
                             fs->inputs[i]);
    }
}

/* ---------------------------------------------------------------- steps of one batch */

/* Whether step `from` can hand its products on where they lie, and to the batches of `head`. */
static bool can_join(struct builder *b, const char *where, const struct menu_step *s, uint32_t from,
                     uint32_t head)
{
    const struct menu_step *f = &b->m->steps[from];

    if (!f->plugin->has_device_output)
        yamlfile_problem(b->f, where,
                         "step \"%s\" cannot take its input on the device: plugin %s of step "
                         "\"%s\" does not hand it on there",
                         s->name, f->plugin->d.name, f->name);
    else if (f->head != head)
        yamlfile_problem(b->f, where,
                         "step \"%s\" cannot take its inputs on the device: steps \"%s\" and "
                         "\"%s\" are not on the device together",
                         s->name, b->m->steps[head].name, f->name);
    else
        return true;
    return false;
}

/* Puts a step with on_device into the batches of the steps that feed it. */
static void join_batches(struct builder *b, struct menu_step *s, uint32_t number)
{
    char where[WHERE_BYTES];
    int32_t head = -1;

    snprintf(where, sizeof where, "steps[%u].on_device", number);
    if (!(s->plugin->d.flags & TRG_PLUGIN_DEVICE_INPUT)) {
        yamlfile_problem(b->f, where,
                         "step \"%s\" cannot take its input on the device: plugin %s reads it on "
                         "the host",
                         s->name, s->plugin->d.name);
        return;
    }
    for (uint32_t k = 0; k < s->plugin->n_inputs; k++) {
        if (s->input[k] < 0)
            continue;
        if (head < 0)
            head = (int32_t)b->m->steps[s->input[k]].head;
        if (!can_join(b, where, s, (uint32_t)s->input[k], (uint32_t)head))
            return;
    }
    if (head < 0) {
        yamlfile_problem(b->f, where,
                         "step \"%s\" has no earlier step among its inputs to take from", s->name);
        return;
    }
    if (__builtin_popcountll(b->m->steps[head].members) == MENU_GROUP_MAX) {
        yamlfile_problem(b->f, where, "step \"%s\": at most %d steps can be on a device together",
                         s->name, MENU_GROUP_MAX);
        return;
    }
    s->head = (uint32_t)head;
    s->members = 0;
    b->m->steps[head].members |= 1ull << number;
}

void menu_mark_wanted(struct menu *m)
{
    for (uint32_t i = 0; i < m->n_steps; i++) {
        const struct menu_step *s = &m->steps[i];

        for (uint32_t k = 0; s->plugin && k < s->plugin->n_inputs; k++)
            if (s->input[k] >= 0 && m->steps[s->input[k]].head != s->head)
                m->steps[s->input[k]].wanted |= 1ull << s->product[k];
        for (uint32_t k = 0; s->plugin && k < m->n_streams; k++)
            if (m->streams[k].products >> i & 1)
                m->steps[i].wanted |= (1ull << s->plugin->n_outputs) - 1;
    }
}

/* ---------------------------------------------------------------- one step */

int menu_build_step(struct builder *b, uint32_t number)
{
    const struct menu_file_step *fs = &b->file->steps[number];
    struct menu_step *s = &b->m->steps[number];
    char where[WHERE_BYTES], why[WHY_BYTES] = "";

    snprintf(where, sizeof where, "steps[%u].name", number);
    menu_check_name(b, where, fs->name);
    if (menu_find_step(b->m, fs->name) >= 0)
        yamlfile_problem(b->f, where, "step \"%s\" is listed twice", fs->name);
    s->name = strdup(fs->name);
    if (!s->name)
        return -ENOMEM;
    s->head = number;
    s->members = 1ull << number;
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
        s->input[k] = -1;
    b->m->n_steps++;
    snprintf(where, sizeof where, "steps[%u].plugin", number);
    if (plugin_host_get(b->host, fs->plugin, &s->plugin, why, sizeof why) < 0) {
        s->plugin = NULL;
        yamlfile_problem(b->f, where, "step \"%s\": plugin \"%s\" cannot be loaded: %s", fs->name,
                         fs->plugin, why);
        return -EINVAL; /* nothing more can be checked */
    }
    s->params = calloc(1, s->plugin->d.config_size ? s->plugin->d.config_size : 1);
    if (!s->params)
        return -ENOMEM;
    check_plugin(b, s, number);
    need_conditions(b, s, number);
    build_params(b, s, number);
    room_init(&s->plugin->d, s->params, &s->room);
    for (uint32_t k = 0; k < s->plugin->n_inputs; k++)
        build_input(b, s, number, k);
    check_inputs(b, s, number);
    if (fs->on_device)
        join_batches(b, s, number);
    return 0;
}
