/* SPDX-License-Identifier: Apache-2.0 */
/* menu_expected.c - the band in which the rate of a chain is expected. */
#include <math.h>
#include <string.h>

#include "menu/menu_build.h"

static void check_bounds(struct builder *b, const struct menu_chain *c, const char *where,
                         const struct menu_file_expected *fe)
{
    const struct menu_expected *e = &c->expected;
    const bool is_part = e->of == MENU_OF_RUN;

    if (!fe->min && !fe->max)
        yamlfile_problem(b->f, where, "chain \"%s\": expected has neither min nor max", c->name);
    else if (!(e->min >= 0) || !(e->max >= 0) || (is_part && fe->min && e->min > 1) ||
             (is_part && fe->max && e->max > 1))
        yamlfile_problem(b->f, where, "chain \"%s\": min and max of expected are %s", c->name,
                         is_part ? "parts from 0 to 1, of: run"
                                 : "rates from 0 on, in RoIs a second");
    else if (e->min > e->max)
        yamlfile_problem(b->f, where, "chain \"%s\": expected has min above max", c->name);
}

void menu_build_expected(struct builder *b, struct menu_chain *c, uint32_t chain)
{
    const struct menu_file_expected *fe = b->file->chains[chain].expected;
    char where[WHERE_BYTES];

    if (!fe)
        return;
    snprintf(where, sizeof where, "chains[%u].expected", chain);
    c->expected = (struct menu_expected){
        .of = MENU_OF_SECOND, .min = fe->min ? *fe->min : 0, .max = fe->max ? *fe->max : INFINITY};
    if (fe->of && !strcmp(fe->of, "run"))
        c->expected.of = MENU_OF_RUN;
    else if (fe->of && strcmp(fe->of, "second") != 0)
        yamlfile_problem(b->f, where,
                         "chain \"%s\": expected has of: %s; second and run are allowed", c->name,
                         fe->of);
    check_bounds(b, c, where, fe);
}
