/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all as an answer of the daemon: the client takes and refuses what protobuf-c does,
 * with the same contents. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unpacking.h"
#include "want.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_same(const Trigd__V1__FromDaemon *a, const Trigd__V1__FromDaemon *b)
{
    const size_t n = trigd__v1__from_daemon__get_packed_size(a);
    uint8_t *of_a = malloc(n + 1), *of_b = malloc(n + 1);

    WANT(of_a && of_b && trigd__v1__from_daemon__get_packed_size(b) == n);
    trigd__v1__from_daemon__pack(a, of_a);
    trigd__v1__from_daemon__pack(b, of_b);
    WANT(!memcmp(of_a, of_b, n));
    free(of_a);
    free(of_b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct scratch scratch;
    Trigd__V1__FromDaemon *want = trigd__v1__from_daemon__unpack(NULL, n, data), *got;
    const int r = unpacking_unpack(&scratch, data, n, &got);

    WANT(r == 0 || r == -EBADMSG);
    WANT(r < 0 || want);
    WANT(r == 0 || !want || scratch.is_overrun); /* more memory than a daemon's answers need */
    if (r == 0)
        check_same(want, got);
    if (want)
        trigd__v1__from_daemon__free_unpacked(want, NULL);
    return 0;
}
