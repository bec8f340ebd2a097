/* SPDX-License-Identifier: Apache-2.0 */
/* runstate.h - the states of run control and the commands that lead from one to another, for a
 * daemon and for a farm:
 *
 *     initial --configure--> configured --start--> running <--pause, resume--> paused
 *        ^  ^                 |  ^                    |                          |
 *        |  +------reset------+  +---- draining <-----+-----------stop-----------+
 *        +--reset-- error
 *
 * A configuration that fails, and a run whose documents cannot be written, end in error.
 * docs/run-control.md compares them with those of FairMQ, ATLAS and DUNE. */
#ifndef TRIGD_RUNSTATE_H
#define TRIGD_RUNSTATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_STATES(X) \
    X(initial)        \
    X(configured)     \
    X(running)        \
    X(paused)         \
    X(draining)       \
    X(error)

/* X(name, help) */
#define RUN_COMMANDS(X)                                            \
    X(configure, "read the menu again and get ready for a run")    \
    X(start, "begin a run, with that number or the next free one") \
    X(pause, "accept no RoIs; the run continues")                  \
    X(resume, "accept RoIs again")                                 \
    X(stop, "finish the RoIs in flight, write the run document")   \
    X(block, "begin the next lumi block")                          \
    X(reset, "back to initial")

enum run_state {
#define RUN_STATE(name) RUN_##name,
    RUN_STATES(RUN_STATE)
#undef RUN_STATE
        RUN_N_STATES
};
enum run_command {
#define RUN_COMMAND(name, help) RUN_DO_##name,
    RUN_COMMANDS(RUN_COMMAND)
#undef RUN_COMMAND
        RUN_N_COMMANDS
};

struct run_order { /* of an operator, or of a supervisor to its nodes */
    enum run_command command;
    uint32_t number; /* of the run to start; 0: the next free one */
    uint32_t block;  /* for nodes: the lumi block that begins; 0: the next one */
    bool is_of_farm; /* from a supervisor */
    bool numbers;    /* with that: RoIs get the run's number and lumi block */
    const char *by;  /* who asks, for the documents */
};

struct run_view {       /* what is shown of run control */
    bool is_controlled; /* else RoIs are taken whenever the daemon is ready, and all else is 0 */
    bool numbers;
    enum run_state state;
    uint32_t number, block; /* of the run that is on; number 0: none */
    uint32_t last;          /* number of the last run */
    uint64_t began_unix_ns;
    char by[64];   /* who began it */
    char why[256]; /* in error: the reason */
};

const char *run_state_name(enum run_state s);
/* Enters another state, with a line in the log and the audit; false: it was in that one. */
bool run_enter(enum run_state *state, enum run_state to, uint32_t number);
/* Whether a command may come in a state; else `why` says what is allowed.  -EINVAL. */
int run_allows(enum run_state s, enum run_command c, char *why, size_t bytes);
#endif
