/* SPDX-License-Identifier: Apache-2.0 */
/* member_inner.h - a member's places with its supervisors, shared by member.c and member_places.c.
 */
#ifndef TRIGD_MEMBER_INNER_H
#define TRIGD_MEMBER_INNER_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "farm.pb-c.h"
#include "keyfile.h"
#include "member.h"

#define SUPERVISORS_MAX 8u
#define NAME_BYTES      64u
#define ENDPOINT_BYTES  256u

struct place { /* with one supervisor */
    char endpoint[ENDPOINT_BYTES];
    char supervisor[NAME_BYTES];
    uint64_t instance; /* of it; 0: not enrolled */
    uint32_t heartbeat_ms;
    uint64_t due_ns;     /* the next beat, or try */
    struct order {       /* that is carried out */
        uint64_t number; /* 0: none */
        /* How to look for its end. */
        int (*look)(void *ctx, uint64_t ticket, char *text, size_t bytes);
        uint64_t ticket;
    } reload, run;
    bool has_run;                 /* it began the run: the accounts go there */
    struct runs_message *account; /* on its way */
    char refusal[256];            /* the last one, logged once */
    void *socket;
    uint32_t keys; /* of the member's, when it was connected */
};

struct member {
    const struct config *config;
    struct control_hooks hooks;
    struct runs *runs;
    const struct stats_set *stats;
    char name[NAME_BYTES], endpoint[ENDPOINT_BYTES];
    uint64_t instance;
    pthread_mutex_t lock; /* of the menu */
    uint64_t menu_key;
    Trigd__Farm__V1__StepPlugin plugin[MENU_STEPS_MAX], *plugins[MENU_STEPS_MAX];
    uint32_t n_plugins;
    struct place place[SUPERVISORS_MAX];
    uint32_t n;
    struct keyfile own,
        supervisors;   /* with supervisor.key_file: the own keys, and their public one */
    uint32_t keys;     /* times that other ones were read */
    uint64_t keys_ns;  /* when the files were looked at */
    bool is_key_wrong; /* they could not be read, and the log says so */
    void *context;
    int stop_fd;
    pthread_t thread;
    bool has_thread;
    unsigned char packed[MEMBER_MESSAGE];
};

/* ---- member_places.c */

/* The node's name, and where supervisors reach it. */
int member_find_name(struct member *m);
int member_find_endpoint(struct member *m);
/* Connects to all supervisors.  -errno; logs failures. */
int member_open_places(struct member *m);
/* A message could not be sent: connects again if there are other keys by now.  Looks at their files
 * once a second.  Logs failures. */
void member_dial_again(struct member *m, struct place *p);
#endif
