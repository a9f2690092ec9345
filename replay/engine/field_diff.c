/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/field_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "wire/codes.h"

void field_diff_add(struct field_diffs *d, const char *field, const char *recorded,
                    const char *replayed)
{
    if (d->cnt == FIELD_DIFFS_MAX)
        return;
    d->at[d->cnt].field = field;
    snprintf(d->at[d->cnt].recorded, sizeof(d->at[0].recorded), "%s", recorded);
    snprintf(d->at[d->cnt].replayed, sizeof(d->at[0].replayed), "%s", replayed);
    d->cnt++;
}

const struct field_diff *field_diff_find(const struct field_diffs *d, const char *field)
{
    for (unsigned i = 0; i < d->cnt; i++)
        if (strcmp(d->at[i].field, field) == 0)
            return &d->at[i];
    return NULL;
}

void field_diff_add_num(struct field_diffs *d, const char *field, const char *fmt,
                        uint64_t recorded, uint64_t replayed)
{
    char e[32], a[32];

    if (recorded == replayed)
        return;
    snprintf(e, sizeof(e), fmt[1] == 'x' ? "0x%" PRIx64 : "%" PRIu64, recorded);
    snprintf(a, sizeof(a), fmt[1] == 'x' ? "0x%" PRIx64 : "%" PRIu64, replayed);
    field_diff_add(d, field, e, a);
}

void field_diff_add_opcode(struct field_diffs *d, uint8_t recorded, uint8_t replayed)
{
    char e[96], a[96];

    if (recorded == replayed)
        return;
    snprintf(e, sizeof(e), "0x%02x (%s)", recorded, roce_opcode(recorded)->name);
    snprintf(a, sizeof(a), "0x%02x (%s)", replayed, roce_opcode(replayed)->name);
    field_diff_add(d, "bth.opcode", e, a);
}

void field_diff_add_form(struct field_diffs *d, const struct trace_packet *p)
{
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    field_diff_add(d, FIELD_DIFF_FORM, trace_form_defect(&pkt), "a valid form");
}

static void syndrome_text(uint8_t syndrome, char *out, size_t cap)
{
    char buf[64];

    snprintf(out, cap, "0x%02x (%s)", syndrome, roce_syndrome_text(syndrome, buf, sizeof(buf)));
}

/* Returns whether two AETH syndromes are equal. The credits of an ACK may differ, because the
 * specification does not prescribe their number. */
static bool same_syndrome(uint8_t a, uint8_t b)
{
    return a == b ||
           (roce_syndrome_kind(a) == ROCE_SYN_ACK && roce_syndrome_kind(b) == ROCE_SYN_ACK);
}

/* ---- Comparing field by field ---------------------------------------------------------------- */

static void compare_payload(struct field_diffs *d, const struct trace_packet *p,
                            const struct tx_response *ours)
{
    const uint8_t *bytes = trace_payload(p);
    uint32_t off = 0;
    char e[96], a[96];

    if (p->payload_len != ours->payload_len) {
        field_diff_add_num(d, "payload length", "%u", p->payload_len, ours->payload_len);
        d->payload = true;
        return;
    }
    if (p->zero_filled)
        return; /* the capture lacks the payload bytes */
    if (p->payload_len == 0 || payload_hash(bytes, p->payload_len) == ours->hash)
        return;
    d->payload = true;
    if (!ours->payload) {
        field_diff_add(d, "payload", "as captured", "different bytes (too many to keep)");
        return;
    }
    while (off < p->payload_len && bytes[off] == ours->payload[off])
        off++;
    d->payload_off = off;
    snprintf(e, sizeof(e), "0x%02x at byte %u", bytes[off], off);
    snprintf(a, sizeof(a), "0x%02x at byte %u", ours->payload[off], off);
    field_diff_add(d, "payload", e, a);
}

/* Returns whether the MSN of a recorded READ response First is allowed by R103 and agrees with the
 * other recorded responses. `replayed` is the MSN of our RNIC, which counts the READ before it
 * responds. */
static bool read_first_msn_fits(int8_t style, uint32_t recorded, uint32_t replayed)
{
    int32_t off = roce_psn_diff(roce_psn_of(recorded), roce_psn_of(replayed));

    return style == 1 ? off == 0 || off == -1 : off == style;
}

/* Compares the prescribed fields of a recorded response with those of a response of our RNIC. */
void field_diff_compare(const struct trace_packet *p, const struct tx_response *ours, int8_t style,
                        struct field_diffs *d)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);
    const struct roce_opcode *our = roce_opcode(ours->opcode);
    bool aeth = roce_opcode_has(op, ROCE_HDR_AETH) && roce_opcode_has(our, ROCE_HDR_AETH);
    struct roce_pkt pkt;
    char e[96], a[96];

    trace_parse(p, &pkt);
    memset(d, 0, sizeof(*d));
    field_diff_add_opcode(d, p->opcode, ours->opcode);
    field_diff_add_num(d, "bth.psn", "%u", p->psn, ours->psn);
    if (aeth && !same_syndrome(p->syndrome, ours->syndrome)) {
        syndrome_text(p->syndrome, e, sizeof(e));
        syndrome_text(ours->syndrome, a, sizeof(a));
        field_diff_add(d, "aeth.syndrome", e, a);
    }
    if (aeth && (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST
                     ? !read_first_msn_fits(style, p->msn, ours->msn)
                     : p->msn != ours->msn))
        field_diff_add_num(d, "aeth.msn", "%u", p->msn, ours->msn);
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH) && our->kind == ROCE_KIND_ATOMIC_ACK)
        field_diff_add_num(d, "atomicacketh.orig", "%x", pkt.atomicacketh.orig, ours->orig);
    compare_payload(d, p, ours);
    field_diff_add_num(d, "bth.dest_qp", "%x", pkt.bth.dest_qp, ours->dest_qp);
    field_diff_add_num(d, "bth.pkey", "%x", pkt.bth.pkey, ours->pkey);
    field_diff_add_num(d, "bth.se", "%u", pkt.bth.se, ours->se);
    field_diff_add_num(d, "bth.ackreq", "%u", pkt.bth.ackreq, ours->ackreq);
}
