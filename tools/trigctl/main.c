/* SPDX-License-Identifier: Apache-2.0 */
/* trigctl - asks the running daemon over its control socket; looks at plugins without a daemon. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "check.h"
#include "event.h"
#include "keygen.h"
#include "log.h"
#include "monitor/show.h"
#include "rois.h"
#include "talk.h"
#include "top.h"

enum exit_code { EXIT_GOOD = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 69 };

#define SOCKET_VARIABLE "TRIGD_SOCKET"
#define SOCKET_DEFAULT  "trigd.sock"
#define FARM_VARIABLE   "TRIGSUP_SOCKET"
#define FARM_DEFAULT    "trigsup.sock"
#define NO_SEED         0x9e3779b97f4a7c15u /* as if --seed were not given */
#define TIMEOUT_S       30
#define LINE_BYTES      1024

struct options {
    const char *socket;
    bool farm, json, now, once;
    const char *at; /* "RUN:BLOCK" */
    uint32_t rois;  /* of make-rois */
    struct check_options check;
};

static const struct arg_command commands[] = {
    {"top", "[--once]", "rates, chains against expectation, lanes, nodes, each second"},
    {"show-plugin", "FILE.so", "parameters, presets, values and collections of a plugin file"},
    {"check-plugin", "FILE.so [OPTION ...]",
     "whether a plugin keeps the contract of trigd/plugin.h on every device here, and whether its "
     "backends give the same answers"},
    {"make-rois", "FILE.so OUT [--rois N] [--seed N]",
     "a file of random RoIs with the collections that a plugin consumes, for trigreplay"},
    {"event", "FILE N",
     "the Nth event of an RoI file as SVG on stdout: hits, tracks, vertices, or slices of a "
     "volume"},
    {"keygen", "FILE", "makes a pair of CURVE keys: FILE (both, mode 0600) and FILE.pub"},
    {0}};

static int copy_list(const char *what, const struct arg_texts *from, const char **to,
                     uint32_t *ret_n)
{
    if (from->n > CHECK_LIST_MAX) {
        fprintf(stderr, "trigctl: %s: at most %d are taken\n", what, CHECK_LIST_MAX);
        return EXIT_USAGE;
    }
    for (*ret_n = 0; *ret_n < from->n; ++*ret_n)
        to[*ret_n] = from->text[*ret_n];
    return -1;
}

/* Returns -1 to go on with the words that are left in argv[1 .. *ret_n], else the exit code. */
static int parse(int argc, char **argv, struct options *o, int *ret_n)
{
    const uint64_t seed = o->check.seed;
    struct arg_texts backends = {.n = 0}, params = {.n = 0};
    const struct arg table[] = {
        {"socket", ARG_TEXT, &o->socket, 0, 0, "PATH",
         "the daemon's control socket; else $" SOCKET_VARIABLE ", else " SOCKET_DEFAULT},
        {"s", ARG_TEXT, &o->socket, 0, 0, NULL, NULL},
        {"farm", ARG_FLAG, &o->farm, 0, 0, NULL,
         "ask the farm's supervisor: its control socket is $" FARM_VARIABLE ", else " FARM_DEFAULT},
        {"f", ARG_FLAG, &o->farm, 0, 0, NULL, NULL},
        {"json", ARG_FLAG, &o->json, 0, 0, NULL, "answers as JSON, for programs"},
        {"j", ARG_FLAG, &o->json, 0, 0, NULL, NULL},
        {"once", ARG_FLAG, &o->once, 0, 0, NULL, "top: print one update and exit"},
        {"now", ARG_FLAG, &o->now, 0, 0, NULL,
         "prescales and conditions take effect with the next RoI, not with the next lumi block"},
        {"at", ARG_TEXT, &o->at, 0, 0, "RUN:BLOCK",
         "prescales and conditions take effect with this lumi block, of which no RoI has arrived"},
        {"backend", ARG_TEXTS, &backends, 0, 0, "cpu|opencl|cuda",
         "check-plugin: this backend only; may be repeated"},
        {"param", ARG_TEXTS, &params, 0, 0, "KEY=VALUE",
         "check-plugin: set a parameter of the plugin; may be repeated"},
        {"params", ARG_TEXTS, &params, 0, 0, "KEY=VALUE", NULL},
        {"preset", ARG_TEXT, &o->check.preset, 0, 0, "NAME",
         "check-plugin: apply a preset before the parameters"},
        {"file", ARG_TEXT, &o->check.rois_file, 0, 0, "FILE",
         "check-plugin: use the small RoIs of this file, for plugins whose columns depend on each "
         "other"},
        {"conditions", ARG_TEXT, &o->check.conditions, 0, 0, "FILE",
         "check-plugin: file with conditions of the plugin"},
        {"seed", ARG_U64, &o->check.seed, 0, 0, "N",
         "check-plugin, make-rois: seed of the random RoIs (default: a fresh one, printed; "
         "make-rois: "
         "1)"},
        {"rois", ARG_U32, &o->rois, 1, 1000000, "N", "make-rois: RoIs in the file (default 1000)"},
        {"tolerance", ARG_REAL, &o->check.tolerance, 0, 1, "X",
         "check-plugin: backends may differ by |a - b| <= X max(1, |a|, |b|) (default 0: not at "
         "all)"},
        {"worst", ARG_FLAG, &o->check.worst, 0, 0, NULL,
         "check-plugin: search for slow RoIs instead, and compare their time with the plugin's "
         "stated cost"},
        {"items", ARG_U32, &o->check.worst_items, 64, 1u << 22, "N",
         "--worst: items of each input (default 16384)"},
        {"seconds", ARG_U32, &o->check.worst_s, 0, 86400, "S",
         "--worst: time of the search on each device (default 3)"},
        {"backends", ARG_TEXT, &o->check.folder, 0, 0, "FOLDER",
         "check-plugin: folder of trigd-cpu.so and the other backends (default: beside trigctl)"},
        {"races", ARG_FLAG, &o->check.races, 0, 0, NULL,
         "check-plugin: also look for data races between work-items, with oclgrind"},
        {"race-run", ARG_FLAG, &o->check.race_run, 0, 0, NULL, NULL},
        {"verbose", ARG_FLAG, &o->check.verbose, 0, 0, NULL,
         "check-plugin: also show the log of plugin and backends"},
        {0}};
    const struct arg_program program = {
        .name = "trigctl",
        .version = TRIGD_VERSION,
        .summary =
            "asks a running daemon or supervisor (`trigctl help` lists its commands), and looks at "
            "plugins without one",
        .usage = "[--socket PATH | --farm] [--json] [--now | --at RUN:BLOCK] COMMAND...",
        .commands = commands,
        .table = table,
        .more =
            "Exit codes: 0 good, 1 the answer is an error or a check failed, 2 wrong usage, 69 no "
            "daemon.\n"};
    const int r = args_parse_program(argc, argv, &program, ret_n);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? EXIT_GOOD : EXIT_USAGE;
    o->check.has_seed = o->check.seed != seed;
    if (copy_list("--backend", &backends, o->check.backend, &o->check.n_backends) >= 0 ||
        copy_list("--param", &params, o->check.param, &o->check.n_params) >= 0)
        return EXIT_USAGE;
    if (*ret_n)
        return -1;
    args_print_usage(&program, stderr);
    return EXIT_USAGE;
}

