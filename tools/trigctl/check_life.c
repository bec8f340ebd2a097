/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_inner.h"
#include "watch.h"

#define CALLS_MAX 2000u /* makings in one create; more than that is a loop */

static void check_destroy_null(struct check *c)
{
    c->plugin->d.destroy(NULL);
    check_line(c, true, "destroy(NULL)", "%s", "");
}

/* Whether the algo of a rig is gone and left nothing. */
static bool is_clean(uint32_t live_before, char *why, size_t bytes)
{
    struct watch_counts n = watch_counts();

    if (n.overflowed)
        snprintf(why, bytes, "it made more objects than can be followed");
    else if (n.bad_frees)
        snprintf(why, bytes, "%u objects were freed that were not there any more", n.bad_frees);
    else if (n.live != live_before)
        snprintf(why, bytes, "%d device objects were not freed", (int)(n.live - live_before));
    else
        return true;
    return false;
}

static bool check_create_destroy(struct check *c)
{
    const struct rig_setup setup = check_setup(c, c->config, RIG_SLOTS);
    struct rig *rig = NULL;
    char why[256] = "";
    uint32_t live;
    int r = rig_open(&setup, &rig);

    if (r < 0) {
        check_line(c, false, "create", "the device has no room for the tester's own buffers: %s",
                   strerror(-r));
        return false;
    }
    live = watch_counts().live;
    for (int i = 0; r == 0 && i < 2; i++) {
        r = rig_create(rig);
        if (r == 0)
            rig_destroy(rig);
    }
    check_line(c, r == 0, "create", "it returned %d (%s)", r, strerror(-r));
    if (r == 0)
        check_line(c, is_clean(live, why, sizeof why), "destroy frees everything", "%s", why);
    rig_close(rig);
    return r == 0;
}

/* The n-th making inside create fails.  Returns 1 to go on, 0 at the end, -1 with `why`. */
static int fail_once(struct rig *rig, uint32_t n, char *why, size_t bytes)
{
    uint32_t live = watch_counts().live;
    struct watch_counts after;
    char inner[128] = "";
    int r;

    watch_fail(n);
    r = rig_create(rig);
    after = watch_counts();
    watch_fail(0);
    if (!after.failed_at[0]) { /* create needs fewer than n */
        if (r == 0)
            rig_destroy(rig);
        return 0;
    }
    if (r >= 0)
        snprintf(why, bytes, "making %u (%s) failed, and create returned %d", n, after.failed_at,
                 r);
    else if (rig->drive->algo)
        snprintf(why, bytes, "making %u (%s) failed, and create set its output", n,
                 after.failed_at);
    else if (!is_clean(live, inner, sizeof inner))
        snprintf(why, bytes, "making %u (%s) failed: %s", n, after.failed_at, inner);
    else
        return 1;
    if (r < 0)
        rig->drive->algo = NULL;
    return -1;
}

static void check_failing_create(struct check *c)
{
    const struct rig_setup setup = check_setup(c, c->config, 1);
    struct rig *rig = NULL;
    char why[256] = "", what[96];
    uint32_t n = 0;
    int r = rig_open(&setup, &rig);

    if (r == 0) {
        do
            r = fail_once(rig, ++n, why, sizeof why);
        while (r > 0 && n < CALLS_MAX);
    } else {
        snprintf(why, sizeof why, "%s", strerror(-r));
    }
    if (r > 0)
        snprintf(why, sizeof why, "create makes more than %u objects", CALLS_MAX);
    snprintf(what, sizeof what, "create undoes everything when making 1 .. %u fails",
             n ? n - 1 : 0);
    check_line(c, r == 0, r == 0 ? what : "create undoes everything when it fails", "%s", why);
    rig_close(rig);
}

/* ---------------------------------------------------------------- parameters */

struct settings {                       /* what was tried */
    uint32_t n_run, n_refused, n_large; /* large: beyond the device's memory */
    char why[512];                      /* the first failure */
};

#define LIMITS_ROIS (SAMPLE_CASES + 4u)

