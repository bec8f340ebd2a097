/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - a run: connections on threads, paced, until all RoIs are answered. */
#ifndef TRIGD_REPLAY_H
#define TRIGD_REPLAY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "connection.h"
#include "layout.h"

struct replay_options {
    const char *endpoint, *preset, *file, *pace, *json, *name, *decisions;
    uint64_t rois; /* to send; 0: each that was read once */
    uint64_t seed;
    uint32_t distinct; /* different RoIs that are made or read, at most */
    uint32_t connections, threads, batch, credits;
    uint32_t spin_us;    /* looking for decisions before sleeping */
    double settle_s;     /* latencies are those of RoIs that are due later than this */
    uint32_t timeout_ms; /* for the daemon to answer at the start, and for the last decisions */
    int z_step, z_value; /* place of z among a decision's results; z_value -1: not compared */
    bool has_key;        /* each connection has a random one */
    bool no_addresses;   /* all RoIs go through a supervisor */
    bool quiet;
    enum layout layout; /* of the RoIs' spacepoints */
    bool has_type;      /* `type` is that of the RoIs; else as they are */
    uint32_t type;
    uint32_t deadline_us; /* of the RoIs; 0: as they are */
    uint32_t event_rois;  /* RoIs of an event; 0: as they are */
};

struct replay_result {
    struct tally sum;
    uint64_t not_sent; /* RoIs that the daemon gave no credits for, until the time-out */
    bool was_stopped;
    double seconds;
    char *chains[CONNECTION_NAMES_MAX], *streams[64];
    uint32_t n_chains, n_streams;
    double mean_items;
};

/* 0, or a negative errno with a sentence on stderr.  Signals are caught once all connections are
 * open. */
int replay_run(const struct replay_options *o, struct replay_result *ret_result);
void replay_result_fini(struct replay_result *r);
/* Whether every RoI had exactly one answer; of a run that was stopped, but for those that the
 * daemon would not take. */
bool replay_is_whole(const struct replay_result *r);
void report_print(const struct replay_options *o, const struct replay_result *r, FILE *out);
/* One sentence about a run that was not whole. */
void report_print_open(const struct replay_result *r, FILE *out);
void report_json(const struct replay_options *o, const struct replay_result *r, FILE *out);
#endif
