/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* State of a connection at its end: failed, stuck, or neither. */
#ifndef REPLAY_CHECK_CONN_STATE_H
#define REPLAY_CHECK_CONN_STATE_H

#include "flow/flow.h"

/* Returns whether a QP of the connection entered an error state or was never established. */
bool check_conn_failed(const struct roce_conn_summary *sum);

/* Returns whether a request made no progress until the capture ended, and no QP is known to have
 * stopped. */
bool check_conn_stuck(const struct roce_conn_summary *sum);

/* Returns whether messages were lost that the service does not retransmit. */
bool check_conn_lossy(const struct roce_conn_summary *sum);

/* Returns whether packets of a side had congestion marks, and the other side answered none of them
 * with a CNP. */
bool check_side_marked(const struct roce_conn_summary *sum, unsigned side);
bool check_conn_marked(const struct roce_conn_summary *sum);

#endif
