/* SPDX-License-Identifier: Apache-2.0 */
/* Passes: a genuine one is good for one batch within its time; all others are refused with a
 * sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "seed.h"
#include "transport/passes.h"

#define CLIENT 3u
#define NOW    (1000 * NS_PER_S) /* here */
#define ITS    (7 * NS_PER_S)    /* then, by the issuer's clock */
#define LIFE   (500 * NS_PER_MS)
#define BYTES  50000u

static struct passes *passes;
static struct pass_signer signer;

static bool enter(uint32_t client, const struct pass_signer *s, uint64_t serial)
{
    Trigd__V1__PassIssuer m = TRIGD__V1__PASS_ISSUER__INIT;
    unsigned char key[PASSES_KEY];

    memcpy(key, s->key, sizeof key);
    m.issuer = s->issuer;
    m.key.data = key;
    m.key.len = sizeof key;
    m.serial = serial;
    m.sent_ns = ITS;
    return passes_enter(passes, client, &m, NOW);
}

static int open_passes(void **state)
{
    (void)state;
    assert_int_equal(passes_new(&passes), 0);
    assert_int_equal(pass_signer_new(&signer), 0);
    assert_true(enter(CLIENT, &signer, 1));
    return 0;
}

static int close_passes(void **state)
{
    (void)state;
    passes_free(passes);
    return 0;
}

static struct route route_with(uint64_t serial)
{
    return (struct route){.n = 3,
                          .is_event = true,
                          .run = 1,
                          .l1id = 2,
                          .token = 77,
                          .key = 5,
                          .bytes = BYTES,
                          .pass = {.serial = serial, .expires_ns = ITS + LIFE}};
}

/* As it comes over the wire, signed by `s`. */
static struct route send(const struct pass_signer *s, const struct route *r)
{
    unsigned char bytes[ROUTE_BYTES];
    struct route back;
    const size_t n = pass_pack(s, r, bytes);

    assert_true(route_read(bytes, n, &back));
    return back;
}

/* Uses a pass, and wants that end and sentence; NULL: none. */
static void use(const struct route *r, const char *key, size_t bytes, uint64_t now,
                enum pass_end end, const char *sentence)
{
    struct wire_error error = {.text = ""};
    uint32_t client = UINT32_MAX;

    assert_int_equal(passes_use(passes, r, key, bytes, now, &client, &error), end);
    if (end == PASS_UNKNOWN || end == PASS_FALSE)
        assert_int_equal(client, UINT32_MAX);
    else
        assert_int_equal(client, CLIENT);
    if (sentence) {
        assert_string_equal(error.text, sentence);
        assert_int_equal(error.code, TRIGD__V1__ERROR__CODE__PASS);
    }
}

static const char again[] = "the pass was used or handed back before";

static void once(void **state)
{
    const struct route plain = route_with(1), r = send(&signer, &plain);

    (void)state;
    use(&r, NULL, BYTES, NOW, PASS_TAKEN, NULL);
    use(&r, NULL, BYTES, NOW, PASS_AGAIN, again);
    use(&r, NULL, 0, NOW, PASS_AGAIN, again); /* it is too late to hand it back */
}

static void handed_back(void **state)
{
    const struct route plain = route_with(2), r = send(&signer, &plain);

    (void)state;
    use(&r, NULL, 0, NOW, PASS_BACK, "the pass is handed back");
    use(&r, NULL, BYTES, NOW, PASS_AGAIN, again);
}

/* No bit of the frame can be changed. */
static void forged(void **state)
{
    struct route plain = route_with(3), back;
    unsigned char bytes[ROUTE_BYTES];
    size_t n, read = 0;

    (void)state;
    plain.is_partial = true;
    plain.wanted[0] = 7;
    n = pass_pack(&signer, &plain, bytes);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        struct wire_error error;
        uint32_t client;

        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (route_read(bytes, n, &back) && back.has_pass) {
            const enum pass_end end = passes_use(passes, &back, NULL, BYTES, NOW, &client, &error);

            assert_true(end == PASS_FALSE || end == PASS_UNKNOWN);
            read++;
        }
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(read > 8 * (n - 8)); /* nearly all are still frames */
    assert_true(route_read(bytes, n, &back));
    use(&back, NULL, BYTES, NOW, PASS_TAKEN, NULL);
}

