/* SPDX-License-Identifier: Apache-2.0 */
/* RoI files in blocks: what is written comes back, whatever happens to writer, disk and file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "block.h"
#include "blockfile.h"
#include "roifiles.h"

#define FILE_ROOM 65536

static struct blockfile_writer *create(const char *path, uint32_t level)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct blockfile_writer *w;

    header.version = 2;
    header.creator = (char *)"test";
    header.stream = (char *)"physics";
    header.menu_key = UINT64_MAX - 1;
    assert_int_equal(blockfile_create(path, &header, level, &w), 0);
    return w;
}

/* Records of 1, 2, 3, 1, 2, 3, ... RoIs, not written yet. */
static void add_records(struct blockfile_writer *w, uint32_t first, uint32_t n)
{
    unsigned char bytes[512];

    for (uint32_t i = first; i < first + n; i++)
        assert_int_equal(
            blockfile_add(w, bytes, batch_pack(100 * i, 1 + i % 3, bytes, sizeof bytes), 1 + i % 3),
            0);
}

/* n blocks of three records, which are six RoIs. */
static void write_blocks(struct blockfile_writer *w, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        add_records(w, 3 * i, 3);
        assert_int_equal(blockfile_flush(w), 0);
        assert_int_equal(blockfile_gathered(w), 0);
    }
}

/* Wants the first `blocks` blocks of write_blocks, and with `has_end` the totals. */
static void check_file(const char *path, uint32_t blocks, bool has_end)
{
    uint64_t n_blocks = 99, rois = 99;
    struct roifile_reader *r;

    assert_int_equal(roifile_open(path, &r), 0);
    assert_string_equal(roifile_header(r)->stream, "physics");
    assert_true(roifile_header(r)->menu_key == UINT64_MAX - 1);
    assert_int_equal(roifile_totals(r, &n_blocks, &rois), has_end);
    if (has_end) {
        assert_int_equal(n_blocks, blocks);
        assert_int_equal(rois, 6 * blocks);
    }
    assert_int_equal(records_read(r, 0, 3 * blocks), 0);
    roifile_rewind(r);
    assert_int_equal(records_read(r, 0, 3 * blocks), 0);
    assert_int_equal(roifile_lost(r), 0);
    roifile_close(r);
}

static void what_is_written_comes_back(void **state)
{
    struct place *p = *state;

    for (uint32_t level = 0; level <= BLOCKFILE_LEVEL_MAX; level += 3) {
        struct blockfile_writer *w = create(p->path, level);

        write_blocks(w, 0, 200);
        assert_int_equal(blockfile_rois(w), 1200);
        assert_int_equal(blockfile_sync(w), 0);
        add_records(w, 0, 1); /* not written: gone */
        assert_int_equal(blockfile_finish(w), 0);
        check_file(p->path, 200, true);
        unlink(p->path);
    }
}

/* A block that compresses is smaller; one that does not is stored as it is. */
static void compression_never_makes_it_larger(void **state)
{
    struct place *p = *state;
    unsigned char same[4096], noise[4096];
    struct blockfile_writer *w = create(p->path, 3);
    uint64_t before = blockfile_bytes(w);
    uint32_t x = 1;

    memset(same, 7, sizeof same);
    assert_int_equal(blockfile_add(w, same, sizeof same, 1), 0);
    assert_int_equal(blockfile_flush(w), 0);
    assert_true(blockfile_bytes(w) - before < sizeof same / 8);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)((x = x * 1664525 + 1013904223) >> 24);
    before = blockfile_bytes(w);
    assert_int_equal(blockfile_add(w, noise, sizeof noise, 1), 0);
    assert_int_equal(blockfile_flush(w), 0);
    assert_int_equal(blockfile_bytes(w) - before, BLOCK_HEAD + 2 + sizeof noise);
    assert_int_equal(blockfile_finish(w), 0);
}

static void wrong_calls_are_refused(void **state)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct blockfile_writer *w, *other = NULL;
    struct blockfile_recovery done;
    struct place *p = *state;

    w = create(p->path, 1);
    assert_int_equal(blockfile_create(p->path, &header, 1, &other), -EEXIST);
    assert_int_equal(access(p->path, F_OK), 0);
    assert_int_equal(blockfile_add(w, "", 0, 0), -EINVAL);
    assert_int_equal(blockfile_recover(p->path, &done), -EBUSY); /* its writer lives */
    assert_int_equal(blockfile_finish(w), 0);
    assert_int_equal(blockfile_finish(NULL), 0);
    unlink(p->path);
    assert_int_equal(blockfile_recover(p->path, &done), -ENOENT);
    file_store(p->path, (const unsigned char *)"TRGROI1\nand more", 16);
    assert_int_equal(blockfile_recover(p->path, &done), -EBADMSG);
}

