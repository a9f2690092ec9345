/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Cancels: CANCELS is true if this build can test the cancellation of threads. Header only. */
#ifndef PROGRAMS_CANCELS_H
#define PROGRAMS_CANCELS_H

#include <stdbool.h>

/* ASan (clang 14) treats the stack frames of a cancelled thread as still in use, so such a build
 * tests no cancellation. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define CANCELS false
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define CANCELS false
#endif
#ifndef CANCELS
#define CANCELS true
#endif

#endif
