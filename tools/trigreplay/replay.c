/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "clock.h"
#include "decisions.h"
#include "descriptors.h"
#include "pace.h"
#include "roifile.h"
#include "shm.h"
#include "stop.h"

#define CONNECTIONS_MAX 1024u
#define BATCH_MAX       256u
#define SHOW_NS         200000000L       /* between two states of the progress bar */
#define SPIN_NS         (50 * NS_PER_US) /* shorter waits are not slept */
#define TICK_MS         5                /* longest sleep */
#define TAKE_MOST       256u             /* RoIs that a thread takes on at a time */
#define TAKE_PART       UINT64_C(8)      /* but no more than a part of its share of what is left */

struct worker { /* one thread and its connections; aligned as those are */
    _Alignas(128) const struct replay_options *o;
    const struct source *source;
    const struct columns *columns;
    struct decisions *decisions;
    void *context;
    struct connection *connection;
    uint32_t n;             /* connections */
    _Atomic uint64_t *left; /* RoIs that no thread has taken on yet */
    uint64_t mine;          /* that this one has, and has not sent */
    struct pace pace;
    uint64_t worked_ns; /* when something was sent or came */
    struct tally tally;
    _Atomic uint64_t decided; /* for the progress bar */
    uint64_t start_ns, end_ns;
    int timer; /* tells that the next RoI is due */
    int result;
    bool is_finishing;
    pthread_t thread;
};

/* ---------------------------------------------------------------- one thread */

/* Takes on n of the RoIs that are left.  Shares are not fixed, because a thread may be given no
 * credits before another one is done; but a thread takes several at a time, since all threads
 * write to what is left. */
static bool take_on(struct worker *w, uint32_t n)
{
    uint64_t left = atomic_load_explicit(w->left, memory_order_relaxed), more;

    while (w->mine < n && left) {
        more = left / (TAKE_PART * w->o->threads);
        more = more < TAKE_MOST ? more : TAKE_MOST;
        more = more > n - w->mine ? more : n - w->mine;
        more = more < left ? more : left;
        if (atomic_compare_exchange_weak(w->left, &left, left - more))
            w->mine += more;
    }
    if (!w->mine || atomic_load(&stop_wanted))
        return false;
    w->mine -= w->mine < n ? w->mine : n; /* the last event is whole */
    return true;
}

/* Whether there are RoIs for this thread to send. */
static bool has_more(const struct worker *w)
{
    return (w->mine || atomic_load_explicit(w->left, memory_order_relaxed)) &&
           !atomic_load(&stop_wanted);
}

/* Sends what is due, over the connections in turn; returns whether anything went out. */
static bool send_due(struct worker *w, uint64_t *due_ns, uint32_t *turn)
{
    bool any = false;

    for (uint32_t k = 0; k < w->n; k++) {
        struct connection *c = &w->connection[(*turn + k) % w->n];
        uint64_t from[BATCH_MAX], now = clock_ns();
        uint32_t room = trg_client_room(c->client), n = 0;

        room = room < BATCH_MAX ? room : BATCH_MAX;
        while (n < w->o->batch && *due_ns <= now) {
            const uint32_t together = connection_together(c, n), until = n + together;

            if (until > room || !take_on(w, together))
                break;
            while (n < until) {
                from[n++] = w->pace.mode == PACE_MAX ? now : *due_ns;
                *due_ns = w->start_ns + pace_next(&w->pace);
            }
        }
        if (!n)
            continue;
        w->result = connection_send(c, from, n);
        if (w->result < 0)
            return false;
        any = true;
    }
    ++*turn;
    return any;
}

static bool receive_all(struct worker *w)
{
    bool any = false;

    for (uint32_t i = 0; i < w->n; i++) {
        int r = trg_client_receive(w->connection[i].client);

        if (r < 0)
            w->result = r;
        any |= r > 0;
    }
    atomic_store(&w->decided, w->tally.decided);
    return any;
}

static bool tick_all(struct worker *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        w->result = trg_client_tick(w->connection[i].client);
        if (w->result < 0)
            return false;
    }
    return true;
}

