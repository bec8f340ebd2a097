/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/guest_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "exec/guest_device.h"
#include "log.h"

#define SLACK        1000ul   /* of naps, ns */
#define NAP_NS       20000    /* between two looks whether the device is free, */
#define NAP_LONG_NS  1000000  /* when it has been taken for a while, */
#define TAKEN_NS     20000000 /* which is this */
#define SPINS        4        /* times what others spin: it begins its wait when a batch begins */
#define PAUSE_NAP_NS 5000000
#define NAPS_FROM_US 30               /* slices that last longer are slept through in part, */
#define LONG_US      1000             /* and those that last much longer nearly whole */
#define SAY_NS       (10 * NS_PER_MS) /* bench_guests counts steps by it */

struct guest_run {
    struct guest_run_setup s;
    struct trg_device *device; /* with its budget */
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_algo *algo;
    bool is_host;
    bool is_new;       /* something has happened since the last checkpoint */
    double mean_us;    /* of the last slices */
    uint64_t ns;       /* in slices, what the device did for others meanwhile included */
    uint64_t unmet_ns; /* of it, until a batch met the slice */
    uint64_t free_ns;  /* until when the slice has been alone, */
    bool is_met;       /* as it is no more */
    uint64_t saved_ns; /* when */
    uint64_t said_ns;
    uint64_t taken_ns;      /* since when the device is taken; 0: it is free */
    _Atomic bool has_ended; /* the page may be another run's from then on */
    pthread_t thread;
};

static void nap(long ns)
{
    const struct timespec t = {.tv_nsec = ns};

    nanosleep(&t, NULL);
}

static void count(_Atomic uint64_t *c)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* From here to `leave` the plugin's code runs. */
static void enter(struct guest_run *r, bool is_slice)
{
    atomic_store(&r->s.page->is_slice, is_slice);
    atomic_store(&r->s.page->since_ns, clock_ns());
}

static void leave(struct guest_run *r)
{
    atomic_store(&r->s.page->since_ns, 0);
}

static const struct trg_guest *functions(const struct guest_run *r)
{
    return r->s.plugin->d.guest;
}

static void say_progress(struct guest_run *r)
{
    char text[GUEST_TEXT] = "";

    functions(r)->progress(r->algo, text, sizeof text);
    guest_page_say(r->s.page, text);
    r->said_ns = clock_ns();
}

/* ---------------------------------------------------------------- the guest's functions */

static int open_guest(struct guest_run *r)
{
    const struct trg_guest_setup setup = {.size = sizeof setup,
                                          .folder = r->s.folder,
                                          .memory_bytes = (uint64_t)r->s.memory_mbytes << 20};
    struct trg_device_info info;
    int e = guest_device_new(r->s.device, r->s.host, setup.memory_bytes, &r->device);

    if (e < 0)
        return e;
    trg_device_info(r->device, &info);
    r->is_host = info.is_host != 0;
    e = trg_guest_queue_new(r->device, r->s.is_partition && !r->is_host ? r->s.percent : 0,
                            &r->queue);
    if (e == 0)
        e = trg_event_new(r->device, &r->reached);
    if (e < 0)
        return e;
    enter(r, false);
    e = functions(r)->open(r->s.host, r->s.params, r->device, r->queue, &setup, &r->algo);
    leave(r);
    atomic_store(&r->s.page->bytes, guest_device_bytes(r->device));
    r->saved_ns = clock_ns();
    return e;
}

static int save(struct guest_run *r)
{
    int e;

    if (!r->is_new)
        return 0;
    enter(r, false);
    e = functions(r)->save(r->algo, r->queue);
    leave(r);
    r->saved_ns = clock_ns();
    if (e < 0)
        return e;
    count(&r->s.page->saves);
    r->is_new = false;
    return 0;
}

/* What lanes work on, where the guest can see it.  To the front a batch begins with its hand-over
 * and ends with its results there: beside RoIs that wait the next one begins at once, although the
 * device had nothing to do meanwhile. */
static bool is_free(const struct guest_run *r)
{
    return r->s.batches ? !atomic_load_explicit(r->s.batches, memory_order_relaxed)
                        : guest_page_is_free(r->s.page);
}

/* The clock of slices: on the host, where others take the core away, that of the thread. */
static uint64_t slice_clock(const struct guest_run *r)
{
    return r->is_host ? clock_thread_ns() : clock_ns();
}

/* Between two looks a batch may have come: that time is not the slice's alone. */
static void note_batches(struct guest_run *r)
{
    if (!r->is_met && is_free(r))
        r->free_ns = slice_clock(r);
    else
        r->is_met = true;
}

/* On a GPU: sleeps for the better part of a long slice, then looks often. */
static int await_slice(struct guest_run *r)
{
    int e;

    if (r->is_host)
        return trg_finish(r->queue);
    e = trg_event_record(r->queue, r->reached);
    if (e == 0)
        e = trg_flush(r->queue);
    if (e == 0 && r->mean_us > NAPS_FROM_US) /* half of it */
        nap((long)((r->mean_us < LONG_US ? r->mean_us : LONG_US) * 500));
    while (e == 0 && (e = trg_event_query(r->reached)) == -EAGAIN) {
        e = 0;
        note_batches(r);
        if (r->mean_us > LONG_US)
            nap(NAP_NS);
        else
            clock_relax_long(); /* the driver has one lock for those who look and who enqueue */
    }
    return e;
}

