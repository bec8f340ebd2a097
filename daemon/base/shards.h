/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - how many shards there may be: I/O threads, each with its own clients, pool and books.
 */
#ifndef TRIGD_SHARDS_H
#define TRIGD_SHARDS_H

#define SHARDS_MAX 16u
#endif
