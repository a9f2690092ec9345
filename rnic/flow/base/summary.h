/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Summary of one connection. Side 0 is the endpoint that sent the first captured packet. The
 * counters of a side count the packets that this side sent, except where a comment says otherwise.
 */
#ifndef FLOW_BASE_SUMMARY_H
#define FLOW_BASE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include "flow/base/hist.h"
#include "flow/base/rules.h"
#include "wire/cm_msg.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#define ROCE_QPN_UNKNOWN UINT32_MAX /* value of a QPN that is unknown */
#define ROCE_PSN_UNKNOWN UINT32_MAX /* value of a PSN that is unknown */
/* maximum number of R_Keys recorded for each side; further R_Keys are only counted */
#define ROCE_REGIONS_MAX 8u
/* A time in which an endpoint waited for a response counts in response_waits if it is at least this
 * long, ns. */
#define ROCE_LONG_WAIT_NS UINT64_C(10000000)

/* Cause of a retransmission. */
enum roce_cause {
    ROCE_CAUSE_NONE,
    ROCE_CAUSE_SEQ_NAK,     /* a NAK with PSN sequence error */
    ROCE_CAUSE_RNR_NAK,     /* an RNR NAK (receiver not ready) */
    ROCE_CAUSE_TIMEOUT,     /* no response within the local ACK timeout */
    ROCE_CAUSE_IMPLIED_NAK, /* implied NAK: a READ or atomic was not answered, but a later request
                             * was */
    ROCE_CAUSE_READ_GAP,    /* a READ response is missing, although later ones were captured */
    ROCE_CAUSE_UNKNOWN,     /* retransmission before the ACK timeout, without a captured NAK */
    ROCE_CAUSE_SPURIOUS, /* unnecessary timeout: the first transmission was received, and only its
                          * response was late */
    ROCE_CAUSE_CNT
};

/* Returns the name of a cause, for example "sequence NAK", "RNR NAK" or "timeout". */
const char *roce_cause_name(enum roce_cause cause);

/* Operations, in the order of reports. */
enum roce_oper {
    ROCE_OPER_SEND,
    ROCE_OPER_WRITE,
    ROCE_OPER_READ,
    ROCE_OPER_ATOMIC,
    ROCE_OPER_OTHER, /* FLUSH, ATOMIC WRITE, RESYNC */
    ROCE_OPER_CNT
};

const char *roce_oper_name(enum roce_oper oper);

/* End of a connection, or the reason why one of its requesters stopped, as far as packets show
 * it. */
enum roce_end {
    ROCE_END_OPEN,            /* the connection is still open */
    ROCE_END_DISCONNECTED,    /* a DREQ ended the connection */
    ROCE_END_REJECTED,        /* a REJ refused the connection before it was set up */
    ROCE_END_NAK,             /* a fatal NAK stopped the requester: syndrome 0x61, 0x62 or 0x63 */
    ROCE_END_RNR_EXHAUSTED,   /* the requester stopped after RNR NAKs */
    ROCE_END_RETRY_EXHAUSTED, /* no response followed the last retransmissions, and the requester
                               * stopped */
    ROCE_END_UNANSWERED,      /* the requester retransmitted and got no response, and the capture
                               * does not show that it stopped. Either the capture ends too early,
                               * or it has no response at all and may be one-sided */
    ROCE_END_RNR_WAITING, /* the requester retransmitted after RNR NAKs, and the capture does not
                           * show that it stopped */
    ROCE_END_GONE, /* a program was killed or crashed, and the device of its peer sent the DREQ
                    * instead (ROCE_CM_TID_GONE) */
};

const char *roce_end_name(enum roce_end end);

/* Evidence that two directions are one connection. ROCE_PAIRED_BY_PSNS and the values after it are
 * weak evidence: a finding that compares both directions of such a pair is not an ERROR. */
enum roce_pairing {
    ROCE_PAIRED_NOT,
    ROCE_PAIRED_BY_CM,    /* REQ and REP name both QPs */
    ROCE_PAIRED_BY_QPNS,  /* datagrams name both QPs */
    ROCE_PAIRED_BY_PORTS, /* both directions use the UDP source port that Linux derives from the two
                           * QPNs */
    ROCE_PAIRED_SELF,     /* a QP that is connected to itself */
    ROCE_PAIRED_BY_PSNS,  /* only one requester sent the PSNs that the responses acknowledge */
    ROCE_PAIRED_BY_MSNS,  /* several requesters sent the PSNs that the responses acknowledge, but
                           * the MSN equals the number of messages of only one of them */
    ROCE_PAIRED_BY_PORT,  /* several requesters sent the PSNs that the responses acknowledge, but
                           * only one of them uses the responder's UDP source port */
    ROCE_PAIRED_ALONE,    /* the two hosts have no other connection in the capture */
    ROCE_PAIRED_CNT
};

