/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t line(uint64_t n)
{
    return (n + ARENA_ALIGN - 1) & ~(uint64_t)(ARENA_ALIGN - 1);
}

static uint64_t whole_pages(uint64_t n)
{
    return (n + 4095) & ~(uint64_t)4095;
}

/* Outputs of the members before this one. */
static uint32_t outputs_before(const struct arena_shape *s, uint32_t member)
{
    uint32_t n = 0;

    for (uint32_t m = 0; m < member; m++)
        n += s->n_outputs[m];
    return n;
}

/* Bytes of the inputs of a slot before this one. */
static uint64_t staged_before(const struct arena_shape *s, uint32_t input)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < input; k++)
        bytes += whole_pages(s->staged_bytes[k]);
    return bytes;
}

/* Bytes of the tables of a slot before this one. */
static uint64_t tables_before(const struct arena_shape *s, uint32_t condition)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < condition; k++)
        bytes += line(s->condition_bytes[k]);
    return bytes;
}

/* Works out where everything lies. */
static void lay_out(const struct arena_shape *s, struct arena *a)
{
    const uint64_t n = s->max_rois;

    a->shape = *s;
    a->infos = line(sizeof(struct arena_batch));
    a->sources = a->infos + line(n * sizeof(struct trg_roi_info));
    a->faults = a->sources + s->n_inputs * line(n * sizeof(struct arena_source));
    a->results = a->faults + line(n * sizeof(struct check_fault));
    a->outputs = a->results + s->n_members * line(n * sizeof(struct trg_result));
    a->batch_bytes =
        a->outputs + outputs_before(s, s->n_members) * line(n * sizeof(struct arena_output));
    a->products = whole_pages(line(sizeof(struct arena_link)) + s->slots * a->batch_bytes);
    a->staged = whole_pages(a->products + s->slots * line(s->product_bytes));
    a->staged_bytes = staged_before(s, s->n_inputs);
    a->conditions = whole_pages(a->staged + s->slots * a->staged_bytes);
    a->condition_bytes =
        line(s->n_conditions * sizeof(struct arena_condition)) + tables_before(s, s->n_conditions);
}

/* Bytes of an arena of that shape; the layout is a pure function of it. */
static uint64_t bytes_of(const struct arena_shape *s)
{
    struct arena a;

    lay_out(s, &a);
    return a.conditions + s->slots * a.condition_bytes;
}

int arena_file(const struct arena_shape *s, int *ret_fd)
{
    int fd = memfd_create("trigd-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes_of(s)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int arena_map(const struct arena_shape *s, int fd, struct arena *ret_arena)
{
    struct stat st;
    void *base;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size < bytes_of(s))
        return -EBADMSG;
    base = mmap(NULL, bytes_of(s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    lay_out(s, ret_arena);
    ret_arena->base = base;
    return 0;
}

void arena_unmap(struct arena *a)
{
    if (a->base)
        munmap(a->base, bytes_of(&a->shape));
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    memset(arena_link(a), 0, sizeof(struct arena_link));
}

struct arena_link *arena_link(const struct arena *a)
{
    return (struct arena_link *)(void *)a->base;
}

static unsigned char *batch_at(const struct arena *a, uint32_t slot)
{
    return a->base + line(sizeof(struct arena_link)) + slot * a->batch_bytes;
}

struct arena_batch *arena_batch(const struct arena *a, uint32_t slot)
{
    return (struct arena_batch *)(void *)batch_at(a, slot);
}

struct trg_roi_info *arena_infos(const struct arena *a, uint32_t slot)
{
    return (struct trg_roi_info *)(void *)(batch_at(a, slot) + a->infos);
}

struct arena_source *arena_sources(const struct arena *a, uint32_t slot, uint32_t input)
{
    const uint64_t each = line(a->shape.max_rois * sizeof(struct arena_source));

    return (struct arena_source *)(void *)(batch_at(a, slot) + a->sources + input * each);
}

struct check_fault *arena_faults(const struct arena *a, uint32_t slot)
{
    return (struct check_fault *)(void *)(batch_at(a, slot) + a->faults);
}

struct trg_result *arena_results(const struct arena *a, uint32_t slot, uint32_t member)
{
    const uint64_t each = line(a->shape.max_rois * sizeof(struct trg_result));

    return (struct trg_result *)(void *)(batch_at(a, slot) + a->results + member * each);
}

struct arena_output *arena_outputs(const struct arena *a, uint32_t slot, uint32_t member,
                                   uint32_t output)
{
    const uint64_t each = line(a->shape.max_rois * sizeof(struct arena_output));

    return (struct arena_output *)(void *)(batch_at(a, slot) + a->outputs +
                                           (outputs_before(&a->shape, member) + output) * each);
}

unsigned char *arena_products(const struct arena *a, uint32_t slot)
{
    return a->base + a->products + slot * line(a->shape.product_bytes);
}

unsigned char *arena_staged(const struct arena *a, uint32_t slot, uint32_t input)
{
    return a->base + a->staged + slot * a->staged_bytes + staged_before(&a->shape, input);
}

struct arena_condition *arena_conditions(const struct arena *a, uint32_t slot)
{
    return (struct arena_condition *)(void *)(a->base + a->conditions + slot * a->condition_bytes);
}

unsigned char *arena_table(const struct arena *a, uint32_t slot, uint32_t condition)
{
    return (unsigned char *)arena_conditions(a, slot) +
           line(a->shape.n_conditions * sizeof(struct arena_condition)) +
           tables_before(&a->shape, condition);
}

uint64_t arena_column_at(uint32_t kind, uint32_t capacity, uint32_t column)
{
    const struct trg_collection *info = kind_info(kind);
    uint64_t at = 0;

    for (uint32_t c = 0; info && c < column; c++)
        at += arena_align((uint64_t)capacity * trg_column_bytes(&info->column[c]));
    return at;
}

uint64_t arena_product_bytes(uint32_t kind, uint32_t items)
{
    const struct trg_collection *info = kind_info(kind);

    return info ? arena_column_at(kind, items, info->n_columns) : 0;
}
