/* SPDX-License-Identifier: Apache-2.0 */
#include "rois.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roifile.h"

static int refuse(const struct testing_rois *all, const char *path, const char *why)
{
    fprintf(stderr, "testing: %s: RoI %u %s\n", path, all->n, why);
    return -EINVAL;
}

static const Trigd__V1__Columns *find(const Trigd__V1__Roi *m, uint64_t hash)
{
    for (size_t k = 0; k < m->n_columns; k++)
        if (m->columns[k]->hash == hash)
            return m->columns[k];
    return NULL;
}

/* One input of an RoI, whose columns must be of equal length. */
static bool take_input(const struct trg_collection *declared, const Trigd__V1__Columns *m,
                       struct trg_testing_items *ret_items)
{
    const size_t bytes = trg_column_bytes(&declared->column[0]);

    if (!bytes || m->n_column != declared->n_columns || m->column[0].len % bytes)
        return false;
    ret_items->n = (uint32_t)(m->column[0].len / bytes);
    for (uint32_t c = 0; c < declared->n_columns; c++) {
        if (m->column[c].len != ret_items->n * trg_column_bytes(&declared->column[c]))
            return false;
        ret_items->column[c] = m->column[c].data;
    }
    return true;
}

/* The plain columns of encoded ones; NULL: they do not fit the declaration, or no memory. */
static const Trigd__V1__Columns *decode(struct testing_rois *all, const Trigd__V1__Columns *m)
{
    struct recode **list = realloc(all->plain, (all->n_plain + 1) * sizeof *list);
    struct recode *plain = malloc(sizeof *plain);

    if (list)
        all->plain = list;
    if (!list || !plain) {
        free(plain);
        return NULL;
    }
    list[all->n_plain++] = plain;
    return recode_plain(m, plain) == 0 ? &plain->columns : NULL;
}

static int take_roi(struct testing_rois *all, const struct plugin *p, const Trigd__V1__Roi *m,
                    const char *path)
{
    struct trg_testing_roi *roi = &all->rois[all->n];

    *roi = (struct trg_testing_roi){.info = {m->run, m->l1id, m->roi_id, m->bcid, m->lumi_block,
                                             m->l1_bits, m->eta, m->phi_rad, m->eta_half,
                                             m->phi_half_rad, m->z_min_mm, m->z_max_mm}};
    for (uint32_t k = 0; k < p->n_inputs; k++) {
        const struct trg_collection *declared = kind_info(p->consumes[k]);
        const Trigd__V1__Columns *columns = find(m, declared->hash);

        if (!columns)
            return refuse(all, path, "does not hold an input of the plugin as Columns");
        if (columns->n_encoded)
            columns = decode(all, columns);
        if (!columns || !take_input(declared, columns, &roi->in[k]))
            return refuse(all, path, "has columns that do not fit the declaration");
    }
    all->n++;
    return 0;
}

static int take_batch(struct testing_rois *all, const struct plugin *p, const char *path,
                      const void *bytes, size_t n)
{
    Trigd__V1__RoiBatch *batch = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    void **messages = realloc(all->message, (all->n_messages + 1) * sizeof *messages);
    struct trg_testing_roi *rois = NULL;
    int r = 0;

    if (messages)
        all->message = messages;
    if (!batch || !messages) {
        if (batch)
            trigd__v1__roi_batch__free_unpacked(batch, NULL);
        return refuse(all, path, "cannot be unpacked");
    }
    all->message[all->n_messages++] = batch;
    rois = realloc(all->rois, (all->n + batch->n_rois) * sizeof *rois);
    if (!rois)
        return refuse(all, path, "has no room in memory");
    all->rois = rois;
    for (size_t i = 0; r == 0 && i < batch->n_rois; i++)
        r = take_roi(all, p, batch->rois[i], path);
    return r;
}

int testing_rois_read(struct testing_rois *all, const struct plugin *p, const char *path)
{
    struct roifile_reader *file;
    const void *bytes;
    size_t n;
    int r = roifile_open(path, &file), more;

    if (r < 0) {
        fprintf(stderr, "testing: %s: %s\n", path, strerror(-r));
        return r;
    }
    while ((more = roifile_next(file, &bytes, &n)) > 0 && r == 0)
        r = take_batch(all, p, path, bytes, n);
    if (r == 0 && more < 0)
        r = refuse(all, path, "is damaged");
    roifile_close(file);
    return r;
}

void testing_rois_fini(struct testing_rois *all)
{
    for (uint32_t i = 0; i < all->n_messages; i++)
        trigd__v1__roi_batch__free_unpacked(all->message[i], NULL);
    for (uint32_t i = 0; i < all->n_plain; i++) {
        recode_fini(all->plain[i]);
        free(all->plain[i]);
    }
    free(all->plain);
    free(all->message);
    free(all->rois);
    memset(all, 0, sizeof *all);
}
