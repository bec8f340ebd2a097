/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/accounts_inner.h"

_Static_assert((int)MENU_OF_SECOND == (int)STATS_BAND_SECOND &&
                   (int)MENU_OF_RUN == (int)STATS_BAND_RUN,
               "a band of the menu is one of the statistics");

#define BLOCKS_MAX 4096u /* lumi blocks with an account of their own, of those not written yet */
#define SLOTS_MAX  (BLOCKS_MAX + 1024u)
#define CACHE      64u /* a power of two */
#define DIRTY_MAX  64u
#define NONE       UINT32_MAX
#define NO_VERSION UINT64_MAX

struct accounts {
    struct change_book *book;
    struct account *slot[SLOTS_MAX];
    uint32_t n_slots, n_blocks;
    uint32_t cache[CACHE]; /* by lumi block: where it was last found */
    uint32_t dirty[DIRTY_MAX], n_dirty;
};

int accounts_new(struct change_book *book, struct accounts **ret_accounts)
{
    struct accounts *a = calloc(1, sizeof *a);

    if (!a)
        return -ENOMEM;
    a->book = book;
    *ret_accounts = a;
    return 0;
}

void accounts_free(struct accounts *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; i < a->n_slots; i++)
        account_free(a->slot[i]);
    free(a);
}

/* ---------------------------------------------------------------- opening */

static struct account_roster *new_roster(const struct menu *m)
{
    struct account_roster *r = calloc(1, sizeof *r);

    if (r)
        r->chain = calloc(m->n_chains, sizeof *r->chain);
    if (!r || !r->chain) {
        free(r);
        return NULL;
    }
    r->key = m->hash;
    r->n_chains = m->n_chains;
    r->n_words = m->plan->n_words;
    r->n_streams = m->n_streams;
    for (uint32_t i = 0; i < m->n_chains; i++)
        strncpy(r->chain[i], m->chains[i].name, CHANGE_NAME - 1);
    for (uint32_t i = 0; i < m->n_streams; i++)
        strncpy(r->stream[i], m->streams[i].name, CHANGE_NAME - 1);
    return r;
}

/* Shares what another account of the engine has, else makes it; what fails is NULL. */
static void find_parts(struct accounts *a, const struct engine *e, struct lumi at, uint64_t version,
                       struct account *account)
{
    for (uint32_t i = a->n_slots; i-- && !account->set;) {
        const struct account *other = a->slot[i];

        if (!other || other->engine != e)
            continue;
        account->roster = other->roster;
        if (other->set->version == version)
            account->set = other->set;
    }
    if (account->roster)
        atomic_fetch_add(&account->roster->users, 1);
    else if ((account->roster = new_roster(e->menu)))
        atomic_store(&account->roster->users, 1);
    if (account->set) {
        atomic_fetch_add(&account->set->users, 1);
    } else if ((account->set = calloc(1, sizeof *account->set))) {
        atomic_store(&account->set->users, 1);
        account->set->version = change_book_fill(a->book, at, e->menu, &account->set->prescales,
                                                 &account->set->conditions);
    }
}

static struct account *new_account(struct accounts *a, struct engine *e, struct lumi at,
                                   uint64_t version, bool is_rest)
{
    struct account *account = calloc(1, sizeof *account);

    if (!account)
        return NULL;
    account->engine = e;
    account->at = at;
    account->is_rest = is_rest;
    find_parts(a, e, at, version, account);
    account->chain = calloc(ACCOUNT_KINDS * (size_t)e->menu->n_chains, sizeof *account->chain);
    account->plane = calloc((size_t)ACCOUNT_KINDS * ACCOUNT_PLANES * e->menu->plan->n_words,
                            sizeof *account->plane);
    if (!account->roster || !account->set || !account->chain || !account->plane) {
        account_free(account);
        return NULL;
    }
    return account;
}

/* A free place, or NONE. */
static uint32_t free_slot(struct accounts *a)
{
    for (uint32_t i = 0; i < a->n_slots; i++)
        if (!a->slot[i])
            return i;
    return a->n_slots < SLOTS_MAX ? a->n_slots++ : NONE;
}

static uint32_t add(struct accounts *a, struct engine *e, struct lumi at, uint64_t version,
                    bool is_rest)
{
    const uint32_t slot = free_slot(a);

    if (slot == NONE)
        return NONE;
    a->slot[slot] = new_account(a, e, at, version, is_rest);
    if (!a->slot[slot])
        return NONE;
    a->n_blocks += !is_rest;
    return slot;
}

