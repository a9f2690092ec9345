/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports over what went wrong: packets sent again, requests refused, rules broken. */
#include <stdio.h>
#include <string.h>

#include "expert.h"
#include "tap-roce.h"
#include "wire/codes.h"

/* ---- retransmissions by cause ------------------------------------------------------------------
 */

struct again {
    enum roce_cause cause;
    uint64_t packets, bytes, acked_before;
    uint32_t first, last;
    struct roce_hist rto;
};

static void again_packet(struct roce_report *report, const struct roce_tap *tap, packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    struct again *again;

    if (!(r->flags & ROCE_AN_RETRANSMISSION))
        return;
    again = (struct again *)roce_report_row(report, &r->cause, sizeof(r->cause));
    again->cause = r->cause;
    if (again->packets++ == 0)
        again->first = pinfo->num;
    again->last = pinfo->num;
    again->bytes += tap->pkt->payload_len;
    again->acked_before += (r->flags & ROCE_AN_DUPLICATE_REQUEST) != 0;
    if (r->rto != ROCE_NEVER_NS)
        roce_hist_add(&again->rto, r->rto);
}

static void again_print(const void *row, struct roce_report *report)
{
    const struct again *again = (const struct again *)row;

    roce_report_text(report, roce_cause_name(again->cause));
    roce_report_num(report, again->packets);
    roce_report_num(report, again->bytes);
    roce_report_num(report, again->acked_before);
    roce_report_num(report, again->first);
    roce_report_num(report, again->last);
    roce_report_hist(report, &again->rto);
}

static const struct roce_report_column again_columns[] = {
    {"Cause", 14, false},        {"Packets", 10, true},
    {"Payload bytes", 14, true}, {"Were acknowledged", 17, true},
    {"First frame", 11, true},   {"Last frame", 10, true},
    ROCE_REPORT_HIST_COLUMNS,
};

static struct roce_report again_report = {
    .title = "RoCE Retransmissions",
    .name = "roce,retx",
    .column = again_columns,
    .column_cnt = array_length(again_columns),
    .row_size = sizeof(struct again),
    .packet = again_packet,
    .print = again_print,
};

/* ---- NAKs --------------------------------------------------------------------------------------
 */

struct nak {
    uint8_t syndrome;
    bool implied;
    uint64_t count;
    uint32_t first, last;
};

static void count_nak(struct roce_report *report, const struct roce_tap *tap, uint32_t frame,
                      bool implied)
{
    unsigned key = implied ? 256 : tap->pkt->aeth.syndrome;
    struct nak *nak = (struct nak *)roce_report_row(report, &key, sizeof(key));

    nak->syndrome = tap->pkt->aeth.syndrome;
    nak->implied = implied;
    if (nak->count++ == 0)
        nak->first = frame;
    nak->last = frame;
}

static void nak_packet(struct roce_report *report, const struct roce_tap *tap, packet_info *pinfo)
{
    uint32_t flags = tap->frame->result.flags;
    enum roce_syndrome_kind kind = roce_pkt_has(tap->pkt, ROCE_HDR_AETH)
                                       ? roce_syndrome_kind(tap->pkt->aeth.syndrome)
                                       : ROCE_SYN_ACK;

    /* Also one that answers nothing in the capture. */
    if ((kind == ROCE_SYN_NAK || kind == ROCE_SYN_RNR) &&
        !(flags & (ROCE_AN_DROPPED | ROCE_AN_COPY)))
        count_nak(report, tap, pinfo->num, false);
    if (flags & ROCE_AN_IMPLIED_NAK)
        count_nak(report, tap, pinfo->num, true);
}

static void nak_print(const void *row, struct roce_report *report)
{
    const struct nak *nak = (const struct nak *)row;
    char text[80];

    roce_report_text(report, nak->implied
                                 ? "implied NAK: a READ or atomic before it has no response"
                                 : roce_syndrome_text(nak->syndrome, text, sizeof(text)));
    roce_report_num(report, nak->count);
    roce_report_num(report, nak->first);
    roce_report_num(report, nak->last);
}

static const struct roce_report_column nak_columns[] = {
    {"Answer", 40, false},
    {"Count", 10, true},
    {"First frame", 11, true},
    {"Last frame", 10, true},
};

static struct roce_report nak_report = {
    .title = "RoCE NAKs",
    .name = "roce,nak",
    .column = nak_columns,
    .column_cnt = array_length(nak_columns),
    .row_size = sizeof(struct nak),
    .packet = nak_packet,
    .print = nak_print,
};

/* ---- rules -------------------------------------------------------------------------------------
 */

struct rule {
    struct roce_finding finding; /* the first */
    uint64_t count;
    uint32_t first, last;
};

static void rule_packet(struct roce_report *report, const struct roce_tap *tap, packet_info *pinfo)
{
    for (const struct roce_track_finding *at = tap->frame->findings; at; at = at->next) {
        const struct roce_finding *f = &at->finding;
        unsigned key[] = {(unsigned)f->rule, (unsigned)f->severity, f->known != NULL};
        struct rule *rule = (struct rule *)roce_report_row(report, key, sizeof(key));

        if (rule->count++ == 0) {
            rule->finding = *f;
            rule->first = pinfo->num;
        }
        rule->last = pinfo->num;
    }
}

static void rule_print(const void *row, struct roce_report *report)
{
    const struct rule *rule = (const struct rule *)row;
    const struct roce_rule_info *info = roce_rule_info(rule->finding.rule);
    char text[400];

    roce_report_text(report, info->id);
    roce_report_text(report, roce_severity_name(rule->finding.severity));
    roce_report_num(report, rule->count);
    roce_report_num(report, rule->first);
    roce_report_num(report, rule->last);
    roce_report_text(report, rule->finding.known ? rule->finding.known : "");
    snprintf(text, sizeof(text), "%s%s", roce_rule_is_norm(info) ? "broken: " : "", info->text);
    roce_report_text(report, text);
}

static const struct roce_report_column rule_columns[] = {
    {"Rule", 12, false},       {"Severity", 8, false},   {"Count", 8, true},
    {"First frame", 11, true}, {"Last frame", 10, true}, {"Known as", 8, false},
    {"In words", 20, false},
};

static struct roce_report rule_report = {
    .title = "RoCE Rules",
    .name = "roce,rules",
    .column = rule_columns,
    .column_cnt = array_length(rule_columns),
    .row_size = sizeof(struct rule),
    .packet = rule_packet,
    .print = rule_print,
};

void roce_report_loss_register(void)
{
    roce_report_register(&again_report);
    roce_report_register(&nak_report);
    roce_report_register(&rule_report);
}
