/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Summary: what is known about one connection. Side 0 sent the first captured packet; the figures
 * of a side are those of what it sent.
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
#define ROCE_REGIONS_MAX 8u /* remote keys kept a side: programs use few; the rest is counted */

/* Why a request was sent again. */
enum roce_cause {
    ROCE_CAUSE_NONE,
    ROCE_CAUSE_SEQ_NAK,     /* NAK: PSN sequence error */
    ROCE_CAUSE_RNR_NAK,     /* receiver not ready */
    ROCE_CAUSE_TIMEOUT,     /* nothing came for the local ACK timeout */
    ROCE_CAUSE_IMPLIED_NAK, /* a later request was answered before this READ or atomic */
    ROCE_CAUSE_READ_GAP,    /* a READ response is missing */
    ROCE_CAUSE_UNKNOWN,     /* too soon for a timeout, and no NAK in the capture */
    ROCE_CAUSE_CNT
};

/* "sequence NAK", "RNR NAK", "timeout", ... */
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

/* How a connection ended or what stopped it, as far as packets tell. */
enum roce_end {
    ROCE_END_OPEN,            /* nothing ended it */
    ROCE_END_DISCONNECTED,    /* DREQ */
    ROCE_END_REJECTED,        /* REJ before it was up */
    ROCE_END_NAK,             /* NAK that stops the requester: 0x61, 0x62, 0x63 */
    ROCE_END_RNR_EXHAUSTED,   /* RNR NAKs, then silence of the requester */
    ROCE_END_RETRY_EXHAUSTED, /* repeated without an answer, then silence */
    ROCE_END_UNANSWERED,  /* the same, and no answer was ever captured: none came, or the capture
                             has one direction only */
    ROCE_END_RNR_WAITING, /* RNR NAKs to the last, more than a limit allows: it goes on trying */
};

const char *roce_end_name(enum roce_end end);

/* What shows that two directions are one connection. From PSNS on it is a guess: nothing that is
 * judged by comparing the two is an ERROR then. */
enum roce_pairing {
    ROCE_PAIRED_NOT,
    ROCE_PAIRED_BY_CM,    /* REQ and REP name both QPs */
    ROCE_PAIRED_BY_QPNS,  /* datagrams do */
    ROCE_PAIRED_BY_PORTS, /* both have the UDP source port that Linux makes of the two QPNs */
    ROCE_PAIRED_SELF,     /* a QP that answers itself: its address and PSNs are one */
    ROCE_PAIRED_BY_PSNS,  /* the PSNs that one answers are those that only the other sent */
    ROCE_PAIRED_BY_MSNS,  /* of several so, the one whose messages the MSN counts */
    ROCE_PAIRED_BY_PORT,  /* of several so, the one with the same source port */
    ROCE_PAIRED_ALONE,    /* nothing else passed between the two hosts */
    ROCE_PAIRED_CNT
};

static inline bool roce_pairing_is_guess(enum roce_pairing pairing)
{
    return pairing >= ROCE_PAIRED_BY_PSNS;
}

/* "CM", "QPNs", "source ports", ... for people; "" for NOT. */
const char *roce_pairing_name(enum roce_pairing pairing);

struct roce_oper_summary {
    uint64_t messages;               /* whose last packet was sent; READ: requests */
    uint64_t completed;              /* acknowledged, or fully answered, in the capture */
    uint64_t bytes;                  /* payload of completed messages, each byte once; of SEND and
                                      * WRITE what was captured of it */
    const struct roce_hist *latency; /* first packet to completion; NULL without samples */
};

struct roce_retx_summary {
    uint64_t go_backs;
    uint64_t packets, bytes;
    uint64_t stalled_ns; /* from the latest transmission to the repetition, summed over episodes */
};

/* Of values that are not kept. */
struct roce_spread {
    uint64_t cnt, sum, min, max; /* the last two valid if cnt > 0 */
};

/* How a span with CNPs ended: from the first of them until the rate is back. */
enum roce_cnp_end {
    ROCE_CNP_OPEN,      /* it had not when the connection or the capture did */
    ROCE_CNP_RECOVERED, /* the rate was 90 % of that before again */
    ROCE_CNP_QUIET,     /* no more CNPs came, and no slowing was seen */
    ROCE_CNP_IDLE,      /* the side had nothing to send */
};

const char *roce_cnp_end_name(enum roce_cnp_end end);

/* Such a span. Rates are bytes of the wire a second, of windows of at least 100 us and 16 packets;
 * 0 unknown: packets were not captured, or too few were sent. */
struct roce_cnp_episode {
    uint32_t conn_index;
    uint8_t side;               /* who received the CNPs */
    uint32_t frame, last_frame; /* its first and last CNP */
    uint64_t time;              /* of the first */
    uint64_t cnps;
    uint64_t ce_marked;    /* of the side's packets, meanwhile */
    uint64_t before;       /* rate up to the first CNP */
    uint64_t lowest;       /* rate of the slowest window after it */
    uint64_t lowest_ns;    /* since the first CNP, at the end of that window */
    uint64_t after;        /* rate of the last window */
    bool slowed;           /* a window had less than 80 % of the rate before */
    uint64_t recovered_ns; /* since the first CNP; ROCE_NEVER_NS unless RECOVERED */
    enum roce_cnp_end end;
};

