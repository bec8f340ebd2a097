/* SPDX-License-Identifier: Apache-2.0 */
/* crowd.h - many clients in one thread, over ZeroMQ or shared memory, each with its own ledger.
 *
 * Everything that fails here fails the test. */
#ifndef TRIGD_TEST_CROWD_H
#define TRIGD_TEST_CROWD_H
#include "harness.h"
#include "keyfile.h"
#include "shmclient.h"

#define MEMBER_ROIS   65536u /* of which a member has notes: its last ones */
#define MEMBER_POINTS 8u     /* spacepoints in each */

struct member {
    char name[32];
    void *socket;          /* ZeroMQ, or */
    struct shmclient *shm; /* shared memory */
    bool is_welcome;
    uint32_t credits, least_credits; /* told last; least that was told */
    uint64_t credits_ns;             /* when */
    uint32_t outstanding;
    uint32_t sent, decided, busy; /* busy: answered Busy */
    uint8_t *ended;               /* by token, modulo MEMBER_ROIS: 1 when it had its end */
    uint64_t *at;                 /* likewise: its place in shared memory */
};

/* Room for n members, all of them to be closed by crowd_close, also after a failure. */
struct member *crowd_of(uint32_t n);
void crowd_close(void);
/* Closes them and their ZeroMQ, and stops the daemon. */
void crowd_end(void *context, struct server *s);
/* Connects and says Hello; `context` is for ZeroMQ. */
void member_open(struct member *m, const struct server *s, void *context, bool is_shm,
                 const char *name, uint32_t want);
/* The same, over ZeroMQ to any endpoint. */
void member_open_at(struct member *m, const char *endpoint, void *context, const char *name,
                    uint32_t want);
/* The same with CURVE keys, unless `keys` is NULL; `server` is the daemon's public key. */
void member_open_with(struct member *m, const char *endpoint, void *context, const char *name,
                      uint32_t want, const struct keyfile *keys, const char *server);
void member_close(struct member *m);
/* Says Bye. */
void member_leave(struct member *m);
/* RoIs that it may send now. */
uint32_t member_room(const struct member *m);
/* Sends n RoIs whatever its credits are, one message for each 64. */
void member_send(struct member *m, uint32_t n, uint32_t roi_id);

/* Pumps all until each is welcome, or has no RoI without an end; fails after 20 s. */
void crowd_meet(struct member *m, uint32_t n);
void crowd_settle(struct member *m, uint32_t n);
/* Pumps all for so long. */
void crowd_pump(struct member *m, uint32_t n, uint32_t ms);
/* The ledgers of both sides agree: what the daemon received is what was decided, and so on. */
void crowd_check(struct server *s, const struct member *m, uint32_t n);
#endif
