/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Brick number i of the volume; returns whether there is one. */
static int piece_at(const struct volume *v, const uint32_t *brick, uint32_t i,
                    struct vox_piece *ret_piece, uint32_t *first)
{
    *ret_piece = (struct vox_piece){.halo = 0};
    for (uint32_t a = 0; a < 3; a++) {
        const uint32_t parts = (v->n[a] + brick[a] - 1) / brick[a], k = i % parts;

        first[a] = k * brick[a];
        ret_piece->n[a] = least(brick[a], v->n[a] - first[a]);
        ret_piece->origin[a] = v->origin[a] + first[a];
        ret_piece->halo |= first[a] ? VOX_HALO_X_LOW << (2 * a) : 0;
        ret_piece->halo |= first[a] + ret_piece->n[a] < v->n[a] ? VOX_HALO_X_HIGH << (2 * a) : 0;
        i /= parts;
    }
    return i == 0;
}

static uint8_t *cut(const struct volume *v, uint32_t bytes, const struct vox_piece *p,
                    const uint32_t *first, uint8_t *out)
{
    uint32_t from[3], n[3];

    for (uint32_t a = 0; a < 3; a++) {
        const uint32_t low = p->halo & VOX_HALO_X_LOW << (2 * a) ? 1 : 0;

        from[a] = first[a] - low;
        n[a] = p->n[a] + low + (p->halo & VOX_HALO_X_HIGH << (2 * a) ? 1 : 0);
    }
    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++) {
            const size_t row = ((size_t)(from[2] + z) * v->n[1] + from[1] + y) * v->n[0] + from[0];

            memcpy(out, v->values + row * bytes, (size_t)n[0] * bytes);
            out += (size_t)n[0] * bytes;
        }
    return out;
}

static void put_labels(const struct volume *v, const struct vox_setup *s, const struct vox_piece *p,
                       const struct vox_answer *a, struct labelled *ret)
{
    for (uint32_t z = 0; z < p->n[2]; z++)
        for (uint32_t y = 0; y < p->n[1]; y++) {
            const unsigned char *row = a->labels + (size_t)(z * p->n[1] + y) * a->row_bytes;

            for (uint32_t x = 0; x < a->row_bytes * (s->labels == VOX_LABELS_BITS ? 8 : 1); x++) {
                const uint32_t label =
                    s->labels == VOX_LABELS_BITS ? (uint32_t)row[x / 8] >> x % 8 & 1u : row[x];

                if (x < p->n[0])
                    ret->labels[((size_t)(p->origin[2] - v->origin[2] + z) * v->n[1] + y +
                                 p->origin[1] - v->origin[1]) *
                                    v->n[0] +
                                p->origin[0] - v->origin[0] + x] = (uint8_t)label;
                else
                    assert_int_equal(label, 0);
            }
        }
}

static void add_answer(const struct vox_answer *a, struct labelled *ret)
{
    ret->components += a->components;
    ret->largest = a->largest > ret->largest ? a->largest : ret->largest;
    if (!a->count)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        ret->low[i] = !ret->count || a->low[i] < ret->low[i] ? a->low[i] : ret->low[i];
        ret->high[i] = !ret->count || a->high[i] > ret->high[i] ? a->high[i] : ret->high[i];
    }
    ret->count += a->count;
}

void label_volume(struct trg_device *device, const struct vox_model *model,
                  const struct vox_setup *setup, const struct volume *v, const uint32_t *brick,
                  uint32_t batch, struct labelled *ret)
{
    struct vox_setup s = *setup;
    struct vox_tables tables;
    struct vox_lane *lane;
    struct trg_queue *q;
    struct vox_piece *pieces = calloc(batch, sizeof *pieces);
    uint32_t next = 0, first[3];
    uint8_t *labels = ret->labels;
    char why[256] = "";

    assert_non_null(pieces);
    if (vox_tables_make(model, &tables, why, sizeof why) < 0)
        fail_msg("%s", why);
    brick = brick ? brick : v->n;
    s.device = device;
    s.tables = &tables;
    s.slots = 1;
    s.max_bricks = batch;
    s.value_bytes = s.value_bytes ? s.value_bytes : 1;
    memcpy(s.max_n, brick, sizeof s.max_n);
    assert_int_equal(vox_lane_open(&s, &lane), 0);
    vox_tables_fini(&tables);
    assert_int_equal(trg_queue_new(device, &q), 0);
    memset(ret, 0, sizeof *ret);
    ret->labels = labels;
    for (uint32_t n = 1; n;) {
        size_t room;
        uint8_t *in = vox_lane_input(lane, 0, &room), *begin = in;

        for (n = 0; n < batch && piece_at(v, brick, next + n, &pieces[n], first); n++)
            in = cut(v, s.value_bytes, &pieces[n], first, in);
        assert_true((size_t)(in - begin) <= room);
        if (!n)
            break;
        assert_int_equal(vox_lane_submit(lane, 0, pieces, n, q), 0);
        assert_int_equal(trg_finish(q), 0);
        for (uint32_t i = 0; i < n; i++) {
            struct vox_answer a;

            vox_lane_answer(lane, 0, i, &a);
            if (s.labels != VOX_LABELS_NONE)
                put_labels(v, &s, &pieces[i], &a, ret);
            add_answer(&a, ret);
        }
        next += n;
    }
    trg_queue_free(q);
    vox_lane_close(lane);
    free(pieces);
}