static void finish_all(struct worker *w)
{
    for (uint32_t i = 0; i < w->n && !w->is_finishing; i++)
        connection_finish(&w->connection[i]);
    w->is_finishing = true;
}

static bool is_done(const struct worker *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (!connection_is_done(&w->connection[i]))
            return false;
    return true;
}

/* Sleeps until something comes or the next RoI is due.  A timer of the system wakes us: the limit
 * of zmq_poll is in whole milliseconds, which would be added to the latency of every RoI. */
static void wait_for_more(struct worker *w, zmq_pollitem_t *items, bool may_send, uint64_t due_ns)
{
    struct itimerspec timer = {.it_value = {0, 0}}; /* off */
    bool idle = true;

    if (may_send) {
        uint64_t wake_ns = due_ns > SPIN_NS ? due_ns - SPIN_NS : 0;

        if (wake_ns <= clock_ns())
            return; /* too short to sleep */
        timer.it_value.tv_sec = (time_t)(wake_ns / NS_PER_S);
        timer.it_value.tv_nsec = (long)(wake_ns % NS_PER_S);
    }
    timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &timer, NULL);
    for (uint32_t i = 0; i < w->n; i++) {
        struct trg_client_source source;

        idle &= trg_client_sleep(w->connection[i].client, &source);
        items[i] = (zmq_pollitem_t){.socket = source.socket, .fd = source.fd, .events = ZMQ_POLLIN};
    }
    if (idle)
        zmq_poll(items, (int)w->n + 1, TICK_MS);
    for (uint32_t i = 0; i < w->n; i++)
        trg_client_awake(w->connection[i].client);
}

static bool has_room(const struct worker *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (trg_client_room(w->connection[i].client) >= connection_together(&w->connection[i], 0))
            return true;
    return false;
}

static void run_worker(struct worker *w, zmq_pollitem_t *items)
{
    uint64_t answered = 0, due_ns, last_ns, limit_ns = w->o->timeout_ms * NS_PER_MS;
    uint32_t turn = 0;

    items[w->n] = (zmq_pollitem_t){.fd = w->timer, .events = ZMQ_POLLIN};
    w->start_ns = w->end_ns = last_ns = clock_ns();
    for (uint32_t i = 0; i < w->n; i++)
        w->connection[i].timed_from_ns = w->start_ns + (uint64_t)(w->o->settle_s * NS_PER_S);
    due_ns = w->start_ns + pace_next(&w->pace);
    for (;;) {
        bool more = has_more(w);
        bool has_sent = more && send_due(w, &due_ns, &turn), any = receive_all(w);
        uint64_t now = clock_ns();

        if (w->result < 0 || !tick_all(w))
            break;
        if (has_sent || answered != w->tally.decided + w->tally.refused)
            last_ns = now; /* Busy and heartbeats are no progress */
        answered = w->tally.decided + w->tally.refused;
        if (atomic_load(&stop_wanted))
            finish_all(w);
        if ((!more && is_done(w)) || atomic_load(&stop_at_once))
            break;
        if (now > last_ns + limit_ns && (!more || due_ns < now))
            break; /* what is still open counts as lost */
        if (has_sent || any)
            w->worked_ns = now;
        else if (now < w->worked_ns + w->o->spin_us * NS_PER_US)
            clock_relax_long(); /* the core's other half may be the daemon's */
        else
            wait_for_more(w, items, more && has_room(w), due_ns);
    }
    w->end_ns = clock_ns();
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    zmq_pollitem_t *items = calloc(w->n + 1, sizeof *items);

    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    w->result = w->timer < 0 ? -errno : items ? 0 : -ENOMEM;
    if (w->result == 0)
        run_worker(w, items);
    for (uint32_t i = 0; i < w->n; i++)
        connection_close(&w->connection[i]); /* the others may wait for its credits */
    if (w->timer >= 0)
        close(w->timer);
    free(items);
    return NULL;
}

/* ---------------------------------------------------------------- the run */

