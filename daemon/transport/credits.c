/* SPDX-License-Identifier: Apache-2.0 */
/* credits.c - how many RoIs each client may have unanswered, and how that changes.
 *
 * A client that used more than half of its credits lately, or has just come, could use more; the
 * others keep twice what they use, and a quarter of their part at least.  All are served fairly by
 * weight (shares.h), and what is left over lies with the clients until somebody needs it: then it
 * is recalled.  A smaller number takes effect GRACE_NS after it was sent, so that RoIs that were on
 * their way meanwhile are taken; only then are the credits given to others.  So the RoIs in flight
 * and those that may still come are never more than there are places. */
#include "clock.h"
#include "transport/clients_inner.h"

#define GRACE_NS     (40 * NS_PER_MS)
#define NEWCOMER_NS  (500 * NS_PER_MS) /* so long a client counts as one that could use more */
#define WINDOW_NS    (100 * NS_PER_MS) /* of use; longer than any way there and back */
#define RESERVE_PART 16u               /* of all credits, for clients that are yet to come */
#define RESERVE_FROM 64u               /* fewer credits have none */
#define LEAST_CHANGE 8u                /* nothing is recalled while all have their share to 1/8 */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most_of(const struct clients *c, const struct client *client)
{
    uint32_t limit = client->is_visitor ? 0 : c->config->clients.credits;

    return client->want ? smaller(client->want, limit) : limit;
}

/* Places that are taken by a client or may be. */
static uint32_t held_by(const struct client *client)
{
    return larger(client->allowed, client->outstanding);
}

/* Kept back for newcomers while there may be some. */
static uint32_t reserve(const struct clients *c)
{
    return c->n_free && c->all_credits >= RESERVE_FROM ? c->all_credits / RESERVE_PART : 0;
}

/* Ends recalls whose time is over, and windows. */
static void look_at(struct client *client, bool is_window, uint64_t now_ns)
{
    if (now_ns >= client->recalled_ns + GRACE_NS)
        client->allowed = client->credits;
    if (is_window) {
        client->uses = larger(client->taken, client->uses - client->uses / 8);
        client->taken = 0;
    }
}

/* Credits that came to use lately.  How many were so at once is not known here: decisions on their
 * way back still hold theirs.  What is taken in a window is enough for a way of that length. */
static uint32_t uses_of(const struct client *client)
{
    return larger(client->outstanding, larger(client->taken, client->uses));
}

static uint32_t demand_of(const struct clients *c, const struct client *client, uint64_t weights,
                          uint64_t now_ns)
{
    uint32_t most = most_of(c, client), uses = uses_of(client);
    uint64_t part = (uint64_t)c->all_credits * client->weight / weights;

    if (2 * uses > client->credits || now_ns < client->since_ns + NEWCOMER_NS)
        return most;
    return smaller(most, larger(larger(2 * uses, (uint32_t)(part / 4)), 1));
}

/* What each client should have; returns the places that nobody holds. */
static uint32_t reckon(struct clients *c, uint64_t now_ns)
{
    bool is_window = now_ns >= c->window_ns + WINDOW_NS;
    uint64_t weights = 0, held = 0, asked = 0, in_flight = stats_get(&c->stats->g.in_flight);

    if (is_window)
        c->window_ns = now_ns;
    c->n_shares = 0;
    for (uint32_t i = 0; i < c->n_places; i++) {
        struct client *client = &c->client[i];

        if (!client->is_used || client->is_visitor)
            continue;
        look_at(client, is_window, now_ns);
        weights += client->weight;
        held += held_by(client);
        asked += client->outstanding;
        c->number[c->n_shares++] = i;
    }
    for (uint32_t i = 0; i < c->n_shares; i++) {
        const struct client *client = &c->client[c->number[i]];

        c->share[i] = (struct share){.weight = client->weight,
                                     .demand = demand_of(c, client, weights, now_ns),
                                     .most = most_of(c, client)};
    }
    shares_fill(c->share, c->n_shares, c->all_credits - reserve(c));
    held += in_flight > asked ? in_flight - asked : 0; /* of clients that are gone */
    return held < c->all_credits ? (uint32_t)(c->all_credits - held) : 0;
}

