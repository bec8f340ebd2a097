/* SPDX-License-Identifier: Apache-2.0 */
/* Spacepoints sent plain, encoded, and encoded as older clients do: the same decision of the same
 * values, whoever makes floats of them, and the debug stream keeps what came. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "layout.h"
#include "roifile.h"
#include "seed.h"
#include "workers.h"

#define ROIS   8u
#define VALUES 16u

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "batching: {max_rois: 8}\n"
                             "debug_stream: {folder: debug}\n";
static const char menu_zfinder[] = "name: layouts\n"
                                   "streams: [physics]\n"
                                   "steps:\n"
                                   "  - {name: z, plugin: zfinder, params: {preset: pure}}\n"
                                   "chains:\n"
                                   "  - {name: c, id: 1, steps: [{step: z}], streams: [physics]}\n";
static const char menu_fault[] = "name: layouts\n"
                                 "streams: [physics]\n"
                                 "steps:\n"
                                 "  - {name: f, plugin: fault, params: {stall_ms: 10}}\n"
                                 "chains:\n"
                                 "  - {name: c, id: 1, steps: [{step: f}], streams: [physics]}\n";

static uint64_t seed;

#define WAYS 3u
struct pair { /* one RoI in each layout, of the same values */
    struct generated g;
    struct generated_message made;
    struct layout_room encoded, plain;
    Trigd__V1__QuantizedSpacepoints old;
    Trigd__V1__Roi roi[WAYS];
};

/* What an older client sends instead of Columns. */
static void make_old(const Trigd__V1__Columns *m, Trigd__V1__QuantizedSpacepoints *old)
{
    trigd__v1__quantized_spacepoints__init(old);
    old->phi = m->encoded[0];
    old->rho = m->encoded[1];
    old->z = m->encoded[2];
    old->layer = m->encoded[3];
    old->phi0_rad = m->offset[0];
    old->rho0_mm = m->offset[1];
    old->z0_mm = m->offset[2];
    old->phi_step_rad = m->step[0];
    old->rho_step_mm = m->step[1];
    old->z_step_mm = m->step[2];
}

static void make_pair(struct pair *p, uint64_t number)
{
    memset(p, 0, sizeof *p);
    generated_init(&p->g);
    assert_int_equal(generator_make(generator_find("lowlum"), seed, number, &p->g), 0);
    generated_message(&p->g, &p->made);
    p->made.roi.truth = NULL;
    p->roi[0] = p->made.roi;
    assert_int_equal(layout_apply(LAYOUT_ENCODED, &p->roi[0], &p->encoded), 0);
    assert_int_equal(p->roi[0].columns[0]->n_encoded, TRG_SPACEPOINTS_COLUMNS);
    p->roi[1] = p->roi[2] = p->made.roi;
    p->roi[1].spacepoints = p->roi[2].spacepoints = NULL;
    make_old(p->roi[0].columns[0], &p->old);
    p->roi[1].quantized_spacepoints = p->roi[2].quantized_spacepoints = &p->old;
    assert_int_equal(layout_apply(LAYOUT_PLAIN, &p->roi[2], &p->plain), 0);
    assert_int_equal(p->roi[2].columns[0]->n_column, TRG_SPACEPOINTS_COLUMNS);
}

static void drop_pair(struct pair *p)
{
    layout_room_fini(&p->encoded);
    layout_room_fini(&p->plain);
    generated_fini(&p->g);
}

/* Sends RoIs; with a field of a later version, so that they are not read in place but unpacked. */
static void send(struct link *l, Trigd__V1__Roi **rois, uint32_t n, bool is_unpacked)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    ProtobufCMessageUnknownField more = {
        .tag = 200, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = (uint8_t[]){5}};

    batch.n_rois = n;
    batch.rois = rois;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    if (is_unpacked) {
        m.base.n_unknown_fields = 1;
        m.base.unknown_fields = &more;
    }
    link_send(l, &m);
}