static void add_latency(struct latency *sum, const struct latency *l)
{
    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++)
        sum->bucket[b] += l->bucket[b];
    sum->count += l->count;
    sum->sum_ns += l->sum_ns;
    if (l->max_ns > sum->max_ns)
        sum->max_ns = l->max_ns;
}

static void add_tally(struct tally *sum, const struct tally *t)
{
    sum->sent += t->sent;
    sum->decided += t->decided;
    sum->accepted += t->accepted;
    sum->rejected += t->rejected;
    sum->late += t->late;
    for (uint32_t i = 0; i < 8; i++)
        sum->status[i] += t->status[i];
    sum->busy += t->busy;
    sum->resent += t->resent;
    sum->repeated += t->repeated;
    sum->errors += t->errors;
    sum->refused += t->refused;
    sum->not_taken += t->not_taken;
    sum->duplicates += t->duplicates;
    sum->unknown += t->unknown;
    sum->lost += t->lost;
    sum->gone += t->gone;
    sum->events_sent += t->events_sent;
    sum->events_accepted += t->events_accepted;
    sum->events_rejected += t->events_rejected;
    sum->events_failed += t->events_failed;
    sum->events_refused += t->events_refused;
    sum->events_lost += t->events_lost;
    for (uint32_t i = 0; i < CONNECTION_NAMES_MAX; i++)
        sum->chain[i] += t->chain[i];
    for (uint32_t i = 0; i < 64; i++)
        sum->stream[i] += t->stream[i];
    sum->with_truth += t->with_truth;
    sum->within_1mm += t->within_1mm;
    sum->bytes_out += t->bytes_out;
    sum->to_nodes += t->to_nodes;
    add_latency(&sum->latency, &t->latency);
    add_latency(&sum->added, &t->added);
    add_latency(&sum->way, &t->way);
    if (!sum->first_error[0])
        memcpy(sum->first_error, t->first_error, sizeof sum->first_error);
}

struct input { /* what is replayed */
    struct source source;
    struct columns *columns;     /* the same, where memory is shared */
    struct decisions *decisions; /* where they are saved; NULL: nowhere */
};

static int open_source(const struct replay_options *o, struct source *ret_source)
{
    uint64_t n = o->rois && o->rois < o->distinct ? o->rois : o->distinct;
    int r = o->file ? source_read(o->file, (uint32_t)n, o->layout, ret_source)
                    : source_generate(o->preset, o->seed, (uint32_t)n, o->layout, ret_source);

    if (r == 0 && (o->has_type || o->deadline_us)) {
        r = source_stamp(ret_source, o->has_type ? &o->type : NULL, o->deadline_us);
        if (r < 0)
            source_free(ret_source);
    }
    if (r == 0 && o->event_rois) {
        r = source_group(ret_source, o->event_rois);
        if (r < 0)
            source_free(ret_source);
        if (r == -ENODATA)
            fprintf(stderr, "trigreplay: there are fewer RoIs than the %u of one event\n",
                    o->event_rois);
    }
    if (r < 0 && o->file)
        fprintf(stderr, "trigreplay: cannot read RoIs from %s: %s\n", o->file, roifile_why(r));
    else if (r == -EINVAL)
        fprintf(stderr, "trigreplay: there is no preset \"%s\"; see trigreplay --help\n",
                o->preset);
    return r;
}

static int open_input(const struct replay_options *o, struct input *in)
{
    bool is_shared = strncmp(o->endpoint, SHM_SCHEME, strlen(SHM_SCHEME)) == 0;
    int r = open_source(o, &in->source);

    if (r == 0 && o->decisions) {
        r = decisions_open(o->decisions, &in->decisions);
        if (r < 0)
            fprintf(stderr, "trigreplay: cannot save decisions in %s: %s\n", o->decisions,
                    strerror(-r));
    }
    if (r < 0 || !is_shared)
        return r;
    r = columns_new(&in->source, &in->columns);
    if (r < 0)
        fprintf(stderr, "trigreplay: an RoI cannot be laid out in shared memory: %s\n",
                strerror(-r));
    return r;
}

