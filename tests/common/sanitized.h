/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.h - IS_SANITIZED where the address or the thread sanitizer stands in front of malloc.
 */
#ifndef TRIGD_TEST_SANITIZED_H
#define TRIGD_TEST_SANITIZED_H
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif
#endif
