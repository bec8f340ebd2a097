/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "refuse.h"

_Atomic(const struct trg_collection *) kinds_table[KINDS_MAX] = {[TRG_SPACEPOINTS] =
                                                                     &trg_spacepoints,
                                                                 [TRG_HITS] = &trg_hits,
                                                                 [TRG_TRACKS] = &trg_tracks,
                                                                 [TRG_DOUBLETS] = &trg_doublets,
                                                                 [TRG_VERTICES] = &trg_vertices,
                                                                 [TRG_PATHS] = &trg_paths,
                                                                 [TRG_VOXELS] = &trg_voxels};
#define SIZE_LEAST offsetof(struct trg_collection, encoding) /* of declarations without any */

static uint32_t n_kinds = TRG_KIND_COUNT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of adding */

/* ---------------------------------------------------------------- what a declaration must be */

static bool is_name(const char *s)
{
    if (!s || !islower((unsigned char)*s) || strlen(s) > 31)
        return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

/* The largest of 65536 numbers is still a finite value, and some number is an allowed one. */
static int check_encoding(const struct trg_collection *c, uint32_t i, char *why, size_t bytes)
{
    const struct trg_column *k = &c->column[i];
    const struct trg_encoding e = trg_column_encoding(c, i);
    const double least = (double)e.offset, most = least + 65535 * (double)e.step;
    const bool is_none = e.offset == 0 && e.step == 0;

    if (!(k->flags & TRG_COLUMN_ENCODED) && is_none)
        return 0;
    if (!(k->flags & TRG_COLUMN_ENCODED) || k->type != TRG_F32)
        return refuse(
            why, bytes,
            "column %s of collection %s has an encoding; columns of type f32 with the flag "
            "TRG_COLUMN_ENCODED may have one",
            k->name, c->name);
    if (is_none)
        return 0;
    if (!isfinite(e.offset) || !isfinite(e.step) || !(e.step > 0) || !isfinite(e.step * 65535.0f) ||
        !isfinite((float)most))
        return refuse(
            why, bytes,
            "column %s of collection %s is encoded with offset %g and step %g; a step above "
            "0 and values that single precision can hold are allowed",
            k->name, c->name, least, (double)e.step);
    if (most < k->min || least > k->max)
        return refuse(why, bytes,
                      "column %s of collection %s is encoded as %g to %g, all outside of its range",
                      k->name, c->name, least, most);
    return 0;
}

static int check_column(const struct trg_collection *c, uint32_t i, char *why, size_t bytes)
{
    const struct trg_column *k = &c->column[i];

    if (!is_name(k->name) || !k->unit || strlen(k->unit) > 15 || !k->doc)
        return refuse(why, bytes, "column %u of collection %s has no good name, unit or doc", i,
                      c->name);
    if (!trg_type_size(k->type) || !k->length || k->length > TRG_LENGTH_MAX)
        return refuse(why, bytes,
                      "column %s of collection %s has type %u and length %u; types are 1 to 8, "
                      "lengths 1 to %d",
                      k->name, c->name, k->type, k->length, TRG_LENGTH_MAX);
    if (!(k->min <= k->max))
        return refuse(why, bytes, "column %s of collection %s has min %g above max %g", k->name,
                      c->name, k->min, k->max);
    for (uint32_t other = 0; other < i; other++)
        if (!strcmp(k->name, c->column[other].name))
            return refuse(why, bytes, "collection %s has column %s twice", c->name, k->name);
    return check_encoding(c, i, why, bytes);
}

int kind_check(const struct trg_collection *c, char *why, size_t bytes)
{
    if (c->size < SIZE_LEAST || c->size > sizeof *c || c->column_size != sizeof *c->column)
        return refuse(
            why, bytes,
            "a declaration has %u bytes and %u a column; this trigd knows %zu to %zu, and "
            "%zu a column",
            c->size, c->column_size, SIZE_LEAST, sizeof *c, sizeof *c->column);
    if (!is_name(c->name) || !c->doc || !c->column)
        return refuse(why, bytes, "a declaration has no good name, doc or columns");
    if (!c->n_columns || c->n_columns > TRG_COLUMNS_MAX || !c->room)
        return refuse(why, bytes,
                      "collection %s has %u columns and room for %u; 1 to %d columns and some room "
                      "are allowed",
                      c->name, c->n_columns, c->room, TRG_COLUMNS_MAX);
    for (uint32_t i = 0; i < c->n_columns; i++)
        if (check_column(c, i, why, bytes) < 0)
            return -EINVAL;
    if (trg_collection_hash(c) != c->hash)
        return refuse(why, bytes,
                      "collection %s has the hash %016" PRIx64 ", its columns have %016" PRIx64
                      ": use the header that was made from its declaration",
                      c->name, c->hash, trg_collection_hash(c));
    return 0;
}

/* ---------------------------------------------------------------- adding */

/* A copy that does not depend on the plugin that it came from. */
static const struct trg_collection *copy_of(const struct trg_collection *c)
{
    struct trg_collection *copy = calloc(1, sizeof *copy);
    struct trg_column *columns = calloc(c->n_columns, sizeof *columns);
    struct trg_encoding *encodings = calloc(c->n_columns, sizeof *encodings);
    bool is_whole = copy && columns && encodings;

    for (uint32_t i = 0; is_whole && i < c->n_columns; i++) {
        columns[i] = c->column[i];
        encodings[i] = trg_column_encoding(c, i);
        columns[i].name = strdup(c->column[i].name);
        columns[i].unit = strdup(c->column[i].unit);
        columns[i].doc = strdup(c->column[i].doc);
        is_whole = columns[i].name && columns[i].unit && columns[i].doc;
    }
    if (is_whole) {
        memcpy(copy, c, c->size);
        copy->size = sizeof *copy;
        copy->column = columns;
        copy->encoding = encodings;
        copy->name = strdup(c->name);
        copy->doc = strdup(c->doc);
        is_whole = copy->name && copy->doc;
    }
    return is_whole ? copy : NULL; /* what was taken before memory ran out is not given back */
}

static int add(const struct trg_collection *c, uint32_t *ret_kind, char *why, size_t bytes)
{
    const struct trg_collection *copy;

    for (uint32_t k = 1; k < n_kinds; k++) {
        const struct trg_collection *other = kind_info(k);

        if (strcmp(other->name, c->name))
            continue;
        if (other->hash == c->hash) {
            *ret_kind = k;
            return 0;
        }
        if (k < TRG_KIND_COUNT)
            return refuse(
                why, bytes,
                "it declares %s otherwise than trigd itself does; give yours another name",
                c->name);
    }
    if (n_kinds == KINDS_MAX) {
        refuse(why, bytes,
               "it declares %s, and %u collections were declared since the start already", c->name,
               KINDS_MAX - 1);
        return -ENOSPC;
    }
    copy = copy_of(c);
    if (!copy) {
        refuse(why, bytes, "there is no memory for the declaration of %s", c->name);
        return -ENOMEM;
    }
    atomic_store_explicit(&kinds_table[n_kinds], copy, memory_order_release);
    *ret_kind = n_kinds++;
    return 0;
}

int kind_add(const struct trg_collection *c, uint32_t *ret_kind, char *why, size_t why_bytes)
{
    int r = kind_check(c, why, why_bytes);

    if (r < 0)
        return r;
    pthread_mutex_lock(&lock);
    r = add(c, ret_kind, why, why_bytes);
    pthread_mutex_unlock(&lock);
    return r;
}
