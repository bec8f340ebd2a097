/* SPDX-License-Identifier: Apache-2.0 */
#include "random_menu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"

/* Kinds of steps, with plugins of tests/config: of spacepoints; hits to doublets, and those;
 * spacepoints to tracks and doublets, and those on the device. */
#define OF_POINTS   'g'
#define OF_HITS     'm'
#define OF_DOUBLETS 'e'
#define RELAYS      'r'
#define ON_DEVICE   't'

#define STREAMS   5u
#define TYPES     4u
#define LEGS_MAX  4u
#define VALUES    2u
#define TRUNCATED 0.02 /* share of results */

static uint32_t below(uint64_t *state, uint32_t n)
{
    return (uint32_t)seed_uniform(state, 0, n) % n;
}

static bool chance(uint64_t *state, double p)
{
    return seed_uniform(state, 0, 1) < p;
}

/* Few different values, so that cuts are met exactly. */
static float random_value(uint64_t *state)
{
    return (float)below(state, 41) * 0.25f - 5.0f;
}

/* ---------------------------------------------------------------- making */

static void make_steps(uint64_t *state, struct random_menu *m)
{
    for (uint32_t i = 0; i < m->n_steps; i++) {
        struct random_step *s = &m->step[i];
        const struct random_step *before = i ? s - 1 : NULL;

        *s = (struct random_step){.kind = OF_POINTS, .from = -1, .head = i};
        if (before && before->kind == OF_HITS && chance(state, 0.7))
            s->kind = OF_DOUBLETS;
        else if (before && before->kind == RELAYS && chance(state, 0.7))
            s->kind = ON_DEVICE;
        else if (chance(state, 0.5))
            s->kind = chance(state, 0.7) ? OF_HITS : RELAYS;
        if (s->kind == OF_DOUBLETS || s->kind == ON_DEVICE)
            s->from = (int32_t)i - 1;
        else
            s->reads = 1u << (s->kind == OF_HITS ? TRG_HITS : TRG_SPACEPOINTS);
        if (s->kind == ON_DEVICE)
            s->head = i - 1;
    }
}

static void make_cut(uint64_t *state, struct random_cut *c)
{
    const float a = random_value(state), b = random_value(state);

    *c = (struct random_cut){.value = below(state, VALUES), .absolute = chance(state, 0.3)};
    c->has_min = chance(state, 0.7);
    c->has_max = !c->has_min || chance(state, 0.3);
    c->min = a < b ? a : b;
    c->max = a < b ? b : a;
}

static void make_regions(uint64_t *state, struct random_chain *c)
{
    c->n_regions = 1 + below(state, 2);
    for (uint32_t i = 0; i < c->n_regions; i++) {
        struct random_region *r = &c->region[i];

        r->has_eta = chance(state, 0.7);
        r->has_phi = !r->has_eta || chance(state, 0.5);
        r->eta_min = (double)below(state, 10) * 0.5 - 2.5;
        r->eta_max = r->eta_min + (double)(1 + below(state, 4)) * 0.5;
        r->phi_min = (double)below(state, 25) * 0.25 - 3;
        do
            r->phi_max = (double)below(state, 25) * 0.25 - 3;
        while (r->phi_max == r->phi_min); /* below it half of the time: across pi */
    }
}

static void make_chain(uint64_t *state, const struct random_menu *m, uint32_t number,
                       uint32_t seeds, struct random_chain *c)
{
    static const double prescales[] = {1, 1, 1, 1, 0, 2, 3.5, 1000};

    *c = (struct random_chain){
        .id = 7 * number + 1, .n_legs = 1 + below(state, LEGS_MAX), .multiplicity = 1};
    for (uint32_t i = seeds ? 1 + below(state, seeds) : 0; i; i--)
        c->l1_mask |= 1u << below(state, 32);
    if (chance(state, 0.3))
        c->types = 1 + below(state, (1u << TYPES) - 1);
    if (chance(state, 0.2))
        make_regions(state, c);
    c->prescale = prescales[below(state, 8)];
    c->pass_through = chance(state, 0.03);
    c->cuts_truncated = chance(state, 0.5);
    c->skips = chance(state, 0.95);
    c->streams = 1 + below(state, (1u << STREAMS) - 1);
    for (uint32_t k = 0; k < c->n_legs; k++) {
        /* every step has a user */
        c->leg[k].step = k || number >= m->n_steps ? below(state, m->n_steps) : number;
        c->leg[k].n_cuts = below(state, RANDOM_CUTS + 1);
        for (uint32_t i = 0; i < c->leg[k].n_cuts; i++)
            make_cut(state, &c->leg[k].cut[i]);
    }
    if (number >= m->n_steps && chance(state, 0.01))
        c->n_legs = 0;
}

