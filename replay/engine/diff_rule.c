/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/diff_rule.h"

#include <string.h>
#include "wire/codes.h"
#include "wire/psn.h"

/* Bits for the kinds of packets to which a row of the table below applies. */
enum {
    ACKS = 1 << 0,
    READS = 1 << 1,
    ATOMICS = 1 << 2,
    ANSWERS = ACKS | READS | ATOMICS,
    REQUESTS = 1 << 3,
};

/* Rules that a difference in an RC packet violates. The first row that fits applies. A row fits if
 * kind and field are equal, and the recorded or the replayed value contains `word`. */
static const struct {
    unsigned kinds;
    const char *field;
    const char *word;
    const char *rule;
} rows[] = {
    /* clang-format off */
    {ANSWERS,  "aeth.syndrome",     "PSN sequence error",       "RC-RSP-067"},
    {ANSWERS,  "aeth.syndrome",     "remote access error",      "RC-RSP-083"},
    {ANSWERS,  "aeth.syndrome",     "invalid request",          "RC-RSP-089"},
    {ANSWERS,  "aeth.syndrome",     "remote operational error", "RC-RSP-090"},
    {ANSWERS,  "aeth.syndrome",     "RNR NAK",                  "RC-RSP-097"}, /* two RNR timers */
    {ANSWERS,  "aeth.syndrome",     "",                         "RC-RSP-105"},
    {ANSWERS,  "aeth.msn",          "",                         "RC-RSP-102"},
    {READS,    "payload",           "",                         "RC-RSP-092"},
    {READS,    "payload length",    "",                         "RC-FMT-039"},
    {ATOMICS,  "atomicacketh.orig", "",                         "RC-RSP-122"},
    {ACKS,     "bth.psn",           "",                         "RC-PSN-064"},
    {READS,    "bth.psn",           "",                         "RC-PSN-063"},
    {ANSWERS,  "bth.dest_qp",       "",                         "RC-FMT-043"},
    {ANSWERS,  "bth.ackreq",        "",                         "RC-FMT-043"},
    {ACKS,     "answer",            "",                         "RC-RSP-099"},
    {ANSWERS,  "answer",            "",                         "RC-RSP-101"},
    {READS,    "bth.opcode",        "Acknowledge",              "RC-RSP-101"},
    {READS,    "bth.opcode",        "",                         "RC-FMT-039"},
    {ANSWERS,  "bth.opcode",        "",                         "RC-RSP-101"},
    {REQUESTS, "retransmission",    "",                         "RC-REQ-152"},
    {REQUESTS, "retries",           "",                         "RC-REQ-154"},
    {ANSWERS,  "completion",        "RNR_RETRY_EXC_ERR",        "RC-REQ-157"},
    {ANSWERS,  "completion",        "RETRY_EXC_ERR",            "RC-REQ-154"},
    {ANSWERS,  "completion",        "REM_",                     "RC-REQ-146"},
    {ANSWERS,  "completion",        "",                         "RC-REQ-138"},
    {REQUESTS, "bth.psn",           "",                         "ALL-PSN-057"},
    {REQUESTS, "bth.opcode",        "",                         "RC-REQ-127"},
    {REQUESTS, "reth.dma_len",      "",                         "RC-REQ-128"},
    {REQUESTS, "payload",           "",                         "RC-REQ-153"},
    {REQUESTS, "request",           "",                         "RC-REQ-152"},
    {REQUESTS, "xrceth.srqn",       "",                         "XRC-FMT-179"},
    {ANSWERS | REQUESTS, "bth.pkey", "",                        "ALL-FMT-045"},
    {ANSWERS | REQUESTS, "bth.se",  "",                         "ALL-FMT-041"},
    /* clang-format on */
};

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns whether the recorded MSN is higher than the MSN of our RNIC, modulo 2^24. As in
 * `rocedrill check`, an MSN that is too high violates another rule than an MSN that is too low. */
static bool is_msn_higher(const struct diff *d)
{
    return roce_psn_diff(roce_psn_of((uint32_t)d->number[0]), roce_psn_of((uint32_t)d->number[1])) >
           0;
}

/* Returns whether one of the two values is an ACK and the other an RNR NAK. */
static bool is_ack_for_rnr_nak(const struct diff *d)
{
    const unsigned recorded = roce_syndrome_kind((uint8_t)d->number[0]),
                   replayed = roce_syndrome_kind((uint8_t)d->number[1]);

    return strcmp(d->field, "aeth.syndrome") == 0 &&
           ((recorded == ROCE_SYN_ACK && replayed == ROCE_SYN_RNR) ||
            (recorded == ROCE_SYN_RNR && replayed == ROCE_SYN_ACK));
}

const char *diff_rule(const struct trace *trace, const struct diff *d)
{
    const struct roce_opcode *op = roce_opcode(trace->pkt[d->pkt].opcode);
    unsigned kind = roce_opcode_is_request(op)         ? REQUESTS
                    : op->kind == ROCE_KIND_READ_RESP  ? READS
                    : op->kind == ROCE_KIND_ATOMIC_ACK ? ATOMICS
                                                       : ACKS;

    if (kind != REQUESTS && strcmp(d->field, "aeth.msn") == 0 && is_msn_higher(d))
        return "RC-RSP-104";
    if (kind != REQUESTS && is_ack_for_rnr_nak(d))
        return "RC-RSP-093";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].kinds & kind && strcmp(rows[i].field, d->field) == 0 &&
            (strstr(d->recorded, rows[i].word) || strstr(d->replayed, rows[i].word)))
            return rows[i].rule;
    return NULL;
}

