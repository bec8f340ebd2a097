/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - the browser page, /metrics (Prometheus text format), /healthz and /readyz; loopback
 * unless configured. */
#ifndef TRIGD_HTTP_H
#define TRIGD_HTTP_H
#include <stdio.h>

#include "monitor/view.h"

struct http;
/* Starts the server on the config's address and port, and on its Unix socket; logs where it
 * listens. */
int http_start(const struct control_view *view, struct http **ret_http);
void http_stop(struct http *h); /* NULL is fine */
/* The metrics page. */
void http_metrics(const struct control_view *view, FILE *out);
void metrics_gpus(const struct control_view *v, FILE *out); /* a part of it */
#endif
