/* SPDX-License-Identifier: Apache-2.0 */
/* Raw banks: files of LHCb's vertex detector in and out, and what the generator writes into them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "export.h"
#include "folder.h"
#include "imports.h"
#include "seed.h"

#define FILE_MAX 65536

static char *path_in(const struct place *p, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    return path;
}

static void write_words(struct place *p, const char *name, const uint32_t *word, size_t n)
{
    FILE *f = fopen(path_in(p, name), "wb");

    assert_true(f && p->n_files < FILES_MAX);
    assert_int_equal(fwrite(word, 4, n, f), n);
    assert_int_equal(fclose(f), 0);
    p->file[p->n_files++] = strdup(path_in(p, name));
}

static size_t read_bytes(const char *path, unsigned char *bytes)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(bytes, 1, FILE_MAX, f);
    fclose(f);
    return n;
}

/* Three banks: two words of sensor 5, none of sensor 6, one of sensor 200. */
static const uint32_t three[] = {3, 0, 16, 24, 36, 5, 2, 0x4112, 0x80008203, 6, 0, 200, 1, 0x7fff};
#define THREE (sizeof three / sizeof *three)

static void banks_become_items(void **state)
{
    static const uint8_t sensors[] = {5, 0, 5, 0, 200, 0};
    static const uint32_t words[] = {0x4112, 0x80008203, 0x7fff};
    struct place *p = *state;
    const Trigd__V1__Roi *r;

    write_words(p, "77_12.bin", three, THREE);
    put(p, "77_12-pvs.csv", "n_tracks,x_mm,y_mm,z_mm\n9,0.5,-0.25,40\n");
    imports(p, "lhcb-banks", p->file[0]);
    assert_int_equal(p->n, 1);
    r = roi(p, 0);
    assert_int_equal(r->run, 77);
    assert_int_equal(r->l1id, 12);
    assert_null(r->hits);
    assert_int_equal(r->n_columns, 1);
    assert_int_equal(r->columns[0]->hash, kind_info(generator_banks_kind())->hash);
    assert_int_equal(r->columns[0]->n_column, 2);
    assert_int_equal(r->columns[0]->column[0].len, sizeof sensors);
    assert_memory_equal(r->columns[0]->column[0].data, sensors, sizeof sensors);
    assert_int_equal(r->columns[0]->column[1].len, sizeof words);
    assert_memory_equal(r->columns[0]->column[1].data, words, sizeof words);
    assert_int_equal(r->truth->n_vertex_z_mm, 1);
    assert_int_equal(r->truth->vertex_tracks[0], 9);
    assert_int_equal(r->truth->n_item_particle, 0);
}

static void damaged_files_get_a_sentence(void **state)
{
    static const struct {
        uint32_t word[8];
        size_t n;
        const char *sentence;
    } bad[] = {{{0}, 1, "4 bytes, too few for the table of 0 banks"},
               {{9, 0, 8}, 3, "too few for the table of 9 banks"},
               {{0xffffffff, 0}, 2, "too few for the table of 4294967295 banks"},
               {{1, 0, 16, 5, 2, 1}, 6, "bank 0 does not lie within the file"},
               {{1, 8, 0, 5, 0}, 5, "bank 0 does not lie within the file"},
               {{1, 0, 4, 5}, 4, "bank 0 does not lie within the file"},
               {{1, 0, 12, 5, 2, 1}, 6, "bank 0 says 2 words of sensor 5, and has 4 bytes"},
               {{1, 0, 12, 65536, 1, 1}, 6, "sensors up to 65535 are allowed"}};
    struct place *p = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_words(p, "1_2.bin", bad[i].word, bad[i].n);
        refuses(p, "lhcb-banks", p->file[0], bad[i].sentence);
        forget(p);
    }
    refuses(p, "lhcb-banks", path_in(p, "none.bin"), "cannot be read");
}

/* ---------------------------------------------------------------- out */

/* What is exported has a bank for each of the 208 sensors; imported and exported again it is the
 * same to the byte. */
static void export_and_import_are_opposites(void **state)
{
    struct place *p = *state;
    unsigned char *first = malloc(FILE_MAX), *second = malloc(FILE_MAX);
    char folder[256], file[300];
    size_t n;

    assert_true(first && second);
    write_words(p, "77_12.bin", three, THREE);
    imports(p, "lhcb-banks", p->file[0]);
    snprintf(folder, sizeof folder, "%s/out", p->folder);
    snprintf(file, sizeof file, "%s/77_12.bin", folder);
    assert_int_equal(export_banks(p->out, folder), 1);
    assert_int_equal(export_banks(p->out, folder), -EEXIST);
    n = read_bytes(file, first);
    assert_int_equal(n, 4 * (2 + 208 + 2 * 208 + 3));
    forget(p);
    imports(p, "lhcb-banks", file);
    assert_int_equal(roi(p, 0)->columns[0]->column[1].len, 12);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(export_banks(p->out, folder), 1);
    assert_int_equal(read_bytes(file, second), n);
    assert_memory_equal(first, second, n);
    assert_int_equal(folder_remove(folder), 0);
    free(first);
    free(second);
}

static void rois_without_banks_are_not_exported(void **state)
{
    struct place *p = *state;

    put(p, "a.json", "{\"module_prefix_sum\":[0,0],\"x\":[],\"y\":[],\"z\":[]}");
    imports(p, "velopix", p->file[0]);
    assert_int_equal(export_banks(p->out, p->folder), -ENODATA);
}

/* ---------------------------------------------------------------- the generator */

static bool are_near(uint32_t a, uint32_t b)
{
    const int dc = (int)(a >> 14 & 511) - (int)(b >> 14 & 511);
    const int dr = (int)(a >> 8 & 63) - (int)(b >> 8 & 63);

    return abs(dc) <= 1 && abs(dr) <= 1;
}

/* Words are in the order of a readout, none is there twice, and bit 31 tells the truth. */
static void generated_words_are_a_readout(void **state)
{
    const struct generator_preset *preset = generator_find("velo-banks");
    struct generated g;

    (void)state;
    generated_init(&g);
    assert_int_equal(generator_make(preset, fresh_seed(), 0, &g), 0);
    assert_int_equal(g.kind, generator_banks_kind());
    assert_true(g.n > 100);
    for (uint32_t i = 0; i < g.n; i++) {
        const uint32_t word = g.banks.word[i], key = word & 0x7fff00u;
        bool has_neighbour = false;

        assert_true(g.banks.sensor[i] < 208 && (word >> 14 & 511) < 384);
        assert_true(word & 255);
        assert_int_equal(word >> 23 & 255, 0);
        if (i && g.banks.sensor[i] == g.banks.sensor[i - 1])
            assert_true((g.banks.word[i - 1] & 0x7fff00u) < key);
        else if (i)
            assert_true(g.banks.sensor[i - 1] < g.banks.sensor[i]);
        for (uint32_t k = 0; k < g.n && !has_neighbour; k++)
            has_neighbour =
                k != i && g.banks.sensor[k] == g.banks.sensor[i] && are_near(word, g.banks.word[k]);
        assert_int_equal(word >> 31, !has_neighbour);
        assert_true(g.particle[i] == GENERATOR_NOISE || g.particle[i] < g.n_particles);
    }
    generated_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(banks_become_items),
        IN_PLACE(damaged_files_get_a_sentence),
        IN_PLACE(export_and_import_are_opposites),
        IN_PLACE(rois_without_banks_are_not_exported),
        cmocka_unit_test(generated_words_are_a_readout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
