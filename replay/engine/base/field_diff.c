/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/base/field_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "wire/codes.h"

void field_diffs_copy(struct field_diffs *to, const struct field_diffs *from)
{
    if (from->cnt)
        memcpy(to->at, from->at, from->cnt * sizeof(from->at[0]));
    to->cnt = from->cnt;
    to->payload = from->payload;
    to->payload_off = from->payload_off;
}

/* Appends an entry for field `field` to the list of differences. The caller sets its two values.
 * Returns NULL if *d is full. */
static struct field_diff *append_diff(struct field_diffs *d, const char *field,
                                      enum field_form form)
{
    struct field_diff *at = d->cnt == FIELD_DIFFS_MAX ? NULL : &d->at[d->cnt++];

    if (at) {
        at->field = field;
        at->form = form;
    }
    return at;
}

void field_diff_add(struct field_diffs *d, const char *field, const char *recorded,
                    const char *replayed)
{
    struct field_diff *at = append_diff(d, field, FIELD_TEXT);

    if (!at)
        return;
    snprintf(at->text[0], sizeof(at->text[0]), "%s", recorded);
    snprintf(at->text[1], sizeof(at->text[1]), "%s", replayed);
}

const struct field_diff *field_diff_find(const struct field_diffs *d, const char *field)
{
    for (unsigned i = 0; i < d->cnt; i++)
        if (strcmp(d->at[i].field, field) == 0)
            return &d->at[i];
    return NULL;
}

void field_diff_add_num(struct field_diffs *d, const char *field, enum field_form form,
                        uint64_t recorded, uint64_t replayed)
{
    struct field_diff *at = recorded == replayed ? NULL : append_diff(d, field, form);

    if (!at)
        return;
    at->number[0] = recorded;
    at->number[1] = replayed;
}

void field_diff_add_opcode(struct field_diffs *d, uint8_t recorded, uint8_t replayed)
{
    field_diff_add_num(d, "bth.opcode", FIELD_OPCODE, recorded, replayed);
}

void field_diff_add_form(struct field_diffs *d, const struct trace_packet *p)
{
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    field_diff_add(d, FIELD_DIFF_FORM, trace_form_defect(&pkt), "a valid form");
}

/* Writes one value of a difference as text: the recorded value if `which` is 0, our value if it is
 * 1. */
static void value_text(const struct field_diff *at, unsigned which, char *out, size_t cap)
{
    uint64_t number = at->form == FIELD_TEXT ? 0 : at->number[which];
    char buf[64];

    switch (at->form) {
    case FIELD_TEXT: snprintf(out, cap, "%s", at->text[which]); break;
    case FIELD_NUMBER: snprintf(out, cap, "%" PRIu64, number); break;
    case FIELD_HEX: snprintf(out, cap, "0x%" PRIx64, number); break;
    case FIELD_OPCODE:
        snprintf(out, cap, "0x%02" PRIx64 " (%s)", number, roce_opcode((uint8_t)number)->name);
        break;
    case FIELD_SYNDROME:
        snprintf(out, cap, "0x%02" PRIx64 " (%s)", number,
                 roce_syndrome_text((uint8_t)number, buf, sizeof(buf)));
        break;
    case FIELD_BYTE:
        snprintf(out, cap, "0x%02" PRIx64 " at byte %" PRIu64, number & 0xFF, number >> 8);
        break;
    }
}

void field_diff_report(const struct field_diff *at, const char *reason, struct diff *out)
{
    out->field = at->field;
    value_text(at, 0, out->recorded, sizeof(out->recorded));
    value_text(at, 1, out->replayed, sizeof(out->replayed));
    if (at->form != FIELD_TEXT)
        memcpy(out->number, at->number, sizeof(out->number));
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
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

    if (p->payload_len != ours->payload_len) {
        field_diff_add_num(d, "payload length", FIELD_NUMBER, p->payload_len, ours->payload_len);
        d->payload = true;
        return;
    }
    if (p->zero_filled)
        return; /* the capture lacks the payload bytes */
    if (p->payload_len == 0 || payload_hash(bytes, p->payload_len) == ours->hash)
        return;
    d->payload = true;
    if (!ours->payload) {
        field_diff_add(d, "payload", "as captured", "different bytes (too many to store)");
        return;
    }
    while (off < p->payload_len && bytes[off] == ours->payload[off])
        off++;
    d->payload_off = off;
    field_diff_add_num(d, "payload", FIELD_BYTE, (uint64_t)off << 8 | bytes[off],
                       (uint64_t)off << 8 | ours->payload[off]);
}

/* Returns whether the MSN of a recorded READ response First is valid. R103 allows the responder to
 * count the READ before or after it sends this packet. `replayed` is the MSN of our RNIC, which
 * counts the READ before it sends the packet. `style` (inferred_setup.read_first_msn) is the habit
 * of the recorded responder. 0: it counts the READ before it sends the packet. -1: it counts the
 * READ afterwards. 1: both occur in the capture. */
static bool read_first_msn_fits(int8_t style, uint32_t recorded, uint32_t replayed)
{
    int32_t off = roce_psn_diff(roce_psn_of(recorded), roce_psn_of(replayed));

    return style == 1 ? off == 0 || off == -1 : off == style;
}

void field_diff_compare(const struct trace_packet *p, const struct tx_response *ours, int8_t style,
                        struct field_diffs *d)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);
    const struct roce_opcode *our = roce_opcode(ours->opcode);
    bool aeth = roce_opcode_has(op, ROCE_HDR_AETH) && roce_opcode_has(our, ROCE_HDR_AETH);
    struct roce_pkt pkt;

    field_diffs_clear(d);
    field_diff_add_opcode(d, p->opcode, ours->opcode);
    field_diff_add_num(d, "bth.psn", FIELD_NUMBER, p->psn, ours->psn);
    if (aeth && !same_syndrome(p->syndrome, ours->syndrome))
        field_diff_add_num(d, "aeth.syndrome", FIELD_SYNDROME, p->syndrome, ours->syndrome);
    if (aeth && (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST
                     ? !read_first_msn_fits(style, p->msn, ours->msn)
                     : p->msn != ours->msn))
        field_diff_add_num(d, "aeth.msn", FIELD_NUMBER, p->msn, ours->msn);
    if (roce_opcode_has(op, ROCE_HDR_ATOMICACKETH) && our->kind == ROCE_KIND_ATOMIC_ACK) {
        trace_parse_headers(p, &pkt);
        if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH))
            field_diff_add_num(d, "atomicacketh.orig", FIELD_HEX, pkt.atomicacketh.orig,
                               ours->orig);
    }
    compare_payload(d, p, ours);
    field_diff_add_num(d, "bth.dest_qp", FIELD_HEX, trace_dest_qp(p), ours->dest_qp);
    field_diff_add_num(d, "bth.pkey", FIELD_HEX, p->pkey, ours->pkey);
    field_diff_add_num(d, "bth.se", FIELD_NUMBER, p->se, ours->se);
    field_diff_add_num(d, "bth.ackreq", FIELD_NUMBER, p->ackreq, ours->ackreq);
}
