/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "algohost.h"
#include "base/beside.h"
#include "check_inner.h"
#include "config/yamlfile.h"
#include "folder.h"
#include "races.h"
#include "watch.h"

#define DEVICES_MAX 32u

struct answers { /* of the devices so far, for comparing */
    char where[DEVICES_MAX][32];
    struct outcome *outcomes[DEVICES_MAX];
    uint32_t n;
};

/* ---------------------------------------------------------------- devices */

static bool is_guest(const struct check *c)
{
    return c->plugin->d.flags & TRG_PLUGIN_GUEST;
}

static void run_for_races(struct check *c)
{
    char why[256] = "";
    bool good;

    if (c->n_devices || !races_is_device(c->device))
        return;
    alarm(RACES_TIMEOUT_S); /* ends this program, which its parent reports */
    c->n_devices++;
    good = check_config(c, c->config, why, sizeof why);
    check_line(c, good, "a few RoIs", "%s", why);
}

static void check_device(struct check *c, struct answers *a)
{
    if (c->o->race_run) {
        run_for_races(c);
        return;
    }
    c->n_devices++;
    if (c->o->worst) {
        check_worst(c);
        return;
    }
    watch_begin(c->device);
    if (is_guest(c))
        check_guest(c);
    else
        check_life(c);
    if (!is_guest(c) && a->n < DEVICES_MAX) {
        a->outcomes[a->n] = check_runs(c);
        snprintf(a->where[a->n], sizeof a->where[0], "%s", c->where);
        a->n += a->outcomes[a->n] != NULL;
    }
    check_line(c, !watch_counts().live && !watch_counts().bad_frees,
               "nothing is left on the device", "%u objects were not freed, %u freed twice",
               watch_counts().live, watch_counts().bad_frees);
    watch_end();
}

static void compare_devices(struct check *c, const struct answers *a)
{
    for (uint32_t d = 1; d < a->n; d++) {
        char what[96], inner[192] = "", why[256] = "";
        bool good = true;

        for (uint32_t i = 0; good && i < c->sample->n; i++) {
            good = outcome_is_close(&a->outcomes[0][i], &a->outcomes[d][i], c->plugin,
                                    c->o->tolerance, inner, sizeof inner);
            if (!good)
                snprintf(why, sizeof why, "RoI %u of the sample: %s", i, inner);
        }
        snprintf(c->where, sizeof c->where, "%s", a->where[d]);
        if (c->o->tolerance > 0)
            snprintf(what, sizeof what, "same answers as %s (floats within %g)", a->where[0],
                     c->o->tolerance);
        else
            snprintf(what, sizeof what, "same answers as %s, to the bit", a->where[0]);
        check_line(c, good, what, "%s", why);
    }
}

static uint32_t count_devices(const struct backends *b, const char *backend, bool *ret_is_there)
{
    *ret_is_there = false;
    for (uint32_t i = 0; i < backends_count(b); i++) {
        uint32_t n;

        if (strcmp(backends_name(b, i, &n), backend) != 0)
            continue;
        *ret_is_there = true;
        return n;
    }
    return 0;
}

static void check_backend(struct check *c, struct backends *b, const char *backend,
                          struct answers *a)
{
    bool is_there;
    uint32_t n = count_devices(b, backend, &is_there);

    if (!n) {
        printf("SKIP  %-9s %s\n", backend,
               is_there ? "there is no device of it here"
                        : "the backend is not built or not found");
        c->n_skipped++;
    }
    for (uint32_t i = 0; i < n; i++) {
        int r = backends_device(b, backend, i, &c->device);

        snprintf(c->where, sizeof c->where, "%s:%u", backend, i);
        if (r < 0)
            check_line(c, false, "opening the device", "%s", strerror(-r));
        else
            check_device(c, a);
    }
}

static bool is_wanted(const struct check_options *o, const char *backend)
{
    for (uint32_t i = 0; i < o->n_backends; i++)
        if (!strcmp(o->backend[i], backend))
            return true;
    return !o->n_backends;
}

static void check_backends(struct check *c, struct backends *b)
{
    char words[64], *save = NULL;
    struct answers a = {.n = 0};

    snprintf(words, sizeof words, "%s", c->plugin->d.backends);
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        if (is_wanted(c->o, w))
            check_backend(c, b, w, &a);
    compare_devices(c, &a);
    if (c->o->races)
        races_check(c);
    for (uint32_t i = 0; i < a.n; i++)
        check_free(a.outcomes[i], c->sample->n);
}

/* ---------------------------------------------------------------- options */

static int complain(const char *why)
{
    fprintf(stderr, "trigctl: %s\n", why);
    return 2;
}

/* Parameters as the command line gives them. */
static int set_config(struct check *c)
{
    char why[512] = "";
    const int r = algo_configure_lines(c->plugin, c->o->preset, c->o->param, c->o->n_params,
                                       c->config, why, sizeof why);

    return r < 0 ? complain(why) : 0;
}

