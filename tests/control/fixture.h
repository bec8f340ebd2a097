/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - what control looks at, without a daemon behind it. */
#ifndef FIXTURE_H
#define FIXTURE_H
#include "monitor/commands.h"
#include "monitor/control.h"

struct fixture {
    struct config config;
    struct stats *stats;
    struct stats_set shards; /* one */
    struct control_view view;
    struct control_who who; /* may act */
    const char *state;      /* what the state hook says */
    bool is_live;
    _Atomic bool is_reloading;
    uint32_t n_drain, n_resume, n_reload, n_quit, n_prescale, n_orders;
    struct run_view run;    /* what run control shows */
    struct run_order order; /* the last one */
    double prescale;
    uint32_t n_changes;
    bool is_now;
    struct lumi from;
};

/* Statistics with one entry of each kind and numbers that can be told apart; recording hooks. */
int fixture_init(struct fixture *f);
void fixture_fini(struct fixture *f);
/* Whether a text is one JSON value and nothing else but space. */
bool fixture_is_json(const char *text);
#endif
