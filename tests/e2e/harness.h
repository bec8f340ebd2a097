/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - starts a daemon with a configuration in a folder of its own, and talks to it.
 *
 * Everything that fails here fails the test (cmocka's fail). */
#ifndef TRIGD_TEST_HARNESS_H
#define TRIGD_TEST_HARNESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "keyfile.h"
#include "trigd.pb-c.h"

#define SERVER_PATIENCE_MS 60000u /* with what a daemon does soon, on a host with a load of 10 */

struct server {
    char folder[64];     /* its files; removed by server_stop */
    char endpoint[128];  /* ipc:// in the folder */
    char control[128];   /* Unix socket */
    unsigned shards;     /* connections go to them in turn */
    const char *program; /* that is started with the configuration; NULL: trigd */
    pid_t pid;
};

/* Writes folder/trigd.yaml (`config` after the endpoint, control and path lines, which are given)
 * and folder/menu.yaml. */
void server_prepare(struct server *s, const char *config, const char *menu);
/* Writes folder/trigd.yaml again, with other endpoints: quoted, with commas between. */
void server_configure(const struct server *s, const char *endpoints, const char *config);
/* Starts the daemon with the files in the folder, and waits until it is ready. */
void server_spawn(struct server *s);
/* Both. */
void server_start(struct server *s, const char *config, const char *menu);
/* Starts the daemon and does not wait. */
void server_launch(struct server *s);
/* Whether its control socket answers. */
bool server_is_open(struct server *s);
/* Waits until it is ready. */
void server_wait_ready(struct server *s);
/* Waits for the end of a daemon that ends by itself; as server_end. */
int server_wait_end(struct server *s, unsigned limit_s);
/* Overwrites folder/menu.yaml. */
void server_menu(struct server *s, const char *menu);
/* Sends a signal and waits for the end, at most `limit_s`; returns the exit code (128 + signal
 * when it was killed). */
int server_end(struct server *s, int signal, unsigned limit_s);
/* SIGTERM, wants exit code 0, removes the folder. */
void server_stop(struct server *s);
/* The same, after nothing is in flight and the ledger balances. */
void server_end_well(struct server *s);
/* Removes the folder. */
void server_clean(struct server *s);
/* Removes another folder. */
void server_remove(const char *folder);
/* One command on the control socket; the answer is owned by the caller. */
char *server_ask(struct server *s, const char *command);
/* Wants that part in the answer to a command. */
void server_expect(struct server *s, const char *command, const char *part);
/* The status with which it answers to GET /readyz, over http.socket. */
int server_readyz(struct server *s);
/* A counter of `show info json`. */
uint64_t server_counter(struct server *s, const char *name);
/* A number of the row of that name in `show TABLE json`, of the first row if the name is NULL. */
uint64_t server_row_number(struct server *s, const char *table, const char *name, const char *key);
/* Waits until such a number is in that range; returns it. */
uint64_t server_wait_row(struct server *s, const char *table, const char *name, const char *key,
                         uint64_t least, uint64_t most);
/* A counter of a stream of `show streams json`. */
uint64_t server_stream(struct server *s, const char *stream, const char *name);
/* Waits until it has a value, at most 10 s. */
void server_wait_stream(struct server *s, const char *stream, const char *name, uint64_t value);
/* Fails unless received = accepted + rejected + failed + in_flight. */
void server_check_ledger(struct server *s);
/* The file of the debug stream; there must be one. */
void server_debug_file(const struct server *s, char *ret_path, size_t bytes);
/* Waits until a counter has a value, at most 10 s. */
void server_wait_counter(struct server *s, const char *name, uint64_t value);

/* Runs a program of the build, by its name and arguments, and gives the last line that it printed;
 * its exit code. */
int program_run(const char *arguments, char *ret_line, size_t bytes);

/* ---- one connection ---- */

struct link {
    void *context, *socket;
    Trigd__V1__FromDaemon *last; /* what link_receive returned */
};

void link_open(struct link *l, const struct server *s);
/* The same to any endpoint; with CURVE keys, unless `keys` is NULL: `server` is the public key that
 * it expects there. */
void link_open_with(struct link *l, const char *endpoint, const struct keyfile *keys,
                    const char *server);
void link_close(struct link *l);
/* As server_end_well, with the client. */
void link_end_well(struct server *s, struct link *l);
void link_send_bytes(struct link *l, const void *bytes, size_t n);
void link_send(struct link *l, const Trigd__V1__ToDaemon *m);
/* The next message, or NULL after `limit_ms`; borrowed until the next call. */
Trigd__V1__FromDaemon *link_receive(struct link *l, int limit_ms);
/* Fails unless a message, NULL when none came, is of that kind. */
void answer_expect(const Trigd__V1__FromDaemon *m, Trigd__V1__FromDaemon__BodyCase kind);
/* The next message, which must be of that kind. */
Trigd__V1__FromDaemon *link_expect(struct link *l, Trigd__V1__FromDaemon__BodyCase kind);
/* Hello and Welcome; returns the credits. */
uint32_t link_hello(struct link *l, const char *name, uint32_t want);
/* The same with a key, by which the client is itself again over connections. */
uint32_t link_hello_key(struct link *l, const char *name, const char *key);
/* With the other fields of `hello`; returns the Welcome, valid until the next message. */
const Trigd__V1__Welcome *link_hello_with(struct link *l, const char *name,
                                          Trigd__V1__Hello *hello);

/* ---- RoIs (roi.c) ---- */

#define ROI_MAX_POINTS 4096
struct roi_spec {
    uint64_t token;
    uint32_t l1id, roi_id, l1_bits, n; /* n spacepoints */
    uint32_t deadline_us;
    uint32_t event_rois, type;
};
/* Sends RoIs in one message. */
void link_send_rois(struct link *l, const struct roi_spec *specs, uint32_t n);
/* Fills the columns of a message with n points; static memory. */
void roi_fill(Trigd__V1__Roi *m, Trigd__V1__Spacepoints *points, const struct roi_spec *spec);

/* Counts the decisions of a message; fails on a token that is out of [first, first + n) or comes
 * twice, by `seen`.  Decisions by token go to `ret_by_token`, which may be NULL, as accept | status
 * << 1 | late << 7. */
uint32_t answer_note(const Trigd__V1__DecisionBatch *b, uint64_t first, uint32_t n, uint8_t *seen,
                     uint8_t *ret_by_token);
/* Receives decisions until `n` have come (Busy and Heartbeat are counted apart), as answer_note
 * does. */
void link_collect(struct link *l, uint64_t first, uint32_t n, uint8_t *ret_by_token);
#endif