static void show(const struct accounts *a, struct engine *e, uint32_t slot)
{
    const struct account *account = a->slot[slot];

    for (uint32_t i = 0; i < e->menu->n_chains; i++) {
        const struct menu_expected *expected = &e->menu->chains[i].expected;

        atomic_store(&e->chain[i]->prescale, account->set->prescales.value[i]);
        atomic_store(&e->chain[i]->expected_min, expected->min);
        atomic_store(&e->chain[i]->expected_max, expected->max);
        atomic_store(&e->chain[i]->band, (uint32_t)expected->of);
    }
}

int accounts_begin(struct accounts *a, struct engine *e)
{
    struct lumi newest, from;

    change_book_state(a->book, &newest, &from);
    return add(a, e, newest, NO_VERSION, true) == NONE ? -ENOMEM : 0;
}

void accounts_show(const struct accounts *a, struct engine *e)
{
    for (uint32_t i = 0; i < a->n_slots; i++)
        if (a->slot[i] && a->slot[i]->engine == e)
            show(a, e, i);
}

void accounts_abandon(struct accounts *a, const struct engine *e)
{
    for (uint32_t i = 0; i < a->n_slots; i++) {
        if (!a->slot[i] || a->slot[i]->engine != e)
            continue;
        account_free(a->slot[i]);
        a->slot[i] = NULL;
    }
}

/* ---------------------------------------------------------------- an RoI enters */

static bool is_of(const struct account *account, const struct engine *e, struct lumi at)
{
    return account && account->engine == e && !account->is_rest && !account->is_over &&
           account->at.run == at.run && account->at.block == at.block;
}

/* An account for all lumi blocks that have none, with that version; else one with another.  It
 * takes the place of one that nothing came to. */
static uint32_t find_rest(struct accounts *a, struct engine *e, struct lumi at, uint64_t version)
{
    uint32_t any = NONE, unused = NONE;
    struct account *fresh;

    for (uint32_t i = 0; i < a->n_slots; i++) {
        const struct account *account = a->slot[i];

        if (!account || account->engine != e || !account->is_rest)
            continue;
        if (account->set->version == version)
            return i;
        any = i;
        if (!account->received)
            unused = i;
    }
    if (unused == NONE) {
        const uint32_t slot = add(a, e, at, version, true);

        return slot == NONE ? any : slot;
    }
    fresh = new_account(a, e, at, version, true);
    if (fresh) {
        account_free(a->slot[unused]);
        a->slot[unused] = fresh;
    }
    return unused;
}

/* A lumi block that was not met in the cache. */
static uint32_t look_up(struct accounts *a, struct engine *e, struct lumi at)
{
    struct lumi newest, from;
    uint32_t slot = NONE;
    uint64_t version;

    for (uint32_t i = a->n_slots; i--;)
        if (is_of(a->slot[i], e, at))
            return i;
    version = change_book_look(a->book, at);
    if (a->n_blocks < BLOCKS_MAX)
        slot = add(a, e, at, version, false);
    if (slot == NONE)
        return find_rest(a, e, at, version);
    change_book_state(a->book, &newest, &from);
    if (!lumi_is_before(at, newest))
        show(a, e, slot);
    return slot;
}

uint32_t accounts_enter(struct accounts *a, struct engine *e, const struct trg_roi_info *info)
{
    const struct lumi at = {.run = info->run, .block = info->lumi_block};
    uint32_t *cached = &a->cache[(at.block ^ at.run * 7) & (CACHE - 1)];
    struct account *account;

    if (*cached >= a->n_slots || !is_of(a->slot[*cached], e, at))
        *cached = look_up(a, e, at);
    account = a->slot[*cached];
    account->n_in++;
    account->received++;
    return *cached;
}

uint32_t accounts_join(struct accounts *a, uint32_t slot)
{
    a->slot[slot]->n_in++;
    a->slot[slot]->received++;
    return slot;
}

const struct prescales *accounts_prescales(const struct accounts *a, uint32_t account)
{
    return &a->slot[account]->set->prescales;
}

const struct conditions *accounts_conditions(const struct accounts *a, uint32_t account)
{
    return &a->slot[account]->set->conditions;
}

/* ---------------------------------------------------------------- counting */

static const size_t counter_at[ACCOUNT_KINDS] = {
#define AT(name, kind, help) offsetof(struct stats_chain, name),
    STATS_CHAIN(AT)
#undef AT
};

/* Counts a set of chains.  All words of a plane at once, without looking at any: how far a carry
 * goes cannot be foreseen. */
