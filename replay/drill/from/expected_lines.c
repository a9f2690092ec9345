/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/expected_lines.h"

#include <inttypes.h>
#include <string.h>
#include "capture/packet_text.h"
#include "drill/words.h"
#include "wire/codes.h"
#include "wire/opcode.h"

#define SHORT_PAYLOAD 32u /* longest payload that a line has as bytes */

const char *drill_region_name(unsigned index)
{
    static _Thread_local char name[8];

    snprintf(name, sizeof(name), "M%u", index);
    return name;
}

const char *drill_qp_name(unsigned index)
{
    static const char *const names[DRILL_FROM_QPS_MAX] = {"A", "B", "C", "D", "E", "F", "G", "H"};

    return names[index];
}

int drill_psn_distance(uint32_t psn, uint32_t from)
{
    return (int32_t)((psn - from) << 8) >> 8;
}

static void print_syndrome(const struct roce_pkt *pkt, FILE *out)
{
    unsigned value = pkt->aeth.syndrome & 31u;

    switch (pkt->aeth.syndrome >> 5) {
    case 0: fputs(" ACK", out); break;
    case 1: fprintf(out, " RNR NAK timer %u", value); break;
    default: fprintf(out, " NAK %s", words_name(words_nak, value)); break;
    }
    fprintf(out, " MSN %u", pkt->aeth.msn);
}

/* Returns the index of a QP of the script among its QPs. */
static unsigned qp_index(const struct script *script, int object)
{
    unsigned cnt = 0;

    for (int i = 0; i < object; i++)
        cnt += script->object[i].kind == SCRIPT_QP;
    return cnt;
}

static void add_frame(const struct expected_lines *lines, const struct drill_log_row *row,
                      FILE *out)
{
    struct roce_pkt pkt;
    unsigned qp;

    if (row->qp == SCRIPT_NO_OBJECT ||
        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, row->bytes, row->len, row->len) != 0)
        return;
    qp = qp_index(lines->script, row->qp);
    fprintf(out, "+0~+50ms >%s ", lines->after_verb && pkt.op->kind == ROCE_KIND_ACK ? "?" : "");
    if (lines->qp_cnt > 1)
        fprintf(out, "%s: ", drill_qp_name(qp));
    fprintf(out, "%s PSN %+d", packet_text_opcode(pkt.bth.opcode),
            drill_psn_distance(pkt.bth.psn, lines->psn[qp]));
    if (roce_pkt_has(&pkt, ROCE_HDR_AETH))
        print_syndrome(&pkt, out);
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH))
        fprintf(out, " original 0x%" PRIx64, pkt.atomicacketh.orig);
    if (pkt.payload_len) {
        fprintf(out, " payload %u", (unsigned)pkt.payload_len);
        if (pkt.payload_len <= SHORT_PAYLOAD)
            fputs(" data ", out);
        for (size_t i = 0; pkt.payload_len <= SHORT_PAYLOAD && i < pkt.payload_len; i++)
            fprintf(out, "%02x", pkt.payload[i]);
    }
    fputc('\n', out);
}

void expected_lines_add(const struct expected_lines *lines, const struct drill_log_row *row,
                        FILE *out)
{
    if (row->frame && row->from_dut)
        add_frame(lines, row, out);
    else if (!row->frame && row->text && row->line == 0)
        fprintf(out, "+0~+50ms %s\n", row->text);
}
