/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.h - IS_SANITIZED where the address or the thread sanitizer stands in front of malloc,
 * and the share of random cases there. */
#ifndef TRIGD_TEST_SANITIZED_H
#define TRIGD_TEST_SANITIZED_H
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif

/* Of n random cases with a fresh seed, those that this build takes: all, or a quarter under a
 * sanitizer. A sanitizer looks at how an answer is made; the release build compares all the
 * answers. */
static inline uint32_t sanitized_share(uint32_t n)
{
#ifdef IS_SANITIZED
    return (n + 3) / 4;
#else
    return n;
#endif
}
#endif
