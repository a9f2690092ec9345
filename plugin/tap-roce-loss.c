/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of retransmissions, NAKs and rule findings. */
#include <stdio.h>
#include <string.h>

#include "expert.h"
#include "tap-roce.h"
#include "wire/codes.h"

/* ---- table of retransmissions by cause ---------------------------------------------------------
 */

/* Key of the row for READ responses that repeat data. The keys of the other rows are the causes of
 * enum roce_cause. */
#define CAUSE_ASKED_AGAIN ROCE_CAUSE_CNT

struct retx_row {
    enum roce_cause cause; /* CAUSE_ASKED_AGAIN: READ responses that repeat data, because the
                            * requester repeated the READ */
    uint64_t packets, bytes, acked_before;
    uint32_t first, last;
    struct roce_hist rto;
};

static void retx_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                        packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    bool data = tap->pkt->op->kind == ROCE_KIND_READ_RESP;
    enum roce_cause cause = data ? CAUSE_ASKED_AGAIN : r->cause;
    struct retx_row *retx;

    if (!(r->flags & (data ? ROCE_AN_DUPLICATE_RESPONSE : ROCE_AN_RETRANSMISSION)))
        return;
    retx = (struct retx_row *)roce_stat_row(stat, &cause, sizeof(cause));
    retx->cause = cause;
    if (retx->packets++ == 0)
        retx->first = pinfo->num;
    retx->last = pinfo->num;
    retx->bytes += tap->pkt->payload_len;
    retx->acked_before += (r->flags & ROCE_AN_DUPLICATE_REQUEST) != 0;
    if (r->rto != ROCE_NEVER_NS)
        roce_hist_add(&retx->rto, r->rto);
}

static void retx_print(const void *row, struct roce_stat_table *stat)
{
    const struct retx_row *retx = (const struct retx_row *)row;

    roce_stat_text(stat, retx->cause == CAUSE_ASKED_AGAIN ? "READ data again"
                                                          : roce_cause_name(retx->cause));
    roce_stat_num(stat, retx->packets);
    roce_stat_num(stat, retx->bytes);
    roce_stat_num(stat, retx->acked_before);
    roce_stat_num(stat, retx->first);
    roce_stat_num(stat, retx->last);
    roce_stat_hist(stat, &retx->rto);
}

static const struct roce_stat_column retx_columns[] = {
    {"Cause", 14, false},        {"Packets", 10, true},     {"Payload bytes", 14, true},
    {"Already ACKed", 13, true}, {"First frame", 11, true}, {"Last frame", 10, true},
    ROCE_STAT_HIST_COLUMNS,
};

static struct roce_stat_table retx_table = {
    .title = "RoCE Retransmissions",
    .name = "roce,retx",
    .column = retx_columns,
    .column_cnt = array_length(retx_columns),
    .row_size = sizeof(struct retx_row),
    .packet = retx_packet,
    .print = retx_print,
};

/* ---- table of NAKs -----------------------------------------------------------------------------
 */

struct nak_row {
    uint8_t syndrome;
    bool implied;
    uint64_t count;
    uint32_t first, last;
};

static void count_nak(struct roce_stat_table *stat, const struct roce_tap *tap, uint32_t frame,
                      bool implied)
{
    unsigned key = implied ? 256 : tap->pkt->aeth.syndrome;
    struct nak_row *nak = (struct nak_row *)roce_stat_row(stat, &key, sizeof(key));

    nak->syndrome = tap->pkt->aeth.syndrome;
    nak->implied = implied;
    if (nak->count++ == 0)
        nak->first = frame;
    nak->last = frame;
}

static void nak_packet(struct roce_stat_table *stat, const struct roce_tap *tap, packet_info *pinfo)
{
    uint32_t flags = tap->frame->result.flags;
    enum roce_syndrome_kind kind = roce_pkt_has(tap->pkt, ROCE_HDR_AETH)
                                       ? roce_syndrome_kind(tap->pkt->aeth.syndrome)
                                       : ROCE_SYN_ACK;

    /* Count NAKs even if their request was not captured. */
    if ((kind == ROCE_SYN_NAK || kind == ROCE_SYN_RNR) &&
        !(flags & (ROCE_AN_DROPPED | ROCE_AN_COPY)))
        count_nak(stat, tap, pinfo->num, false);
    if (flags & ROCE_AN_IMPLIED_NAK)
        count_nak(stat, tap, pinfo->num, true);
}

