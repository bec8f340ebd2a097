/* SPDX-License-Identifier: Apache-2.0 */
/* trigreplay - makes events or reads them from RoI files, and replays them to a daemon: the
 * options. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "files.h"
#include "import.h"
#include "replay.h"
#include "reproduce.h"
#include "wire.h"

static const char usage[] =
    "usage: trigreplay run --connect ENDPOINT [OPTION ...]\n"
    "       trigreplay generate --out FILE [--preset P] [--rois N] [--seed S] [--layout L]\n"
    "                           [--type T]\n"
    "       trigreplay import FORMAT FILE|FOLDER ... --out FILE\n"
    "       trigreplay show FILE\n"
    "       trigreplay reproduce FILE --config CONFIG\n"
    "\n"
    "  --connect ENDPOINT  tcp://HOST:PORT, ipc://PATH or shm://PATH of the daemon\n"
    "  --transport T       zmq, or shm: memory shared with a daemon on this host (then\n"
    "                      ENDPOINT may be just the path; default: by ENDPOINT)\n"
    "  --preset P          simulate: lowlum (default), highlum, phase2 (spacepoints);\n"
    "                      velo, velo-upgrade2, velo-lead, pixel, pixel50, pixel140,\n"
    "                      pixel200, trackml (hits);\n"
    "                      velo-tracks (tracks)\n"
    "  --file FILE         replay an RoI file instead\n"
    "  --rois N            RoIs to send (default 10000, or each of the file once)\n"
    "  --distinct N        different RoIs among them, made or read before the clock starts "
    "(default\n"
    "                      2000, or all of the file)\n"
    "  --layout L          spacepoints as floats (what simulated ones are) or quantized, 16-bit\n"
    "                      numbers over the range of the RoI's own (default: as made, or as the\n"
    "                      file has them)\n"
    "  --type T            of the RoIs, 0 to 63: the menu says which chains look at which "
    "(default:\n"
    "                      as the file has them, or 0)\n"
    "  --connections K     clients, 1 to 1000 (default 1), spread over --threads T (default 1)\n"
    "  --batch B           RoIs in one message, 1 to 256 (default 1)\n"
    "  --credits C         credits to ask for (default: what the daemon gives)\n"
    "  --pace P            max (as fast as credits allow), rate:HZ, poisson:HZ, or bunches:HZ\n"
    "                      (LHC-like trains); latency then counts from the intended time\n"
    "  --seed S            of the simulation and the pace (default: the time; it is printed)\n"
    "  --truth STEP:VALUE  place of z among the results of a decision, to compare with the truth\n"
    "                      (default 0:1, the z-finder as first step; none: off)\n"
    "  --spin US           look for decisions this long before sleeping (default 0)\n"
    "  --timeout MS        wait for the daemon's first and last answers (default 10000)\n"
    "  --json FILE         write the report as JSON\n"
    "  --name NAME         name of the clients (default replay)\n"
    "  --config CONFIG     reproduce: RoIs of a debug stream run once more, one by one, in a "
    "daemon\n"
    "                      of their own with this configuration; prints how each ends\n"
    "  --key               clients with random keys: a daemon decides no RoI of theirs twice\n"
    "  --quiet             no progress bar, no table\n"
    "\n"
    "RoIs that were answered Busy are sent again.  SIGINT ends a run early, with its report.\n"
    "Exit codes: 0 every RoI had exactly one answer (reproduce: ended as before); 1 some were "
    "lost,\n"
    "answered twice, or Busy to the end (ended otherwise); 2 wrong usage; 3 no daemon, or the run\n"
    "failed.\n";

enum { EXIT_LOST = 1, EXIT_USAGE = 2, EXIT_FAILED = 3 };

#define ROIS_DEFAULT     10000u
#define DISTINCT_DEFAULT 2000u
#define DISTINCT_MAX     1000000u

static void on_signal(int number)
{
    (void)number;
    atomic_store(&replay_stop, true);
}

struct arguments {
    struct replay_options o;
    const struct generator_preset *preset;
    const char *out, *command, *transport, *config;
    char **rest; /* what stands behind the command */
    uint32_t n_rest;
    char endpoint[512];
    bool has_preset, has_seed; /* given, not the default */
};

