/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/roi_why.h"

#include <stdio.h>
#include <string.h>

static void say_what(const struct roi_why *why, const struct config *config, char *text)
{
    const size_t bytes = ROI_WHY_BYTES / 2;

    switch ((enum roi_end)why->what) {
    case ROI_END_CHAIN:
        snprintf(text, bytes, "a chain writes it there");
        break;
    case ROI_END_HARD_LIMIT:
        snprintf(text, bytes, "past the hard limit of %u ms", config->limits.hard_ms);
        break;
    case ROI_END_DEADLINE:
        snprintf(text, bytes, "past its deadline of %d us", why->number);
        break;
    case ROI_END_TOO_LATE:
        snprintf(text, bytes, "too late for its deadline of %d us: not run", why->number);
        break;
    case ROI_END_SHUTDOWN:
        snprintf(text, bytes, "the daemon stopped first");
        break;
    case ROI_END_KNOWN:
        snprintf(text, bytes, "it ended a worker before and was sent again: show poison");
        break;
    case ROI_END_EVENT:
        snprintf(text, bytes, "another RoI of its event failed");
        break;
    case ROI_END_MISSING:
        snprintf(text, bytes, "other RoIs of its event did not come in time");
        break;
    case ROI_END_ABANDONED:
        snprintf(text, bytes, "its client left before all RoIs of its event had come");
        break;
    case ROI_END_AFTER:
        snprintf(text, bytes, "it came when its event was over");
        break;
    case ROI_END_STATUS:
        snprintf(text, bytes, "the plugin gave it up (TRG_FAILED)");
        break;
    case ROI_END_CLAIM:
        snprintf(text, bytes, "the plugin returned invalid results");
        break;
    case ROI_END_BATCH:
        snprintf(text, bytes, "its batch failed, alone as well: %s", strerrordesc_np(why->number));
        break;
    case ROI_END_SIGNAL:
        snprintf(text, bytes, "it ended its worker alone: signal %d (SIG%s)", why->number,
                 sigabbrev_np(why->number) ? sigabbrev_np(why->number) : "?");
        break;
    case ROI_END_EXIT:
        snprintf(text, bytes, "it ended its worker alone: exit code %d", why->number);
        break;
    case ROI_END_HANG:
        snprintf(text, bytes, "its batch took too long, alone as well");
        break;
    case ROI_END_KILLED:
        snprintf(text, bytes, "its worker was killed from outside, twice");
        break;
    case ROI_END_NO_LANE:
        snprintf(text, bytes, "no lane served its step");
        break;
    }
}

void roi_why_say(const struct roi_why *why, const struct menu *menu, const struct config *config,
                 char *ret_text)
{
    const struct menu_step *step = &menu->steps[why->step];
    size_t n;

    ret_text[0] = '\0';
    say_what(why, config, ret_text);
    if (why->what < ROI_END_TOO_LATE)
        return;
    n = strlen(ret_text);
    snprintf(ret_text + n, ROI_WHY_BYTES - n, "; step %.60s, plugin %.30s %.20s", step->name,
             step->plugin->d.name, step->plugin->d.version);
}