static inline bool roce_pairing_is_guess(enum roce_pairing pairing)
{
    return pairing >= ROCE_PAIRED_BY_PSNS;
}

/* Returns the name of the evidence for a report, for example "CM", "QPNs" or "source ports"; "" for
 * ROCE_PAIRED_NOT. */
const char *roce_pairing_name(enum roce_pairing pairing);

struct roce_oper_summary {
    uint64_t messages;  /* number of messages that were sent up to their last packet; for READs,
                         * number of requests */
    uint64_t completed; /* number of messages that were acknowledged or fully answered in the
                         * capture */
    uint64_t bytes;     /* payload bytes of completed messages, each message counted once; for SEND
                         * and WRITE only the payload of captured packets */
    const struct roce_hist *latency; /* times from the first packet of a message to its
                                      * completion; NULL without samples */
    uint64_t latency_ns;             /* sum of the latencies, ns */
};

struct roce_retx_summary {
    uint64_t go_backs;
    uint64_t packets, bytes;
    uint64_t stalled_ns; /* time from the previous transmission of the first PSN of a go-back to
                          * its retransmission, sum over all go-backs, ns */
    uint64_t waited_ns;  /* time in which the requester sent nothing directly before a go-back,
                          * sum over all go-backs, ns. If no NAK caused the go-back, the
                          * requester also received nothing in that time */
};

/* Go-backs into the middle of a READ: the requester accepted all responses before some PSN, and
 * requests the READ again from this PSN. The member read_gap_restarts of struct
 * roce_endpoint_summary also counts go-backs to an atomic. */
struct roce_read_restarts {
    uint64_t captured; /* number of go-backs to the PSN of a captured response: the response was
                        * lost between the capture point and the requester */
    uint64_t missing;  /* number of go-backs to the PSN of a response that was not captured */
    uint64_t late;     /* number of go-backs to the PSN of a response that was captured out of
                        * order: the requester drops such a response */
    uint32_t psn;      /* PSN to which the first go-back in `captured` or `missing` went */
    uint32_t frame;    /* frame of this go-back; 0: none */
};

/* Loss before a timeout, as far as the capture shows it. ROCE_LOSS_ACKED to ROCE_LOSS_UNASKED
 * stand for the members of struct roce_timeout_losses. */
enum roce_loss {
    ROCE_LOSS_UNKNOWN,
    ROCE_LOSS_ACKED,
    ROCE_LOSS_MISSING,
    ROCE_LOSS_RELOST,
    ROCE_LOSS_UNANSWERED,
    ROCE_LOSS_UNFINISHED,
    ROCE_LOSS_UNASKED,  /* no outstanding request calls for a response */
    ROCE_LOSS_UNHEEDED, /* a sequence NAK was captured (roce_endpoint_summary.unheeded_naks) */
};

/* Numbers of timeouts of a requester. Each member counts the timeouts with one kind of loss, as far
 * as the capture shows the loss. The PSN of a timeout is the first PSN that the requester
 * retransmits after the timeout. A timeout counts in at most one member, and not at all if
 * roce_read_restarts or `unheeded_naks` counts it. */
struct roce_timeout_losses {
    uint64_t acked;   /* number of timeouts with a PSN that a captured response had acknowledged */
    uint64_t missing; /* number of timeouts with a PSN that was captured only as a
                       * retransmission, although later PSNs were captured before it */
    uint64_t relost;  /* number of timeouts with a PSN that the requester had already
                       * retransmitted for a sequence NAK: that retransmission was lost */
    uint64_t unanswered; /* number of other timeouts after a captured request that calls for a
                          * response (AckReq, READ or atomic): no response to it was captured */
    uint64_t unfinished; /* number of other timeouts after a captured packet in the middle of a
                          * message */
    uint64_t unasked;    /* number of other timeouts at which no captured outstanding request called
                          * for a response: none had AckReq, and none was a READ or atomic */
    uint32_t missing_psn; /* PSN of the first timeout counted in `missing` */
    uint32_t relost_psn;  /* PSN of the first timeout counted in `relost` */
};

