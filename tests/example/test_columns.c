/* SPDX-License-Identifier: Apache-2.0 */
/* The named columns of kernel.h are those of the table in event.h: place and type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kinds.h"
#include "trigd/kernel.h"

static unsigned char data[1024];
static const struct trg_span span = {
    .offsets = 512, .column = {0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176}};

static void names_are_those_of_the_table(void **state)
{
    const struct {
        uint32_t kind;
        const char *name;
        const void *at;
        size_t bytes;
    } columns[] = {
        {TRG_SPACEPOINTS, "phi", (const void *)TRG_SPACEPOINTS_PHI(data, span),
         sizeof *TRG_SPACEPOINTS_PHI(data, span)},
        {TRG_SPACEPOINTS, "rho", (const void *)TRG_SPACEPOINTS_RHO(data, span),
         sizeof *TRG_SPACEPOINTS_RHO(data, span)},
        {TRG_SPACEPOINTS, "z", (const void *)TRG_SPACEPOINTS_Z(data, span),
         sizeof *TRG_SPACEPOINTS_Z(data, span)},
        {TRG_SPACEPOINTS, "layer", (const void *)TRG_SPACEPOINTS_LAYER(data, span),
         sizeof *TRG_SPACEPOINTS_LAYER(data, span)},
        {TRG_HITS, "x", (const void *)TRG_HITS_X(data, span), sizeof *TRG_HITS_X(data, span)},
        {TRG_HITS, "y", (const void *)TRG_HITS_Y(data, span), sizeof *TRG_HITS_Y(data, span)},
        {TRG_HITS, "z", (const void *)TRG_HITS_Z(data, span), sizeof *TRG_HITS_Z(data, span)},
        {TRG_HITS, "layer", (const void *)TRG_HITS_LAYER(data, span),
         sizeof *TRG_HITS_LAYER(data, span)},
        {TRG_HITS, "id", (const void *)TRG_HITS_ID(data, span), sizeof *TRG_HITS_ID(data, span)},
        {TRG_TRACKS, "x", (const void *)TRG_TRACKS_X(data, span), sizeof *TRG_TRACKS_X(data, span)},
        {TRG_TRACKS, "y", (const void *)TRG_TRACKS_Y(data, span), sizeof *TRG_TRACKS_Y(data, span)},
        {TRG_TRACKS, "z", (const void *)TRG_TRACKS_Z(data, span), sizeof *TRG_TRACKS_Z(data, span)},
        {TRG_TRACKS, "tx", (const void *)TRG_TRACKS_TX(data, span),
         sizeof *TRG_TRACKS_TX(data, span)},
        {TRG_TRACKS, "ty", (const void *)TRG_TRACKS_TY(data, span),
         sizeof *TRG_TRACKS_TY(data, span)},
        {TRG_TRACKS, "var_x", (const void *)TRG_TRACKS_VAR_X(data, span),
         sizeof *TRG_TRACKS_VAR_X(data, span)},
        {TRG_TRACKS, "var_tx", (const void *)TRG_TRACKS_VAR_TX(data, span),
         sizeof *TRG_TRACKS_VAR_TX(data, span)},
        {TRG_TRACKS, "cov_x_tx", (const void *)TRG_TRACKS_COV_X_TX(data, span),
         sizeof *TRG_TRACKS_COV_X_TX(data, span)},
        {TRG_TRACKS, "chi2", (const void *)TRG_TRACKS_CHI2(data, span),
         sizeof *TRG_TRACKS_CHI2(data, span)},
        {TRG_TRACKS, "qop", (const void *)TRG_TRACKS_QOP(data, span),
         sizeof *TRG_TRACKS_QOP(data, span)},
        {TRG_TRACKS, "n_hits", (const void *)TRG_TRACKS_N_HITS(data, span),
         sizeof *TRG_TRACKS_N_HITS(data, span)},
        {TRG_DOUBLETS, "inner", (const void *)TRG_DOUBLETS_INNER(data, span),
         sizeof *TRG_DOUBLETS_INNER(data, span)},
        {TRG_DOUBLETS, "outer", (const void *)TRG_DOUBLETS_OUTER(data, span),
         sizeof *TRG_DOUBLETS_OUTER(data, span)},
        {TRG_VOXELS, "value", (const void *)TRG_VOXELS_VALUE(data, span),
         sizeof *TRG_VOXELS_VALUE(data, span)},
    };
    uint32_t n[TRG_KIND_COUNT] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct trg_collection *info = kind_info(columns[i].kind);
        const uint32_t c = n[columns[i].kind]++;

        assert_true(c < info->n_columns);
        assert_string_equal(columns[i].name, info->column[c].name);
        assert_int_equal(columns[i].bytes, trg_column_bytes(&info->column[c]));
        assert_ptr_equal(columns[i].at, data + span.column[c]);
    }
    for (uint32_t k = TRG_KIND_NONE; k < TRG_KIND_COUNT; k++)
        if (n[k]) /* all columns of it or none */
            assert_int_equal(n[k], kind_info(k)->n_columns);
}

static void items_of_an_roi(void **state)
{
    const uint32_t offsets[] = {0, 3, 3, 10};

    (void)state;
    memcpy(data + span.offsets, offsets, sizeof offsets);
    assert_int_equal(TRG_BEGIN(data, span, 2), 3);
    assert_int_equal(TRG_END(data, span, 2), 10);
    assert_int_equal(TRG_END(data, span, 1), TRG_BEGIN(data, span, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_those_of_the_table),
                                       cmocka_unit_test(items_of_an_roi)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
