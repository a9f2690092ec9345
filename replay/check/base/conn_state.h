/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* State of a connection: whether it failed, got stuck, lost messages or had congestion. Also its
 * duration, and totals of each side. A side is one of the two endpoints; side 0 and side 1 are the
 * indexes of roce_conn_summary.side. */
#ifndef REPLAY_CHECK_BASE_CONN_STATE_H
#define REPLAY_CHECK_BASE_CONN_STATE_H

#include "flow/flow.h"

/* Returns whether a QP of the connection entered an error state, a program was killed or crashed,
 * or the peer rejected the connection. */
bool check_conn_failed(const struct roce_conn_summary *sum);

/* Returns whether a request made no progress until the capture ended, and no QP is known to have
 * stopped. */
bool check_conn_stuck(const struct roce_conn_summary *sum);

/* Returns whether the last request of a stuck connection got no response, and its requester did not
 * retransmit it when its ACK timeout must have expired. */
bool check_conn_not_retransmitted(const struct roce_conn_facts *facts);

/* Returns whether a requester stopped at a sequence NAK, because it had no retry left. */
bool check_conn_no_retry_left(const struct roce_conn_facts *facts);

/* Returns whether a service without retransmission (UC) lost messages. */
bool check_conn_lossy(const struct roce_conn_summary *sum);

/* Returns whether UC messages that `side` sent were lost and their receiver may be Linux Soft-RoCE.
 * Soft-RoCE also loses messages that it received completely (known deviation D10). So the number of
 * lost messages is a lower bound. */
bool check_side_loses_more(const struct roce_conn_summary *sum, unsigned side);

/* Returns the number of packets sent by `side` that never arrived. A packet out of order did
 * arrive, although late, so it is not missing. */
uint64_t check_side_missing(const struct roce_endpoint_summary *side);

/* Returns the number of READ responses sent by `side` that never arrived. */
uint64_t check_side_missing_responses(const struct roce_endpoint_summary *side);

/* Returns whether the capture lacks the peer's responses to one side. `its` is the summary of this
 * peer. The check then cannot distinguish an ACK timeout from the wait after an RNR NAK: it counts
 * each pause before a retransmission as a timeout. */
bool check_side_alone(const struct roce_conn_facts *facts, const struct roce_endpoint_summary *its);

/* Returns the time from the first to the last packet, ns. */
uint64_t check_conn_duration_ns(const struct roce_conn_summary *sum);

/* Returns the payload of all operations of a side, bytes, without retransmissions. */
uint64_t check_side_goodput(const struct roce_endpoint_summary *side);

/* Returns the retransmissions by a side, as the sum over all causes. */
struct roce_retx_summary check_side_retransmitted(const struct roce_endpoint_summary *side);

/* Returns whether packets sent by `side` had ECN CE marks, and their receiver sent no CNP. */
bool check_side_marked(const struct roce_conn_summary *sum, unsigned side);
bool check_conn_marked(const struct roce_conn_summary *sum);

/* Returns whether `side` received CNPs, and no measured rate of `side` fell after them. If a rate
 * fell, the connection is slow (slow_causes.h). */
bool check_side_notified(const struct roce_conn_summary *sum, unsigned side);
bool check_conn_notified(const struct roce_conn_summary *sum);

#endif