/* Count, sum, minimum and maximum of values that are not stored individually. */
struct roce_spread {
    uint64_t cnt, sum, min, max; /* min and max are valid if cnt > 0 */
};

/* End of a congestion episode. */
enum roce_cnp_end {
    ROCE_CNP_OPEN,      /* the episode had not ended when the connection or the capture ended */
    ROCE_CNP_RECOVERED, /* the rate returned to 90 % of the rate before the first CNP */
    ROCE_CNP_QUIET,     /* the CNPs stopped, and the rate had not dropped during the episode */
    ROCE_CNP_IDLE,      /* the endpoint had nothing to send */
};

const char *roce_cnp_end_name(enum roce_cnp_end end);

/* Congestion episode: from the first CNP that an endpoint receives until its rate recovers. Rates
 * are in bytes on the wire per second, measured in windows of at least 100 us and 16 packets. A
 * rate of 0 is unknown, because packets are missing in the capture or too few were sent. */
struct roce_cnp_episode {
    uint32_t conn_index;
    uint8_t side;               /* side that received the CNPs */
    uint32_t frame, last_frame; /* frames of the first and last CNP */
    uint64_t time;              /* time of the first CNP, ns */
    uint64_t cnps;
    uint64_t ce_marked;    /* CE-marked packets that `side` sent during the episode */
    uint64_t before;       /* rate before the first CNP */
    uint64_t lowest;       /* rate of the slowest window after the first CNP */
    uint64_t lowest_ns;    /* time from the first CNP to the end of the window with the lowest rate,
                            * ns */
    uint64_t after;        /* rate in the last window of the episode */
    bool slowed;           /* the rate dropped below 80 % of the rate before the first CNP */
    uint64_t recovered_ns; /* time from the first CNP to the recovery, ns; ROCE_NEVER_NS if `end` is
                            * not ROCE_CNP_RECOVERED */
    enum roce_cnp_end end;
};

/* Effect of the CNPs that a side received on its rate. */
struct roce_cnp_summary {
    uint64_t episodes;
    uint64_t measured;                 /* number of episodes in which the rate before and the
                                        * rate after the first CNP are known */
    struct roce_spread before, lowest; /* Over the episodes in which the rate dropped: rates before
                                        * the first CNP, and lowest rates */
    struct roce_spread recovery_ns;    /* recovery times of the episodes that ended with
                                        * ROCE_CNP_RECOVERED, ns */
};

/* Remote memory that a side accessed with one R_Key. */
struct roce_region {
    uint32_t rkey;
    uint32_t invalidated_frame; /* frame of the latest SEND with Invalidate for the R_Key that this
                                 * side sent after it had used the R_Key; 0 if none */
    uint8_t opers;              /* bit set of enum roce_oper */
    uint64_t va_min, va_end;    /* lowest address accessed, and one past the highest */
    uint64_t requests, bytes_written, bytes_read;
};

/* Facts about the refused request of an endpoint: the request for which the peer sent a fatal NAK.
 */
struct roce_refusal {
    uint32_t last_frame;       /* frame of the last retransmission after the fatal NAK
                                * (roce_conn_facts.end_repeats > 0). Without a retransmission: frame of
                                * the last repetition of the NAK; 0 if none */
    uint32_t key_worked_frame; /* frame of the latest executed request with the R_Key that a NAK
                                * "remote access error" refused; 0 if none */
    uint32_t key_invalidated_frame; /* frame of the latest SEND with Invalidate for the R_Key of the
                                     * refused request; 0 if none */
    uint8_t again;                  /* number of repetitions of the fatal NAK for the request, at
                                     * most 255 */
    bool key_same; /* the request in key_worked_frame had the same operation as the refused request,
                    * and accessed all addresses that the refused request names */
};

