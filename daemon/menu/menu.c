/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/menu.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/nearest.h"
#include "log.h"
#include "menu/menu_build.h"
#include "menu/plan.h"
#include "menu/prescales.h"

/* ---------------------------------------------------------------- streams and items */

static int32_t find_stream(const struct menu *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_streams; i++)
        if (!strcmp(m->streams[i].name, name))
            return (int32_t)i;
    return -1;
}

static int add_stream(struct menu *m, const char *name, bool is_debug)
{
    m->streams[m->n_streams].name = strdup(name);
    m->streams[m->n_streams].is_debug = is_debug;
    m->streams[m->n_streams].has_payload = m->streams[m->n_streams].has_results = true;
    return m->streams[m->n_streams++].name ? 0 : -ENOMEM;
}

static int build_streams(struct builder *b)
{
    char where[WHERE_BYTES];
    int r = 0;

    if (b->file->n_streams >= MENU_STREAMS_MAX) {
        yamlfile_problem(b->f, "streams", "there are %u streams; at most %u are allowed",
                         b->file->n_streams, MENU_STREAMS_MAX - 1);
        return 0;
    }
    for (uint32_t i = 0; r == 0 && i < b->file->n_streams; i++) {
        snprintf(where, sizeof where, "streams[%u]", i);
        menu_check_name(b, where, b->file->streams[i]);
        if (!strcmp(b->file->streams[i], "debug"))
            yamlfile_problem(b->f, where, "the stream \"debug\" always exists and is not listed");
        else if (find_stream(b->m, b->file->streams[i]) >= 0)
            yamlfile_problem(b->f, where, "stream \"%s\" is listed twice", b->file->streams[i]);
        else
            r = add_stream(b->m, b->file->streams[i], false);
    }
    b->m->debug_stream = b->m->n_streams;
    return r == 0 ? add_stream(b->m, "debug", true) : r;
}

/* The products that a stream asks for. */
static uint64_t kept_products(struct builder *b, uint32_t number)
{
    const struct menu_file_keep *keep = &b->file->keep[number];
    uint64_t steps = 0;

    for (uint32_t i = 0; i < keep->n_products; i++) {
        int32_t step = menu_find_step(b->m, keep->products[i]);
        const struct plugin *plugin = step < 0 ? NULL : b->m->steps[step].plugin;
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "keep[%u].products[%u]", number, i);
        if (step < 0)
            yamlfile_problem(b->f, where, "stream \"%s\": there is no step \"%s\"", keep->stream,
                             keep->products[i]);
        else if (!plugin || !plugin->n_outputs)
            yamlfile_problem(b->f, where, "stream \"%s\": step \"%s\" makes no collection",
                             keep->stream, keep->products[i]);
        else
            steps |= 1ull << step;
    }
    return steps;
}

/* What the files of streams hold; after the steps. */
static void build_keep(struct builder *b)
{
    uint64_t seen = 0;

    for (uint32_t i = 0; i < b->file->n_keep; i++) {
        const struct menu_file_keep *keep = &b->file->keep[i];
        int32_t stream = find_stream(b->m, keep->stream);
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "keep[%u].stream", i);
        if (stream < 0 || b->m->streams[stream].is_debug) {
            yamlfile_problem(b->f, where, "%s is \"%s\", which is none of `streams`", where,
                             keep->stream);
            continue;
        }
        if (seen >> stream & 1)
            yamlfile_problem(b->f, where, "stream \"%s\" is listed twice", keep->stream);
        seen |= 1ull << stream;
        b->m->streams[stream].has_payload = !keep->payload || *keep->payload;
        b->m->streams[stream].has_results = !keep->results || *keep->results;
        b->m->streams[stream].products = kept_products(b, i);
    }
}

