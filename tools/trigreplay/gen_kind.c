/* SPDX-License-Identifier: Apache-2.0 */
/* gen_kind.c - which collection the RoIs of a preset hold. */
#include "generator.h"
#include "raw.collections.h"

uint32_t generator_banks_kind(void)
{
    uint32_t kind;
    char why[256];

    return kind_add(&trg_banks, &kind, why, sizeof why) < 0 ? TRG_KIND_NONE : kind;
}

uint32_t generator_kind(const struct generator_preset *preset)
{
    switch (preset->detector) {
    case GENERATOR_TOY:
        return TRG_SPACEPOINTS;
    case GENERATOR_VELO_TRACKS:
        return TRG_TRACKS;
    case GENERATOR_VELO_BANKS:
        return generator_banks_kind();
    default:
        return TRG_HITS;
    }
}
