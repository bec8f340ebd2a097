/* SPDX-License-Identifier: Apache-2.0 */
/* farm.h - the supervisor's state, on its one I/O thread.  Files, each of which calls only those
 * after it:
 *
 *     supervisor.c  the turns, signals, the end
 *     desk.c        the operator's commands
 *     enlist.c      nodes come, live, go       roll.c    nodes renewed one after the other
 *     farmrun.c     run control                runbook.c its documents
 *     admit.c       who may come               nodes.c   their table
 *     front.c       messages of clients        links.c   answers of nodes
 *     give.c        RoIs to nodes              addresses.c  those that clients send themselves
 *     settle.c      outcomes to clients        outbox.c     messages to them
 *
 * The way of an RoI: front takes it, give gives it to a node, links takes the answer, settle sends
 * it to the client.  docs/farm.md has the design. */
#ifndef TRIGSUP_FARM_H
#define TRIGSUP_FARM_H
#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

#include "base/mailbox.h"
#include "base/runstate.h"
#include "base/shards.h"
#include "base/stats.h"
#include "base/tickets.h"
#include "config/config.h"
#include "events.h"
#include "farm.pb-c.h"
#include "flights.h"
#include "outbox.h"
#include "policy.h"
#include "rundoc.h"
#include "scan.h"
#include "transport/auth.h"
#include "transport/clients.h"
#include "transport/passes.h"
#include "trigd.pb-c.h"
#include "wire.h"

#define FARM_NODES      256u
#define FARM_LINKS      1024u
#define FARM_NAME       64u
#define FARM_SENTENCE   256u
#define FARM_REFUSALS   16u /* that are shown */
#define FARM_LOSSES     64u /* losses of nodes that the document of a run lists */
#define FARM_NODES_NONE FLIGHTS_NONE
#define FARM_LINKS_NONE FLIGHTS_NONE

/* Each node's account: given = answered + late + returned + lost + in_flight. */
#define FARM_NODE_COUNTERS(X)                                                               \
    X(given, counter, "RoIs given to the node")                                             \
    X(addressed, counter, "part of given: by the address, their clients send them")         \
    X(answered, counter, "whose outcome it brought first")                                  \
    X(late, counter, "whose outcome another node had brought before")                       \
    X(returned, counter, "that it did not take (Busy)")                                     \
    X(unused, counter, "part of returned: addressed, and did not come in time")             \
    X(lost, counter, "that it had when it was lost")                                        \
    X(in_flight, gauge, "that it has")                                                      \
    X(rescued, counter, "part of lost: it answered them in the end, before any other node") \
    X(stale, counter, "answers for RoIs that had their outcome already")                    \
    X(losses, counter, "times that it was lost")

/* The farm's account beside its ledger:
 * received + again + returned = given + waiting + dropped. */
#define FARM_COUNTERS(X)                                                                    \
    X(asked, counter, "part of received: RoIs that their clients offered to send to nodes") \
    X(given, counter, "RoIs given to nodes")                                                \
    X(addressed, counter, "part of given: by the address, their clients send them")         \
    X(again, counter, "RoIs to be given once more: their node was lost or slow")            \
    X(returned, counter, "RoIs that a node did not take")                                   \
    X(unused, counter, "part of returned: addressed, and did not come in time")             \
    X(fetched, counter, "part of asked: RoIs that came here after all, or were to")         \
    X(waiting, gauge, "RoIs that wait for a node")                                          \
    X(dropped, counter, "RoIs that had their outcome while they waited")                    \
    X(answered, counter, "RoIs whose outcome came from a node")                             \
    X(late, counter, "outcomes that came second")                                           \
    X(lost, counter, "RoIs that nodes had when they were lost")                             \
    X(rescued, counter, "part of lost: answered by that node in the end")                   \
    X(stale, counter, "answers of nodes for RoIs that had their outcome already")           \
    X(forced, counter, "RoIs that the supervisor force-accepted (part of failed)")          \
    X(unsent, counter, "part of forced: asked, and their client left before it sent them")  \
    X(nodes, gauge, "nodes enlisted")                                                       \
    X(nodes_serving, gauge, "nodes that get RoIs")                                          \
    X(nodes_lost, counter, "losses of nodes")                                               \
    X(nodes_refused, counter, "nodes refused")                                              \
    X(nodes_renewed, counter, "nodes reloaded or replaced, one after the other")

#define FARM_FIELD(name, kind, help) uint64_t name;
struct farm_node_counters {
    FARM_NODE_COUNTERS(FARM_FIELD)
};
struct farm_counters {
    FARM_COUNTERS(FARM_FIELD)
};