struct roce_endpoint_summary {
    uint8_t addr[16];   /* address of the endpoint: GID, IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint32_t qpn;       /* QPN of the endpoint; ROCE_QPN_UNKNOWN if no packet names it */
    uint32_t first_psn; /* first PSN of the endpoint's requests, from CM messages; without CM
                         * messages, the first captured PSN; ROCE_PSN_UNKNOWN if none */
    bool first_psn_sure;
    bool any_order;          /* the peer accepts the packets of this endpoint in any order */
    bool adaptive;           /* adaptive retransmission: the times before retransmissions do not
                              * follow the agreed timeout */
    uint8_t udp_sports;      /* number of different UDP source ports that a connected QP used,
                              * counted up to 4; 0 if it used only one */
    uint16_t udp_sport;      /* UDP source port of the endpoint's first captured packet */
    uint64_t packets, bytes; /* captured packets of the endpoint, and their bytes on the wire */
    uint64_t payload_sent; /* payload bytes of the endpoint's requests, retransmissions included */
    uint64_t responses, acks; /* responses and ACKs that the endpoint sent */
    uint64_t missing_psns;    /* number of PSNs of requests that are missing in the capture: lost
                               * before the capture point, or not captured */
    uint64_t missing_packets; /* number of packets in missing_psns. A READ request has several PSNs,
                               * but counts as one packet if its retransmission or its responses
                               * were captured */
    uint64_t missing_repeats; /* number of unacknowledged packets whose retransmission is missing
                               * in a go-back, although other packets of the go-back were
                               * captured. The retransmission was lost before the capture point,
                               * or not captured. 0 if requests are out of order, because a
                               * missing retransmission then looks like a late one */
    uint64_t altered_frame;   /* frame of the first retransmission that differs from the original
                               * packet; 0 if none, or if the requester later retransmitted another
                               * message unchanged */
    uint64_t naks_for_late;   /* number of sequence NAKs of the peer for packets that were late, not
                               * lost. A packet was late if it was captured out of order, or if an
                               * ACK of it was captured too early to answer its retransmission */
    /* Numbers of sequence NAKs that this side sent. `naks_after_rnr`: the NAK is for a request that
     * the latest RNR NAK of this side refused, so the request was not lost. `naks_unseen`: the NAK
     * is for a request that was not captured before the NAK, or that was captured without its
     * ICRC. */
    uint64_t naks_after_rnr, naks_unseen;
    uint64_t unheeded_naks;  /* number of timeouts of the endpoint after a captured sequence NAK for
                              * the same PSN or a later one: the NAK was lost between capture point
                              * and endpoint, or the endpoint ignored it */
    uint64_t unseen_acked;   /* number of PSNs of requests that the peer acknowledged but that were
                              * not captured */
    uint64_t unseen_packets; /* number of packets in unseen_acked; a READ request with captured
                              * responses counts once */
    uint64_t behind_responses; /* number of the endpoint's requests that were captured after their
                                * responses: the clocks of two capture points differ */
    uint64_t behind_ns;        /* longest time from such a response to its request, ns */
    uint64_t out_of_order, copies, duplicates;
    uint64_t accepted_early; /* number of requests of the endpoint that were transmitted once and
                              * acknowledged, although they were captured before a request with an
                              * earlier PSN */
    uint64_t accepted_reads; /* number of READs of the peer that it did not retransmit, although
                              * their responses were captured out of order */
    uint64_t psn_naks, rnr_naks, fatal_naks; /* NAKs that the endpoint sent */
    uint64_t rnr_paged;      /* number of RNR NAKs for requests that need no receive WQE: the
                              * responder uses on-demand paging */
    uint64_t late_responses; /* number of READ responses captured after a later response to the same
                              * READ */
    uint64_t response_gaps;  /* number of gaps in the PSNs of READ responses, also of responses to
                              * retransmitted READs */
    uint64_t missing_responses;       /* number of READ responses that are missing in the gaps that
                                       * response_gaps counts */
    uint64_t repeated_responses;      /* READ responses that the endpoint sent again */
    uint64_t repeated_response_bytes; /* payload bytes of the repeated READ responses */
    uint64_t lost_messages; /* UC: number of messages with missing packets; each PSN gap counts as
                             * at least one message */
    uint64_t bad_icrc, malformed;
    struct roce_oper_summary oper[ROCE_OPER_CNT];
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    struct roce_read_restarts read_restarts;     /* go-backs by timeout into the middle of a READ */
    struct roce_read_restarts read_gap_restarts; /* go-backs by a READ gap or an implied NAK */
    struct roce_timeout_losses timeout_losses;
    struct roce_refusal refusal; /* valid if a fatal NAK stopped the endpoint */
    const struct roce_hist
        *ack_rtt;     /* times from the endpoint's requests to their acknowledgement; may be NULL */
    uint64_t idle_ns; /* idle time of the endpoint as a requester, ns: times from the previous
                       * packet of the connection to a new request, if all earlier requests were
                       * acknowledged. Waits for credits are not counted. At most 2^32 us */
    uint64_t rnr_advertised_ns, rnr_waited_ns; /* sums over the endpoint's retransmissions after
                                                * RNR NAKs: waits that the RNR NAKs advertised,
                                                * and waits that the capture shows, ns */
    uint64_t timeout_min_ns,
        timeout_max_ns; /* shortest and longest retransmission timeout measured, ns; 0 if none */
    uint64_t early_timeouts;   /* number of retransmissions by timeout sooner than 3/4 of the agreed
                                * timeout */
    uint64_t late_response_ns; /* longest time from a request to its response, among the responses
                                * that came after a spurious timeout, ns; 0 if none */
    struct roce_spread response_waits; /* waits of at least ROCE_LONG_WAIT_NS for a response, ns:
                                        * times from the endpoint's latest request, or the latest
                                        * response to the endpoint if that came later, to the
                                        * next response. Waits for retransmitted requests are not
                                        * counted */
    struct roce_spread credit_waits;   /* times for which the endpoint waited for credits, ns: from
                                        * an ACK without credits to the next ACK with credits, at
                                        * least 1 ms. A time counts if the next request that needs a
                                        * receive WQE follows the second ACK within a quarter of
                                        * this time */
    uint32_t credits; /* latest credits that the endpoint granted; ROCE_CREDITS_UNLIMITED for credit
                       * code 31 ("invalid") */
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint64_t max_bytes_in_flight;
    uint64_t ce_marked;      /* CE-marked packets that the endpoint sent */
    uint64_t ce_unanswered;  /* number of CE-marked packets with payload that the endpoint sent, if
                              * their receiver should have sent a CNP and sent none; otherwise 0 */
    uint64_t cnps;           /* CNPs that the endpoint sent */
    uint64_t cnps_unasked;   /* number of CNPs of a paired endpoint for which no CE-marked packet
                              * was captured since the previous CNP of the endpoint */
    uint64_t cnp_gap_min_ns; /* shortest time between two CNPs of the endpoint (R219), ns; 0 with
                              * fewer than two */
    struct roce_spread
        cnp_gap_ns; /* times between two CNPs of the endpoint that are less than 10 ms apart, ns */
    struct roce_spread cnp_delay_ns;  /* times from the latest CE-marked packet to the CNP that
                                       * answers it, ns */
    struct roce_cnp_summary cnp;      /* effect of the CNPs that the endpoint received */
    uint64_t becn, fecn;              /* packets other than CNPs with the BECN or FECN bit */
    uint32_t region_cnt, region_more; /* number of R_Keys in `region`, and number of further R_Keys
                                       * that are not stored */
    const struct roce_region *region;
    bool may_be_rxe; /* the endpoint sent packets with MigReq 0, which Linux rxe always does */
};

