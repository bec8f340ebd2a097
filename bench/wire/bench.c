/* SPDX-License-Identifier: Apache-2.0 */
/* bench_wire - what it costs to unpack an RoI's spacepoints from each wire layout and to copy them
 * to columns; beside it a plain copy of the columns, and what the daemon's decoder
 * takes with all its checks. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "layouts.h"
#include "result.h"
#include "scratch.h"
#include "wire.h"

/* Half a step of the widest column, rho, which covers 504.5 mm in 65535 steps. */
#define ENCODING_ERROR 0.0039f
#define RUNS           15u
#define RUN_NS         (4 * NS_PER_MS)
#define ARENA_ROOM     ((size_t)4 << 20) /* the nested form needs it */

static struct results out = {.bench = "wire", .has_table = true};
static struct scratch arena;

static void *take(void *a, size_t bytes)
{
    return scratch_take(a, bytes);
}

static void give_back(void *a, void *p)
{
    (void)a;
    (void)p;
}

static ProtobufCAllocator in_arena = {.alloc = take, .free = give_back, .allocator_data = &arena};

/* ---------------------------------------------------------------- one decoding */

struct job { /* what is measured; `run` does it once */
    int (*run)(const struct job *j);
    const struct layout *layout;
    ProtobufCAllocator *allocator; /* NULL: malloc */
    const struct points *from;
    const void *bytes;
    size_t n;
    struct points *dst;
    struct wire_decoder *decoder;
    float tolerance; /* of what comes out, without a layout */
};

static int run_layout(const struct job *j)
{
    ProtobufCMessage *m;

    if (j->allocator && scratch_reset(&arena, ARENA_ROOM) < 0)
        return -ENOMEM;
    m = protobuf_c_message_unpack(j->layout->descriptor, j->allocator, j->n, j->bytes);
    if (!m)
        return -EBADMSG;
    j->layout->read(m, j->dst);
    if (!j->allocator)
        protobuf_c_message_free_unpacked(m, NULL);
    return 0;
}

static int run_copy(const struct job *j)
{
    memcpy(j->dst->phi, j->from->phi, j->from->n * sizeof(float));
    memcpy(j->dst->rho, j->from->rho, j->from->n * sizeof(float));
    memcpy(j->dst->z, j->from->z, j->from->n * sizeof(float));
    memcpy(j->dst->layer, j->from->layer, j->from->n);
    return 0;
}

static void copy_out(const struct job *j, const struct wire_roi *w)
{
    const struct wire_collection *c = &w->collection[TRG_SPACEPOINTS];

    if (c->is_encoded) {
        encoding_values(wire_sent(w, c)[0], c->column[0], c->n, j->dst->phi);
        encoding_values(wire_sent(w, c)[1], c->column[1], c->n, j->dst->rho);
        encoding_values(wire_sent(w, c)[2], c->column[2], c->n, j->dst->z);
        memcpy(j->dst->layer, c->column[3], c->n);
        return;
    }
    memcpy(j->dst->phi, c->column[0], c->n * sizeof(float));
    memcpy(j->dst->rho, c->column[1], c->n * sizeof(float));
    memcpy(j->dst->z, c->column[2], c->n * sizeof(float));
    memcpy(j->dst->layer, c->column[3], c->n);
}

static int run_decoder(const struct job *j)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error e;
    struct wire_roi w;

    if (wire_decode(j->decoder, j->bytes, j->n, &m, &e) < 0 ||
        wire_roi(j->decoder, m->batch->rois[0], &w, &e) < 0)
        return -EBADMSG;
    copy_out(j, &w);
    return 0;
}

/* As ingress does: the columns are found in the message. */
static int run_scan(const struct job *j)
{
    struct wire_error e;
    struct wire_roi w;

    if (wire_scan(j->decoder, j->bytes, j->n) != 1 || wire_scanned(j->decoder, 0, &w, &e) < 0)
        return -EBADMSG;
    copy_out(j, &w);
    return 0;
}

/* ---------------------------------------------------------------- measuring */

static bool is_near(const float *a, const float *b, uint32_t n, float tolerance)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= tolerance))
            return false;
    return true;
}

/* Does it once and looks whether all points came out. */
static int verify(const struct job *j)
{
    const struct points *a = j->from, *b = j->dst;
    float tolerance = j->layout ? j->layout->tolerance : j->tolerance;
    int r;

    memset(b->phi, 0, b->n * sizeof(float));
    memset(b->layer, 0xff, b->n);
    r = j->run(j);
    if (r < 0)
        return r;
    return is_near(a->phi, b->phi, a->n, tolerance) && is_near(a->rho, b->rho, a->n, tolerance) &&
                   is_near(a->z, b->z, a->n, tolerance) && !memcmp(a->layer, b->layer, a->n)
               ? 0
               : -EILSEQ;
}

static int measure(const struct job *j, struct result *ret)
{
    int r = verify(j);

    memset(ret, 0, sizeof *ret);
    for (uint32_t run = 0; r == 0 && run < RUNS; run++) {
        uint64_t began = clock_ns(), now, n = 0;

        do {
            for (uint32_t i = 0; r == 0 && i < 16; i++)
                r = j->run(j);
            n += 16;
            now = clock_ns();
        } while (now < began + RUN_NS);
        result_add(ret, (double)(now - began) / (double)n);
    }
    return r;
}

