/* SPDX-License-Identifier: Apache-2.0 */
/* rebind.h - a tcp endpoint gets the options that its socket has now; its connections stay.
 *
 * A listener of libzmq keeps the options that its socket had at zmq_bind, and zmq_unbind ends the
 * connections that it has accepted.  So another listener is bound to the same socket of the kernel,
 * and the first one accepts nothing more (accepting.h).  It leaves one descriptor until the socket
 * of ZeroMQ is closed. */
#ifndef TRIGD_REBIND_H
#define TRIGD_REBIND_H
/* `endpoint` as ZMQ_LAST_ENDPOINT gave it when `socket` was bound; on the socket's thread.  Returns
 * 0 or a negative errno; the first listener goes on accepting then. */
int rebind(void *socket, const char *endpoint);
#endif
