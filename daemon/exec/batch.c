/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int batch_open(struct trg_batch *b, uint32_t slot, const struct trg_roi_info *infos,
               uint32_t max_rois, const struct trg_plugin *p)
{
    *b = (struct trg_batch){.slot = slot, .rois = infos};
    b->results = calloc(max_rois, sizeof *b->results);
    if (!b->results)
        return -ENOMEM;
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX && p->produces[k]; k++) {
        b->outputs[k] = calloc(max_rois, sizeof *b->outputs[k]);
        if (!b->outputs[k])
            return -ENOMEM;
    }
    return 0;
}

void batch_close(struct trg_batch *b)
{
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
        free(b->outputs[k]);
    free(b->results);
}

/* ---------------------------------------------------------------- memory */

int batch_memory_open(struct trg_device *device, size_t bytes, struct batch_memory *m)
{
    struct trg_device_info info;
    int r = trg_buffer_new(device, TRG_MEM_PINNED, bytes, &m->host);

    trg_device_info(device, &info);
    m->dev = m->host;
    return r < 0 || info.is_host ? r : trg_buffer_new(device, TRG_MEM_DEVICE, bytes, &m->dev);
}

void batch_memory_close(struct batch_memory *m)
{
    if (m->dev != m->host)
        trg_buffer_free(m->dev);
    trg_buffer_free(m->host);
}

int batch_memory_write(const struct batch_memory *m, struct trg_queue *q, size_t bytes)
{
    return m->dev == m->host ? 0 : trg_write(q, m->dev, 0, m->host, 0, bytes);
}

int batch_table_load(struct batch_table *t, struct trg_queue *q, const struct trg_input *in,
                     uint64_t key, size_t bytes)
{
    t->key = key;
    t->in = *in;
    t->in.host = trg_buffer_host(t->memory.host);
    t->in.dev = t->memory.dev;
    return batch_memory_write(&t->memory, q, bytes);
}

void batch_give(struct trg_batch *b, uint32_t i, const struct batch_table *t)
{
    const bool is_given = t->in.collection != NULL;

    b->condition[i] = is_given ? t->in : (struct trg_input){.collection = NULL};
    b->condition_key[i] = is_given ? t->key : 0;
}

/* ---------------------------------------------------------------- work */

int batch_submit(const struct trg_plugin *p, struct trg_algo *a, struct trg_batch *b,
                 struct trg_queue *q)
{
    memset(b->results, 0, b->n_rois * sizeof *b->results);
    return p->submit(a, b, q);
}

int batch_flush(struct trg_queue *q, struct trg_event *reached)
{
    int r = trg_event_record(q, reached);

    return r < 0 ? r : trg_flush(q);
}
