/* SPDX-License-Identifier: Apache-2.0 */
/* desk.h - what a work-group that looks for the peaks of one window shares in local memory.  All of
 * its work-items go through all functions together, since they meet at barriers. */
#ifndef HOUGH_DESK_H
#define HOUGH_DESK_H
#include "windows.h"

struct hg_desk {
    TRG_LOCAL trg_u32 *words; /* the cells */
    trg_u32 n_words;
    TRG_LOCAL trg_u32 *list; /* [HG_LIST]: peaks, see hg_note */
    TRG_LOCAL trg_u32 *raw;  /* [HG_RAW]: work that is shared out, see hg_search_hashed */
    TRG_LOCAL trg_u32 *n_list, *n_raw, *digest;
    trg_u32 lid, size; /* place of the work-item in its group, and the group's size */
};

/* A group's desk `d` with so many words for cells.  In a kernel's body, where alone local memory is
 * declared. */
#define HG_DESK(d, room)                                                               \
    TRG_SHARED trg_u32 words[room], list[HG_LIST], raw[HG_RAW], n_list, n_raw, digest; \
    struct hg_desk d;                                                                  \
    d.words = words;                                                                   \
    d.n_words = room;                                                                  \
    d.list = list;                                                                     \
    d.raw = raw;                                                                       \
    d.n_list = &n_list;                                                                \
    d.n_raw = &n_raw;                                                                  \
    d.digest = &digest;                                                                \
    d.lid = TRG_LID;                                                                   \
    d.size = TRG_LSIZE

/* A peak as one number, the stronger the larger: its count, then the lower place. */
TRG_FN void hg_note(const struct hg_desk d, trg_u32 count, trg_u32 place)
{
    const trg_u32 to = TRG_ATOMIC_ADD_LOCAL(d.n_list, 1u);

    if (to < HG_LIST)
        d.list[to] = (count < 16383u ? count : 16383u) << 18 | (262143u - place);
}

TRG_FN trg_u32 hg_place(trg_u32 noted)
{
    return 262143u - (noted & 262143u);
}

/* Begins a list of peaks. */
TRG_FN void hg_begin_list(const struct hg_desk d)
{
    TRG_BARRIER();
    if (d.lid == 0u) {
        *d.n_list = 0u;
        *d.digest = 0u;
    }
    TRG_BARRIER();
}

/* Where a window's peaks go. */
struct hg_found {
    TRG_GLOBAL trg_u32 *peaks;             /* [HG_LIST] */
    TRG_GLOBAL trg_u32 *n_peaks;           /* of the window */
    TRG_GLOBAL struct hg_summary *summary; /* of its RoI */
};

/* Of window number `at` of the batch. */
TRG_FN struct hg_found hg_found_in(TRG_GLOBAL trg_u32 *peaks, TRG_GLOBAL trg_u32 *n_peaks,
                                   TRG_GLOBAL struct hg_summary *summaries, const struct hg_par par,
                                   trg_u32 at)
{
    struct hg_found f;

    f.peaks = peaks + at * HG_LIST;
    f.n_peaks = n_peaks + at;
    f.summary = summaries + at / par.n_bins;
    return f;
}

/* Leaves the n peaks of the list in falling order, and says that there were `all`. */
TRG_FN void hg_hand_out(const struct hg_desk d, const struct hg_found f, trg_u32 pass, trg_u32 n,
                        trg_u32 all)
{
    for (trg_u32 i = d.lid; i < n; i += d.size) {
        trg_u32 rank = 0u;

        for (trg_u32 j = 0; j < n; j++)
            rank += d.list[j] > d.list[i] || (d.list[j] == d.list[i] && j < i);
        f.peaks[rank] = hg_place(d.list[i]);
    }
    if (d.lid == 0u) {
        *f.n_peaks = n;
        TRG_ATOMIC_ADD_GLOBAL(&f.summary->n_peaks, all);
        TRG_ATOMIC_ADD_GLOBAL(&f.summary->digest, *d.digest * (pass + 1u));
        if (all > n) {
            TRG_ATOMIC_ADD_GLOBAL(&f.summary->wanted, all);
            TRG_ATOMIC_ADD_GLOBAL(&f.summary->kept, n);
        }
    }
}
#endif
