/* SPDX-License-Identifier: Apache-2.0 */
/* commands_rates.c - what came in windows, and the slowest RoIs. */
#include "monitor/commands_inner.h"
#include "monitor/show.h"
#include "monitor/show_rates.h"

/* What came in a window, or in all of them: a part for each kind of entry. */
static void show_windows(struct call *c, uint32_t window)
{
    static const char *const part[WINDOWS_KINDS] = {"node",  "stages",  "chains",  "steps",
                                                    "lanes", "devices", "streams", "clients"};

    for (uint32_t kind = 0; kind < WINDOWS_KINDS; kind++) {
        struct table t;

        show_title(part[kind], kind == 0, c->format, c->out);
        table_init(&t);
        show_rates(c->v, (enum windows_kind)kind, window, &t);
        table_print(&t, c->format, false, c->out);
        table_fini(&t);
    }
    if (c->format == TABLE_JSON)
        fputs("}\n", c->out);
}

void command_show_rates(struct call *c)
{
    show_windows(c, SHOW_ALL_WINDOWS);
}

void command_show_rates_1s(struct call *c)
{
    show_windows(c, 0);
}

void command_show_rates_10s(struct call *c)
{
    show_windows(c, 1);
}

void command_show_rates_60s(struct call *c)
{
    show_windows(c, 2);
}

void command_show_slow(struct call *c)
{
    struct table t;

    table_init(&t);
    show_slow(c->v, &t);
    table_print(&t, c->format, false, c->out);
    table_fini(&t);
    command_end_json(c);
}