static int build_types(struct builder *b)
{
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < b->file->n_types; i++) {
        const struct menu_file_type *type = &b->file->types[i];

        snprintf(where, sizeof where, "roi_types[%u].name", i);
        menu_check_name(b, where, type->name);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(b->file->types[k].name, type->name))
                yamlfile_problem(b->f, where, "RoI type \"%s\" is listed twice", type->name);
        snprintf(where, sizeof where, "roi_types[%u].number", i);
        if (type->number >= ROI_TYPES) {
            yamlfile_problem(b->f, where, "%s is %u; 0 to %u are allowed", where, type->number,
                             ROI_TYPES - 1);
            continue;
        }
        if (b->m->types[type->number]) {
            yamlfile_problem(b->f, where, "RoI types \"%s\" and \"%s\" have the same number %u",
                             b->m->types[type->number], type->name, type->number);
            continue;
        }
        b->m->types[type->number] = strdup(type->name);
        if (!b->m->types[type->number])
            return -ENOMEM;
    }
    return 0;
}

static void check_items(struct builder *b)
{
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < b->file->n_l1_items; i++) {
        const struct menu_file_item *item = &b->file->l1_items[i];

        snprintf(where, sizeof where, "l1_items[%u].bit", i);
        if (item->bit > 31)
            yamlfile_problem(b->f, where, "%s is %u; 0 to 31 are allowed", where, item->bit);
        snprintf(where, sizeof where, "l1_items[%u].name", i);
        menu_check_name(b, where, item->name);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(b->file->l1_items[k].name, item->name))
                yamlfile_problem(b->f, where, "level-1 item \"%s\" is listed twice", item->name);
    }
}

/* The bit of a seed: a name of l1_items, or a number. */
static int32_t find_bit(const struct builder *b, const char *seed)
{
    char *end;
    unsigned long n = strtoul(seed, &end, 10);

    for (uint32_t i = 0; i < b->file->n_l1_items; i++)
        if (!strcmp(b->file->l1_items[i].name, seed))
            return (int32_t)(b->file->l1_items[i].bit & 31u); /* above: refused by check_items */
    return *seed >= '0' && *seed <= '9' && !*end && n < 32 ? (int32_t)n : -1;
}

/* A name of roi_types, or a number. */
static int32_t find_type(const struct builder *b, const char *type)
{
    char *end;
    unsigned long n = strtoul(type, &end, 10);

    for (uint32_t i = 0; i < ROI_TYPES; i++)
        if (b->m->types[i] && !strcmp(b->m->types[i], type))
            return (int32_t)i;
    return *type >= '0' && *type <= '9' && !*end && n < ROI_TYPES ? (int32_t)n : -1;
}

/* ---------------------------------------------------------------- chains */

static int build_chain_step(struct builder *b, struct menu_chain *c, uint32_t chain, uint32_t k)
{
    const struct menu_file_chain_step *fs = &b->file->chains[chain].steps[k];
    int32_t step = menu_find_step(b->m, fs->step);
    char where[WHERE_BYTES];

    snprintf(where, sizeof where, "chains[%u].steps[%u].step", chain, k);
    if (step < 0) {
        yamlfile_problem(b->f, where, "chain \"%s\": there is no step \"%s\"", c->name, fs->step);
        return 0;
    }
    c->steps[k].step = (uint32_t)step;
    c->steps[k].n_cuts = fs->n_cuts;
    c->steps[k].cuts = calloc(fs->n_cuts ? fs->n_cuts : 1, sizeof(struct menu_cut));
    if (!c->steps[k].cuts)
        return -ENOMEM;
    for (uint32_t i = 0; i < fs->n_cuts; i++) {
        snprintf(where, sizeof where, "chains[%u].steps[%u].cuts[%u]", chain, k, i);
        menu_build_cut(b, &b->m->steps[step], &fs->cuts[i], where, &c->steps[k].cuts[i]);
    }
    return 0;
}

static void build_looks(struct builder *b, struct menu_chain *c, uint32_t chain)
{
    const struct menu_file_chain *fc = &b->file->chains[chain];
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < fc->n_types; i++) {
        int32_t type = find_type(b, fc->types[i]);

        snprintf(where, sizeof where, "chains[%u].types[%u]", chain, i);
        if (type < 0)
            yamlfile_problem(b->f, where,
                             "chain \"%s\": type \"%s\" is neither one of roi_types nor a "
                             "number from 0 to %u",
                             c->name, fc->types[i], ROI_TYPES - 1);
        else
            c->types |= 1ull << type;
    }
}

