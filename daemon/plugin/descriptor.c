/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/descriptor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "descriptor.pb-c.h"

#define BLOCK_BYTES ((size_t)1 << 20) /* for the tables of one descriptor, both forms */

typedef TrigdPlugin__Descriptor Descriptor;
typedef TrigdPlugin__Collection Collection;
typedef TrigdPlugin__Amount Amount;
typedef TrigdPlugin__Room Room;

/* ---------------------------------------------------------------- a block of memory */

struct block { /* taken from its front to its end, freed as a whole */
    unsigned char *bytes;
    size_t used;
    bool is_full; /* something did not fit; dummy was given instead */
};

static void *take(struct block *b, size_t n)
{
    void *at = b->bytes + b->used;

    n = (n + 15u) & ~(size_t)15;
    if (n > BLOCK_BYTES - b->used) {
        b->is_full = true;
        return NULL;
    }
    b->used += n;
    return at;
}

static void *take_for_protobuf(void *block, size_t n)
{
    return take(block, n);
}

static void keep(void *block, void *memory)
{
    (void)block, (void)memory;
}

/* An array of pointers to n messages of one type, which are zero. */
static void *take_array(struct block *b, size_t n, size_t message_bytes)
{
    void **array = take(b, (n + 1) * sizeof *array);

    for (size_t i = 0; array && i < n; i++)
        if (!(array[i] = take(b, message_bytes)))
            return NULL;
    return array;
}

#define ROWS(b, table, n) take_array((b), (n), sizeof **(table))

static int open_block(struct block *b)
{
    *b = (struct block){.bytes = calloc(1, BLOCK_BYTES)};
    return b->bytes ? 0 : -ENOMEM;
}

/* Messages hold text as char *, which packing does not change. */
static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* ---------------------------------------------------------------- packing */

static void fill_collection(struct block *b, const struct trg_collection *c, Collection *m)
{
    trigd_plugin__collection__init(m);
    m->name = text(c->name);
    m->doc = text(c->doc);
    m->room = c->room;
    m->hash = c->hash;
    m->column = ROWS(b, m->column, c->n_columns);
    for (uint32_t i = 0; m->column && i < c->n_columns; i++, m->n_column++) {
        const struct trg_column *from = &c->column[i];
        TrigdPlugin__Column *to = m->column[i];

        trigd_plugin__column__init(to);
        to->name = text(from->name);
        to->unit = text(from->unit);
        to->doc = text(from->doc);
        to->type = from->type;
        to->length = from->length;
        to->min = from->min;
        to->max = from->max;
        to->flags = from->flags;
        to->offset = trg_column_encoding(c, i).offset;
        to->step = trg_column_encoding(c, i).step;
    }
}

static void fill_collections(struct block *b, const struct trg_collection *const *list, uint32_t n,
                             Collection ***ret_rows, size_t *ret_n)
{
    *ret_rows = ROWS(b, *ret_rows, n);
    for (uint32_t i = 0; *ret_rows && i < n; i++, ++*ret_n)
        fill_collection(b, list[i], (*ret_rows)[i]);
}

static Amount *amount_row(struct block *b, const struct trg_amount *a)
{
    Amount *m = take(b, sizeof *m);

    if (m) {
        trigd_plugin__amount__init(m);
        m->number = a->number;
        m->plus = text(a->plus);
        m->minus = text(a->minus);
    }
    return m;
}

static void fill_room(struct block *b, const struct trg_room *r, Room *m)
{
    trigd_plugin__room__init(m);
    m->product = text(r->product);
    m->cap = amount_row(b, &r->cap);
    m->in = ROWS(b, m->in, TRG_INPUTS_MAX);
    for (uint32_t k = 0; m->in && k < TRG_INPUTS_MAX; k++, m->n_in++) {
        trigd_plugin__room_input__init(m->in[k]);
        m->in[k]->factor = amount_row(b, &r->in[k].factor);
        m->in[k]->divisor = amount_row(b, &r->in[k].divisor);
        m->in[k]->constant = amount_row(b, &r->in[k].constant);
        m->in[k]->when = text(r->in[k].when);
    }
}

static void fill_rooms(struct block *b, const struct trg_room *table, Descriptor *m)
{
    size_t n = 0;

    while (table && table[n].product)
        n++;
    m->room = ROWS(b, m->room, n);
    for (; m->room && m->n_room < n; m->n_room++)
        fill_room(b, &table[m->n_room], m->room[m->n_room]);
}

static void fill_params(struct block *b, const struct plugin *p, Descriptor *m)
{
    m->param = ROWS(b, m->param, p->n_params);
    for (; m->param && m->n_param < p->n_params; m->n_param++) {
        const struct trg_param *from = &p->d.params[m->n_param];
        TrigdPlugin__Param *to = m->param[m->n_param];

        trigd_plugin__param__init(to);
        to->name = text(from->name);
        to->type = from->type;
        to->offset = (uint32_t)from->offset;
        to->dflt = text(from->dflt);
        to->min = from->min;
        to->max = from->max;
        to->unit = text(from->unit);
        to->choices = text(from->choices);
        to->help = text(from->help);
    }
}