/* Those of the file; the plugin must have what it needs. */
static int set_conditions(struct check *c, struct plugin_host *plugins)
{
    const struct trg_condition *all = c->plugin->d.conditions;
    struct condition_need needs[CONDITIONS_MAX];
    const uint32_t n = conditions_needed(plugins, needs, CONDITIONS_MAX);
    char why[256];

    if (c->o->conditions && conditions_read(c->o->conditions, needs, n, &c->conditions) < 0)
        return complain(yamlfile_why());
    for (; all && all->name; all++) {
        uint32_t i = 0;

        while (i < c->conditions.n && strcmp(c->conditions.of[i]->name, all->name) != 0)
            i++;
        if (i < c->conditions.n || all->flags & TRG_CONDITION_OPTIONAL)
            continue;
        snprintf(why, sizeof why, "%s needs the condition %s: give a file with --conditions",
                 c->plugin->d.name, all->name);
        return complain(why);
    }
    return 0;
}

static int check_names(const struct check *c)
{
    char why[256];

    for (uint32_t i = 0; i < c->o->n_backends; i++) {
        char list[80], word[32];

        snprintf(list, sizeof list, " %s ", c->plugin->d.backends);
        snprintf(word, sizeof word, " %s ", c->o->backend[i]);
        if (strstr(list, word))
            continue;
        snprintf(why, sizeof why, "%s does not run on the backend %s; it runs on: %s",
                 c->plugin->d.name, c->o->backend[i], c->plugin->d.backends);
        return complain(why);
    }
    return 0;
}

/* ---------------------------------------------------------------- the whole */

static int run_checks(struct check *c)
{
    char folder[PATH_MAX], cache[] = "/tmp/trigctl-XXXXXX";
    struct backends *backends = NULL;
    struct sample *sample = NULL;
    const struct sample_setup setup = {.kinds = c->plugin->consumes,
                                       .n_inputs = c->plugin->n_inputs,
                                       .n_random = CHECK_RANDOM,
                                       .max_items = c->o->race_run ? RACES_ITEMS : CHECK_ITEMS_ROI,
                                       .max_layer = UINT8_MAX,
                                       .seed = c->o->seed};
    char why[512] = "";
    int r = is_guest(c)       ? 0
            : c->o->rois_file ? check_file_sample(c, &sample, why, sizeof why)
                              : sample_new(&setup, &sample);

    if (r < 0 && why[0])
        return complain(why);

    /* create is called often: what OpenCL compiled once is kept until the end */
    c->host.cache_dir = mkdtemp(cache);
    beside_program("backends", folder, sizeof folder);
    if (r == 0)
        r = backends_open(c->o->folder ? c->o->folder : folder, NULL, &c->host, &backends);
    if (r == 0) {
        c->sample = sample;
        check_backends(c, backends);
    }
    backends_close(backends);
    sample_free(sample);
    if (c->host.cache_dir)
        folder_remove(cache);
    return r;
}

static int report(struct check *c)
{
    int r = run_checks(c);

    if (r < 0) {
        fprintf(stderr, "trigctl: %s\n", strerror(-r));
        return 1;
    }
    if (r > 0)
        return r;
    if (!is_guest(c))
        puts("NOTE            NaN and infinities are not tried: the daemon's decoder refuses them");
    if (!c->n_devices) {
        fprintf(stderr,
                "trigctl: nothing was checked: no device of the plugin's backends is here\n");
        return 1;
    }
    printf("%s %s: %u checks, %u failed, %u backends skipped (seed %llu)\n", c->plugin->d.name,
           c->plugin->d.version, c->n_checks, c->n_failed, c->n_skipped,
           (unsigned long long)c->o->seed);
    return c->n_failed ? 1 : 0;
}

static int check_loaded(struct check *c, struct plugin_host *plugins)
{
    int r;

    check_line(c, true, "the descriptor keeps the rules", "%s", "");
    c->config = calloc(1, c->plugin->d.config_size + 4);
    if (!c->config)
        return complain(strerror(ENOMEM));
    r = check_names(c);
    if (r == 0 && is_guest(c) && (c->o->worst || c->o->race_run || c->o->races))
        r = complain("a guest has no RoIs: --worst and --races are for other plugins");
    if (r == 0 && c->o->worst && c->o->rois_file)
        r = complain("--worst makes its RoIs by itself: --file is for the other checks");
    if (r == 0)
        r = set_config(c);
    if (r == 0)
        r = set_conditions(c, plugins);
    if (r == 0)
        r = report(c);
    conditions_release(&c->conditions);
    free(c->config);
    return r;
}

int check_plugin(const struct check_options *options)
{
    struct check_options o = *options;
    struct check c = {
        .o = &o, .host = {.size = sizeof c.host, .ctx = &o, .log = check_log}, .where = "host"};
    struct plugin_host *plugins;
    char why[512] = "";
    int r = plugin_host_new(NULL, 0, &plugins);

    if (r < 0)
        return complain(strerror(-r));
    if (!o.has_seed && getrandom(&o.seed, sizeof o.seed, 0) != sizeof o.seed)
        o.seed = (uint64_t)getpid();
    if (plugin_host_open(plugins, o.file, &c.plugin, why, sizeof why) < 0) {
        check_line(&c, false, "the descriptor keeps the rules", "%s", why);
        r = 1;
    } else {
        r = check_loaded(&c, plugins);
    }
    plugin_host_free(plugins);
    return r;
}
