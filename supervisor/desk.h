/* SPDX-License-Identifier: Apache-2.0 */
/* desk.h - the operator's commands of the supervisor, which the control socket's thread brings to
 * the I/O thread. */
#ifndef TRIGSUP_DESK_H
#include <stdio.h>
#define TRIGSUP_DESK_H
#include "farm.h"
#include "monitor/view.h"
#include <stdio.h>

enum state { STATE_WAITING, STATE_READY, STATE_DRAINING, STATE_STOPPING };

struct desk {
    struct farm *farm;
    struct mailbox *mailbox;
    _Atomic int state;
    _Atomic uint64_t stop_by_ns, turned_ns;
    _Atomic uint64_t rolled; /* number of the roll that is over */
    _Atomic bool is_rolling;
};

/* Fills the view of the control socket with what the supervisor has. */
void desk_view(struct desk *d, struct control_view *ret_view);
/* As SIGTERM: what is in flight is finished; asked again, it is forced. */
void desk_stop(struct desk *d, const char *why);
/* Notes how far a roll is.  The I/O thread. */
void desk_tick(struct desk *d);
/* The commands of a supervisor, as JSON (control_describe). */
void desk_describe(FILE *out);
#endif