struct farm_peer { /* a connection, as ROUTER names it */
    uint8_t id[255], n;
    char name[FARM_NAME], key[KEYFILE_KEY]; /* in farm.keys_file; "": it has no key */
};

/* The supervisor as a client of one shard of a node.  RoIs are given to links: those of one event
 * have to be in one shard. */
struct link {
    bool is_used;
    uint32_t node, shard;
    char endpoint[FARM_SENTENCE];
    uint32_t epoch; /* answers over an older one are not its own */
    bool is_welcome;
    bool takes_passes; /* so it has an address for clients */
    struct pass_signer signer;
    uint64_t serial; /* of the last pass */
    uint32_t credits, in_flight;
    uint64_t bytes;
    uint64_t hello_ns, told_ns, pause_ns;
    uint64_t had_ns;    /* it had RoIs then */
    struct holds holds; /* the oldest first */
    struct holds open;  /* those that is_open, in the same order */
};

struct node {
    bool is_used;
    char name[FARM_NAME], endpoint[FARM_SENTENCE], version[FARM_NAME];
    uint64_t instance, menu_key;
    struct farm_peer peer;     /* where it enlisted */
    uint32_t link[SHARDS_MAX]; /* one for each of its shards */
    uint32_t n_links;
    bool is_linked;  /* they are open, */
    bool is_welcome; /* and the supervisor is a client of all shards */
    bool is_lost, is_taking;
    bool is_drained;             /* by the operator */
    bool is_rolled;              /* it is being renewed */
    bool is_outside;             /* the farm is in a run that the node has not begun */
    uint32_t run;                /* that it is in; 0: none */
    uint64_t run_order, run_ns;  /* the last order about it, until it is done; and when */
    char refusal[FARM_SENTENCE]; /* why it gets no RoIs; "": it may */
    uint32_t credits;            /* of all shards */
    uint64_t most_bytes;         /* of its pool */
    uint64_t heard_ns, lost_ns;
    int64_t clock_ns; /* its clock is so much ahead */
    bool is_clock_told;
    uint64_t received, accepted, rejected, failed; /* by its own ledger */
    struct farm_node_counters c;
};

enum roll_kind { ROLL_NONE, ROLL_RELOAD, ROLL_UPGRADE };
enum roll_phase { ROLL_DRAINS, ROLL_WORKS, ROLL_COMES };
struct roll {
    enum roll_kind kind;
    enum roll_phase phase;
    uint32_t node;
    uint64_t number; /* of the roll */
    uint64_t order, since_ns;
    uint64_t instance; /* of the node, before */
    bool is_good;      /* the last one */
    bool is_done[FARM_NODES];
    uint32_t n_done;
    char text[FARM_SENTENCE]; /* how the last one ended */
};

enum farmrun_phase { /* of a command of run control */
                     FARMRUN_IDLE,
                     FARMRUN_CONFIGURES,
                     FARMRUN_BEGINS, /* the document is written */
                     FARMRUN_STARTS, /* nodes begin the run */
                     FARMRUN_DRAINS,
                     FARMRUN_ENDS,  /* nodes end the run, and send their accounts */
                     FARMRUN_WRITES /* the document of the end */
};

struct runbook; /* a document that is being written */
struct farmrun {
    enum run_state state;
    enum farmrun_phase phase;
    uint64_t phase_ns, block_ns; /* since when; when the next lumi block begins, 0: by command */
    bool is_adopted;             /* nodes were in the run before this supervisor was there */
    uint32_t number, block, last;
    uint32_t over; /* the last run that has ended here */
    char by[FARM_NAME], why[FARM_SENTENCE];
    uint64_t began_unix_ns, paused_ns, pause_ns;
    struct stats_global before;
    struct farm_counters farm_before;
    struct account *accounts; /* of nodes */
    uint32_t n_missing, n_losses;
    struct {
        char name[FARM_NAME], why[FARM_NAME];
        uint64_t unix_ns, rois;
    } loss[FARM_LOSSES];
    struct tickets tickets;
    struct runbook *book;
};

struct addressee {         /* a client that sends RoIs to nodes itself */
    uint32_t epoch;        /* of the client: with another one the rest is of who was there before */
    char key[KEYFILE_KEY]; /* that it showed; "": none */
    uint64_t far_ns;       /* till then it is taken to reach no node */
    uint32_t *told;        /* [FARM_LINKS] epochs of the links whose places it knows; or NULL */
    struct outbox box;
};

