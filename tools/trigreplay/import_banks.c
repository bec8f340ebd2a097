/* SPDX-License-Identifier: Apache-2.0 */
/* Raw banks of LHCb's vertex detector: files RUN_EVENT.bin of 32-bit little-endian words.
 *
 *     number of banks; where each begins, and where the last ends, in bytes behind this table;
 *     each bank: number of its sensor, number of its words, the words
 *
 * The collisions are read from RUN_EVENT-pvs.csv beside the file or in the folder above. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_store.h"
#include "import.h"

#define FILE_MAX   ((long)64 << 20) /* bytes */
#define SENSOR_MAX UINT16_MAX
#define GEOMETRY   "velo_geometry.bin" /* of the same folder: where the sensors are */

struct file {
    struct import *im;
    const char *path;
    unsigned char *bytes;
    size_t n;
};

static uint32_t word_at(const struct file *f, size_t at)
{
    const unsigned char *b = f->bytes + at;

    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int load(struct file *f)
{
    FILE *in = fopen(f->path, "rb");
    long n = -1;

    if (!in)
        return import_fail(f->im, -errno, "%s: cannot be read: %s", f->path, strerror(errno));
    if (fseek(in, 0, SEEK_END) == 0)
        n = ftell(in);
    if (n >= 0 && n <= FILE_MAX && fseek(in, 0, SEEK_SET) == 0) {
        f->bytes = malloc((size_t)n + 1);
        f->n = f->bytes ? fread(f->bytes, 1, (size_t)n, in) : 0;
    }
    fclose(in);
    if (n > FILE_MAX)
        return import_fail(f->im, -EFBIG, "%s: %ld bytes; at most %ld are allowed", f->path, n,
                           FILE_MAX);
    if (n < 0 || !f->bytes || f->n != (size_t)n)
        return import_fail(f->im, -EIO, "%s: cannot be read", f->path);
    return 0;
}

/* Bank i: its words are in [at, end). */
static int read_bank(struct file *f, uint32_t i, size_t at, size_t end)
{
    uint32_t sensor, n;
    int r = 0;

    if (at > end || end > f->n || end - at < 8)
        return import_fail(f->im, -EBADMSG, "%s: bank %u does not lie within the file", f->path, i);
    sensor = word_at(f, at);
    n = word_at(f, at + 4);
    if (sensor > SENSOR_MAX || n != (end - at - 8) / 4 || (end - at) % 4)
        return import_fail(f->im, -EBADMSG,
                           "%s: bank %u says %u words of sensor %u, and has %zu bytes; sensors up "
                           "to %u are allowed",
                           f->path, i, n, sensor, end - at - 8, SENSOR_MAX);
    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = store_bank(&f->im->g, sensor, word_at(f, at + 8 + 4 * (size_t)k), GENERATOR_NOISE);
    return r < 0 ? import_fail(f->im, r, "%s: no memory", f->path) : 0;
}

static int read_banks(struct file *f)
{
    const uint32_t n = f->n >= 4 ? word_at(f, 0) : 0;
    const size_t table = 4 + 4 * ((size_t)n + 1);
    int r = 0;

    if (f->n < 8 || table > f->n)
        return import_fail(f->im, -EBADMSG, "%s: %zu bytes, too few for the table of %u banks",
                           f->path, f->n, n);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = read_bank(f, i, table + word_at(f, 4 + 4 * (size_t)i),
                      table + word_at(f, 8 + 4 * (size_t)i));
    return r;
}

/* The file of the collisions: beside this one, or in the folder above. */
static int find_pvs(const char *path, char *ret, size_t room)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char above[4096];

    if (import_sibling(path, ".bin", "-pvs.csv", ret, room) == 0)
        return 0;
    if ((size_t)snprintf(above, sizeof above, "%.*s../%s", (int)(name - path), path, name) >=
        sizeof above)
        return -ENAMETOOLONG;
    return import_sibling(above, ".bin", "-pvs.csv", ret, room);
}

int import_banks(struct import *im, const char *path)
{
    struct file f = {.im = im, .path = path};
    const char *slash = strrchr(path, '/');
    char pvs[4096];
    int r;

    if (!strcmp(slash ? slash + 1 : path, GEOMETRY))
        return 0;
    if (!generator_banks_kind())
        return import_fail(im, -ENOMEM, "%s: no memory", path);
    import_begin(im, generator_banks_kind(), import_run(path), import_number(path));
    r = load(&f);
    if (r == 0)
        r = read_banks(&f);
    free(f.bytes);
    if (r == 0 && find_pvs(path, pvs, sizeof pvs) == 0) {
        r = import_lhcb_pvs(im, pvs);
        im->has_truth = r == 0;
    }
    return r < 0 ? r : import_emit(im);
}
