/* SPDX-License-Identifier: Apache-2.0 */
/* trigreplay - makes events or reads them from RoI files, and replays them to a daemon: the
 * options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "export.h"
#include "files.h"
#include "gen_bricks.h"
#include "import.h"
#include "pace.h"
#include "replay.h"
#include "reproduce.h"
#include "resend.h"
#include "roifile.h"
#include "shm.h"
#include "stop.h"
#include "wire.h"

static const struct arg_command commands[] = {
    {"run", "--connect ENDPOINT [OPTION ...]",
     "send RoIs and compare the decisions with the truth"},
    {"generate", "--out FILE [--preset P] [--rois N] [--seed S] [--layout L] [--type T]",
     "simulated RoIs to a file"},
    {"import", "FORMAT FILE|FOLDER ... --out FILE",
     "public data to an RoI file; without a format: the list of formats"},
    {"export", "lhcb-banks|pixels FILE --out FOLDER",
     "an RoI file with raw banks to files of LHCb, one with pixels to tables"},
    {"show", "FILE", "what an RoI file holds"},
    {"reproduce",
     "FILE --config CONFIG [--sets FOLDER | --menu FILE --prescales FILE --conditions FILE]",
     "decide the RoIs of a stream once more, and compare"},
    {"resend", "FILE --connect ENDPOINT", "send the RoIs of a file, one after the other"},
    {0}};

static const char more[] =
    "RoIs that were answered Busy are sent again.  SIGINT and SIGTERM end a run early, with\n"
    "its report: the answers about RoIs that the daemon has are waited for; the second signal "
    "does\n"
    "not wait.\n"
    "Exit codes: 0 every RoI had exactly one answer (reproduce: decided or ended as before); 1 "
    "some were "
    "lost,\n"
    "answered twice, or Busy to the end (ended otherwise); 2 wrong usage; 3 no daemon, or the run\n"
    "failed.\n";

enum { EXIT_LOST = 1, EXIT_USAGE = 2, EXIT_FAILED = 3 };

#define ROIS_DEFAULT     10000u
#define DISTINCT_DEFAULT 2000u
#define DISTINCT_MAX     1000000u
#define PRESETS                                                                                  \
    "simulate: lowlum (default), highlum, phase2 (spacepoints); velo, velo-upgrade2, "           \
    "velo-lead, pixel, pixel50, pixel140, pixel200, trackml (hits); velo-tracks (tracks); "      \
    "velo-banks, velo-upgrade2-banks (raw banks); pixel50-charge, pixel140-charge (pixels with " \
    "charge); phantom, phantom-truth (bricks of volumes)"

struct arguments {
    struct replay_options o;
    const struct generator_preset *preset;
    const char *out, *command, *transport;
    struct reproduce_files with; /* of reproduce */
    char **rest;                 /* what stands behind the command */
    uint32_t n_rest;
    char endpoint[512];
    struct import_volume volume;
    bool has_preset, has_seed; /* given, not the default */
};

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

static void set_size(struct import_volume *v, const char *text)
{
    int end = 0;

    if (sscanf(text, "%5u,%5u,%5u%n", &v->size[0], &v->size[1], &v->size[2], &end) == 3 &&
        !text[end] && v->size[0] && v->size[1] && v->size[2])
        return;
    fprintf(stderr, "trigreplay: --size \"%s\": X,Y,Z is wanted, such as 128,128,96\n", text);
    exit(EXIT_USAGE);
}

static void set_voxel(struct import_volume *v, const char *text)
{
    static const char *const types[] = {"uint8", "uint16", "int16"};

    for (v->type = 0; v->type < 3; v->type++)
        if (!strcmp(text, types[v->type]))
            return;
    fprintf(stderr, "trigreplay: --voxel \"%s\": uint8, uint16 or int16 is wanted\n", text);
    exit(EXIT_USAGE);
}

static void set_window(struct import_volume *v, const char *text)
{
    int end = 0;

    if (sscanf(text, "%6d,%6u%n", &v->low, &v->width, &end) == 2 && !text[end] &&
        v->low >= -32768 && v->low <= 65535 && v->width >= 1 && v->width <= 65536)
        return;
    fprintf(stderr,
            "trigreplay: --window \"%s\": LOW,WIDTH is wanted, LOW from -32768 to 65535 and WIDTH "
            "from 1 to 65536\n",
            text);
    exit(EXIT_USAGE);
}

