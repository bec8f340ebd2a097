/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of several plugins: hits, raw banks or pixels to tracks to vertices, with the products
 * handed on through the host and on the device, on every backend that is here.  The values of all
 * steps and all that they made must be the same to the bit. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "generator.h"
#include "harness.h"
#include "held.h"
#include "sanitized.h"
#include "trigd/plugin.h"

#ifdef IS_SANITIZED /* each goes the same way */
#define ROIS 8u
#else
#define ROIS 16u
#endif
#define STEPS  4u
#define VALUES (STEPS * TRG_VALUES_MAX)

#define EMPTY    7u /* an event without hits, whose answer is like others */
#define BACKENDS 3u
#define LONG_MS  120000 /* batches take seconds with the thread sanitizer, on a busy host more */

static const char *const backends[BACKENDS] = {"cpu", "opencl", "cuda"};

struct answers {
    float value[ROIS][VALUES];
    uint32_t n[ROIS]; /* values of the RoI */
    bool accept[ROIS];
    int status[ROIS];
    struct bytes { /* all columns of all products, of those that were accepted */
        size_t n;
        uint8_t *data;
    } made[ROIS];
};

static const char pixel_menu[] = "streams: [physics]\n"
                                 "keep: [{stream: physics, payload: false, products: [d, t, v]}]\n"
                                 "steps:\n"
                                 "  - {name: d, plugin: doublets}\n"
                                 "  - {name: t, plugin: paths, inputs: [d], on_device: %s}\n"
                                 "  - {name: v, plugin: vertexing, inputs: [t], on_device: %s}\n"
                                 "chains:\n"
                                 "  - {name: c, id: 1, steps: [{step: d}, {step: t},\n"
                                 "     {step: v, cuts: [{value: n_pv, min: 1}]}],\n"
                                 "     streams: [physics]}\n";

static const char velo_menu[] = "streams: [physics]\n"
                                "keep: [{stream: physics, payload: false, products: [h, v]}]\n"
                                "steps:\n"
                                "  - {name: h, plugin: hough}\n"
                                "  - {name: v, plugin: vertexing, inputs: [h], on_device: %s}\n"
                                "chains:\n"
                                "  - {name: c, id: 1, steps: [{step: h},\n"
                                "     {step: v, cuts: [{value: n_sv, min: 1}]}],\n"
                                "     streams: [physics]}\n";

static const char banks_menu[] = "streams: [physics]\n"
                                 "keep: [{stream: physics, payload: false, products: [c, h, v]}]\n"
                                 "steps:\n"
                                 "  - {name: c, plugin: clusters}\n"
                                 "  - {name: h, plugin: hough, inputs: [c], on_device: %s}\n"
                                 "  - {name: v, plugin: vertexing, inputs: [h], on_device: %s}\n"
                                 "chains:\n"
                                 "  - {name: c, id: 1, steps: [{step: c}, {step: h},\n"
                                 "     {step: v, cuts: [{value: n_sv, min: 1}]}],\n"
                                 "     streams: [physics]}\n";

static const char charge_menu[] =
    "streams: [physics]\n"
    "keep: [{stream: physics, payload: false, products: [c, d, t, v]}]\n"
    "steps:\n"
    "  - {name: c, plugin: pixels, params: {geometry: cms}}\n"
    "  - {name: d, plugin: doublets, inputs: [c], on_device: %s}\n"
    "  - {name: t, plugin: paths, inputs: [c, d], on_device: %s}\n"
    "  - {name: v, plugin: vertexing, inputs: [t], on_device: %s}\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: c}, {step: d}, {step: t},\n"
    "     {step: v, cuts: [{value: n_pv, min: 1}]}],\n"
    "     streams: [physics]}\n";

static void send(struct link *l, const char *preset)
{
    const struct generator_preset *p = generator_find(preset);
    struct generated g;

    assert_non_null(p);
    generated_init(&g);
    for (uint32_t i = 0; i < ROIS; i++) {
        Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
        Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
        struct generated_message message;
        Trigd__V1__Roi *list[1] = {&message.roi};

        assert_int_equal(generator_make(p, 4711, i, &g), 0);
        if (i == EMPTY)
            g.n = 0;
        generated_message(&g, &message);
        message.roi.token = i;
        message.roi.truth = NULL;
        batch.n_rois = 1;
        batch.rois = list;
        m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
        m.batch = &batch;
        link_send(l, &m);
    }
    generated_fini(&g);
}

static void keep(const Trigd__V1__Decision *d, struct answers *a)
{
    uint32_t n = 0;

    assert_true(d->token < ROIS && a->n[d->token] == 0);
    a->status[d->token] = (int)d->status;
    assert_true(d->status == TRIGD__V1__STATUS__OK || d->status == TRIGD__V1__STATUS__TRUNCATED);
    for (size_t s = 0; s < d->n_results; s++)
        for (size_t k = 0; k < d->results[s]->n_values; k++)
            a->value[d->token][n++] = d->results[s]->values[k];
    a->n[d->token] = n;
    a->accept[d->token] = d->accept;
}

static void receive(struct link *l, struct answers *a)
{
    for (uint32_t got = 0; got < ROIS;) {
        Trigd__V1__FromDaemon *m = link_receive(l, LONG_MS);

        if (!m)
            fail_msg("only %u of %u decisions came", got, ROIS);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT)
            continue;
        assert_int_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
        for (size_t i = 0; i < m->decisions->n_decisions; i++, got++)
            keep(m->decisions->decisions[i], a);
    }
}