void random_menu_make(uint64_t *state, uint32_t n_chains, uint32_t n_steps, uint32_t seeds,
                      struct random_menu *ret_menu)
{
    *ret_menu = (struct random_menu){.n_chains = n_chains, .n_steps = n_steps};
    make_steps(state, ret_menu);
    for (uint32_t i = 0; i < n_chains; i++)
        make_chain(state, ret_menu, i, seeds, &ret_menu->chain[i]);
}

static void make_combination(uint64_t *state, uint32_t number, struct random_chain *c)
{
    const uint32_t wanted = 1 + below(state, RANDOM_NODES);

    c->n_legs = 0;
    c->types = c->n_regions = 0;
    for (c->n_nodes = 0; c->n_nodes < wanted; c->n_nodes++) {
        struct random_node *node = &c->node[c->n_nodes];

        *node = (struct random_node){.op = 'c', .a = below(state, number)};
        if (c->n_nodes < 2 || chance(state, 0.4))
            continue;
        node->op = "&|!"[below(state, 3)];
        node->a = below(state, c->n_nodes);
        node->b = below(state, c->n_nodes);
    }
}

/* Operands and operators; a node that has several uses is written out for each. */
static uint32_t weight_of(const struct random_chain *c, uint32_t node)
{
    const struct random_node *n = &c->node[node];

    return n->op == 'c'   ? 1
           : n->op == '!' ? 1 + weight_of(c, n->a)
                          : 1 + weight_of(c, n->a) + weight_of(c, n->b);
}

void random_menu_combine(uint64_t *state, struct random_menu *m)
{
    for (uint32_t i = 0; i < m->n_chains; i++) {
        struct random_chain *c = &m->chain[i];

        if (i >= m->n_steps && i && chance(state, 0.25))
            do
                make_combination(state, i, c);
            while (weight_of(c, c->n_nodes - 1) > 12); /* what a menu allows */
        else if (chance(state, 0.3))
            c->multiplicity = 2 + below(state, 3);
    }
}

/* ---------------------------------------------------------------- the file */

static void print_step(const struct random_menu *m, uint32_t i, FILE *out)
{
    const struct random_step *s = &m->step[i];
    const char *plugin = s->kind == OF_HITS       ? "maker"
                         : s->kind == OF_DOUBLETS ? "eater"
                         : s->kind == RELAYS      ? "relay"
                         : s->kind == ON_DEVICE   ? "taker"
                                                  : "good";

    fprintf(out, "  - {name: s%u, plugin: %s", i, plugin);
    if (s->from >= 0)
        fprintf(out, ", inputs: [s%d]", s->from);
    fprintf(out, "%s}\n", s->kind == ON_DEVICE ? ", on_device: true" : "");
}

static void print_cut(const struct random_cut *c, FILE *out)
{
    fprintf(out, "{value: %s%s", c->value ? "z_mm" : "n_points",
            c->absolute ? ", absolute: true" : "");
    if (c->has_min)
        fprintf(out, ", min: %g", (double)c->min);
    if (c->has_max)
        fprintf(out, ", max: %g", (double)c->max);
    fputc('}', out);
}

/* Numbers of the bits that are set. */
static void print_bits(const char *key, const char *before, uint64_t bits, FILE *out)
{
    fprintf(out, ", %s: [", key);
    for (; bits; bits &= bits - 1)
        fprintf(out, "%s%d%s", before, __builtin_ctzll(bits), bits & (bits - 1) ? ", " : "");
    fputc(']', out);
}