struct farm {
    const struct config *config;
    const char *config_path;
    char name[FARM_NAME];
    uint64_t instance;
    struct stats *stats;
    struct stats_set set;
    struct farm_counters c;

    struct directory *directory;
    struct clients *clients; /* NULL until the first node is there */
    struct wire_limits limits;
    struct wire_decoder *decoder;
    struct scan_head head[ROUTE_ROIS];
    uint64_t refused[ROUTE_ROIS];       /* tokens of one message that were not taken */
    struct outbox *outbox;              /* [clients.max] */
    uint32_t *outboxes, n_outboxes;     /* those with decisions */
    struct addressee *addressee;        /* [clients.max] */
    uint32_t *addressees, n_addressees; /* those with addresses on their way */
    bool is_draining;

    void *context, *enlisting, *links; /* ROUTER both: nodes connect to one; the other to nodes */
    struct auth *auth;                 /* of nodes; NULL: they have no keys */
    struct keyfile own;
    uint32_t keys; /* auth_keys, when the endpoint was bound */
    struct node node[FARM_NODES];
    struct link link[FARM_LINKS];
    struct policy_node policy[FARM_LINKS];
    uint32_t n_nodes, n_links; /* places that were ever used */
    uint32_t turn;
    struct {
        char name[FARM_NAME], why[FARM_SENTENCE];
        uint64_t unix_s;
    } refusal[FARM_REFUSALS];
    uint32_t n_refusals;

    struct flights flights;
    struct events events;

    uint64_t menu_key, next_menu_key; /* the second one while nodes reload; else 0 */
    Trigd__V1__FromDaemon *welcome;   /* of a node with that menu */
    struct rundoc_plugin plugin[RUNDOC_PLUGINS];
    uint32_t n_plugins;
    struct roll roll;
    struct farmrun run;
    uint64_t order; /* number of the last one */
};

/* ---- enlist.c */

int enlist_open(struct farm *f);
/* Takes messages of nodes; returns how many. */
uint32_t enlist_turn(struct farm *f, uint64_t now);
/* Nodes that are silent are lost, those lost for long are forgotten. */
void enlist_tick(struct farm *f, uint64_t now);

/* ---- admit.c */

/* The key of a menu's file.  -errno. */
int admit_menu_key(const char *path, uint64_t *ret_key);
/* Whether a node may have that menu, or come; else `why`, of FARM_SENTENCE bytes, says why not. */
bool admit_menu(struct farm *f, uint64_t key, char *why);
bool admit(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__Enlist *e,
           char *why);

/* ---- farmrun.c */

void farmrun_open(struct farm *f);
/* The supervisor ends: so does its part of the run. */
void farmrun_close(struct farm *f);
/* Whether clients may send RoIs. */
bool farmrun_is_taking(const struct farm *f);
/* As runs_ask, runs_look and runs_view of a daemon. */
int farmrun_ask(struct farm *f, const struct run_order *o, uint64_t *ret_ticket, char *text,
                size_t bytes);
int farmrun_look(struct farm *f, uint64_t ticket, char *text, size_t bytes);
void farmrun_view(const struct farm *f, struct run_view *ret_view);
void farmrun_tick(struct farm *f, uint64_t now);
/* A node says which run it is in. */
void farmrun_heard(struct farm *f, uint32_t node, uint32_t run, uint32_t block);
/* An order to a node was carried out. */
void farmrun_done(struct farm *f, uint32_t node, uint64_t order, bool is_good, const char *text);
/* What a node counted. */
void farmrun_account(struct farm *f, uint32_t node, const Trigd__Farm__V1__Account *m);
void farmrun_lost(struct farm *f, uint32_t node, const char *why);

/* ---- runbook.c */

/* Begins to write the document of the run, of its beginning or, with the reason, of its end. */
int runbook_begin(struct farm *f, const char *why);
/* Whether it is written, or with `is_to_wait` waits for it; *ret_result tells how that went. */
bool runbook_is_done(struct farm *f, bool is_to_wait, int *ret_result);

/* ---- nodes.c */

const char *node_state(const struct node *n);
/* The node of that name, or FARM_NODES_NONE. */
uint32_t node_find(const struct farm *f, const char *name);
void nodes_tell(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__ToNode *m);
void nodes_order(struct farm *f, uint32_t node, Trigd__Farm__V1__Order__What what);

/* ---- roll.c */

/* Renews all nodes one after the other; a sentence to `text`.  -EBUSY: they are being renewed. */
int roll_begin(struct farm *f, enum roll_kind kind, char *text, size_t bytes);
/* An order to a node was carried out. */
void roll_done(struct farm *f, uint32_t node, uint64_t order, bool is_good, const char *text);
void roll_tick(struct farm *f, uint64_t now);