/* ---------------------------------------------------------------- the running daemon */

static const char *socket_path(const struct options *o)
{
    const char *path = o->socket;

    if (!path)
        path = getenv(o->farm ? FARM_VARIABLE : SOCKET_VARIABLE);
    if (!path || !*path)
        path = o->farm ? FARM_DEFAULT : SOCKET_DEFAULT;
    return path;
}

static int tell_failure(const struct options *o, int r)
{
    const char *path = socket_path(o), *daemon = o->farm ? "trigsup" : "trigd";

    if (r == -EBADMSG)
        fprintf(stderr,
                "trigctl: what answers at \"%s\" does not know `show rates`: it is no trigd or "
                "trigsup of version " TRIGD_VERSION "\n",
                path);
    else if (r == -ENOENT || r == -ECONNREFUSED)
        fprintf(stderr,
                "trigctl: no daemon answers on \"%s\" (%s); is %s running, and is this its "
                "control.socket?  --socket names another\n",
                path, strerror(-r), daemon);
    else if (r == -ETIMEDOUT)
        fprintf(stderr, "trigctl: the daemon at \"%s\" gave no answer within %d s\n", path,
                TIMEOUT_S);
    else if (r == -EPROTO || r == -ECONNRESET || r == -EPIPE)
        fprintf(stderr, "trigctl: the daemon at \"%s\" hung up before its answer ended\n", path);
    else
        fprintf(stderr, "trigctl: cannot talk to the daemon at \"%s\": %s\n", path, strerror(-r));
    return EXIT_NO_DAEMON;
}

/* Each line of a dumped file has a character in front: a bar when it does not end the line. */
static void print_file(const char *answer)
{
    for (const char *line = answer; *line;) {
        const size_t n = strcspn(line, "\n");

        fwrite(line + (n > 0), 1, n - (n > 0), stdout);
        if (*line != '|')
            putchar('\n');
        line += n + (line[n] == '\n');
    }
}

static bool is_file_command(const char *word)
{
    return !strcmp(word, "prescale-file") || !strcmp(word, "conditions-file");
}