static int open_connections(struct worker *w, uint32_t first)
{
    for (uint32_t i = 0; i < w->n; i++) {
        struct connection *c = &w->connection[i];
        char name[64];
        int r;

        snprintf(name, sizeof name, "%.48s-%u", w->o->name, first + i);
        c->source = w->source;
        c->columns = w->columns;
        c->tally = &w->tally;
        c->decisions = w->decisions;
        c->number = first + i;
        c->n_connections = w->o->connections;
        c->z_step = w->o->z_step;
        c->z_value = w->o->z_value;
        c->has_key = w->o->has_key;
        c->no_addresses = w->o->no_addresses;
        r = connection_open(c, w->context, w->o->endpoint, name, w->o->credits, w->o->timeout_ms);
        if (r < 0)
            return r;
    }
    return 0;
}

static void show_progress(const struct replay_options *o, const struct worker *w, bool last)
{
    static const char bar[] = "########################################";
    uint64_t done = 0;
    double part;

    for (uint32_t i = 0; i < o->threads; i++)
        done += atomic_load(&w[i].decided);
    part = o->rois ? (double)done / (double)o->rois : 1;
    if (part > 1)
        part = 1;
    fprintf(stderr, "\r[%-40.*s] %3.0f %%  %llu RoIs%s", (int)(40 * part), bar, 100 * part,
            (unsigned long long)done, last ? "\n" : "");
}

static void join_all(const struct replay_options *o, struct worker *w)
{
    bool show = !o->quiet && isatty(STDERR_FILENO);

    for (uint32_t i = 0; i < o->threads; i++) {
        struct timespec limit;

        do {
            if (show)
                show_progress(o, w, false);
            clock_gettime(CLOCK_REALTIME, &limit);
            limit.tv_nsec += SHOW_NS;
            if (limit.tv_nsec >= (long)NS_PER_S) {
                limit.tv_nsec -= (long)NS_PER_S;
                limit.tv_sec++;
            }
        } while (pthread_timedjoin_np(w[i].thread, NULL, &limit) == ETIMEDOUT);
    }
    if (show)
        show_progress(o, w, true);
}

static int copy_names(const char *const *from, uint32_t n, uint32_t most, char **to,
                      uint32_t *ret_n)
{
    for (uint32_t i = 0; i < n && i < most; i++) {
        to[i] = strdup(from[i]);
        if (!to[i])
            return -ENOMEM;
        *ret_n = i + 1;
    }
    return 0;
}

static int take_names(struct replay_result *r, const struct trg_client *client)
{
    const struct trg_client_names *n = trg_client_names(client);
    int error = copy_names(n->chains, n->n_chains, CONNECTION_NAMES_MAX, r->chains, &r->n_chains);

    return error < 0 ? error : copy_names(n->streams, n->n_streams, 64, r->streams, &r->n_streams);
}

static int start_all(const struct replay_options *o, struct worker *w)
{
    for (uint32_t i = 0; i < o->threads; i++) {
        int r = -pthread_create(&w[i].thread, NULL, worker_main, &w[i]);

        if (r < 0) {
            atomic_store(&stop_wanted, true);
            while (i)
                pthread_join(w[--i].thread, NULL);
            return r;
        }
    }
    return 0;
}

static int run_all(const struct replay_options *o, struct worker *w, struct replay_result *ret)
{
    uint64_t start = UINT64_MAX, end = 0;
    uint32_t first = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < o->threads; i++) {
        r = open_connections(&w[i], first);
        first += w[i].n;
    }
    if (r == 0 && w[0].n)
        r = take_names(ret, w[0].connection[0].client);
    if (r == 0) {
        stop_catch_signals(); /* until now they just end the program */
        r = start_all(o, w);
    }
    if (r < 0)
        return r;
    join_all(o, w);
    for (uint32_t i = 0; i < o->threads; i++) {
        if (w[i].result < 0) {
            fprintf(stderr, "trigreplay: sending failed: %s\n", strerror(-w[i].result));
            r = w[i].result;
        }
        add_tally(&ret->sum, &w[i].tally);
        ret->not_sent += w[i].mine;
        start = w[i].start_ns < start ? w[i].start_ns : start;
        end = w[i].end_ns > end ? w[i].end_ns : end;
    }
    ret->seconds = end > start ? (double)(end - start) * 1e-9 : 0;
    return r;
}

