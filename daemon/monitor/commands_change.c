/* SPDX-License-Identifier: Apache-2.0 */
/* commands_change.c - changes that take effect at a lumi block: prescales and conditions. */
#include <errno.h>
#include <stdlib.h>

#include "conditions/condition_file.h"
#include "config/yamlfile.h"
#include "menu/prescale_file.h"
#include "monitor/commands_inner.h"

static void order(struct call *c, enum change_what what, const struct change *list, uint32_t n,
                  bool is_whole)
{
    const struct change_order o = {.what = what,
                                   .change = list,
                                   .n = n,
                                   .is_whole = is_whole,
                                   .is_now = c->is_now,
                                   .from = c->has_from ? &c->from : NULL};
    char text[512] = "";

    command_answer(c, c->v->hooks.change(c->v->hooks.ctx, &o, text, sizeof text), text);
}

void command_prescale(struct call *c)
{
    struct change change = {.what = CHANGE_PRESCALE, .prescale = -1};
    char *end;

    snprintf(change.name, sizeof change.name, "%s", c->word[0]);
    change.prescale = strtod(c->word[1], &end);
    if (end == c->word[1] || *end || !prescale_is_allowed(change.prescale))
        fprintf(c->out, "error: \"%s\" is no prescale; 0 (off) or a number >= 1 is allowed\n",
                c->word[1]);
    else
        order(c, CHANGE_PRESCALE, &change, 1, false);
}

static void refuse_file(struct call *c, int r)
{
    if (r == -ENOMEM)
        fputs("error: there is no memory\n", c->out);
    else
        fprintf(c->out, "error: %s\n", yamlfile_why());
}

void command_prescale_file(struct call *c)
{
    struct change *list;
    uint32_t n;
    int r = prescales_read(c->word[0], &list, &n);

    if (r < 0) {
        refuse_file(c, r);
        return;
    }
    order(c, CHANGE_PRESCALE, list, n, true);
    free(list);
}

void command_prescale_reset(struct call *c)
{
    order(c, CHANGE_PRESCALE, NULL, 0, true);
}

void command_conditions_file(struct call *c)
{
    struct change change[CONDITIONS_MAX];
    struct condition_need needs[CONDITIONS_MAX];
    const uint32_t n = c->v->plugins ? conditions_needed(c->v->plugins, needs, CONDITIONS_MAX) : 0;
    struct condition_list list;
    int r = conditions_read(c->word[0], needs, n, &list);

    if (r < 0) {
        refuse_file(c, r);
        return;
    }
    for (uint32_t i = 0; i < list.n; i++) {
        change[i] = (struct change){.what = CHANGE_CONDITION, .condition = list.of[i]};
        snprintf(change[i].name, sizeof change[i].name, "%s", list.of[i]->name);
    }
    order(c, CHANGE_CONDITION, change, list.n, false);
    conditions_release(&list);
}

void command_conditions_reset(struct call *c)
{
    order(c, CHANGE_CONDITION, NULL, 0, true);
}
