/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report_stream.h"

#include <inttypes.h>
#include "capture/packet_text.h"
#include "engine/diff_rule.h"
#include "report/report.h"
#include "report/report_requester.h"
#include "util/json_util.h"
#include "util/strbuf.h"

static const char *stream_service(const struct dgram_stream *s)
{
    if (s->svc == ROCE_SVC_UC)
        return "UC";
    return s->qpn == ROCE_QP_GSI ? "UD to and from QP 1 (management)" : "UD";
}

void report_stream_ends(struct strbuf *t, const struct dgram_stream *s)
{
    if (s->role == DGRAM_RECEIVER && s->svc == ROCE_SVC_UD) {
        strbuf_addf(t, "to ");
        strbuf_add_addr(t, s->addr);
        if (s->multicast)
            strbuf_addf(t, ", a multicast group");
        else
            strbuf_addf(t, " QP 0x%06x", s->qpn);
        return;
    }
    if (s->role == DGRAM_SENDER && s->svc == ROCE_SVC_UD) {
        strbuf_addf(t, "from ");
        strbuf_add_addr(t, s->addr);
        strbuf_addf(t, " QP 0x%06x", s->qpn);
        return;
    }
    strbuf_add_addr(t, s->role == DGRAM_SENDER ? s->addr : s->peer);
    strbuf_addf(t, " → ");
    strbuf_add_addr(t, s->role == DGRAM_SENDER ? s->peer : s->addr);
    strbuf_addf(t, " QP 0x%06x", s->qpn);
}

static void print_found(FILE *out, const struct dgram_stream *s)
{
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    if (s->svc == ROCE_SVC_UC)
        strbuf_addf(&t, "path MTU %u (not proven), P_Key 0x%04x", s->mtu, s->pkey);
    else
        strbuf_addf(&t, "Q_Key 0x%08x, P_Key 0x%04x", s->qkey, s->pkey);
    fprintf(out, "  inferred  %s; %u message%s %s, %" PRIu64 " bytes\n", buf, s->messages,
            s->messages == 1 ? "" : "s", s->role == DGRAM_RECEIVER ? "complete" : "posted",
            s->bytes);
    t = strbuf_of(buf, sizeof(buf));
    report_count(&t, &sep, s->not_captured, "packet* of our RNIC that the capture lacks");
    report_count(&t, &sep, s->resumed, "gap* between messages");
    report_count(&t, &sep, s->wire_duplicates, "packet* duplicated by the network");
    report_count(&t, &sep, s->damaged, "packet* damaged by the network");
    if (t.len)
        fprintf(out, "  ignored   %s\n", buf);
    if (s->not_posted)
        fprintf(out,
                "  limited   %u packets not compared: their messages are incomplete or malformed\n",
                s->not_posted);
}

static void print_diffs(FILE *out, const struct dgram_streams *streams, uint32_t idx)
{
    const struct trace *trace = streams->trace;

    for (int known = 0; known < 2; known++)
        for (size_t i = 0; i < streams->diff_cnt; i++) {
            const struct diff *d = &streams->diff[i];

            if (d->dir == idx && (d->known != NULL) == known)
                report_diff(out, trace, d, diff_rule_stream(streams, d), "");
        }
    if (streams->stream[idx].diff_frames > DIFFS_MAX)
        fprintf(out, "  ... and %u more frames that differ\n",
                streams->stream[idx].diff_frames - DIFFS_MAX);
}

void report_stream_text(FILE *out, const struct dgram_streams *streams, uint32_t idx, bool brief)
{
    const struct dgram_stream *s = &streams->stream[idx];
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    report_stream_ends(&t, s);
    if (brief && s->verdict == VERDICT_PASS) {
        fprintf(out, "stream %u: %s: %s PASS: %u packet%s compared\n", idx + 1, buf,
                dgram_role_name(s->role), s->compared, s->compared == 1 ? "" : "s");
        return;
    }
    fprintf(out, "stream %u: %s\n", idx + 1, buf);
    fprintf(out, "  captured  %s, %s, %zu packet%s, frames %u..%u\n", stream_service(s),
            packet_text_encap(s->encap), s->cnt, s->cnt == 1 ? "" : "s",
            streams->trace->pkt[s->pkt[0]].frame, streams->trace->pkt[s->pkt[s->cnt - 1]].frame);
    if (s->verdict == VERDICT_SKIPPED) {
        fprintf(out, "  %-9s SKIPPED: %s\n", dgram_role_name(s->role), s->skip);
        return;
    }
    print_found(out, s);
    print_diffs(out, streams, idx);
    fprintf(out, "  %-9s %s: %u packet%s compared", dgram_role_name(s->role),
            verdict_name(s->verdict), s->compared, s->compared == 1 ? "" : "s");
    if (s->dropped)
        fprintf(out, ", %u of them dropped as required", s->dropped);
    if (s->diff_frames)
        fprintf(out, ", %u differ%s", s->diff_frames, s->diff_frames == 1 ? "s" : "");
    if (s->known_frames)
        fprintf(out, ", %u known deviation%s", s->known_frames, s->known_frames == 1 ? "" : "s");
    if (s->skip)
        fprintf(out, "; ended early: %s", s->skip);
    fputc('\n', out);
}

json_t *report_stream_json(const struct dgram_streams *streams, uint32_t idx)
{
    const struct dgram_stream *s = &streams->stream[idx];
    json_t *out = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:s}", "as", dgram_role_name(s->role),
        "service", s->svc == ROCE_SVC_UC ? "UC" : "UD", "encapsulation",
        packet_text_encap(s->encap), "address", json_addr(s->addr), "peer", json_addr(s->peer),
        "qpn", (int)s->qpn, "packets", (int)s->cnt, "first_frame",
        (int)streams->trace->pkt[s->pkt[0]].frame, "last_frame",
        (int)streams->trace->pkt[s->pkt[s->cnt - 1]].frame, "verdict", verdict_name(s->verdict));

    if (!out || s->verdict == VERDICT_SKIPPED) {
        if (out)
            json_object_set_new(out, "reason", json_string(s->skip));
        return out;
    }
    json_object_set_new(
        out, "inferred",
        s->svc == ROCE_SVC_UC
            ? json_pack("{s:i, s:i}", "path_mtu", (int)s->mtu, "pkey", (int)s->pkey)
            : json_pack("{s:I, s:i}", "qkey", (json_int_t)s->qkey, "pkey", (int)s->pkey));
    json_object_set_new(
        out, "counts",
        json_pack("{s:i, s:i, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "compared",
                  (int)s->compared, "messages", (int)s->messages, "bytes", (json_int_t)s->bytes,
                  "dropped", (int)s->dropped, "damaged", (int)s->damaged, "not_captured",
                  (int)s->not_captured, "network_duplicates", (int)s->wire_duplicates, "not_posted",
                  (int)s->not_posted, "resumed", (int)s->resumed, "differing_packets",
                  (int)s->diff_frames, "known_deviations", (int)s->known_frames));
    return out;
}
