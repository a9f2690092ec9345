/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recording port: a port in front of another one that writes every frame to a pcapng file. The file
 * has interface names, nanosecond timestamps, directions and comments. Setting the time of day does
 * not change the timestamps. Used by port/live/attach.c.
 *
 * Each port writes its own file, FOLDER/<pid>-<number>.pcapng. pcapng_join() joins these files
 * after the programs have ended; pcapng_merge.h merges them while the programs run. An exclusive
 * flock() on a file shows that its program still writes.
 *
 * A sent frame is written after the port behind has accepted it. A received frame is written before
 * the device sees it. A frame that the port sends to itself is written once: when it is received,
 * or when it is sent if rnic_record_attr.shared is true. Each batch is written to the file before
 * the next batch. So after a process is killed, its file is readable up to that time. A mark
 * (pcapng_merge.h) precedes the first timestamp of a batch, and another follows its last frame.
 *
 * A tally (port/sys/tally.h) in the folder has counters that the port shares with rnic-run. With a
 * tally, the port counts the frames that it recorded and those that it could not record. It then
 * also waits for a slow reader, and stops recording when rnic-run was killed.
 */
#ifndef PORT_FRAMEIO_RECORD_H
#define PORT_FRAMEIO_RECORD_H

#include "port/frameio/port.h"

struct rnic_record_attr {
    const char *folder; /* output folder; created if missing, readable by this user only;
                         * its parent must exist */
    const char *iface;  /* name of the interface */
    bool shared;        /* true: all local processes record to this folder, so the sender records
                         * a frame between two of them, and the receiver does not */
};

/* Opens a recording port in front of `behind`. Returns 0, or a negative errno with the reason in
 * `why`. On success the new port owns `behind`; on failure the caller keeps it. */
int rnic_record_open(const struct rnic_record_attr *attr, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why);

#endif
