/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

/* A message may unpack to this many times its bytes: real ones need about 1.1 plus a record for
 * each RoI, while a hostile one of empty sub-messages would need 56. */
#define EXPANSION    2u
#define RECORD_BYTES 1024u   /* room for the records of one RoI */
#define MAX_ANGLE    3.1416f /* pi, and what rounding may add */
#define MAX_ETA      10.0f

struct wire_decoder {
    struct wire_limits limits;
    struct arena arena;
    ProtobufCAllocator allocator;
};

static void *take(void *arena, size_t bytes)
{
    return arena_take(arena, bytes);
}

static void give_back(void *arena, void *p)
{
    (void)arena;
    (void)p; /* all at once, with the next message */
}

int wire_decoder_new(const struct wire_limits *limits, struct wire_decoder **ret_decoder)
{
    struct wire_decoder *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    d->limits = *limits;
    d->allocator =
        (ProtobufCAllocator){.alloc = take, .free = give_back, .allocator_data = &d->arena};
    *ret_decoder = d;
    return 0;
}

void wire_decoder_free(struct wire_decoder *d)
{
    if (!d)
        return;
    arena_free(&d->arena);
    free(d);
}

void wire_decoder_usage(const struct wire_decoder *d, uint64_t *ret_bytes, uint64_t *ret_calls)
{
    *ret_bytes = d->arena.size;
    *ret_calls = d->arena.n_mallocs;
}

__attribute__((format(printf, 3, 4))) static int
refuse(struct wire_error *e, Trigd__V1__Error__Code code, const char *format, ...)
{
    va_list args;

    e->code = code;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return -EBADMSG;
}

/* ---------------------------------------------------------------- one message */

static int check_batch(const struct wire_decoder *d, const Trigd__V1__RoiBatch *b,
                       struct wire_error *e)
{
    if (!b->n_rois)
        return refuse(e, TRIGD__V1__ERROR__CODE__EMPTY,
                      "the RoiBatch holds no RoIs; 1 to %u are allowed", d->limits.max_rois);
    if (b->n_rois > d->limits.max_rois)
        return refuse(e, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                      "the RoiBatch holds %zu RoIs; at most %u are allowed", b->n_rois,
                      d->limits.max_rois);
    return 0;
}

int wire_decode(struct wire_decoder *d, const void *bytes, size_t n,
                const Trigd__V1__ToDaemon **ret_message, struct wire_error *ret_error)
{
    Trigd__V1__ToDaemon *m;

    if (n > d->limits.max_message_bytes)
        return refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                      "the message has %zu bytes; at most %u are allowed", n,
                      d->limits.max_message_bytes);
    if (arena_reset(&d->arena, EXPANSION * n + RECORD_BYTES * (d->limits.max_rois + (size_t)1)) < 0)
        return refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                      "there is no memory for a message of %zu bytes", n);
    m = trigd__v1__to_daemon__unpack(&d->allocator, n, bytes);
    if (!m && d->arena.is_overrun)
        return refuse(
            ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
            "the message of %zu bytes unpacks to more than the %zu bytes that are allowed "
            "for its size: too many records, unknown fields or unpacked values",
            n, d->arena.limit);
    if (!m)
        return refuse(ret_error, TRIGD__V1__ERROR__CODE__MALFORMED,
                      "the %zu bytes are not a ToDaemon message of trigd.v1", n);
    if (m->body_case == TRIGD__V1__TO_DAEMON__BODY__NOT_SET)
        return refuse(ret_error, TRIGD__V1__ERROR__CODE__EMPTY,
                      "the message has no body; hello, batch, heartbeat or bye is allowed");
    if (m->body_case == TRIGD__V1__TO_DAEMON__BODY_BATCH && check_batch(d, m->batch, ret_error) < 0)
        return -EBADMSG;
    *ret_message = m;
    return 0;
}

int wire_check_name(const char *name, struct wire_error *ret_error)
{
    size_t n = strlen(name);
    bool good = n >= 1 && n <= 63;

    for (size_t i = 0; i < n && good; i++)
        good = name[i] >= 0x20 && name[i] < 0x7f && name[i] != '"' && name[i] != '\\';
    if (good)
        return 0;
    return refuse(ret_error, TRIGD__V1__ERROR__CODE__BAD_NAME,
                  "the name in Hello has %zu bytes; 1 to 63 printable ASCII characters without "
                  "quotes and backslashes are allowed",
                  n);
}

/* ---------------------------------------------------------------- one RoI */

struct column { /* as it stands in a message */
    size_t n;
    const void *data;
};

/* The columns of the three kinds that travel, in the order of event.h; false where the RoI has
 * none. */