static int ask(struct options *o, int n_words, char **words)
{
    char line[LINE_BYTES] = "", file[PATH_MAX], *answer = NULL;
    size_t n = 0;
    int r;

    if (n_words == 2 && is_file_command(words[0]) && realpath(words[1], file))
        words[1] = file; /* the daemon has another working folder */
    for (int i = 0; i < n_words && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", i ? " " : "", words[i]);
    if (n < sizeof line)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s%s%s", o->json ? " json" : "",
                              o->now ? " now" : "", o->at ? " at " : "", o->at ? o->at : "");
    if (n >= sizeof line || strpbrk(line, "\r\n")) {
        fprintf(stderr, "trigctl: a command is one line of at most %d bytes\n", LINE_BYTES - 1);
        return EXIT_USAGE;
    }
    if (!line[strspn(line, " ")]) {
        fprintf(stderr, "trigctl: the command is empty; `trigctl help` lists them\n");
        return EXIT_USAGE;
    }
    r = talk(socket_path(o), line, TIMEOUT_S, &answer);
    if (r < 0)
        return tell_failure(o, r);
    r = talk_is_error(answer) ? EXIT_ERROR : EXIT_GOOD;
    if (r == EXIT_GOOD && !strcmp(words[0], "dump"))
        print_file(answer);
    else
        fputs(answer, r ? stderr : stdout);
    free(answer);
    return r;
}

static int watch_it(struct options *o, int n_words, char **words)
{
    int r;

    if (n_words != 1) {
        fprintf(stderr, "trigctl: top takes options only, not \"%s\"\n", words[1]);
        return EXIT_USAGE;
    }
    r = top_run(socket_path(o), o->once, TIMEOUT_S);
    return r < 0 ? tell_failure(o, r) : EXIT_GOOD;
}

/* ---------------------------------------------------------------- plugins, without a daemon */

static int show_file(const struct options *o, const char *file)
{
    struct plugin_host *host;
    const struct plugin *p;
    char why[512];
    int r = plugin_host_new(NULL, 0, &host);

    if (r < 0) {
        fprintf(stderr, "trigctl: %s\n", strerror(-r));
        return EXIT_ERROR;
    }
    r = plugin_host_open(host, file, &p, why, sizeof why);
    if (r == 0)
        show_plugin(p, o->json ? TABLE_JSON : TABLE_TEXT, stdout);
    else
        fprintf(stderr, "error: %s\n", why);
    plugin_host_free(host);
    return r < 0 ? EXIT_ERROR : EXIT_GOOD;
}

static int offline(struct options *o, int n_words, char **words)
{
    if (n_words != 2) {
        fprintf(stderr, "trigctl: %s takes one plugin file\n", words[0]);
        return EXIT_USAGE;
    }
    log_set_level(o->check.verbose ? TRG_DEBUG : TRG_ERROR);
    if (!strcmp(words[0], "show-plugin"))
        return show_file(o, words[1]);
    o->check.file = words[1];
    return check_plugin(&o->check);
}

static int make_keys(struct options *o, int n_words, char **words)
{
    (void)o;
    if (n_words != 2) {
        fprintf(stderr, "trigctl: keygen takes the name of the file to write\n");
        return EXIT_USAGE;
    }
    return keygen(words[1]) < 0 ? EXIT_ERROR : EXIT_GOOD;
}

static int make_rois(struct options *o, int n_words, char **words)
{
    const struct rois_options options = {.plugin = n_words > 1 ? words[1] : NULL,
                                         .out = n_words > 2 ? words[2] : NULL,
                                         .n = o->rois,
                                         .seed = o->check.has_seed ? o->check.seed : 1};

    if (n_words != 3) {
        fprintf(stderr, "trigctl: make-rois takes a plugin file and the file to write\n");
        return EXIT_USAGE;
    }
    log_set_level(o->check.verbose ? TRG_DEBUG : TRG_ERROR);
    return rois_make(&options) < 0 ? EXIT_ERROR : EXIT_GOOD;
}

static int draw_event(struct options *o, int n_words, char **words)
{
    char *end = NULL;
    const unsigned long long number = n_words == 3 ? strtoull(words[2], &end, 10) : 0;

    (void)o;
    if (!number || *end || *words[2] == '-') {
        fprintf(stderr, "trigctl: event takes an RoI file and the number of the event, from 1\n");
        return EXIT_USAGE;
    }
    return event_draw(words[1], number, stdout) < 0 ? EXIT_ERROR : EXIT_GOOD;
}

int main(int argc, char **argv)
{
    struct options o = {.rois = 1000,
                        .check = {.worst_items = 16384, .worst_s = 3, .seed = NO_SEED}};
    int (*const functions[])(struct options * o, int n_words, char **words) = {
        watch_it, offline, offline, make_rois, draw_event, make_keys}; /* as `commands` */
    int (*run)(struct options * o, int n_words, char **words) = ask;
    _Static_assert(sizeof functions / sizeof *functions == sizeof commands / sizeof *commands - 1,
                   "a function for each command");
    int r = parse(argc, argv, &o, &argc);

    if (r >= 0)
        return r;
    argv++;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(argv[0], commands[i].name))
            run = functions[i];
    r = run(&o, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("trigctl: cannot write the answer");
        return EXIT_ERROR;
    }
    return r;
}
