/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Frames of a recorded capture, for device tests that replay the packets of one endpoint. */
#ifndef TEST_RECORDED_H
#define TEST_RECORDED_H

#include "support/pktgen.h"

#define RECORDED_FRAMES 64u

struct recorded {
    struct pktgen_frame frame[RECORDED_FRAMES];
    unsigned cnt;
};

/* Reads traces/captures/NAME.pcap: a classic pcap in host byte order with link type Ethernet, at
 * most RECORDED_FRAMES frames. An invalid file fails the test. */
void recorded_read(struct recorded *rec, const char *name);

#endif
