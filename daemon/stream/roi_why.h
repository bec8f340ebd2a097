/* SPDX-License-Identifier: Apache-2.0 */
/* roi_why.h - why an RoI goes to the debug stream, as a sentence. */
#ifndef TRIGD_ROI_WHY_H
#define TRIGD_ROI_WHY_H
#include "config/config.h"
#include "memory/pool.h"
#include "menu/menu.h"

#define ROI_WHY_BYTES 256

/* Writes `why`, with step and plugin where one is to blame, into ret_text[ROI_WHY_BYTES]. */
void roi_why_say(const struct roi_why *why, const struct menu *menu, const struct config *config,
                 char *ret_text);
#endif
