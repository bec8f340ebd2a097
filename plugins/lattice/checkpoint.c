/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: a header, the kinds of the cells, the distributions in state 0, and a sum of all
 * that. Numbers are little-endian, as on all machines that this runs on. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "inner.h"

#define MAGIC   "trigd lattice\n\0\0"
#define VERSION 1u

/* FNV-1a over words of 8 bytes, and of what is left over. */
static uint64_t add_sum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        sum = (sum ^ word) * 1099511628211u;
    }
    for (; bytes; bytes--)
        sum = (sum ^ *p++) * 1099511628211u;
    return sum;
}
#define FIRST_SUM 14695981039346656037u

/* ---------------------------------------------------------------- writing */

static int write_all(FILE *f, const struct lattice *l, const void *g, size_t bytes)
{
    struct lattice_header h = {.version = VERSION, .header_bytes = sizeof h, .steps = l->steps};
    uint64_t sum;

    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.setup = l->setup;
    sum = add_sum(add_sum(add_sum(FIRST_SUM, &h, sizeof h), l->kind_host, l->n_cells), g, bytes);
    if (fwrite(&h, sizeof h, 1, f) != 1 || fwrite(l->kind_host, l->n_cells, 1, f) != 1 ||
        fwrite(g, bytes, 1, f) != 1 || fwrite(&sum, sizeof sum, 1, f) != 1)
        return -EIO;
    return fflush(f) == 0 && fsync(fileno(f)) == 0 ? 0 : -EIO;
}

int lattice_save(struct lattice *l, struct trg_queue *q, const char *path, struct lattice_why *why)
{
    const size_t bytes = 9 * l->n_cells * lattice_number_bytes(l);
    char part[4096];
    void *g = malloc(bytes);
    FILE *f = NULL;
    int r = g ? lattice_get(l, q, g) : -ENOMEM;

    if (r == 0 && snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        r = -ENAMETOOLONG;
    if (r == 0)
        f = fopen(part, "wb");
    if (r == 0)
        r = f ? write_all(f, l, g, bytes) : -errno;
    if (f && fclose(f) != 0 && r == 0)
        r = -EIO;
    if (r == 0 && rename(part, path) != 0)
        r = -errno;
    if (r < 0) {
        (void)lattice_refuse(why, "checkpoint %s cannot be written: %s", path, strerror(-r));
        if (f)
            (void)remove(part);
    }
    free(g);
    return r;
}

/* ---------------------------------------------------------------- reading */

static int read_header(FILE *f, const char *path, struct lattice_header *h, struct lattice_why *why)
{
    long size;

    if (fread(h, sizeof *h, 1, f) != 1 || memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
        return lattice_refuse(why, "%s is not a checkpoint of lattice", path);
    if (h->version != VERSION || h->header_bytes != sizeof *h)
        return lattice_refuse(why, "checkpoint %s is of version %u; this program reads version %u",
                              path, h->version, VERSION);
    if (h->setup.nx < 3 || h->setup.ny < 3 || (uint64_t)h->setup.nx * h->setup.ny > LT_CELLS_MAX ||
        h->setup.storage > LATTICE_STORE_HALF)
        return lattice_refuse(why, "checkpoint %s has a wrong header: %u x %u cells", path,
                              h->setup.nx, h->setup.ny);
    if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 ||
        fseek(f, (long)sizeof *h, SEEK_SET) != 0)
        return lattice_refuse(why, "checkpoint %s cannot be read: %s", path, strerror(errno));
    if ((uint64_t)size != lattice_checkpoint_bytes(&h->setup))
        return lattice_refuse(why, "checkpoint %s has %ld bytes; %u x %u cells need %llu", path,
                              size, h->setup.nx, h->setup.ny,
                              (unsigned long long)lattice_checkpoint_bytes(&h->setup));
    return 0;
}

static int read_rest(FILE *f, const char *path, const struct lattice_header *h, unsigned char *rest,
                     struct lattice_why *why)
{
    const size_t bytes = lattice_checkpoint_bytes(&h->setup) - sizeof *h - sizeof(uint64_t);
    const size_t cells = (size_t)h->setup.nx * h->setup.ny;
    uint64_t sum, want;

    if (fread(rest, bytes, 1, f) != 1 || fread(&want, sizeof want, 1, f) != 1)
        return lattice_refuse(why, "checkpoint %s cannot be read", path);
    sum = add_sum(add_sum(FIRST_SUM, h, sizeof *h), rest, cells);
    if (add_sum(sum, rest + cells, bytes - cells) != want)
        return lattice_refuse(why, "checkpoint %s is damaged: its checksum does not match", path);
    return 0;
}

int lattice_resume(struct trg_device *device, struct trg_queue *q, const char *path,
                   const struct lattice_tuning *tuning, struct lattice **ret_lattice,
                   struct lattice_why *why)
{
    struct lattice_header h = {0};
    unsigned char *rest = NULL;
    struct lattice *l = NULL;
    FILE *f = fopen(path, "rb");
    int r = f ? read_header(f, path, &h, why)
              : lattice_refuse(why, "checkpoint %s cannot be read: %s", path, strerror(errno));

    if (r == 0) {
        rest = malloc(lattice_checkpoint_bytes(&h.setup) - sizeof h - sizeof(uint64_t));
        r = rest ? read_rest(f, path, &h, rest, why) : -ENOMEM;
    }
    if (f)
        (void)fclose(f);
    if (r == 0)
        r = lattice_open(device, &h.setup, rest, tuning, &l, why);
    if (r == 0)
        r = lattice_put(l, q, rest + (size_t)h.setup.nx * h.setup.ny, h.steps);
    free(rest);
    if (r == 0)
        *ret_lattice = l;
    else
        lattice_close(l);
    return r;
}