/* One slice.  Returns what collect says. */
static int run_slice(struct guest_run *r)
{
    struct guest_page *p = r->s.page;
    const uint64_t from = slice_clock(r);
    double us;
    int e;

    r->free_ns = from;
    r->is_met = false;
    enter(r, true);
    e = functions(r)->submit(r->algo, r->queue, r->s.slice_us);
    if (e >= 0)
        e = await_slice(r);
    us = (double)(slice_clock(r) - from) * 1e-3;
    note_batches(r);
    if (e >= 0)
        e = functions(r)->collect(r->algo, us);
    r->ns += slice_clock(r) - from;
    r->unmet_ns += r->free_ns - from;
    leave(r);
    r->is_new = true;
    r->mean_us += 0.25 * (us - r->mean_us);
    count(&p->slices);
    atomic_store_explicit(&p->us, r->ns / 1000, memory_order_relaxed);
    atomic_store_explicit(&p->unmet_us, r->unmet_ns / 1000, memory_order_relaxed);
    if (us > 2.0 * r->s.slice_us)
        count(&p->over);
    return e;
}

/* ---------------------------------------------------------------- the thread */

/* The device has been taken for that long: a batch ends soon, or there are many. */
static void wait_a_little(const struct guest_run *r, uint64_t taken_ns)
{
    if (taken_ns < SPINS * r->s.spin_ns)
        clock_relax_long();
    else
        nap(taken_ns > TAKEN_NS ? NAP_LONG_NS : NAP_NS);
}

/* Whether the guest may have the device now; waits a little if not. */
static bool may_run(struct guest_run *r)
{
    struct guest_page *p = r->s.page;
    uint64_t now;

    if (r->s.is_partition || is_free(r)) {
        r->taken_ns = 0;
        atomic_store(&p->state, GUEST_RUNNING);
        return true;
    }
    now = clock_ns();
    if (!r->taken_ns) {
        r->taken_ns = now;
        count(&p->yielded);
        atomic_store(&p->state, GUEST_WAITING);
    }
    wait_a_little(r, now - r->taken_ns);
    return false;
}

static bool is_due(const struct guest_run *r)
{
    return r->s.checkpoint_s && clock_ns() - r->saved_ns >= r->s.checkpoint_s * NS_PER_S;
}

/* Gives it slices until it is done (1), told to stop (0), or fails. */
static int run_slices(struct guest_run *r)
{
    int e = 0;

    while (e == 0) {
        const uint32_t order = atomic_load(&r->s.page->order);

        if (order == GUEST_STOP)
            return 0;
        if (order == GUEST_PAUSE) {
            e = save(r);
            if (e == 0)
                atomic_store(&r->s.page->state, GUEST_PAUSED);
            nap(PAUSE_NAP_NS);
        } else if (may_run(r)) {
            e = is_due(r) ? save(r) : run_slice(r);
        }
        if (e == 0 && clock_ns() - r->said_ns > SAY_NS)
            say_progress(r);
    }
    return e;
}

static void be_out_of_the_way(struct guest_run *r)
{
    struct trg_device_info info;
    const struct sched_param none = {0};

    prctl(PR_SET_TIMERSLACK, SLACK);
    trg_device_info(r->s.device, &info);
    if (r->s.has_cpus && sched_setaffinity(0, sizeof r->s.cpus, &r->s.cpus) < 0)
        log_warn("guest", "a guest stays on the cores of its worker", "guest=\"%s\" error=\"%s\"",
                 r->s.name, strerror(errno));
    if (info.is_host && sched_setscheduler(0, SCHED_IDLE, &none) < 0)
        log_warn("guest", "a guest is not SCHED_IDLE: it takes time from others",
                 "guest=\"%s\" error=\"%s\"", r->s.name, strerror(errno));
}

static void close_guest(struct guest_run *r)
{
    if (r->algo) {
        enter(r, false);
        (void)trg_finish(r->queue); /* after an error a slice may still be there */
        functions(r)->close(r->algo);
        leave(r);
    }
    trg_queue_free(r->queue);
    trg_event_free(r->reached);
    trg_device_close(r->device);
    atomic_store(&r->s.page->bytes, 0);
}

static void *run(void *arg)
{
    struct guest_run *r = arg;
    int e, saved = 0;

    be_out_of_the_way(r);
    e = open_guest(r);
    if (e >= 0) {
        log_info("guest", "a guest is open", "guest=\"%s\" mbytes=%llu", r->s.name,
                 (unsigned long long)(guest_device_bytes(r->device) >> 20));
        say_progress(r);
        if (e == TRG_GUEST_MORE)
            e = run_slices(r);
    }
    if (e >= 0)
        saved = save(r);
    if (r->algo)
        say_progress(r);
    close_guest(r);
    e = saved < 0 ? saved : e;
    if (e < 0)
        log_error("guest", "a guest failed", "guest=\"%s\" error=\"%s\"", r->s.name, strerror(-e));
    atomic_store(&r->has_ended, true);
    atomic_store(&r->s.page->error, e < 0 ? e : 0);
    atomic_store(&r->s.page->state, e < 0 ? GUEST_FAILED : e ? GUEST_DONE : GUEST_STOPPED);
    return NULL;
}

int guest_run_start(const struct guest_run_setup *setup, struct guest_run **ret_run)
{
    struct guest_run *r = calloc(1, sizeof *r);
    int e;

    if (!r)
        return -ENOMEM;
    r->s = *setup;
    e = -pthread_create(&r->thread, NULL, run, r);
    if (e < 0) {
        free(r);
        return e;
    }
    *ret_run = r;
    return 0;
}

void guest_run_end(struct guest_run *r)
{
    if (!r)
        return;
    if (!atomic_load(&r->has_ended))
        atomic_store(&r->s.page->order, GUEST_STOP);
    pthread_join(r->thread, NULL);
    free(r);
}
