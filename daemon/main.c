/* SPDX-License-Identifier: Apache-2.0 */
/* trigd - reads the options and the config, runs the loop, tears down. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/child.h"
#include "base/signals.h"
#include "base/threadname.h"
#include "config/command_line.h"
#include "config/config_scratch.h"
#include "config/config_table.h"
#include "config/yamlfile.h"
#include "exec/engine.h"
#include "exec/worker_main.h"
#include "log.h"
#include "logsink.h"
#include "loop.h"
#include "menu/menu.h"
#include "monitor/commands.h"
#include "monitor/gpu_reader.h"
#include "plugin/inspector.h"
#include "plugin/trusted.h"
#include "runmenu.h"

#define KEPT_BYTES (64 << 20) /* free memory at the end of each of malloc's heaps */

struct options {
    struct command_line line;
    const char *scratch;
    const char *menu, *prescales, *conditions; /* instead of the configuration's */
};

static void describe_commands(FILE *out)
{
    control_describe(NULL, 0, out);
}

/* Returns -1 to go on, else the exit code. */
static int parse(int argc, char **argv, struct options *o)
{
    bool keys = false;
    const struct arg table[] = {
        {"config", ARG_TEXT, &o->line.config, 0, 0, "FILE",
         "run with this configuration (docs/configuration.md)"},
        {"c", ARG_TEXT, &o->line.config, 0, 0, NULL, NULL},
        {"check", ARG_TEXT, &o->line.check, 0, 0, "FILE",
         "check a configuration and its menu, and exit: 0 good, 64 not"},
        {"keys", ARG_FLAG, &keys, 0, 0, NULL,
         "print every key of the configuration, as a Markdown table"},
        {"log", ARG_TEXT, &o->line.level, 0, 0, "error|warn|info|debug",
         "log level, instead of the configuration's"},
        {"scratch", ARG_TEXT, &o->scratch, 0, 0, "FOLDER",
         "run beside a daemon of the same configuration: endpoint FOLDER/in, control socket "
         "FOLDER/control, state and debug stream in FOLDER, no streams, no HTTP"},
        {"menu", ARG_TEXT, &o->menu, 0, 0, "FILE",
         "menu as trigctl dumps it, instead of the configuration's"},
        {"prescales", ARG_TEXT, &o->prescales, 0, 0, "FILE", "prescales, likewise"},
        {"conditions", ARG_TEXT, &o->conditions, 0, 0, "FILE", "conditions, likewise"},
        {0}};
    const struct arg_program program = {
        .name = "trigd",
        .version = TRIGD_VERSION,
        .summary = "the trigger daemon",
        .usage = "--config FILE [OPTION ...]\n--check FILE\n--keys",
        .table = table,
        .more =
            "SIGTERM and SIGINT finish the RoIs in flight and exit; a second one exits at once.\n"
            "SIGHUP reloads the menu.  trigctl talks to the running daemon.\n"
            "Exit codes: 0 clean, 2 wrong usage, 64 wrong configuration, 69 cannot start,\n"
            "72 a lane was stuck at the end and was left behind.\n",
        .describe = describe_commands};
    int n, r = args_parse_program(argc, argv, &program, &n);

    if (r == ARGS_OK && keys) {
        config_print_keys();
        return EXIT_CLEAN;
    }
    return command_line_end(&o->line, &program, r, n);
}

/* Puts the files of the command line in place of the configuration's. */
static int take_files(struct config *c, const struct options *o)
{
    const struct {
        const char *from;
        char **to;
    } files[] = {
        {o->menu, &c->menu}, {o->prescales, &c->prescales}, {o->conditions, &c->conditions}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *fresh = files[i].from ? strdup(files[i].from) : NULL;

        if (files[i].from && !fresh)
            return -ENOMEM;
        if (!fresh)
            continue;
        free(*files[i].to);
        *files[i].to = fresh;
    }
    return 0;
}

/* The devices of this host, as the daemon has them. */
static int open_devices(const struct config *c, struct opening *opening,
                        struct devices **ret_devices)
{
    const struct trg_host host = {.size = sizeof host, .cache_dir = c->cache_dir};
    struct worker_base base = {.is_process = true, .config = c, .host = &host, .opening = opening};
    int r = c->security.allow_writable_plugins ? 0 : trusted_backends(c->backend_path);

    return r < 0 ? r : devices_open(&base, ret_devices);
}

/* Whether the daemon would start with that many lanes here.  Devices are looked at, which takes
 * their drivers, only if that matters. */
