/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/affinity.h"

#include <errno.h>
#include <hwloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config/config_shard.h"
#include "log.h"

#define AUTO_CORES  4 /* on fewer, the kernel's scheduler does better than any plan of ours */
#define SHARD_CORES 8u
#define SHARDS_AUTO 4u

struct affinity {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed;                /* where the process may run */
    hwloc_bitmap_t io, zmq, gather, lanes; /* empty: wherever allowed */
    uint32_t n_shards;
    _Atomic unsigned n_lanes; /* that entered so far: engines are opened on two threads */
};

/* The first processing units of all cores that the process may use. */
static void list_cores(struct affinity *a, hwloc_bitmap_t ret_units)
{
    hwloc_obj_t core = NULL;

    while ((core = hwloc_get_next_obj_by_type(a->topology, HWLOC_OBJ_CORE, core)) != NULL) {
        hwloc_bitmap_t mine = hwloc_bitmap_dup(core->cpuset);

        hwloc_bitmap_and(mine, mine, a->allowed);
        if (!hwloc_bitmap_iszero(mine))
            hwloc_bitmap_set(ret_units, (unsigned)hwloc_bitmap_first(mine));
        hwloc_bitmap_free(mine);
    }
    if (hwloc_bitmap_iszero(ret_units)) /* a machine that hides its cores */
        hwloc_bitmap_copy(ret_units, a->allowed);
}

/* One core for the I/O thread of each shard, one for each thread of ZeroMQ but no more than a
 * quarter of all, the others for lanes. */
static void plan(struct affinity *a, int shards, int zmq_threads)
{
    hwloc_bitmap_t units = hwloc_bitmap_alloc();
    int all, unit;

    list_cores(a, units);
    all = hwloc_bitmap_weight(units);
    unit = hwloc_bitmap_first(units);
    if (all >= AUTO_CORES) {
        hwloc_bitmap_only(a->io, (unsigned)unit);
        for (int i = 1; i < shards && i < all / 2; i++) {
            unit = hwloc_bitmap_next(units, unit);
            hwloc_bitmap_set(a->io, (unsigned)unit);
        }
        for (int i = 0; i < zmq_threads && i < all / 4; i++) {
            unit = hwloc_bitmap_next(units, unit);
            hwloc_bitmap_set(a->zmq, (unsigned)unit);
        }
        hwloc_bitmap_andnot(a->lanes, units, a->io);
        hwloc_bitmap_andnot(a->lanes, a->lanes, a->zmq);
    }
    hwloc_bitmap_free(units);
}

/* What the config says instead of the plan; "" says nothing. */
static int take(struct affinity *a, const char *key, const char *list, hwloc_bitmap_t to)
{
    char allowed[256];

    if (!list[0])
        return 0;
    if (hwloc_bitmap_list_sscanf(to, list) == 0 && !hwloc_bitmap_iszero(to) &&
        hwloc_bitmap_isincluded(to, a->allowed))
        return 0;
    hwloc_bitmap_list_snprintf(allowed, sizeof allowed, a->allowed);
    log_error("affinity", "a list of cores is wrong", "key=%s is=\"%s\" allowed=\"%s\"", key, list,
              allowed);
    return -EINVAL;
}

static int read_machine(struct affinity *a)
{
    /* sysfs tells all that is needed; these open devices, and the first leaks what it read */
    static const char *const unused[] = {"pci",  "opencl",    "cuda", "nvml",
                                         "rsmi", "levelzero", "gl"};

    a->allowed = hwloc_bitmap_alloc();
    a->io = hwloc_bitmap_alloc();
    a->zmq = hwloc_bitmap_alloc();
    a->gather = hwloc_bitmap_alloc();
    a->lanes = hwloc_bitmap_alloc();
    if (!a->allowed || !a->io || !a->zmq || !a->gather || !a->lanes)
        return -ENOMEM;
    /* it loads all plugins that are installed, those of components that are not wanted too, and
     * some bring libraries of devices along; what is needed is in hwloc itself */
    if (setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1) < 0 || hwloc_topology_init(&a->topology) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        hwloc_topology_set_components(a->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      unused[i]);
    if (hwloc_topology_set_io_types_filter(a->topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) < 0 ||
        hwloc_topology_load(a->topology) < 0 ||
        hwloc_get_cpubind(a->topology, a->allowed, HWLOC_CPUBIND_THREAD) < 0) {
        log_warn("affinity", "the machine's cores cannot be read; threads are not pinned",
                 "error=\"%s\"", strerror(errno));
        return -ENOTSUP;
    }
    return 0;
}

int affinity_open(const struct config *c, struct affinity **ret_affinity)
{
    struct affinity *a = calloc(1, sizeof *a);
    int r = a ? read_machine(a) : -ENOMEM;

    if (a)
        a->n_shards = r == 0 ? affinity_shards(a, c) : 1;

    if (r == 0 && !strcmp(c->threads.pin, "auto")) {
        plan(a, (int)affinity_shards(a, c), (int)c->threads.zmq_threads);
        r = take(a, "threads.io", c->threads.io, a->io);
        if (r == 0)
            r = take(a, "threads.zmq", c->threads.zmq, a->zmq);
        if (r == 0)
            r = take(a, "threads.lanes", c->threads.lanes, a->lanes);
        hwloc_bitmap_copy(a->gather, a->lanes);
        if (r == 0)
            r = take(a, "threads.gather", c->threads.gather, a->gather);
    }
    if (r == -EINVAL || r == -ENOMEM) {
        affinity_close(a);
        return r;
    }
    *ret_affinity = a;
    return 0;
}