static void print_node(const struct random_menu *m, const struct random_chain *c, uint32_t node,
                       FILE *out)
{
    const struct random_node *n = &c->node[node];

    if (n->op == 'c') {
        fprintf(out, "c%u", m->chain[n->a].id);
        return;
    }
    fputs(n->op == '!' ? "not (" : "(", out);
    print_node(m, c, n->a, out);
    if (n->op != '!') {
        fputs(n->op == '&' ? ") and (" : ") or (", out);
        print_node(m, c, n->b, out);
    }
    fputc(')', out);
}

static void print_legs(const struct random_chain *c, FILE *out)
{
    fputs(", steps: [", out);
    for (uint32_t k = 0; k < c->n_legs; k++) {
        fprintf(out, "%s{step: s%u, cuts: [", k ? ", " : "", c->leg[k].step);
        for (uint32_t i = 0; i < c->leg[k].n_cuts; i++) {
            fputs(i ? ", " : "", out);
            print_cut(&c->leg[k].cut[i], out);
        }
        fputs("]}", out);
    }
    fputc(']', out);
    if (c->multiplicity > 1)
        fprintf(out, ", multiplicity: %u", c->multiplicity);
}

static void print_regions(const struct random_chain *c, FILE *out)
{
    fputs(", regions: [", out);
    for (uint32_t i = 0; i < c->n_regions; i++) {
        const struct random_region *r = &c->region[i];

        fputs(i ? ", {" : "{", out);
        if (r->has_eta)
            fprintf(out, "eta_min: %g, eta_max: %g%s", r->eta_min, r->eta_max,
                    r->has_phi ? ", " : "");
        if (r->has_phi)
            fprintf(out, "phi_min_rad: %g, phi_max_rad: %g", r->phi_min, r->phi_max);
        fputc('}', out);
    }
    fputc(']', out);
}

static void print_chain(const struct random_menu *m, const struct random_chain *c, FILE *out)
{
    fprintf(out,
            "  - {name: c%u, id: %u, prescale: %g, pass_through: %s, truncated: %s, fallback: %s",
            c->id, c->id, c->prescale, c->pass_through ? "true" : "false",
            c->cuts_truncated ? "cut" : "pass", c->skips ? "skip" : "debug");
    if (c->l1_mask)
        print_bits("seeds", "", c->l1_mask, out);
    if (c->types)
        print_bits("types", "", c->types, out);
    if (c->n_regions)
        print_regions(c, out);
    print_bits("streams", "stream", c->streams, out);
    if (c->n_nodes) {
        fputs(", combine: ", out);
        print_node(m, c, c->n_nodes - 1, out);
    } else {
        print_legs(c, out);
    }
    fputs("}\n", out);
}

