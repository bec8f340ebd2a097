/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

void vx_slot_close(struct vx_slot *s)
{
    struct trg_buffer *all[] = {s->tracks,      s->sorted,   s->entry_z, s->entry_weight, s->cells,
                                s->grids,       s->bins,     s->counts,  s->seeds,        s->fits,
                                s->pv_of,       s->selected, s->labels,  s->matrix,       s->svs,
                                s->counts_host, s->pvs_host, s->svs_host};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        trg_buffer_free(all[i]);
    *s = (struct vx_slot){0};
}

int vx_slot_open(struct trg_device *device, const struct vx_par *par, uint32_t max_rois,
                 struct vx_slot *ret_slot)
{
    const size_t items = par->items_room, word = sizeof(uint32_t), n = max_rois;
    const size_t pvs = n * par->pv_room * sizeof(struct vx_vertex);
    const size_t svs = n * par->sv_room * sizeof(struct vx_vertex);
    struct vx_slot s = {0};
    const struct {
        enum trg_mem mem;
        size_t bytes;
        struct trg_buffer **buffer;
    } list[] = {
        {TRG_MEM_DEVICE, VX_COLUMNS * items * word, &s.tracks},
        /* on the host, loops over tracks look at fifteen more than there are */
        {TRG_MEM_DEVICE, (VX_COLUMNS * items + 15) * word, &s.sorted},
        {TRG_MEM_DEVICE, 2 * items * word, &s.entry_z},
        {TRG_MEM_DEVICE, items * word, &s.entry_weight},
        {TRG_MEM_DEVICE, n * (VX_CELLS + 1) * word, &s.cells},
        {TRG_MEM_DEVICE, n * sizeof(struct vx_grid), &s.grids},
        {TRG_MEM_DEVICE, n * par->bins_room * word, &s.bins},
        {TRG_MEM_DEVICE, n * sizeof(struct vx_counts), &s.counts},
        {TRG_MEM_DEVICE, pvs, &s.seeds},
        {TRG_MEM_DEVICE, pvs, &s.fits},
        {TRG_MEM_DEVICE, items * word, &s.pv_of},
        {TRG_MEM_DEVICE, items * word, &s.selected},
        {TRG_MEM_DEVICE, items * word, &s.labels},
        {TRG_MEM_DEVICE, items * par->words_room * word, &s.matrix},
        {TRG_MEM_DEVICE, svs, &s.svs},
        {TRG_MEM_PINNED, n * sizeof(struct vx_counts), &s.counts_host},
        {TRG_MEM_PINNED, pvs, &s.pvs_host},
        {TRG_MEM_PINNED, svs, &s.svs_host},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int r = trg_buffer_new(device, list[i].mem, list[i].bytes, list[i].buffer);

        if (r < 0) {
            vx_slot_close(&s);
            return r;
        }
    }
    *ret_slot = s;
    return 0;
}
