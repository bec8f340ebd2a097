/* SPDX-License-Identifier: Apache-2.0 */
/* fdmessage.h - messages with descriptors over a socketpair (SOCK_SEQPACKET). */
#ifndef TRIGD_FDMESSAGE_H
#define TRIGD_FDMESSAGE_H
#include <stddef.h>
#include <stdint.h>

#define FDMESSAGE_FDS_MAX 64u

/* Sends one message with at most FDMESSAGE_FDS_MAX descriptors.  -EAGAIN with MSG_DONTWAIT in
 * `flags`. */
int fdmessage_send(int socket, const void *message, size_t bytes, const int *fds, uint32_t n_fds,
                   int flags);
/* Receives one; descriptors that it lacks are -1, those that are too many are closed.  Returns its
 * bytes, 0 at the end. */
int fdmessage_receive(int socket, void *message, size_t bytes, int *fds, uint32_t n_fds);
#endif
