/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Frame destination: reads the destination QPN of a frame. A port passes the frame to the process
 * that owns this QPN. */
#ifndef PORT_FRAMEIO_FRAME_DEST_H
#define PORT_FRAMEIO_FRAME_DEST_H

#include "port/frameio/port.h"

/* Returns the destination QPN of an untagged RoCE frame; 0 for other frames. */
uint32_t rnic_frame_qpn(const struct rnic_frame *frame);

#endif
