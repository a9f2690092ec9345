/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live source: captures the RoCE packets of an interface with libpcap and writes them to a pipe.
 * `rocedrill check` reads this pipe like a capture file. A thread copies the packets to the pipe
 * until Ctrl-C (sigint.h) or live_source_stop().
 */
#ifndef REPLAY_MONITOR_LIVE_SOURCE_H
#define REPLAY_MONITOR_LIVE_SOURCE_H

#include <stdint.h>
#include "base/error.h"

struct live_source;

/* Opens the interface and starts the thread. Returns NULL and sets an error on failure. */
struct live_source *live_source_start(const char *interface, struct error *error);

/* Returns the path of the pipe. Open it only once. */
char *live_source_path(struct live_source *source);

/* Stops the thread and frees the source; NULL is allowed. Sets *received and *dropped to the
 * numbers of packets that the kernel received and dropped. */
void live_source_stop(struct live_source *source, uint64_t *received, uint64_t *dropped);

#endif