/* Bits for the kinds of datagram streams to which a row of the table below applies: the transport
 * service and the role of our RNIC. */
enum {
    UC_IN = 1 << 0,
    UC_OUT = 1 << 1,
    UD_IN = 1 << 2,
    UD_OUT = 1 << 3,
};

static const struct {
    unsigned who;
    const char *field;
    const char *recorded; /* prefix of the recorded value */
    const char *rule;
} stream_rows[] = {
    /* clang-format off */
    {UC_IN,           "answer",         "",        "UC-RSP-162"},
    {UD_IN,           "answer",         "",        "UD-RSP-178"},
    {UC_IN,           "completion",     "none",    "UC-RSP-166"},
    {UC_IN,           "completion",     "",        "UC-RSP-164"},
    {UD_IN,           "completion",     "none",    "UD-RSP-174"},
    {UD_IN,           "completion",     "",        "UD-RSP-173"},
    {UC_IN,           "data",           "unchang", "UC-RSP-165"},
    {UC_IN | UD_IN,   "wc.solicited",   "",        "ALL-CQ-201"},
    {UD_IN,           "network header", "",        "UD-RSP-172"},
    {UD_IN,           "wc.byte_len",    "",        "UD-RSP-172"},
    {UD_IN,           "wc.",            "",        "UD-RSP-173"},
    {UC_OUT,          "packets",        "",        "UC-REQ-167"},
    {UC_OUT,          "completion",     "",        "UC-REQ-167"},
    {UC_OUT,          "reth.dma_len",   "",        "RC-REQ-128"},
    {UC_OUT,          "bth.opcode",     "",        "RC-REQ-127"},
    {UD_OUT,          "packets",        "",        "UD-REQ-168"},
    {UD_OUT,          "bth.opcode",     "",        "UD-REQ-168"},
    {UD_OUT,          "deth.",          "",        "UD-REQ-169"},
    {UC_OUT | UD_OUT, "bth.pkey",       "",        "ALL-FMT-045"},
    {UC_OUT | UD_OUT, "bth.se",         "",        "ALL-FMT-041"},
    /* clang-format on */
};

const char *diff_rule_stream(const struct dgram_streams *streams, const struct diff *d)
{
    const struct dgram_stream *s = &streams->stream[d->dir];
    unsigned in = s->svc == ROCE_SVC_UC ? UC_IN : UD_IN;
    unsigned who = s->role == DGRAM_RECEIVER ? in : in << 1;

    for (size_t i = 0; i < sizeof(stream_rows) / sizeof(stream_rows[0]); i++)
        if (stream_rows[i].who & who && begins_with(d->field, stream_rows[i].field) &&
            begins_with(d->recorded, stream_rows[i].recorded))
            return stream_rows[i].rule;
    return NULL;
}

/* Rules that a difference in a CM message violates. If no row fits, the difference violates the
 * layout of the message. */
static const struct {
    unsigned kinds; /* message kinds, as bits of enum roce_cm; 0 means all kinds */
    const char *field;
    const char *rule;
} exchange_rows[] = {
    /* clang-format off */
    {1u << ROCE_CM_REJ,  "message",                  "ALL-CM-235"},
    {1u << ROCE_CM_DREP, "message",                  "ALL-CM-233"},
    {1u << ROCE_CM_SIDR_REP, "",                     "ALL-CM-244"},
    {0,                  "message",                  "ALL-CM-223"},
    {0,                  "mad.attr_id",              "ALL-CM-223"},
    {0,                  "mad.tid",                  "ALL-CM-224"},
    {1u << ROCE_CM_REJ,  "",                         "ALL-CM-235"},
    {0,                  "starting_psn",             "ALL-CM-240"},
    {0,                  "responder_resources",      "ALL-CM-238"},
    {0,                  "initiator_depth",          "ALL-CM-238"},
    {0,                  "primary_ack_timeout",      "ALL-CM-239"},
    {0,                  "retry_count",              "ALL-CM-239"},
    {0,                  "rnr_retry_count",          "ALL-CM-239"},
    {0,                  "service_id",               "ALL-CM-241"},
    {1u << ROCE_CM_REQ,  "private_data",             "ALL-CM-242"},
    {0,                  "",                         "ALL-CM-225"},
    /* clang-format on */
};

const char *diff_rule_exchange(const struct cm_exchanges *xs, const struct diff *d)
{
    struct roce_cm_msg msg;

    if (!cm_exchange_message(xs->trace, d->pkt, &msg))
        return NULL;
    for (size_t i = 0; i < sizeof(exchange_rows) / sizeof(exchange_rows[0]); i++)
        if ((exchange_rows[i].kinds == 0 || exchange_rows[i].kinds & 1u << msg.kind) &&
            begins_with(d->field, exchange_rows[i].field))
            return exchange_rows[i].rule;
    return NULL;
}
