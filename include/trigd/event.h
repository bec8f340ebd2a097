/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/event.h - the data of an RoI as algorithms see it: typed SoA collections.
 *
 * A collection is a set of columns of equal length.  The table below gives their order, types and
 * units to the decoder, the lanes, the RoI files and the documentation.  Columns are only
 * appended, numbers of kinds never reused.
 */
#ifndef TRG_EVENT_H
#define TRG_EVENT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRG_COLUMNS_MAX 16 /* columns in one collection */

enum trg_kind {
    TRG_KIND_NONE = 0,
    TRG_SPACEPOINTS = 1,
    TRG_HITS = 2,
    TRG_TRACKS = 3,
    TRG_DOUBLETS = 4,
    TRG_VERTICES = 5,
    TRG_PATHS = 6,
    TRG_VOXELS = 7,
    TRG_KIND_COUNT
};

enum trg_type { TRG_U8 = 1, TRG_U16 = 2, TRG_U32 = 3, TRG_I32 = 4, TRG_F32 = 5 };

/* In column "type" of vertices.  A column that a plugin does not fill is 0. */
enum trg_vertex_type { TRG_PRIMARY = 0, TRG_SECONDARY = 1 };

#define TRG_NO_HIT 0xffffffffu /* in the hit columns of paths */

struct trg_column_info {
    const char *name;
    const char *unit; /* "mm", "rad", "GeV", "ns", or "" for a plain number */
    enum trg_type type;
};

struct trg_kind_info {
    const char *name; /* as config, menu and messages spell it */
    uint32_t n_columns;
    struct trg_column_info column[TRG_COLUMNS_MAX];
};

/* Identity of an RoI and its window of the detector.  Plain 4-byte members, so that the host,
 * CUDA and OpenCL agree on the layout (kernel.h repeats it for the device). */
struct trg_roi_info {
    uint32_t run, l1id, roi_id, bcid, lumi_block;
    uint32_t l1_bits;   /* level-1 trigger items that fired */
    float eta, phi_rad; /* centre of the window */
    float eta_half;     /* half width in eta */
    float phi_half_rad; /* half width in phi; >= pi means the full circle */
    float z_min_mm, z_max_mm;
};

/* Bytes of one element of a column; 0 for an unknown type. */
static inline size_t trg_type_size(enum trg_type type)
{
    switch (type) {
    case TRG_U8:
        return 1;
    case TRG_U16:
        return 2;
    case TRG_U32:
    case TRG_I32:
    case TRG_F32:
        return 4;
    }
    return 0;
}

/* The table entry of a kind; NULL for TRG_KIND_NONE and unknown numbers. */
static inline const struct trg_kind_info *trg_kind_info(enum trg_kind kind)
{
    static const struct trg_kind_info table[TRG_KIND_COUNT] = {
        {0, 0, {{0, 0, TRG_U8}}},
        {"spacepoints",
         4,
         {{"phi", "rad", TRG_F32},
          {"rho", "mm", TRG_F32},
          {"z", "mm", TRG_F32},
          {"layer", "", TRG_U8}}},
        {"hits",
         5,
         {{"x", "mm", TRG_F32},
          {"y", "mm", TRG_F32},
          {"z", "mm", TRG_F32},
          {"layer", "", TRG_U16},
          {"id", "", TRG_U32}}},
        {"tracks",
         11,
         {{"x", "mm", TRG_F32},
          {"y", "mm", TRG_F32},
          {"z", "mm", TRG_F32},
          {"tx", "", TRG_F32},
          {"ty", "", TRG_F32},
          {"var_x", "mm^2", TRG_F32},
          {"var_tx", "", TRG_F32},
          {"cov_x_tx", "mm", TRG_F32},
          {"chi2", "", TRG_F32},
          {"qop", "1/GeV", TRG_F32},
          {"n_hits", "", TRG_U32}}},
        /* hits of the RoI by number */
        {"doublets", 2, {{"inner", "", TRG_U32}, {"outer", "", TRG_U32}}},
        {"vertices",
         16,
         {{"x", "mm", TRG_F32},
          {"y", "mm", TRG_F32},
          {"z", "mm", TRG_F32},
          {"weight", "", TRG_F32},
          {"var_x", "mm^2", TRG_F32},
          {"var_y", "mm^2", TRG_F32},
          {"var_z", "mm^2", TRG_F32},
          {"cov_xy", "mm^2", TRG_F32},
          {"cov_xz", "mm^2", TRG_F32},
          {"cov_yz", "mm^2", TRG_F32},
          {"chi2", "", TRG_F32},
          {"n_tracks", "", TRG_U32},
          {"type", "", TRG_U32}, /* enum trg_vertex_type */
          {"flight", "mm", TRG_F32},
          {"flight_significance", "", TRG_F32},
          {"mass", "GeV", TRG_F32}}},
        {"paths",
         16,
         {{"n_hits", "", TRG_U32},
          {"hit0", "", TRG_U32}, /* hits of the RoI by number, from the inside out */
          {"hit1", "", TRG_U32}, /* TRG_NO_HIT in the columns from n_hits on */
          {"hit2", "", TRG_U32},
          {"hit3", "", TRG_U32},
          {"hit4", "", TRG_U32},
          {"hit5", "", TRG_U32},
          {"hit6", "", TRG_U32},
          {"hit7", "", TRG_U32},
          {"pt", "GeV", TRG_F32}, /* with the sign of the charge */
          {"phi", "rad", TRG_F32},
          {"cot_theta", "", TRG_F32},
          {"d0", "mm", TRG_F32},
          {"z0", "mm", TRG_F32},
          {"chi2", "", TRG_F32},
          {"hit8", "", TRG_U32}}}, /* of paths of nine hits */
        {"voxels", 1, {{"value", "", TRG_F32}}},
    };
    if (kind <= TRG_KIND_NONE || kind >= TRG_KIND_COUNT)
        return NULL;
    return &table[kind];
}

/* Bytes of one item, all columns together; 0 for an unknown kind. */
static inline size_t trg_item_size(enum trg_kind kind)
{
    const struct trg_kind_info *info = trg_kind_info(kind);
    size_t bytes = 0;

    for (uint32_t c = 0; info && c < info->n_columns; c++)
        bytes += trg_type_size(info->column[c].type);
    return bytes;
}

#ifdef __cplusplus
}
#endif
#endif
