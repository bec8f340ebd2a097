/* SPDX-License-Identifier: Apache-2.0 */
/* What was packed comes out again; what was damaged never does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"
#include "seed.h"

#define ROUNDS 300u

static struct sample sample;
static uint64_t seed;

static void same_column(const struct wire_collection *c, uint32_t column, const void *want,
                        size_t bytes)
{
    if (bytes)
        assert_memory_equal(c->column[column], want, bytes);
}

static void same_spacepoints(const struct wire_collection *c, const Trigd__V1__Spacepoints *p)
{
    assert_int_equal(c->is_there, p != NULL);
    assert_int_equal(c->n, p ? p->n_phi_rad : 0);
    if (!p)
        return;
    same_column(c, 0, p->phi_rad, 4 * (size_t)c->n);
    same_column(c, 1, p->rho_mm, 4 * (size_t)c->n);
    same_column(c, 2, p->z_mm, 4 * (size_t)c->n);
    same_column(c, 3, p->layer.data, c->n);
}

static void same_encoded(const struct wire_roi *w, const Trigd__V1__QuantizedSpacepoints *p)
{
    const struct wire_collection *c = &w->collection[TRG_SPACEPOINTS];
    const struct trg_encoding sent[3] = {
        {p->phi0_rad, p->phi_step_rad}, {p->rho0_mm, p->rho_step_mm}, {p->z0_mm, p->z_step_mm}};

    assert_true(c->is_there);
    assert_int_equal(c->n, p->layer.len);
    assert_memory_equal(wire_sent(w, c), sent, sizeof sent);
    same_column(c, 0, p->phi.data, 2 * (size_t)c->n);
    same_column(c, 1, p->rho.data, 2 * (size_t)c->n);
    same_column(c, 2, p->z.data, 2 * (size_t)c->n);
    same_column(c, 3, p->layer.data, c->n);
}

static void same_hits(const struct wire_collection *c, const Trigd__V1__Hits *h)
{
    assert_int_equal(c->is_there, h != NULL);
    assert_int_equal(c->n, h ? h->n_x_mm : 0);
    if (!h)
        return;
    same_column(c, 0, h->x_mm, 4 * (size_t)c->n);
    same_column(c, 1, h->y_mm, 4 * (size_t)c->n);
    same_column(c, 2, h->z_mm, 4 * (size_t)c->n);
    same_column(c, 3, h->layer.data, 2 * (size_t)c->n);
    same_column(c, 4, h->id, 4 * (size_t)c->n);
}

static void same_tracks(const struct wire_collection *c, const Trigd__V1__Tracks *t)
{
    assert_int_equal(c->is_there, t != NULL);
    assert_int_equal(c->n, t ? t->n_x_mm : 0);
    if (!t)
        return;
    const void *const columns[] = {t->x_mm, t->y_mm,        t->z_mm,   t->tx,
                                   t->ty,   t->var_x_mm2,   t->var_tx, t->cov_x_tx_mm,
                                   t->chi2, t->qop_per_gev, t->n_hits};

    for (uint32_t i = 0; i < 11; i++)
        same_column(c, i, columns[i], 4 * (size_t)c->n);
}

static void same_roi(const struct wire_roi *w, const Trigd__V1__Roi *r)
{
    const struct trg_roi_info want = {.run = r->run,
                                      .l1id = r->l1id,
                                      .roi_id = r->roi_id,
                                      .bcid = r->bcid,
                                      .lumi_block = r->lumi_block,
                                      .l1_bits = r->l1_bits,
                                      .eta = r->eta,
                                      .phi_rad = r->phi_rad,
                                      .eta_half = r->eta_half,
                                      .phi_half_rad = r->phi_half_rad,
                                      .z_min_mm = r->z_min_mm,
                                      .z_max_mm = r->z_max_mm};

    assert_true(w->token == r->token);
    assert_int_equal(w->type, r->type);
    assert_memory_equal(&w->info, &want, sizeof want);
    for (uint32_t k = WIRE_DECLARED; k < WIRE_SLOTS; k++)
        assert_false(w->collection[k].is_there);
    assert_int_equal(w->collection[TRG_SPACEPOINTS].is_encoded,
                     r->quantized_spacepoints || r->n_columns);
    if (w->collection[TRG_SPACEPOINTS].is_encoded)
        same_encoded(w, &sample.quantized);
    else
        same_spacepoints(&w->collection[TRG_SPACEPOINTS], r->spacepoints);
    same_hits(&w->collection[TRG_HITS], r->hits);
    same_tracks(&w->collection[TRG_TRACKS], r->tracks);
}

static struct wire_decoder *new_decoder(void)
{
    struct wire_decoder *d;

    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    return d;
}

static void what_was_packed_comes_out(void **state)
{
    struct wire_decoder *d = new_decoder();
    uint64_t random = seed;

    (void)state;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const Trigd__V1__ToDaemon *m;
        struct wire_error e;
        struct wire_roi w;
        size_t n;
        void *bytes;

        sample_init_random(&sample, &random);
        bytes = sample_pack(&sample, &n);
        if (wire_decode(d, bytes, n, &m, &e) < 0 || wire_roi(d, m->batch->rois[0], &w, &e) < 0)
            fail_msg("round %u: refused: %s", i, e.text);
        same_roi(&w, &sample.roi);
        free(bytes);
    }
    wire_decoder_free(d);
}

/* What older clients send is the same. */
static void quantized_spacepoints_are_understood(void **state)
{
    struct wire_decoder *d = new_decoder();
    const Trigd__V1__ToDaemon *m;
    struct wire_error e;
    struct wire_roi w;
    size_t n;
    void *bytes;

    (void)state;
    sample_init(&sample, 7);
    sample_quantize(&sample);
    bytes = sample_pack(&sample, &n);
    assert_int_equal(wire_scan(d, bytes, n), 0); /* left to unpacking */
    assert_int_equal(wire_decode(d, bytes, n, &m, &e), 0);
    assert_int_equal(wire_roi(d, m->batch->rois[0], &w, &e), 0);
    same_roi(&w, &sample.roi);
    free(bytes);
    wire_decoder_free(d);
}

