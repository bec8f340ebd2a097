/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "declared.h"
#include "generator.h"
#include "roifile.h"

#define SENSORS 208u /* LHCb's files have a bank of each, also of those without words */

struct banks { /* of an RoI: columns of its message, which may be unaligned */
    size_t n;
    const uint8_t *sensor, *word;
};

static int fail(int error, const char *path, const char *what)
{
    fprintf(stderr, "trigreplay: %s: %s\n", path, what);
    return error;
}

static bool find_banks(const Trigd__V1__Roi *roi, struct banks *ret)
{
    const struct trg_collection *info = kind_info(generator_banks_kind());

    for (size_t i = 0; i < roi->n_columns; i++) {
        const Trigd__V1__Columns *c = roi->columns[i];

        if (c->hash != info->hash || c->n_column != 2 ||
            c->column[0].len / 2 != c->column[1].len / 4)
            continue;
        *ret = (struct banks){c->column[1].len / 4, c->column[0].data, c->column[1].data};
        return true;
    }
    return false;
}

static uint32_t sensor_of(const struct banks *b, size_t i)
{
    return b->sensor[2 * i] | (uint32_t)b->sensor[2 * i + 1] << 8;
}

static unsigned char *put(unsigned char *to, uint32_t word)
{
    for (int k = 0; k < 4; k++)
        *to++ = (unsigned char)(word >> 8 * k);
    return to;
}

/* The file as bytes; NULL: no memory. */
static unsigned char *layout(const struct banks *b, uint32_t n_banks, size_t *ret_bytes)
{
    const size_t table = 4 + 4 * ((size_t)n_banks + 1),
                 bytes = table + 8 * (size_t)n_banks + 4 * b->n;
    unsigned char *all = calloc(1, bytes), *to;
    uint32_t *count = calloc(n_banks + (size_t)1, sizeof *count);

    if (all && count) {
        for (size_t i = 0; i < b->n; i++)
            count[sensor_of(b, i)]++;
        to = put(all, n_banks);
        for (uint32_t s = 0, at = 0; s <= n_banks; at += 8 + 4 * count[s++])
            to = put(to, at);
        for (uint32_t s = 0; s < n_banks; s++) {
            to = put(put(to, s), count[s]);
            for (size_t i = 0; count[s] && i < b->n; i++)
                if (sensor_of(b, i) == s) {
                    memcpy(to, b->word + 4 * i, 4);
                    to += 4;
                }
        }
        *ret_bytes = bytes;
    } else {
        free(all);
        all = NULL;
    }
    free(count);
    return all;
}

static int write_one(const Trigd__V1__Roi *roi, const char *path, const char *folder)
{
    struct banks b;
    uint32_t n_banks = SENSORS;
    unsigned char *bytes;
    size_t size = 0;
    char name[4096];
    FILE *out;
    int r = 0;

    if (!find_banks(roi, &b))
        return fail(-ENODATA, path, "an RoI without banks");
    for (size_t i = 0; i < b.n; i++)
        n_banks = sensor_of(&b, i) >= n_banks ? sensor_of(&b, i) + 1 : n_banks;
    if ((size_t)snprintf(name, sizeof name, "%s/%u_%u.bin", folder, roi->run, roi->l1id) >=
        sizeof name)
        return fail(-ENAMETOOLONG, folder, "the path is too long");
    bytes = layout(&b, n_banks, &size);
    if (!bytes)
        return fail(-ENOMEM, name, "no memory");
    out = fopen(name, "wbx");
    if (!out)
        r = fail(-errno, name, strerror(errno));
    else if (fwrite(bytes, 1, size, out) != size)
        r = fail(-EIO, name, "cannot be written");
    if (out && fclose(out) != 0 && r == 0)
        r = fail(-EIO, name, "cannot be written");
    free(bytes);
    return r;
}

static int write_record(const void *bytes, size_t n, const char *path, const char *folder,
                        int64_t *n_files)
{
    Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n, bytes);
    int r = 0;

    if (!b)
        return fail(-EBADMSG, path, "a record is damaged");
    for (size_t i = 0; r == 0 && i < b->n_rois; i++) {
        r = write_one(b->rois[i], path, folder);
        *n_files += r == 0;
    }
    trigd__v1__roi_batch__free_unpacked(b, NULL);
    return r;
}

int64_t export_banks(const char *path, const char *folder)
{
    struct roifile_reader *file;
    int64_t n_files = 0;
    const void *bytes;
    size_t n;
    int r = generator_banks_kind() ? roifile_open(path, &file) : -ENOMEM;

    if (r < 0)
        return fail(r, path, strerror(-r));
    while (r == 0 && (r = roifile_next(file, &bytes, &n)) == 1)
        r = write_record(bytes, n, path, folder, &n_files);
    roifile_close(file);
    return r < 0 ? r : n_files;
}
