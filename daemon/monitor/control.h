/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the operator's Unix socket and the HTTP page; they look in and post requests. */
#ifndef TRIGD_CONTROL_H
#define TRIGD_CONTROL_H
#include "monitor/view.h"

struct control;
/* Starts the socket's thread and the HTTP server, as far as the config asks for them. */
int control_start(const struct control_view *view, struct control **ret_control);
void control_stop(struct control *c); /* NULL is fine */
#endif