/* What the CNPs that a side received did to its rate. */
struct roce_cnp_summary {
    uint64_t episodes;
    uint64_t measured;                 /* of those: with a rate before and after the first CNP */
    struct roce_spread before, lowest; /* rates of those that slowed it */
    struct roce_spread recovery_ns;    /* of those it recovered from */
};

/* Remote memory that a side named by one key. */
struct roce_region {
    uint32_t rkey;
    uint8_t opers;           /* bit per enum roce_oper */
    uint64_t va_min, va_end; /* lowest address, and one past the highest */
    uint64_t requests, bytes_written, bytes_read;
};

struct roce_endpoint_summary {
    uint8_t addr[16];   /* GID, IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint32_t qpn;       /* ROCE_QPN_UNKNOWN when nothing told */
    uint32_t first_psn; /* of its requests: from CM or the first seen; ROCE_PSN_UNKNOWN */
    bool first_psn_sure;
    uint16_t udp_sport;       /* first seen */
    uint64_t packets, bytes;  /* wire bytes */
    uint64_t payload_sent;    /* request payload, repetitions included */
    uint64_t responses, acks; /* what it sent as responder */
    uint64_t missing_psns;    /* requests never seen: lost before the tap, or not captured */
    uint64_t unseen_acked;    /* of its requests, acknowledged by the peer but not captured */
    uint64_t out_of_order, copies, duplicates;
    uint64_t psn_naks, rnr_naks, fatal_naks; /* sent by it as responder */
    uint64_t rnr_paged; /* of rnr_naks, to what needs no receive: its memory is paged on demand */
    uint64_t late_responses; /* READ data that later data of that READ overtook */
    uint64_t bad_icrc, malformed;
    struct roce_oper_summary oper[ROCE_OPER_CNT];
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    const struct roce_hist *ack_rtt; /* its requests to their acknowledgement; may be NULL */
    uint64_t rnr_advertised_ns, rnr_waited_ns; /* sums over RNR episodes of its requests */
    uint64_t timeout_min_ns, timeout_max_ns;   /* measured; 0 if there was none */
    uint32_t credits; /* latest it gave; ROCE_CREDITS_UNLIMITED for "not valid" */
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint64_t max_bytes_in_flight;
    uint64_t ce_marked;      /* of its packets */
    uint64_t cnps;           /* sent by it */
    uint64_t cnps_unasked;   /* of those, while paired, with no marked packet since the last CNP */
    uint64_t cnp_gap_min_ns; /* least time between two of them (R219); 0 with fewer than two */
    struct roce_spread cnp_gap_ns;    /* between two of them that are less than 10 ms apart */
    struct roce_spread cnp_delay_ns;  /* of those asked for: since the latest marked packet */
    struct roce_cnp_summary cnp;      /* of those it received */
    uint64_t becn, fecn;              /* other packets with these bits */
    uint32_t region_cnt, region_more; /* kept, and further keys not kept */
    const struct roce_region *region;
};

/* What is known of the connection as a whole. */
struct roce_conn_facts {
    uint32_t conn_index;
    enum roce_svc svc;
    enum roce_encap encap;
    enum roce_pairing pairing; /* what shows that both directions belong together */
    uint32_t overlay;          /* roce_pkt.overlay */
    uint32_t mtu;              /* path MTU, 0 unknown */
    uint16_t vid;              /* outermost VLAN, 0 for none */
    bool paired;               /* both directions are known to belong together */
    bool multicast;
    bool truncated;  /* packets were cut, or parts of its past had to be forgotten */
    bool complete;   /* seen from its first PSN on, without a hole */
    bool mtu_sure;   /* from CM or a First packet */
    uint8_t qp_uses; /* uses of this QP pair */
    uint32_t first_frame, last_frame;
    uint64_t first_time, last_time;
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t errors_unknown; /* ERROR findings that the profile does not name */

    /* From CM messages, if captured; side is the index of the active side. */
    struct {
        uint16_t seen; /* bit per enum roce_cm */
        uint8_t active_side;
        uint64_t service_id;
        uint8_t ack_timeout_code, retry_count, rnr_retry; /* of the REQ */
        uint8_t responder_resources, initiator_depth;     /* REQ; REP's below */
        uint8_t rep_responder_resources, rep_initiator_depth;
        bool req_srq, rep_srq; /* the side's QP is on a shared receive queue */
        uint16_t rej_reason;
        uint32_t req_frame, rep_frame, rtu_frame, dreq_frame, rej_frame;
        uint64_t setup_ns; /* REQ to RTU; 0 unknown */
    } cm;

    /* What ended it. */
    enum roce_end end;
    uint8_t end_side;     /* whose QP stopped */
    uint8_t end_syndrome; /* NAK; retries exhausted: the reserved one that came, or 0 */
    bool end_paged;       /* RNR NAKs: the request needs no receive */
    bool end_damaged;     /* the request came with a wrong ICRC each time */
    uint32_t end_psn;
    uint32_t end_frame;         /* NAK, DREQ, REJ, last RNR NAK or last repetition */
    uint32_t end_request_frame; /* the request concerned */
    uint16_t end_tries;         /* transmissions of that request */
    uint8_t end_repeats;        /* of the repetitions, those by timeout: after the NAK, or of it */
    uint8_t end_naks;           /* and those after a sequence NAK */
};

struct roce_conn_summary {
    struct roce_conn_facts facts;
    struct roce_endpoint_summary side[2];
};

#endif
