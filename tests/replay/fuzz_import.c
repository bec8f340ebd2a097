/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as the files of an event in FUZZ_FORMAT, one after the other with a
 * line "====" between.  A refusal has a sentence that names a file; what is taken has numbers that
 * are finite, and a truth whose parts belong together. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import.h"
#include "want.h"

#define PARTS_MAX 3
#define SEPARATOR "====\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *format, *file[PARTS_MAX];
} formats[] = {{"velopix", {"a.json", NULL, NULL}},
               {"lhcb-csv", {"1_2-hits.csv", "1_2-pvs.csv", "1_2-particles.csv"}},
               {"lhcb-banks", {"1_2.bin", "1_2-pvs.csv", NULL}},
               {"pixels", {"1_2-pixels.csv", NULL, NULL}},
               {"trackml", {"e3-hits.csv", "e3-truth.csv", "e3-particles.csv"}},
               {"spacepoints", {"e4-spacepoint.csv", "e4-measurements.csv", NULL}},
               {"tracks", {"e5-tracks.csv", "e5-vertices.csv", NULL}},
               {"particles", {"a.csv", NULL, NULL}},
               {"nifti", {"a.nii", NULL, NULL}},
               {"metaimage", {"a.mha", NULL, NULL}}};
static char folder[64]; /* one for the whole run */

static void path_of(char *path, size_t room, const char *file)
{
    snprintf(path, room, "%s/%s", folder, file);
}

static void put(const char *file, const uint8_t *data, size_t size)
{
    char path[128];
    FILE *out;

    path_of(path, sizeof path, file);
    out = fopen(path, "wb");
    WANT(out != NULL);
    WANT(fwrite(data, 1, size, out) == size);
    WANT(fclose(out) == 0);
}

/* Writes the parts of the input as files; a part that is not there is no file. */
static void put_all(const char *const *file, const uint8_t *data, size_t size)
{
    for (int i = 0; i < PARTS_MAX && file[i]; i++) {
        const uint8_t *end = memmem(data, size, SEPARATOR, strlen(SEPARATOR));
        size_t n = end && i + 1 < PARTS_MAX && file[i + 1] ? (size_t)(end - data) : size;

        put(file[i], data, n);
        if (n == size)
            return;
        data += n + strlen(SEPARATOR);
        size -= n + strlen(SEPARATOR);
    }
}

static void remove_all(const char *const *file)
{
    char path[128];

    for (int i = 0; i < PARTS_MAX && file[i]; i++) {
        path_of(path, sizeof path, file[i]);
        unlink(path);
    }
}

static void check_numbers(const struct generated *g)
{
    const struct trg_collection *kind = kind_info(g->kind);

    for (uint32_t c = 0; c < kind->n_columns; c++)
        for (uint32_t i = 0; kind->column[c].type == TRG_F32 && i < g->n; i++)
            WANT(isfinite(((const float *)generated_column(g, c))[i]));
    for (uint32_t i = 0; i < g->n_particles; i++)
        WANT(isfinite(g->pt[i]) && isfinite(g->eta[i]) && isfinite(g->phi0[i]) &&
             isfinite(g->d0[i]) && isfinite(g->z0[i]));
    for (uint32_t i = 0; i < g->n_vertices; i++)
        WANT(isfinite(g->vertex_x[i]) && isfinite(g->vertex_y[i]) && isfinite(g->vertex_z[i]));
}

static void check_event(const struct generated *g)
{
    check_numbers(g);
    for (uint32_t i = 0; generated_has_particles(g) && i < g->n; i++)
        WANT(g->particle[i] == GENERATOR_NOISE || g->particle[i] < g->n_particles);
    for (uint32_t i = 0; i < g->n_particles; i++)
        WANT(g->particle_vertex[i] == GENERATOR_NONE || g->particle_vertex[i] < g->n_vertices);
    for (uint32_t i = 0; i < g->n_vertices; i++)
        WANT(g->vertex_parent[i] == GENERATOR_NONE || g->vertex_parent[i] < i);
}

static void read_event(const char *format, const char *preset, const char *file)
{
    struct import im;
    char path[128];
    int r;

    path_of(path, sizeof path, file);
    import_init(&im);
    im.preset = generator_find(preset);
    im.volume.width = 100; /* of 16 bits */
    r = import_find(format)->read(&im, path);
    if (r < 0)
        WANT(strncmp(im.problem.text, folder, strlen(folder)) == 0 &&
             strlen(im.problem.text) < sizeof im.problem.text - 1);
    else if (im.rois)
        check_event(&im.g);
    import_fini(&im);
}

static void remove_folder(void)
{
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/fuzz-import-XXXXXX");
        WANT(mkdtemp(folder) != NULL);
        WANT(atexit(remove_folder) == 0);
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].format, FUZZ_FORMAT) != 0)
            continue;
        put_all(formats[i].file, data, size);
        read_event(FUZZ_FORMAT, "velo", formats[i].file[0]);
        if (!strcmp(FUZZ_FORMAT, "particles"))
            read_event(FUZZ_FORMAT, "pixel", formats[i].file[0]);
        remove_all(formats[i].file);
    }
    return 0;
}