/* ---- links.c */

/* What the socket calls a link; the first byte of such a name is not 0. */
struct link_id {
    uint32_t link, epoch;
};
static inline struct link_id link_id_of(uint32_t link, uint32_t epoch)
{
    return (struct link_id){.link = link << 8 | 'N', .epoch = epoch};
}
int links_open(struct farm *f);
/* Connects to a node's shards and becomes their client.  -errno. */
int links_begin(struct farm *f, uint32_t node, uint32_t shards, uint64_t now);
/* Says Hello to all of them, again after a change of the menu. */
void links_hello(struct farm *f, uint32_t node, uint64_t now);
void links_end(struct farm *f, uint32_t node);
/* RoIs that the node answers in a second. */
double links_rate(const struct farm *f, const struct node *n);
/* Keeps links alive. */
void links_tick(struct farm *f, uint64_t now);
uint32_t links_turn(struct farm *f, uint64_t now);

/* ---- front.c */

/* The first node is there: clients may come. */
int front_open(struct farm *f);
void front_close(struct farm *f);
uint32_t front_turn(struct farm *f, uint64_t now);
void front_tick(struct farm *f, uint64_t now);

/* ---- give.c */

/* Whether the node gets RoIs. */
bool node_serves(const struct node *n);
/* Gives RoIs that wait to nodes that have room. */
void give_turn(struct farm *f, uint64_t now);
/* RoIs that nodes were too slow for wait for another one; those past the hard limit are forced. */
void give_tick(struct farm *f, uint64_t now);
/* What a lost node had waits for others. */
void give_lost(struct farm *f, uint32_t node);
/* Sends a frame over a link, after a routing frame of n bytes or alone (n is 0); takes the body on
 * success.  0 or -errno. */
int give_send(struct farm *f, uint32_t link, const void *route, size_t n, zmq_msg_t *body);

/* ---- addresses.c: RoIs whose bodies their clients have */

int addresses_open(struct farm *f);
void addresses_close(struct farm *f);
/* A client said Hello, and showed a key, or NULL. */
void addresses_meet(struct farm *f, uint32_t client, const char *key);
/* Whether RoIs of a flight without its body may be given to a node; if not the body is fetched, or
 * the flight is over, as its client has gone. */
bool addresses_may_go(struct farm *f, struct flight *flight, uint64_t now);
/* Sends the client the link's address and a pass for RoIs that the frame wants.  -ENOMEM. */
int addresses_give(struct farm *f, const struct flight *flight, const struct route *route,
                   uint32_t link, uint64_t now);
/* Has the client send the body here. */
void addresses_fetch(struct farm *f, struct flight *flight);
/* RoIs did not come to the node in time, which has told so. */
void addresses_unused(struct farm *f, const struct flight *flight, uint32_t link, uint64_t now);
/* RoIs that are to come here, and whose clients have gone, have their outcome. */
void addresses_tick(struct farm *f);
/* Sends addresses to clients. */
void addresses_flush(struct farm *f);

/* ---- settle.c */

struct outcome { /* of one RoI */
    bool is_error, accept;
    uint32_t status;
    const unsigned char *rest; /* a packed Decision without its token, or */
    size_t n;
    const Trigd__V1__Error *error;
};
/* The client that asked; NULL when it has gone. */
struct client *settle_asker(struct farm *f, const struct flight *flight);
/* The RoI of a flight has its outcome.  The flight may be over then. */
void settle(struct farm *f, struct flight *flight, uint32_t roi, const struct outcome *o);
/* Sends a packed EventDecision to the client whose RoIs were given last; false: it has one. */
bool settle_event(struct farm *f, uint64_t event, const unsigned char *bytes, size_t n);
/* Force-accepts RoIs. */
void settle_force(struct farm *f, struct flight *flight, const struct mask *rois,
                  Trigd__V1__Status status);
void settle_force_all(struct farm *f, Trigd__V1__Status status);
/* What is behind the link has an RoI no more; NULL when it did not have it. */
struct hold *settle_release(struct farm *f, struct flight *flight, uint32_t roi, uint32_t link);
/* What a hold was debited is free. */
void settle_let_go(struct farm *f, struct hold *h);
/* Removes what is empty: the hold, then the flight. */
void settle_clear(struct farm *f, struct flight *flight);
/* Sends decisions to clients. */
void settle_flush(struct farm *f);
#endif