/* A number from min to max, or exits with a sentence. */
static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 0);

    if (end != text && !*end && v >= min && v <= max)
        return v;
    fprintf(stderr, "trigreplay: --%s \"%s\": a number from %llu to %llu is wanted\n", option, text,
            (unsigned long long)min, (unsigned long long)max);
    exit(EXIT_USAGE);
}

static void set_truth(struct replay_options *o, const char *text)
{
    if (!strcmp(text, "none"))
        o->z_value = -1;
    else if (sscanf(text, "%d:%d", &o->z_step, &o->z_value) != 2 || o->z_step < 0 ||
             o->z_value < 0) {
        fprintf(stderr, "trigreplay: --truth \"%s\": STEP:VALUE or none is wanted\n", text);
        exit(EXIT_USAGE);
    }
}

static void set_layout(struct replay_options *o, const char *text)
{
    if (layout_find(text, &o->layout))
        return;
    fprintf(stderr, "trigreplay: --layout \"%s\": floats or quantized is wanted\n", text);
    exit(EXIT_USAGE);
}

enum {
    OPT_FIRST = 256,
    CONNECT = OPT_FIRST,
    TRANSPORT,
    PRESET,
    FILE_,
    ROIS,
    DISTINCT,
    LAYOUT,
    TYPE,
    CONNECTIONS,
    THREADS,
    BATCH,
    CREDITS,
    PACE,
    SEED,
    TRUTH,
    SPIN,
    TIMEOUT,
    JSON,
    NAME,
    KEY,
    QUIET,
    OUT,
    CONFIG
};
static const struct option options[] = {{"connect", required_argument, NULL, CONNECT},
                                        {"transport", required_argument, NULL, TRANSPORT},
                                        {"preset", required_argument, NULL, PRESET},
                                        {"file", required_argument, NULL, FILE_},
                                        {"rois", required_argument, NULL, ROIS},
                                        {"distinct", required_argument, NULL, DISTINCT},
                                        {"layout", required_argument, NULL, LAYOUT},
                                        {"type", required_argument, NULL, TYPE},
                                        {"connections", required_argument, NULL, CONNECTIONS},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"batch", required_argument, NULL, BATCH},
                                        {"credits", required_argument, NULL, CREDITS},
                                        {"pace", required_argument, NULL, PACE},
                                        {"seed", required_argument, NULL, SEED},
                                        {"truth", required_argument, NULL, TRUTH},
                                        {"spin", required_argument, NULL, SPIN},
                                        {"timeout", required_argument, NULL, TIMEOUT},
                                        {"json", required_argument, NULL, JSON},
                                        {"name", required_argument, NULL, NAME},
                                        {"key", no_argument, NULL, KEY},
                                        {"quiet", no_argument, NULL, QUIET},
                                        {"out", required_argument, NULL, OUT},
                                        {"config", required_argument, NULL, CONFIG},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

