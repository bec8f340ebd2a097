/* SPDX-License-Identifier: Apache-2.0 */
/* commands_inner.h - one command in execution, and the commands in files of their own:
 * commands_change.c (prescales, conditions), commands_dump.c (files of the state in force),
 * commands_rates.c (windows) and commands_run.c (run control).  commands.c has the table. */
#ifndef TRIGD_COMMANDS_INNER_H
#define TRIGD_COMMANDS_INNER_H
#include <stdio.h>

#include "monitor/commands.h"
#include "monitor/table.h"

#define WORDS_MAX 8

struct call { /* one command being carried out */
    const struct control_view *v;
    const struct control_who *who;
    enum table_format format;
    FILE *out;
    char *word[WORDS_MAX]; /* what follows the command's own words */
    uint32_t n_words;
    bool is_now, has_from;
    struct lumi from;
    const struct control_extra *extra; /* whose command it is; NULL: one of the tables here */
    struct control_wait wait;          /* for what was asked for; nothing may follow on the line */
    char **text;                       /* what was written so far, after fflush(out) */
    size_t *size;
};

/* LISTS: takes csv or json at the end; TIMED: acts, and takes now or at RUN:BLOCK at the end;
 * STARTS: acts, and its argument may be left out */
enum kind { LOOKS, LISTS, ACTS, TIMED, STARTS };

/* One sentence; a negative `r` makes it an error. */
static inline void command_answer(struct call *c, int r, const char *text)
{
    fprintf(c->out, "%s%s\n", r < 0 ? "error: " : "", text);
}

/* The end of a table in JSON. */
static inline void command_end_json(struct call *c)
{
    if (c->format == TABLE_JSON)
        putc('\n', c->out);
}

/* ---- commands_change.c */

void command_prescale(struct call *c);
void command_prescale_file(struct call *c);
void command_prescale_reset(struct call *c);
void command_conditions_file(struct call *c);
void command_conditions_reset(struct call *c);

/* ---- commands_dump.c */

void command_dump_menu(struct call *c);
void command_dump_prescales(struct call *c);
void command_dump_conditions(struct call *c);
void command_dump_histograms(struct call *c);
void command_dump_latency(struct call *c);
void command_dump_slow(struct call *c);

/* ---- commands_rates.c */

void command_show_rates(struct call *c);
void command_show_rates_1s(struct call *c);
void command_show_rates_10s(struct call *c);
void command_show_rates_60s(struct call *c);
void command_show_slow(struct call *c);

/* ---- commands_run.c */

#define COMMAND_RUN(name, help) void command_run_##name(struct call *c);
RUN_COMMANDS(COMMAND_RUN)
#undef COMMAND_RUN
void command_show_run(struct call *c);

/* Words, arguments, what may follow them, and help of the command `i` of a daemon, or of a
 * supervisor; false: there are no more. */
bool command_part(const struct control_view *v, uint32_t i, const char *ret_part[4]);
#endif
