/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a message that keep it a message: random bytes alone seldom get past protobuf, which
 * is a library that the fuzzer does not see into. */
#include <stdint.h>
#include <string.h>

#include "trigd.pb-c.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);

static uint32_t next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static float odd_float(unsigned *seed)
{
    static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x80000000,
                                   0x00000001, 0x40490fdb, 0xc0490fdb, 0x40490fff, 0xbf800000};
    uint32_t bits = odd[next(seed) % (sizeof odd / sizeof *odd)];
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static void change_floats(size_t *n, float *v, unsigned *seed)
{
    if (!*n)
        return;
    if (next(seed) % 4 == 0)
        --*n;
    else
        v[next(seed) % *n] = odd_float(seed);
}

static void change_bytes(ProtobufCBinaryData *b, unsigned *seed)
{
    if (!b->len)
        return;
    if (next(seed) % 4 == 0)
        b->len--;
    else
        b->data[next(seed) % b->len] = (uint8_t)next(seed);
}

static void change_quantized(Trigd__V1__QuantizedSpacepoints *q, unsigned *seed)
{
    float *const field[] = {&q->phi0_rad,    &q->phi_step_rad, &q->rho0_mm,
                            &q->rho_step_mm, &q->z0_mm,        &q->z_step_mm};

    *field[next(seed) % 6] = odd_float(seed);
    change_bytes(next(seed) % 2 ? &q->phi : &q->z, seed);
    change_bytes(&q->layer, seed);
}

static void change_collection(Trigd__V1__Roi *r, unsigned *seed)
{
    uint32_t which = next(seed) % 8;

    if (r->quantized_spacepoints && which < 4) {
        change_quantized(r->quantized_spacepoints, seed);
    } else if (r->spacepoints && which < 4) {
        Trigd__V1__Spacepoints *s = r->spacepoints;

        change_floats(&s->n_phi_rad, s->phi_rad, seed);
        change_floats(&s->n_rho_mm, s->rho_mm, seed);
        change_bytes(&s->layer, seed);
    } else if (r->hits && which < 6) {
        change_floats(&r->hits->n_x_mm, r->hits->x_mm, seed);
        change_bytes(&r->hits->layer, seed);
    } else if (r->tracks) {
        change_floats(&r->tracks->n_var_x_mm2, r->tracks->var_x_mm2, seed);
        change_floats(&r->tracks->n_qop_per_gev, r->tracks->qop_per_gev, seed);
    }
}

static void change_window(Trigd__V1__Roi *r, unsigned *seed)
{
    float *const field[] = {&r->eta,          &r->phi_rad,  &r->eta_half,
                            &r->phi_half_rad, &r->z_min_mm, &r->z_max_mm};

    *field[next(seed) % 6] = odd_float(seed);
}

/* Drops, doubles or swaps RoIs and collections. */
static void change_shape(Trigd__V1__RoiBatch *b, Trigd__V1__Roi *r, unsigned *seed)
{
    switch (next(seed) % 4) {
    case 0:
        b->n_rois--;
        break;
    case 1:
        b->rois[next(seed) % b->n_rois] = r;
        break;
    case 2:
        if (r->quantized_spacepoints)
            r->quantized_spacepoints = NULL;
        else
            r->spacepoints = NULL;
        break;
    default:
        r->hits = NULL;
        break;
    }
}

/* Pointers may be lost or shared by now, so the message is packed but not freed by its tree. */
static void change(Trigd__V1__RoiBatch *b, unsigned *seed)
{
    Trigd__V1__Roi *r = b->rois[next(seed) % b->n_rois];

    switch (next(seed) % 4) {
    case 0:
        change_window(r, seed);
        break;
    case 1:
        change_shape(b, r, seed);
        break;
    default:
        change_collection(r, seed);
        break;
    }
}

/* Memory for one message, given up at once. */
static struct {
    unsigned char bytes[1 << 20];
    size_t used;
} heap;

static void *take(void *none, size_t n)
{
    void *p = heap.bytes + heap.used;

    (void)none;
    if (n > sizeof heap.bytes - heap.used - 16)
        return NULL;
    heap.used += (n + 15) & ~(size_t)15;
    return p;
}

static void give_back(void *none, void *p)
{
    (void)none;
    (void)p;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed)
{
    ProtobufCAllocator allocator = {.alloc = take, .free = give_back};
    Trigd__V1__ToDaemon *m;

    if (next(&seed) % 2)
        return LLVMFuzzerMutate(data, n, room);
    heap.used = 0;
    m = trigd__v1__to_daemon__unpack(&allocator, n, data);
    if (!m || m->body_case != TRIGD__V1__TO_DAEMON__BODY_BATCH || !m->batch->n_rois)
        return LLVMFuzzerMutate(data, n, room);
    change(m->batch, &seed);
    if (trigd__v1__to_daemon__get_packed_size(m) > room)
        return LLVMFuzzerMutate(data, n, room);
    return trigd__v1__to_daemon__pack(m, data);
}
