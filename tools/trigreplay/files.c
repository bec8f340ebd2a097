/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "declared.h"
#include "encoding.h"
#include "generator.h"
#include "roifile.h"

#define SHOWN 10 /* RoIs that are printed one by one */

/* ---------------------------------------------------------------- generate */

/* Makes an RoI part of an event that `first` began. */
static void join(Trigd__V1__Roi *roi, const struct trg_roi_info *first, uint32_t part, uint32_t n)
{
    roi->run = first->run;
    roi->l1id = first->l1id;
    roi->bcid = first->bcid;
    roi->lumi_block = first->lumi_block;
    roi->l1_bits = first->l1_bits;
    roi->roi_id = part;
    roi->event_rois = n;
}

static int append(struct roifile_writer *w, const struct generated *g, enum layout layout,
                  uint32_t type, const struct trg_roi_info *first, uint32_t part,
                  uint32_t event_rois)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    struct layout_room room = {.n = 0};
    struct generated_message m;
    Trigd__V1__Roi *list = &m.roi;
    size_t n;
    void *bytes;
    int r;

    generated_message(g, &m);
    m.roi.type = type;
    if (event_rois)
        join(&m.roi, first, part, event_rois);
    r = layout_apply(layout, &m.roi, &room);
    if (r < 0) {
        layout_room_fini(&room);
        return r;
    }
    batch.n_rois = 1;
    batch.rois = &list;
    n = trigd__v1__roi_batch__get_packed_size(&batch);
    bytes = malloc(n);
    if (bytes)
        trigd__v1__roi_batch__pack(&batch, bytes);
    layout_room_fini(&room);
    r = bytes ? roifile_append(w, bytes, n, 1) : -ENOMEM;
    free(bytes);
    return r;
}

static int append_all(struct roifile_writer *w, const struct generator_preset *p, uint64_t seed,
                      uint64_t rois, enum layout layout, uint32_t type, uint32_t event_rois,
                      const _Atomic bool *stop)
{
    struct generated g;
    struct trg_roi_info first = {.run = 0};
    uint64_t i = 0, items = 0;
    uint32_t part = 0;
    int r = 0;

    generated_init(&g);
    for (; part || (i < rois && !atomic_load(stop)); i++) {
        r = generator_make(p, seed, i, &g);
        if (!part)
            first = g.info;
        if (r == 0)
            r = append(w, &g, layout, type, &first, part, event_rois);
        part = event_rois ? (part + 1) % event_rois : 0;
        if (r < 0)
            break;
        items += g.n;
    }
    printf("%llu RoIs of %s, seed %llu: %.1f %s an RoI, %.1f MB\n", (unsigned long long)i, p->name,
           (unsigned long long)seed, i ? (double)items / (double)i : 0,
           i ? kind_info(g.kind)->name : "items", (double)roifile_bytes(w) * 1e-6);
    generated_fini(&g);
    return r;
}

int files_generate(const char *path, const struct generator_preset *preset, uint64_t seed,
                   uint64_t rois, enum layout layout, uint32_t type, uint32_t event_rois,
                   const _Atomic bool *stop)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    const uint32_t kind = generator_kind(preset);
    struct roifile_writer *w = NULL;
    struct declared declared;
    int r, finished;

    if (!kind) {
        fprintf(stderr, "trigreplay: no memory for a declaration\n");
        return -ENOMEM;
    }
    declared_fill(generator_declared(kind), &declared);
    header.n_collections = declared.n;
    header.collections = declared.list;
    header.version = 1;
    header.creator = (char *)"trigreplay generate " TRIGD_VERSION;
    header.preset = (char *)preset->name;
    header.seed = seed;
    header.created_unix_s = (uint64_t)time(NULL);
    r = roifile_create(path, &header, &w);
    if (r == 0)
        r = append_all(w, preset, seed, rois, layout, type, event_rois, stop);
    finished = roifile_finish(w);
    if (r == 0)
        r = finished;
    if (r < 0)
        fprintf(stderr, "trigreplay: cannot write %s: %s\n", path, strerror(-r));
    return r;
}

/* ---------------------------------------------------------------- show */

/* The kind that an RoI's columns are of: trigd's own, or one that the header declares. */
static uint32_t find_kind(const Trigd__V1__FileHeader *h, uint64_t hash)
{
    uint32_t kind = kind_of_hash(hash);
    char why[256];

    for (size_t k = 0; !kind && k < h->n_collections; k++)
        if (h->collections[k]->hash == hash &&
            declared_add(h->collections[k], &kind, why, sizeof why) < 0)
            return TRG_KIND_NONE;
    return kind;
}

/* ", 56 towers" */
static void show_columns(const Trigd__V1__FileHeader *h, const Trigd__V1__Columns *c, FILE *out)
{
    const uint32_t kind = find_kind(h, c->hash);
    const bool is_encoded = c->n_encoded;

    if (kind && (is_encoded || c->n_column))
        fprintf(out, ", %zu %s%s",
                (is_encoded ? c->encoded : c->column)[0].len /
                    encoding_item_bytes(kind, is_encoded, 0),
                kind_info(kind)->name, is_encoded ? ", encoded" : "");
    else
        fprintf(out, ", columns of the unknown declaration %016llx", (unsigned long long)c->hash);
}