static void tally(struct account *account, enum account_kind kind, const uint64_t *chains)
{
    const uint32_t n_words = account->roster->n_words;
    uint64_t *plane = account->plane + (size_t)kind * ACCOUNT_PLANES * n_words;
    struct plan_bits carry;
    uint64_t any = 1;

    memcpy(carry.w, chains, n_words * sizeof *chains);
    for (uint32_t p = 0; any && p < ACCOUNT_PLANES; p++, plane += n_words) {
        any = 0;
        for (uint32_t w = 0; w < n_words; w++) {
            const uint64_t before = plane[w];

            plane[w] = before ^ carry.w[w];
            carry.w[w] &= before;
            any |= carry.w[w];
        }
    }
}

/* The sums of eight chains, a byte each: bit p of them is in byte p, plane by plane (a transposed
 * matrix of 8 x 8 bits: Warren, Hacker's Delight, 7-3). */
static uint64_t sums_of(uint64_t x)
{
    uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaull;

    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000cccc0000ccccull;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ull;
    return x ^ t ^ (t << 28);
}

/* Spreads out the sums of eight chains from `first` on. */
static void spread_eight(struct account *account, uint32_t kind, uint32_t first, uint64_t sums)
{
    uint64_t *sum = account->chain + kind * (size_t)account->roster->n_chains + first;
    struct stats_chain **stats = &account->engine->chain[first];

    while (sums) {
        const uint32_t k = (uint32_t)__builtin_ctzll(sums) / 8;
        const uint64_t n = sums >> (8 * k) & 0xff;

        sum[k] += n;
        stats_add((stats_u64 *)(void *)((char *)stats[k] + counter_at[kind]), n);
        sums &= ~(0xffull << (8 * k));
    }
}

/* Spreads out the sums of one kind. */
static void spread(struct account *account, uint32_t kind)
{
    const uint32_t n_words = account->roster->n_words;
    uint64_t *plane = account->plane + (size_t)kind * ACCOUNT_PLANES * n_words;

    _Static_assert(ACCOUNT_PLANES == 8, "a sum is a byte");
    for (uint32_t w = 0; w < n_words; w++) {
        uint64_t any = 0;

        for (uint32_t p = 0; p < ACCOUNT_PLANES; p++)
            any |= plane[p * n_words + w];
        while (any) { /* few chains have something to count */
            const uint32_t shift = (uint32_t)__builtin_ctzll(any) & ~7u;
            uint64_t bits = 0;

            for (uint32_t p = 0; p < ACCOUNT_PLANES; p++)
                bits |= (plane[p * n_words + w] >> shift & 0xff) << (8 * p);
            spread_eight(account, kind, 64 * w + shift, sums_of(bits));
            any &= ~(UINT64_C(0xff) << shift);
        }
    }
    memset(plane, 0, (size_t)ACCOUNT_PLANES * n_words * sizeof *plane);
}

static void spread_all(struct account *account)
{
    for (uint32_t kind = 0; kind < ACCOUNT_KINDS; kind++)
        spread(account, kind);
    account->n_seeds = account->n_ends = account->n_events = 0;
    account->is_dirty = false;
}

void accounts_flush(struct accounts *a)
{
    for (uint32_t i = 0; i < a->n_dirty; i++)
        if (a->slot[a->dirty[i]] && a->slot[a->dirty[i]]->is_dirty)
            spread_all(a->slot[a->dirty[i]]);
    a->n_dirty = 0;
}

/* Room for one more event in the sums that wait. */
static void prepare(struct accounts *a, uint32_t slot, uint32_t n_waiting)
{
    if (n_waiting == ACCOUNT_ADDS)
        spread_all(a->slot[slot]);
    if (a->slot[slot]->is_dirty)
        return;
    if (a->n_dirty == DIRTY_MAX)
        accounts_flush(a);
    a->slot[slot]->is_dirty = true;
    a->dirty[a->n_dirty++] = slot;
}

void accounts_seeded(struct accounts *a, uint32_t slot, void *chains)
{
    struct account *account = a->slot[slot];
    const struct plan *p = account->engine->menu->plan;
    const uint64_t *prescaled = chains_of(p, chains, CHAINS_PRESCALED),
                   *lacking = chains_of(p, chains, CHAINS_LACKING),
                   *ran = chains_of(p, chains, CHAINS_RAN);
    struct plan_bits seeded;

    prepare(a, slot, account->n_seeds);
    account->n_seeds++;
    for (uint32_t w = 0; w < account->roster->n_words; w++)
        seeded.w[w] = prescaled[w] | lacking[w] | ran[w];
    tally(account, ACCOUNT_seeded, seeded.w);
    tally(account, ACCOUNT_prescaled, prescaled);
    tally(account, ACCOUNT_missing, lacking);
    tally(account, ACCOUNT_run, ran);
}

