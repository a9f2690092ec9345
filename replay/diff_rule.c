/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "diff_rule.h"

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
