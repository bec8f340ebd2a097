/* SPDX-License-Identifier: Apache-2.0 */
/* trigctl - asks the running daemon over its control socket; looks at plugins without a daemon. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
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
#define TIMEOUT_S       30
#define LINE_BYTES      1024

static const char usage[] =
    "usage: trigctl [--socket PATH | --farm] [--json] [--now | --at RUN:BLOCK] COMMAND...\n"
    "       trigctl [--socket PATH | --farm] top [--once]\n"
    "       trigctl [--json] show-plugin FILE.so\n"
    "       trigctl check-plugin FILE.so [--backend NAME]... [--param KEY=VALUE]...\n"
    "               [--preset NAME] [--conditions FILE] [--seed N] [--tolerance X] [--backends "
    "FOLDER]\n"
    "               [--races]\n"
    "               [--worst [--items N] [--seconds S]]\n"
    "       trigctl make-rois FILE.so OUT [--rois N] [--seed N]\n"
    "       trigctl keygen FILE\n"
    "\n"
    "  COMMAND...          a command for the running daemon; `trigctl help` lists them\n"
    "  top                 rates, chains against expectation, lanes, nodes, each second\n"
    "  show-plugin         parameters, presets, values and collections of a plugin file\n"
    "  make-rois           a file of random RoIs with the collections that a plugin consumes, for "
    "trigreplay\n"
    "  keygen              makes a pair of CURVE keys: FILE (both, mode 0600) and FILE.pub\n"
    "  check-plugin        whether a plugin keeps the contract of trigd/plugin.h on every device "
    "here,\n"
    "                      and whether its backends give the same answers\n"
    "\n"
    "  -s, --socket PATH   the daemon's control socket; else $" SOCKET_VARIABLE
    ", else " SOCKET_DEFAULT "\n"
    "  -f, --farm          ask the farm's supervisor: its control socket is $" FARM_VARIABLE
    ", else " FARM_DEFAULT "\n"
    "  -j, --json          answers for programs\n"
    "      --once          of top: print it once\n"
    "      --now           with prescales and conditions: at once, not from the next lumi block "
    "on\n"
    "      --at RUN:BLOCK  from that lumi block on, which no RoI has come from yet\n"
    "      --backend NAME  check this backend only; may be repeated\n"
    "      --param K=V     set a parameter of the plugin; may be repeated\n"
    "      --preset NAME   apply a preset before the parameters\n"
    "      --conditions F  file of conditions that the plugin is given\n"
    "      --seed N        of the random RoIs; printed, fresh unless given (make-rois: 1)\n"
    "      --rois N        of make-rois (default 1000)\n"
    "      --tolerance X   between backends: |a - b| <= X max(1, |a|, |b|); 0, which is exact, "
    "unless given\n"
    "      --worst         look for RoIs that take long instead, and compare with the cost that "
    "the "
    "plugin\n"
    "                      states\n"
    "      --items N       of --worst: items of each input (default 16384)\n"
    "      --seconds S     of --worst: on each device (default 3)\n"
    "      --backends DIR  folder of trigd-cpu.so and friends; found beside trigctl unless given\n"
    "      --races         also look for data races between work-items, with oclgrind\n"
    "      --verbose       also show what plugin and backends log\n"
    "  -h, --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "Exit codes: 0 good, 1 the answer is an error or a check failed, 2 wrong usage, 69 no "
    "daemon.\n";

struct options {
    const char *socket;
    bool farm, json, now, verbose, once;
    const char *at; /* "RUN:BLOCK" */
    double rois, items, seconds;
    struct check_options check;
};

static int add(const char **list, uint32_t *n, const char *what)
{
    if (*n == CHECK_LIST_MAX) {
        fprintf(stderr, "trigctl: %s: at most %d are taken\n", what, CHECK_LIST_MAX);
        return EXIT_USAGE;
    }
    list[(*n)++] = optarg;
    return -1;
}