/* "; accepted by HLT_a, HLT_b" */
static void show_kept(const Trigd__V1__FileHeader *h, const Trigd__V1__Kept *k, FILE *out)
{
    const Trigd__V1__Decision *d = k->decision;

    if (k->n_products)
        fprintf(out, ", %zu products", k->n_products);
    if (k->reason[0])
        fprintf(out, "; %s", k->reason);
    else if (d)
        fprintf(out, "; %s", d->accept ? "accepted" : "rejected");
    for (size_t i = 0; d && i < d->n_chains; i++)
        fprintf(out, "%s %s", i ? "," : " by",
                d->chains[i] < h->n_chains ? h->chains[d->chains[i]] : "an unknown chain");
}

static void show_roi(const Trigd__V1__FileHeader *h, const Trigd__V1__Roi *r, FILE *out)
{
    fprintf(out, "  run %u l1id %u roi %u: eta %.3f +- %.2f, phi %.3f +- %.2f rad", r->run, r->l1id,
            r->roi_id, (double)r->eta, (double)r->eta_half, (double)r->phi_rad,
            (double)r->phi_half_rad);
    if (r->spacepoints)
        fprintf(out, ", %zu spacepoints", r->spacepoints->n_phi_rad);
    if (r->quantized_spacepoints)
        fprintf(out, ", %zu spacepoints, encoded", r->quantized_spacepoints->layer.len);
    if (r->hits)
        fprintf(out, ", %zu hits", r->hits->n_x_mm);
    if (r->tracks)
        fprintf(out, ", %zu tracks", r->tracks->n_x_mm);
    for (size_t k = 0; k < r->n_columns; k++)
        show_columns(h, r->columns[k], out);
    if (r->type)
        fprintf(out, ", type %u", r->type);
    if (r->event_rois > 1)
        fprintf(out, ", one of %u RoIs", r->event_rois);
    if (r->truth && r->truth->n_vertex_z_mm)
        fprintf(out, "; truth: %zu vertices, hard scatter at z %.3f mm", r->truth->n_vertex_z_mm,
                (double)r->truth->vertex_z_mm[0]);
    if (r->kept)
        show_kept(h, r->kept, out);
    fputc('\n', out);
}

static void show_header(const Trigd__V1__FileHeader *h, FILE *out)
{
    time_t created = (time_t)h->created_unix_s;
    struct tm tm;
    char text[40] = "at an unknown time";

    if (created && gmtime_r(&created, &tm))
        strftime(text, sizeof text, "at %Y-%m-%d %H:%M:%S UTC", &tm);
    fprintf(out, "by \"%s\" %s", h->creator, text);
    if (h->preset[0])
        fprintf(out, ", preset %s, seed %llu", h->preset, (unsigned long long)h->seed);
    if (h->stream[0])
        fprintf(out, ", stream %s, run %u, menu %016llx", h->stream, h->run,
                (unsigned long long)h->menu_key);
    if (h->has_lumi_block)
        fprintf(out, ", lumi block %u", h->lumi_block);
    fputc('\n', out);
    for (size_t k = 0; k < h->n_collections; k++) {
        const Trigd__V1__Collection *d = h->collections[k];

        fprintf(out, "  declares %s %016llx:", d->name, (unsigned long long)d->hash);
        for (size_t c = 0; c < d->n_columns; c++)
            fprintf(out, "%s %s%s%s", c ? "," : "", d->columns[c]->name,
                    d->columns[c]->unit[0] ? " " : "", d->columns[c]->unit);
        fputc('\n', out);
    }
}

struct shown {
    uint64_t records, rois, lost;
};

/* Goes through the records: all of them, or with `is_short` until enough RoIs were printed. */
static int show_records(struct roifile_reader *file, bool is_short, struct shown *s, FILE *out)
{
    const void *bytes;
    size_t n;
    int r = 0;

    while ((!is_short || s->rois < SHOWN) && (r = roifile_next(file, &bytes, &n)) == 1) {
        Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n, bytes);

        if (!b)
            return -EBADMSG;
        for (size_t i = 0; i < b->n_rois; i++)
            if (s->rois++ < SHOWN)
                show_roi(roifile_header(file), b->rois[i], out);
        trigd__v1__roi_batch__free_unpacked(b, NULL);
        s->records++;
    }
    return r < 0 ? r : 0;
}

int files_show(const char *path, FILE *out)
{
    struct roifile_reader *file;
    struct shown s = {0}, total = {0};
    int r = roifile_open(path, &file), has_index;

    if (r < 0) {
        fprintf(stderr, "trigreplay: cannot read %s: %s\n", path, roifile_why(r));
        return r;
    }
    show_header(roifile_header(file), out);
    has_index = roifile_totals(file, &total.records, &total.rois);
    r = show_records(file, has_index == 1, &s, out);
    if (has_index != 1)
        total = s;
    fprintf(out, "%llu RoIs in %llu records%s\n", (unsigned long long)total.rois,
            (unsigned long long)total.records,
            has_index == 1   ? ""
            : has_index == 0 ? " (the file was not closed)"
                             : " (bad index)");
    s.lost = roifile_lost(file);
    roifile_close(file);
    if (r < 0)
        fprintf(stderr, "trigreplay: %s is damaged behind record %llu\n", path,
                (unsigned long long)s.records);
    else if (s.lost)
        fprintf(stderr, "trigreplay: %s is damaged: %llu RoIs are left out\n", path,
                (unsigned long long)s.lost);
    return r < 0 ? r : s.lost || has_index < 0 ? -EBADMSG : 0;
}