static int prepare(const struct replay_options *o, const struct input *in, void *context,
                   struct worker *w, struct connection *connections, _Atomic uint64_t *left)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < o->threads; i++) {
        w[i].o = o;
        w[i].source = &in->source;
        w[i].columns = in->columns;
        w[i].decisions = in->decisions;
        w[i].context = context;
        w[i].n = o->connections / o->threads + (i < o->connections % o->threads);
        w[i].left = left;
        w[i].connection = &connections[first];
        first += w[i].n;
        if (pace_parse(o->pace, &w[i].pace) < 0) {
            fprintf(stderr,
                    "trigreplay: --pace \"%s\" is none of max, rate:HZ, poisson:HZ, "
                    "bunches:HZ\n",
                    o->pace);
            return -EINVAL;
        }
        w[i].pace.rate_hz /= o->threads;
        random_seed(&w[i].pace.random, o->seed, 0x70616365u + i);
    }
    return 0;
}

/* An array of zeroes at lines of the cache. */
static void *lines_new(size_t align, size_t n, size_t size)
{
    void *p = aligned_alloc(align, n * size);

    return p ? memset(p, 0, n * size) : NULL;
}

static int close_decisions(const struct replay_options *o, struct input *in)
{
    int r = decisions_close(in->decisions);

    if (r < 0)
        fprintf(stderr, "trigreplay: cannot save decisions in %s: %s\n", o->decisions,
                strerror(-r));
    return r;
}

int replay_run(const struct replay_options *options, struct replay_result *ret_result)
{
    struct replay_options o = *options;
    struct connection *connections =
        lines_new(_Alignof(struct connection), o.connections, sizeof *connections);
    _Atomic uint64_t left = 0;
    struct worker *w;
    struct input in = {.columns = NULL};
    void *context = zmq_ctx_new();
    int r = -ENOMEM;

    memset(ret_result, 0, sizeof *ret_result);
    if (o.threads > o.connections)
        o.threads = o.connections;
    w = lines_new(_Alignof(struct worker), o.threads, sizeof *w);
    if (!w || !connections || !context)
        goto out;
    /* each is watched, and may reach nodes */
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4 * (int)CONNECTIONS_MAX + 64);
    zmq_ctx_set(context, ZMQ_IO_THREADS, (int)o.threads);
    r = descriptors_raise(o.connections);
    if (r == 0)
        r = open_input(&o, &in);
    if (r == 0 && !o.rois)
        o.rois = in.source.n;
    atomic_init(&left, o.rois);
    if (r == 0)
        r = prepare(&o, &in, context, w, connections, &left);
    if (r == 0)
        r = run_all(&o, w, ret_result);
    ret_result->was_stopped = atomic_load(&stop_wanted);
    ret_result->not_sent = ret_result->was_stopped ? 0 : ret_result->not_sent + atomic_load(&left);
    if (in.source.n)
        ret_result->mean_items = (double)in.source.items / in.source.n;
out:
    for (uint32_t i = 0; connections && i < o.connections; i++)
        connection_close(&connections[i]);
    if (context)
        zmq_ctx_term(context);
    if (r == 0)
        r = close_decisions(&o, &in);
    else
        decisions_close(in.decisions);
    columns_free(in.columns);
    source_free(&in.source);
    free(connections);
    free(w);
    return r;
}

void replay_result_fini(struct replay_result *r)
{
    for (uint32_t i = 0; i < r->n_chains; i++)
        free(r->chains[i]);
    for (uint32_t i = 0; i < r->n_streams; i++)
        free(r->streams[i]);
}

bool replay_is_whole(const struct replay_result *r)
{
    const struct tally *t = &r->sum;
    /* RoIs, and so their events, that nobody wanted to send again */
    const bool by_wish = r->was_stopped && t->events_lost <= t->not_taken;

    return !r->not_sent && !t->lost && !t->duplicates && !t->unknown &&
           (by_wish || (!t->not_taken && !t->events_lost));
}
