/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Summary of one connection. Side 0 sent the first captured packet. The figures of a side are about
 * the packets that it sent.
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

#define ROCE_QPN_UNKNOWN UINT32_MAX
#define ROCE_PSN_UNKNOWN UINT32_MAX
#define ROCE_REGIONS_MAX 8u /* R_Keys kept for each side; further ones are only counted */

/* Reason of a retransmission. */
enum roce_cause {
    ROCE_CAUSE_NONE,
    ROCE_CAUSE_SEQ_NAK,     /* NAK: PSN sequence error */
    ROCE_CAUSE_RNR_NAK,     /* receiver not ready */
    ROCE_CAUSE_TIMEOUT,     /* no response within the local ACK timeout */
    ROCE_CAUSE_IMPLIED_NAK, /* a later request was answered before this READ or atomic */
    ROCE_CAUSE_READ_GAP,    /* a READ response is missing */
    ROCE_CAUSE_UNKNOWN,     /* too early for a timeout, and no NAK in the capture */
    ROCE_CAUSE_CNT
};

/* Returns "sequence NAK", "RNR NAK", "timeout", ... */
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

/* End of a connection, or what stopped it, as far as packets show. */
enum roce_end {
    ROCE_END_OPEN,            /* still open */
    ROCE_END_DISCONNECTED,    /* DREQ */
    ROCE_END_REJECTED,        /* REJ before it was set up */
    ROCE_END_NAK,             /* NAK that stops the requester: 0x61, 0x62, 0x63 */
    ROCE_END_RNR_EXHAUSTED,   /* RNR NAKs, then the requester sent nothing more */
    ROCE_END_RETRY_EXHAUSTED, /* retransmissions without a response, then the requester sent nothing
                                 more */
    ROCE_END_UNANSWERED,  /* as RETRY_EXHAUSTED, but no response was ever captured: there was none,
                             or the capture has one direction only */
    ROCE_END_RNR_WAITING, /* more RNR NAKs than a retry limit allows: the requester keeps trying */
};

const char *roce_end_name(enum roce_end end);

/* Evidence that two directions are one connection. From PSNS on it is a guess: a finding that
 * compares both directions is not an ERROR then. */
enum roce_pairing {
    ROCE_PAIRED_NOT,
    ROCE_PAIRED_BY_CM,    /* REQ and REP name both QPs */
    ROCE_PAIRED_BY_QPNS,  /* datagrams name both QPs */
    ROCE_PAIRED_BY_PORTS, /* both use the UDP source port that Linux derives from the two QPNs */
    ROCE_PAIRED_SELF,     /* a QP that is connected to itself */
    ROCE_PAIRED_BY_PSNS,  /* only one requester sent the PSNs that the responses name */
    ROCE_PAIRED_BY_MSNS,  /* of several such requesters, the one whose messages the MSN counts */
    ROCE_PAIRED_BY_PORT,  /* of several such requesters, the one with the same source port */
    ROCE_PAIRED_ALONE,    /* no other connection between the two hosts was captured */
    ROCE_PAIRED_CNT
};

static inline bool roce_pairing_is_guess(enum roce_pairing pairing)
{
    return pairing >= ROCE_PAIRED_BY_PSNS;
}

/* Returns "CM", "QPNs", "source ports", ...; "" for NOT. */
const char *roce_pairing_name(enum roce_pairing pairing);

struct roce_oper_summary {
    uint64_t messages;  /* messages whose last packet was sent; READ: requests */
    uint64_t completed; /* messages acknowledged, or fully answered, in the capture */
    uint64_t bytes; /* payload of completed messages, each byte once; of SEND and WRITE the captured
                       part */
    const struct roce_hist
        *latency; /* time from first packet to completion; NULL without samples */
};

struct roce_retx_summary {
    uint64_t go_backs;
    uint64_t packets, bytes;
    uint64_t stalled_ns; /* time from the latest transmission to the retransmission, summed over
                            go-backs */
};

/* Aggregate of values that are not kept. */
struct roce_spread {
    uint64_t cnt, sum, min, max; /* min and max are valid if cnt > 0 */
};

/* End of a congestion episode. */
enum roce_cnp_end {
    ROCE_CNP_OPEN,      /* still open when the connection or the capture ended */
    ROCE_CNP_RECOVERED, /* the rate was back to 90 % of the rate before */
    ROCE_CNP_QUIET,     /* no more CNPs came, and the rate did not drop */
    ROCE_CNP_IDLE,      /* the endpoint had nothing to send */
};

const char *roce_cnp_end_name(enum roce_cnp_end end);

/* Congestion episode: from the first CNP that an endpoint receives until its rate is back. Rates
 * are wire bytes per second, in windows of at least 100 us and 16 packets. 0 is unknown: packets
 * were not captured, or too few were sent. */
struct roce_cnp_episode {
    uint32_t conn_index;
    uint8_t side;               /* side that received the CNPs */
    uint32_t frame, last_frame; /* first and last CNP */
    uint64_t time;              /* time of the first CNP */
    uint64_t cnps;
    uint64_t ce_marked; /* CE-marked packets of that side during the episode */
    uint64_t before;    /* rate before the first CNP */
    uint64_t lowest;    /* rate of the slowest window after it */
    uint64_t lowest_ns; /* end of that window, ns after the first CNP */
    uint64_t after;     /* rate in the last window */
    bool slowed;        /* the rate dropped below 80 % of the rate before */
    uint64_t
        recovered_ns; /* time of recovery, ns after the first CNP; ROCE_NEVER_NS unless RECOVERED */
    enum roce_cnp_end end;
};

