/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/expected_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "drill/words.h"
#include "util/keymap.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/opcode.h"

int expected_lines_distance(uint32_t psn, uint32_t from)
{
    return (int32_t)((psn - from) << 8) >> 8;
}

int expected_lines_record(struct expected_lines *lines, int qp, uint8_t opcode, uint32_t psn,
                          uint32_t frame)
{
    if (!VEC_GROW(lines->recorded, lines->recorded_cnt, lines->recorded_cap))
        return -1;
    lines->recorded[lines->recorded_cnt++] =
        (struct recorded_packet){.qp = qp, .opcode = opcode, .psn = psn, .frame = frame};
    return 0;
}

/* Finds the first recorded packet with this QP, opcode and PSN that find_recorded() has not
 * returned before. Returns its frame number, or 0 if there is none. */
static uint32_t find_recorded(struct expected_lines *lines, int qp, uint8_t opcode, uint32_t psn)
{
    for (size_t i = 0; i < lines->recorded_cnt; i++) {
        struct recorded_packet *r = &lines->recorded[i];

        if (r->used || r->qp != qp || r->opcode != opcode || r->psn != psn)
            continue;
        r->used = true;
        return r->frame;
    }
    return 0;
}

void expected_lines_hex(FILE *out, const uint8_t *bytes, size_t len)
{
    fputs(" data ", out);
    for (size_t i = 0; i < len; i++)
        fprintf(out, "%02x", bytes[i]);
}

void expected_lines_end(FILE *out, uint32_t frame)
{
    if (frame)
        fprintf(out, "  # frame %u", frame);
    fputc('\n', out);
}

static void print_syndrome(const struct roce_pkt *pkt, FILE *out)
{
    unsigned value = pkt->aeth.syndrome & 31u;

    switch (roce_syndrome_kind(pkt->aeth.syndrome)) {
    case ROCE_SYN_ACK: fputs(" ACK", out); break;
    case ROCE_SYN_RNR: fprintf(out, " RNR NAK timer %u", value); break;
    default: fprintf(out, " NAK %s", words_name(words_nak, value)); break;
    }
    fprintf(out, " MSN %u", pkt->aeth.msn);
}

/* Prints the address and R_Key of a request. If the R_Key belongs to a memory region of the drill's
 * own end, prints the name of the region and the offset. Otherwise prints both numbers. */
static void print_peer_place(const struct script *script, uint64_t va, uint32_t rkey, FILE *out)
{
    for (int i = 0; i < script->object_cnt; i++)
        if (script->object[i].kind == SCRIPT_PEER && drill_own_key(i) == rkey) {
            fprintf(out, " va %s+%" PRIu64, script->object[i].name, va - drill_own_address(i));
            return;
        }
    fprintf(out, " va 0x%" PRIx64 " rkey 0x%x", va, rkey);
}

/* Prints where the payload of a request comes from: the offset of its message in region L, the
 * local memory of the device's program. */
static void print_sent_bytes(const struct expected_lines *lines, unsigned qp,
                             const struct roce_pkt *pkt, FILE *out)
{
    for (size_t i = 0; i < lines->posted_cnt; i++) {
        const struct posted_message *m = &lines->posted[i];
        int at = expected_lines_distance(pkt->bth.psn, m->psn);

        if (m->qp != qp || at < 0 || (uint32_t)at >= m->cnt)
            continue;
        fprintf(out, " fill L+%" PRIu64, m->local);
        return;
    }
}

void expected_lines_print_values(const struct roce_pkt *pkt, FILE *out)
{
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        if (pkt->op->kind == ROCE_KIND_FETCH_ADD)
            fprintf(out, " add 0x%" PRIx64, pkt->atomiceth.swap_add);
        else
            fprintf(out, " compare 0x%" PRIx64 " swap 0x%" PRIx64, pkt->atomiceth.compare,
                    pkt->atomiceth.swap_add);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_FETH))
        fprintf(out, " flush type %u level %u", pkt->feth.plt, pkt->feth.sel);
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        fprintf(out, " imm 0x%x", pkt->immdt.imm);
}

static void print_request(const struct expected_lines *lines, unsigned qp,
                          const struct roce_pkt *pkt, FILE *out)
{
    if (roce_pkt_has(pkt, ROCE_HDR_DETH))
        fprintf(out, " Q_Key 0x%x", pkt->deth.qkey);
    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        print_peer_place(lines->script, pkt->reth.va, pkt->reth.rkey, out);
        fprintf(out, " len %u", pkt->reth.dma_len);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        print_peer_place(lines->script, pkt->atomiceth.va, pkt->atomiceth.rkey, out);
    expected_lines_print_values(pkt, out);
    if (roce_pkt_has(pkt, ROCE_HDR_IETH))
        fprintf(out, " invalidate 0x%x", pkt->ieth.rkey);
    if (pkt->payload_len) {
        fprintf(out, " payload %u", (unsigned)pkt->payload_len);
        print_sent_bytes(lines, qp, pkt, out);
    }
    if (pkt->bth.se)
        fputs(" solicited", out);
}

