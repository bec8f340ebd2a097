/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tickets.h"

#include <stdio.h>

uint64_t tickets_next(struct tickets *t)
{
    return ++t->asked;
}

void tickets_end(struct tickets *t, int result, const char *text)
{
    t->kept[t->asked % TICKETS_KEPT].result = result;
    snprintf(t->kept[t->asked % TICKETS_KEPT].text, sizeof t->kept[0].text, "%s", text);
    t->ended = t->asked;
}

bool tickets_look(const struct tickets *t, uint64_t number, int *ret_result, char *text,
                  size_t bytes)
{
    const bool is_kept = t->asked < number + TICKETS_KEPT;

    if (t->ended < number)
        return false;
    *ret_result = is_kept ? t->kept[number % TICKETS_KEPT].result : 0;
    snprintf(text, bytes, "%s", is_kept ? t->kept[number % TICKETS_KEPT].text : "it is over");
    return true;
}