/* Facts about the connection as a whole. */
struct roce_conn_facts {
    uint32_t conn_index;
    enum roce_svc svc;
    enum roce_encap encap;
    enum roce_pairing pairing; /* evidence that the two directions belong together */
    uint32_t overlay;          /* overlay network, as roce_pkt.overlay */
    uint32_t mtu;              /* path MTU, bytes; 0 if unknown */
    uint16_t vid;              /* outermost VLAN id; 0 if none */
    bool paired;               /* the two directions are paired */
    bool ambiguous;            /* not paired, because responses fit several connections */
    bool multicast;
    bool truncated;  /* the snaplen cut some packets, or the analysis dropped entries of the request
                      * window */
    bool complete;   /* captured from the first PSN on, without a gap */
    bool mtu_sure;   /* the path MTU is from CM or from a First packet */
    uint8_t qp_uses; /* number of uses of this QP pair */
    uint32_t first_frame, last_frame;
    uint32_t idle_pauses; /* see silence */
    uint64_t first_time, last_time;
    /* Silences: times of at least 1 ms without a packet of the connection that end with a new
     * request. Counted after the two directions are paired. Waits for credits are not counted.
     * Pauses between messages in which the requester sent nothing, as its IPv4 identifications
     * show, are not counted here but in `idle_pauses`. */
    struct {
        uint32_t cnt : 30;
        uint32_t side : 1;   /* side that sent `frame` */
        uint32_t inside : 1; /* whether `frame` is a Middle or Last packet */
        uint32_t frame;      /* frame after the longest silence; 0: none */
        uint64_t sum_ns;
        uint32_t shortest_us, longest_us; /* at most UINT32_MAX; 0: none */
    } silence;
    uint64_t findings[ROCE_SEV_CNT];
    uint32_t known_errors, known_warnings; /* numbers of ERROR and of WARN findings that are known
                                            * deviations of the implementation
                                            * (roce_flow_opts.profile) */

