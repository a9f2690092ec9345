/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The option --version of the tools. */
#ifndef RNIC_TOOLS_VERSION_H
#define RNIC_TOOLS_VERSION_H

/* Prints the versions of a program and of libpcap, and the name of the CRC-32 library in use. */
void print_version(const char *program);

#endif