/* Effect of the CNPs that a side received on its rate. */
struct roce_cnp_summary {
    uint64_t episodes;
    uint64_t measured;                 /* episodes with a rate before and after the first CNP */
    struct roce_spread before, lowest; /* rates in the episodes that slowed it */
    struct roce_spread recovery_ns;    /* recovery times of the episodes that it recovered from */
};

/* Remote memory that a side addressed with one R_Key. */
struct roce_region {
    uint32_t rkey;
    uint8_t opers;           /* a bit for each enum roce_oper */
    uint64_t va_min, va_end; /* lowest address, and one past the highest */
    uint64_t requests, bytes_written, bytes_read;
};

struct roce_endpoint_summary {
    uint8_t addr[16];   /* GID, IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint32_t qpn;       /* ROCE_QPN_UNKNOWN if nothing names it */
    uint32_t first_psn; /* first PSN of its requests, from CM or captured; ROCE_PSN_UNKNOWN */
    bool first_psn_sure;
    uint16_t udp_sport;       /* first captured source port */
    uint64_t packets, bytes;  /* captured packets, and their bytes on the wire */
    uint64_t payload_sent;    /* payload of requests, retransmissions included */
    uint64_t responses, acks; /* responses and ACKs that it sent */
    uint64_t missing_psns;    /* PSNs of requests that were never captured: lost before the capture
                                 point, or not captured */
    uint64_t unseen_acked;    /* requests that the peer acknowledged but that were not captured */
    uint64_t out_of_order, copies, duplicates;
    uint64_t psn_naks, rnr_naks, fatal_naks; /* NAKs that it sent */
    uint64_t rnr_paged;      /* RNR NAKs to requests that need no receive WQE: on-demand paging */
    uint64_t late_responses; /* READ responses that came after later ones of that READ */
    uint64_t bad_icrc, malformed;
    struct roce_oper_summary oper[ROCE_OPER_CNT];
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    const struct roce_hist
        *ack_rtt; /* time from its requests to their acknowledgement; may be NULL */
    uint64_t rnr_advertised_ns, rnr_waited_ns; /* sums over the RNR NAKs to its requests */
    uint64_t timeout_min_ns,
        timeout_max_ns; /* measured retransmission timeouts; 0 if there was none */
    uint32_t credits;   /* latest credits that it granted; ROCE_CREDITS_UNLIMITED for "not valid" */
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint64_t max_bytes_in_flight;
    uint64_t ce_marked;    /* CE-marked packets that it sent */
    uint64_t cnps;         /* CNPs that it sent */
    uint64_t cnps_unasked; /* CNPs, while paired, without a marked packet since the CNP before */
    uint64_t
        cnp_gap_min_ns; /* shortest time between two of its CNPs (R219); 0 with fewer than two */
    struct roce_spread
        cnp_gap_ns; /* times between two of its CNPs that are less than 10 ms apart */
    struct roce_spread cnp_delay_ns;  /* times from the latest marked packet to its CNP */
    struct roce_cnp_summary cnp;      /* effect of the CNPs that it received */
    uint64_t becn, fecn;              /* other packets with these bits */
    uint32_t region_cnt, region_more; /* R_Keys in `region`, and further ones that were not kept */
    const struct roce_region *region;
};

/* Facts about the connection as a whole. */
struct roce_conn_facts {
    uint32_t conn_index;
    enum roce_svc svc;
    enum roce_encap encap;
    enum roce_pairing pairing; /* evidence that both directions belong together */
    uint32_t overlay;          /* overlay network: roce_pkt.overlay */
    uint32_t mtu;              /* path MTU, 0 unknown */
    uint16_t vid;              /* outermost VLAN, 0 for none */
    bool paired;               /* both directions are known to belong together */
    bool multicast;
    bool truncated;  /* packets were cut, or older packets had to be forgotten */
    bool complete;   /* captured from its first PSN on, without a hole */
    bool mtu_sure;   /* path MTU is from CM or from a First packet */
    uint8_t qp_uses; /* uses of this QP pair */
    uint32_t first_frame, last_frame;
    uint64_t first_time, last_time;
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t errors_unknown; /* ERROR findings that are not known deviations of the profile */

    /* From CM messages, if captured; active_side is an index into the sides. */
    struct {
        uint16_t seen; /* a bit for each captured enum roce_cm */
        uint8_t active_side;
        uint64_t service_id;
        uint8_t ack_timeout_code, retry_count, rnr_retry; /* from the REQ */
        uint8_t responder_resources, initiator_depth; /* from the REQ; the next line from the REP */
        uint8_t rep_responder_resources, rep_initiator_depth;
        bool req_srq, rep_srq; /* QP of that message's sender uses a shared receive queue */
        uint16_t rej_reason;
        uint32_t req_frame, rep_frame, rtu_frame, dreq_frame, rej_frame;
        uint64_t setup_ns; /* time from REQ to RTU; 0 unknown */
    } cm;

    /* The end of the connection. */
    enum roce_end end;
    uint8_t end_side;     /* side whose QP stopped */
    uint8_t end_syndrome; /* syndrome of the NAK; retries exhausted: reserved syndrome in the last
                             response, or 0 */
    bool end_paged;       /* RNR NAKs although the request needs no receive WQE */
    bool end_damaged;     /* each transmission of the request had a wrong ICRC */
    uint32_t end_psn;
    uint32_t end_frame; /* frame of the NAK, DREQ, REJ, last RNR NAK or last retransmission */
    uint32_t end_request_frame; /* frame of the request concerned */
    uint16_t end_tries;         /* transmissions of that request */
    uint8_t end_repeats; /* of the retransmissions, those by timeout; after a NAK, those after it */
    uint8_t end_naks;    /* of the retransmissions, those after a sequence NAK */
};

struct roce_conn_summary {
    struct roce_conn_facts facts;
    struct roce_endpoint_summary side[2];
};

#endif