static void build_seeds_and_streams(struct builder *b, struct menu_chain *c, uint32_t chain)
{
    const struct menu_file_chain *fc = &b->file->chains[chain];
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < fc->n_seeds; i++) {
        int32_t bit = find_bit(b, fc->seeds[i]);

        snprintf(where, sizeof where, "chains[%u].seeds[%u]", chain, i);
        if (bit < 0)
            yamlfile_problem(b->f, where,
                             "chain \"%s\": seed \"%s\" is neither one of l1_items "
                             "nor a bit from 0 to 31",
                             c->name, fc->seeds[i]);
        else
            c->l1_mask |= 1u << bit;
    }
    for (uint32_t i = 0; i < fc->n_streams; i++) {
        int32_t stream = find_stream(b->m, fc->streams[i]);

        snprintf(where, sizeof where, "chains[%u].streams[%u]", chain, i);
        if (stream < 0)
            yamlfile_problem(b->f, where, "chain \"%s\": there is no stream \"%s\"", c->name,
                             fc->streams[i]);
        else if (b->m->streams[stream].is_debug)
            yamlfile_problem(b->f, where,
                             "chain \"%s\": the debug stream is for what failed, no "
                             "chain writes to it",
                             c->name);
        else
            c->streams |= 1ull << stream;
    }
}

/* The number of a word in a list that ends with NULL; what is not in it is noted, and 0.  Without a
 * word it is `otherwise`. */
static uint32_t find_word(struct builder *b, const char *where, const char *word,
                          const char *const *words, uint32_t otherwise)
{
    char allowed[WHY_BYTES] = "";

    if (!word)
        return otherwise;
    for (uint32_t i = 0; words[i]; i++) {
        const size_t n = strlen(allowed);

        if (!strcmp(word, words[i]))
            return i;
        snprintf(allowed + n, sizeof allowed - n, "%s%s",
                 !i             ? ""
                 : words[i + 1] ? ", "
                                : " and ",
                 words[i]);
    }
    yamlfile_problem(b->f, where, "%s is \"%s\"; %s are allowed", where, word, allowed);
    return 0;
}

/* What a chain does where limits, lanes or steps fail it. */
static void build_ways(struct builder *b, struct menu_chain *c, uint32_t chain)
{
    static const char *const truncated[] = {"pass", "cut", NULL},
                             *const fallbacks[] = {"debug", "skip", NULL},
                             *const priorities[] = {"high", "normal", "low", NULL};
    const struct menu_file_chain *fc = &b->file->chains[chain];
    char where[WHERE_BYTES];

    snprintf(where, sizeof where, "chains[%u].truncated", chain);
    c->cuts_truncated = find_word(b, where, fc->truncated, truncated, 0);
    snprintf(where, sizeof where, "chains[%u].fallback", chain);
    c->skips = find_word(b, where, fc->fallback, fallbacks, 0);
    snprintf(where, sizeof where, "chains[%u].priority", chain);
    c->priority = find_word(b, where, fc->priority, priorities, MENU_NORMAL);
}

static void check_chain(struct builder *b, const struct menu_chain *c, uint32_t chain)
{
    char where[WHERE_BYTES];

    snprintf(where, sizeof where, "chains[%u].name", chain);
    menu_check_name(b, where, c->name);
    if (combination_is_word(c->name))
        yamlfile_problem(b->f, where, "no chain may be named \"%s\": it combines chains", c->name);
    for (uint32_t i = 0; i < chain; i++) {
        if (!strcmp(b->m->chains[i].name, c->name))
            yamlfile_problem(b->f, where, "chain \"%s\" is listed twice", c->name);
        if (b->m->chains[i].id == c->id)
            yamlfile_problem(b->f, where, "chains \"%s\" and \"%s\" have the same id %u",
                             b->m->chains[i].name, c->name, c->id);
    }
    snprintf(where, sizeof where, "chains[%u].prescale", chain);
    if (!prescale_is_allowed(c->prescale))
        yamlfile_problem(b->f, where,
                         "chain \"%s\": prescale %g; 0 (off) or a number >= 1 is "
                         "allowed",
                         c->name, c->prescale);
}

/* ---------------------------------------------------------------- combinations */

