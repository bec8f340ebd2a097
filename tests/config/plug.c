/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors for the tests of the plugin host: built once for each PLUG_name, a good one and ones
 * that break one rule each.  Nothing here is ever run. */
#include <signal.h>
#include <unistd.h>

#include "trigd/plugin.h"

#ifdef OTHER_DECLARATIONS
#include "others.collections.h"
#else
#include "towers.collections.h"
#endif

struct config {
    uint32_t flag, n;
    float r_mm;
    uint32_t mode;
};
#define AT(member) offsetof(struct config, member)

#define GOOD         0
#define MAKER        1
#define EATER        2
#define WRONG_ABI    3
#define WRONG_SIZE   4
#define OTHER_NAME   5
#define NO_SUBMIT    6
#define BAD_OFFSET   7
#define BAD_DEFAULT  8
#define BAD_PRESET   9
#define BAD_CHOICE   10
#define BAD_RANGE    11
#define TWICE        12
#define MANY_VALUES  13
#define BAD_KIND     14
#define NO_INPUT     15
#define BAD_ROOM     16
#define BAD_BACKEND  17
#define BAD_CHECK    18
#define OLDER        19
#define NO_SYMBOL    20
#define RELAY        21 /* hands doublets and tracks on, on the device */
#define TAKER        22 /* takes them there */
#define SAME_TWICE   23
#define OLD_ABI      24
#define TOWERS       25 /* makes towers */
#define OTHER_TOWERS 26 /* declares towers otherwise */
#define JETS         27 /* takes towers */
#define GUEST        28
#define NEEDY        29 /* needs a condition */
#define GAP          30
#define CRASHES      31 /* when it is loaded */
#define LEAVES       32 /* the process, when it is loaded */
#define HANGS        33 /* when it is loaded */
#define CHECK_DIES   34 /* for n = 13 */
#define NO_TABLE     35 /* of a condition */
#define BAD_GUEST    36 /* without functions */

#define MAKES                                                                                     \
    (PLUG_KIND == MAKER || PLUG_KIND == RELAY || PLUG_KIND == TAKER || PLUG_KIND == SAME_TWICE || \
     PLUG_KIND == BAD_ROOM)
#define FIRST_INPUT       IS(TAKER, &trg_tracks, IS(JETS, &trg_towers, &trg_spacepoints))
#define IS(kind, yes, no) (PLUG_KIND == (kind) ? (yes) : (no))
#define TEXT_(x)          #x
#define TEXT(x)           TEXT_(x)

static const struct trg_param params[] = {
    {"flag", TRG_PARAM_BOOL, AT(flag), "true", 0, 0, "", NULL, "a flag"},
    {"n", TRG_PARAM_U32, AT(n), IS(BAD_DEFAULT, "65", "4"), IS(BAD_RANGE, 99, 1), 64, "", NULL,
     "a count"},
    {IS(TWICE, "n", "r_mm"), TRG_PARAM_F32, IS(BAD_OFFSET, sizeof(struct config), AT(r_mm)), "10",
     0, 100, "mm", NULL, "a radius"},
    {"mode", TRG_PARAM_CHOICE, AT(mode), "one", 0, 0, "", IS(BAD_CHOICE, NULL, "one|two|three"),
     "a choice"},
    {0}};
static const char *const big[] = {IS(BAD_PRESET, "m", "n"), "32", "mode", "two", NULL};
static const struct trg_preset presets[] = {{"big", "more of all", big}, {0}};
static const struct trg_value few[] = {{"n_points", "", "points"}, {"z_mm", "mm", "a place"}, {0}};
static const struct trg_value many[] = {
    {"a", "", ""}, {"b", "", ""}, {"c", "", ""}, {"d", "", ""}, {"e", "", ""}, {"f", "", ""},
    {"g", "", ""}, {"h", "", ""}, {"i", "", ""}, {"j", "", ""}, {"k", "", ""}, {"l", "", ""},
    {"m", "", ""}, {"n", "", ""}, {"o", "", ""}, {"p", "", ""}, {"q", "", ""}, {0}};

#if PLUG_KIND == CRASHES || PLUG_KIND == LEAVES || PLUG_KIND == HANGS
__attribute__((constructor)) static void at_load(void)
{
    if (PLUG_KIND == CRASHES)
        raise(SIGKILL);
    if (PLUG_KIND == LEAVES)
        _exit(7);
    for (;;)
        pause();
}
#endif

static int check(const void *config, char *why, size_t bytes)
{
    static const char text[] = "n above 32 needs flag: true";
    const struct config *c = config;

    if (PLUG_KIND == CHECK_DIES && c->n == 13)
        raise(SIGKILL);
    if (PLUG_KIND != BAD_CHECK && (c->n <= 32 || c->flag))
        return 0;
    for (size_t i = 0; i < sizeof text && i < bytes; i++)
        why[i] = text[i];
    return -EINVAL;
}

