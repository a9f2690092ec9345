/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * File port: receives the frames of a capture file (pcap or pcapng, Ethernet) at the times at which
 * they were captured, the first at once, and writes what is sent to a pcapng file.
 */
#ifndef TEST_PORT_FILE_H
#define TEST_PORT_FILE_H

#include "port/frameio/port.h"

/*
 * `in` and `out` may be NULL: nothing is received, what is sent goes nowhere. `name` is that of the
 * interface in the file written, which is made anew. After its last frame recv() gives -ENODATA; a
 * file that is cut or damaged gives -EIO there.
 */
int rnic_port_file_open(const char *in, const char *out_path, const char *name,
                        struct rnic_port **out, struct error *why);

#endif
