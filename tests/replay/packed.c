/* SPDX-License-Identifier: Apache-2.0 */
#include "packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "encode.h"

#define MOST 8u

size_t packed(const struct source *s, const struct pick *picks, uint32_t n,
              unsigned char **ret_bytes)
{
    struct flight flight[MOST], *list[MOST];
    size_t sizes[MOST], bytes;

    assert_in_range(n, 1, MOST);
    for (uint32_t i = 0; i < n; i++) {
        const struct source_roi *r = &s->roi[picks[i].which];

        flight[i] = (struct flight){
            .roi = {.info.l1id = picks[i].l1id, .packed = r->bytes, .packed_bytes = r->n},
            .token = picks[i].token,
            .is_repeat = picks[i].is_repeat};
        list[i] = &flight[i];
    }
    bytes = encode_size(list, n, sizes);
    *ret_bytes = malloc(bytes);
    assert_non_null(*ret_bytes);
    encode_message(list, sizes, n, *ret_bytes);
    return bytes;
}