static void nak_print(const void *row, struct roce_stat_table *stat)
{
    const struct nak_row *nak = (const struct nak_row *)row;
    char text[80];

    roce_stat_text(stat, nak->implied ? "implied NAK: an earlier READ or atomic has no response"
                                      : roce_syndrome_text(nak->syndrome, text, sizeof(text)));
    roce_stat_num(stat, nak->count);
    roce_stat_num(stat, nak->first);
    roce_stat_num(stat, nak->last);
}

static const struct roce_stat_column nak_columns[] = {
    {"NAK", 40, false},
    {"Count", 10, true},
    {"First frame", 11, true},
    {"Last frame", 10, true},
};

static struct roce_stat_table nak_table = {
    .title = "RoCE NAKs",
    .name = "roce,nak",
    .column = nak_columns,
    .column_cnt = array_length(nak_columns),
    .row_size = sizeof(struct nak_row),
    .packet = nak_packet,
    .print = nak_print,
};

/* ---- table of rules ----------------------------------------------------------------------------
 */

struct rule_row {
    struct roce_finding finding; /* first finding of this rule */
    uint64_t count;
    uint32_t first, last;
};

static void count_finding(struct roce_stat_table *stat, const struct roce_finding *f)
{
    unsigned key[] = {(unsigned)f->rule, (unsigned)f->severity, f->known != NULL};
    struct rule_row *rule = (struct rule_row *)roce_stat_row(stat, key, sizeof(key));

    if (rule->count++ == 0) {
        rule->finding = *f;
        rule->first = rule->last = f->frame;
    }
    rule->first = MIN(rule->first, f->frame);
    rule->last = MAX(rule->last, f->frame);
}

static void rule_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                        packet_info *pinfo _U_)
{
    for (const struct roce_frame_finding *at = tap->frame->findings; at; at = at->next)
        count_finding(stat, &at->finding);
    for (const struct roce_frame_finding *at = tap->late; at; at = at->next_late)
        count_finding(stat, &at->finding);
}

static void rule_print(const void *row, struct roce_stat_table *stat)
{
    const struct rule_row *rule = (const struct rule_row *)row;
    const struct roce_rule_info *info = roce_rule_info(rule->finding.rule);
    const char *known = rule->finding.known;
    const bool norm = roce_rule_is_norm(info);
    char text[ROCE_STAT_CELL_LEN];

    roce_stat_text(stat, info->id);
    roce_stat_text(stat, roce_severity_name(known ? ROCE_SEV_NOTE : rule->finding.severity));
    roce_stat_num(stat, rule->count);
    roce_stat_num(stat, rule->first);
    snprintf(text, sizeof(text), "%s%s", norm ? "broken: " : "", info->text);
    roce_stat_text(stat, text);
    if (known)
        snprintf(text, sizeof(text), "%s: %s", known,
                 roce_deviations[roce_deviation_find(known)].text);
    else
        snprintf(text, sizeof(text), "%s", norm ? "no" : "-");
    roce_stat_text(stat, text);
    roce_stat_num(stat, rule->last);
}

/* In Wireshark's window, each column is as wide as its text, but the last column is as wide as the
 * rest of the window. So the last column is one with numbers. */
static const struct roce_stat_column rule_columns[] = {
    {"Rule", 12, false},       {"Severity", 8, false},   {"Count", 8, true},
    {"First frame", 11, true}, {"Rule text", 60, false}, {"Known deviation", 15, false},
    {"Last frame", 10, true},
};

static struct roce_stat_table rule_table = {
    .title = "RoCE Rules",
    .name = "roce,rules",
    .column = rule_columns,
    .column_cnt = array_length(rule_columns),
    .row_size = sizeof(struct rule_row),
    .packet = rule_packet,
    .print = rule_print,
};

void roce_tap_loss_register(void)
{
    roce_stat_register(&retx_table);
    roce_stat_register(&nak_table);
    roce_stat_register(&rule_table);
}