char *random_menu_text(const struct random_menu *m)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        return NULL;
    fputs("streams: [stream0, stream1, stream2, stream3, stream4]\nsteps:\n", out);
    for (uint32_t i = 0; i < m->n_steps; i++)
        print_step(m, i, out);
    fputs("chains:\n", out);
    for (uint32_t i = 0; i < m->n_chains; i++)
        print_chain(m, &m->chain[i], out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---------------------------------------------------------------- events */

void random_event_make(uint64_t *state, const struct random_menu *m, double fired,
                       double share_missing, struct random_event *ret_event)
{
    struct random_event *e = ret_event;

    memset(e, 0, sizeof *e);
    e->info.run = 1 + below(state, 1000);
    e->info.l1id = below(state, 1u << 24);
    e->info.bcid = below(state, 3564);
    for (uint32_t i = 0; i < 32; i++)
        e->info.l1_bits |= (uint32_t)chance(state, fired / 32) << i;
    e->info.eta = (float)below(state, 25) * 0.25f - 3; /* limits of regions are met exactly */
    e->info.phi_rad = (float)below(state, 51) * 0.125f - 3.125f;
    e->type = below(state, TYPES);
    e->kinds = 1u << TRG_SPACEPOINTS | 1u << TRG_HITS;
    if (chance(state, share_missing))
        e->kinds = chance(state, 0.2) ? 0 : 1u << (chance(state, 0.5) ? TRG_SPACEPOINTS : TRG_HITS);
    for (uint32_t i = 0; i < m->n_steps; i++) {
        struct trg_result *r = &e->step[i].result;

        r->status = chance(state, TRUNCATED) ? TRG_TRUNCATED : TRG_OK;
        for (uint32_t k = 0; k < VALUES; k++)
            r->value[k] = chance(state, 0.01) ? NAN : random_value(state);
    }
}

/* ---------------------------------------------------------------- the model */

static uint64_t mix(uint64_t x) /* as docs/menus.md has it */
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static bool takes(const struct random_chain *c, const struct trg_roi_info *i)
{
    const uint64_t h =
        mix(mix((uint64_t)c->id << 32 | i->run) ^ ((uint64_t)i->bcid << 32 | i->l1id));

    return c->prescale == 1 || (c->prescale > 1 && h < (uint64_t)(0x1p64 / c->prescale));
}

/* A step, and what feeds it. */
static bool any_of(const struct random_menu *m, int32_t step,
                   bool (*is)(const struct random_menu *, uint32_t, const struct random_event *),
                   const struct random_event *e)
{
    for (; step >= 0; step = m->step[step].from)
        if (is(m, (uint32_t)step, e))
            return true;
    return false;
}

static bool lacks(const struct random_menu *m, uint32_t step, const struct random_event *e)
{
    return (m->step[step].reads & ~e->kinds) != 0;
}

static bool is_short(const struct random_menu *m, uint32_t step, const struct random_event *e)
{
    (void)m;
    return e->step[step].result.status == TRG_TRUNCATED;
}

static bool is_gone(const struct random_menu *m, uint32_t step, const struct random_event *e)
{
    return e->gone >> m->step[step].head & 1;
}

static bool holds(const struct random_leg *leg, const struct random_event *e)
{
    for (uint32_t i = 0; i < leg->n_cuts; i++) {
        const struct random_cut *c = &leg->cut[i];
        float v = e->step[leg->step].result.value[c->value];

        if (c->absolute)
            v = fabsf(v);
        if (isnan(v) || (c->has_min && v < c->min) || (c->has_max && v > c->max))
            return false;
    }
    return true;
}

static bool leg_passes(const struct random_menu *m, const struct random_chain *c, uint32_t k,
                       const struct random_event *e)
{
    return holds(&c->leg[k], e) ||
           (!c->cuts_truncated && any_of(m, (int32_t)c->leg[k].step, is_short, e));
}

/* Runs the steps of a chain as far as they pass; whether all do. */
static bool run_chain(const struct random_menu *m, const struct random_chain *c,
                      const struct random_event *e, uint64_t *done, bool *fails)
{
    for (uint32_t k = 0; k < c->n_legs; k++) {
        for (int32_t s = (int32_t)c->leg[k].step; s >= 0; s = m->step[s].from)
            *done |= any_of(m, s, is_gone, e) ? 0 : 1ull << s;
        if (any_of(m, (int32_t)c->leg[k].step, is_gone, e)) {
            if (c->skips)
                continue;
            *fails = true;
            return false;
        }
        if (!leg_passes(m, c, k, e))
            return false;
    }
    return true;
}

static bool passes_without_limits(const struct random_menu *m, const struct random_chain *c,
                                  const struct random_event *e)
{
    for (uint32_t k = 0; k < c->n_legs; k++)
        if (!any_of(m, (int32_t)c->leg[k].step, is_gone, e) && !holds(&c->leg[k], e))
            return false;
    return true;
}

static bool would_pass(const struct random_menu *m, const struct random_chain *c,
                       const struct random_event *e, uint64_t done)
{
    for (uint32_t k = 0; k < c->n_legs; k++)
        if (any_of(m, (int32_t)c->leg[k].step, lacks, e) || !(done >> c->leg[k].step & 1) ||
            !leg_passes(m, c, k, e))
            return false;
    return true;
}

/* Whether the chain looks at an RoI there: phi and one turn more may be between the limits. */
static bool looks_at(const struct random_chain *c, const struct random_event *e)
{
    bool does = !c->n_regions;

    for (uint32_t i = 0; i < c->n_regions; i++) {
        const struct random_region *r = &c->region[i];
        const double eta = (double)e->info.eta, phi = (double)e->info.phi_rad,
                     end = r->phi_max + (r->phi_max < r->phi_min ? 6.283185307179586 : 0);
        const bool in_phi = (phi >= r->phi_min && phi < end) || phi + 6.283185307179586 < end;

        does |= (!r->has_eta || (eta >= r->eta_min && eta < r->eta_max)) && (!r->has_phi || in_phi);
    }
    return (!c->types || c->types >> e->type & 1) && does;
}

static bool is_seeded(const struct random_chain *c, const struct random_event *e, uint32_t n_rois)
{
    return c->multiplicity <= (n_rois ? n_rois : 1) &&
           (!c->l1_mask || c->l1_mask & e->info.l1_bits);
}

/* Notes the chains that a chain is made of, and what those are made of. */
static void need(const struct random_menu *m, uint32_t chain, uint32_t node, bool *needed)
{
    const struct random_node *n = &m->chain[chain].node[node];

    if (n->op == 'c') {
        needed[n->a] = true;
        if (m->chain[n->a].n_nodes)
            need(m, n->a, m->chain[n->a].n_nodes - 1, needed);
        return;
    }
    need(m, chain, n->a, needed);
    if (n->op != '!')
        need(m, chain, n->b, needed);
}

/* Chains that run because a combination wants to know. */
static void find_needed(const struct random_menu *m, const struct random_event *e, uint32_t n_rois,
                        bool *needed)
{
    memset(needed, 0, MENU_CHAINS_MAX * sizeof *needed);
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (m->chain[i].n_nodes && is_seeded(&m->chain[i], e, n_rois) &&
            takes(&m->chain[i], &e->info))
            need(m, i, m->chain[i].n_nodes - 1, needed);
}

static void begin_chain(const struct random_menu *m, const struct random_event *e, uint32_t n_rois,
                        bool is_needed, uint32_t i, struct random_answer *a)
{
    const struct random_chain *c = &m->chain[i];
    bool is_lacking = false, does_take = takes(c, &e->info);

    a->seeded[i] = looks_at(c, e) && is_seeded(c, e, n_rois) && (!c->n_nodes || n_rois < 2);
    if (!a->seeded[i])
        return;
    for (uint32_t k = 0; k < c->n_legs; k++)
        is_lacking |= any_of(m, (int32_t)c->leg[k].step, lacks, e);
    a->lacking[i] = (does_take || is_needed) && is_lacking;
    a->prescaled[i] = !does_take && !a->lacking[i];
    a->ran[i] = does_take && !is_lacking;
}

/* What a chain counts as: passed, failed, both or neither. */
struct counts_as {
    bool passed, failed;
};

/* A chain of one RoI or several; `answers` are of the RoIs, with may_pass_short as it was. */
static struct counts_as of_legs(const struct random_menu *m, uint32_t chain,
                                const struct random_event *rois,
                                const struct random_answer *answers, uint32_t n_rois,
                                bool cuts_truncated)
{
    const struct random_chain *c = &m->chain[chain];
    uint32_t surely = 0, by_limit = 0, lacking = 0;

    if (!is_seeded(c, &rois[0], n_rois))
        return (struct counts_as){.failed = true};
    for (uint32_t i = 0; i < n_rois; i++) {
        const bool raw = answers[i].passed[chain],
                   holds_all = passes_without_limits(m, c, &rois[i]);

        lacking += answers[i].lacking[chain];
        surely += raw && holds_all;
        by_limit += raw && !holds_all;
    }
    return (struct counts_as){.passed = surely + (cuts_truncated ? 0 : by_limit) >= c->multiplicity,
                              .failed = surely + lacking < c->multiplicity};
}

static struct counts_as of_chain(const struct random_menu *m, uint32_t chain,
                                 const struct random_event *rois,
                                 const struct random_answer *answers, uint32_t n_rois,
                                 bool cuts_truncated);

static struct counts_as of_node(const struct random_menu *m, uint32_t chain, uint32_t node,
                                const struct random_event *rois,
                                const struct random_answer *answers, uint32_t n_rois,
                                bool cuts_truncated)
{
    const struct random_node *n = &m->chain[chain].node[node];
    struct counts_as a, b;

    if (n->op == 'c')
        return of_chain(m, n->a, rois, answers, n_rois, cuts_truncated);
    a = of_node(m, chain, n->a, rois, answers, n_rois, cuts_truncated);
    if (n->op == '!')
        return (struct counts_as){.passed = a.failed, .failed = a.passed};
    b = of_node(m, chain, n->b, rois, answers, n_rois, cuts_truncated);
    if (n->op == '&')
        return (struct counts_as){.passed = a.passed && b.passed, .failed = a.failed || b.failed};
    return (struct counts_as){.passed = a.passed || b.passed, .failed = a.failed && b.failed};
}

static struct counts_as of_chain(const struct random_menu *m, uint32_t chain,
                                 const struct random_event *rois,
                                 const struct random_answer *answers, uint32_t n_rois,
                                 bool cuts_truncated)
{
    const struct random_chain *c = &m->chain[chain];

    if (!c->n_nodes)
        return of_legs(m, chain, rois, answers, n_rois, cuts_truncated);
    if (!is_seeded(c, &rois[0], n_rois))
        return (struct counts_as){.failed = true};
    return of_node(m, chain, c->n_nodes - 1, rois, answers, n_rois, cuts_truncated);
}

static void accept(const struct random_menu *m, uint32_t i, struct random_answer *a)
{
    a->accepted[i] = a->ran[i] && (a->raw[i] || m->chain[i].pass_through);
    if (a->accepted[i])
        a->streams |= m->chain[i].streams;
}

void random_menu_decide(const struct random_menu *m, const struct random_event *e, uint32_t n_rois,
                        bool may_pass_short, struct random_answer *ret_answer)
{
    struct random_answer *a = ret_answer;
    static bool needed[MENU_CHAINS_MAX];

    memset(a, 0, sizeof *a);
    find_needed(m, e, n_rois, needed);
    for (uint32_t i = 0; i < m->n_chains; i++) {
        const struct random_chain *c = &m->chain[i];

        begin_chain(m, e, n_rois, needed[i], i, a);
        if (!c->n_nodes && (a->ran[i] || (needed[i] && a->prescaled[i])))
            a->raw[i] = run_chain(m, c, e, &a->done, &a->fails);
        if (a->raw[i] && !may_pass_short)
            a->raw[i] = passes_without_limits(m, c, e);
        a->passed[i] = a->raw[i];
    }
    for (uint32_t i = 0; i < m->n_chains; i++) {
        if (m->chain[i].n_nodes && a->ran[i])
            a->raw[i] = of_chain(m, i, e, a, 1, m->chain[i].cuts_truncated).passed;
        accept(m, i, a);
    }
    for (uint32_t s = 0; s < m->n_steps; s++) /* what runs in the batches of a step */
        if (a->done >> m->step[s].head & 1)
            a->done |= 1ull << s;
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (a->prescaled[i] && !m->chain[i].n_nodes)
            a->raw[i] |= would_pass(m, &m->chain[i], e, a->done);
}

void random_menu_decide_event(const struct random_menu *m, const struct random_event *rois,
                              const bool *may_pass_short, uint32_t n_rois,
                              struct random_answer *ret_answer)
{
    static struct random_answer answers[RANDOM_ROIS];
    struct random_answer *a = ret_answer;

    memset(a, 0, sizeof *a);
    for (uint32_t i = 0; i < n_rois; i++)
        random_menu_decide(m, &rois[i], n_rois, may_pass_short[i], &answers[i]);
    for (uint32_t i = 0; i < m->n_chains; i++) {
        const struct random_chain *c = &m->chain[i];

        if (!is_seeded(c, &rois[0], n_rois) || !takes(c, &rois[0].info))
            continue;
        a->ran[i] = c->n_nodes != 0;
        for (uint32_t k = 0; k < n_rois; k++)
            a->ran[i] |= answers[k].ran[i];
        a->raw[i] = of_chain(m, i, rois, answers, n_rois, c->n_nodes && c->cuts_truncated).passed;
        accept(m, i, a);
    }
}