static int number(const char *what, double most, double *ret_value)
{
    char *end;
    double v = strtod(optarg, &end);

    if (end == optarg || *end || !(v >= 0 && v <= most)) {
        fprintf(stderr, "trigctl: %s %s: a number from 0 to %g is allowed\n", what, optarg, most);
        return EXIT_USAGE;
    }
    *ret_value = v;
    return -1;
}

static int seed(uint64_t *ret_seed)
{
    char *end;

    errno = 0;
    *ret_seed = strtoull(optarg, &end, 0);
    if (end == optarg || *end || errno || *optarg == '-') {
        fprintf(stderr, "trigctl: --seed %s: a whole number of 64 bits is allowed\n", optarg);
        return EXIT_USAGE;
    }
    return -1;
}

/* Returns -1 to go on, else the exit code. */
static int take(int opt, struct options *o)
{
    switch (opt) {
    case 's':
        o->socket = optarg;
        return -1;
    case 'f':
        o->farm = true;
        return -1;
    case 'j':
        o->json = true;
        return -1;
    case 'o':
        o->once = true;
        return -1;
    case 'N':
        o->now = true;
        return -1;
    case 'A':
        o->at = optarg;
        return -1;
    case 'v':
        o->verbose = true;
        return -1;
    case 'b':
        return add(o->check.backend, &o->check.n_backends, "--backend");
    case 'p':
        return add(o->check.param, &o->check.n_params, "--param");
    case 'P':
        o->check.preset = optarg;
        return -1;
    case 'C':
        o->check.conditions = optarg;
        return -1;
    case 'B':
        o->check.folder = optarg;
        return -1;
    case 'S':
        o->check.has_seed = true;
        return seed(&o->check.seed);
    case 'r':
        o->check.races = true;
        return -1;
    case 'R':
        o->check.race_run = true;
        return -1;
    case 'n':
        return number("--rois", 1e6, &o->rois);
    case 'w':
        o->check.worst = true;
        return -1;
    case 'i':
        return number("--items", 1u << 22, &o->items);
    case 'T':
        return number("--seconds", 86400, &o->seconds);
    case 't':
        return number("--tolerance", 1, &o->check.tolerance);
    case 'V':
        puts("trigctl " TRIGD_VERSION);
        return EXIT_GOOD;
    case 'h':
        fputs(usage, stdout);
        return EXIT_GOOD;
    default:
        fputs("trigctl --help says what is allowed\n", stderr);
        return EXIT_USAGE;
    }
}