static bool columns_of(const Trigd__V1__Roi *r, enum trg_kind kind, struct column *c)
{
    if (kind == TRG_SPACEPOINTS && r->spacepoints) {
        const Trigd__V1__Spacepoints *s = r->spacepoints;

        c[0] = (struct column){s->n_phi_rad, s->phi_rad};
        c[1] = (struct column){s->n_rho_mm, s->rho_mm};
        c[2] = (struct column){s->n_z_mm, s->z_mm};
        c[3] = (struct column){s->layer.len, s->layer.data};
        return true;
    }
    if (kind == TRG_HITS && r->hits) {
        const Trigd__V1__Hits *h = r->hits;

        c[0] = (struct column){h->n_x_mm, h->x_mm};
        c[1] = (struct column){h->n_y_mm, h->y_mm};
        c[2] = (struct column){h->n_z_mm, h->z_mm};
        /* two bytes a hit; an odd length can match no other column */
        c[3] = (struct column){h->layer.len % 2 ? SIZE_MAX : h->layer.len / 2, h->layer.data};
        c[4] = (struct column){h->n_id, h->id};
        return true;
    }
    if (kind == TRG_TRACKS && r->tracks) {
        const Trigd__V1__Tracks *t = r->tracks;

        c[0] = (struct column){t->n_x_mm, t->x_mm};
        c[1] = (struct column){t->n_y_mm, t->y_mm};
        c[2] = (struct column){t->n_z_mm, t->z_mm};
        c[3] = (struct column){t->n_tx, t->tx};
        c[4] = (struct column){t->n_ty, t->ty};
        c[5] = (struct column){t->n_var_x_mm2, t->var_x_mm2};
        c[6] = (struct column){t->n_var_tx, t->var_tx};
        c[7] = (struct column){t->n_cov_x_tx_mm, t->cov_x_tx_mm};
        c[8] = (struct column){t->n_chi2, t->chi2};
        c[9] = (struct column){t->n_qop_per_gev, t->qop_per_gev};
        c[10] = (struct column){t->n_n_hits, t->n_hits};
        return true;
    }
    return false;
}

struct range {
    float least, most;
};

/* What a float column may hold. */
static struct range range_of(const char *name)
{
    if (!strcmp(name, "phi"))
        return (struct range){-MAX_ANGLE, MAX_ANGLE};
    if (!strcmp(name, "rho") || !strcmp(name, "var_x") || !strcmp(name, "var_tx"))
        return (struct range){0, FLT_MAX};
    return (struct range){-FLT_MAX, FLT_MAX};
}

/* Whether any may lie outside the range, as every NaN and infinity does; a -0 where 0 is the least
 * looks like it.  One pass over the bits that vectorizes: the magnitude of a float grows with
 * its bits, and a range goes as far to both sides or begins at 0. */
static bool may_be_outside(const float *v, size_t n, struct range r)
{
    uint32_t over = 0, any = 0;
    int32_t most;

    memcpy(&most, &r.most, sizeof most);
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, &v[i], sizeof u);
        over |= (int32_t)(u & 0x7fffffffu) > most;
        any |= u;
    }
    return over || (r.least >= 0 && any >> 31);
}

static bool is_within(float v, struct range r)
{
    return v >= r.least && v <= r.most;
}

/* Of n bytes; on its own so that the compiler compares sixteen at a time. */
static uint8_t largest_byte(const uint8_t *b, size_t n)
{
    uint8_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = b[i] > most ? b[i] : most;
    return most;
}

static uint32_t largest_layer(enum trg_type type, const void *data, size_t n)
{
    const uint8_t *b = data;
    uint32_t most = 0;

    if (type == TRG_U8)
        return largest_byte(b, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t layer = b[2 * i] | (uint32_t)b[2 * i + 1] << 8;

        most = layer > most ? layer : most;
    }
    return most;
}

#define RANGE_TEXT 48
static const char *say_range(struct range r, char *text)
{
    if (r.most < FLT_MAX)
        snprintf(text, RANGE_TEXT, "%g to %g", (double)r.least, (double)r.most);
    else
        snprintf(text, RANGE_TEXT, "%g or more", (double)r.least);
    return text;
}

static int check_floats(const struct trg_kind_info *info, uint32_t c, const struct column *column,
                        uint64_t token, struct wire_error *e)
{
    struct range r = range_of(info->column[c].name);
    const float *v = column->data;
    size_t i = 0;

    if (!may_be_outside(v, column->n, r))
        return 0;
    while (i < column->n && is_within(v[i], r))
        i++;
    if (i == column->n)
        return 0;
    if (!isfinite(v[i]))
        return refuse(
            e, TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI %" PRIu64 ": value %zu of column %s of its %s is %s; only finite numbers "
            "are allowed",
            token, i, info->column[c].name, info->name, isnan(v[i]) ? "not a number" : "infinite");
    return refuse(e, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                  "RoI %" PRIu64 ": value %zu of column %s of its %s is %g; %s %s is allowed",
                  token, i, info->column[c].name, info->name, (double)v[i],
                  say_range(r, (char[RANGE_TEXT]){0}), info->column[c].unit);
}

static int check_layers(const struct wire_decoder *d, const struct trg_kind_info *info, uint32_t c,
                        const struct column *column, uint64_t token, struct wire_error *e)
{
    uint32_t most = largest_layer(info->column[c].type, column->data, column->n);

    if (most <= d->limits.max_layer)
        return 0;
    return refuse(e, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                  "RoI %" PRIu64 ": layer %u in its %s; 0 to %u are allowed", token, most,
                  info->name, d->limits.max_layer);
}