static void set_option(struct arguments *a, int opt, const char *name)
{
    struct replay_options *o = &a->o;

    switch (opt) {
    case CONNECT:
        o->endpoint = optarg;
        break;
    case TRANSPORT:
        a->transport = optarg;
        break;
    case PRESET:
        o->preset = optarg;
        a->has_preset = true;
        break;
    case FILE_:
        o->file = optarg;
        break;
    case ROIS:
        o->rois = number(name, optarg, 1, UINT64_MAX >> 24);
        break;
    case DISTINCT:
        o->distinct = (uint32_t)number(name, optarg, 1, DISTINCT_MAX);
        break;
    case LAYOUT:
        set_layout(o, optarg);
        break;
    case TYPE:
        o->type = (uint32_t)number(name, optarg, 0, ROI_TYPES - 1);
        o->has_type = true;
        break;
    case CONNECTIONS:
        o->connections = (uint32_t)number(name, optarg, 1, 1000);
        break;
    case THREADS:
        o->threads = (uint32_t)number(name, optarg, 1, 64);
        break;
    case BATCH:
        o->batch = (uint32_t)number(name, optarg, 1, 256);
        break;
    case CREDITS:
        o->credits = (uint32_t)number(name, optarg, 1, 65536);
        break;
    case PACE:
        o->pace = optarg;
        break;
    case SEED:
        o->seed = number(name, optarg, 0, UINT64_MAX);
        a->has_seed = true;
        break;
    case TRUTH:
        set_truth(o, optarg);
        break;
    case SPIN:
        o->spin_us = (uint32_t)number(name, optarg, 0, 1000000);
        break;
    case TIMEOUT:
        o->timeout_ms = (uint32_t)number(name, optarg, 1, 3600000);
        break;
    case JSON:
        o->json = optarg;
        break;
    case NAME:
        o->name = optarg;
        break;
    case KEY:
        o->has_key = true;
        break;
    case QUIET:
        o->quiet = true;
        break;
    case OUT:
        a->out = optarg;
        break;
    case CONFIG:
        a->config = optarg;
        break;
    default:
        break;
    }
}

/* The endpoint as the transport wants it. */
static void complete_endpoint(struct arguments *a)
{
    bool is_shm = a->o.endpoint && !strncmp(a->o.endpoint, SHM_SCHEME, strlen(SHM_SCHEME));
    bool has_scheme = a->o.endpoint && strstr(a->o.endpoint, "://");

    if (!a->transport || !a->o.endpoint)
        return;
    if (!strcmp(a->transport, "shm") && !has_scheme) {
        snprintf(a->endpoint, sizeof a->endpoint, SHM_SCHEME "%s", a->o.endpoint);
        a->o.endpoint = a->endpoint;
    } else if (strcmp(a->transport, is_shm ? "shm" : "zmq") != 0) {
        fprintf(stderr,
                "trigreplay: --transport \"%s\" with --connect %s: zmq goes with tcp:// and "
                "ipc://, shm with shm:// or a path\n",
                a->transport, a->o.endpoint);
        exit(EXIT_USAGE);
    }
}

/* What has to be right together, and defaults that depend on other options. */
static void complete(struct arguments *a)
{
    struct pace pace;

    complete_endpoint(a);
    if (pace_parse(a->o.pace, &pace) < 0) {
        fprintf(stderr,
                "trigreplay: --pace \"%s\": max, rate:HZ, poisson:HZ or bunches:HZ is wanted\n",
                a->o.pace);
        exit(EXIT_USAGE);
    }
    a->preset = generator_find(a->o.preset);
    if (!a->preset) {
        fprintf(stderr, "trigreplay: --preset \"%s\": there are", a->o.preset);
        for (const struct generator_preset *p = generator_presets; p->name; p++)
            fprintf(stderr, " %s", p->name);
        fputc('\n', stderr);
        exit(EXIT_USAGE);
    }
    if (!a->o.file && !a->o.rois)
        a->o.rois = ROIS_DEFAULT;
    if (!a->o.distinct)
        a->o.distinct = a->o.file ? DISTINCT_MAX : DISTINCT_DEFAULT;
}

static void parse(int argc, char **argv, struct arguments *a)
{
    int opt, index = 0;

    if (argc < 2) {
        fputs(usage, stderr);
        exit(EXIT_USAGE);
    }
    while ((opt = getopt_long(argc, argv, "ho:", options, &index)) != -1) {
        if (opt == 'h') {
            fputs(usage, stdout);
            exit(0);
        }
        if (opt == '?') {
            fputs(usage, stderr);
            exit(EXIT_USAGE);
        }
        set_option(a, opt == 'o' ? OUT : opt, options[index].name);
    }
    complete(a);
    a->command = optind < argc ? argv[optind++] : "";
    a->rest = argv + optind;
    a->n_rest = (uint32_t)(argc - optind);
}

