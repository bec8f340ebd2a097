/* SPDX-License-Identifier: Apache-2.0 */
/* life.h - a word of shared memory by which the front sees at once that a process ends.
 *
 * The kernel takes the memory and the devices of a process apart before it says that the process
 * has ended (pidfd, end of a socket): 50 ms a GiB, a fifth of a second with a GPU.  A robust futex
 * (robust_futexes.rst of the kernel's documentation) that a thread of the process owns is marked
 * and woken before.  Other threads of the process may run for a moment more, and the device longer:
 * its memory is free only when the process has ended.
 *
 * The process can write the word, so it can claim its end, and no more. */
#ifndef TRIGD_LIFE_H
#define TRIGD_LIFE_H

struct life;
/* In the front: makes the word and a thread that waits for the end of its owner. */
int life_new(struct life **ret_life);
/* The process has ended, or never took the word.  NULL is fine. */
void life_free(struct life *l);
/* The descriptor of the word, for the process. */
int life_page(const struct life *l);
/* Readable when the owner has ended. */
int life_fd(const struct life *l);

/* In the process: a thread that owns the word for as long as the process lives.  Keeps no
 * descriptor. */
int life_hold(int page_fd);
#endif
