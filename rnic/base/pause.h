/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Pause: the instruction for a thread that polls memory which another thread will change. */
#ifndef RNIC_BASE_PAUSE_H
#define RNIC_BASE_PAUSE_H

/* Delays the thread for a few to about 100 cycles. Meanwhile, the other thread of a processor core
 * with two threads has the core for itself. On processors other than x86 and 64-bit ARM, does
 * nothing. */
static inline void rnic_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#endif
