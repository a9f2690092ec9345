/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Cancels: whether threads are cancelled in this build. Header only. */
#ifndef PROGRAMS_CANCELS_H
#define PROGRAMS_CANCELS_H

#include <stdbool.h>

/* ASan (clang 14) takes the frames that a cancelled thread leaves for frames in use. */
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