static void fill_presets(struct block *b, const struct trg_preset *table, Descriptor *m)
{
    size_t n = 0;

    while (table && table[n].name)
        n++;
    m->preset = ROWS(b, m->preset, n);
    for (; m->preset && m->n_preset < n; m->n_preset++) {
        const struct trg_preset *from = &table[m->n_preset];
        TrigdPlugin__Preset *to = m->preset[m->n_preset];

        trigd_plugin__preset__init(to);
        to->name = text(from->name);
        to->help = text(from->help);
        while (from->settings[to->n_setting])
            to->n_setting++;
        to->setting = (char **)(uintptr_t)from->settings;
    }
}

static void fill_values(struct block *b, const struct plugin *p, Descriptor *m)
{
    m->value = ROWS(b, m->value, p->n_values);
    for (; m->value && m->n_value < p->n_values; m->n_value++) {
        TrigdPlugin__Value *to = m->value[m->n_value];

        trigd_plugin__value__init(to);
        to->name = text(p->d.values[m->n_value].name);
        to->unit = text(p->d.values[m->n_value].unit);
        to->help = text(p->d.values[m->n_value].help);
    }
}

static void fill_conditions(struct block *b, const struct trg_condition *table, Descriptor *m)
{
    size_t n = 0;

    while (table && table[n].name)
        n++;
    m->condition = ROWS(b, m->condition, n);
    for (; m->condition && m->n_condition < n; m->n_condition++) {
        TrigdPlugin__Condition *to = m->condition[m->n_condition];

        trigd_plugin__condition__init(to);
        to->name = text(table[m->n_condition].name);
        to->help = text(table[m->n_condition].help);
        to->flags = table[m->n_condition].flags;
        to->table = take(b, sizeof *to->table);
        if (to->table)
            fill_collection(b, table[m->n_condition].table, to->table);
    }
}

static void fill(struct block *b, const struct plugin *p, Descriptor *m)
{
    const struct trg_plugin *d = &p->d;

    trigd_plugin__descriptor__init(m);
    m->name = text(d->name);
    m->version = text(d->version);
    m->summary = text(d->summary);
    m->backends = text(d->backends);
    m->config_size = (uint32_t)d->config_size;
    m->batch_us = d->cost.batch_us;
    m->roi_us = d->cost.roi_us;
    m->item_ns = d->cost.item_ns;
    m->flags = d->flags;
    m->has_check = p->has_check;
    m->has_device_output = p->has_device_output;
    fill_collections(b, d->consumes, p->n_inputs, &m->consumes, &m->n_consumes);
    fill_collections(b, d->produces, p->n_outputs, &m->produces, &m->n_produces);
    fill_rooms(b, d->room, m);
    fill_params(b, p, m);
    fill_presets(b, d->presets, m);
    fill_values(b, p, m);
    fill_conditions(b, d->conditions, m);
}

int descriptor_pack(const struct plugin *p, unsigned char *bytes, size_t *ret_n)
{
    struct block b;
    Descriptor m;
    int r = open_block(&b);

    if (r < 0)
        return r;
    fill(&b, p, &m);
    if (b.is_full || trigd_plugin__descriptor__get_packed_size(&m) > DESCRIPTOR_BYTES)
        r = -E2BIG;
    else
        *ret_n = trigd_plugin__descriptor__pack(&m, bytes);
    free(b.bytes);
    return r;
}

/* ---------------------------------------------------------------- unpacking */

static const struct trg_collection *read_collection(struct block *b, const Collection *m)
{
    struct trg_collection *c = take(b, sizeof *c);
    struct trg_column *columns = take(b, (m->n_column + 1) * sizeof *columns);
    struct trg_encoding *encodings = take(b, (m->n_column + 1) * sizeof *encodings);

    if (!c || !columns || !encodings)
        return NULL;
    for (size_t i = 0; i < m->n_column; i++) {
        const TrigdPlugin__Column *from = m->column[i];

        columns[i] = (struct trg_column){.name = from->name,
                                         .unit = from->unit,
                                         .doc = from->doc,
                                         .type = from->type,
                                         .length = from->length,
                                         .min = from->min,
                                         .max = from->max,
                                         .flags = from->flags};
        encodings[i] = (struct trg_encoding){from->offset, from->step};
    }
    *c = (struct trg_collection){.size = sizeof *c,
                                 .n_columns = (uint32_t)m->n_column,
                                 .name = m->name,
                                 .doc = m->doc,
                                 .room = m->room,
                                 .column_size = sizeof *columns,
                                 .hash = m->hash,
                                 .column = columns,
                                 .encoding = encodings};
    return c;
}