void affinity_close(struct affinity *a)
{
    if (!a)
        return;
    hwloc_bitmap_free(a->allowed);
    hwloc_bitmap_free(a->io);
    hwloc_bitmap_free(a->zmq);
    hwloc_bitmap_free(a->gather);
    hwloc_bitmap_free(a->lanes);
    if (a->topology)
        hwloc_topology_destroy(a->topology);
    free(a);
}

/* Cores that the configuration lists for I/O threads; 0: it does not. */
static uint32_t cores_for_io(const struct config *c)
{
    hwloc_bitmap_t list = hwloc_bitmap_alloc();
    int n = 0;

    if (list && c->threads.io[0] && hwloc_bitmap_list_sscanf(list, c->threads.io) == 0)
        n = hwloc_bitmap_weight(list);
    hwloc_bitmap_free(list);
    return n > 0 ? (uint32_t)n : 0;
}

uint32_t affinity_shards(const struct affinity *a, const struct config *c)
{
    uint32_t n = (uint32_t)hwloc_bitmap_weight(a->allowed) / SHARD_CORES, listed = cores_for_io(c);

    if (c->threads.shards)
        return c->threads.shards;
    if (listed)
        n = listed;
    n = n > SHARDS_AUTO ? SHARDS_AUTO : n;
    while (n > 1 && !config_shard_fits(c, n))
        n--;
    return n ? n : 1;
}

uint32_t affinity_cores(const struct affinity *a)
{
    const int n = hwloc_bitmap_weight(a->allowed);

    return n > 0 ? (uint32_t)n : 1;
}

uint32_t affinity_host_cores(void)
{
    struct affinity *a = calloc(1, sizeof *a);
    uint32_t n = 1;

    if (a && read_machine(a) == 0)
        n = affinity_cores(a);
    affinity_close(a);
    return n;
}

uint64_t affinity_spin_ns(const struct affinity *a, const struct config *c)
{
    return hwloc_bitmap_weight(a->allowed) < AUTO_CORES ? 0 : c->threads.spin_us * NS_PER_US;
}

/* ---------------------------------------------------------------- going there */

static void go(struct affinity *a, hwloc_const_bitmap_t where)
{
    if (hwloc_bitmap_iszero(where))
        return;
    if (hwloc_set_cpubind(a->topology, where, HWLOC_CPUBIND_THREAD) < 0)
        log_warn("affinity", "a thread cannot be pinned", "error=\"%s\"", strerror(errno));
}

void affinity_be_io(struct affinity *a, uint32_t shard)
{
    hwloc_bitmap_t one = hwloc_bitmap_alloc();
    const int n = hwloc_bitmap_weight(a->io);
    int unit = hwloc_bitmap_first(a->io);

    if (!one || n < 2 || a->n_shards < 2) {
        go(a, a->io);
    } else {
        for (uint32_t i = 0; i < shard % (uint32_t)n; i++)
            unit = hwloc_bitmap_next(a->io, unit);
        hwloc_bitmap_only(one, (unsigned)unit);
        go(a, one);
    }
    hwloc_bitmap_free(one);
}

void affinity_enter_zmq(struct affinity *a)
{
    go(a, a->zmq);
}

void affinity_enter_gather(struct affinity *a)
{
    go(a, a->gather);
}

void affinity_leave(struct affinity *a)
{
    if (!hwloc_bitmap_iszero(a->io) || !hwloc_bitmap_iszero(a->zmq) ||
        !hwloc_bitmap_iszero(a->gather) || !hwloc_bitmap_iszero(a->lanes))
        go(a, a->allowed);
}

/* The cores for lanes that are near a device; all of them where that is not known. */
static void near_device(struct affinity *a, const char *pci, hwloc_bitmap_t ret_units)
{
    hwloc_obj_t device = pci && pci[0] ? hwloc_get_pcidev_by_busidstring(a->topology, pci) : NULL;
    hwloc_obj_t near = device ? hwloc_get_non_io_ancestor_obj(a->topology, device) : NULL;

    hwloc_bitmap_copy(ret_units, a->lanes);
    if (!near || !near->cpuset)
        return;
    hwloc_bitmap_and(ret_units, ret_units, near->cpuset);
    if (hwloc_bitmap_iszero(ret_units))
        hwloc_bitmap_copy(ret_units, a->lanes);
}

/* The number of the NUMA node of a processing unit, counted from 0 in the machine's order. */
static uint32_t node_of(const struct affinity *a, unsigned unit)
{
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(a->topology, HWLOC_OBJ_NUMANODE, node)) != NULL)
        if (node->cpuset && hwloc_bitmap_isset(node->cpuset, unit))
            return node->logical_index;
    return 0;
}

void affinity_next_lane(struct affinity *a, const char *pci, struct affinity_place *ret_place)
{
    hwloc_bitmap_t units = hwloc_bitmap_alloc();
    int unit = -1;

    *ret_place = (struct affinity_place){.unit = -1};
    if (units && !hwloc_bitmap_iszero(a->lanes)) {
        unsigned skip;

        near_device(a, pci, units);
        skip = atomic_fetch_add(&a->n_lanes, 1) % (unsigned)hwloc_bitmap_weight(units);
        unit = hwloc_bitmap_first(units);
        while (skip--)
            unit = hwloc_bitmap_next(units, unit);
        *ret_place = (struct affinity_place){.unit = unit, .node = node_of(a, (unsigned)unit)};
    }
    hwloc_bitmap_free(units);
}

void affinity_enter(struct affinity *a, const struct affinity_place *place)
{
    hwloc_bitmap_t unit = hwloc_bitmap_alloc();

    if (unit && place->unit >= 0) {
        hwloc_bitmap_only(unit, (unsigned)place->unit);
        go(a, unit);
    }
    hwloc_bitmap_free(unit);
}
