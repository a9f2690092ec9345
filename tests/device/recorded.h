/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The frames of a recorded trace, for tests of the device that play one end by hand. */
#ifndef TEST_RECORDED_H
#define TEST_RECORDED_H

#include "support/pktgen.h"

#define RECORDED_FRAMES 64u

struct recorded {
    struct pktgen_frame frame[RECORDED_FRAMES];
    unsigned cnt;
};

/* traces/captures/NAME.pcap: a classic pcap in this machine's byte order, link type Ethernet; no
 * more than its first RECORDED_FRAMES frames. What is wrong with the file fails the test. */
void recorded_read(struct recorded *rec, const char *name);

#endif