/* Cut after any byte, and with rubbish behind the cut: whole blocks are read, and the file is whole
 * after its recovery. */
static void a_file_may_be_cut_anywhere(void **state)
{
    struct place *p = *state;
    struct blockfile_writer *w = create(p->path, 3);
    uint64_t ends[6] = {blockfile_bytes(w)};
    unsigned char bytes[FILE_ROOM];
    size_t n;

    for (uint32_t i = 0; i < 5; i++) {
        write_blocks(w, i, 1);
        ends[i + 1] = blockfile_bytes(w);
    }
    assert_int_equal(blockfile_finish(w), 0);
    n = file_load(p->path, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= n; cut++) {
        struct blockfile_recovery done = {0};
        uint32_t whole = 0;

        file_store(p->path, bytes, cut);
        if (cut < ends[0]) {
            struct roifile_reader *r;

            assert_int_equal(roifile_open(p->path, &r), -EBADMSG);
            assert_int_equal(blockfile_recover(p->path, &done), -EBADMSG);
            continue;
        }
        while (whole < 5 && ends[whole + 1] <= cut)
            whole++;
        check_file(p->path, whole, cut == n);
        assert_int_equal(blockfile_recover(p->path, &done), 0);
        assert_int_equal(done.rois, 6 * whole);
        assert_int_equal(done.was_whole, cut == n);
        assert_int_equal(done.cut_bytes, cut == n ? 0 : cut - ends[whole]);
        check_file(p->path, whole, true);
    }
}

/* Blocks that the power failure left as zeros. */
static void rubbish_at_the_end_is_cut_off(void **state)
{
    struct place *p = *state;
    struct blockfile_writer *w = create(p->path, 3);
    struct blockfile_recovery done = {0};
    unsigned char bytes[FILE_ROOM] = {0};
    uint64_t end;

    write_blocks(w, 0, 4);
    end = blockfile_bytes(w);
    assert_int_equal(blockfile_finish(w), 0);
    file_load(p->path, bytes, sizeof bytes);
    memset(bytes + end, 0, 5000);
    file_store(p->path, bytes, end + 5000);
    assert_int_equal(blockfile_recover(p->path, &done), 0);
    assert_int_equal(done.rois, 24);
    assert_int_equal(done.cut_bytes, 5000);
    check_file(p->path, 4, true);
}

/* Any bit of a block may be wrong: its RoIs are left out, the others are read; nothing is cut off
 * in front of whole blocks. */
static void a_damaged_block_costs_its_own_rois(void **state)
{
    struct place *p = *state;
    struct blockfile_writer *w = create(p->path, 3);
    unsigned char bytes[FILE_ROOM];
    uint64_t from, to;
    size_t n;

    write_blocks(w, 0, 1);
    from = blockfile_bytes(w);
    write_blocks(w, 1, 1);
    to = blockfile_bytes(w);
    write_blocks(w, 2, 1);
    assert_int_equal(blockfile_finish(w), 0);
    n = file_load(p->path, bytes, sizeof bytes);
    for (uint64_t at = from; at < to; at++) {
        struct blockfile_recovery done;
        struct roifile_reader *r;
        const void *record;
        uint64_t rois = 0;
        size_t size;
        int result;

        bytes[at] ^= 0x10;
        file_store(p->path, bytes, n - 1); /* as if its end was not written */
        bytes[at] ^= 0x10;
        assert_int_equal(roifile_open(p->path, &r), 0);
        while ((result = roifile_next(r, &record, &size)) == 1)
            rois++;
        if (at < from + BLOCK_HEAD) { /* where the next one begins is not known */
            assert_int_equal(result, -EBADMSG);
            assert_int_equal(rois, 3);
        } else {
            assert_int_equal(result, 0);
            assert_int_equal(rois, 6);
            assert_int_equal(roifile_lost(r), 6);
        }
        roifile_close(r);
        assert_int_equal(blockfile_recover(p->path, &done), -EBADMSG);
    }
}

