/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all as a routing frame: one that is right is written again as it was, and a pass in
 * it does not hold.  Signed by an issuer it does, once at most, and only as its numbers say. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "route.h"
#include "transport/passes.h"
#include "want.h"

#define CLIENT 5u
#define NOW    (100 * NS_PER_S)
#define ITS    (50 * NS_PER_S)
#define BYTES  1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct pass_signer signer = {.issuer = 0x1234, .key = "not a secret ky"};

static struct passes *open_passes(void)
{
    static struct passes *passes;
    Trigd__V1__PassIssuer m = TRIGD__V1__PASS_ISSUER__INIT;
    unsigned char key[PASSES_KEY];

    if (passes)
        return passes;
    memcpy(key, signer.key, sizeof key);
    m.issuer = signer.issuer;
    m.key.data = key;
    m.key.len = sizeof key;
    m.serial = 1000;
    m.sent_ns = ITS;
    WANT(passes_new(&passes) == 0 && passes_enter(passes, CLIENT, &m, NOW));
    return passes;
}

static enum pass_end use(const struct route *r)
{
    struct wire_error error;
    uint32_t client = 0;
    enum pass_end end;

    memset(&error, 0x55, sizeof error);
    end = passes_use(open_passes(), r, NULL, BYTES, NOW, &client, &error);
    if (end == PASS_TAKEN || end == PASS_BACK || end == PASS_AGAIN)
        WANT(client == CLIENT);
    if (end != PASS_TAKEN)
        WANT(memchr(error.text, 0, sizeof error.text) && error.text[0]);
    return end;
}

static void use_signed(const struct route *r)
{
    unsigned char bytes[ROUTE_BYTES];
    const size_t n = pass_pack(&signer, r, bytes);
    struct route own;
    enum pass_end end;

    WANT(route_read(bytes, n, &own));
    end = use(&own);
    if (own.pass.holder) {
        WANT(end == PASS_FALSE); /* nobody shows a key here */
        return;
    }
    WANT(end == PASS_TAKEN || end == PASS_BACK || end == PASS_AGAIN);
    if (end == PASS_TAKEN)
        WANT(own.bytes >= BYTES && own.pass.expires_ns >= ITS && own.pass.serial >= 1000);
    WANT(use(&own) == PASS_AGAIN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char again[ROUTE_BYTES];
    struct route r;

    if (!route_read(data, n, &r))
        return 0;
    WANT(n <= ROUTE_BYTES && r.n >= 1 && r.n <= ROUTE_ROIS);
    WANT(!(r.is_ask && (r.has_pass || r.is_partial)));
    WANT(route_pack(&r, again) == n && !memcmp(again, data, n));
    if (!r.has_pass)
        return 0;
    WANT(use(&r) >= PASS_UNKNOWN); /* nobody guesses a tag */
    use_signed(&r);
    return 0;
}
