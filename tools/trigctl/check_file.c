/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs of a file as the sample of the conformance tester, for plugins whose columns depend on each
 * other: random values would be no RoIs for them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_inner.h"
#include "declared.h"
#include "roifile.h"
#include "wire.h"

#define ROIS_MAX \
    (SAMPLE_CASES - 1u + CHECK_RANDOM) /* an empty one stands before those of the file */
#define ALIGN 16u

struct reading {
    const struct check *c;
    struct sample *s;
    struct wire_decoder *decoder;
    size_t used, room; /* of s->data; pointers of columns are offsets until all is read */
    char *why;
    size_t why_bytes;
};

static int no(struct reading *t, const char *sentence)
{
    snprintf(t->why, t->why_bytes, "%s: %s", t->c->o->rois_file, sentence);
    return -EINVAL;
}

/* Copies a column behind the others; its offset plus 1 stands where its address will. */
static int keep_column(struct reading *t, const void *from, size_t bytes, const void **ret_column)
{
    const size_t at = (t->used + ALIGN - 1) / ALIGN * ALIGN;

    if (at + bytes > t->room) {
        const size_t room = 2 * (at + bytes) + 4096;
        void *more = realloc(t->s->data, room);

        if (!more)
            return -ENOMEM;
        t->s->data = more;
        t->room = room;
    }
    if (bytes)
        memcpy(t->s->data + at, from, bytes);
    t->used = at + bytes;
    *ret_column = (const void *)(uintptr_t)(at + 1);
    return 0;
}

static const struct wire_collection *find(const struct wire_roi *roi, uint32_t kind)
{
    for (uint32_t i = 0; i < WIRE_SLOTS; i++)
        if (roi->collection[i].is_there && roi->collection[i].kind == kind)
            return &roi->collection[i];
    return NULL;
}

/* Whether an RoI has what the plugin consumes, not more than fits. */
static bool fits(const struct reading *t, const struct wire_roi *roi)
{
    for (uint32_t k = 0; k < t->s->n_inputs; k++) {
        const struct wire_collection *from = find(roi, t->s->kind[k]);

        if (!from || from->is_encoded || from->n > CHECK_ITEMS_ROI)
            return false;
    }
    return true;
}

static int keep_roi(struct reading *t, const struct wire_roi *roi)
{
    struct sample *s = t->s;
    const uint32_t i = s->n;

    s->info[i] = roi->info;
    for (uint32_t k = 0; k < s->n_inputs; k++) {
        const struct wire_collection *from = find(roi, s->kind[k]);
        const struct trg_collection *info = kind_info(s->kind[k]);
        struct stage_source *to = &s->source[(size_t)k * ROIS_MAX + i];

        to->n = from->n;
        for (uint32_t c = 0; c < info->n_columns; c++) {
            const int r = keep_column(t, from->column[c],
                                      from->n * trg_column_bytes(&info->column[c]), &to->column[c]);

            if (r < 0)
                return r;
        }
    }
    s->n++;
    return 0;
}

static int take_record(struct reading *t, const void *bytes, size_t n)
{
    Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    struct wire_error error;
    struct wire_roi roi;
    int r = b ? 0 : -EBADMSG;

    for (size_t i = 0; r == 0 && b && i < b->n_rois && t->s->n < ROIS_MAX; i++) {
        if (wire_roi(t->decoder, b->rois[i], &roi, &error) < 0)
            r = no(t, error.text);
        else if (fits(t, &roi))
            r = keep_roi(t, &roi);
    }
    if (b)
        trigd__v1__roi_batch__free_unpacked(b, NULL);
    return r;
}

static int take_all(struct reading *t, struct roifile_reader *file)
{
    const Trigd__V1__FileHeader *h = roifile_header(file);
    const void *bytes;
    uint32_t kind;
    size_t n;
    int r = 0;

    for (size_t i = 0; i < h->n_collections; i++)
        if (declared_add(h->collections[i], &kind, t->why, t->why_bytes) < 0)
            return -EINVAL;
    while (t->s->n < ROIS_MAX && (r = roifile_next(file, &bytes, &n)) == 1) {
        r = take_record(t, bytes, n);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- order */

static uint32_t items(const struct sample *s, uint32_t i)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < s->n_inputs; k++)
        most = s->source[(size_t)k * ROIS_MAX + i].n > most ? s->source[(size_t)k * ROIS_MAX + i].n
                                                            : most;
    return most;
}

