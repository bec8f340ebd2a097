/* SPDX-License-Identifier: Apache-2.0 */
/* commands_run.c - run control for the operator. */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "monitor/commands_inner.h"

static bool read_number(struct call *c, uint32_t *ret_number)
{
    char *end;
    const unsigned long long n = strtoull(c->word[0], &end, 10);

    *ret_number = (uint32_t)n;
    if (strspn(c->word[0], "0123456789") == strlen(c->word[0]) && !*end && n && n <= UINT32_MAX)
        return true;
    fprintf(c->out, "error: \"%s\" is no number of a run; 1 to %u are allowed\n", c->word[0],
            UINT32_MAX);
    return false;
}

static void ask_run(struct call *c, enum run_command command)
{
    struct run_order o = {.command = command, .by = c->who->name};
    char text[512] = "";
    uint64_t ticket;

    if (c->n_words && !read_number(c, &o.number))
        return;
    if (c->v->hooks.ask_run(c->v->hooks.ctx, &o, &ticket, text, sizeof text) < 0)
        command_answer(c, -1, text);
    else
        c->wait = (struct control_wait){.look = c->v->hooks.look_run, .number = ticket};
}

#define ASK_RUN(name, help)                 \
    void command_run_##name(struct call *c) \
    {                                       \
        ask_run(c, RUN_DO_##name);          \
    }
RUN_COMMANDS(ASK_RUN)

void command_show_run(struct call *c)
{
    char began[JSON_TIME] = "";
    struct run_view run;
    struct table t;

    c->v->hooks.run(c->v->hooks.ctx, &run);
    table_init(&t);
    table_column(&t, "run_control", false);
    table_column(&t, "state", false);
    table_column(&t, "run", true);
    table_column(&t, "lumi_block", true);
    table_column(&t, "numbers", false);
    table_column(&t, "last_run", true);
    table_column(&t, "began", false);
    table_column(&t, "by", false);
    table_column(&t, "why", false);
    table_cell(&t, "%s", run.is_controlled ? "on" : "off");
    table_cell(&t, "%s", run.is_controlled ? run_state_name(run.state) : "");
    table_cell(&t, "%u", run.number);
    table_cell(&t, "%u", run.block);
    table_cell(&t, "%s", run.numbers ? "run control" : "client");
    table_cell(&t, "%u", run.last);
    table_cell(&t, "%s", run.began_unix_ns ? json_time(run.began_unix_ns, began) : "");
    table_cell(&t, "%s", run.by);
    table_cell(&t, "%s", run.why);
    table_print(&t, c->format, true, c->out);
    table_fini(&t);
    command_end_json(c);
}
