/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of plugins: from text into the plugin's config struct and back. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "plugin/plugin_host.h"
#include "refuse.h"

static void put(void *params, const struct trg_param *q, const void *value)
{
    memcpy((char *)params + q->offset, value, 4);
}

static int set_bool(const struct trg_param *q, const char *text, void *params, char *why, size_t n)
{
    uint32_t v = !strcmp(text, "true");

    if (!v && strcmp(text, "false"))
        return refuse(why, n, "'%s' is '%s'; allowed: true, false", q->name, text);
    put(params, q, &v);
    return 0;
}

static int set_u32(const struct trg_param *q, const char *text, void *params, char *why, size_t n)
{
    char *end = NULL;
    unsigned long long v = 0;
    uint32_t u;

    errno = 0;
    if (isdigit((unsigned char)*text))
        v = strtoull(text, &end, 10);
    if (!end || *end || errno || (double)v < q->min || (double)v > q->max || v > UINT32_MAX)
        return refuse(why, n, "'%s' is '%s'; allowed: a whole number from %.0f to %.0f%s%s",
                      q->name, text, q->min, q->max, *q->unit ? " " : "", q->unit);
    u = (uint32_t)v;
    put(params, q, &u);
    return 0;
}

static int set_f32(const struct trg_param *q, const char *text, void *params, char *why, size_t n)
{
    char *end = NULL;
    double v = 0;
    float f;

    if (*text && !isspace((unsigned char)*text))
        v = strtod(text, &end);
    if (!end || end == text || *end || !isfinite(v) || v < q->min || v > q->max)
        return refuse(why, n, "'%s' is '%s'; allowed: a number from %g to %g%s%s", q->name, text,
                      q->min, q->max, *q->unit ? " " : "", q->unit);
    f = (float)v;
    put(params, q, &f);
    return 0;
}

static int set_choice(const struct trg_param *q, const char *text, void *params, char *why,
                      size_t n)
{
    const char *word = q->choices;

    for (uint32_t i = 0; word; i++) {
        size_t length = strcspn(word, "|");

        if (strlen(text) == length && !strncmp(text, word, length)) {
            put(params, q, &i);
            return 0;
        }
        word = word[length] ? word + length + 1 : NULL;
    }
    return refuse(why, n, "'%s' is '%s'; allowed: %s", q->name, text, q->choices);
}

static int unknown(const struct plugin *p, const char *key, char *why, size_t n)
{
    struct nearest near = nearest_to(key);

    for (uint32_t i = 0; i < p->n_params; i++)
        nearest_offer(&near, p->d.params[i].name);
    if (near.best)
        return refuse(why, n, "plugin '%s' has no parameter '%s'; did you mean '%s'?", p->d.name,
                      key, near.best);
    return refuse(why, n, "plugin '%s' has no parameter '%s'; 'trigctl show plugin %s' lists them",
                  p->d.name, key, p->d.name);
}

int plugin_set(const struct plugin *p, const char *key, const char *text, void *params, char *why,
               size_t why_bytes)
{
    for (uint32_t i = 0; i < p->n_params; i++) {
        const struct trg_param *q = &p->d.params[i];

        if (strcmp(q->name, key))
            continue;
        switch (q->type) {
        case TRG_PARAM_BOOL:
            return set_bool(q, text, params, why, why_bytes);
        case TRG_PARAM_U32:
            return set_u32(q, text, params, why, why_bytes);
        case TRG_PARAM_F32:
            return set_f32(q, text, params, why, why_bytes);
        case TRG_PARAM_CHOICE:
            return set_choice(q, text, params, why, why_bytes);
        }
    }
    return unknown(p, key, why, why_bytes);
}

void plugin_defaults(const struct plugin *p, void *params)
{
    char why[256];

    memset(params, 0, p->d.config_size);
    for (uint32_t i = 0; i < p->n_params; i++)
        (void)plugin_set(p, p->d.params[i].name, p->d.params[i].dflt, params, why, sizeof why);
    /* cannot fail: the host tried every default when it opened the plugin */
}

static int unknown_preset(const struct plugin *p, const char *preset, char *why, size_t n)
{
    size_t at =
        (size_t)snprintf(why, n, "plugin '%s' has no preset '%s'; it has:", p->d.name, preset);

    for (const struct trg_preset *s = p->d.presets; s && s->name && at < n; s++)
        at += (size_t)snprintf(why + at, n - at, " %s", s->name);
    if (at < n && (!p->d.presets || !p->d.presets->name))
        snprintf(why + at, n - at, " none");
    return -ENOENT;
}

int plugin_preset(const struct plugin *p, const char *preset, void *params, char *why,
                  size_t why_bytes)
{
    for (const struct trg_preset *s = p->d.presets; s && s->name; s++) {
        if (strcmp(s->name, preset))
            continue;
        for (const char *const *k = s->settings; k[0]; k += 2) {
            if (!k[1])
                return refuse(why, why_bytes, "the key '%s' has no value", k[0]);
            if (plugin_set(p, k[0], k[1], params, why, why_bytes) < 0)
                return -EINVAL;
        }
        return 0;
    }
    return unknown_preset(p, preset, why, why_bytes);
}

static void get_choice(const struct trg_param *q, uint32_t v, char *text, size_t bytes)
{
    const char *word = q->choices;

    while (v-- && word)
        word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL;
    snprintf(text, bytes, "%.*s", word ? (int)strcspn(word, "|") : 0, word ? word : "");
}

void plugin_get(const struct plugin *p, uint32_t param, const void *params, char *text,
                size_t bytes)
{
    const struct trg_param *q = &p->d.params[param];
    uint32_t u;
    float f;

    memcpy(&u, (const char *)params + q->offset, 4);
    memcpy(&f, (const char *)params + q->offset, 4);
    switch (q->type) {
    case TRG_PARAM_BOOL:
        snprintf(text, bytes, "%s", u ? "true" : "false");
        break;
    case TRG_PARAM_U32:
        snprintf(text, bytes, "%u", u);
        break;
    case TRG_PARAM_F32:
        snprintf(text, bytes, "%.9g", (double)f);
        break;
    case TRG_PARAM_CHOICE:
        get_choice(q, u, text, bytes);
        break;
    }
}
