/* SPDX-License-Identifier: Apache-2.0 */
#include "random_menu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void random_menu_place(uint64_t *state, struct random_menu *m)
{
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (chance(state, 0.2))
            make_regions(state, &m->chain[i]);
}

static void make_combination(uint64_t *state, uint32_t number, struct random_chain *c)
{
    const uint32_t wanted = 1 + below(state, RANDOM_NODES);

    c->n_legs = 0;
    c->types = 0;
    c->n_regions = 0;
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

int random_menu_load(const struct random_menu *m, struct plugin_host *host, struct menu **ret_menu)
{
    char path[] = "/tmp/random-menu-XXXXXX", *text = random_menu_text(m);
    int fd = text ? mkstemp(path) : -1, r = fd < 0 ? -errno : 0;

    if (r == 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        r = -EIO;
    if (r == 0)
        r = menu_load(path, host, ret_menu);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    free(text);
    return r;
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