static int read_collections(struct block *b, Collection *const *rows, size_t n, size_t most,
                            const struct trg_collection **list)
{
    if (n > most)
        return -EBADMSG;
    for (size_t i = 0; i < n; i++)
        list[i] = read_collection(b, rows[i]);
    return 0;
}

static struct trg_amount read_amount(const Amount *m)
{
    return (struct trg_amount){.number = m->number, .plus = m->plus, .minus = m->minus};
}

static int read_rooms(struct block *b, const Descriptor *m, struct trg_plugin *d)
{
    struct trg_room *table = take(b, (m->n_room + 1) * sizeof *table);

    for (size_t i = 0; table && i < m->n_room; i++) {
        const Room *from = m->room[i];

        if (from->n_in != TRG_INPUTS_MAX)
            return -EBADMSG;
        table[i].product = from->product;
        table[i].cap = read_amount(from->cap);
        for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
            table[i].in[k].factor = read_amount(from->in[k]->factor);
            table[i].in[k].divisor = read_amount(from->in[k]->divisor);
            table[i].in[k].constant = read_amount(from->in[k]->constant);
            table[i].in[k].when = from->in[k]->when;
        }
    }
    d->room = m->n_room ? table : NULL;
    return 0;
}

static void read_params(struct block *b, const Descriptor *m, struct trg_plugin *d)
{
    struct trg_param *table = take(b, (m->n_param + 1) * sizeof *table);

    for (size_t i = 0; table && i < m->n_param; i++) {
        const TrigdPlugin__Param *from = m->param[i];

        table[i] = (struct trg_param){.name = from->name,
                                      .type = (enum trg_param_type)from->type,
                                      .offset = from->offset,
                                      .dflt = from->dflt,
                                      .min = from->min,
                                      .max = from->max,
                                      .unit = from->unit,
                                      .choices = from->choices,
                                      .help = from->help};
    }
    d->params = m->n_param ? table : NULL;
}

static int read_presets(struct block *b, const Descriptor *m, struct trg_plugin *d)
{
    struct trg_preset *table = take(b, (m->n_preset + 1) * sizeof *table);

    for (size_t i = 0; table && i < m->n_preset; i++) {
        const TrigdPlugin__Preset *from = m->preset[i];
        const char **settings = take(b, (from->n_setting + 1) * sizeof *settings);

        if (from->n_setting % 2)
            return -EBADMSG;
        for (size_t k = 0; settings && k < from->n_setting; k++)
            settings[k] = from->setting[k];
        table[i] =
            (struct trg_preset){.name = from->name, .help = from->help, .settings = settings};
    }
    d->presets = m->n_preset ? table : NULL;
    return 0;
}

static void read_values(struct block *b, const Descriptor *m, struct trg_plugin *d)
{
    struct trg_value *table = take(b, (m->n_value + 1) * sizeof *table);
    struct trg_condition *needs = take(b, (m->n_condition + 1) * sizeof *needs);

    for (size_t i = 0; table && i < m->n_value; i++)
        table[i] = (struct trg_value){m->value[i]->name, m->value[i]->unit, m->value[i]->help};
    for (size_t i = 0; needs && i < m->n_condition; i++)
        needs[i] = (struct trg_condition){.name = m->condition[i]->name,
                                          .help = m->condition[i]->help,
                                          .table = read_collection(b, m->condition[i]->table),
                                          .flags = m->condition[i]->flags};
    d->values = m->n_value ? table : NULL;
    d->conditions = m->n_condition ? needs : NULL;
}

static int read_all(struct block *b, const Descriptor *m, struct plugin *p)
{
    struct trg_plugin *d = &p->d;
    int r;

    *d = (struct trg_plugin){TRG_PLUGIN_INIT,
                             .name = m->name,
                             .version = m->version,
                             .summary = m->summary,
                             .backends = m->backends,
                             .config_size = m->config_size,
                             .cost = {m->batch_us, m->roi_us, m->item_ns},
                             .flags = m->flags};
    p->has_check = m->has_check;
    p->has_device_output = m->has_device_output;
    r = read_collections(b, m->consumes, m->n_consumes, TRG_INPUTS_MAX, d->consumes);
    if (r == 0)
        r = read_collections(b, m->produces, m->n_produces, TRG_OUTPUTS_MAX, d->produces);
    if (r == 0)
        r = read_rooms(b, m, d);
    if (r == 0)
        r = read_presets(b, m, d);
    read_params(b, m, d);
    read_values(b, m, d);
    return b->is_full ? -EBADMSG : r;
}

int descriptor_unpack(const unsigned char *bytes, size_t n, struct plugin *p, void **ret_block)
{
    struct block b;
    ProtobufCAllocator memory = {take_for_protobuf, keep, &b};
    const Descriptor *m;
    int r = open_block(&b);

    if (r < 0)
        return r;
    m = trigd_plugin__descriptor__unpack(&memory, n, bytes);
    r = m ? read_all(&b, m, p) : -EBADMSG;
    if (r < 0)
        free(b.bytes);
    else
        *ret_block = b.bytes;
    return r;
}
