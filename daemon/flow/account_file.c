/* SPDX-License-Identifier: Apache-2.0 */
/* account_file.c - accounts that were taken away: added up, written, freed. */
#include <inttypes.h>
#include <stdlib.h>

#include "flow/accounts_inner.h"

/* ---------------------------------------------------------------- adding up */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By run, lumi block, those for all others last; then by keys. */
static int compare(const struct account *a, const struct account *b)
{
    if (a->is_rest != b->is_rest)
        return a->is_rest ? 1 : -1;
    if (!a->is_rest && lumi_is_before(a->at, b->at))
        return -1;
    if (!a->is_rest && lumi_is_before(b->at, a->at))
        return 1;
    if (a->roster->key != b->roster->key)
        return compare_u64(a->roster->key, b->roster->key);
    if (a->roster->n_chains != b->roster->n_chains) /* of a node that errs */
        return compare_u64(a->roster->n_chains, b->roster->n_chains);
    if (a->set->prescales.key != b->set->prescales.key)
        return compare_u64(a->set->prescales.key, b->set->prescales.key);
    return compare_u64(a->set->conditions.key, b->set->conditions.key);
}

static void add_up(struct account *to, const struct account *from)
{
#define ADD(name) to->name += from->name;
    ACCOUNT_ROIS(ADD)
    ACCOUNT_EVENTS(ADD)
#undef ADD
    for (uint32_t i = 0; i < MENU_STREAMS_MAX; i++)
        to->stream[i] += from->stream[i];
    for (uint32_t i = 0; i < ACCOUNT_KINDS * to->roster->n_chains; i++)
        to->chain[i] += from->chain[i];
}

static void free_one(struct account *a)
{
    if (a->roster && atomic_fetch_sub(&a->roster->users, 1) == 1) {
        free(a->roster->chain);
        free(a->roster);
    }
    if (a->set && atomic_fetch_sub(&a->set->users, 1) == 1) {
        conditions_drop(&a->set->conditions);
        free(a->set);
    }
    free(a->chain);
    free(a->plane);
    free(a);
}

void account_free(struct account *list)
{
    while (list) {
        struct account *next = list->next;

        free_one(list);
        list = next;
    }
}

/* Puts one account into an ordered list. */
static void insert(struct account **list, struct account *a)
{
    while (*list && compare(*list, a) < 0)
        list = &(*list)->next;
    if (*list && compare(*list, a) == 0) {
        add_up(*list, a);
        free_one(a);
        return;
    }
    a->next = *list;
    *list = a;
}

struct account *account_merge(struct account *a, struct account *b)
{
    struct account *ordered = NULL;
    struct account *lists[] = {a, b};

    for (uint32_t i = 0; i < 2; i++)
        while (lists[i]) {
            struct account *next = lists[i]->next;

            lists[i]->next = NULL;
            insert(&ordered, lists[i]);
            lists[i] = next;
        }
    return ordered;
}

const struct account *account_next(const struct account *a)
{
    return a->next;
}

/* ---------------------------------------------------------------- the file */

static const char *const kind_name[ACCOUNT_KINDS] = {
#define NAME(name, kind, help) #name,
    STATS_CHAIN(NAME)
#undef NAME
};

static void print_chains(const struct account *a, FILE *out)
{
    bool is_first = true;

    fputs(",\n   \"chains\": {", out);
    for (uint32_t i = 0; i < a->roster->n_chains; i++) {
        if (!a->chain[ACCOUNT_seeded * a->roster->n_chains + i] &&
            !a->chain[ACCOUNT_events * a->roster->n_chains + i])
            continue;
        fprintf(out, "%s\n    \"%s\": {\"prescale\": %.17g", is_first ? "" : ",",
                a->roster->chain[i], a->set->prescales.value[i]);
        for (uint32_t k = 0; k < ACCOUNT_KINDS; k++)
            fprintf(out, ", \"%s\": %" PRIu64, kind_name[k], a->chain[k * a->roster->n_chains + i]);
        fputc('}', out);
        is_first = false;
    }
    fputc('}', out);
}

static void print_streams(const struct account *a, FILE *out)
{
    fputs(",\n   \"streams\": {", out);
    for (uint32_t i = 0; i < a->roster->n_streams; i++)
        fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", a->roster->stream[i], a->stream[i]);
    fputc('}', out);
}

static void print_block(const struct account *a, FILE *out)
{
    fputs("  {", out);
    if (a->is_rest)
        fputs("\"run\": null, \"lumi_block\": null", out);
    else
        fprintf(out, "\"run\": %u, \"lumi_block\": %u", a->at.run, a->at.block);
    fprintf(out,
            ", \"menu\": \"%016" PRIx64 "\", \"prescales\": \"%016" PRIx64
            "\", \"conditions\": \"%016" PRIx64 "\",\n   \"rois\": {",
            a->roster->key, a->set->prescales.key, a->set->conditions.key);
#define PRINT(name) \
    fprintf(out, "%s\"" #name "\": %" PRIu64, &a->name == &a->received ? "" : ", ", a->name);
    ACCOUNT_ROIS(PRINT)
#undef PRINT
    fputc('}', out);
#define PRINT(name)                                                         \
    fprintf(out, "%s\"%s\": %" PRIu64,                                      \
            &a->name == &a->events_accepted ? ",\n   \"events\": {" : ", ", \
            &#name[sizeof "events_" - 1], a->name);
    ACCOUNT_EVENTS(PRINT)
#undef PRINT
    fputc('}', out);
    print_streams(a, out);
    print_chains(a, out);
    fputc('}', out);
}

void account_print(const struct account *list, FILE *out)
{
    fputs("{\"format\": \"trigd accounts\", \"version\": 1, \"blocks\": [\n", out);
    for (; list; list = list->next) {
        print_block(list, out);
        fputs(list->next ? ",\n" : "\n", out);
    }
    fputs("]}\n", out);
}
