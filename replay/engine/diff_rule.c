/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/diff_rule.h"

#include <string.h>

/* What a row is about: bits of the kinds of packets that the capture has there. */
enum {
    ACKS = 1 << 0,
    READS = 1 << 1,
    ATOMICS = 1 << 2,
    ANSWERS = ACKS | READS | ATOMICS,
    REQUESTS = 1 << 3,
};

/* The first row that fits. `word` is in what was expected or came; "" is always. */
static const struct {
    unsigned kinds;
    const char *field;
    const char *word;
    const char *rule;
} rows[] = {
    /* clang-format off */
    {ANSWERS,  "aeth.syndrome",     "PSN sequence error",       "R067"},
    {ANSWERS,  "aeth.syndrome",     "remote access error",      "R083"},
    {ANSWERS,  "aeth.syndrome",     "invalid request",          "R089"},
    {ANSWERS,  "aeth.syndrome",     "remote operational error", "R090"},
    {ANSWERS,  "aeth.syndrome",     "ACK, credits not valid",   "R093"}, /* an RNR NAK, or none */
    {ANSWERS,  "aeth.syndrome",     "RNR NAK",                  "R097"}, /* with another timer */
    {ANSWERS,  "aeth.syndrome",     "",                         "R105"},
    {ANSWERS,  "aeth.msn",          "",                         "R102"},
    {READS,    "payload",           "",                         "R092"},
    {READS,    "payload length",    "",                         "R039"},
    {ATOMICS,  "atomicacketh.orig", "",                         "R122"},
    {ACKS,     "bth.psn",           "",                         "R064"},
    {READS,    "bth.psn",           "",                         "R063"},
    {ANSWERS,  "bth.dest_qp",       "",                         "R043"},
    {ANSWERS,  "bth.ackreq",        "",                         "R043"},
    {ACKS,     "answer",            "",                         "R099"},
    {ANSWERS,  "answer",            "",                         "R101"},
    {READS,    "bth.opcode",        "Acknowledge",              "R101"},
    {READS,    "bth.opcode",        "",                         "R039"},
    {ANSWERS,  "bth.opcode",        "",                         "R101"},
    {REQUESTS, "sent again from",   "",                         "R152"},
    {ANSWERS,  "completion",        "RNR_RETRY_EXC_ERR",        "R157"},
    {ANSWERS,  "completion",        "RETRY_EXC_ERR",            "R154"},
    {ANSWERS,  "completion",        "REM_",                     "R146"},
    {ANSWERS,  "completion",        "",                         "R138"},
    {REQUESTS, "bth.psn",           "",                         "R057"},
    {REQUESTS, "bth.opcode",        "",                         "R127"},
    {REQUESTS, "reth.dma_len",      "",                         "R128"},
    {REQUESTS, "payload",           "",                         "R153"},
    {REQUESTS, "request",           "",                         "R152"},
    {REQUESTS, "xrceth.srqn",       "",                         "R179"},
    {ANSWERS | REQUESTS, "bth.pkey", "",                        "R045"},
    {ANSWERS | REQUESTS, "bth.se",  "",                         "R041"},
    /* clang-format on */
};

const char *diff_rule(const struct trace *trace, const struct diff *d)
{
    const struct roce_opcode *op = roce_opcode(trace->pkt[d->pkt].opcode);
    unsigned kind = roce_opcode_is_request(op)         ? REQUESTS
                    : op->kind == ROCE_KIND_READ_RESP  ? READS
                    : op->kind == ROCE_KIND_ATOMIC_ACK ? ATOMICS
                                                       : ACKS;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].kinds & kind && strcmp(rows[i].field, d->field) == 0 &&
            (strstr(d->expected, rows[i].word) || strstr(d->actual, rows[i].word)))
            return rows[i].rule;
    return NULL;
}

/* The same for the services without answers: bits of who our RNIC is. */
enum {
    UC_IN = 1 << 0,
    UC_OUT = 1 << 1,
    UD_IN = 1 << 2,
    UD_OUT = 1 << 3,
};

static const struct {
    unsigned who;
    const char *field;
    const char *expected; /* it begins so */
    const char *rule;
} stream_rows[] = {
    /* clang-format off */
    {UC_IN,           "answer",         "",        "R162"},
    {UD_IN,           "answer",         "",        "R178"},
    {UC_IN,           "completion",     "none",    "R166"},
    {UC_IN,           "completion",     "",        "R164"},
    {UD_IN,           "completion",     "none",    "R174"},
    {UD_IN,           "completion",     "",        "R173"},
    {UC_IN,           "data",           "unchang", "R165"},
    {UC_IN | UD_IN,   "wc.solicited",   "",        "R201"},
    {UD_IN,           "network header", "",        "R172"},
    {UD_IN,           "wc.byte_len",    "",        "R172"},
    {UD_IN,           "wc.",            "",        "R173"},
    {UC_OUT,          "packets",        "",        "R167"},
    {UC_OUT,          "completion",     "",        "R167"},
    {UC_OUT,          "reth.dma_len",   "",        "R128"},
    {UC_OUT,          "bth.opcode",     "",        "R127"},
    {UD_OUT,          "packets",        "",        "R168"},
    {UD_OUT,          "bth.opcode",     "",        "R168"},
    {UD_OUT,          "deth.",          "",        "R169"},
    {UC_OUT | UD_OUT, "bth.pkey",       "",        "R045"},
    {UC_OUT | UD_OUT, "bth.se",         "",        "R041"},
    /* clang-format on */
};

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

const char *diff_rule_stream(const struct dgram_streams *streams, const struct diff *d)
{
    const struct dgram_stream *s = &streams->stream[d->dir];
    unsigned in = s->svc == ROCE_SVC_UC ? UC_IN : UD_IN;
    unsigned who = s->role == DGRAM_RECEIVER ? in : in << 1;

    for (size_t i = 0; i < sizeof(stream_rows) / sizeof(stream_rows[0]); i++)
        if (stream_rows[i].who & who && begins_with(d->field, stream_rows[i].field) &&
            begins_with(d->expected, stream_rows[i].expected))
            return stream_rows[i].rule;
    return NULL;
}

/* Messages of the connection manager. What no row is about is the layout of the message. */
static const struct {
    unsigned kinds; /* bits of enum roce_cm; 0 is all */
    const char *field;
    const char *rule;
} exchange_rows[] = {
    /* clang-format off */
    {1u << ROCE_CM_REJ,  "message",                  "R235"},
    {1u << ROCE_CM_DREP, "message",                  "R233"},
    {1u << ROCE_CM_SIDR_REP, "",                     "R244"},
    {0,                  "message",                  "R223"},
    {0,                  "mad.attr_id",              "R223"},
    {0,                  "mad.tid",                  "R224"},
    {1u << ROCE_CM_REJ,  "",                         "R235"},
    {0,                  "starting_psn",             "R240"},
    {0,                  "responder_resources",      "R238"},
    {0,                  "initiator_depth",          "R238"},
    {0,                  "primary_ack_timeout",      "R239"},
    {0,                  "retry_count",              "R239"},
    {0,                  "rnr_retry_count",          "R239"},
    {0,                  "service_id",               "R241"},
    {1u << ROCE_CM_REQ,  "private_data",             "R242"},
    {0,                  "",                         "R225"},
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
