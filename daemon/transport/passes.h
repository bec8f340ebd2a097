/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - passes: a client (a supervisor) lets others send batches in its name, each once and
 * within a time.
 *
 * A pass stands in the routing frame of its batch (route.h).  Its issuer signs the whole frame, so
 * that tokens, size and time are as it gave them: SipHash-2-4 with a tag of 128 bits (Aumasson and
 * Bernstein, 2012; libsodium), by a key from its Hello.  A window of serials detects
 * the second use of a pass, as in IPsec (RFC 4303, 3.4.3); a pass older than the window is invalid.
 * Passes expire by the issuer's clock, known from its Hello and Heartbeats; the clock here does not
 * matter.
 *
 * An empty message after the frame returns a pass, which is invalid from then on.  So an issuer
 * learns for certain whether a batch has arrived. */
#ifndef TRIGD_PASSES_H
#define TRIGD_PASSES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "route.h"
#include "trigd.pb-c.h"
#include "wire.h"

#define PASSES_KEY    16u
#define PASSES_WINDOW (1u << 18) /* serials behind the highest that are remembered */

struct pass_signer { /* an issuer */
    uint64_t issuer;
    unsigned char key[PASSES_KEY];
};
/* A new one, random.  -errno. */
int pass_signer_new(struct pass_signer *ret_signer);
/* Whose a pass is to be; `key` is AUTH_KEY of the holder, NULL: it has none, and anybody may use
 * it.
 */
uint64_t pass_holder(const struct pass_signer *s, const char *key);
/* Writes the frame with its pass, signed; issuer and tag need not be filled.  Returns its bytes. */
size_t pass_pack(const struct pass_signer *s, const struct route *route,
                 unsigned char bytes[ROUTE_BYTES]);

struct passes; /* those that clients of one shard give */
int passes_new(struct passes **ret_passes);
void passes_free(struct passes *p); /* NULL is fine */
/* A client is going to give passes, or says so again; false: too many do, or there is no memory. */
bool passes_enter(struct passes *p, uint32_t client, const Trigd__V1__PassIssuer *m,
                  uint64_t now_ns);
void passes_leave(struct passes *p, uint32_t client);
/* The client's clock, if it gives passes. */
void passes_heard(struct passes *p, uint32_t client, uint64_t sent_ns, uint64_t now_ns);

enum pass_end {
    PASS_TAKEN,   /* the batch is the issuer's */
    PASS_BACK,    /* genuine and not used, but now it cannot be: handed back, too late, too large */
    PASS_AGAIN,   /* genuine, and used or handed back before */
    PASS_UNKNOWN, /* its issuer is not known here */
    PASS_FALSE    /* it is forged, or another's */
};
/* Uses the pass of a frame for a message of so many bytes (0 hands it back), sent by a holder of
 * this key (NULL: none).  The issuer goes to *ret_client but for PASS_UNKNOWN and PASS_FALSE, the
 * reason to *ret_error but for PASS_TAKEN. */
enum pass_end passes_use(struct passes *p, const struct route *route, const char *key, size_t bytes,
                         uint64_t now_ns, uint32_t *ret_client, struct wire_error *ret_error);
#endif
