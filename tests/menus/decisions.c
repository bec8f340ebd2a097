/* SPDX-License-Identifier: Apache-2.0 */
/* menu_decisions - random menus, random events, and what the chains of the daemon decide on them,
 * as lines for test_chains.py: the seed, then {"menu": its file}, and one line for each of its
 * events. Sets of chains and steps are numbers with a bit for each, in the order of the menu. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "menu/votes.h"
#include "random_menu.h"
#include "seed.h"

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fflush(stdout);
    fprintf(stderr, "menu_decisions: not true: %s\n", what);
    exit(1);
}

struct roi_of { /* one RoI on its way */
    struct random_event e;
    bool may_pass_short;
    uint64_t waits, done;
    void *chains;
    bool fails;                   /* a chain needs what no lane serves */
    bool accepts_early, is_early; /* its decision could go out, as the menu may say */
    uint64_t early_streams;       /* what it would have said */
};

/* ---------------------------------------------------------------- deciding */

/* What a decision says that goes out now. */
static uint64_t streams_now(const struct menu *m, const struct roi_of *r, uint64_t done)
{
    void *copy = malloc(chains_bytes(m->plan));
    uint64_t streams;

    must(copy != NULL, "memory is there");
    memcpy(copy, r->chains, chains_bytes(m->plan));
    if (!r->may_pass_short && chains_passed_short(m->plan, r->e.step, copy))
        chains_fail_short(m->plan, r->e.step, copy);
    streams = chains_conclude(m->plan, r->e.step, done, copy);
    free(copy);
    return streams;
}

/* Notes the first moments at which the decision could go out. */
static void look_early(const struct menu *m, struct roi_of *r, uint64_t done)
{
    if (!m->plan->is_plain)
        return;
    r->accepts_early |= chains_are_settled(m->plan, r->e.step, MENU_ACCEPT, r->chains);
    if (r->is_early || !chains_are_settled(m->plan, r->e.step, MENU_STREAMS, r->chains))
        return;
    r->is_early = true;
    r->early_streams = streams_now(m, r, done);
}

/* One of the heads in a set, any. */
static uint32_t any_head(uint64_t *state, const struct menu *m, uint64_t heads)
{
    uint32_t head;

    do
        head = (uint32_t)seed_uniform(state, 0, m->n_steps) % m->n_steps;
    while (!(heads >> head & 1));
    return head;
}

/* Takes the steps that wait in any order, as lanes return them, or do not.  Returns those that ran.
 */
static uint64_t run_steps(uint64_t *state, const struct menu *m, struct roi_of *r)
{
    uint64_t asked = 0, done = 0, queued = 0, waits = r->waits;

    for (;;) {
        uint64_t fresh, left;
        uint32_t head;

        look_early(m, r, done);
        for (; waits; waits &= waits - 1)
            queued |= plan_to_run(m->plan, (uint32_t)__builtin_ctzll(waits), done);
        queued &= ~asked;
        asked |= queued;
        left = asked & ~(done | chains_skipped(r->chains));
        if (!left || !chains_run(r->chains))
            break;
        head = any_head(state, m, left);
        fresh = plan_whole(m->plan, m->steps[head].members, r->e.kinds);
        must(fresh != 0, "steps run only if the RoI has their data");
        if (r->e.gone >> head & 1) {
            waits =
                chains_skip(m->plan, r->e.step, done, m->steps[head].members, r->chains, &r->fails);
        } else {
            done |= fresh;
            waits = chains_advance(m->plan, r->e.step, done, fresh, r->chains);
        }
        r->fails |= (waits & chains_skipped(r->chains)) != 0;
        if (r->fails)
            return done;
        queued = 0;
    }
    must(!chains_run(r->chains), "no chain waits for ever");
    return done;
}

static void make_roi(uint64_t *state, const struct random_menu *random, struct roi_of *r)
{
    random_event_make(state, random, 4, 0.2, &r->e);
    r->may_pass_short = seed_uniform(state, 0, 1) < 0.5;
}

static void begin_roi(const struct menu *m, const struct prescales *prescales, uint32_t n_rois,
                      struct roi_of *r)
{
    const struct chains_event ev = {
        .info = &r->e.info, .type = r->e.type, .kinds = r->e.kinds, .n_rois = n_rois};

    memset(r->chains, 0, chains_bytes(m->plan));
    r->waits = chains_seed(m->plan, prescales, &ev, r->chains);
}

static void run_roi(uint64_t *state, const struct menu *m, struct roi_of *r)
{
    r->fails = r->accepts_early = r->is_early = false;
    r->done = run_steps(state, m, r);
    if (!r->fails && !r->may_pass_short && chains_passed_short(m->plan, r->e.step, r->chains))
        chains_fail_short(m->plan, r->e.step, r->chains);
}

/* RoIs of an event come and end in any order.  Returns how often one did when nothing could change
 * any more. */
