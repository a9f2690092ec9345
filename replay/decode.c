/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "decode.h"

#include <inttypes.h>
#include <jansson.h>
#include "base/error.h"
#include "capture/narrow.h"
#include "capture/packet_text.h"
#include "pcapng/pcapng.h"
#include "util/cli_opts.h"
#include "util/strbuf.h"
#include "wire/cm_msg.h"
#include "wire/dc.h"
#include "wire/tunnel.h"

/* A header of a frame, or the MAD in its payload, with the table that describes its fields. */
struct part {
    const struct roce_hdr_info *info;
    const uint8_t *p;
};

#define PARTS_MAX (ROCE_HDR_CNT + ROCE_VLAN_MAX + 3)

static const char *const icrc_names[] = {
    [ROCE_ICRC_GOOD] = "good", [ROCE_ICRC_BAD] = "bad", [ROCE_ICRC_UNVERIFIED] = "unverified"};

static void add_part(struct part *parts, unsigned *cnt, const struct roce_pkt *pkt,
                     const struct roce_hdr_info *info, size_t off)
{
    if (*cnt < PARTS_MAX && off + info->len <= pkt->cap_len)
        parts[(*cnt)++] = (struct part){.info = info, .p = pkt->frame + off};
}

/* Stores the headers in their order in the frame. If the payload is a CM message, then stores its
 * MAD header and the message. Returns the number of parts. */
static unsigned parts_of(const struct roce_pkt *pkt, struct part *parts)
{
    struct roce_cm_msg cm;
    /* roce_pkt_parse() parses a DC packet as an RD packet, so the headers that it finds after the
     * BTH are wrong. */
    bool dc = roce_dc_is(pkt);
    unsigned cnt = 0;

    for (unsigned h = 0; h < ROCE_HDR_CNT; h++) {
        if (!roce_pkt_has(pkt, (enum roce_hdr)h) || (dc && h > ROCE_HDR_BTH))
            continue;
        for (unsigned i = 0; i < (h == ROCE_HDR_VLAN ? pkt->vlan_cnt : 1u); i++)
            add_part(parts, &cnt, pkt, roce_hdr_info((enum roce_hdr)h),
                     pkt->off[h] + (size_t)i * ROCE_VLAN_LEN);
    }
    /* Insertion sort: there are few parts, and they are nearly in order. */
    for (unsigned i = 1; i < cnt; i++)
        for (unsigned k = i; k > 0 && parts[k].p < parts[k - 1].p; k--) {
            struct part swap = parts[k];

            parts[k] = parts[k - 1];
            parts[k - 1] = swap;
        }
    if (roce_cm_msg_of_pkt(&cm, pkt) == 0) {
        add_part(parts, &cnt, pkt, roce_mad_info(), pkt->payload_off);
        add_part(parts, &cnt, pkt, roce_cm_info(cm.kind), pkt->payload_off + (size_t)ROCE_MAD_LEN);
    }
    return cnt;
}

static uint32_t payload_len(const struct roce_pkt *pkt)
{
    return roce_dc_is(pkt) ? roce_dc_payload_len(pkt) : pkt->payload_len;
}

static void print_fields(FILE *out, const struct roce_pkt *pkt)
{
    struct part parts[PARTS_MAX];
    unsigned cnt = parts_of(pkt, parts);
    char buf[1024];

    for (unsigned i = 0; i < cnt; i++) {
        fprintf(out, "        %s (%s)\n", parts[i].info->title, parts[i].info->name);
        for (unsigned k = 0; k < parts[i].info->field_cnt; k++) {
            const struct roce_field *f = &parts[i].info->fields[k];
            char name[64];

            snprintf(name, sizeof(name), "%s.%s", parts[i].info->id, f->name);
            fprintf(out, "            %-28s %-24s %s\n", f->label, name,
                    roce_field_text(f, parts[i].p, buf, sizeof(buf)));
        }
    }
    if (payload_len(pkt))
        fprintf(out, "        Payload: %u bytes\n", payload_len(pkt));
    fprintf(out, "        ICRC: 0x%08x (%s)\n", pkt->icrc,
            icrc_names[roce_pkt_icrc_check(pkt, NULL)]);
}

static void add_line(struct strbuf *t, const struct captured_frame *frame,
                     const struct roce_pkt *pkt, int rc, uint64_t start)
{
    uint8_t src[16], dst[16];

    strbuf_addf(t, "%6u %11.6f ", frame->number,
                frame->time < start ? 0 : (double)(frame->time - start) / 1e9);
    if (rc != 0) {
        strbuf_addf(t, "not readable: %s", roce_error_text(rc));
    } else if (pkt->encap == ROCE_ENCAP_IB_LOCAL) {
        strbuf_addf(t, "LID %u → LID %u ", pkt->lrh.slid, pkt->lrh.dlid);
    } else {
        roce_pkt_addr(pkt, src, dst);
        strbuf_add_addr(t, src);
        strbuf_addf(t, " → ");
        strbuf_add_addr(t, dst);
        strbuf_addf(t, " ");
    }
    if (rc == 0) {
        packet_text_full(t, pkt);
        if (roce_pkt_icrc_check(pkt, NULL) == ROCE_ICRC_UNVERIFIED)
            strbuf_addf(t, "; ICRC not checked");
    }
    packet_text_defects(t, pkt);
}

