/* SPDX-License-Identifier: Apache-2.0 */
/* gen_kind.c - which collection the RoIs of a preset hold. */
#include "gen_bricks.h"
#include "generator.h"
#include "raw.collections.h"

static uint32_t declare(const struct trg_collection *c)
{
    uint32_t kind;
    char why[256];

    return kind_add(c, &kind, why, sizeof why) < 0 ? TRG_KIND_NONE : kind;
}

uint32_t generator_banks_kind(void)
{
    return declare(&trg_banks);
}

uint32_t generator_pixels_kind(void)
{
    return declare(&trg_pixels);
}

const struct trg_collection *generator_bricks(void)
{
    return &trg_bricks;
}

const struct trg_collection *generator_brick_values(void)
{
    return &trg_brick_values;
}

uint32_t generator_brick_kind(void)
{
    return declare(&trg_bricks) ? declare(&trg_brick_values) : TRG_KIND_NONE;
}

uint32_t generator_declared(uint32_t kind)
{
    uint32_t set = kind >= TRG_KIND_COUNT ? 1u << kind : 0;

    if (set && kind_info(kind)->hash == trg_brick_values.hash)
        set |= 1u << declare(&trg_bricks);
    return set;
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
    case GENERATOR_PIXEL_CHARGE:
        return generator_pixels_kind();
    case GENERATOR_PHANTOM:
    case GENERATOR_PHANTOM_TRUTH:
        return generator_brick_kind();
    default:
        return TRG_HITS;
    }
}