static int check_column(const struct wire_decoder *d, const struct trg_kind_info *info, uint32_t c,
                        const struct column *column, uint64_t token, struct wire_error *e)
{
    if (info->column[c].type == TRG_F32)
        return check_floats(info, c, column, token, e);
    if (!strcmp(info->column[c].name, "layer"))
        return check_layers(d, info, c, column, token, e);
    return 0;
}

/* The columns are as long as the first one, and not too long. */
static int check_lengths(const struct wire_decoder *d, const struct trg_kind_info *info,
                         const struct column *column, uint64_t token, struct wire_error *e)
{
    for (uint32_t c = 1; c < info->n_columns; c++) {
        if (column[c].n == column[0].n)
            continue;
        if (column[c].n == SIZE_MAX)
            return refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                          "RoI %" PRIu64 ": column %s of its %s has an odd number of bytes; two "
                          "for each item are allowed",
                          token, info->column[c].name, info->name);
        return refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                      "RoI %" PRIu64 ": the columns %s and %s of its %s have %zu and %zu values; "
                      "columns of one length are allowed",
                      token, info->column[0].name, info->column[c].name, info->name, column[0].n,
                      column[c].n);
    }
    if (column[0].n > d->limits.max_items)
        return refuse(e, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                      "RoI %" PRIu64 ": %zu %s; at most %u are allowed", token, column[0].n,
                      info->name, d->limits.max_items);
    return 0;
}

static int check_collection(const struct wire_decoder *d, const Trigd__V1__Roi *roi,
                            enum trg_kind kind, struct wire_collection *ret, struct wire_error *e)
{
    const struct trg_kind_info *info = trg_kind_info(kind);
    struct column column[TRG_COLUMNS_MAX] = {{0}};

    *ret = (struct wire_collection){.n = 0};
    if (!columns_of(roi, kind, column))
        return 0;
    if (check_lengths(d, info, column, roi->token, e) < 0)
        return -EBADMSG;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        if (check_column(d, info, c, &column[c], roi->token, e) < 0)
            return -EBADMSG;
        ret->column[c] = column[c].data;
    }
    ret->n = (uint32_t)column[0].n;
    ret->is_there = true;
    return 0;
}

static int check_window(const Trigd__V1__Roi *r, struct wire_error *e)
{
    const struct {
        const char *name;
        float value;
        struct range range;
    } table[] = {
        {"eta", r->eta, {-MAX_ETA, MAX_ETA}},
        {"phi_rad", r->phi_rad, {-MAX_ANGLE, MAX_ANGLE}},
        {"eta_half", r->eta_half, {0, FLT_MAX}},
        {"phi_half_rad", r->phi_half_rad, {0, FLT_MAX}},
        {"z_min_mm", r->z_min_mm, {-FLT_MAX, FLT_MAX}},
        {"z_max_mm", r->z_max_mm, {-FLT_MAX, FLT_MAX}},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (is_within(table[i].value, table[i].range))
            continue;
        if (!isfinite(table[i].value))
            return refuse(e, TRIGD__V1__ERROR__CODE__NOT_FINITE,
                          "RoI %" PRIu64
                          ": %s of its window is not finite; only finite numbers are "
                          "allowed",
                          r->token, table[i].name);
        return refuse(e, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                      "RoI %" PRIu64 ": %s of its window is %g; %s is allowed", r->token,
                      table[i].name, (double)table[i].value,
                      say_range(table[i].range, (char[RANGE_TEXT]){0}));
    }
    if (r->z_min_mm <= r->z_max_mm)
        return 0;
    return refuse(e, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                  "RoI %" PRIu64 ": z_min_mm of its window is %g and z_max_mm %g; z_min_mm <= "
                  "z_max_mm is allowed",
                  r->token, (double)r->z_min_mm, (double)r->z_max_mm);
}

int wire_roi(const struct wire_decoder *d, const Trigd__V1__Roi *roi, struct wire_roi *ret_roi,
             struct wire_error *ret_error)
{
    struct wire_roi w = {.token = roi->token,
                         .info = {.run = roi->run,
                                  .l1id = roi->l1id,
                                  .roi_id = roi->roi_id,
                                  .bcid = roi->bcid,
                                  .lumi_block = roi->lumi_block,
                                  .l1_bits = roi->l1_bits,
                                  .eta = roi->eta,
                                  .phi_rad = roi->phi_rad,
                                  .eta_half = roi->eta_half,
                                  .phi_half_rad = roi->phi_half_rad,
                                  .z_min_mm = roi->z_min_mm,
                                  .z_max_mm = roi->z_max_mm}};

    if (check_window(roi, ret_error) < 0)
        return -EBADMSG;
    for (enum trg_kind k = TRG_SPACEPOINTS; k < TRG_KIND_COUNT; k++)
        if (check_collection(d, roi, k, &w.collection[k], ret_error) < 0)
            return -EBADMSG;
    *ret_roi = w;
    return 0;
}