static void count_roi(struct account *account, const struct roi *r, bool is_refused)
{
    account->n_in--;
    account->refused += is_refused;
    account->timeouts += r->status == TRIGD__V1__STATUS__TIMEOUT;
    account->truncated += r->status == TRIGD__V1__STATUS__TRUNCATED;
    account->late += r->is_late;
    account->skipped += r->status == TRIGD__V1__STATUS__SKIPPED;
    if (roi_has_failed(r->status))
        account->failed++;
    else if (r->accept)
        account->accepted++;
    else
        account->rejected++;
    for (uint64_t left = is_refused ? 0 : r->streams; left; left &= left - 1)
        account->stream[__builtin_ctzll(left)]++;
}

void accounts_decided(struct accounts *a, const struct roi *r, void *chains, bool is_refused)
{
    struct account *account = a->slot[r->account];
    const struct plan *p = account->engine->menu->plan;
    const uint64_t *ran = chains_of(p, chains, CHAINS_RAN),
                   *accepted = chains_of(p, chains, CHAINS_ACCEPTED);
    const uint64_t *running = chains_of(p, chains, CHAINS_RUNNING);
    struct plan_bits reject, unfinished;

    prepare(a, r->account, account->n_ends);
    account->n_ends++;
    count_roi(account, r, is_refused);
    if (chains_skipped(chains))
        tally(account, ACCOUNT_skipped, chains_of(p, chains, CHAINS_SKIPPED));
    if (roi_has_failed(r->status)) {
        tally(account, ACCOUNT_failed, ran);
        return;
    }
    for (uint32_t w = 0; w < account->roster->n_words; w++) {
        unfinished.w[w] = running[w] & ~accepted[w];
        reject.w[w] = ran[w] & ~accepted[w] & ~running[w];
    }
    if (r->is_early || r->status == TRIGD__V1__STATUS__SKIPPED)
        tally(account, ACCOUNT_unfinished, unfinished.w);
    tally(account, ACCOUNT_raw_pass, chains_of(p, chains, CHAINS_RAW));
    tally(account, ACCOUNT_pass, accepted);
    tally(account, ACCOUNT_reject, reject.w);
}

void accounts_event(struct accounts *a, uint32_t slot, const struct event_decision *d)
{
    struct account *account = a->slot[slot];

    prepare(a, slot, account->n_events);
    account->n_events++;
    if (roi_has_failed(d->status))
        account->events_failed++;
    else if (d->accept)
        account->events_accepted++;
    else
        account->events_rejected++;
    account->events_incomplete += roi_has_failed(d->status) && d->n_came < d->n_rois;
    tally(account, ACCOUNT_events, d->accepted.w);
}

/* ---------------------------------------------------------------- changes */

void accounts_forget_sets(struct accounts *a, struct engine *e)
{
    struct lumi newest, from;
    uint32_t rest;

    for (uint32_t i = 0; i < a->n_slots; i++)
        if (a->slot[i] && !a->slot[i]->is_rest)
            a->slot[i]->is_over = true;
    change_book_state(a->book, &newest, &from);
    rest = find_rest(a, e, newest, change_book_version(a->book, newest));
    show(a, e, rest);
}

void accounts_leave(struct accounts *a, const struct engine *e)
{
    accounts_flush(a);
    for (uint32_t i = 0; i < a->n_slots; i++)
        if (a->slot[i] && a->slot[i]->engine == e)
            a->slot[i]->engine = NULL;
}

/* ---------------------------------------------------------------- taking away */

/* A copy of an account that stays, with its counts, which begin anew there. */
static struct account *take_counts(struct account *from)
{
    struct account *copy = malloc(sizeof *copy);
    uint64_t *chain = calloc(ACCOUNT_KINDS * (size_t)from->roster->n_chains, sizeof *chain);

    if (!copy || !chain) {
        free(copy);
        free(chain);
        return NULL;
    }
    *copy = *from;
    copy->plane = NULL;
    atomic_fetch_add(&copy->roster->users, 1);
    atomic_fetch_add(&copy->set->users, 1);
    from->chain = chain;
    memset(from->stream, 0, sizeof from->stream);
#define FORGET(name) from->name = 0;
    ACCOUNT_ROIS(FORGET)
    ACCOUNT_EVENTS(FORGET)
#undef FORGET
    return copy;
}

struct account *accounts_take(struct accounts *a)
{
    struct account *list = NULL;

    accounts_flush(a);
    for (uint32_t i = 0; i < a->n_slots; i++) {
        struct account *account = a->slot[i];

        if (!account || account->n_in)
            continue;
        if (account->is_rest && account->engine) {
            account = account->received ? take_counts(account) : NULL;
        } else {
            a->slot[i] = NULL;
            a->n_blocks -= !account->is_rest;
        }
        if (!account)
            continue;
        account->next = list;
        list = account;
    }
    return list;
}