static void set_layout(struct replay_options *o, const char *text)
{
    if (layout_find(text, &o->layout))
        return;
    fprintf(stderr, "trigreplay: --layout \"%s\": plain or encoded is wanted\n", text);
    exit(EXIT_USAGE);
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

    a->o.has_type = a->o.type < ROI_TYPES;
    if (!a->o.has_type)
        a->o.type = 0;
    a->has_preset = a->o.preset != NULL;
    if (!a->o.preset)
        a->o.preset = "lowlum";
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

/* How many words there are besides the options: at least one, the command. */
static int parse_words(int argc, char **argv, const struct arg *table)
{
    const struct arg_program program = {
        .name = "trigreplay",
        .version = TRIGD_VERSION,
        .summary = "makes events or reads them from RoI files, and replays them to a daemon",
        .commands = commands,
        .table = table,
        .more = more};
    const int args = args_parse_program(argc, argv, &program, &argc);

    if (args == ARGS_OK && argc)
        return argc;
    if (args == ARGS_OK)
        args_print_usage(&program, stderr);
    exit(args == ARGS_HELP ? 0 : EXIT_USAGE);
}

struct texts { /* values of options that have a form of their own; NULL: not given */
    const char *truth, *layout, *size, *voxel, *window;
};

static void set_texts(struct arguments *a, const struct texts *t)
{
    if (t->truth)
        set_truth(&a->o, t->truth);
    if (t->layout)
        set_layout(&a->o, t->layout);
    if (t->size)
        set_size(&a->volume, t->size);
    if (t->voxel)
        set_voxel(&a->volume, t->voxel);
    if (t->window)
        set_window(&a->volume, t->window);
}

/* The options; returns how many words there are besides. */
static int parse_options(int argc, char **argv, struct arguments *a, struct texts *t)
{
    struct replay_options *o = &a->o;
    const struct arg table[] = {
        {"connect", ARG_TEXT, &o->endpoint, 0, 0, "ENDPOINT",
         "tcp://HOST:PORT, ipc://PATH or shm://PATH of the daemon"},
        {"transport", ARG_TEXT, &a->transport, 0, 0, "T",
         "zmq, or shm: memory shared with a daemon on this host (then ENDPOINT may be just the "
         "path; default: by ENDPOINT)"},
        {"preset", ARG_TEXT, &o->preset, 0, 0, "P", PRESETS},
        {"file", ARG_TEXT, &o->file, 0, 0, "FILE",
         "replay an RoI file, or all files of a folder; each RoI of stream files once"},
        {"rois", ARG_U64, &o->rois, 1, 1099511627775.0, "N",
         "RoIs to send (default 10000, or each of the file once)"},
        {"distinct", ARG_U32, &o->distinct, 1, DISTINCT_MAX, "N",
         "different RoIs, generated or read before the clock starts (default 2000, or all of the "
         "file)"},
        {"layout", ARG_TEXT, &t->layout, 0, 0, "L",
         "plain, or encoded: 16-bit numbers where columns may be (default: as simulated or read)"},
        {"type", ARG_U32, &o->type, 0, ROI_TYPES - 1, "T",
         "RoI type, by which a menu selects chains (default: as in the file, or 0)"},
        {"deadline", ARG_U32, &o->deadline_us, 1, SHM_DEADLINE_MAX, "US",
         "time from receipt to decision, below limits.hard_ms (default: as in the file)"},
        {"event-rois", ARG_U32, &o->event_rois, 2, 255, "N",
         "group consecutive RoIs into events of N (default: as in the file, or none)"},
        {"connections", ARG_U32, &o->connections, 1, 1000, "K", "clients (default 1)"},
        {"threads", ARG_U32, &o->threads, 1, 64, "T", "threads for the clients (default 1)"},
        {"batch", ARG_U32, &o->batch, 1, 256, "B", "RoIs in one message (default 1)"},
        {"credits", ARG_U32, &o->credits, 1, 65536, "C",
         "credits to request (default: those granted by the daemon)"},
        {"pace", ARG_TEXT, &o->pace, 0, 0, "P",
         "max (as fast as credits allow), rate:HZ, poisson:HZ, or bunches:HZ (LHC-like trains); "
         "latency then counts from the intended time"},
        {"seed", ARG_U64, &o->seed, 0, 0, "S",
         "seed of the simulation and the pace (default: the time; printed)"},
        {"truth", ARG_TEXT, &t->truth, 0, 0, "STEP:VALUE",
         "result that is compared with the true z (default 0:1, a z-finder as first step; none: "
         "off)"},
        {"spin", ARG_U32, &o->spin_us, 0, 1000000, "US",
         "time to poll for decisions before sleeping (default 0)"},
        {"settle", ARG_REAL, &o->settle_s, 0, 3600, "S",
         "leave the RoIs of the first S seconds out of the latencies (default 0)"},
        {"timeout", ARG_U32, &o->timeout_ms, 1, 3600000, "MS",
         "longest wait for the daemon's first and last answers (default 10000)"},
        {"json", ARG_TEXT, &o->json, 0, 0, "FILE", "write the report as JSON"},
        {"decisions", ARG_TEXT, &o->decisions, 0, 0, "FILE",
         "save the decisions with their values, as an RoI file (trigreplay show, Python)"},
        {"name", ARG_TEXT, &o->name, 0, 0, "NAME", "name of the clients (default replay)"},
        {"key", ARG_FLAG, &o->has_key, 0, 0, NULL,
         "give the clients random keys, so that a daemon decides no RoI of theirs twice"},
        {"no-addresses", ARG_FLAG, &o->no_addresses, 0, 0, NULL,
         "send large RoIs to the supervisor as well, not to its nodes"},
        {"quiet", ARG_FLAG, &o->quiet, 0, 0, NULL, "no progress bar, no table"},
        {"out", ARG_TEXT, &a->out, 0, 0, "FILE", "generate, import: file to write; export: folder"},
        {"o", ARG_TEXT, &a->out, 0, 0, "FILE", NULL},
        {"size", ARG_TEXT, &t->size, 0, 0, "X,Y,Z", "import raw: voxels of the volume, x fastest"},
        {"voxel", ARG_TEXT, &t->voxel, 0, 0, "T",
         "import raw: uint8 (default), uint16 or int16, low byte first"},
        {"window", ARG_TEXT, &t->window, 0, 0, "LOW,WIDTH",
         "import of voxels of 16 bits: [LOW, LOW + WIDTH) becomes 0 to 255"},
        {"edge", ARG_U32, &a->volume.edge, 8, 256, "N",
         "import of volumes: voxels of a brick's edge (default 64)"},
        {"config", ARG_TEXT, &a->with.config, 0, 0, "CONFIG",
         "reproduce: run the RoIs of a stream again, one by one, in a daemon with this "
         "configuration; prints those with another decision or end than before"},
        {"menu", ARG_TEXT, &a->with.menu, 0, 0, "FILE",
         "reproduce: instead of the configuration's, as trigctl dumps it"},
        {"prescales", ARG_TEXT, &a->with.prescales, 0, 0, "FILE",
         "reproduce: prescales, likewise; RoIs decided under other prescales are skipped"},
        {"conditions", ARG_TEXT, &a->with.conditions, 0, 0, "FILE",
         "reproduce: conditions, likewise"},
        {"sets", ARG_TEXT, &a->with.sets, 0, 0, "FOLDER",
         "reproduce: decide each RoI with the menu, prescales and conditions that decided it, from "
         "the folder sets in a daemon's state_dir"},
        {0}};

    return parse_words(argc, argv, table);
}

static void parse(int argc, char **argv, struct arguments *a)
{
    const uint64_t seed = a->o.seed;
    struct texts t = {0};

    a->o.type = ROI_TYPES;
    a->n_rest = (uint32_t)parse_options(argc, argv, a, &t) - 1;
    set_texts(a, &t);
    a->has_seed = a->o.seed != seed;
    complete(a);
    a->command = argv[1];
    a->rest = argv + 2;
}

/* Whether words stand behind a command that takes none; says so. */
static bool has_words(const struct arguments *a)
{
    if (a->n_rest)
        fprintf(stderr, "trigreplay: %s takes options only, not \"%s\"\n", a->command, a->rest[0]);
    return a->n_rest > 0;
}

/* The report as JSON, in a file that was opened before the run, so that no run is lost to a wrong
 * path; closes it. */
static int write_json(const struct replay_options *o, const struct replay_result *result, FILE *f)
{
    report_json(o, result, f);
    if (fclose(f) == 0)
        return 0;
    fprintf(stderr, "trigreplay: cannot write %s: %s\n", o->json, strerror(errno));
    return -EIO;
}

static int run(const struct arguments *a)
{
    const struct replay_options *o = &a->o;
    struct replay_result result;
    FILE *json = NULL;
    int r;

    if (has_words(a))
        return EXIT_USAGE;
    if (!o->endpoint) {
        fprintf(stderr, "trigreplay: run wants --connect ENDPOINT\n");
        return EXIT_USAGE;
    }
    if (o->json && !(json = fopen(o->json, "w"))) {
        fprintf(stderr, "trigreplay: cannot write %s: %s\n", o->json, strerror(errno));
        return EXIT_FAILED;
    }
    r = replay_run(o, &result);
    if (r < 0) {
        if (json)
            fclose(json);
        return EXIT_FAILED;
    }
    if (!o->quiet)
        report_print(o, &result, stdout);
    if (json)
        r = write_json(o, &result, json);
    if (!replay_is_whole(&result)) {
        report_print_open(&result, stderr);
        r = 1;
    }
    replay_result_fini(&result);
    return r < 0 ? EXIT_FAILED : r ? EXIT_LOST : 0;
}

static int generate(const struct arguments *a)
{
    if (has_words(a))
        return EXIT_USAGE;
    if (!a->out) {
        fprintf(stderr, "trigreplay: generate wants --out FILE\n");
        return EXIT_USAGE;
    }
    stop_catch_signals();
    return files_generate(a->out, a->preset, a->o.seed, a->o.rois, a->o.layout, a->o.type,
                          a->o.event_rois, &stop_wanted) < 0
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

    if (a->n_rest != 1 || !a->with.config) {
        fprintf(stderr, "trigreplay: reproduce wants one file and --config CONFIG\n");
        return EXIT_USAGE;
    }
    if (a->with.sets && (a->with.menu || a->with.prescales || a->with.conditions)) {
        fprintf(stderr, "trigreplay: --sets has menu, prescales and conditions already\n");
        return EXIT_USAGE;
    }
    r = reproduce(a->rest[0], &a->with);
    return r < 0 ? EXIT_FAILED : r ? EXIT_LOST : 0;
}

static int resend_file(const struct arguments *a)
{
    int r;

    if (a->n_rest != 1 || !a->o.endpoint) {
        fprintf(stderr, "trigreplay: resend wants one file and --connect ENDPOINT\n");
        return EXIT_USAGE;
    }
    r = resend(a->o.endpoint, a->rest[0],
               &(struct resending){.answer_ms = a->o.timeout_ms, .window = 1});
    if (r < 0)
        fprintf(stderr, "trigreplay: cannot send %s: %s\n", a->rest[0], roifile_why(r));
    return r < 0 ? EXIT_FAILED : 0;
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
    im.volume = a->volume;
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

static int export(const struct arguments *a)
{
    const bool is_banks = a->n_rest == 2 && !strcmp(a->rest[0], "lhcb-banks");
    const bool is_pixels = a->n_rest == 2 && !strcmp(a->rest[0], "pixels");
    int64_t n;

    if ((!is_banks && !is_pixels) || !a->out) {
        fprintf(stderr,
                "trigreplay: export wants lhcb-banks or pixels, an RoI file and --out FOLDER\n");
        return EXIT_USAGE;
    }
    n = (is_banks ? export_banks : export_pixels)(a->rest[1], a->out);
    if (n < 0)
        return EXIT_FAILED;
    printf("%lld files\n", (long long)n);
    return 0;
}

int main(int argc, char **argv)
{
    struct arguments a = {.o = {.pace = "max",
                                .name = "replay",
                                .connections = 1,
                                .threads = 1,
                                .batch = 1,
                                .timeout_ms = 10000,
                                .z_value = 1,
                                .seed = (uint64_t)time(NULL)},
                          .volume = {.edge = BRICKS_EDGE}};

    int (*const functions[])(const struct arguments *a) = {/* in the order of `commands` */
                                                           run,  generate,  import,     export,
                                                           show, run_again, resend_file};
    _Static_assert(sizeof functions / sizeof *functions == sizeof commands / sizeof *commands - 1,
                   "a function for each command");

    parse(argc, argv, &a);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(a.command, commands[i].name))
            return functions[i](&a);
    fprintf(stderr, "trigreplay: there is no command \"%s\"; --help lists them\n", a.command);
    return EXIT_USAGE;
}
