/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Supposed use: the packets of a QP pair, under the supposition that they belong to one use of the
 * two QPs. Each packet is compared with the earlier packets of the use. A packet that one use
 * cannot explain costs USE_ODD, or twice that if not even one altered field explains it. qp_uses.c
 * compares the costs of several suppositions.
 *
 * These rules apply within one use. All requests with one PSN request the same operation (R153). A
 * request inside a READ restarts this READ (R112). The responses name PSNs that were requested, and
 * fit the operation. The MSN counts messages from 0, or from an unknown number if the capture does
 * not contain the start of the use (R102). The MSN counts at least the messages before the PSN of
 * the response, at most one message for each requested PSN, and does not decrease.
 *
 *   1. supposed_use_init()
 *   2. supposed_use_add() for each packet, in capture order
 *   3. supposed_use_free()
 */
#ifndef REPLAY_INFER_SUPPOSED_USE_H
#define REPLAY_INFER_SUPPOSED_USE_H

#include "infer/trace.h"
#include "wire/codes.h"

/* Cost of a packet that the use cannot explain. */
#define USE_ODD 16u

/* Cost of a response with a lower MSN than an earlier response, if the earlier MSN is probably
 * wrong. No other response has this cost. */
#define USE_HIGH (USE_ODD + 1)

/* Cost of an Atomic ACK that shows a second execution of its request, if the use explains its MSN.
 * Another Atomic ACK to a request of the use has this cost only if its original value and its MSN
 * are both wrong. */
#define USE_TWICE (2 * USE_ODD)

/* Requests of one side in the use, and the responses to them. */
struct use_side {
    bool started;
    uint32_t first_pkt; /* index into trace.pkt of the first request */
    roce_psn base;      /* lowest PSN requested */
    roce_psn next;      /* PSN after the highest requested PSN */
    roce_psn reach;     /* PSN after the highest response that the requests may have */
    roce_psn apart;    /* PSN after a request far from all other requested PSNs; valid if `is_apart`
                        * is true */
    bool is_apart;     /* the PSN of the latest new request was far from all other requested
                        * PSNs */
    uint32_t ended;    /* number of messages with a captured last packet */
    bool repeats;      /* a PSN was requested twice */
    bool shifts;       /* the requester may shift the PSNs of its requests (D57) */
    int32_t shift;     /* if `shifts` is true: number of PSNs by which the latest shifted request
                        * precedes its earlier copy */
    bool counted;      /* `msn` is known */
    uint32_t msn;      /* MSN before the first message */
    bool answered;     /* a response was captured */
    uint32_t high_msn; /* highest MSN so far */
    uint32_t high_pkt; /* index into trace.pkt of the response with the highest MSN */
    bool high_alone;   /* only that response had the highest MSN */
    bool below;        /* `below_pkt` is valid */
    uint32_t below_pkt; /* index into trace.pkt of the response with the highest MSN before
                         * `high_pkt` */
    roce_psn high_psn;  /* highest acknowledged PSN */
    roce_psn read;      /* PSN of the READ to which the latest READ responses belong */
    roce_psn read_resp; /* PSN up to which the responses to READ `read` were captured without a gap
                         */
};

/* First captured request with one particular PSN. */
struct use_request {
    uint32_t pkt;       /* index into trace.pkt */
    uint32_t last;      /* index into trace.pkt of the latest copy */
    uint32_t shifted;   /* index into trace.pkt of a different request with this PSN, if the
                         * requester shifts PSNs; 0: none */
    uint32_t before;    /* index into trace.pkt of the latest response with this PSN captured before
                         * `last`; 0: none */
    uint32_t answer;    /* index into trace.pkt of the latest response with this PSN; 0: none */
    uint32_t copies;    /* number of copies captured */
    uint32_t answers;   /* number of responses with this PSN, without copies that the network or the
                         * capture made */
    uint32_t ended;     /* least number of messages that have ended with this request or before it;
                         * 0: unknown */
    uint32_t last_resp; /* READ: number of PSNs from its first response to its highest response, if
                         * all responses in between were captured */
};

/* Requests of one side with consecutive PSNs, in PSN order. It has nearly all requests of the side.
 */
struct use_run {
    roce_psn first; /* PSN of request[0] */
    struct use_request *request;
    size_t cnt;
    size_t cap;
};

struct supposed_use {
    const struct trace *trace;
    bool from_start; /* the use begins with the first packet that was added. Otherwise earlier
                      * packets may be missing in the capture */
    uint64_t time;   /* capture time of the latest packet, ns */
    uint32_t quiet;  /* index into trace.pkt of the first packet after the latest time of at
                      * least TRACE_COPY_NS without a packet of the use */
    struct use_side side[2];
    struct use_run run[2]; /* for each side: its first request, and the requests that follow it
                            * without a gap in the PSNs */
    struct keymap psns;    /* all other requests; keys: {side, PSN} */
    struct use_request *request;
    size_t request_cap;
};

void supposed_use_init(struct supposed_use *use, const struct trace *trace, bool from_start);
void supposed_use_free(struct supposed_use *use);

/* Adds packet `idx` of the trace, which `side` sent, and returns its cost; less than USE_ODD if the
 * use explains the packet. Returns -1 if out of memory. */
int supposed_use_add(struct supposed_use *use, uint32_t idx, unsigned side);

#endif
