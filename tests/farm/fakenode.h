/* SPDX-License-Identifier: Apache-2.0 */
/* fakenode.h - a supervisor's process, and nodes that the test plays itself, so that each answer
 * comes when the test wants it.  Everything that fails here fails the test. */
#ifndef TRIGD_TEST_FAKENODE_H
#define TRIGD_TEST_FAKENODE_H
#include "farm.pb-c.h"
#include "harness.h"
#include "route.h"
#include "transport/passes.h"

/* Starts trigsup with the keys `farm` of `farm:`, its name among them; it is ready with the first
 * node. */
void fake_supervisor(struct server *s, const char *config, const char *farm, const char *own_menu);
/* Checks the ledgers of daemons and stops them. */
void fake_end_daemons(struct server *node, uint32_t n);
/* The key of its menu, when `own_menu` is NULL. */
uint64_t fake_menu_key(void);

struct fake { /* a node */
    const char *name;
    void *context, *enlist, *rois; /* DEALER, ROUTER */
    uint8_t peer[64];              /* the supervisor on `rois` */
    int n_peer;
    char endpoint[128];
    uint64_t instance;
    uint32_t credits;
    const char *plugin; /* version of the plugin of its one step; NULL: it has none */
    Trigd__Farm__V1__StepPlugin step, *steps[1];
    bool is_mute; /* it says no more that it lives */
    struct route route;
    bool takes_passes;         /* it says so in its Welcome */
    bool is_back;              /* no batch came after the routing frame: a pass is handed back */
    bool was_visited;          /* the batch did not come from the supervisor */
    struct pass_signer signer; /* the supervisor's, as its Hello told */
};

void fake_open(struct fake *n, const struct server *s, const char *name);
void fake_close(struct fake *n);
/* What it would say: change it before fake_send. */
void fake_enlist(struct fake *n, Trigd__Farm__V1__Enlist *e);
void fake_send(struct fake *n, const Trigd__Farm__V1__FromNode *m);
/* Enlists as it should, with n->plugin, and answers the supervisor's Hello with its credits. */
void fake_join(struct fake *n, const struct server *s, const char *name, uint32_t credits);
/* Enlists with `e` and wants the refusal. */
void fake_expect_refused(struct fake *n, Trigd__Farm__V1__Enlist *e, const char *sentence);
/* Says that it lives. */
void fake_beat(struct fake *n);
/* The next batch that comes, or pass that is handed back, within `limit_ms`: its routing frame goes
 * to n->route.  All of `nodes` live meanwhile.  A pass has to be genuine. */
bool fake_batch(struct fake *n, struct fake **nodes, uint32_t n_nodes, int limit_ms);
/* The node that gets the next one. */
struct fake *fake_next(struct fake **nodes, uint32_t n_nodes);
/* Answers RoIs of n->route: those wanted, from `first` on, `rois` of them. */
void fake_decide(struct fake *n, uint32_t first, uint32_t rois, bool accept);
void fake_busy(struct fake *n, uint32_t first, uint32_t rois, Trigd__V1__Busy__Reason reason);
void fake_error(struct fake *n, uint32_t roi, const char *text);
/* One number of `show farm json` or `show nodes json` (of the first node of that name). */
uint64_t fake_count(struct server *s, const char *node, const char *name);
/* Whether each RoI went to one node: on a slow machine nodes may be lost or late, and clients with
 * what they send them. */
bool fake_gave_once(struct server *s);
/* Waits for that count, at most a minute, while nodes live. */
void fake_wait(struct server *s, const char *node, const char *name, uint64_t value,
               struct fake **nodes, uint32_t n_nodes);
/* Waits for an answer with that text, at most a minute. */
void fake_wait_text(struct server *s, const char *command, const char *text);
/* The accounts of the farm and of its nodes balance. */
void fake_check_accounts(struct server *s);
#endif
