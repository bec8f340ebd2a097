/* SPDX-License-Identifier: Apache-2.0 */
#include "rois.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "declared.h"
#include "exec/sample.h"
#include "plugin/plugin_host.h"
#include "roifile.h"

#define ITEMS     256u /* most items of a collection */
#define MAX_LAYER 31u  /* what a daemon allows unless its configuration says otherwise */
#define RUN       1u

/* One RoI of the sample as Columns, whatever its collections are. */
static int append(struct roifile_writer *file, const struct sample *s, uint32_t i)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi m = TRIGD__V1__ROI__INIT, *list = &m;
    Trigd__V1__Columns columns[SAMPLE_INPUTS_MAX], *columns_list[SAMPLE_INPUTS_MAX];
    ProtobufCBinaryData column[SAMPLE_INPUTS_MAX][TRG_COLUMNS_MAX];
    const struct trg_roi_info *info = &s->info[i];
    void *packed;
    size_t bytes;
    int r;

    m.run = RUN;
    m.l1id = i + 1;
    m.roi_id = 0;
    m.bcid = info->bcid;
    m.lumi_block = info->lumi_block;
    m.l1_bits = info->l1_bits;
    m.eta = info->eta;
    m.phi_rad = info->phi_rad > 3.1415f ? 3.1415f : info->phi_rad;
    m.eta_half = info->eta_half;
    m.phi_half_rad = info->phi_half_rad;
    m.z_min_mm = info->z_min_mm;
    m.z_max_mm = info->z_max_mm;
    for (uint32_t k = 0; k < s->n_inputs; k++) {
        const struct trg_collection *declared = kind_info(s->kind[k]);
        const struct stage_source *source = sample_source(s, k, i);

        trigd__v1__columns__init(&columns[k]);
        columns[k].hash = declared->hash;
        columns[k].n_column = declared->n_columns;
        columns[k].column = column[k];
        for (uint32_t c = 0; c < declared->n_columns; c++)
            column[k][c] = (ProtobufCBinaryData){source->n * trg_column_bytes(&declared->column[c]),
                                                 (uint8_t *)(uintptr_t)source->column[c]};
        columns_list[k] = &columns[k];
    }
    m.n_columns = s->n_inputs;
    m.columns = columns_list;
    batch.n_rois = 1;
    batch.rois = &list;
    bytes = trigd__v1__roi_batch__get_packed_size(&batch);
    packed = malloc(bytes);
    if (!packed)
        return -ENOMEM;
    trigd__v1__roi_batch__pack(&batch, packed);
    r = roifile_append(file, packed, bytes, 1);
    free(packed);
    return r;
}

static int write_file(const struct rois_options *o, const struct plugin *p, const struct sample *s)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct roifile_writer *file;
    struct declared declared;
    uint32_t kinds = 0;
    int r, end;

    for (uint32_t k = 0; k < p->n_inputs; k++)
        kinds |= 1u << p->consumes[k];
    declared_fill(kinds, &declared);
    header.version = 1;
    header.creator = (char *)"trigctl make-rois";
    header.preset = (char *)p->d.name;
    header.seed = o->seed;
    header.n_collections = declared.n;
    header.collections = declared.list;
    r = roifile_create(o->out, &header, &file);
    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < o->n; i++)
        r = append(file, s, i % s->n);
    end = roifile_finish(file);
    return r < 0 ? r : end;
}

int rois_make(const struct rois_options *o)
{
    struct plugin_host *host = NULL;
    struct sample *s = NULL;
    const struct plugin *p;
    char why[512] = "";
    int r = plugin_host_new(NULL, 0, &host);

    if (r == 0)
        r = plugin_host_open(host, o->plugin, &p, why, sizeof why);
    if (r == 0) {
        const struct sample_setup setup = {
            .kinds = p->consumes,
            .n_inputs = p->n_inputs,
            .n_random = o->n > SAMPLE_CASES ? o->n - (uint32_t)SAMPLE_CASES : 0,
            .max_items = ITEMS,
            .max_layer = MAX_LAYER,
            .seed = o->seed};

        r = sample_new(&setup, &s);
    }
    if (r == 0)
        r = write_file(o, p, s);
    if (r < 0)
        fprintf(stderr, "trigctl: cannot make RoIs for %s in %s: %s\n", o->plugin, o->out,
                *why ? why : strerror(-r));
    sample_free(s);
    plugin_host_free(host);
    return r;
}
