/* SPDX-License-Identifier: Apache-2.0 */
/* RoI files: what is written comes back, whatever happens to the file afterwards. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "roifile.h"
#include "roifiles.h"

static struct roifile_writer *create(const char *path)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct roifile_writer *w;

    header.version = 1;
    header.creator = (char *)"test";
    header.preset = (char *)"none";
    header.seed = 1ull << 63;
    assert_int_equal(roifile_create(path, &header, &w), 0);
    return w;
}

static int append(struct roifile_writer *w, uint32_t l1id, uint32_t n)
{
    unsigned char bytes[512];

    return roifile_append(w, bytes, batch_pack(l1id, n, bytes, sizeof bytes), n);
}

/* Records of 1, 2, 3, 1, 2, 3, ... RoIs. */
static void write_records(struct roifile_writer *w, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        assert_int_equal(append(w, 100 * i, 1 + i % 3), 0);
}

static void what_is_written_comes_back(void **state)
{
    struct place *p = *state;
    struct roifile_writer *w = create(p->path);
    struct roifile_reader *r;
    struct stat st;
    uint64_t records, rois;

    write_records(w, 0, 3000); /* more than the index begins with */
    assert_int_equal(roifile_finish(w), 0);
    assert_int_equal(roifile_open(p->path, &r), 0);
    assert_string_equal(roifile_header(r)->creator, "test");
    assert_true(roifile_header(r)->seed == 1ull << 63);
    assert_int_equal(roifile_totals(r, &records, &rois), 1);
    assert_int_equal(records, 3000);
    assert_int_equal(rois, 6000);
    assert_int_equal(records_read(r, 0, 3000), 0);
    assert_int_equal(records_read(r, 0, 0), 0); /* the end stays the end */
    roifile_rewind(r);
    assert_int_equal(records_read(r, 0, 3000), 0);
    roifile_close(r);
    assert_int_equal(stat(p->path, &st), 0);
    assert_true(st.st_size > 0);
}

static void a_file_without_rois_is_a_file(void **state)
{
    struct place *p = *state;
    struct roifile_reader *r;
    uint64_t records = 9, rois = 9;

    assert_int_equal(roifile_finish(create(p->path)), 0);
    assert_int_equal(roifile_open(p->path, &r), 0);
    assert_int_equal(roifile_totals(r, &records, &rois), 1);
    assert_int_equal(records, 0);
    assert_int_equal(rois, 0);
    assert_int_equal(records_read(r, 0, 0), 0);
    roifile_close(r);
}

static void wrong_calls_are_refused(void **state)
{
    struct place *p = *state;
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct roifile_writer *w = create(p->path), *other = NULL;
    struct roifile_reader *r = NULL;

    assert_int_equal(roifile_create(p->path, &header, &other), -EEXIST);
    assert_null(other);
    assert_int_equal(roifile_append(w, "", 0, 0), -EINVAL);
    assert_int_equal(roifile_finish(w), 0);
    assert_int_equal(roifile_finish(NULL), 0);
    assert_int_equal(roifile_open(p->folder, &r), -EISDIR);
    unlink(p->path);
    assert_int_equal(roifile_open(p->path, &r), -ENOENT);
    assert_null(r);
    roifile_close(NULL);
}

/* Cut after any byte: a file is refused within its header, else gives its whole records. */
static void a_file_may_be_cut_anywhere(void **state)
{
    struct place *p = *state;
    struct roifile_writer *w = create(p->path);
    uint64_t ends[6] = {roifile_bytes(w)};
    unsigned char bytes[2048];
    size_t n;

    for (uint32_t i = 0; i < 5; i++) {
        write_records(w, i, 1);
        ends[i + 1] = roifile_bytes(w);
    }
    assert_int_equal(roifile_finish(w), 0);
    n = file_load(p->path, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= n; cut++) {
        struct roifile_reader *r;
        uint64_t records, rois;
        uint32_t whole = 0;

        file_store(p->path, bytes, cut);
        if (cut < ends[0]) {
            assert_int_equal(roifile_open(p->path, &r), -EBADMSG);
            continue;
        }
        while (whole < 5 && ends[whole + 1] <= cut)
            whole++;
        assert_int_equal(roifile_open(p->path, &r), 0);
        assert_int_equal(roifile_totals(r, &records, &rois), cut == n);
        assert_int_equal(records_read(r, 0, whole), 0);
        roifile_close(r);
    }
}

/* Any byte of the end may be wrong: the records are there, and the totals are right or refused. */
static void a_damaged_index_costs_no_record(void **state)
{
    struct place *p = *state;
    struct roifile_writer *w = create(p->path);
    unsigned char bytes[2048];
    uint64_t end;
    size_t n, refused = 0;

    write_records(w, 0, 5);
    end = roifile_bytes(w);
    assert_int_equal(roifile_finish(w), 0);
    n = file_load(p->path, bytes, sizeof bytes);
    for (size_t at = end + 1; at < n; at++) { /* the zero byte itself is a length: see below */
        struct roifile_reader *r;
        uint64_t records = 0, rois = 0;
        int result;

        bytes[at] ^= 0x55;
        file_store(p->path, bytes, n);
        bytes[at] ^= 0x55;
        assert_int_equal(roifile_open(p->path, &r), 0);
        result = roifile_totals(r, &records, &rois);
        assert_true(result == 1 || result == 0 || result == -EBADMSG);
        refused += result != 1;
        assert_true(result != 1 || records == 5);
        assert_int_equal(records_read(r, 0, 5), 0);
        roifile_close(r);
    }
    assert_true(refused > (n - end) / 2); /* a wrong number of RoIs alone cannot be seen */
}