/* Decodes whatever it is, and reads every byte of what was taken. */
static uint32_t use(struct wire_decoder *d, const unsigned char *bytes, size_t n)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error e = {.code = TRIGD__V1__ERROR__CODE__NONE};
    uint32_t sum = 0;

    if (wire_decode(d, bytes, n, &m, &e) < 0) {
        assert_int_not_equal(e.code, TRIGD__V1__ERROR__CODE__NONE);
        assert_true(strlen(e.text) > 0);
        return 0;
    }
    for (size_t i = 0; m->body_case == TRIGD__V1__TO_DAEMON__BODY_BATCH && i < m->batch->n_rois;
         i++) {
        struct wire_roi w;

        if (wire_roi(d, m->batch->rois[i], &w, &e) < 0)
            continue;
        for (uint32_t k = TRG_SPACEPOINTS; k < WIRE_DECLARED; k++) {
            const struct trg_collection *info = kind_info(k);

            for (uint32_t c = 0; w.collection[k].n && c < info->n_columns; c++) {
                const unsigned char *data = w.collection[k].column[c];

                size_t size = encoding_item_bytes(k, w.collection[k].is_encoded, c);

                for (size_t b = 0; b < w.collection[k].n * size; b++)
                    sum += data[b];
            }
        }
    }
    return sum;
}

/* The bytes on a heap block of just that size, so that sanitizers see what is read beyond. */
static uint32_t use_copy(struct wire_decoder *d, const unsigned char *bytes, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1);
    uint32_t sum;

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    sum = use(d, copy, n);
    free(copy);
    return sum;
}

static void truncations_do_no_harm(void **state)
{
    struct wire_decoder *d = new_decoder();
    uint64_t random = seed + 1;
    size_t n;
    unsigned char *bytes;

    (void)state;
    sample_init(&sample, 5);
    bytes = sample_pack(&sample, &n);
    for (size_t cut = 0; cut < n; cut++) /* a small one at every place */
        use_copy(d, bytes, cut);
    free(bytes);
    for (uint32_t old = 0; old < 2; old++) {
        sample_init(&sample, 5);
        (old ? sample_quantize : sample_encode)(&sample);
        bytes = sample_pack(&sample, &n);
        for (size_t cut = 0; cut < n; cut++)
            use_copy(d, bytes, cut);
        free(bytes);
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        sample_init_random(&sample, &random);
        bytes = sample_pack(&sample, &n);
        use_copy(d, bytes, sample_random(&random) % (n + 1));
        free(bytes);
    }
    wire_decoder_free(d);
}

