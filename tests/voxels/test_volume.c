/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes in files: NIfTI-1 in both byte orders, gzip, raw, MetaImage; what is refused and with
 * which sentence. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "volume.h"

#define OFFSET 360 /* not 352: vox_offset counts */

static void put_short(unsigned char *at, int value, bool swap)
{
    at[swap ? 1 : 0] = (unsigned char)(value & 255);
    at[swap ? 0 : 1] = (unsigned char)(value >> 8 & 255);
}

static void make_header(unsigned char *h, int datatype, bool swap)
{
    static const int dim[] = {3, 4, 3, 2, 1, 1, 1, 1};
    const float offset = OFFSET;
    unsigned char bytes[4];

    memset(h, 0, OFFSET);
    put_short(h + (swap ? 2 : 0), 348, swap);
    for (int i = 0; i < 8; i++)
        put_short(h + 40 + 2 * (size_t)i, dim[i], swap);
    put_short(h + 70, datatype, swap);
    memcpy(bytes, &offset, 4);
    for (int i = 0; i < 4; i++)
        h[108 + i] = bytes[swap ? 3 - i : i];
    memcpy(h + 344, "n+1", 4);
}

static char path[64];

static void write_file(const unsigned char *bytes, size_t n, bool gzip)
{
    snprintf(path, sizeof path, "/tmp/trigd-volume-%d.nii%s", (int)getpid(), gzip ? ".gz" : "");
    if (gzip) {
        gzFile f = gzopen(path, "wb");

        assert_non_null(f);
        assert_int_equal(gzwrite(f, bytes, (unsigned)n), n);
        assert_int_equal(gzclose(f), Z_OK);
    } else {
        FILE *f = fopen(path, "wb");

        assert_non_null(f);
        assert_int_equal(fwrite(bytes, 1, n, f), n);
        assert_int_equal(fclose(f), 0);
    }
}

static void expect_refused(const char *sentence)
{
    char why[512] = "", whole[512];
    struct vox_volume v;

    assert_true(vox_volume_open(path, NULL, &v, why, sizeof why) < 0);
    snprintf(whole, sizeof whole, "%s: %s", path, sentence);
    assert_string_equal(why, whole);
    unlink(path);
}

static void test_read(void **state)
{
    static const int types[] = {2, 4, 512};

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        const int type = types[i % 3];
        const bool swap = i / 3 % 2, gzip = i / 6;
        unsigned char file[OFFSET + 48], planes[24];
        char why[256] = "";
        struct vox_volume v;

        make_header(file, type, swap);
        for (int k = 0; k < 24; k++)
            if (type == 2)
                file[OFFSET + k] = (unsigned char)(10 * k);
            else
                put_short(file + OFFSET + 2 * (size_t)k, 1000 * k - (type == 4 ? 9000 : 0), swap);
        write_file(file, OFFSET + (type == 2 ? 24 : 48), gzip);
        if (vox_volume_open(path, NULL, &v, why, sizeof why) < 0)
            fail_msg("%s", why);
        unlink(path);
        assert_int_equal(v.n[0] + 10 * v.n[1] + 100 * v.n[2], 234);
        assert_int_equal(v.value_bytes, type == 2 ? 1 : 2);
        assert_int_equal(v.is_signed, type == 4);
        assert_int_equal(v.is_mapped, !gzip);
        vox_volume_planes(&v, 1, 1, planes); /* voxels 12 .. 23 */
        for (int k = 0; k < 12; k++)
            if (type == 2)
                assert_int_equal(planes[k], 10 * (12 + k));
            else
                assert_int_equal((int16_t)(planes[2 * k] | planes[2 * k + 1] << 8),
                                 1000 * (12 + k) - (type == 4 ? 9000 : 0));
        vox_volume_close(&v);
    }
}

static void test_refused(void **state)
{
    unsigned char file[OFFSET + 24];

    (void)state;
    make_header(file, 2, false);
    write_file(file, OFFSET + 23, false);
    expect_refused(
        "it is truncated: 4 x 3 x 2 voxels need 24 bytes behind byte 360, and it has 383 in "
        "all");
    write_file(file, 100, false);
    expect_refused("it is shorter than a NIfTI-1 header, 348 bytes");
    make_header(file, 16, false);
    write_file(file, sizeof file, false);
    expect_refused("its datatype is not uint8 (2), int16 (4) or uint16 (512)");
    make_header(file, 2, false);
    put_short(file + 40, 4, false);
    put_short(file + 48, 5, false);
    write_file(file, sizeof file, true);
    expect_refused("it holds more than one volume");
    make_header(file, 2, false);
    memcpy(file + 344, "ni1", 4);
    write_file(file, sizeof file, false);
    expect_refused("its voxels are in another file (.img); a single .nii is allowed");
    make_header(file, 2, false);
    put_short(file + 42, -4, false);
    write_file(file, sizeof file, false);
    expect_refused("one of its dimensions is not positive");
    file[0] = 7;
    write_file(file, sizeof file, false);
    expect_refused("it is not NIfTI-1: it does not begin with 348");
    make_header(file, 2, false);
    memset(file + 108, 0, 4);
    write_file(file, sizeof file, false);
    expect_refused("its vox_offset is not within 348 .. 16777216");
    snprintf(path, sizeof path, "/does/not/exist.nii");
    expect_refused("No such file or directory");
}