/* Writes the length of the second record anew. */
static int after_a_wrong_length(const struct place *p, const unsigned char *length, size_t length_n)
{
    struct roifile_writer *w = create(p->path);
    unsigned char bytes[2048];
    struct roifile_reader *r;
    uint64_t second;
    size_t n;
    int result;

    write_records(w, 0, 1);
    second = roifile_bytes(w);
    write_records(w, 1, 3);
    assert_int_equal(roifile_finish(w), 0);
    n = file_load(p->path, bytes, sizeof bytes);
    memcpy(bytes + second, length, length_n);
    file_store(p->path, bytes, n);
    assert_int_equal(roifile_open(p->path, &r), 0);
    result = records_read(r, 0, 1);
    roifile_close(r);
    unlink(p->path);
    return result;
}

static void a_damaged_record_is_told(void **state)
{
    static const unsigned char endless[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff, 0xff, 0xff};
    static const unsigned char huge[] = {0xff, 0xff, 0xff, 0xff, 0x7f}; /* 32 GiB */
    static const unsigned char beyond[] = {0xff, 0xff, 0x03};           /* longer than the file */

    assert_int_equal(after_a_wrong_length(*state, endless, sizeof endless), -EBADMSG);
    assert_int_equal(after_a_wrong_length(*state, huge, sizeof huge), -EBADMSG);
    assert_int_equal(after_a_wrong_length(*state, beyond, sizeof beyond), 0);
}

/* A header of n bytes of rubbish is refused. */
static void other_files_are_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "TRGROI",
                                        "TRGROI2\n\x02\x08\x01",
                                        "PK\x03\x04 and more",
                                        "TRGROI1\n\x03\xff\xff\xff",
                                        "TRGROI1\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    struct place *p = *state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct roifile_reader *r;

        file_store(p->path, (const unsigned char *)texts[i], strlen(texts[i]));
        assert_int_equal(roifile_open(p->path, &r), -EBADMSG);
    }
}

/* A reader that comes to the end before the writer does sees what is written later. */
static void a_reader_follows_the_writer(void **state)
{
    struct place *p = *state;
    struct roifile_writer *w = create(p->path);
    struct roifile_reader *r;

    assert_int_equal(roifile_open(p->path, &r), 0);
    assert_int_equal(records_read(r, 0, 0), 0);
    for (uint32_t i = 0; i < 200; i += 4) {
        write_records(w, i, 4);
        assert_int_equal(records_read(r, i, 4), 0);
    }
    assert_int_equal(roifile_finish(w), 0);
    assert_int_equal(records_read(r, 0, 0), 0);
    roifile_close(r);
}

/* No room for a record, wherever it stops: the file stays as it was, and goes on when there is
 * room again, also for a shorter record. */
static void a_full_disk_leaves_the_file_as_it_was(void **state)
{
    struct place *p = *state;
    struct roifile_reader *r;
    uint64_t before, whole;

    signal(SIGXFSZ, SIG_IGN);
    for (uint32_t missing = 1; missing < 40; missing++) {
        struct roifile_writer *w = create(p->path);
        struct stat st;

        write_records(w, 0, 5);
        before = roifile_bytes(w);
        write_records(w, 5, 1);
        whole = roifile_bytes(w) - before; /* of a record of three */
        before += whole;
        file_limit(before + (missing < whole ? whole - missing : 0));
        assert_true(append(w, 800, 3) < 0);
        assert_int_equal(roifile_bytes(w), before);
        assert_int_equal(stat(p->path, &st), 0);
        assert_int_equal(st.st_size, before);
        file_limit(RLIM_INFINITY);
        write_records(w, 6, 2);
        assert_int_equal(roifile_finish(w), 0);
        assert_int_equal(roifile_open(p->path, &r), 0);
        assert_int_equal(records_read(r, 0, 8), 0);
        roifile_close(r);
        unlink(p->path);
    }
}

/* No room for the header: no file is left; none for the end: the records are. */
static void a_full_disk_at_both_ends(void **state)
{
    struct place *p = *state;
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct roifile_writer *w = NULL;
    struct roifile_reader *r;
    uint64_t records, rois;

    header.version = 1;
    signal(SIGXFSZ, SIG_IGN);
    file_limit(9);
    assert_true(roifile_create(p->path, &header, &w) < 0);
    file_limit(RLIM_INFINITY);
    assert_null(w);
    assert_int_equal(access(p->path, F_OK), -1);
    w = create(p->path);
    write_records(w, 0, 7);
    file_limit(roifile_bytes(w) + 20);
    assert_true(roifile_finish(w) < 0);
    file_limit(RLIM_INFINITY);
    assert_int_equal(roifile_open(p->path, &r), 0);
    assert_int_equal(roifile_totals(r, &records, &rois), 0);
    assert_int_equal(records_read(r, 0, 7), 0);
    roifile_close(r);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_clear)
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_comes_back),
        CASE(a_file_without_rois_is_a_file),
        CASE(wrong_calls_are_refused),
        CASE(a_file_may_be_cut_anywhere),
        CASE(a_damaged_index_costs_no_record),
        CASE(a_damaged_record_is_told),
        CASE(other_files_are_refused),
        CASE(a_reader_follows_the_writer),
        CASE(a_full_disk_leaves_the_file_as_it_was),
        CASE(a_full_disk_at_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