static int32_t find_chain(const void *menu, const char *name)
{
    const struct menu *m = menu;

    for (uint32_t i = 0; i + 1 < m->n_chains; i++) /* the last one is just being made */
        if (!strcmp(m->chains[i].name, name))
            return (int32_t)i;
    return -1;
}

/* What a chain that others are combined to may not have of its own. */
static void check_combined(struct builder *b, const struct menu_chain *c, uint32_t chain)
{
    static const char *const keys[] = {"steps", "types", "regions", "multiplicity"};
    char where[WHERE_BYTES];

    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(where, sizeof where, "chains[%u].%s", chain, keys[i]);
        if (yamlfile_has(b->f, where))
            yamlfile_problem(b->f, where, "chain \"%s\" combines others and has no %s of its own",
                             c->name, keys[i]);
    }
}

static int build_combination(struct builder *b, struct menu_chain *c, uint32_t chain)
{
    const struct menu_file_chain *fc = &b->file->chains[chain];
    const struct combination_names names = {.find = find_chain, .ctx = b->m};
    char where[WHERE_BYTES], why[WHY_BYTES];

    snprintf(where, sizeof where, "chains[%u].multiplicity", chain);
    c->multiplicity = fc->multiplicity ? *fc->multiplicity : 1;
    if (c->multiplicity < 1 || c->multiplicity > MENU_MULTIPLICITY_MAX)
        yamlfile_problem(b->f, where, "chain \"%s\": multiplicity %u; 1 to %u are allowed", c->name,
                         c->multiplicity, MENU_MULTIPLICITY_MAX);
    snprintf(where, sizeof where, "chains[%u].steps", chain);
    if (!fc->combine && !yamlfile_has(b->f, where))
        yamlfile_problem(b->f, where, "chain \"%s\" has neither steps nor combine", c->name);
    if (!fc->combine)
        return 0;
    check_combined(b, c, chain);
    c->combination = calloc(1, sizeof *c->combination);
    if (!c->combination)
        return -ENOMEM;
    snprintf(where, sizeof where, "chains[%u].combine", chain);
    if (combination_parse(fc->combine, &names, c->combination, why, sizeof why) < 0)
        yamlfile_problem(b->f, where, "chain \"%s\": its combination cannot be read: %s", c->name,
                         why);
    return 0;
}

static int build_chain(struct builder *b, uint32_t chain)
{
    const struct menu_file_chain *fc = &b->file->chains[chain];
    struct menu_chain *c = &b->m->chains[chain];

    c->name = strdup(fc->name);
    if (!c->name)
        return -ENOMEM;
    b->m->n_chains++;
    c->id = fc->id;
    c->prescale = fc->prescale ? *fc->prescale : 1;
    c->pass_through = fc->pass_through;
    for (uint32_t k = 0; k < fc->n_steps; k++) {
        int r = build_chain_step(b, c, chain, k);

        if (r < 0)
            return r;
        c->n_steps++;
    }
    build_looks(b, c, chain);
    if (menu_build_regions(b, c, chain) < 0)
        return -ENOMEM;
    build_ways(b, c, chain);
    menu_build_expected(b, c, chain);
    build_seeds_and_streams(b, c, chain);
    check_chain(b, c, chain);
    return build_combination(b, c, chain);
}

/* Whether a step is used by a chain, itself or as the input of one that is. */
static bool is_used(const struct menu *m, uint32_t step)
{
    for (uint32_t i = 0; i < m->n_chains; i++)
        for (uint32_t k = 0; k < m->chains[i].n_steps; k++)
            if (m->chains[i].steps[k].step == step)
                return true;
    for (uint32_t i = step + 1; i < m->n_steps; i++)
        for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
            if (m->steps[i].input[k] == (int32_t)step && is_used(m, i))
                return true;
    return false;
}

/* ---------------------------------------------------------------- the whole */

/* Chains that ask for several RoIs, or for other chains to fail, wait for all of them. */
static void check_decision(struct builder *b)
{
    for (uint32_t i = 0; i < b->m->n_chains && b->m->decision != MENU_COMPLETE; i++)
        if (b->m->chains[i].combination || b->m->chains[i].multiplicity > 1) {
            yamlfile_problem(
                b->f, "decision",
                "decision is \"%s\", and chain \"%s\" has %s: only complete is allowed",
                b->file->decision, b->m->chains[i].name,
                b->m->chains[i].combination ? "combine" : "a multiplicity");
            return;
        }
}