static void flipped_bits_do_no_harm(void **state)
{
    struct wire_decoder *d = new_decoder();
    uint64_t random = seed + 2;

    (void)state;
    for (uint32_t i = 0; i < 20 * ROUNDS; i++) {
        size_t n;
        unsigned char *bytes;

        sample_init(&sample, (uint32_t)(sample_random(&random) % 6));
        if (i % 4)
            (i % 2 ? sample_quantize : sample_encode)(&sample);
        bytes = sample_pack(&sample, &n);
        for (uint64_t k = 1 + sample_random(&random) % 8; k; k--)
            bytes[sample_random(&random) % n] ^= (unsigned char)(1u << sample_random(&random) % 8);
        use_copy(d, bytes, n);
        free(bytes);
    }
    wire_decoder_free(d);
}

static void fill_truth(Trigd__V1__Truth *t, size_t n)
{
    static float f[4];
    static uint32_t u[4] = {1, 1, 1, 1};
    static int32_t charge[4] = {-1, 1, -1, 1};

    trigd__v1__truth__init(t);
    t->n_vertex_x_mm = t->n_vertex_y_mm = t->n_vertex_z_mm = t->n_vertex_tracks = n;
    t->n_particle_vertex = t->n_particle_pt_gev = t->n_particle_eta = t->n_particle_phi_rad = n;
    t->n_particle_charge = t->n_item_particle = n;
    t->vertex_x_mm = t->vertex_y_mm = t->vertex_z_mm = f;
    t->particle_pt_gev = t->particle_eta = t->particle_phi_rad = f;
    t->vertex_tracks = t->particle_vertex = t->item_particle = u;
    t->particle_charge = charge;
}

/* Small RoIs need the most memory for their bytes: as many as allowed, with all there is in them.
 */
static void many_small_rois_are_taken(void **state)
{
    const struct wire_limits limits = {
        .max_message_bytes = 1u << 20, .max_rois = 256, .max_items = 1000, .max_layer = 31};
    Trigd__V1__Roi *list[256];
    Trigd__V1__Truth truth;
    struct wire_decoder *d;

    (void)state;
    assert_int_equal(wire_decoder_new(&limits, &d), 0);
    for (uint32_t n = 0; n < 5; n++) {
        const Trigd__V1__ToDaemon *m;
        struct wire_error e;
        size_t bytes;
        void *packed;

        sample_init(&sample, n);
        fill_truth(&truth, n);
        sample.roi.truth = &truth;
        for (uint32_t i = 0; i < 256; i++)
            list[i] = &sample.roi;
        sample.batch.n_rois = 256;
        sample.batch.rois = list;
        packed = sample_pack(&sample, &bytes);
        if (wire_decode(d, packed, bytes, &m, &e) < 0)
            fail_msg("%u items: %s", n, e.text);
        assert_int_equal(m->batch->n_rois, 256);
        free(packed);
    }
    wire_decoder_free(d);
}

/* A field of a later version, in the message and in the RoI, changes nothing. */
static void unknown_fields_are_ignored(void **state)
{
    struct wire_decoder *d = new_decoder();
    const Trigd__V1__ToDaemon *m;
    ProtobufCMessageUnknownField more = {
        .tag = 200, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = (uint8_t[]){5}};
    struct wire_error e;
    struct wire_roi w;
    size_t n;
    void *bytes;

    (void)state;
    sample_init(&sample, 5);
    sample.message.base.n_unknown_fields = sample.roi.base.n_unknown_fields = 1;
    sample.message.base.unknown_fields = sample.roi.base.unknown_fields = &more;
    bytes = sample_pack(&sample, &n);
    assert_int_equal(wire_decode(d, bytes, n, &m, &e), 0);
    assert_int_equal(wire_roi(d, m->batch->rois[0], &w, &e), 0);
    same_roi(&w, &sample.roi);
    free(bytes);
    wire_decoder_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_packed_comes_out),
        cmocka_unit_test(truncations_do_no_harm),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(many_small_rois_are_taken),
        cmocka_unit_test(unknown_fields_are_ignored),
        cmocka_unit_test(quantized_spacepoints_are_understood),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