static const struct trg_room room[] = {{"doublets",
                                        .cap = {.plus = PLUG_KIND == BAD_ROOM ? "r_mm" : NULL},
                                        .in = {{.factor = {.number = 1}}}},
                                       {0}};
static const struct trg_condition conditions[] = {
    {"beam_line", "where the beam is", IS(NO_TABLE, NULL, &trg_towers), 0}, {0}};

static int device_output(struct trg_algo *algo, uint32_t slot, uint32_t k, struct trg_input *ret)
{
    (void)algo, (void)slot, (void)k, (void)ret;
    return -ENOTSUP;
}

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    (void)host, (void)config, (void)device, (void)limits, (void)ret_algo;
    return -ENOTSUP;
}

static void destroy(struct trg_algo *algo)
{
    (void)algo;
}

static int submit(struct trg_algo *algo, const struct trg_batch *batch, struct trg_queue *queue)
{
    (void)algo, (void)batch, (void)queue;
    return -ENOTSUP;
}

static int collect(struct trg_algo *algo, struct trg_batch *batch)
{
    (void)algo, (void)batch;
    return -ENOTSUP;
}

static int open_guest(const struct trg_host *host, const void *config, struct trg_device *device,
                      struct trg_queue *queue, const struct trg_guest_setup *setup,
                      struct trg_algo **ret_algo)
{
    (void)host, (void)config, (void)device, (void)queue, (void)setup, (void)ret_algo;
    return -ENOTSUP;
}

static int slice(struct trg_algo *algo, struct trg_queue *queue, double us)
{
    (void)algo, (void)queue, (void)us;
    return -ENOTSUP;
}

static int took(struct trg_algo *algo, double us)
{
    (void)algo, (void)us;
    return -ENOTSUP;
}

static int save(struct trg_algo *algo, struct trg_queue *queue)
{
    (void)algo, (void)queue;
    return -ENOTSUP;
}

static void progress(const struct trg_algo *algo, char *text, size_t bytes)
{
    (void)algo, (void)text, (void)bytes;
}

static const struct trg_guest guest = {sizeof guest, open_guest, slice,  took,
                                       save,         progress,   destroy};

static const struct trg_collection bad = {
    sizeof bad, 1, "bad", "a wrong hash", 1, sizeof trg_hits.column[0], 1, trg_hits_columns, NULL};

#if PLUG_KIND == NO_SYMBOL
#define EXPORTED not_the_symbol
#else
#define EXPORTED trg_plugin
#endif
TRG_PLUGIN_EXPORT const struct trg_plugin EXPORTED;
const struct trg_plugin EXPORTED = {
    .abi = IS(WRONG_ABI, 77u, IS(OLD_ABI, 1u, TRG_PLUGIN_ABI)),
    .size = IS(WRONG_SIZE, 3u,
               IS(OLDER, offsetof(struct trg_plugin, collect), sizeof(struct trg_plugin))),
    .name = IS(OTHER_NAME, "somebody_else", TEXT(PLUG_NAME)),
    .version = "1.0.0",
    .summary = "for tests",
    .consumes = {IS(NO_INPUT, NULL,
                    IS(GUEST, NULL,
                       IS(EATER, &trg_doublets,
                          IS(MAKER, &trg_hits, IS(BAD_KIND, &bad, FIRST_INPUT))))),
                 IS(TAKER, &trg_doublets, NULL), IS(GAP, &trg_hits, NULL)},
    .produces = {MAKES ? &trg_doublets
                       : IS(TOWERS, &trg_towers, IS(OTHER_TOWERS, &trg_towers, NULL)),
                 IS(RELAY, &trg_tracks, IS(SAME_TWICE, &trg_doublets, NULL))},
    .room = MAKES ? room : NULL,
    .conditions = PLUG_KIND == NEEDY || PLUG_KIND == NO_TABLE ? conditions : NULL,
    .backends = IS(BAD_BACKEND, "cpu tpu", "cpu opencl cuda"),
    .params = params,
    .presets = presets,
    .values = IS(MANY_VALUES, many, few),
    .config_size = sizeof(struct config),
    .check = check,
    .create = create,
    .destroy = destroy,
    .submit = IS(NO_SUBMIT, NULL, submit),
    .collect = collect,
    .flags = IS(TAKER, TRG_PLUGIN_DEVICE_INPUT,
                IS(GUEST, TRG_PLUGIN_GUEST, IS(BAD_GUEST, TRG_PLUGIN_GUEST, 0))),
    .device_output = IS(RELAY, device_output, NULL),
    .guest = IS(GUEST, &guest, NULL),
};