static void print_response(const struct expected_lines *lines, const struct roce_pkt *pkt,
                           FILE *out)
{
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        print_syndrome(pkt, out);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH))
        fprintf(out, " original 0x%" PRIx64, pkt->atomicacketh.orig);
    if (pkt->payload_len == 0)
        return;
    fprintf(out, " payload %u", (unsigned)pkt->payload_len);
    if (pkt->payload_len <= EXPECTED_SHORT_PAYLOAD)
        expected_lines_hex(out, pkt->payload, pkt->payload_len);
    else if (lines->meaning && *lines->meaning->memory)
        fprintf(out, " fill %s", lines->meaning->memory);
}

static bool add_cm(struct expected_lines *lines, const struct roce_pkt *pkt, const char *time,
                   FILE *out)
{
    struct roce_cm_msg msg;

    if (roce_cm_msg_of_pkt(&msg, pkt) != 0)
        return false;
    fprintf(out, "%-9s > CM %s", time, roce_cm_name(msg.kind));
    switch (msg.kind) {
    case ROCE_CM_REQ:
        fprintf(out, " service_id=0x%016" PRIx64 " local_qpn=A starting_psn=%u retry_count=%u",
                msg.req.service_id, msg.req.starting_psn, msg.req.retry_count);
        break;
    case ROCE_CM_REP: fprintf(out, " local_qpn=A starting_psn=%u", msg.rep.starting_psn); break;
    case ROCE_CM_REJ: fprintf(out, " message=%u reason=%u", msg.rej.message, msg.rej.reason); break;
    case ROCE_CM_SIDR_REP: fprintf(out, " status=%u", msg.sidr_rep.status); break;
    default: break;
    }
    expected_lines_end(out, find_recorded(lines, -1, 0, msg.kind));
    return true;
}

/* Returns the number of QPs that the script declares before object `object`. */
static unsigned qp_number(const struct script *script, int object)
{
    unsigned cnt = 0;

    for (int i = 0; i < object; i++)
        cnt += script->object[i].kind == SCRIPT_QP;
    return cnt;
}

static bool add_frame(struct expected_lines *lines, const struct drill_log_row *row,
                      const char *time, FILE *out)
{
    const struct script_object *object = &lines->script->object[row->qp < 0 ? 0 : row->qp];
    struct roce_pkt pkt;
    bool response;
    unsigned qp;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, row->bytes, row->len, row->len) != 0)
        return false;
    if (row->qp == SCRIPT_NO_OBJECT)
        return add_cm(lines, &pkt, time, out);
    response = roce_opcode_is_response(pkt.op);
    qp = qp_number(lines->script, row->qp);
    fprintf(out, "%-9s >%s ", time,
            lines->meaning && lines->meaning->verb && pkt.op->kind == ROCE_KIND_ACK ? "?" : "");
    if (lines->many_qps)
        fprintf(out, "%s: ", object->name);
    fprintf(out, "%s PSN %+d", packet_text_opcode(pkt.bth.opcode),
            expected_lines_distance(pkt.bth.psn,
                                    response ? drill_own_psn(object) : drill_dut_psn(object)));
    if (response)
        print_response(lines, &pkt, out);
    else
        print_request(lines, qp, &pkt, out);
    expected_lines_end(out, find_recorded(lines, (int)qp, pkt.bth.opcode, pkt.bth.psn));
    return true;
}

static void add_event(struct expected_lines *lines, const char *text, const char *time, FILE *out)
{
    const char *id = strstr(text, " id ");
    bool success = strstr(text, " success") != NULL;
    bool receive = strncmp(text, "comp recv", 9) == 0;
    unsigned long number = id ? strtoul(id + 4, NULL, 10) : 0;

    fprintf(out, "%-11s %s", time, text);
    if (receive && success && lines->meaning && *lines->meaning->content)
        fprintf(out, " %s", lines->meaning->content);
    fputc('\n', out);
    if (!receive && success && number > 0 && number <= lines->posted_cnt &&
        *lines->posted[number - 1].check)
        fprintf(out, "%-11s %s\n", "+0", lines->posted[number - 1].check);
}

bool expected_lines_add(struct expected_lines *lines, const struct drill_log_row *row,
                        const char *time, FILE *out)
{
    if (row->frame)
        return row->from_dut && add_frame(lines, row, time, out);
    if (!row->text || row->line != 0)
        return false;
    add_event(lines, row->text, time, out);
    return true;
}
