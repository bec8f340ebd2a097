/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin against a naive tracker in double precision: the same tracks, but where rounding
 * decides about a hit at the edge of a cell or of a tolerance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "testing.h"

#include "agreement.h"

static void the_same_tracks(void **state)
{
    (void)state;
    check_agreement("paint", NULL, serial_find, 3, fresh_seed(), 0.98);
}

static void the_same_tracks_in_other_cells(void **state)
{
    (void)state;
    check_agreement("paint",
                    SETTINGS("n_theta", "24", "n_r", "20", "passes", "1", "distance_cells", "2",
                             "threshold", "4"),
                    serial_find, 3, fresh_seed(), 0.98);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_tracks),
        cmocka_unit_test(the_same_tracks_in_other_cells),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
