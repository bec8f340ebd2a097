/* SPDX-License-Identifier: Apache-2.0 */
/* Each malformed input gets its code and its sentence; docs/protocol.md says the same. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "malformed.h"

#define POINTS 5u

static struct sample sample;

/* Decodes and checks the first RoI, as ingress does. */
static int decode(struct wire_decoder *d, const void *bytes, size_t n, struct wire_error *e)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_roi roi;
    int r = wire_decode(d, bytes, n, &m, e);

    if (r == 0 && m->body_case == TRIGD__V1__TO_DAEMON__BODY_BATCH)
        r = wire_roi(d, m->batch->rois[0], &roi, e);
    return r;
}

static int try_row(struct wire_decoder *d, const struct malformed *row, struct wire_error *e)
{
    size_t n = row->n;
    void *packed;
    int r;

    if (row->name)
        return wire_check_name(row->name, e);
    if (row->bytes)
        return decode(d, row->bytes, n, e);
    if (row->make) {
        const void *bytes = row->make(&n);

        return decode(d, bytes, n, e);
    }
    sample_init(&sample, POINTS);
    row->spoil(&sample);
    packed = sample_pack(&sample, &n);
    r = decode(d, packed, n, e);
    free(packed);
    return r;
}

static void is_refused(void **state)
{
    const struct malformed *row = *state;
    struct wire_decoder *d;
    struct wire_error e = {.code = TRIGD__V1__ERROR__CODE__NONE};
    size_t n;
    void *good;

    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    assert_int_equal(try_row(d, row, &e), -EBADMSG);
    assert_int_equal(e.code, row->code);
    assert_string_equal(e.text, row->text);

    /* and costs nothing but its own answer */
    sample_init(&sample, POINTS);
    good = sample_pack(&sample, &n);
    assert_int_equal(decode(d, good, n, &e), 0);
    free(good);
    wire_decoder_free(d);
}

static char *read_page(void)
{
    const char *root = getenv("TRIGD_SOURCE");
    char path[512], *text = calloc(1, 1u << 20);
    FILE *f;

    assert_non_null(root);
    assert_non_null(text);
    snprintf(path, sizeof path, "%s/docs/protocol.md", root);
    f = fopen(path, "r");
    if (!f)
        fail_msg("cannot read %s", path);
    assert_true(fread(text, 1, (1u << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Every row stands in the page, word for word, and the page has no other rows. */
static void the_page_says_so(void **state)
{
    char *page = read_page(), *at;
    size_t rows = 0;

    (void)state;
    for (size_t i = 0; i < n_malformed; i++) {
        const ProtobufCEnumValue *code = protobuf_c_enum_descriptor_get_value(
            &trigd__v1__error__code__descriptor, (int)malformed[i].code);
        char line[512];

        snprintf(line, sizeof line, "| %s | `%s` | %s |\n", malformed[i].what, code->name,
                 malformed[i].text);
        if (!strstr(page, line))
            fail_msg("docs/protocol.md lacks this line:\n%s", line);
    }
    at = strstr(page, "<!-- malformed -->");
    assert_non_null(at);
    while (at && (at = strchr(at + 1, '\n')) && strncmp(at, "\n<!-- end -->", 13) != 0)
        rows += at[1] == '|';
    free(page);
    assert_int_equal(rows, n_malformed + 2); /* and the two lines of the head */
}

int main(void)
{
    struct CMUnitTest *tests = calloc(n_malformed + 1, sizeof *tests);
    int r;

    if (!tests)
        return 1;
    for (size_t i = 0; i < n_malformed; i++)
        tests[i] = (struct CMUnitTest){.name = malformed[i].what,
                                       .test_func = is_refused,
                                       .initial_state = (void *)(uintptr_t)&malformed[i]};
    tests[n_malformed] = (struct CMUnitTest)cmocka_unit_test(the_page_says_so);
    r = _cmocka_run_group_tests("malformed", tests, n_malformed + 1, NULL, NULL);
    free(tests);
    return r;
}
