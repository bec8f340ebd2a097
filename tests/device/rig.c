/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

void rig_begin(struct rig *r, struct device *device)
{
    print_message("on %s %u\n", device->info.backend, device->info.index);
    r->device = device;
    assert_int_equal(trg_queue_new(device->d, &r->queue), 0);
    assert_int_equal(trg_module_new(device->d, &device_test_program, NULL, &r->module), 0);
    r->pinned = rig_buffer(r, TRG_MEM_PINNED, RIG_BYTES);
    devices_forget();
}

void rig_end(struct rig *r)
{
    trg_queue_free(r->queue);
    trg_buffer_free(r->pinned);
    trg_module_free(r->module);
}

void rig_each(void (*test)(struct rig *))
{
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct rig r;

        rig_begin(&r, devices_get(i));
        test(&r);
        rig_end(&r);
    }
}

struct trg_buffer *rig_buffer(struct rig *r, enum trg_mem mem, size_t bytes)
{
    struct trg_buffer *buffer = NULL;

    assert_int_equal(trg_buffer_new(r->device->d, mem, bytes, &buffer), 0);
    return buffer;
}

struct trg_kernel *rig_kernel(struct rig *r, const char *name)
{
    struct trg_kernel *k = NULL;

    assert_int_equal(trg_kernel_get(r->module, name, &k), 0);
    return k;
}

void rig_put(struct rig *r, struct trg_buffer *dst, const void *from, size_t bytes)
{
    assert_true(bytes <= RIG_BYTES);
    memcpy(trg_buffer_host(r->pinned), from, bytes);
    assert_int_equal(trg_write(r->queue, dst, 0, r->pinned, 0, bytes), 0);
    assert_int_equal(trg_finish(r->queue), 0);
}

void rig_get(struct rig *r, struct trg_buffer *src, void *to, size_t bytes)
{
    assert_true(bytes <= RIG_BYTES);
    assert_int_equal(trg_read(r->queue, r->pinned, 0, src, 0, bytes), 0);
    assert_int_equal(trg_finish(r->queue), 0);
    memcpy(to, trg_buffer_host(r->pinned), bytes);
}

void rig_run(struct rig *r, const char *kernel, uint32_t groups, uint32_t group_size,
             const struct trg_arg *args, uint32_t n_args)
{
    struct trg_kernel *k = rig_kernel(r, kernel);

    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){groups, group_size}, args, n_args),
                     0);
    assert_int_equal(trg_finish(r->queue), 0);
}