static int parse(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {{"socket", required_argument, NULL, 's'},
                                          {"farm", no_argument, NULL, 'f'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"once", no_argument, NULL, 'o'},
                                          {"now", no_argument, NULL, 'N'},
                                          {"at", required_argument, NULL, 'A'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"backend", required_argument, NULL, 'b'},
                                          {"param", required_argument, NULL, 'p'},
                                          {"params", required_argument, NULL, 'p'},
                                          {"preset", required_argument, NULL, 'P'},
                                          {"conditions", required_argument, NULL, 'C'},
                                          {"backends", required_argument, NULL, 'B'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"rois", required_argument, NULL, 'n'},
                                          {"worst", no_argument, NULL, 'w'},
                                          {"items", required_argument, NULL, 'i'},
                                          {"seconds", required_argument, NULL, 'T'},
                                          {"races", no_argument, NULL, 'r'},
                                          {"race-run", no_argument, NULL, 'R'},
                                          {"tolerance", required_argument, NULL, 't'},
                                          {"version", no_argument, NULL, 'V'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int opt, r = -1;

    while (r < 0 && (opt = getopt_long(argc, argv, "s:fjh", table, NULL)) != -1)
        r = take(opt, o);
    return r;
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

static int tell_failure(const char *path, int r)
{
    if (r == -EBADMSG)
        fprintf(stderr,
                "trigctl: what answers at \"%s\" does not know `show rates`: it is no trigd or "
                "trigsup of version " TRIGD_VERSION "\n",
                path);
    else if (r == -ENOENT || r == -ECONNREFUSED)
        fprintf(stderr,
                "trigctl: no daemon answers on \"%s\" (%s); is trigd running, and is this its "
                "control.socket?  --socket names another\n",
                path, strerror(-r));
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

static int ask(const struct options *o, int n_words, char **words)
{
    const char *path = socket_path(o);
    char line[LINE_BYTES] = "", file[PATH_MAX], *answer = NULL;
    size_t n = 0;
    int r;

    if (n_words == 2 && is_file_command(words[0]) && realpath(words[1], file))
        words[1] = file; /* the daemon has another working folder */
    for (int i = 0; i < n_words + o->json + o->now && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", i ? " " : "",
                              i < n_words ? words[i]
                              : o->json   ? "json"
                                          : "now");
    if (o->at && n < sizeof line)
        n += (size_t)snprintf(line + n, sizeof line - n, " at %s", o->at);
    if (n >= sizeof line || strpbrk(line, "\r\n")) {
        fprintf(stderr, "trigctl: a command is one line of at most %d bytes\n", LINE_BYTES - 1);
        return EXIT_USAGE;
    }
    r = talk(path, line, TIMEOUT_S, &answer);
    if (r < 0)
        return tell_failure(path, r);
    r = talk_is_error(answer) ? EXIT_ERROR : EXIT_GOOD;
    if (r == EXIT_GOOD && !strcmp(words[0], "dump"))
        print_file(answer);
    else
        fputs(answer, r ? stderr : stdout);
    free(answer);
    return r;
}

static int watch_it(const struct options *o, int n_words)
{
    int r;

    if (n_words != 1) {
        fprintf(stderr, "trigctl: top takes no words\n");
        return EXIT_USAGE;
    }
    r = top_run(socket_path(o), o->once, TIMEOUT_S);
    return r < 0 ? tell_failure(socket_path(o), r) : EXIT_GOOD;
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
    log_set_level(o->verbose ? TRG_DEBUG : TRG_ERROR);
    if (!strcmp(words[0], "show-plugin"))
        return show_file(o, words[1]);
    o->check.file = words[1];
    o->check.verbose = o->verbose;
    o->check.worst_items = o->items < 64 ? 64 : (uint32_t)o->items;
    o->check.worst_s = (uint32_t)o->seconds;
    return check_plugin(&o->check);
}

static int make_keys(int n_words, char **words)
{
    if (n_words != 2) {
        fprintf(stderr, "trigctl: keygen takes the name of the file to write\n");
        return EXIT_USAGE;
    }
    return keygen(words[1]) < 0 ? EXIT_ERROR : EXIT_GOOD;
}

static int make_rois(const struct options *o, int n_words, char **words)
{
    const struct rois_options options = {.plugin = n_words > 1 ? words[1] : NULL,
                                         .out = n_words > 2 ? words[2] : NULL,
                                         .n = (uint32_t)o->rois,
                                         .seed = o->check.has_seed ? o->check.seed : 1};

    if (n_words != 3) {
        fprintf(stderr, "trigctl: make-rois takes a plugin file and the file to write\n");
        return EXIT_USAGE;
    }
    log_set_level(o->verbose ? TRG_DEBUG : TRG_ERROR);
    return rois_make(&options) < 0 ? EXIT_ERROR : EXIT_GOOD;
}

int main(int argc, char **argv)
{
    struct options o = {.rois = 1000, .items = 16384, .seconds = 3};
    int r = parse(argc, argv, &o);

    if (r >= 0)
        return r;
    argc -= optind;
    argv += optind;
    if (!argc) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[0], "check-plugin") || !strcmp(argv[0], "show-plugin"))
        r = offline(&o, argc, argv);
    else if (!strcmp(argv[0], "make-rois"))
        r = make_rois(&o, argc, argv);
    else if (!strcmp(argv[0], "keygen"))
        r = make_keys(argc, argv);
    else if (!strcmp(argv[0], "top"))
        r = watch_it(&o, argc);
    else
        r = ask(&o, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("trigctl: cannot write the answer");
        return EXIT_ERROR;
    }
    return r;
}