/* The values of the z-finder for tokens 0 .. n-1. */
static void collect(struct link *l, uint32_t n, float (*ret)[VALUES])
{
    uint32_t found = 0;

    memset(ret, 0xff, n * sizeof *ret);
    while (found < n) {
        const Trigd__V1__DecisionBatch *b =
            link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions;

        for (size_t i = 0; i < b->n_decisions; i++) {
            const Trigd__V1__Decision *d = b->decisions[i];

            assert_true(d->token < n);
            assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
            assert_int_equal(d->n_results, 1);
            assert_in_range(d->results[0]->n_values, 8, VALUES);
            memcpy(ret[d->token], d->results[0]->values,
                   d->results[0]->n_values * sizeof *d->results[0]->values);
            found++;
        }
    }
}

/* Sends the pairs in these layouts; one batch mixes them.  Returns the values of the first one. */
static void decide(struct link *l, struct pair *pair, const uint32_t *ways, uint32_t n_ways,
                   bool is_unpacked, float (*ret)[VALUES])
{
    Trigd__V1__Roi *rois[WAYS * ROIS];
    float values[WAYS * ROIS][VALUES];

    for (uint32_t i = 0; i < n_ways * ROIS; i++) {
        rois[i] = &pair[i / n_ways].roi[ways[i % n_ways]];
        rois[i]->token = i;
    }
    send(l, rois, n_ways * ROIS, is_unpacked);
    collect(l, n_ways * ROIS, values);
    for (uint32_t i = 0; i < n_ways * ROIS; i++) {
        assert_memory_equal(values[i], values[i - i % n_ways], sizeof values[0]);
        memcpy(ret[i / n_ways], values[i], sizeof values[0]);
    }
}

/* Once found in place, as older clients' are not, and once unpacked and copied to the pool. */
static void decide_all(struct link *l, struct pair *pair, float (*ret)[VALUES])
{
    static const uint32_t all[WAYS] = {0, 1, 2}, in_place[] = {0, 2};
    float values[ROIS][VALUES];

    decide(l, pair, in_place, 2, false, ret);
    decide(l, pair, in_place, 1, false, values); /* all of them encoded */
    assert_memory_equal(values, ret, sizeof values);
    for (uint32_t round = 0; round < 2; round++) {
        decide(l, pair, all, WAYS, round, values);
        assert_memory_equal(values, ret, sizeof values);
    }
}

/* The last encoded RoI has a layer that there is not: it is refused, the others are decided. */
static void refuse_one(struct link *l, struct pair *pair)
{
    ProtobufCBinaryData *layer = &pair[ROIS - 1].roi[0].columns[0]->encoded[3];
    const uint8_t good = layer->data[layer->len - 1];
    Trigd__V1__Roi *rois[ROIS];
    uint32_t decided = 0, refused = 0;

    for (uint32_t i = 0; i < ROIS; i++) {
        rois[i] = &pair[i].roi[0];
        rois[i]->token = i;
    }
    layer->data[layer->len - 1] = 200;
    send(l, rois, ROIS, false);
    while (decided + refused < ROIS) {
        const Trigd__V1__FromDaemon *m = link_receive(l, 60000);

        assert_non_null(m);
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            decided += (uint32_t)m->decisions->n_decisions;
        } else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
            assert_int_equal(m->error->token, ROIS - 1);
            assert_non_null(strstr(m->error->text, "layer"));
            refused++;
        }
    }
    assert_int_equal(refused, 1);
    layer->data[layer->len - 1] = good;
}

struct counts { /* of batches of a lane: gathered by the device, laid out by gather threads */
    uint64_t pulled, gathered;
};

/* On a lane of a CPU, or of a GPU whose worker takes numbers as they came: its device makes floats
 * of them, or, where it copies from memory of its own alone, the lane. */