static void foreign(void **state)
{
    struct pass_signer other, twin;
    struct route plain = route_with(4), r;

    (void)state;
    assert_int_equal(pass_signer_new(&other), 0);
    r = send(&other, &plain);
    use(&r, NULL, BYTES, NOW, PASS_UNKNOWN, "the pass is of an issuer that is no client here");
    twin = other;
    twin.issuer = signer.issuer;
    r = send(&twin, &plain);
    use(&r, NULL, BYTES, NOW, PASS_FALSE,
        "the pass is forged, or its frame was changed: the tag is wrong");
    plain.pass.holder = pass_holder(&signer, "the key of one client");
    r = send(&signer, &plain);
    use(&r, "the key of another", BYTES, NOW, PASS_FALSE,
        "the pass was given to a client with another key");
    use(&r, NULL, BYTES, NOW, PASS_FALSE, "the pass was given to a client with another key");
    use(&r, "the key of one client", BYTES, NOW, PASS_TAKEN, NULL);
    assert_int_equal(pass_holder(&signer, NULL), 0);
    assert_int_equal(pass_holder(&signer, ""), 0);
}

/* By the issuer's clock, which is 993 s behind; it is what it was told last, and the time since. */
static void in_time(void **state)
{
    struct route plain = route_with(5), r = send(&signer, &plain);

    (void)state;
    use(&r, NULL, BYTES, NOW + LIFE + 2 * NS_PER_MS, PASS_BACK, "the pass expired 2.0 ms ago");
    use(&r, NULL, BYTES, NOW, PASS_AGAIN, again);
    plain = route_with(6);
    r = send(&signer, &plain);
    use(&r, NULL, BYTES, NOW + LIFE, PASS_TAKEN, NULL);
    passes_heard(passes, CLIENT, ITS + 3 * LIFE, NOW + LIFE);
    plain = route_with(7);
    r = send(&signer, &plain);
    use(&r, NULL, BYTES, NOW + LIFE, PASS_BACK, "the pass expired 1000.0 ms ago");
    passes_heard(passes, CLIENT, ITS, NOW);
    passes_heard(passes, CLIENT + 1, 0, 0); /* who gives none */
}

static void too_large(void **state)
{
    const struct route plain = route_with(8), r = send(&signer, &plain);

    (void)state;
    use(&r, NULL, BYTES + 1, NOW, PASS_BACK,
        "the pass is for a batch of 50000 bytes; this one has 50001");
}

static void issuers(void **state)
{
    struct pass_signer other;
    struct route plain = route_with(9), r;
    uint32_t n = 1;

    (void)state;
    assert_true(enter(CLIENT, &signer, 1)); /* again, which changes nothing */
    assert_false(enter(CLIENT + 1, &signer, 1));
    do
        assert_int_equal(pass_signer_new(&other), 0);
    while (enter(CLIENT + n, &other, 1) && ++n < 100);
    assert_int_equal(n, 16);
    passes_leave(passes, CLIENT);
    passes_leave(passes, CLIENT); /* twice is once */
    r = send(&signer, &plain);
    use(&r, NULL, BYTES, NOW, PASS_UNKNOWN, NULL);
    assert_true(enter(CLIENT, &signer, 10)); /* it forgot what was used, so it begins later */
    use(&r, NULL, BYTES, NOW, PASS_AGAIN, again);
    plain = route_with(10);
    r = send(&signer, &plain);
    use(&r, NULL, BYTES, NOW, PASS_TAKEN, NULL);
}

/* Serials in any order, against a list of all; those before the window are not known any more. */
static void window(void **state)
{
    enum { SERIALS = 1 << 20, USES = 40000 };
    static bool used[SERIALS];
    uint64_t random = fresh_seed(), top = 0, serial;
    uint32_t taken = 0;

    (void)state;
    for (uint32_t i = 0; i < USES; i++) {
        struct route plain, r;
        struct wire_error error;
        uint32_t client;
        bool is_old;

        random = random * 6364136223846793005u + 1442695040888963407u;
        serial = 20 + (uint64_t)i * (SERIALS / USES / 2) + (random >> 33) % (PASSES_WINDOW + 5000);
        serial = serial < SERIALS ? serial : SERIALS - 1;
        is_old = serial / 64 + PASSES_WINDOW / 64 <= top / 64;
        plain = route_with(serial);
        r = send(&signer, &plain);
        assert_int_equal(passes_use(passes, &r, NULL, BYTES, NOW, &client, &error),
                         used[serial] || is_old ? PASS_AGAIN : PASS_TAKEN);
        taken += !used[serial] && !is_old;
        used[serial] = true;
        top = serial > top ? serial : top;
    }
    assert_true(taken > USES / 2 && taken < USES);
    for (serial = 1; serial < UINT64_C(1) << 40; serial *= 2) { /* jumps */
        const struct route plain = route_with(top + serial), r = send(&signer, &plain);

        use(&r, NULL, BYTES, NOW, PASS_TAKEN, NULL);
        use(&r, NULL, BYTES, NOW, PASS_AGAIN, again);
        top += serial;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once),    cmocka_unit_test(handed_back), cmocka_unit_test(forged),
        cmocka_unit_test(foreign), cmocka_unit_test(in_time),     cmocka_unit_test(too_large),
        cmocka_unit_test(issuers), cmocka_unit_test(window),
    };

    return cmocka_run_group_tests(tests, open_passes, close_passes);
}