static uint32_t run_event(uint64_t *state, const struct menu *m, const struct prescales *prescales,
                          struct roi_of *roi, uint32_t n, struct votes *v)
{
    uint32_t come = 0, ended = 0, late = 0, order[RANDOM_ROIS];
    bool is_settled = false;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    while (ended < n) {
        late += is_settled;
        if (come < n && (come == ended || seed_uniform(state, 0, 1) < 0.5)) {
            begin_roi(m, prescales, n, &roi[come]);
            votes_come(v, m->plan, roi[come++].chains);
        } else { /* any of those that came */
            const uint32_t k = ended + (uint32_t)seed_uniform(state, 0, come - ended);
            const uint32_t which = order[k];

            order[k] = order[ended];
            order[ended++] = which;
            run_roi(state, m, &roi[which]);
            votes_end(v, m->plan, roi[which].e.step, roi[which].chains);
        }
        is_settled = votes_settle(v, m->plan);
    }
    must(is_settled, "the last RoI settles the event");
    return late;
}

/* ---------------------------------------------------------------- writing */

static void write_menu(const char *text)
{
    fputs("{\"menu\": \"", stdout);
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", stdout);
        else
            putchar(*text);
    puts("\"}");
}

static void write_set(const char *name, const uint64_t *bits, uint32_t n_words)
{
    printf(", \"%s\": \"", name);
    for (uint32_t w = n_words; w--;)
        printf("%016llx", (unsigned long long)bits[w]);
    putchar('"');
}

static void write_value(float value)
{
    if (isnan(value))
        fputs(", NaN", stdout);
    else
        printf(", %.9g", (double)value);
}

static void write_decision(const struct menu *m, struct roi_of *r)
{
    static const struct {
        enum chains_set set;
        const char *name;
    } sets[] = {{CHAINS_PRESCALED, "prescaled"},
                {CHAINS_LACKING, "missing"},
                {CHAINS_RAN, "ran"},
                {CHAINS_RAW, "raw"},
                {CHAINS_ACCEPTED, "accepted"},
                {CHAINS_SKIPPED, "skipped"}};
    const struct plan *p = m->plan;
    const uint64_t streams = chains_conclude(p, r->e.step, r->done, r->chains);

    write_set("streams", &streams, 1);
    write_set("steps", &r->done, 1);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        write_set(sets[i].name, chains_of(p, r->chains, sets[i].set), p->n_words);
    if (r->is_early)
        write_set("early", &r->early_streams, 1);
    if (r->accepts_early)
        fputs(", \"accepts_early\": true", stdout);
}

static void write_roi(const struct menu *m, struct roi_of *r)
{
    printf("{\"type\": %u, \"eta\": %.9g, \"phi_rad\": %.9g, \"may_pass_short\": %s, \"holds\": [",
           r->e.type, (double)r->e.info.eta, (double)r->e.info.phi_rad,
           r->may_pass_short ? "true" : "false");
    if (r->e.kinds >> TRG_SPACEPOINTS & 1)
        fputs("\"spacepoints\"", stdout);
    if (r->e.kinds >> TRG_HITS & 1)
        fputs(r->e.kinds >> TRG_SPACEPOINTS & 1 ? ", \"hits\"" : "\"hits\"", stdout);
    fputs("], \"results\": [", stdout);
    for (uint32_t s = 0; s < m->n_steps; s++) {
        const struct trg_result *result = &r->e.step[s].result;

        printf("%s[%d", s ? ", " : "", result->status == TRG_TRUNCATED);
        write_value(result->value[0]);
        write_value(result->value[1]);
        putchar(']');
    }
    putchar(']');
    write_set("gone", &r->e.gone, 1);
    if (r->fails)
        fputs(", \"fails\": true", stdout);
    else
        write_decision(m, r);
    putchar('}');
}

static void write_event(const struct menu *m, struct roi_of *rois, uint32_t n_rois)
{
    const struct trg_roi_info *i = &rois->e.info;

    printf("{\"run\": %u, \"l1id\": %u, \"bcid\": %u, \"l1_bits\": %u, \"rois\": [",
           (unsigned)i->run, (unsigned)i->l1id, (unsigned)i->bcid, (unsigned)i->l1_bits);
    for (uint32_t k = 0; k < n_rois; k++) {
        fputs(k ? ", " : "", stdout);
        write_roi(m, &rois[k]);
    }
    putchar(']');
}

/* ---------------------------------------------------------------- events of a menu */

struct menu_run {
    uint64_t *state;
    const struct random_menu *random;
    const struct menu *m;
    struct prescales prescales;
    struct roi_of roi[RANDOM_ROIS];
};