/* Addresses instead of offsets, an empty RoI first, the smallest and the largest in their places:
 * they are there once more in the place that the file gives them. */
static int arrange(struct reading *t, struct sample *to)
{
    const struct sample *s = t->s;
    uint32_t least = 0, most = 0;

    for (uint32_t i = 1; i < s->n; i++) {
        least = items(s, i) < items(s, least) ? i : least;
        most = items(s, i) > items(s, most) ? i : most;
    }
    to->n = SAMPLE_CASES + s->n;
    to->info = calloc(to->n, sizeof *to->info);
    to->source = calloc((size_t)to->n * to->n_inputs, sizeof *to->source);
    if (!to->info || !to->source)
        return -ENOMEM;
    for (uint32_t i = 0; i < to->n; i++) {
        const uint32_t from = i == SAMPLE_LARGEST    ? most
                              : i >= SAMPLE_CASES    ? i - SAMPLE_CASES
                              : i <= SAMPLE_ONE_ITEM ? least
                                                     : (i - SAMPLE_ONE_LAYER) % s->n;

        to->info[i] = s->info[from];
        for (uint32_t k = 0; i != SAMPLE_EMPTY && k < s->n_inputs; k++) {
            struct stage_source *source = &to->source[(size_t)k * to->n + i];

            *source = s->source[(size_t)k * ROIS_MAX + from];
            for (uint32_t c = 0; c < kind_info(s->kind[k])->n_columns; c++)
                source->column[c] = s->data + ((uintptr_t)source->column[c] - 1);
        }
    }
    return 0;
}

static int read_file(struct reading *t)
{
    const struct wire_limits limits = {.max_message_bytes = 64u << 20,
                                       .max_rois = 65536,
                                       .max_items = 4u << 20,
                                       .max_layer = UINT8_MAX};
    struct roifile_reader *file = NULL;
    int r = roifile_open(t->c->o->rois_file, &file);

    if (r == 0)
        r = wire_decoder_new(&limits, &t->decoder);
    if (r == 0)
        r = take_all(t, file);
    if (r < 0 && !t->why[0])
        no(t, roifile_why(r));
    wire_decoder_free(t->decoder);
    if (file)
        roifile_close(file);
    return r;
}

static int new_sample(const struct plugin *p, struct sample **ret_sample)
{
    struct sample *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->n_inputs = p->n_inputs;
    s->max_layer = UINT8_MAX;
    memcpy(s->kind, p->consumes, p->n_inputs * sizeof *s->kind);
    *ret_sample = s;
    return 0;
}

int check_file_sample(const struct check *c, struct sample **ret_sample, char *why, size_t bytes)
{
    struct reading t = {.c = c, .why = why, .why_bytes = bytes};
    struct sample *arranged = NULL;
    int r = new_sample(c->plugin, &t.s);

    if (r == 0)
        r = new_sample(c->plugin, &arranged);
    if (r == 0) {
        t.s->info = calloc(ROIS_MAX, sizeof *t.s->info);
        t.s->source = calloc((size_t)ROIS_MAX * t.s->n_inputs, sizeof *t.s->source);
        r = t.s->info && t.s->source ? read_file(&t) : -ENOMEM;
    }
    if (r == 0 && !t.s->n)
        r = no(&t, "no RoI has what the plugin consumes in plain columns, with few enough items");
    if (r == 0)
        r = arrange(&t, arranged);
    if (r == 0) { /* the data moves along */
        arranged->data = t.s->data;
        t.s->data = NULL;
        *ret_sample = arranged;
        arranged = NULL;
    }
    sample_free(arranged);
    sample_free(t.s);
    return r;
}

const char *check_case_name(const struct check *c, uint32_t i)
{
    static const char *const of_file[SAMPLE_CASES] = {
        "an empty RoI", "the smallest RoI of the file", "the first RoI of the file",
        "the second RoI of the file", "the largest RoI of the file"};

    return c->o->rois_file ? of_file[i] : sample_case_name((enum sample_case)i);
}
