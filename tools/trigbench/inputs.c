/* SPDX-License-Identifier: Apache-2.0 */
#include "inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "generator.h"

#define AFTER_MAX 8u

struct feeder { /* a plugin that ran before */
    const struct plugin *plugin;
    void *config;
    struct products *products; /* [n_rois] */
};

struct inputs {
    struct inputs_setup s;
    struct generated *generated; /* [n_made] */
    uint32_t n_made, n_feeders;
    struct feeder feeder[AFTER_MAX];
    struct lanes_roi *rois;
};

/* RoI i's collection of a kind: the product of the last feeder that makes it, else what was
 * generated; false if there is neither. */
static bool find(const struct inputs *in, uint32_t kind, uint32_t i, struct stage_source *ret)
{
    const struct generated *g = &in->generated[i];

    for (uint32_t f = in->n_feeders; f-- > 0;)
        for (uint32_t k = 0; k < in->feeder[f].plugin->n_outputs; k++) {
            const struct product *p = &in->feeder[f].products[i].of[k];

            if (in->feeder[f].plugin->produces[k] != kind)
                continue;
            ret->n = p->n;
            memcpy(ret->column, p->column, sizeof ret->column);
            return true;
        }
    if (g->kind != kind)
        return false;
    ret->n = g->n;
    for (uint32_t c = 0; c < kind_info(kind)->n_columns; c++)
        ret->column[c] = generated_column(g, c);
    return true;
}

static int refuse(const struct inputs *in, const struct plugin *p, char *why, size_t bytes)
{
    struct stage_source unused;

    for (uint32_t k = 0; k < p->n_inputs; k++)
        if (!find(in, p->consumes[k], 0, &unused)) {
            snprintf(why, bytes,
                     "plugin %s consumes %s, which neither sample %s nor a plugin of --after has",
                     p->d.name, kind_info(p->consumes[k])->name, in->s.preset);
            return -EINVAL;
        }
    return 0;
}

/* ---------------------------------------------------------------- feeders */

struct place { /* of one RoI, for batches_run */
    const struct inputs *in;
    const struct plugin *plugin;
    uint32_t roi;
};

static void input(const void *place, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct place *p = place;

    *ret_info = p->in->generated[p->roi + i].info;
    for (uint32_t k = 0; k < p->plugin->n_inputs; k++)
        find(p->in, p->plugin->consumes[k], p->roi + i, &ret_sources[k]);
}

/* Gives back the room that a product did not need. */
static void shrink(struct product *p, uint32_t kind)
{
    const struct trg_collection *info = kind_info(kind);

    for (uint32_t c = 0; c < info->n_columns; c++) {
        size_t bytes = (p->n + (size_t)1) * trg_column_bytes(&info->column[c]);
        void *less = realloc(p->column[c], bytes);

        p->column[c] = less ? less : p->column[c];
    }
    p->room = p->n + 1;
}

static int run_feeder(const struct inputs *in, const struct feeder *f, uint32_t most_items)
{
    const struct batches_setup setup = {.host = in->s.host,
                                        .plugin = &f->plugin->d,
                                        .config = f->config,
                                        .device = in->s.device,
                                        .slots = 1,
                                        .max_rois = 1,
                                        .max_items = most_items};
    struct batches *b = NULL;
    struct trg_result result;
    int r = batches_open(&setup, &b);

    for (uint32_t i = 0; r == 0 && i < in->n_made; i++) {
        const struct place place = {in, f->plugin, i};

        r = batches_run(b, &(struct batches_work){.n = 1,
                                                  .input = input,
                                                  .rois = &place,
                                                  .results = &result,
                                                  .products = &f->products[i]});
        for (uint32_t k = 0; r == 0 && k < f->plugin->n_outputs; k++)
            shrink(&f->products[i].of[k], f->plugin->produces[k]);
    }
    batches_close(b);
    return r;
}

static uint32_t most_items(const struct inputs *in, const struct plugin *p)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < in->n_made; i++)
        for (uint32_t k = 0; k < p->n_inputs; k++) {
            struct stage_source s = {0};

            find(in, p->consumes[k], i, &s);
            most = s.n > most ? s.n : most;
        }
    return most;
}

static int feed(struct inputs *in, const char *name, char *why, size_t bytes)
{
    struct feeder *f = &in->feeder[in->n_feeders];
    int r = plugin_host_get(in->s.plugins, name, &f->plugin, why, bytes);

    if (r == 0)
        r = refuse(in, f->plugin, why, bytes);
    if (r < 0)
        return r;
    f->config = calloc(1, f->plugin->d.config_size + 4);
    f->products = calloc(in->n_made, sizeof *f->products);
    if (!f->config || !f->products)
        return -ENOMEM;
    plugin_defaults(f->plugin, f->config);
    r = run_feeder(in, f, most_items(in, f->plugin));
    in->n_feeders++;
    return r;
}

/* ---------------------------------------------------------------- the whole */

static int generate(struct inputs *in, char *why, size_t bytes)
{
    const struct generator_preset *p = generator_find(in->s.preset);
    int r = 0;

    if (!p) {
        snprintf(why, bytes, "no preset %s; trigreplay --help lists them", in->s.preset);
        return -ENOENT;
    }
    in->generated = calloc(in->s.n_rois, sizeof *in->generated);
    in->rois = calloc(in->s.n_rois, sizeof *in->rois);
    if (!in->generated || !in->rois)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < in->s.n_rois; i++, in->n_made++)
        r = generator_make(p, in->s.seed, i, &in->generated[i]);
    return r;
}

static int make_all(struct inputs *in, char *why, size_t bytes)
{
    int r = generate(in, why, bytes);

    if (r == 0 && in->s.n_after > AFTER_MAX) {
        snprintf(why, bytes, "at most %u plugins can run before", AFTER_MAX);
        return -EINVAL;
    }
    for (uint32_t i = 0; r == 0 && i < in->s.n_after; i++)
        r = feed(in, in->s.after[i], why, bytes);
    if (r == 0)
        r = refuse(in, in->s.plugin, why, bytes);
    for (uint32_t i = 0; r == 0 && i < in->n_made; i++) {
        in->rois[i].info = in->generated[i].info;
        for (uint32_t k = 0; k < in->s.plugin->n_inputs; k++)
            find(in, in->s.plugin->consumes[k], i, &in->rois[i].input[k]);
    }
    return r;
}

int inputs_open(const struct inputs_setup *setup, struct inputs **ret_inputs, char *why,
                size_t why_bytes)
{
    struct inputs *in = calloc(1, sizeof *in);
    int r;

    if (!in)
        return -ENOMEM;
    in->s = *setup;
    why[0] = '\0';
    r = make_all(in, why, why_bytes);
    if (r < 0) {
        if (!why[0])
            snprintf(why, why_bytes, "cannot make the sample: %s", strerror(-r));
        inputs_close(in);
        return r;
    }
    *ret_inputs = in;
    return 0;
}

void inputs_close(struct inputs *in)
{
    if (!in)
        return;
    for (uint32_t f = 0; f < AFTER_MAX; f++) {
        products_free(in->feeder[f].products, in->n_made);
        free(in->feeder[f].config);
    }
    for (uint32_t i = 0; i < in->n_made; i++)
        generated_fini(&in->generated[i]);
    free(in->generated);
    free(in->rois);
    free(in);
}

const struct lanes_roi *inputs_rois(const struct inputs *in)
{
    return in->rois;
}