static void report(const char *what, const char *how, const struct job *j, const struct result *ns,
                   double floor_ns)
{
    const struct result_figure f = {
        .unit = "ns/RoI", .baseline = "copy of the columns", .baseline_value = floor_ns};

    printf("| %u | %s | %s | %zu | %.0f | %.1f |\n", j->from->n, what, how, j->n, result_median(ns),
           result_median(ns) / floor_ns);
    fflush(stdout);
    result_report(&out, &f, ns, "%u spacepoints: %s, %s", j->from->n, what, how);
}

/* ---------------------------------------------------------------- all */

static int measure_layout(const struct layout *l, const struct points *p, struct points *dst,
                          double floor_ns)
{
    struct job j = {.run = run_layout, .layout = l, .from = p, .dst = dst};
    struct result ns;
    void *bytes = l->pack(p, &j.n);
    int r = bytes ? 0 : -ENOMEM;

    j.bytes = bytes;
    for (uint32_t i = 0; i < 2 && r == 0; i++) {
        j.allocator = i ? NULL : &in_arena;
        r = measure(&j, &ns);
        if (r == 0)
            report(l->name, i ? "malloc" : "arena", &j, &ns, floor_ns);
    }
    free(bytes);
    return r;
}

/* What the daemon's decoder takes for a whole message in one of the two layouts. */
static int measure_decoder(const struct points *p, struct points *dst, bool is_encoded,
                           double floor_ns)
{
    const struct wire_limits limits = {
        .max_message_bytes = 1u << 24, .max_rois = 256, .max_items = 262144, .max_layer = 31};
    struct job j = {
        .run = run_decoder, .from = p, .dst = dst, .tolerance = is_encoded ? ENCODING_ERROR : 0};
    const char *const what[2] = {
        is_encoded ? "a whole message, quantized, unpacked and checked"
                   : "a whole message, unpacked and checked",
        is_encoded ? "a whole message, quantized, found in place, checked, made floats: the daemon"
                   : "a whole message, found in place and checked: the daemon"};
    struct result ns;
    void *bytes = is_encoded ? points_encoded_message(p, 1, &j.n) : points_message(p, 1, &j.n);
    int r = bytes ? wire_decoder_new(&limits, &j.decoder) : -ENOMEM;

    j.bytes = bytes;
    if (r == 0)
        r = measure(&j, &ns);
    if (r == 0)
        report(what[0], "arena", &j, &ns, floor_ns);
    j.run = run_scan;
    if (r == 0)
        r = measure(&j, &ns);
    if (r == 0)
        report(what[1], "", &j, &ns, floor_ns);
    wire_decoder_free(j.decoder);
    free(bytes);
    return r;
}

struct calls {
    uint32_t n, spacepoints;
    bool is_encoded;
};

/* Finds a whole message's RoI in place n times and nothing else, for tools that count instructions.
 */
static int only_call(const struct calls *c)
{
    const struct wire_limits limits = {
        .max_message_bytes = 1u << 24, .max_rois = 256, .max_items = 262144, .max_layer = 31};
    struct points p = {0}, dst = {0};
    struct job j = {.dst = &dst};
    void *bytes = NULL;
    int r = points_new(c->spacepoints, &p);

    if (r == 0)
        r = points_new(c->spacepoints, &dst);
    if (r == 0) {
        bytes = (c->is_encoded ? points_encoded_message : points_message)(&p, 1, &j.n);
        j.bytes = bytes;
        r = bytes ? wire_decoder_new(&limits, &j.decoder) : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < c->n; i++)
        r = run_scan(&j);
    printf("%u times %u spacepoints, %zu bytes\n", c->n, c->spacepoints, j.n);
    wire_decoder_free(j.decoder);
    free(bytes);
    points_free(&p);
    points_free(&dst);
    return r;
}

static int measure_size(uint32_t n)
{
    struct points p = {0}, dst = {0};
    struct job copy = {.run = run_copy, .from = &p, .dst = &dst, .n = 13 * (size_t)n};
    struct result ns;
    double floor_ns;
    int r = points_new(n, &p);

    if (r == 0)
        r = points_new(n, &dst);
    if (r == 0)
        r = measure(&copy, &ns);
    if (r == 0) {
        floor_ns = result_median(&ns);
        report("no message: copy of the columns", "", &copy, &ns, floor_ns);
        for (const struct layout *l = layouts; l->name && r == 0; l++)
            r = measure_layout(l, &p, &dst, floor_ns);
        if (r == 0)
            r = measure_decoder(&p, &dst, false, floor_ns);
        if (r == 0)
            r = measure_decoder(&p, &dst, true, floor_ns);
    }
    points_free(&p);
    points_free(&dst);
    return r;
}

int main(int argc, char **argv)
{
    struct calls calls = {.spacepoints = 333};
    const struct arg table[] = {
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {"calls", ARG_U32, &calls.n, 1, 1e9, "N",
         "only find one message's RoI in place N times, for tools that count instructions"},
        {"spacepoints", ARG_U32, &calls.spacepoints, 1, 262144, "N", "of that RoI (default 333)"},
        {"encoded", ARG_FLAG, &calls.is_encoded, 0, 0, NULL, "they are encoded"},
        {0}};
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (calls.n)
        return only_call(&calls) < 0;
    printf("| spacepoints | layout | memory | bytes | ns an RoI | times the copy |\n");
    printf("| ---: | --- | --- | ---: | ---: | ---: |\n");
    r = measure_size(333);
    if (r == 0)
        r = measure_size(8104);
    scratch_free(&arena);
    return result_end(&out, r);
}
