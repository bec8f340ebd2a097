/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs in shared memory get the decisions that the same values get over ZeroMQ: as floats or 16-bit
 * numbers, gathered by a lane or by the device itself.  The debug stream keeps numbers as they
 * came. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "columns.h"
#include "encode.h"
#include "fault.h"
#include "packed.h"
#include "roifile.h"
#include "seed.h"
#include "sharer.h"

#define ROIS   12u
#define VALUES 16u

#define COMMON "batching: {max_rois: 8}\nclients: {shm_mbytes: 8}\ndebug_stream: {folder: debug}\n"
static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n" COMMON;
/* made up: tests/e2e/fakegpu.c */
static const char gpu[] = "devices: [{backend: cuda, index: 0, lanes: 1, slots: 2}]\n" COMMON;
static const char gpu_pins_nothing[] = "devices: [{backend: cuda, index: 0, lanes: 1, slots: "
                                       "2}]\nworkers: {pinned_mbytes: 0}\n" COMMON;
static const char menu[] = "name: quantized\n"
                           "streams: [physics]\n"
                           "steps:\n"
                           "  - {name: z, plugin: zfinder, params: {preset: pure}}\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: z}], streams: [physics]}\n";
static const char menu_fault[] = "name: quantized\n"
                                 "streams: [physics]\n"
                                 "steps:\n"
                                 "  - {name: f, plugin: fault}\n"
                                 "chains:\n"
                                 "  - {name: c, id: 1, steps: [{step: f}], streams: [physics]}\n";

static uint64_t seed;

struct rois {
    struct source source;
    struct columns *columns;
};

static void make(struct rois *r, enum layout layout)
{
    assert_int_equal(source_generate("lowlum", seed, ROIS, layout, &r->source), 0);
    assert_int_equal(columns_new(&r->source, &r->columns), 0);
}

static void drop(struct rois *r)
{
    columns_free(r->columns);
    source_free(&r->source);
}

/* Returns where the RoI lies in the client's memory. */
static uint64_t send_shared(struct sharer *c, const struct rois *r, uint32_t which, uint32_t roi_id)
{
    const struct flight f = {.roi = *columns_roi(r->columns, which), .token = which};
    struct shm_roi entry;
    void *address;
    uint64_t at;

    assert_int_equal(shmclient_take(c->client, encode_columns_size(&f.roi), &at, &address), 0);
    encode_columns(&f, at, address, &entry);
    entry.info.l1id = which;
    entry.info.roi_id = roi_id;
    sharer_put(c, &entry);
    return at;
}

static void send_message(struct link *l, const struct rois *r, uint32_t which)
{
    const struct pick pick = {.which = which, .l1id = which, .token = which};
    unsigned char *bytes;
    size_t n = packed(&r->source, &pick, 1, &bytes);

    link_send_bytes(l, bytes, n);
    free(bytes);
}

static uint32_t keep(const Trigd__V1__DecisionBatch *b, float (*ret)[VALUES])
{
    for (size_t i = 0; i < b->n_decisions; i++) {
        const Trigd__V1__Decision *d = b->decisions[i];

        assert_true(d->token < ROIS);
        assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
        assert_in_range(d->results[0]->n_values, 1, VALUES);
        memcpy(ret[d->token], d->results[0]->values,
               d->results[0]->n_values * sizeof *d->results[0]->values);
    }
    return (uint32_t)b->n_decisions;
}

