/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Cancels: CANCELS is true if the build can test the cancellation of threads (pthread_cancel()).
 * Header only. */
#ifndef PROGRAMS_CANCELS_H
#define PROGRAMS_CANCELS_H

#include <stdbool.h>

/* AddressSanitizer (clang 14) treats the stack frames of a cancelled thread as still in use and
 * reports errors. So a build with it does not test cancellation. */
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
