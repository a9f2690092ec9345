/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * File port: a port (rnic/port) that receives the frames of a capture file (pcap or pcapng,
 * Ethernet). The first frame is received at once, all later frames with the delays of the capture.
 * Sent frames are written to a pcapng file.
 */
#ifndef TEST_PORT_FILE_H
#define TEST_PORT_FILE_H

#include "port/frameio/port.h"

/*
 * Opens a file port. If `in` is NULL, no frame is received; if `out_path` is NULL, sent frames are
 * discarded. `name` is the interface name in the written file, which is created or truncated.
 * recv() returns -ENODATA after the last frame, or -EIO if the file is cut or damaged.
 */
int rnic_port_file_open(const char *in, const char *out_path, const char *name,
                        struct rnic_port **out, struct error *why);

#endif