bool check_config(struct check *c, const void *config, char *why, size_t bytes)
{
    const struct rig_setup setup = check_setup(c, config, 1);
    uint32_t order[LIMITS_ROIS];
    const struct run run = {.order = order,
                            .n = c->sample->n < LIMITS_ROIS ? c->sample->n : LIMITS_ROIS,
                            .max_rois = CHECK_ROIS_MAX,
                            .in_flight = 1,
                            .garbage = 0x11};
    struct outcome *outcomes = NULL;
    struct check one = *c; /* room for products depends on the configuration */
    struct rig *rig = NULL;
    char inner[192] = "";
    bool good = true;
    int r = rig_open(&setup, &rig);

    one.config = (void *)config;
    if (r == 0)
        r = rig_create(rig);
    c->is_too_large = r == -ENOMEM;
    if (r < 0)
        snprintf(inner, sizeof inner, "create returned %d (%s)", r, strerror(-r));
    for (uint32_t i = 0; i < run.n; i++)
        order[i] = i;
    if (r == 0)
        outcomes = check_run(&one, rig, &run, inner, sizeof inner);
    good = outcomes != NULL;
    for (uint32_t i = 0; good && i < run.n; i++)
        good = outcome_is_valid(&outcomes[i], c->plugin, inner, sizeof inner);
    if (!good)
        snprintf(why, bytes, "%s", inner);
    check_free(outcomes, run.n);
    rig_close(rig);
    return good;
}

static void try_setting(struct check *c, struct settings *s, const char *key, const char *text)
{
    void *config = malloc(c->plugin->d.config_size);
    char inner[256] = "";
    int r;

    if (!config || s->why[0]) {
        free(config);
        return;
    }
    memcpy(config, c->config, c->plugin->d.config_size);
    r = key ? plugin_set(c->plugin, key, text, config, inner, sizeof inner)
            : plugin_preset(c->plugin, text, config, inner, sizeof inner);
    if (r < 0) {
        snprintf(s->why, sizeof s->why, "%s", inner);
    } else if (plugin_check(c->plugin, config, inner, sizeof inner) < 0) {
        s->n_refused++;
    } else if (check_config(c, config, inner, sizeof inner)) {
        s->n_run++;
    } else if (c->is_too_large) {
        s->n_large++;
    } else {
        snprintf(s->why, sizeof s->why, "%s %s: %s", key ? key : "preset", text, inner);
    }
    free(config);
}

static void try_parameter(struct check *c, struct settings *s, const struct trg_param *q)
{
    char text[64];

    if (q->type == TRG_PARAM_BOOL) {
        try_setting(c, s, q->name, "false");
        try_setting(c, s, q->name, "true");
        return;
    }
    if (q->type == TRG_PARAM_CHOICE) {
        for (const char *word = q->choices; word;) {
            size_t n = strcspn(word, "|");

            snprintf(text, sizeof text, "%.*s", (int)n, word);
            try_setting(c, s, q->name, text);
            word = word[n] ? word + n + 1 : NULL;
        }
        return;
    }
    for (int end = 0; end < 2; end++) {
        double v = end ? q->max : q->min;

        snprintf(text, sizeof text, q->type == TRG_PARAM_U32 ? "%.0f" : "%.17g", v);
        try_setting(c, s, q->name, text);
    }
}

static void check_parameters(struct check *c)
{
    struct settings s = {0};
    char what[128] = "parameters at their limits";

    if (!c->plugin->n_params)
        return;
    for (uint32_t i = 0; i < c->plugin->n_params; i++)
        try_parameter(c, &s, &c->plugin->d.params[i]);
    for (const struct trg_preset *p = c->plugin->d.presets; p && p->name; p++)
        try_setting(c, &s, NULL, p->name);
    if (!s.why[0])
        snprintf(what, sizeof what,
                 "parameters at their limits: %u settings ran, %u refused by check%s", s.n_run,
                 s.n_refused, s.n_large ? ", others beyond the device's memory" : "");
    check_line(c, !s.why[0], what, "%s", s.why);
}

void check_life(struct check *c)
{
    check_destroy_null(c);
    if (!check_create_destroy(c))
        return;
    check_failing_create(c);
    check_parameters(c);
}
