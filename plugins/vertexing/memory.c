/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

int vx_slot_open(struct buffers *buffers, struct trg_device *device, const struct vx_par *par,
                 uint32_t max_rois, struct vx_slot *ret_slot)
{
    const size_t items = par->items_room, word = sizeof(uint32_t), n = max_rois;
    const size_t places = vx_place(par->items_room, max_rois);
    const size_t vertices = places * sizeof(struct vx_vertex);
    const size_t answer = places * VX_OUT_WORDS * word;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, VX_COLUMNS * items * word, &ret_slot->tracks},
        /* on the host, loops over tracks look at fifteen more than there are */
        {TRG_MEM_DEVICE, (VX_COLUMNS * items + 15) * word, &ret_slot->sorted},
        {TRG_MEM_DEVICE, 2 * items * word, &ret_slot->entry_z},
        {TRG_MEM_DEVICE, items * word, &ret_slot->entry_weight},
        {TRG_MEM_DEVICE, n * (VX_CELLS + 1) * word, &ret_slot->cells},
        {TRG_MEM_DEVICE, n * sizeof(struct vx_grid), &ret_slot->grids},
        {TRG_MEM_DEVICE, n * par->bins_room * word, &ret_slot->bins},
        {TRG_MEM_DEVICE, n * sizeof(struct vx_counts), &ret_slot->counts},
        {TRG_MEM_DEVICE, vertices, &ret_slot->seeds},
        {TRG_MEM_DEVICE, vertices, &ret_slot->fits},
        {TRG_MEM_DEVICE, items * word, &ret_slot->pv_of},
        {TRG_MEM_DEVICE, items * word, &ret_slot->selected},
        {TRG_MEM_DEVICE, items * word, &ret_slot->labels},
        {TRG_MEM_DEVICE, items * par->words_room * word, &ret_slot->matrix},
        {TRG_MEM_DEVICE, vertices, &ret_slot->svs},
        {TRG_MEM_DEVICE, answer, &ret_slot->answer},
        {TRG_MEM_DEVICE, word, &ret_slot->n_rows},
        {TRG_MEM_PINNED, n * sizeof(struct vx_counts), &ret_slot->counts_host},
        {TRG_MEM_PINNED, answer, &ret_slot->answer_host},
    };

    return buffers_new(buffers, device, list, sizeof list / sizeof *list);
}
