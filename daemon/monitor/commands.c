/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's commands: one table for parsing, help and documentation. */
#include "monitor/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/audit.h"
#include "base/nearest.h"
#include "log.h"
#include "memstream.h"
#include "monitor/commands_inner.h"
#include "monitor/show.h"

#define LINE_BYTES 1024
#define NAMES_MAX  64 /* commands, to look for the one that was meant */

struct command {
    const char *words; /* "show stat" */
    uint32_t n_args;   /* words that must follow */
    enum kind kind;
    void (*run)(struct call *c);
    const char *args, *help;
};

typedef void show_fn(const struct control_view *v, struct table *t);

static void print(struct call *c, show_fn *show, bool single)
{
    struct table t;

    table_init(&t);
    show(c->v, &t);
    table_print(&t, c->format, single, c->out);
    table_fini(&t);
}

#define SHOW(name, single)                      \
    static void run_show_##name(struct call *c) \
    {                                           \
        print(c, show_##name, single);          \
        command_end_json(c);                    \
    }
SHOW(info, true)
SHOW(chains, false)
SHOW(plugins, false)
SHOW(lanes, false)
SHOW(devices, false)
SHOW(workers, false)
SHOW(streams, false)
SHOW(guests, false)
SHOW(clients, false)
SHOW(latency, false)
SHOW(ledger, true)
SHOW(poison, false)
SHOW(conditions, false)
SHOW(histograms, false)

/* Several tables in one answer: titled, or as members of one object. */
struct part {
    const char *name;
    show_fn *show;
    bool single;
};

static void run_show_stat(struct call *c)
{
    static const struct part parts[] = {
        {"global", show_info, true},      {"chains", show_chains, false},
        {"steps", show_steps, false},     {"lanes", show_lanes, false},
        {"workers", show_workers, false}, {"streams", show_streams, false},
        {"guests", show_guests, false},   {"clients", show_clients, false}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        show_title(parts[i].name, i == 0, c->format, c->out);
        print(c, parts[i].show, parts[i].single);
    }
    if (c->format == TABLE_JSON)
        fputs("}\n", c->out);
}

static void run_show_plugin(struct call *c)
{
    for (const struct plugin *p = NULL;
         c->v->plugins && (p = plugin_host_next(c->v->plugins, p)) != NULL;) {
        if (strcmp(p->d.name, c->word[0]) != 0)
            continue;
        show_plugin(p, c->format, c->out);
        return;
    }
    fprintf(c->out, "error: no plugin \"%s\" is loaded; `show plugins` lists those that are\n",
            c->word[0]);
}

/* ---------------------------------------------------------------- others */

static void run_clear_poison(struct call *c)
{
    fprintf(c->out, "%u RoIs were cleared: they are processed when they are sent again\n",
            c->v->poison ? poison_clear(c->v->poison) : 0);
}

static void run_set_log(struct call *c)
{
    enum trg_level level;

    if (log_level_parse(c->word[0], &level) < 0) {
        fprintf(c->out,
                "error: there is no level \"%s\"; error, warn, info and debug are allowed\n",
                c->word[0]);
        return;
    }
    log_set_level(level);
    fprintf(c->out, "log level %s\n", c->word[0]);
}

static void order_guest(struct call *c, enum guest_order what)
{
    char text[256] = "";

    command_answer(c, guests_order(c->v->guests, c->word[0], what, text, sizeof text), text);
}

static void run_guest_start(struct call *c)
{
    order_guest(c, GUEST_RUN);
}

static void run_guest_pause(struct call *c)
{
    order_guest(c, GUEST_PAUSE);
}

static void run_guest_stop(struct call *c)
{
    order_guest(c, GUEST_STOP);
}

#define ASK(name)                                                     \
    static void run_##name(struct call *c)                            \
    {                                                                 \
        char text[256] = "";                                          \
        int r = c->v->hooks.name(c->v->hooks.ctx, text, sizeof text); \
                                                                      \
        command_answer(c, r, text);                                   \
    }
ASK(drain)
ASK(resume)
ASK(quit)

static void run_reload(struct call *c)
{
    c->wait = (struct control_wait){.look = c->v->hooks.look_reload,
                                    .number = c->v->hooks.ask_reload(c->v->hooks.ctx)};
}

static void run_help(struct call *c);

static const struct command commands[] = {
    {"help", 0, LOOKS, run_help, "", "this list"},
    {"show info", 0, LISTS, run_show_info, "", "version, state, all counters of the daemon"},
    {"show rates", 0, LISTS, command_show_rates, "",
     "rates, quantiles and expectations of the last 1, 10 and 60 s"},
    {"show rates 1s", 0, LISTS, command_show_rates_1s, "", "those of the last second"},
    {"show rates 10s", 0, LISTS, command_show_rates_10s, "", "those of the last 10 s"},
    {"show rates 60s", 0, LISTS, command_show_rates_60s, "", "those of the last minute"},
    {"show clients", 0, LISTS, run_show_clients, "", "clients with credits and counters"},
    {"show latency", 0, LISTS, run_show_latency, "", "latency of stages and lanes, quantiles"},
    {"show ledger", 0, LISTS, run_show_ledger, "",
     "received = accepted + rejected + failed + in_flight"},
    {"dump latency", 0, LOOKS, command_dump_latency, "", "histograms of the windows, as a file"},
    {"set log", 1, ACTS, run_set_log, "LEVEL", "error, warn, info or debug"},
    {"drain", 0, ACTS, run_drain, "", "accept no more RoIs (answer Busy)"},
    {"resume", 0, ACTS, run_resume, "", "accept RoIs again"},
    {"reload", 0, ACTS, run_reload, "",
     "load the menu file again; after a failure the old menu stays"},
    {"quit", 0, ACTS, run_quit, "", "finish the RoIs in flight and end the daemon"},
    {"show run", 0, LISTS, command_show_run, "", "run control: state, run, lumi block, user"},
#define RUN_ENTRY(name, help)                         \
    {"run " #name,                                    \
     RUN_DO_##name == RUN_DO_start,                   \
     RUN_DO_##name == RUN_DO_start ? STARTS : ACTS,   \
     command_run_##name,                              \
     RUN_DO_##name == RUN_DO_start ? "[NUMBER]" : "", \
     help},
    RUN_COMMANDS(RUN_ENTRY)
#undef RUN_ENTRY
};
#define N_COMMANDS (sizeof commands / sizeof *commands)
/* What only a daemon has. */
static const struct command own_commands[] = {
    {"show stat", 0, LISTS, run_show_stat, "",
     "all counters: daemon, chains, steps, lanes, streams, clients"},
    {"show chains", 0, LISTS, run_show_chains, "", "chains with prescale and counters"},
    {"show plugins", 0, LISTS, run_show_plugins, "", "loaded plugins"},
    {"show plugin", 1, LISTS, run_show_plugin, "NAME",
     "parameters, presets and values of a plugin"},
    {"show lanes", 0, LISTS, run_show_lanes, "", "lanes with their devices and counters"},
    {"show workers", 0, LISTS, run_show_workers, "",
     "processes of lanes: alive, ended, started again"},
    {"show streams", 0, LISTS, run_show_streams, "",
     "files of streams: RoIs written, waiting, lost"},
    {"show guests", 0, LISTS, run_show_guests, "", "guests: slices of work, state, progress"},
    {"guest show", 0, LISTS, run_show_guests, "", "the same"},
    {"guest start", 1, ACTS, run_guest_start, "NAME", "resume a guest from its last checkpoint"},
    {"guest pause", 1, ACTS, run_guest_pause, "NAME",
     "write its checkpoint and pause it; it keeps its memory"},
    {"guest stop", 1, ACTS, run_guest_stop, "NAME", "write its checkpoint and free its memory"},
    {"show devices", 0, LISTS, run_show_devices, "", "devices of all backends"},
    {"show conditions", 0, LISTS, run_show_conditions, "",
     "conditions of plugins: rows, keys, first lumi block"},
    {"show histograms", 0, LISTS, run_show_histograms, "",
     "histograms of the menu: binning, entries, mean"},
    {"show slow", 0, LISTS, command_show_slow, "",
     "the slowest RoI of each second, and its time by stage"},
    {"show poison", 0, LISTS, run_show_poison, "",
     "RoIs that ended a worker and are not processed again"},
    {"clear poison", 0, ACTS, run_clear_poison, "", "allow these RoIs to be processed again"},
    {"prescale", 2, TIMED, command_prescale, "CHAIN N",
     "accept 1 in N of a chain, from the next lumi block on; 0 is off"},
    {"prescale-file", 1, TIMED, command_prescale_file, "FILE",
     "use the prescales of a file; other chains get the menu's"},
    {"prescale-reset", 0, TIMED, command_prescale_reset, "", "return to the menu's prescales"},
    {"conditions-file", 1, TIMED, command_conditions_file, "FILE",
     "use the conditions of a file, from the next lumi block on; others stay"},
    {"conditions-reset", 0, TIMED, command_conditions_reset, "",
     "return to the conditions of the configuration's file"},
    {"dump menu", 0, LOOKS, command_dump_menu, "", "the file of the running menu"},
    {"dump prescales", 0, LOOKS, command_dump_prescales, "", "the prescales in force, as a file"},
    {"dump conditions", 0, LOOKS, command_dump_conditions, "",
     "the conditions in force, as a file"},
    {"dump slow", 0, LOOKS, command_dump_slow, "", "the slowest RoIs, as a trace"},
    {"dump histograms", 0, LOOKS, command_dump_histograms, "",
     "histograms with their counts, as a file"},
};
#define N_OWN (sizeof own_commands / sizeof *own_commands)

static void run_extra(struct call *c)
{
    char text[256] = "";
    struct table t;
    int r;

    if (c->extra->act) {
        command_answer(c, c->extra->act(c->v->hooks.ctx, c->word[0], text, sizeof text), text);
        return;
    }
    table_init(&t);
    r = c->extra->show(c->v->hooks.ctx, &t);
    if (r < 0)
        fputs("error: the supervisor's loop did not answer\n", c->out);
    else
        table_print(&t, c->format, false, c->out);
    table_fini(&t);
    command_end_json(c);
}

static uint32_t n_commands(const struct control_view *v)
{
    return (uint32_t)(N_COMMANDS + (v->extra ? v->n_extra : N_OWN));
}

/* All commands of a daemon, or of a supervisor. */
static struct command command_at(const struct control_view *v, uint32_t i)
{
    const struct control_extra *e;

    if (i < N_COMMANDS)
        return commands[i];
    if (!v->extra)
        return own_commands[i - N_COMMANDS];
    e = &v->extra[i - N_COMMANDS];
    return (struct command){.words = e->words,
                            .n_args = e->args[0] != '\0',
                            .kind = e->act ? ACTS : LISTS,
                            .run = run_extra,
                            .args = e->args,
                            .help = e->help};
}

static const char *takes(const struct command *k)
{
    return k->kind == LISTS ? " [csv|json]" : k->kind == TIMED ? " [now, or at RUN:BLOCK]" : "";
}

static void run_help(struct call *c)
{
    for (uint32_t i = 0; i < n_commands(c->v); i++) {
        const struct command k = command_at(c->v, i);

        fprintf(c->out, "%s%s%s%s\n    %s\n", k.words, k.args[0] ? " " : "", k.args, takes(&k),
                k.help);
    }
}

bool command_part(const struct control_view *v, uint32_t i, const char *ret_part[4])
{
    const struct command k = i < n_commands(v) ? command_at(v, i) : (struct command){.words = NULL};
    const char *const part[4] = {k.words, k.args, takes(&k), k.help};

    memcpy(ret_part, part, sizeof part);
    return k.words != NULL;
}

/* Whether the words begin with those of a command; *ret_used is how many that are. */
static bool begins_with(char **word, uint32_t n, const char *words, uint32_t *ret_used)
{
    uint32_t used = 0;

    while (used < n && *words) {
        const size_t len = strcspn(words, " ");

        if (strlen(word[used]) != len || strncmp(word[used], words, len) != 0)
            break;
        used++;
        words += len + (words[len] == ' ');
    }
    *ret_used = used;
    return !*words;
}

/* The command that the words begin with: the one with the most words; *ret_used is how many. */
static bool find(struct call *c, char **word, uint32_t n, uint32_t *ret_used,
                 struct command *ret_command)
{
    bool is_found = false;

    *ret_used = 0;
    for (uint32_t i = 0; i < n_commands(c->v); i++) {
        const struct command k = command_at(c->v, i);
        uint32_t used;

        if (!begins_with(word, n, k.words, &used) || (is_found && used < *ret_used))
            continue;
        is_found = true;
        *ret_used = used;
        *ret_command = k;
        c->extra = c->v->extra && i >= N_COMMANDS ? &c->v->extra[i - N_COMMANDS] : NULL;
    }
    return is_found;
}

/* "RUN:BLOCK" */
static bool read_lumi(const char *text, struct lumi *ret_at)
{
    char *end;
    const unsigned long long run = strtoull(text, &end, 10);
    const unsigned long long block = *end == ':' ? strtoull(end + 1, &end, 10) : 0;

    *ret_at = (struct lumi){.run = (uint32_t)run, .block = (uint32_t)block};
    return text[strspn(text, "0123456789:")] == '\0' && strchr(text, ':') > text &&
           strchr(text, ':') == strrchr(text, ':') && end[-1] != ':' && !*end &&
           run <= UINT32_MAX && block <= UINT32_MAX && (run || block);
}

/* When a command takes effect. */
static void take_time(const struct command *k, struct call *c)
{
    const char *const *word = (const char *const *)c->word;
    const uint32_t n = c->n_words;

    c->is_now = n > k->n_args && !strcmp(word[n - 1], "now");
    c->has_from =
        n > k->n_args + 1 && !strcmp(word[n - 2], "at") && read_lumi(word[n - 1], &c->from);
    c->n_words -= c->has_from ? 2 : c->is_now;
}

static void take_last(const struct command *k, struct call *c)
{
    c->is_now = c->has_from = false;
    if (k->kind == TIMED)
        take_time(k, c);
    if (k->kind != LISTS || c->n_words <= k->n_args)
        return;
    if (!strcmp(c->word[c->n_words - 1], "json"))
        c->format = TABLE_JSON;
    else if (!strcmp(c->word[c->n_words - 1], "csv"))
        c->format = TABLE_CSV;
    else
        return;
    c->n_words--;
}

static void unknown(struct call *c, const char *line)
{
    const char *names[NAMES_MAX + 1] = {NULL}, *nearest;

    for (uint32_t i = 0; i < n_commands(c->v) && i < NAMES_MAX; i++)
        names[i] = command_at(c->v, i).words;
    nearest = nearest_of(line, names);
    fprintf(c->out, "error: unknown command%s%s%s; `help` lists all\n",
            nearest[0] ? "; did you mean \"" : "", nearest, nearest[0] ? "\"?" : "");
}

/* The first line of its answer goes to the audit log. */
static void act_audited(struct call *c, const struct command *k, const char *line)
{
    char result[512] = "";
    size_t before;

    fflush(c->out);
    before = *c->size;
    k->run(c);
    fflush(c->out);
    snprintf(result, sizeof result, "%.*s", (int)strcspn(*c->text + before, "\n"),
             *c->text + before);
    audit_write(&(struct audit_line){
        .by = c->who->name, .action = line, .result = c->wait.look ? NULL : result});
}

/* Whoever may only look is refused; either is logged. */
static void act(struct call *c, const struct command *k, const char *line)
{
    if (c->who->may_act) {
        log_info("control", "action", "by=\"%s\" command=\"%s\"", c->who->name, line);
        act_audited(c, k, line);
        return;
    }
    log_warn("control", "action refused", "by=\"%s\" command=\"%s\"", c->who->name, line);
    audit_write(&(struct audit_line){
        .by = c->who->name, .action = line, .result = "refused: may look and not act"});
    fprintf(c->out, "error: %s may look and not act (control.act_group)\n", c->who->name);
}

/* Runs a command on the counters of this moment. */
static void look(struct call *c, const struct command *k)
{
    const struct control_view *all = c->v;
    struct control_view now;

    if (view_now(all, &now) < 0) {
        fputs("error: there is no memory\n", c->out);
        return;
    }
    c->v = &now;
    k->run(c);
    c->v = all;
    view_done(&now);
}

static void carry_out(struct call *c, char *line)
{
    struct command found = {.words = ""};
    const struct command *k = &found;
    char *word[WORDS_MAX + 1], *state = NULL, whole[LINE_BYTES];
    uint32_t n = 0, used = 0;

    if (c->wait.look) {
        fputs("error: what has to be waited for ends its line; what follows was not done\n",
              c->out);
        return;
    }
    strncpy(whole, line, sizeof whole - 1);
    whole[sizeof whole - 1] = '\0';
    for (char *w = strtok_r(line, " \t\r", &state); w && n <= WORDS_MAX;
         w = strtok_r(NULL, " \t\r", &state))
        word[n++] = w;
    if (!n)
        return;
    if (n > WORDS_MAX || !find(c, word, n, &used, &found)) {
        unknown(c, whole);
        return;
    }
    c->format = TABLE_TEXT;
    c->n_words = n - used;
    memcpy(c->word, word + used, c->n_words * sizeof *word);
    take_last(k, c);
    if (c->n_words != k->n_args && (k->kind != STARTS || c->n_words))
        fprintf(c->out, "error: usage: %s%s%s%s\n", k->words, k->args[0] ? " " : "", k->args,
                takes(k));
    else if (k->kind == ACTS || k->kind == TIMED || k->kind == STARTS)
        act(c, k, whole);
    else
        look(c, k);
}

/* Answers repeat words of the line: nothing that ends a line or moves a terminal's cursor may be
 * there. */
static bool is_clean(const char *line)
{
    for (; *line; line++)
        if (((unsigned char)*line < 0x20 && *line != '\t' && *line != '\r') || *line == 0x7f)
            return false;
    return true;
}

char *control_command(const struct control_view *view, const struct control_who *who,
                      const char *line, struct control_wait *ret_wait)
{
    char copy[LINE_BYTES], *text = NULL, *state = NULL;
    size_t size = 0;
    struct call c = {
        .v = view, .who = who, .out = open_memstream(&text, &size), .text = &text, .size = &size};

    if (!c.out)
        return NULL;
    if (strlen(line) >= sizeof copy) {
        fprintf(c.out, "error: the line is longer than %d bytes\n", LINE_BYTES - 1);
    } else if (!is_clean(line)) {
        fputs("error: the line holds control characters; only tabs are allowed\n", c.out);
    } else {
        memcpy(copy, line, strlen(line) + 1);
        for (char *p = strtok_r(copy, ";", &state); p; p = strtok_r(NULL, ";", &state))
            carry_out(&c, p);
    }
    *ret_wait = c.wait;
    (void)memstream_close(c.out, &text);
    return text;
}
