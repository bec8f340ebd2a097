/* SPDX-License-Identifier: Apache-2.0 */
/* account_wire.c - accounts on their way from a node to its supervisor (proto/farm.proto). */
#include <stdlib.h>
#include <string.h>

#include "flow/accounts_inner.h"

#define ONE(name) +1
enum { N_ROIS = 0 ACCOUNT_ROIS(ONE), N_EVENTS = 0 ACCOUNT_EVENTS(ONE) };
#undef ONE

/* ---------------------------------------------------------------- to a message */

struct packing { /* what a message points into */
    Trigd__Farm__V1__FromNode message;
    Trigd__Farm__V1__Account account;
    uint64_t rois[N_ROIS], events[N_EVENTS];
    Trigd__Farm__V1__AccountStream stream[MENU_STREAMS_MAX], *streams[MENU_STREAMS_MAX];
    Trigd__Farm__V1__AccountChain **chains;
    struct packing_chain {
        Trigd__Farm__V1__AccountChain message;
        uint64_t count[ACCOUNT_KINDS];
    } chain[];
};

static void fill_counts(struct packing *p, const struct account *a)
{
    uint32_t n = 0;

#define PUT(name) p->rois[n++] = a->name;
    ACCOUNT_ROIS(PUT)
#undef PUT
    n = 0;
#define PUT(name) p->events[n++] = a->name;
    ACCOUNT_EVENTS(PUT)
#undef PUT
    p->account.n_rois = N_ROIS;
    p->account.rois = p->rois;
    p->account.n_events = N_EVENTS;
    p->account.events = p->events;
}

static void fill_streams(struct packing *p, const struct account *a)
{
    for (uint32_t i = 0; i < a->roster->n_streams; i++) {
        trigd__farm__v1__account_stream__init(&p->stream[i]);
        p->stream[i].name = (char *)(uintptr_t)a->roster->stream[i];
        p->stream[i].rois = a->stream[i];
        p->streams[i] = &p->stream[i];
    }
    p->account.n_streams = a->roster->n_streams;
    p->account.streams = p->streams;
}

static void fill_chains(struct packing *p, const struct account *a)
{
    const uint32_t n = a->roster->n_chains;

    for (uint32_t i = 0; i < n; i++) {
        struct packing_chain *c = &p->chain[i];

        trigd__farm__v1__account_chain__init(&c->message);
        c->message.name = a->roster->chain[i];
        c->message.prescale = a->set->prescales.value[i];
        for (uint32_t k = 0; k < ACCOUNT_KINDS; k++)
            c->count[k] = a->chain[k * n + i];
        c->message.n_counts = ACCOUNT_KINDS;
        c->message.counts = c->count;
        p->chains[i] = &c->message;
    }
    p->account.n_chains = n;
    p->account.chains = p->chains;
}

static void fill(struct packing *p, const struct account *a)
{
    Trigd__Farm__V1__Account *m = &p->account;

    trigd__farm__v1__from_node__init(&p->message);
    trigd__farm__v1__account__init(m);
    p->message.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_ACCOUNT;
    p->message.account = m;
    m->run = a->at.run;
    m->lumi_block = a->at.block;
    m->is_rest = a->is_rest;
    m->menu_key = a->roster->key;
    m->prescales_key = a->set->prescales.key;
    m->conditions_key = a->set->conditions.key;
    fill_counts(p, a);
    fill_streams(p, a);
    fill_chains(p, a);
}

size_t account_pack(const struct account *a, unsigned char **ret_message)
{
    const uint32_t n = a->roster->n_chains;
    struct packing *p = calloc(1, sizeof *p + n * sizeof *p->chain);
    Trigd__Farm__V1__AccountChain **chains = calloc(n ? n : 1, sizeof(*chains));
    size_t bytes = 0;

    *ret_message = NULL;
    if (p && chains) {
        p->chains = chains;
        fill(p, a);
        bytes = trigd__farm__v1__from_node__get_packed_size(&p->message);
        *ret_message = malloc(bytes);
        if (*ret_message)
            trigd__farm__v1__from_node__pack(&p->message, *ret_message);
        else
            bytes = 0;
    }
    free(chains);
    free(p);
    return bytes;
}

/* ---------------------------------------------------------------- from one */

static struct account *new_account(uint32_t n_chains)
{
    struct account *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->roster = calloc(1, sizeof *a->roster);
    a->set = calloc(1, sizeof *a->set);
    a->chain = calloc((size_t)ACCOUNT_KINDS * (n_chains ? n_chains : 1), sizeof *a->chain);
    if (a->roster) {
        atomic_init(&a->roster->users, 1);
        a->roster->n_chains = n_chains;
        a->roster->chain = calloc(n_chains ? n_chains : 1, sizeof *a->roster->chain);
    }
    if (a->set)
        atomic_init(&a->set->users, 1);
    if (a->roster && a->set && a->chain && a->roster->chain)
        return a;
    account_free(a);
    return NULL;
}

static bool is_account(const Trigd__Farm__V1__Account *m)
{
    if (m->n_rois != N_ROIS || m->n_events != N_EVENTS || m->n_streams > MENU_STREAMS_MAX ||
        m->n_chains > MENU_CHAINS_MAX)
        return false;
    for (size_t i = 0; i < m->n_chains; i++)
        if (m->chains[i]->n_counts != ACCOUNT_KINDS || strlen(m->chains[i]->name) >= CHANGE_NAME)
            return false;
    for (size_t i = 0; i < m->n_streams; i++)
        if (strlen(m->streams[i]->name) >= CHANGE_NAME)
            return false;
    return true;
}

static void take_counts(struct account *a, const Trigd__Farm__V1__Account *m)
{
    const uint32_t n_chains = a->roster->n_chains;
    uint32_t n = 0;

#define TAKE(name) a->name = m->rois[n++];
    ACCOUNT_ROIS(TAKE)
#undef TAKE
    n = 0;
#define TAKE(name) a->name = m->events[n++];
    ACCOUNT_EVENTS(TAKE)
#undef TAKE
    a->roster->n_streams = (uint32_t)m->n_streams;
    for (uint32_t i = 0; i < a->roster->n_streams; i++) {
        memcpy(a->roster->stream[i], m->streams[i]->name, strlen(m->streams[i]->name) + 1);
        a->stream[i] = m->streams[i]->rois;
    }
    for (uint32_t i = 0; i < n_chains; i++) {
        memcpy(a->roster->chain[i], m->chains[i]->name, strlen(m->chains[i]->name) + 1);
        a->set->prescales.value[i] = m->chains[i]->prescale;
        for (uint32_t k = 0; k < ACCOUNT_KINDS; k++)
            a->chain[k * n_chains + i] = m->chains[i]->counts[k];
    }
}

struct account *account_unpack(const Trigd__Farm__V1__Account *m)
{
    struct account *a = is_account(m) ? new_account((uint32_t)m->n_chains) : NULL;

    if (!a)
        return NULL;
    a->at = (struct lumi){.run = m->run, .block = m->lumi_block};
    a->is_rest = m->is_rest;
    a->roster->key = m->menu_key;
    a->set->prescales.key = m->prescales_key;
    a->set->conditions.key = m->conditions_key;
    take_counts(a, m);
    return a;
}