static int check_lanes(const struct config *c, const struct menu *menu)
{
    const uint32_t cores = affinity_host_cores();
    struct devices *devices = NULL;
    struct opening opening;
    int r;

    if (engine_count_lanes(c, menu, cores, NULL) <= ENGINE_LANES_MAX)
        return 0;
    r = opening_init(&opening);
    if (r < 0)
        return r;
    r = open_devices(c, &opening, &devices);
    if (r == 0)
        r = engine_check_lanes(c, menu, cores, devices);
    devices_close(devices);
    opening_fini(&opening);
    return r;
}

static int check_menu(const struct config *c)
{
    struct plugin_host *host;
    struct menu *menu;
    int r = plugin_host_new(c->plugin_path, c->n_plugin_path, &host);

    if (r < 0)
        return r;
    if (!c->security.allow_writable_plugins)
        plugin_host_guard(host);
    if (strcmp(c->isolation, "thread") != 0)
        r = plugin_host_inspect(host, INSPECTOR_ANSWER_MS);
    if (r == 0)
        r = menu_load(c->menu, host, &menu);
    if (r == 0) {
        r = engine_check_steps(c, menu);
        if (r == 0)
            r = conditions_load(menu, c->conditions, host);
        if (r == 0)
            r = engine_bind_streams(c, menu);
        if (r == 0)
            r = runmenu_check_prescales(c->prescales, menu);
        if (r == 0)
            r = guests_check(c, host);
        if (r == 0)
            r = check_lanes(c, menu);
        if (r < 0)
            menu_free(menu);
    }
    if (r == 0) {
        printf("good: %u chains, %u steps, %u streams\n", menu->n_chains, menu->n_steps,
               menu->n_streams);
        menu_free(menu);
    }
    plugin_host_free(host);
    return r;
}

/* ZeroMQ allocates the memory of each message.  By itself malloc gives that of large ones back to
 * the kernel whenever 128 KiB are free at the end of a heap, and then the next messages pay for
 * page faults: a third of the daemon's time of a highlum RoI (docs/protocol.md). */
static void keep_memory(void)
{
    if (!mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 2) || !mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
        log_debug("daemon", "malloc takes no settings: it is a sanitizer's", "%s", "");
}

static int serve(const struct config *c, const char *path)
{
    struct loop *loop;
    int r;

    signals_block();
    logsink_start();
    keep_memory();
    if (audit_open(c->control.audit, c->state_dir) < 0)
        return EXIT_START;
    r = loop_open(c, path, &loop);
    if (r == -EINTR) {
        log_info("daemon", "told to stop before all lanes were open", "%s", "");
        return EXIT_CLEAN;
    }
    if (r < 0) {
        log_error("daemon", "cannot start", "error=\"%s\"", strerror(-r));
        /* the menu, or a file beside it */
        return r == -EINVAL || *yamlfile_why() ? EXIT_CONFIG : EXIT_START;
    }
    r = loop_run(loop);
    if (r == -EBUSY) {
        log_error("daemon", "a lane is stuck in its plugin and is left behind", "%s", "");
        logsink_stop(LOG_MS);
        fflush(NULL);
        _exit(EXIT_STUCK); /* closing would wait for the stuck thread for ever */
    }
    loop_close(loop);
    return r < 0 ? EXIT_START : EXIT_CLEAN;
}

/* A process of the daemon's own, which writes to the same stderr. */
static int serve_daemon(const char *mode, int (*run)(void))
{
    char name[32];
    int r;

    if (!child_is()) {
        fprintf(stderr,
                "trigd: only trigd itself starts trigd %s; trigd --help lists what you can "
                "start\n",
                mode);
        return EXIT_USAGE;
    }
    snprintf(name, sizeof name, "trigd%s", mode + 1);
    threadname_set(name);
    logsink_start();
    r = run();
    logsink_stop(LOG_MS);
    return r;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *mode;
        int (*run)(void);
    } modes[] = {
        {"--worker", worker_main}, {"--inspector", inspector_main}, {"--nvml", gpu_reader_main}};
    struct options o = {0};
    struct config *c;
    int r;

    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof modes[0]; i++)
        if (!strcmp(argv[1], modes[i].mode))
            return serve_daemon(argv[1], modes[i].run);
    r = parse(argc, argv, &o);
    if (r >= 0)
        return r;
    if (config_load(o.line.config, &c) < 0)
        return EXIT_CONFIG;
    if (take_files(c, &o) < 0 || (o.scratch && config_scratch(c, o.scratch) < 0))
        r = EXIT_START;
    else
        r = command_line_run(&o.line, c, "daemon", check_menu, serve);
    config_free(c);
    return r;
}