/* Keeps what the steps made of an RoI. */
static void keep_products(void *ctx, const Trigd__V1__Roi *roi)
{
    struct answers *a = ctx;
    struct bytes *b;

    assert_true(roi->l1id < ROIS);
    b = &a->made[roi->l1id];
    for (size_t p = 0; p < roi->kept->n_products; p++) {
        const Trigd__V1__Columns *m = roi->kept->products[p]->columns;

        for (size_t c = 0; c < m->n_column; c++) {
            b->data = realloc(b->data, b->n + m->column[c].len + 1);
            assert_non_null(b->data);
            memcpy(b->data + b->n, m->column[c].data, m->column[c].len);
            b->n += m->column[c].len;
        }
    }
}

static void forget(struct answers *a)
{
    for (uint32_t i = 0; i < ROIS; i++)
        free(a->made[i].data);
    memset(a, 0, sizeof *a);
}

/* Whether the first daemon saw a device of the backend. */
static bool has_device(struct server *s, const char *backend)
{
    char *devices = server_ask(s, "show devices"), name[16];
    bool has;

    snprintf(name, sizeof name, "%s:0 ", backend);
    has = strstr(devices, name) != NULL;
    free(devices);
    return has;
}

/* Runs the sample through a daemon; *has[k] is whether backends[k] has a device. */
static void run(const char *menu, const char *preset, const char *backend, bool on_device,
                struct answers *a, bool *has)
{
    const char *word = on_device ? "true" : "false";
    char config[512], text[1024];
    struct server s;
    struct link l;
    struct held held;

    /* the room for an RoI's doublets is 10 MiB, and shards divide the pool */
    snprintf(config, sizeof config,
             "devices: [{backend: %s, lanes: 1}]\n"
             "pool: {mbytes: 1024}\n"
             "clients: {max_layer: 63, heartbeat_ms: 10000}\n"
             "limits: {soft_ms: 0, hard_ms: 0}\n"
             "streams: [{stream: physics}]\n"
             "batching: {max_rois: 8, max_age_us: 100000, eager: false}\n",
             backend);
    snprintf(text, sizeof text, menu, word, word, word);
    forget(a);
    server_start(&s, config, text);
    for (uint32_t b = 0; b < BACKENDS; b++)
        has[b] = has_device(&s, backends[b]);
    link_open(&l, &s);
    link_hello(&l, "chain", 0);
    send(&l, preset);
    receive(&l, a);
    server_wait_counter(&s, "in_flight", 0);
    server_check_ledger(&s);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 10), 0);
    held_each(&s, "physics-*.roi", keep_products, a, &held);
    held_free(&held);
    server_clean(&s);
}

static void compare(const char *what, const struct answers *a, const struct answers *b)
{
    for (uint32_t i = 0; i < ROIS; i++) {
        assert_int_equal(a->n[i], b->n[i]);
        for (uint32_t k = 0; k < a->n[i]; k++)
            if (memcmp(&a->value[i][k], &b->value[i][k], sizeof(float)) != 0)
                fail_msg("%s: RoI %u, value %u: %.9g and %.9g", what, i, k, (double)a->value[i][k],
                         (double)b->value[i][k]);
        assert_int_equal(a->accept[i], b->accept[i]);
        assert_int_equal(a->status[i], b->status[i]);
        assert_int_equal(a->made[i].n, b->made[i].n);
        if (a->made[i].n && memcmp(a->made[i].data, b->made[i].data, a->made[i].n) != 0)
            fail_msg("%s: RoI %u: what the steps made differs", what, i);
    }
}

static void check_chain(const char *menu, const char *preset)
{
    static struct answers first, other;
    uint32_t n_accepted = 0;
    bool has[BACKENDS];

    run(menu, preset, "cpu", false, &first, has);
    for (uint32_t i = 0; i < ROIS; i++) {
        n_accepted += first.accept[i];
        assert_true((first.made[i].n > 0) == first.accept[i]);
    }
    printf("%s: %u of %u accepted\n", preset, n_accepted, ROIS);
    assert_true(n_accepted > ROIS / 10); /* the chain finds something */
    assert_false(first.accept[EMPTY]);
    for (uint32_t b = 0; b < BACKENDS; b++) {
        if (!has[b])
            printf("%s: there is no device of it here\n", backends[b]);
        for (int on_device = b ? 0 : 1; has[b] && on_device < 2; on_device++) {
            bool still[BACKENDS];
            char what[64];

            snprintf(what, sizeof what, "%s, %s", backends[b],
                     on_device ? "on the device" : "through the host");
            run(menu, preset, backends[b], on_device, &other, still);
            compare(what, &first, &other);
        }
    }
}

/* The sanitizers have the chains of pixels and banks, which go on like those of hits. */
static void skip_if_sanitized(void)
{
#ifdef IS_SANITIZED
    skip();
#endif
}

static void pixel_hits_to_vertices(void **state)
{
    (void)state;
    skip_if_sanitized();
    check_chain(pixel_menu, "pixel");
}

static void velo_hits_to_vertices(void **state)
{
    (void)state;
    skip_if_sanitized();
    check_chain(velo_menu, "velo");
}

static void banks_to_vertices(void **state)
{
    (void)state;
    check_chain(banks_menu, "velo-banks");
}

static void pixels_to_vertices(void **state)
{
    (void)state;
    check_chain(charge_menu, "pixel50-charge");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixel_hits_to_vertices),
        cmocka_unit_test(velo_hits_to_vertices),
        cmocka_unit_test(banks_to_vertices),
        cmocka_unit_test(pixels_to_vertices),
    };

    setenv("TRIGD_TEST_BACKENDS", "backends", 0); /* also for the first daemon, which lists them */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
