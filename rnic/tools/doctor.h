/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Doctor: examines whether this machine or container lets rnic-run work (rnic-run --doctor). */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

/* Prints a line for each permission that rnic-run needs, with a remedy if it is missing. `library`
 * is the folder of libibverbs.so.1, or NULL if there is none; `rocedrill` is the path of that
 * program, which need not exist. Returns 0 if programs can run on the
 * software RNIC, else 1. */
int doctor(const char *library, const char *rocedrill);

#endif