static void test_raw(void **state)
{
    static const struct vox_volume fits = {.n = {4, 3, 2}, .value_bytes = 1},
                                   more = {.n = {4, 3, 3}, .value_bytes = 1};
    unsigned char file[24] = {0};
    struct vox_volume v;
    char why[512] = "";

    (void)state;
    file[23] = 77;
    write_file(file, sizeof file, false);
    assert_int_equal(vox_volume_open(path, &fits, &v, why, sizeof why), 0);
    assert_int_equal(v.values[23], 77);
    vox_volume_close(&v);
    assert_int_equal(vox_volume_open(path, &more, &v, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "it is truncated: 4 x 3 x 3 voxels need 36 bytes"));
    unlink(path);
}

/* ---------------------------------------------------------------- MetaImage */

static void write_text(const char *name, const char *text, const unsigned char *behind, size_t n)
{
    FILE *f;

    snprintf(path, sizeof path, "/tmp/trigd-volume-%d%s", (int)getpid(), name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(n ? fwrite(behind, 1, n, f) : 0, n);
    assert_int_equal(fclose(f), 0);
}

/* Voxels of 16 bits with the high byte first, behind the header and in a file beside it. */
static void test_metaimage(void **state)
{
    static const unsigned char voxels[] = {0x01, 0x02, 0x03, 0x04, 0xff, 0xfe, 0x00, 0x07};
    static const int16_t want[] = {0x0102, 0x0304, -2, 7};
    char header[300], raw[64], why[256] = "";
    unsigned char row[8];
    struct vox_volume v;

    (void)state;
    for (int beside = 0; beside < 2; beside++) {
        write_text(".raw", "", voxels, sizeof voxels);
        memcpy(raw, path, sizeof raw);
        snprintf(header, sizeof header,
                 "ObjectType = Image\nNDims = 3\nDimSize = 2 1 2\r\nElementSpacing = 1 1 1\n"
                 "ElementByteOrderMSB = True\nElementType = MET_SHORT\nElementDataFile = %s\n",
                 beside ? raw + strlen("/tmp/") : "LOCAL");
        write_text(beside ? ".mhd" : ".mha", header, voxels, beside ? 0 : sizeof voxels);
        if (vox_volume_open(path, NULL, &v, why, sizeof why) < 0)
            fail_msg("%s", why);
        assert_true(v.n[0] == 2 && v.n[1] == 1 && v.n[2] == 2 && v.is_signed);
        for (uint32_t z = 0; z < 2; z++) {
            vox_volume_row(&v, 1, 0, z, 1, row);
            assert_int_equal((int16_t)(row[0] | row[1] << 8), want[2 * z + 1]);
            vox_volume_row(&v, 0, 0, z, 2, row);
            assert_int_equal((int16_t)(row[0] | row[1] << 8), want[2 * z]);
        }
        vox_volume_close(&v);
        unlink(path);
        unlink(raw);
    }
}

static void test_metaimage_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"NDims = 2\n", "NDims is '2'; 3 is allowed"},
        {"DimSize = 4 0 2\n", "DimSize is '4 0 2'; three numbers from 1 to 99999 are allowed"},
        {"DimSize = 4 4\n", "DimSize is '4 4'; three numbers from 1 to 99999 are allowed"},
        {"ElementType = MET_FLOAT\n",
         "ElementType is 'MET_FLOAT'; MET_UCHAR, MET_SHORT and MET_USHORT are allowed"},
        {"CompressedData = True\n",
         "CompressedData is 'True'; False is allowed: voxels are read as "
         "they lie in the file"},
        {"ElementDataFile = ../a\n", "ElementDataFile is '../a'; LOCAL, or the name of one file in "
                                     "the same folder is allowed"},
        {"hello\n", "it is not MetaImage: 'hello' is not KEY = VALUE"},
        {"DimSize = 2 2 2\nElementDataFile = LOCAL\n", "its header has no ElementType"},
        {"DimSize = 2 2 2\nElementType = MET_UCHAR\n", "its header has no ElementDataFile"},
        {"DimSize = 2 2 2\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n",
         "it is truncated: 2 x 2 x 2 voxels need 8 bytes behind byte 64, and it has 64 in all"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(".mha", wrong[i].text, NULL, 0);
        expect_refused(wrong[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_raw), cmocka_unit_test(test_metaimage),
                                       cmocka_unit_test(test_metaimage_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
