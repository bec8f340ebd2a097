/* SPDX-License-Identifier: Apache-2.0 */
/* roll.c - nodes renewed one after the other under load: their menu (reload), or the daemon itself
 * (upgrade: each ends, and what started it starts its successor). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "farm.h"
#include "log.h"

#define PHASE_NS (60 * NS_PER_S) /* longest wait for one step of one node */

static void end(struct farm *f, const char *text)
{
    struct roll *r = &f->roll;

    if (r->node < FARM_NODES)
        f->node[r->node].is_rolled = false;
    log_info("farm", "nodes are renewed no more", "why=\"%s\"", text);
    snprintf(r->text, sizeof r->text, "%s", text);
    f->n_plugins = 0; /* the next that enlists brings those of the renewed ones */
    r->kind = ROLL_NONE;
}

/* Ends a roll that met an obstacle: what was renewed stays so. */
static void give_up(struct farm *f, const char *why)
{
    struct roll *r = &f->roll;
    char text[FARM_SENTENCE];

    if (!r->n_done)
        f->next_menu_key = 0;
    r->is_good = false;
    snprintf(text, sizeof text,
             "node %.60s: %.120s; %u nodes are renewed, the others are as before",
             f->node[r->node].name, why, r->n_done);
    end(f, text);
}

/* The next node that serves and is not renewed yet; the farm is renewed when there is none. */
static void next_node(struct farm *f, uint64_t now)
{
    struct roll *r = &f->roll;
    char text[FARM_SENTENCE];

    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (r->is_done[i] || !node_serves(&f->node[i]))
            continue;
        r->node = i;
        r->instance = f->node[i].instance;
        r->phase = ROLL_DRAINS;
        r->since_ns = now;
        f->node[i].is_rolled = true;
        log_info("farm", "node is renewed", "node=\"%s\"", f->node[i].name);
        return;
    }
    if (f->next_menu_key)
        f->menu_key = f->next_menu_key;
    f->next_menu_key = 0;
    r->is_good = true;
    snprintf(text, sizeof text, "%u nodes are renewed", r->n_done);
    r->node = FARM_NODES;
    end(f, text);
}

int roll_begin(struct farm *f, enum roll_kind kind, char *text, size_t bytes)
{
    struct roll *r = &f->roll;
    uint64_t key = 0;
    int error;

    if (r->kind != ROLL_NONE) {
        snprintf(text, bytes, "nodes are being renewed");
        return -EBUSY;
    }
    if (kind == ROLL_RELOAD) {
        error = admit_menu_key(f->config->menu, &key);
        if (error < 0) {
            snprintf(text, bytes, "%s: %s", f->config->menu, strerror(-error));
            return error;
        }
    }
    *r = (struct roll){.kind = kind, .number = r->number + 1};
    f->next_menu_key = key == f->menu_key ? 0 : key;
    next_node(f, clock_ns());
    snprintf(text, bytes, "nodes are renewed one after the other");
    return 0;
}

static void node_done(struct farm *f, uint64_t now)
{
    struct roll *r = &f->roll;

    f->node[r->node].is_rolled = false;
    r->is_done[r->node] = true;
    r->n_done++;
    f->c.nodes_renewed++;
    next_node(f, now);
}

void roll_done(struct farm *f, uint32_t node, uint64_t order, bool is_good, const char *text)
{
    struct roll *r = &f->roll;

    if (r->kind == ROLL_NONE || r->node != node || r->order != order)
        return;
    if (!is_good)
        give_up(f, text);
    else if (r->phase == ROLL_WORKS)
        r->phase = ROLL_COMES;
}

/* Whether the node is as it is to be. */
static bool has_come(const struct farm *f, const struct node *n)
{
    if (f->roll.kind == ROLL_UPGRADE)
        return n->instance != f->roll.instance && node_serves(n);
    return n->is_welcome && !n->is_lost && n->is_taking &&
           n->menu_key == (f->next_menu_key ? f->next_menu_key : f->menu_key);
}

void roll_tick(struct farm *f, uint64_t now)
{
    struct roll *r = &f->roll;
    const struct node *n;

    if (r->kind == ROLL_NONE)
        return;
    n = &f->node[r->node];
    if (now > r->since_ns + PHASE_NS) {
        give_up(f, "it took longer than a minute");
        return;
    }
    if (n->is_lost && r->kind == ROLL_RELOAD) {
        give_up(f, "it was lost");
        return;
    }
    if (r->phase == ROLL_DRAINS && !n->c.in_flight) {
        nodes_order(f, r->node,
                    r->kind == ROLL_RELOAD ? TRIGD__FARM__V1__ORDER__WHAT__RELOAD
                                           : TRIGD__FARM__V1__ORDER__WHAT__QUIT);
        r->order = f->order;
        r->phase = r->kind == ROLL_RELOAD ? ROLL_WORKS : ROLL_COMES;
        r->since_ns = now;
    } else if (r->phase == ROLL_COMES && has_come(f, n)) {
        node_done(f, now);
    }
}