static int build_all(struct builder *b)
{
    static const char *const decisions[] = {"complete", "streams", "accept", NULL};
    const struct menu_file *file = b->file;
    int r = build_streams(b);

    check_items(b);
    if (r == 0)
        r = build_types(b);
    b->m->decision = find_word(b, "decision", file->decision, decisions, MENU_COMPLETE);
    b->m->name = strdup(file->name ? file->name : "menu");
    if (!b->m->name)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < file->n_steps; i++)
        r = menu_build_step(b, i);
    if (r == 0)
        build_keep(b);
    menu_mark_wanted(b->m);
    for (uint32_t i = 0; r == 0 && i < file->n_chains; i++)
        r = build_chain(b, i);
    if (r == 0)
        r = menu_build_histograms(b);
    check_decision(b);
    for (uint32_t i = 0; r == 0 && i < b->m->n_steps; i++) {
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "steps[%u].name", i);
        if (!is_used(b->m, i))
            yamlfile_problem(b->f, where, "no chain uses step \"%s\"", b->m->steps[i].name);
    }
    if (r == 0 && yamlfile_problems(b->f))
        return -EINVAL;
    return r == 0 ? plan_new(b->m, &b->m->plan) : r;
}

/* Keeps the bytes of the file, to be shown, and their hash.  -errno. */
static int keep_text(struct menu *m, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    int r;

    if (!f)
        return -errno;
    errno = 0;
    r = getdelim(&m->text, &n, '\0', f) < 0 ? -errno : 0;
    if (r == 0 && !(m->text && feof(f))) /* it holds a zero, or nothing */
        r = -EBADMSG;
    fclose(f);
    if (r == 0)
        m->hash = hash_bytes(m->text, strlen(m->text));
    return r;
}

int menu_load(const char *path, struct plugin_host *host, struct menu **ret_menu)
{
    struct builder b = {.host = host};
    void *data;
    int r = yamlfile_load(path, &menu_file_schema, &data, &b.f);

    if (r < 0)
        return r;
    b.file = data;
    b.m = calloc(1, sizeof *b.m);
    r = b.m ? build_all(&b) : -ENOMEM;
    if (r == 0)
        r = keep_text(b.m, path);
    cyaml_free(&yamlfile_cyaml, &menu_file_schema, data, 0);
    yamlfile_free(b.f);
    if (r < 0) {
        menu_free(b.m);
        return r;
    }
    *ret_menu = b.m;
    return 0;
}

void menu_free(struct menu *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < MENU_STEPS_MAX; i++) {
        plugin_release(m->steps[i].plugin);
        free(m->steps[i].name);
        free(m->steps[i].params);
    }
    for (uint32_t i = 0; i < MENU_CHAINS_MAX; i++) {
        free(m->chains[i].name);
        free(m->chains[i].combination);
        free(m->chains[i].region);
        for (uint32_t k = 0; k < MENU_CHAIN_STEPS_MAX; k++)
            free(m->chains[i].steps[k].cuts);
    }
    for (uint32_t i = 0; i < MENU_STREAMS_MAX; i++)
        free(m->streams[i].name);
    for (uint32_t i = 0; i < ROI_TYPES; i++)
        free(m->types[i]);
    for (uint32_t i = 0; i < CONDITIONS_MAX; i++)
        condition_release(m->base[i]);
    for (uint32_t i = 0; i < m->n_histograms; i++) {
        free(m->histogram[i].name);
        free(m->histogram[i].cuts);
        free(m->histogram[i].what);
    }
    free(m->histogram);
    plan_free(m->plan);
    free(m->text);
    free(m->name);
    free(m);
}

uint32_t menu_reads(const struct menu *menu)
{
    uint32_t kinds = 0;

    for (uint32_t i = 0; i < menu->n_steps; i++)
        for (uint32_t k = 0; k < menu->steps[i].plugin->n_inputs; k++)
            if (menu->steps[i].input[k] < 0)
                kinds |= 1u << menu->steps[i].plugin->consumes[k];
    return kinds;
}
