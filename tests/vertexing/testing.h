/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the tests of the vertexing plugin share; include after cmocka.h. */
#ifndef VX_TESTING_H
#define VX_TESTING_H
#include "algotest.h"
#include "driver.h"

static inline int open_host(void **state)
{
    (void)state;
    return algo_host_open(&host, "vertexing");
}

static inline struct event *toy_events(const struct toy *t, uint64_t seed, uint32_t n)
{
    struct event *e = calloc(n, sizeof *e);

    assert_non_null(e);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(event_init(&e[i], 4096), 0);
        toy_make(t, seed, i, &e[i]);
    }
    return e;
}

static inline void free_events(struct event *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        event_fini(&e[i]);
    free(e);
}

/* Runs events on a device in batches of max_rois. */
static inline struct vx_answer *answers_of(struct trg_device *device, const struct vx_config *c,
                                           const struct event *e, uint32_t n, uint32_t max_rois)
{
    struct vx_answer *a;
    struct batches *b;

    assert_int_equal(vx_answers_new(n, &a), 0);
    assert_int_equal(vx_open(&host, device, c, max_rois, 60000, &b), 0);
    assert_int_equal(vx_run(b, e, n, a), 0);
    batches_close(b);
    return a;
}
#endif