static int run(const struct replay_options *o)
{
    struct replay_result result;
    int r;

    if (!o->endpoint) {
        fprintf(stderr, "trigreplay: run wants --connect ENDPOINT\n");
        return EXIT_USAGE;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    r = replay_run(o, &result);
    if (r < 0)
        return EXIT_FAILED;
    if (!o->quiet)
        report_print(o, &result, stdout);
    if (o->json && report_json(o, &result) < 0)
        r = -EIO;
    if (!replay_is_whole(&result)) {
        fprintf(stderr,
                "trigreplay: %llu RoIs were lost, %llu not taken, %llu not sent; "
                "%llu answers came twice or unasked\n",
                (unsigned long long)result.sum.lost, (unsigned long long)result.sum.not_taken,
                (unsigned long long)result.not_sent,
                (unsigned long long)(result.sum.duplicates + result.sum.unknown));
        r = 1;
    }
    replay_result_fini(&result);
    return r < 0 ? EXIT_FAILED : r ? EXIT_LOST : 0;
}

static int generate(const struct arguments *a)
{
    if (!a->out) {
        fprintf(stderr, "trigreplay: generate wants --out FILE\n");
        return EXIT_USAGE;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    return files_generate(a->out, a->preset, a->o.seed, a->o.rois, a->o.layout, a->o.type,
                          &replay_stop) < 0
               ? EXIT_FAILED
               : 0;
}

static int show(const struct arguments *a)
{
    if (a->n_rest != 1) {
        fprintf(stderr, "trigreplay: show wants one file\n");
        return EXIT_USAGE;
    }
    return files_show(a->rest[0], stdout) < 0 ? EXIT_FAILED : 0;
}

static int run_again(const struct arguments *a)
{
    int r;

    if (a->n_rest != 1 || !a->config) {
        fprintf(stderr, "trigreplay: reproduce wants one file and --config CONFIG\n");
        return EXIT_USAGE;
    }
    r = reproduce(a->rest[0], a->config);
    return r < 0 ? EXIT_FAILED : r ? EXIT_LOST : 0;
}

static int wrong_import(const struct arguments *a)
{
    if (a->n_rest)
        fprintf(stderr, "trigreplay: import \"%s\": there are\n", a->rest[0]);
    else
        fprintf(stderr, "trigreplay: import wants one of these formats\n");
    for (const struct import_format *f = import_formats; f->name; f++)
        fprintf(stderr, "  %-12s %s\n", f->name, f->help);
    return EXIT_USAGE;
}

static int import(const struct arguments *a)
{
    const struct import_format *format = a->n_rest ? import_find(a->rest[0]) : NULL;
    struct import im;
    int r;

    if (!format)
        return wrong_import(a);
    if (a->n_rest < 2 || !a->out) {
        fprintf(stderr, "trigreplay: import %s wants files and --out FILE\n", format->name);
        return EXIT_USAGE;
    }
    import_init(&im);
    if (a->has_preset)
        im.preset = a->preset;
    if (a->has_seed)
        im.seed = a->o.seed;
    r = import_files(&im, format, a->rest + 1, a->n_rest - 1, a->out);
    if (r < 0)
        fprintf(stderr, "trigreplay: %s\n", im.problem.text);
    else
        printf("%llu RoIs: %.1f items an RoI\n", (unsigned long long)im.rois,
               im.rois ? (double)im.items / (double)im.rois : 0);
    import_fini(&im);
    return r < 0 ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
    struct arguments a = {.o = {.preset = "lowlum",
                                .pace = "max",
                                .name = "replay",
                                .connections = 1,
                                .threads = 1,
                                .batch = 1,
                                .timeout_ms = 10000,
                                .z_value = 1,
                                .seed = (uint64_t)time(NULL)}};

    parse(argc, argv, &a);
    if (!strcmp(a.command, "run"))
        return run(&a.o);
    if (!strcmp(a.command, "generate"))
        return generate(&a);
    if (!strcmp(a.command, "show"))
        return show(&a);
    if (!strcmp(a.command, "import"))
        return import(&a);
    if (!strcmp(a.command, "reproduce"))
        return run_again(&a);
    fprintf(stderr, "trigreplay: run, generate, import, show or reproduce is wanted\n%s", usage);
    return EXIT_USAGE;
}