/* The head is right and the contents are not those of a block: a liar, not the disk. */
static void a_block_that_lies_is_left_out(void **state)
{
    struct place *p = *state;
    unsigned char bytes[FILE_ROOM], head[BLOCK_HEAD];
    static const unsigned char endless[] = {0xff, 0xff, 0xff, 0xff}, beyond[] = {5, 1, 2};
    const struct {
        struct block b;
        const void *contents;
        int result;
    } lies[] = {
        {{.kind = BLOCK_RECORDS, .codec = BLOCK_ZSTD, .bytes = 4, .unpacked = 9}, endless, 0},
        {{.kind = BLOCK_RECORDS, .bytes = 4, .unpacked = 4}, endless, -EBADMSG},
        {{.kind = BLOCK_RECORDS, .bytes = 3, .unpacked = 3}, beyond, -EBADMSG},
        {{.kind = BLOCK_HEADER, .bytes = 3, .unpacked = 3}, beyond, -EBADMSG},
    };
    struct blockfile_writer *w = create(p->path, 0);
    const uint64_t n = blockfile_bytes(w);

    assert_int_equal(blockfile_finish(w), 0);
    file_load(p->path, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct block b = lies[i].b;
        struct roifile_reader *r;

        block_seal(&b, lies[i].contents, head);
        memcpy(bytes + n, head, sizeof head);
        memcpy(bytes + n + sizeof head, lies[i].contents, b.bytes);
        file_store(p->path, bytes, n + sizeof head + b.bytes);
        assert_int_equal(roifile_open(p->path, &r), 0);
        assert_int_equal(records_read(r, 0, 0), lies[i].result);
        roifile_close(r);
    }
}

static void a_reader_follows_the_writer(void **state)
{
    struct place *p = *state;
    struct blockfile_writer *w = create(p->path, 1);
    struct roifile_reader *r;

    assert_int_equal(roifile_open(p->path, &r), 0);
    assert_int_equal(records_read(r, 0, 0), 0);
    for (uint32_t i = 0; i < 40; i += 2) {
        write_blocks(w, i, 2);
        assert_int_equal(records_read(r, 3 * i, 6), 0);
    }
    assert_int_equal(blockfile_finish(w), 0);
    assert_int_equal(records_read(r, 0, 0), 0);
    roifile_close(r);
}

/* No room for a block, wherever it stops: file and block stay as they were, and are written when
 * there is room. */
static void a_full_disk_leaves_file_and_block(void **state)
{
    struct place *p = *state;

    signal(SIGXFSZ, SIG_IGN);
    for (uint32_t room = 0; room < BLOCK_HEAD + 40; room += 3) {
        struct blockfile_writer *w = create(p->path, 3);
        struct stat st;
        uint64_t before;

        write_blocks(w, 0, 2);
        before = blockfile_bytes(w);
        add_records(w, 6, 3);
        file_limit(before + room);
        assert_true(blockfile_flush(w) < 0);
        assert_int_equal(blockfile_bytes(w), before);
        assert_int_equal(stat(p->path, &st), 0);
        assert_int_equal(st.st_size, before);
        file_limit(RLIM_INFINITY);
        if (room % 2) { /* given up */
            blockfile_drop(w);
            write_blocks(w, 2, 1);
        } else {
            assert_int_equal(blockfile_flush(w), 0);
        }
        assert_int_equal(blockfile_finish(w), 0);
        check_file(p->path, 3, true);
        unlink(p->path);
    }
}

/* No room for the header: no file is left; none for the end: recovery writes it. */
static void a_full_disk_at_both_ends(void **state)
{
    struct place *p = *state;
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct blockfile_recovery done = {0};
    struct blockfile_writer *w = NULL;

    signal(SIGXFSZ, SIG_IGN);
    file_limit(9);
    assert_true(blockfile_create(p->path, &header, 3, &w) < 0);
    file_limit(RLIM_INFINITY);
    assert_null(w);
    assert_int_equal(access(p->path, F_OK), -1);
    w = create(p->path, 3);
    write_blocks(w, 0, 7);
    file_limit(blockfile_bytes(w) + 20);
    assert_true(blockfile_finish(w) < 0);
    file_limit(RLIM_INFINITY);
    check_file(p->path, 7, false);
    assert_int_equal(blockfile_recover(p->path, &done), 0);
    assert_int_equal(done.rois, 42);
    check_file(p->path, 7, true);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_clear)
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_comes_back),        CASE(compression_never_makes_it_larger),
        CASE(wrong_calls_are_refused),           CASE(a_file_may_be_cut_anywhere),
        CASE(rubbish_at_the_end_is_cut_off),     CASE(a_damaged_block_costs_its_own_rois),
        CASE(a_block_that_lies_is_left_out),     CASE(a_reader_follows_the_writer),
        CASE(a_full_disk_leaves_file_and_block), CASE(a_full_disk_at_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