/* ---- writing JSON ------------------------------------------------------------------------------
 */

static json_t *field_json(const struct roce_field *f, const uint8_t *hdr)
{
    char buf[1024];

    if (f->width <= 32 && f->fmt != ROCE_FMT_IP4)
        return json_integer((json_int_t)roce_field_get(f, hdr));
    if (f->width <= 64 && f->fmt == ROCE_FMT_HEX) {
        snprintf(buf, sizeof(buf), "0x%016" PRIx64, roce_field_get(f, hdr));
        return json_string(buf);
    }
    return json_string(roce_field_text(f, hdr, buf, sizeof(buf)));
}

static json_t *headers_json(const struct roce_pkt *pkt)
{
    struct part parts[PARTS_MAX];
    unsigned cnt = parts_of(pkt, parts);
    json_t *headers = json_array();

    for (unsigned i = 0; i < cnt; i++) {
        json_t *fields = json_object();

        for (unsigned k = 0; k < parts[i].info->field_cnt; k++)
            json_object_set_new(fields, parts[i].info->fields[k].name,
                                field_json(&parts[i].info->fields[k], parts[i].p));
        json_array_append_new(
            headers, json_pack("{s:s, s:o}", "header", parts[i].info->id, "fields", fields));
    }
    return headers;
}

static json_t *opcode_json(const struct roce_pkt *pkt)
{
    return roce_dc_is(pkt) ? json_sprintf("DC %s", packet_text_opcode(pkt->bth.opcode))
                           : json_string(pkt->op->name);
}

static json_t *frame_json(const struct captured_frame *frame, const struct roce_pkt *pkt, int rc,
                          const char *line)
{
    json_t *defects = json_array();
    json_t *o = json_pack("{s:I, s:I, s:s, s:o}", "frame", (json_int_t)frame->number, "time_ns",
                          (json_int_t)frame->time, "text", line, "defects", defects);
    uint32_t process = frame->block_options_off
                           ? pcapng_process(frame->block_big, frame->block, frame->block_len,
                                            frame->block_options_off)
                           : 0;

    if (process)
        json_object_set_new(o, "process", json_integer(process));
    for (unsigned i = 0; i < ROCE_DEFECT_CNT; i++)
        if (roce_pkt_defect(pkt, (enum roce_defect)i))
            json_array_append_new(defects, json_string(roce_defect_info((enum roce_defect)i)->id));
    if (rc != 0) {
        json_object_set_new(o, "error", json_string(roce_error_text(rc)));
        return o;
    }
    json_object_set_new(o, "opcode", opcode_json(pkt));
    json_object_set_new(o, "headers", headers_json(pkt));
    json_object_set_new(o, "payload_len", json_integer(payload_len(pkt)));
    json_object_set_new(o, "icrc", json_string(icrc_names[roce_pkt_icrc_check(pkt, NULL)]));
    return o;
}

/* ---- decoding a file ---------------------------------------------------------------------------
 */

static const char *skip_columns(const char *line)
{
    /* Skip the first two columns, frame number and time: they are separate JSON members. */
    for (unsigned i = 0; i < 2; i++) {
        while (*line == ' ')
            line++;
        while (*line && *line != ' ')
            line++;
    }
    while (*line == ' ')
        line++;
    return line;
}

int decode_file(const char *path, const struct decode_options *options, struct error *error)
{
    struct capture_reader *reader = reader_open(path, error);
    struct captured_frame frame;
    uint64_t start = 0;
    uint32_t frames = 0;
    bool any = false;
    int got;

    if (!reader)
        return -1;
    reader_narrow(reader, options->narrow);
    while ((got = reader_next(reader, &frame, error)) == 1) {
        char line[1024];
        struct strbuf t = strbuf_of(line, sizeof(line));
        struct roce_pkt pkt;
        int rc = roce_tunnel_parse(&pkt, frame.link, frame.data, frame.cap_len, frame.wire_len);

        if (frame.number == 1)
            start = frame.time;
        frames = frame.number;
        if (rc == ROCE_ERR_NOT_ROCE || !reader_takes(reader, &frame))
            continue;
        any = true;
        add_line(&t, &frame, &pkt, rc, start);
        if (options->text) {
            fprintf(options->text, "%s\n", line);
            if (options->verbose && rc == 0)
                print_fields(options->text, &pkt);
        }
        if (options->json) {
            json_t *o = frame_json(&frame, &pkt, rc, skip_columns(line));

            if (!o || json_dumpf(o, options->json, JSON_COMPACT) != 0)
                got = error_set(error, "%s: frame %u: cannot write the JSON", reader_name(reader),
                                frame.number);
            json_decref(o);
            fputc('\n', options->json);
            if (got < 0)
                break;
        }
    }
    if (got == 0 && !any)
        (void)cli_error("decode: %s: note: no RoCE packet in %u frame%s%s", reader_name(reader),
                        frames, frames == 1 ? "" : "s",
                        options->narrow && options->narrow->any
                            ? " that the options select"
                            : " (rocedrill check names a likely reason)");
    reader_close(reader);
    return got;
}