/* Sends RoIs both ways and wants the same decisions. */
static void compare(struct sharer *c, struct link *l, const struct rois *r)
{
    static float here[ROIS][VALUES], there[ROIS][VALUES];
    uint64_t at[ROIS];

    for (uint32_t i = 0; i < ROIS; i++)
        at[i] = send_shared(c, r, i, 0);
    for (uint32_t got = 0; got < ROIS;)
        got += keep(sharer_expect(c, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions, here);
    for (uint32_t i = 0; i < ROIS; i++)
        send_message(l, r, i);
    for (uint32_t got = 0; got < ROIS;)
        got += keep(link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions, there);
    assert_memory_equal(here, there, sizeof here);
    for (uint32_t i = 0; i < ROIS; i++)
        shmclient_give(c->client, at[i], encode_columns_size(columns_roi(r->columns, i)));
}

/* Batches whose values the first lane's device read itself. */
static long pulled(struct server *s)
{
    char *text = server_ask(s, "show lanes json"), *at = strstr(text, "\"pulled\":");
    long n;

    assert_non_null(at);
    n = strtol(at + strlen("\"pulled\":"), NULL, 10);
    free(text);
    return n;
}

/* A value that is not allowed is found by whoever gathers. */
static void refuses(struct sharer *c)
{
    const struct roi_spec spec = {.token = 5, .n = 700};
    Trigd__V1__FromDaemon *m;
    struct shm_roi e;
    float *phi;

    e = sharer_write(c, &spec, &phi);
    phi[600] = 77;
    phi[601] = NAN;
    sharer_put(c, &e);
    m = sharer_expect(c, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_string_equal(m->error->text, "RoI 5: value 600 of column phi of its spacepoints is 77; "
                                        "-3.1416 to 3.1416 rad is allowed");
}

static void open_both(struct server *s, struct sharer *c, struct link *l, const char *with)
{
    sharer_server(s, with, menu);
    sharer_open(c, s);
    link_open(l, s);
    sharer_hello(c, "shm", 0);
    link_hello(l, "zmq", 0);
}

static void close_both(struct server *s, struct sharer *c, struct link *l)
{
    sharer_close(c);
    link_close(l);
    server_wait_counter(s, "in_flight", 0);
    server_check_ledger(s);
    server_stop(s);
}

static void the_same_decision(void **state)
{
    struct server s;
    struct sharer c;
    struct link l;
    struct rois r;

    (void)state;
    make(&r, LAYOUT_ENCODED);
    open_both(&s, &c, &l, config);
    compare(&c, &l, &r);
    assert_int_equal(pulled(&s), 0);
    close_both(&s, &c, &l);
    drop(&r);
}

/* The memory of a client is opened to the GPU while its first RoIs are gathered by the lane; the
 * next client in the same place is another one. */
static void a_gpu_gathers_itself(void **state)
{
    struct server s;
    struct sharer c;
    struct link l;
    struct rois floats, numbers;

    (void)state;
    make(&floats, LAYOUT_PLAIN);
    make(&numbers, LAYOUT_ENCODED);
    assert_int_equal(setenv("TRIGD_TEST_BACKENDS", "test-backends", 1), 0);
    open_both(&s, &c, &l, gpu);
    for (int client = 0; client < 3; client++) {
        const long before = pulled(&s);

        for (uint32_t round = 0; pulled(&s) < before + 4; round++) {
            assert_true(round < 1000);
            compare(&c, &l, &floats);
            compare(&c, &l, &numbers);
        }
        refuses(&c);
        sharer_close(&c);
        sharer_open(&c, &s);
        sharer_hello(&c, "shm", 0);
    }
    close_both(&s, &c, &l);
    open_both(&s, &c, &l, gpu_pins_nothing);
    assert_int_equal(unsetenv("TRIGD_TEST_BACKENDS"), 0);
    for (int round = 0; round < 3; round++)
        compare(&c, &l, &floats);
    refuses(&c);
    assert_int_equal(pulled(&s), 0);
    close_both(&s, &c, &l);
    drop(&floats);
    drop(&numbers);
}

/* Whether a record of the debug stream holds the numbers of a packed RoI. */
static void same_numbers(const void *record, size_t n, const struct source_roi *roi)
{
    Trigd__V1__RoiBatch *kept = trigd__v1__roi_batch__unpack(NULL, n, record);
    Trigd__V1__Roi *want = trigd__v1__roi__unpack(NULL, roi->n, roi->bytes);
    const Trigd__V1__Columns *a, *b;

    assert_non_null(want);
    assert_non_null(kept);
    assert_int_equal(want->n_columns, 1);
    assert_int_equal(kept->rois[0]->n_columns, 1);
    a = want->columns[0];
    b = kept->rois[0]->columns[0];
    assert_int_equal(b->n_encoded, TRG_SPACEPOINTS_COLUMNS);
    for (size_t c = 0; c < b->n_encoded; c++) {
        assert_int_equal(a->encoded[c].len, b->encoded[c].len);
        assert_memory_equal(a->encoded[c].data, b->encoded[c].data, a->encoded[c].len);
    }
    assert_int_equal(b->n_offset, 3);
    assert_int_equal(b->n_step, 3);
    assert_memory_equal(a->offset, b->offset, 3 * sizeof *a->offset);
    assert_memory_equal(a->step, b->step, 3 * sizeof *a->step);
    trigd__v1__roi__free_unpacked(want, NULL);
    trigd__v1__roi_batch__free_unpacked(kept, NULL);
}

static void the_debug_stream_keeps_numbers(void **state)
{
    struct roifile_reader *file;
    struct server s;
    struct sharer c;
    struct rois r;
    const void *bytes;
    char path[512];
    size_t n;

    (void)state;
    make(&r, LAYOUT_ENCODED);
    sharer_server(&s, config, menu_fault);
    sharer_open(&c, &s);
    sharer_hello(&c, "shm", 0);
    send_shared(&c, &r, 3, FAULT_ROI);
    sharer_collect(&c, 3, 1, NULL);
    sharer_close(&c);
    server_wait_stream(&s, "debug", "written", 1);
    server_debug_file(&s, path, sizeof path);
    assert_int_equal(roifile_open(path, &file), 0);
    assert_int_equal(roifile_next(file, &bytes, &n), 1);
    same_numbers(bytes, n, &r.source.roi[3]);
    roifile_close(file);
    server_stop(&s);
    drop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_decision),
        cmocka_unit_test(a_gpu_gathers_itself),
        cmocka_unit_test(the_debug_stream_keeps_numbers),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
