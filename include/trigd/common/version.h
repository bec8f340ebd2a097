/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/common/version.h - the version of the headers beside it, which plugins compile into
 * themselves.  An installed trigd keeps one; a plugin that needs another says so with #error. */
#ifndef TRG_COMMON_VERSION_H
#define TRG_COMMON_VERSION_H

#define TRG_COMMON_VERSION                                                 \
    1 /* grows when a name, a meaning or a layout in these headers changes \
       */
#endif
