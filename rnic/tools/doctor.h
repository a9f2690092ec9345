/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Doctor: checks whether rnic-run can work on this machine or in this container (rnic-run
 * --doctor). */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

/* Prints one line for each permission that rnic-run needs. If a permission is missing, prints a
 * remedy. `library` is the folder of our libibverbs.so.1, or NULL if it was not found. `rocedrill`
 * is the path of that program, which need not exist. Returns 0 if programs can run on the software
 * RNIC, otherwise 1. */
int doctor(const char *library, const char *rocedrill);

#endif