/* An RoI that is alone; `share_gone`: of steps that no lane serves. */
static void decide_single(struct menu_run *run, double share_gone)
{
    struct roi_of *r = run->roi;

    make_roi(run->state, run->random, r);
    for (uint32_t i = 0; share_gone > 0 && i < run->m->n_steps; i++)
        r->e.gone |=
            (uint64_t)(run->m->steps[i].head == i && seed_uniform(run->state, 0, 1) < share_gone)
            << i;
    begin_roi(run->m, &run->prescales, seed_uniform(run->state, 0, 1) < 0.5, r); /* 0 is 1 */
    run_roi(run->state, run->m, r);
    write_event(run->m, r, 1);
    puts("}");
}

static void decide_event(struct menu_run *run)
{
    static uint8_t count[VOTES_KINDS * MENU_CHAINS_MAX];
    const uint32_t n = 2 + (uint32_t)seed_uniform(run->state, 0, RANDOM_ROIS - 1);
    const struct plan *p = run->m->plan;
    struct plan_bits accepted;
    uint64_t streams;
    struct votes v;
    uint32_t late;

    for (uint32_t i = 0; i < n; i++)
        make_roi(run->state, run->random, &run->roi[i]);
    for (uint32_t i = 1; i < n; i++) { /* the crossing is the event's, the place each RoI's own */
        struct trg_roi_info *info = &run->roi[i].e.info, first = run->roi->e.info;

        first.eta = info->eta;
        first.phi_rad = info->phi_rad;
        *info = first;
    }
    votes_begin(&v, p, &run->prescales, &run->roi->e.info, n, count);
    late = run_event(run->state, run->m, &run->prescales, run->roi, n, &v);
    streams = votes_accepted(&v, p, &accepted);
    write_event(run->m, run->roi, n);
    printf(", \"late\": %u", late);
    write_set("streams", &streams, 1);
    write_set("raw", v.raw.w, p->n_words);
    write_set("accepted", accepted.w, p->n_words);
    puts("}");
}

/* Of four menus two have seeds and regions, and two have combined chains. */
static struct menu *make_menu(uint64_t *state, uint32_t number, uint32_t n_chains, uint32_t n_steps,
                              struct plugin_host *host, struct random_menu *random)
{
    struct menu *m = NULL;
    char *text;

    random_menu_make(state, n_chains, n_steps, number % 2 ? 0 : 3, random);
    if (number % 2 == 0)
        random_menu_place(state, random);
    if (number / 2 % 2 == 0)
        random_menu_combine(state, random);
    must(random_menu_load(random, host, &m) == 0, "the menu is taken");
    text = random_menu_text(random);
    must(text != NULL, "memory is there");
    write_menu(text);
    free(text);
    return m;
}

static void run_menu(uint64_t *state, const struct random_menu *random, const struct menu *m,
                     uint32_t n_events)
{
    static struct menu_run run;

    run = (struct menu_run){.state = state, .random = random, .m = m};
    prescales_init(m, NULL, &run.prescales);
    for (uint32_t k = 0; k < RANDOM_ROIS; k++) {
        run.roi[k].chains = malloc(chains_bytes(m->plan));
        must(run.roi[k].chains != NULL, "memory is there");
    }
    for (uint32_t k = 0; k < n_events; k++)
        if (k % 5 == 4)
            decide_event(&run);
        else
            decide_single(&run, k % 5 == 3 && m->plan->is_plain ? 0.1 : 0);
    for (uint32_t k = 0; k < RANDOM_ROIS; k++)
        free(run.roi[k].chains);
}

int main(int argc, char **argv)
{
    static struct random_menu random;
    struct plugin_host *host;
    uint32_t n[4]; /* menus, chains, steps, events of each */
    uint64_t state;

    for (int i = 0; argc == 6 && i < 4; i++)
        n[i] = (uint32_t)strtoul(argv[2 + i], NULL, 10);
    if (argc != 6 || !n[1] || n[1] > MENU_CHAINS_MAX || !n[2] || n[2] > MENU_STEPS_MAX ||
        n[2] > n[1]) {
        fprintf(stderr, "usage: menu_decisions PLUGIN_FOLDER MENUS CHAINS STEPS EVENTS\n");
        return 2;
    }
    log_set_level(TRG_ERROR);
    must(plugin_host_new(&argv[1], 1, &host) == 0, "the folder of plugins is there");
    state = fresh_seed();
    for (uint32_t i = 0; i < n[0]; i++) {
        const uint32_t most = i < 4 ? n[1] : n[1] >> i % 8; /* small ones settle early */
        const uint32_t chains = i < 4 ? n[1] : 1 + (uint32_t)seed_uniform(&state, 0, most);
        struct menu *m = make_menu(&state, i, chains, n[2] < chains ? n[2] : chains, host, &random);

        run_menu(&state, &random, m, n[3]);
        menu_free(m);
    }
    plugin_host_free(host);
    must(fflush(stdout) == 0, "all was written");
    return 0;
}
