/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "check_inner.h"

static char last_error[512]; /* what backend or plugin logged last: why a call failed */

void check_log(void *ctx, enum trg_level level, const char *text)
{
    const struct check_options *o = ctx;

    if (level == TRG_ERROR)
        snprintf(last_error, sizeof last_error, "%s", text);
    if (o->verbose)
        fprintf(stderr, "  log: %s\n", text);
}

void check_line(struct check *c, bool good, const char *what, const char *format, ...)
{
    va_list args;

    c->n_checks++;
    c->n_failed += !good;
    printf("%s  %-9s %s", good ? "PASS" : "FAIL", c->where, what);
    if (!good) {
        fputs(": ", stdout);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        if (last_error[0])
            printf(" [logged: %s]", last_error);
    }
    last_error[0] = '\0';
    putchar('\n');
    fflush(stdout); /* a plugin that crashes must not take the lines before it along */
}

struct rig_setup check_setup(const struct check *c, const void *config, uint32_t slots)
{
    return (struct rig_setup){.plugin = c->plugin,
                              .config = config,
                              .host = &c->host,
                              .device = c->device,
                              .conditions = &c->conditions,
                              .limits = {.size = sizeof(struct trg_limits),
                                         .slots = slots,
                                         .max_rois = CHECK_ROIS_MAX,
                                         .max_items = CHECK_ITEMS,
                                         .max_items_roi = CHECK_ITEMS_ROI}};
}