static struct counts decide_on(const char *lane, const char *devices, struct pair *pair,
                               float (*ret)[VALUES])
{
    struct counts counts;
    struct server s;
    struct link l;
    char text[512];

    snprintf(text, sizeof text, "%sbatching: {max_rois: 16}\n" PATIENT, devices);
    workers_prepare_gpus(&s, text, menu_zfinder);
    workers_launch(&s);
    workers_join(&s, &l);
    decide_all(&l, pair, ret);
    refuse_one(&l, pair);
    counts = (struct counts){server_row_number(&s, "lanes", lane, "pulled"),
                             server_row_number(&s, "lanes", lane, "gathered")};
    link_end_well(&s, &l);
    return counts;
}

#define ON_GPU "devices: [{backend: cuda, index: 0, lanes: 1, slots: 2}]\n"

static void the_same_decision(void **state)
{
    static const char gpu[] = "z@cuda:0/0";
    static struct pair pair[ROIS];
    float on_cpu[ROIS][VALUES], values[ROIS][VALUES];
    struct counts counts;

    (void)state;
    for (uint32_t i = 0; i < ROIS; i++)
        make_pair(&pair[i], i);
    counts = decide_on("z@cpu:0/0", "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n",
                       pair, on_cpu);
    assert_int_equal(counts.pulled, 0);
    counts = decide_on(gpu, ON_GPU, pair, values);
    assert_true(counts.pulled > 0 && !counts.gathered);
    assert_memory_equal(values, on_cpu, sizeof on_cpu);
    counts = decide_on(gpu, ON_GPU "threads: {gather_threads: 2}\n", pair, values);
    assert_true(counts.pulled > 0 && counts.gathered > 0);
    assert_memory_equal(values, on_cpu, sizeof on_cpu);
    assert_int_equal(setenv("FAKEGPU_COPIES", "1", 1), 0);
    counts = decide_on(gpu, ON_GPU, pair, values);
    assert_int_equal(unsetenv("FAKEGPU_COPIES"), 0);
    assert_int_equal(counts.pulled, 0);
    assert_memory_equal(values, on_cpu, sizeof on_cpu);
    for (uint32_t i = 0; i < ROIS; i++)
        drop_pair(&pair[i]);
}

/* The record holds the RoI as it was sent, byte for byte, and why it is there. */
static void same_record(struct roifile_reader *file, const Trigd__V1__Roi *want)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi *list = (Trigd__V1__Roi *)(uintptr_t)want;
    Trigd__V1__RoiBatch *kept;
    const void *bytes;
    void *packed;
    size_t n;

    assert_int_equal(roifile_next(file, &bytes, &n), 1);
    kept = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    assert_non_null(kept);
    list->kept = kept->rois[0]->kept;
    assert_non_null(list->kept);
    batch.n_rois = 1;
    batch.rois = &list;
    packed = malloc(trigd__v1__roi_batch__get_packed_size(&batch));
    assert_non_null(packed);
    assert_int_equal(trigd__v1__roi_batch__pack(&batch, packed), n);
    assert_memory_equal(bytes, packed, n);
    free(packed);
    list->kept = NULL;
    trigd__v1__roi_batch__free_unpacked(kept, NULL);
}

static void the_debug_stream_keeps_numbers(void **state)
{
    static struct pair pair;
    Trigd__V1__Roi *roi = &pair.roi[0];
    struct roifile_reader *file;
    struct server s;
    struct link l;
    char path[512];

    (void)state;
    make_pair(&pair, 3);
    roi->token = 42;
    roi->roi_id = FAULT_ROI;
    server_start(&s, config, menu_fault);
    link_open(&l, &s);
    link_hello(&l, "layouts", 0);
    for (uint32_t round = 0; round < 2; round++) {
        send(&l, &roi, 1, round);
        link_collect(&l, 42, 1, NULL);
    }
    server_wait_stream(&s, "debug", "written", 2);
    server_debug_file(&s, path, sizeof path);
    assert_int_equal(roifile_open(path, &file), 0);
    same_record(file, roi);
    same_record(file, roi);
    roifile_close(file);
    server_wait_counter(&s, "in_flight", 0);
    link_close(&l);
    server_stop(&s);
    drop_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_decision),
        cmocka_unit_test(the_debug_stream_keeps_numbers),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
