/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that writes outside of its memory: the device is lost, says so once with the kernel's
 * name, and everything after that fails cleanly.  Only where a driver notices: NVIDIA devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"
#include "trigd/kernel.h"

#include "device_test.h"

static struct device *faulty; /* the device that notices */

static int poll_event(struct trg_event *e)
{
    int r = -EAGAIN;

    for (uint64_t tries = 0; r == -EAGAIN && tries < 2000000000u; tries++)
        r = trg_event_query(e);
    return r;
}

static void test_fault(void **state)
{
    const struct test_par par = {0, 4096}; /* 4096 times 4 GiB away */
    struct trg_buffer *out, *none = NULL;
    struct trg_event *e, *mark;
    struct trg_queue *q = NULL;
    struct rig r;
    bool is_marked;

    (void)state;
    rig_begin(&r, faulty);
    out = rig_buffer(&r, TRG_MEM_DEVICE, 64);
    assert_int_equal(trg_event_new(faulty->d, &e), 0);
    assert_int_equal(trg_mark_new(faulty->d, &mark), 0);
    assert_int_equal(trg_launch(r.queue, rig_kernel(&r, "stray"), (struct trg_range){1, 32},
                                (struct trg_arg[]){TRG_BUF(out), TRG_VAL(par)}, 2),
                     0);
    is_marked = trg_event_record(r.queue, mark) == 0;
    if (trg_event_record(r.queue, e) == 0)
        assert_int_equal(poll_event(e), -ENODEV);
    if (is_marked)
        assert_int_equal(poll_event(mark), -ENODEV);
    assert_int_equal(trg_finish(r.queue), -ENODEV);
    assert_int_equal(devices_logged(TRG_ERROR, "stray"), 1); /* who did it, once */
    assert_int_equal(devices_logged(TRG_ERROR, ""), 1);

    assert_int_equal(trg_fill(r.queue, out, 0, 64, 0), -ENODEV);
    assert_int_equal(trg_read(r.queue, r.pinned, 0, out, 0, 4), -ENODEV);
    assert_int_equal(trg_event_record(r.queue, e), -ENODEV);
    assert_int_equal(trg_buffer_new(faulty->d, TRG_MEM_DEVICE, 64, &none), -ENODEV);
    assert_int_equal(trg_queue_new(faulty->d, &q), -ENODEV);
    assert_null(none);
    assert_null(q);
    trg_event_free(e);
    trg_event_free(mark);
    trg_buffer_free(out);
    rig_end(&r);
    assert_int_equal(devices_logged(TRG_ERROR, ""), 1); /* closing is silent */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fault)};
    const char *backend = argc > 1 ? argv[1] : "cuda";
    int r;

    devices_open(backend);
    for (uint32_t i = 0; !faulty && i < devices_count(); i++)
        if (strstr(devices_get(i)->info.name, "NVIDIA") && !devices_get(i)->info.is_host)
            faulty = devices_get(i);
    if (!faulty) {
        printf("skipped: no %s device of NVIDIA's\n", backend);
        return 77;
    }
    r = cmocka_run_group_tests(tests, NULL, NULL);
    devices_close();
    return r;
}
