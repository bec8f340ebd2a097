/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/passes.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "check.h"
#include "clock.h"

#define ISSUERS    16u
#define WORD       64u
#define WORDS      (PASSES_WINDOW / WORD)
#define NOBODY     UINT32_MAX
#define HASH_BYTES 8u

_Static_assert(ROUTE_TAG == crypto_shorthash_siphashx24_BYTES, "the tag is SipHash's");
_Static_assert(PASSES_KEY == crypto_shorthash_siphashx24_KEYBYTES, "and the key");
_Static_assert(HASH_BYTES == crypto_shorthash_siphash24_BYTES, "");

/* ---------------------------------------------------------------- signing */

int pass_signer_new(struct pass_signer *ret_signer)
{
    return getrandom(ret_signer, sizeof *ret_signer, 0) == sizeof *ret_signer ? 0 : -EIO;
}

uint64_t pass_holder(const struct pass_signer *s, const char *key)
{
    uint64_t hash;

    if (!key || !*key)
        return 0;
    crypto_shorthash_siphash24((unsigned char *)&hash, (const unsigned char *)key, strlen(key),
                               s->key);
    return hash ? hash : 1;
}

size_t pass_pack(const struct pass_signer *s, const struct route *route,
                 unsigned char bytes[ROUTE_BYTES])
{
    struct route r = *route;
    size_t n;

    r.has_pass = true;
    r.pass.issuer = s->issuer;
    n = route_pack(&r, bytes);
    crypto_shorthash_siphashx24(bytes + n - ROUTE_TAG, bytes, n - ROUTE_TAG, s->key);
    return n;
}

static bool is_genuine(const struct pass_signer *s, const struct route *route)
{
    unsigned char bytes[ROUTE_BYTES];
    const size_t n = pass_pack(s, route, bytes);

    return sodium_memcmp(bytes + n - ROUTE_TAG, route->pass.tag, ROUTE_TAG) == 0;
}

/* ---------------------------------------------------------------- issuers */

struct issuer {
    uint32_t client; /* NOBODY: the place is free */
    struct pass_signer signer;
    uint64_t sent_ns, heard_ns; /* its clock, and when it was so here */
    uint64_t first, top;        /* serials: the first that it gives; the highest used */
    uint64_t *used;             /* [WORDS] bits of serials, by their word modulo WORDS */
};

struct passes {
    struct issuer issuer[ISSUERS];
};

int passes_new(struct passes **ret_passes)
{
    struct passes *p = calloc(1, sizeof *p);

    if (!p)
        return -ENOMEM;
    for (uint32_t i = 0; i < ISSUERS; i++)
        p->issuer[i].client = NOBODY;
    *ret_passes = p;
    return 0;
}

static void forget(struct issuer *i)
{
    free(i->used);
    sodium_memzero(i, sizeof *i);
    i->client = NOBODY;
}

void passes_free(struct passes *p)
{
    for (uint32_t i = 0; p && i < ISSUERS; i++)
        forget(&p->issuer[i]);
    free(p);
}

static struct issuer *of_client(struct passes *p, uint32_t client)
{
    for (uint32_t i = 0; i < ISSUERS; i++)
        if (p->issuer[i].client == client)
            return &p->issuer[i];
    return NULL;
}

static struct issuer *find(struct passes *p, uint64_t issuer)
{
    for (uint32_t i = 0; i < ISSUERS; i++)
        if (p->issuer[i].client != NOBODY && p->issuer[i].signer.issuer == issuer)
            return &p->issuer[i];
    return NULL;
}

bool passes_enter(struct passes *p, uint32_t client, const Trigd__V1__PassIssuer *m,
                  uint64_t now_ns)
{
    struct issuer *i = of_client(p, client);

    if (!i) {
        i = of_client(p, NOBODY);
        if (!i || find(p, m->issuer))
            return false;
        i->used = calloc(WORDS, sizeof *i->used);
        if (!i->used)
            return false;
        i->client = client;
        i->signer.issuer = m->issuer;
        memcpy(i->signer.key, m->key.data, PASSES_KEY);
        i->first = i->top = m->serial;
    }
    passes_heard(p, client, m->sent_ns, now_ns);
    return true;
}

void passes_leave(struct passes *p, uint32_t client)
{
    struct issuer *i = of_client(p, client);

    if (i)
        forget(i);
}

void passes_heard(struct passes *p, uint32_t client, uint64_t sent_ns, uint64_t now_ns)
{
    struct issuer *i = of_client(p, client);

    if (!i)
        return;
    i->sent_ns = sent_ns;
    i->heard_ns = now_ns;
}

/* ---------------------------------------------------------------- use */

/* Marks a serial as used; false: it was, or is too old to know. */
static bool use_serial(struct issuer *i, uint64_t serial)
{
    const uint64_t word = serial / WORD, top = i->top / WORD, bit = UINT64_C(1) << serial % WORD;

    if (serial < i->first || word + WORDS <= top)
        return false;
    for (uint64_t k = top + 1; k <= word && k <= top + WORDS; k++)
        i->used[k % WORDS] = 0;
    if (serial > i->top)
        i->top = serial;
    if (i->used[word % WORDS] & bit)
        return false;
    i->used[word % WORDS] |= bit;
    return true;
}

/* What the issuer's clock shows at least: what it told was on its way for a while. */
static uint64_t its_ns(const struct issuer *i, uint64_t now_ns)
{
    return i->sent_ns + (now_ns - i->heard_ns);
}

/* Why a genuine pass that nobody has used cannot be used now; false: it can. */
static bool has_ended(const struct issuer *i, const struct route *route, size_t bytes,
                      uint64_t now_ns, struct wire_error *ret_error)
{
    const uint64_t its = its_ns(i, now_ns);

    if (!bytes)
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS, "the pass is handed back");
    else if (its > route->pass.expires_ns)
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS, "the pass expired %.1f ms ago",
                     (double)(its - route->pass.expires_ns) / (double)NS_PER_MS);
    else if (bytes > route->bytes)
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS,
                     "the pass is for a batch of %u bytes; this one has %zu", route->bytes, bytes);
    else
        return false;
    return true;
}

enum pass_end passes_use(struct passes *p, const struct route *route, const char *key, size_t bytes,
                         uint64_t now_ns, uint32_t *ret_client, struct wire_error *ret_error)
{
    struct issuer *i = find(p, route->pass.issuer);

    if (!i) {
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS,
                     "the pass is of an issuer that is no client here");
        return PASS_UNKNOWN;
    }
    if (!is_genuine(&i->signer, route)) {
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS,
                     "the pass is forged, or its frame was changed: the tag is wrong");
        return PASS_FALSE;
    }
    if (bytes && route->pass.holder && route->pass.holder != pass_holder(&i->signer, key)) {
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS,
                     "the pass was given to a client with another key");
        return PASS_FALSE;
    }
    *ret_client = i->client;
    if (!use_serial(i, route->pass.serial)) {
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS,
                     "the pass was used or handed back before");
        return PASS_AGAIN;
    }
    return has_ended(i, route, bytes, now_ns, ret_error) ? PASS_BACK : PASS_TAKEN;
}