static void set_credits(struct clients *c, struct client *client, uint32_t credits, uint64_t now_ns)
{
    if (credits < client->credits) {
        client->recalled_ns = now_ns;
        client->excused_ns = now_ns + clients_silent_ns(c);
    }
    client->credits = credits;
    client->allowed = larger(client->allowed, credits);
    client->is_told = false;
    stats_set(&client->stats->credits, credits);
}

/* Shares `total` among those whose change counts; `change` has what each could take. */
static void share_out(struct clients *c, uint32_t total)
{
    for (uint32_t i = 0; i < c->n_shares; i++) {
        c->change[i].weight = c->client[c->number[i]].weight;
        c->change[i].most = c->change[i].demand;
    }
    shares_fill(c->change, c->n_shares, total);
}

/* Gives spare places to those who have less than their share; returns how many are missing. */
static uint64_t raise_all(struct clients *c, uint32_t spare, uint64_t now_ns)
{
    uint64_t missing = 0;

    for (uint32_t i = 0; i < c->n_shares; i++) {
        uint32_t target = c->share[i].got, has = c->client[c->number[i]].credits;

        c->change[i].demand = target > has ? target - has : 0;
    }
    share_out(c, spare);
    for (uint32_t i = 0; i < c->n_shares; i++) {
        struct client *client = &c->client[c->number[i]];

        missing += c->change[i].demand - c->change[i].got;
        if (c->change[i].got)
            set_credits(c, client, client->credits + c->change[i].got, now_ns);
    }
    return missing;
}

static bool is_far(uint32_t credits, uint32_t target)
{
    uint64_t off = credits > target ? credits - target : target - credits;

    return off * LEAST_CHANGE >= target;
}

/* Asks back what somebody needs from those who have more than their share. */
static void recall(struct clients *c, uint64_t missing, uint64_t now_ns)
{
    uint64_t coming = 0;
    bool is_worth_it = false;

    for (uint32_t i = 0; i < c->n_shares; i++) {
        const struct client *client = &c->client[c->number[i]];
        uint32_t target = c->share[i].got;
        bool is_settled = client->allowed == client->credits;

        is_worth_it |= is_far(client->credits, target);

        coming += held_by(client) - client->credits;
        c->change[i].demand = is_settled && client->credits > target ? client->credits - target : 0;
    }
    if (!is_worth_it || missing <= coming)
        return;
    share_out(c, (uint32_t)(missing - coming));
    for (uint32_t i = 0; i < c->n_shares; i++) {
        struct client *client = &c->client[c->number[i]];

        if (c->change[i].got)
            set_credits(c, client, client->credits - c->change[i].got, now_ns);
    }
}

/* Credits that clients have beyond all that there are: a supervisor has lost a node. */
static uint64_t granted_beyond(const struct clients *c)
{
    uint64_t granted = 0;

    for (uint32_t i = 0; i < c->n_shares; i++)
        granted += c->client[c->number[i]].credits;
    return granted > c->all_credits ? granted - c->all_credits : 0;
}

static void tell(struct clients *c, uint32_t number)
{
    Trigd__V1__Credit credit = TRIGD__V1__CREDIT__INIT;
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;

    credit.credits = c->client[number].credits;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_CREDIT;
    m.credit = &credit;
    clients_send(c, number, &m, 0);
}

void credits_balance(struct clients *c, uint32_t newcomer, uint64_t now_ns)
{
    uint32_t spare = reckon(c, now_ns), kept = reserve(c);
    uint64_t missing = raise_all(c, spare > kept ? spare - kept : 0, now_ns);

    if (newcomer != CLIENTS_NONE) {
        struct client *client = &c->client[newcomer];
        uint32_t first = smaller(smaller(spare, larger(kept / 4, 1)), most_of(c, client));

        if (client->credits < first)
            set_credits(c, client, first, now_ns);
    }
    missing += granted_beyond(c);
    if (missing)
        recall(c, missing, now_ns);
    if (newcomer != CLIENTS_NONE)
        c->client[newcomer].is_told = true; /* its Welcome does that */
    for (uint32_t i = 0; i < c->n_shares; i++) {
        struct client *client = &c->client[c->number[i]];

        if (!client->is_told)
            tell(c, c->number[i]);
        client->is_told = true;
    }
}
