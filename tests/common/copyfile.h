/* SPDX-License-Identifier: Apache-2.0 */
/* copyfile.h - the bytes of one file over another, in place.  What fails here fails the test. */
#ifndef TRIGD_TEST_COPYFILE_H
#define TRIGD_TEST_COPYFILE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static inline void copy_file(const char *from, const char *to)
{
    char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}
#endif