    /* Parameters from captured CM messages. active_side is an index into the sides. */
    struct {
        uint16_t seen; /* bit set of enum roce_cm: the CM messages captured */
        uint8_t active_side;
        uint8_t timeout_code[2]; /* local ACK timeout of each side as a requester, coded as in the
                                  * REQ; 0 if unlimited or unknown. The sender of the REQ computes
                                  * its timeout with the target ACK delay in the REP */
        uint8_t rep_rnr_retry;   /* RNR retry count in the REP, for the active side */
        uint16_t rep_ms; /* time from the first REQ to the REP, ms, at most 65535; 0 if unknown */
        uint16_t rep_again_ms; /* time from the first REP to its last captured retransmission,
                                * ms, at most 65535; 0 if none. Retransmissions after the first
                                * data packet do not count */
        uint64_t service_id;
        uint8_t ack_timeout_code, retry_count, rnr_retry; /* parameters in the REQ. The RNR retry
                                                           * count is for the passive side */
        uint8_t responder_resources, initiator_depth;     /* responder resources and initiator
                                                           * depth in the REQ */
        uint8_t rep_responder_resources, rep_initiator_depth;
        bool req_srq, rep_srq; /* the sender of the REQ or REP uses a shared receive queue */
        bool rtu_lost;         /* an RTU was captured before the last retransmission of the REP */
        uint8_t reqs;          /* number of captured transmissions of the REQ, at most 255 */
        uint16_t rej_reason;
        uint8_t dreqs;      /* number of captured transmissions of the DREQ in dreq_frame until the
                             * peer answered with a DREP or DREQ, at most 255 */
        uint8_t dreq_side;  /* side that sent the DREQ in dreq_frame */
        bool dreq_answered; /* the peer answered the DREQ in dreq_frame */
        uint16_t dreq_ms;   /* time from the first transmission of the DREQ in dreq_frame to the
                             * answer; without an answer, to the last transmission; ms, at most
                             * 65535 */
        uint32_t req_frame, rep_frame, rtu_frame, dreq_frame, rej_frame;
        uint64_t setup_ns; /* time from REQ to RTU, ns; 0 if unknown */
    } cm;

    /* How the connection ended. */
    enum roce_end end;
    uint8_t end_side;      /* side whose QP stopped */
    uint8_t end_syndrome;  /* Syndrome of the fatal NAK. If retries were exhausted: a reserved
                            * syndrome of the last response, which requesters ignore. Otherwise 0. */
    bool end_paged : 1;    /* the last RNR NAKs were for a request that needs no receive WQE
                            * (on-demand paging) */
    bool end_damaged : 1;  /* every transmission of the last request had a wrong ICRC */
    bool end_on_nak : 1;   /* the requester did not retransmit the request in end_request_frame
                            * after the latest sequence NAK for it */
    bool end_answered : 1; /* a response to the request was captured before its latest
                            * retransmissions, which got no response */
    bool end_waits : 1;    /* ROCE_END_UNANSWERED: the requester did not retransmit the request
                            * again, although its ACK timeout must have expired */
    uint32_t end_psn;
    uint32_t end_frame; /* frame of the packet that ended the connection: NAK, DREQ, REJ, last RNR
                         * NAK or last retransmission */
    uint32_t end_request_frame; /* frame of the request after which the requester stopped */
    uint16_t end_tries;         /* number of transmissions of the request in end_request_frame */
    uint8_t end_repeats;        /* number of retransmissions of the request in end_request_frame by
                                 * timeout, or after RNR NAKs if these stopped the requester. If a
                                 * NAK ended the connection: number of retransmissions after the NAK
                                 */
    uint8_t end_naks;           /* number of sequence NAKs for the request in end_request_frame */
};

/* End of a connection without a response (ROCE_END_UNANSWERED, ROCE_END_RETRY_EXHAUSTED): silence
 * of the side that did not respond. */
struct roce_end_silence {
    uint32_t frame;         /* last frame of this side; 0: it sent packets after the latest
                             * transmission of the request, or none at all */
    uint32_t pending;       /* number of PSNs of its own outstanding requests */
    uint32_t pending_frame; /* frame of the latest transmission of the first of them; 0: none */
    uint64_t ns;            /* time from `frame` to the end of the capture, ns; 0 if unknown */
    uint64_t request_ns;    /* time from the latest transmission of the request to the end of the
                             * capture, ns */
};

struct roce_conn_summary {
    struct roce_conn_facts facts;
    struct roce_end_silence silence;
    struct roce_endpoint_summary side[2];
};

#endif
