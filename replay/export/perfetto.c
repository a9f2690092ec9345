/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture/packet_text.h"
#include "export/names.h"

/* Field numbers of perfetto.protos, from protos/perfetto/trace in github.com/google/perfetto. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60
};
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT_UUID = 5,
    TRACK_COUNTER = 8
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3 };
enum { UNIT_TIME_NS = 1, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK_UUID = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOW_IDS = 47,
    EVENT_TERMINATING_FLOW_IDS = 48
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { ANNOTATION_UINT = 3, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };

#define SEQUENCE_ID    1u
#define SEQUENCE_START 1u /* SEQ_INCREMENTAL_STATE_CLEARED of Perfetto */
#define LANES_MAX      1024u

/* Kinds of tracks for the requests of one side. */
enum track_kind {
    TRACK_OF_CONN,
    TRACK_MESSAGES,
    TRACK_REQUESTS,
    TRACK_RESPONSES,
    TRACK_FINDINGS,
    TRACK_IN_FLIGHT,
    TRACK_GOODPUT,
    TRACK_RETRANSMITTED,
    TRACK_RTT,
    TRACK_KINDS
};

static const struct {
    const char *name;
    unsigned unit; /* Perfetto's unit of the counter; 0: the track is not a counter */
} kinds[TRACK_KINDS] = {
    [TRACK_MESSAGES] = {"messages", 0},
    [TRACK_REQUESTS] = {"requests", 0},
    [TRACK_RESPONSES] = {"responses", 0},
    [TRACK_FINDINGS] = {"findings", 0},
    [TRACK_IN_FLIGHT] = {"bytes in flight", UNIT_SIZE_BYTES},
    [TRACK_GOODPUT] = {"goodput, sum of bytes", UNIT_SIZE_BYTES},
    [TRACK_RETRANSMITTED] = {"retransmitted packets, sum", UNIT_COUNT},
    [TRACK_RTT] = {"ACK RTT", UNIT_TIME_NS},
};

/* State of the tracks for the requests of one side. */
struct perfetto_track_state {
    uint32_t used; /* bit set of the kinds of tracks (enum track_kind) with at least one event */
    uint64_t in_flight, goodput, retransmitted;
    uint64_t *lane_end; /* end of the last message in each lane (see choose_lane()), ns */
    uint32_t lane_cnt, lane_cap;
};

static uint64_t uuid_of(const struct perfetto *p, uint32_t conn, unsigned side, unsigned kind,
                        uint32_t lane)
{
    return ((uint64_t)(p->capture & 0x7F) << 57 | (uint64_t)conn << 25 |
            (uint64_t)(side & 1) << 24 | (uint64_t)kind << 16 | lane) +
           1;
}

static uint64_t flow_of(const struct perfetto *p, uint32_t frame)
{
    return (uint64_t)(p->capture + 1) << 32 | frame;
}

/* Returns the track state of a side; creates it if needed. Returns NULL if out of memory. */
static struct perfetto_track_state *find_track(struct perfetto *p, uint32_t conn, unsigned side)
{
    size_t at = (size_t)conn * 2 + (side & 1);

    if (at >= p->track_cnt) {
        size_t cnt = p->track_cnt ? p->track_cnt : 64;
        struct perfetto_track_state **grown;

        while (cnt <= at)
            cnt *= 2;
        grown = realloc(p->track, cnt * sizeof(struct perfetto_track_state *));
        if (!grown) {
            p->failed = true;
            return NULL;
        }
        memset(grown + p->track_cnt, 0,
               (cnt - p->track_cnt) * sizeof(struct perfetto_track_state *));
        p->track = grown;
        p->track_cnt = cnt;
    }
    if (!p->track[at])
        p->track[at] = calloc(1, sizeof(**p->track));
    if (!p->track[at])
        p->failed = true;
    return p->track[at];
}

/* ---- encoding trace packets --------------------------------------------------------------------
 */

/* Starts a TracePacket. Returns its position, which end_packet() needs. */
static size_t begin_packet(struct perfetto *p)
{
    size_t place;

    protobuf_reset(&p->packet);
    place = protobuf_begin(&p->packet, TRACE_PACKET);
    protobuf_put_varint(&p->packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
    return place;
}

static void end_packet(struct perfetto *p, size_t place, FILE *to)
{
    protobuf_end(&p->packet, place);
    if (p->packet.failed || fwrite(p->packet.bytes, p->packet.len, 1, to) != 1)
        p->failed = true;
}

struct event_place {
    size_t packet, event;
};

static struct event_place begin_event(struct perfetto *p, uint64_t time, unsigned type,
                                      uint64_t uuid)
{
    struct event_place place = {.packet = begin_packet(p)};

    protobuf_put_varint(&p->packet, PACKET_TIMESTAMP, time);
    place.event = protobuf_begin(&p->packet, PACKET_TRACK_EVENT);
    protobuf_put_varint(&p->packet, EVENT_TYPE, type);
    protobuf_put_varint(&p->packet, EVENT_TRACK_UUID, uuid);
    return place;
}

static void end_event(struct perfetto *p, struct event_place place)
{
    protobuf_end(&p->packet, place.event);
    end_packet(p, place.packet, p->body);
}

static void put_name(struct perfetto *p, const char *category, const char *name)
{
    protobuf_put_string(&p->packet, EVENT_CATEGORY, category);
    protobuf_put_string(&p->packet, EVENT_NAME, name);
}

static void annotate_number(struct perfetto *p, const char *name, uint64_t v)
{
    size_t place = protobuf_begin(&p->packet, EVENT_ANNOTATION);

    protobuf_put_string(&p->packet, ANNOTATION_NAME, name);
    protobuf_put_varint(&p->packet, ANNOTATION_UINT, v);
    protobuf_end(&p->packet, place);
}

static void annotate_text(struct perfetto *p, const char *name, const char *text)
{
    size_t place = protobuf_begin(&p->packet, EVENT_ANNOTATION);

    protobuf_put_string(&p->packet, ANNOTATION_NAME, name);
    protobuf_put_string(&p->packet, ANNOTATION_STRING, text);
    protobuf_end(&p->packet, place);
}

static void count_event(struct perfetto *p, struct perfetto_track_state *track, uint32_t conn,
                        unsigned side, enum track_kind kind, uint64_t time, uint64_t v)
{
    struct event_place place = begin_event(p, time, TYPE_COUNTER, uuid_of(p, conn, side, kind, 0));

    track->used |= 1u << kind;
    protobuf_put_varint(&p->packet, EVENT_COUNTER_VALUE, v);
    end_event(p, place);
}

/* ---- events of packets -------------------------------------------------------------------------
 */

static void put_flows(struct perfetto *p, const struct roce_flow_in *in, bool request)
{
    if (request)
        protobuf_put_fixed64(&p->packet, EVENT_FLOW_IDS, flow_of(p, in->frame));
    for (uint32_t i = 0; i < p->acked.cnt; i++)
        protobuf_put_fixed64(&p->packet, EVENT_TERMINATING_FLOW_IDS, flow_of(p, p->acked.frame[i]));
}

static void put_packet(struct perfetto *p, const struct roce_flow_in *in,
                       const struct roce_flow_result *r, struct perfetto_track_state *track,
                       unsigned requester, bool request)
{
    enum track_kind kind = request ? TRACK_REQUESTS : TRACK_RESPONSES;
    struct event_place place =
        begin_event(p, in->time, TYPE_INSTANT, uuid_of(p, r->conn_index, requester, kind, 0));

    track->used |= 1u << kind;
    put_name(p, r->flags & ROCE_AN_RETRANSMISSION ? "retransmission" : "packet",
             packet_text_opcode(in->pkt->bth.opcode));
    annotate_number(p, "frame", in->frame);
    annotate_number(p, "psn", in->pkt->bth.psn);
    annotate_number(p, "payload", in->pkt->payload_len);
    if (r->cause != ROCE_CAUSE_NONE)
        annotate_text(p, "cause", export_cause(r->cause));
    put_flows(p, in, request);
    end_event(p, place);
}

static void on_packet(void *user, const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct perfetto *p = user;
    bool request = (r->flags & ROCE_AN_REQUEST) != 0;
    unsigned requester = request ? r->side : !r->side;
    struct perfetto_track_state *track;

    if (r->conn_index != ROCE_NO_CONN && (request || r->flags & ROCE_AN_RESPONSE) &&
        (track = find_track(p, r->conn_index, requester)) != NULL) {
        put_packet(p, in, r, track, requester, request);
        if (r->bytes_in_flight != track->in_flight) {
            track->in_flight = r->bytes_in_flight;
            count_event(p, track, r->conn_index, requester, TRACK_IN_FLIGHT, in->time,
                        track->in_flight);
        }
        if (request && r->flags & ROCE_AN_RETRANSMISSION)
            count_event(p, track, r->conn_index, requester, TRACK_RETRANSMITTED, in->time,
                        ++track->retransmitted);
        if (r->rtt != ROCE_NEVER_NS)
            count_event(p, track, r->conn_index, requester, TRACK_RTT, in->time, r->rtt);
    }
    p->acked.cnt = 0;
}

static void on_link(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct perfetto *p = user;

    (void)other;
    if (kind == ROCE_LINK_ACKED_IN)
        frame_list_add(&p->acked, frame);
}

/* ---- events of messages and findings -----------------------------------------------------------
 */

/* Returns the lane of the track of messages in which a message is drawn that begins at *start.
 * Perfetto cannot draw overlapping messages in one lane. So the message gets a lane in which the
 * last message has ended, or a new one. If all LANES_MAX lanes are occupied, uses the last lane and
 * sets *start to the end of its last message. */
static uint32_t choose_lane(struct perfetto *p, struct perfetto_track_state *track, uint64_t *start)
{
    for (uint32_t i = 0; i < track->lane_cnt; i++)
        if (track->lane_end[i] <= *start)
            return i;
    if (track->lane_cnt == track->lane_cap && track->lane_cap < LANES_MAX) {
        uint32_t cap = track->lane_cap ? track->lane_cap * 2 : 4;
        uint64_t *grown = realloc(track->lane_end, cap * sizeof(*grown));

        if (grown) {
            track->lane_end = grown;
            track->lane_cap = cap;
        } else {
            p->failed = true;
        }
    }
    if (track->lane_cnt < track->lane_cap)
        return track->lane_cnt++;
    if (track->lane_cnt == 0)
        return LANES_MAX;
    *start = track->lane_end[track->lane_cnt - 1];
    return track->lane_cnt - 1;
}

static void on_done(void *user, const struct roce_flow_done *done)
{
    struct perfetto *p = user;
    struct perfetto_track_state *track = find_track(p, done->conn_index, done->side);
    const char *name = roce_oper_name(export_oper_of(done->kind));
    bool timed = done->ns != ROCE_NEVER_NS;
    uint64_t start = done->start, end = done->start + (timed ? done->ns : 0), uuid;
    struct event_place place;
    uint32_t lane;

    if (!track || (lane = choose_lane(p, track, &start)) == LANES_MAX)
        return;
    track->used |= 1u << TRACK_MESSAGES;
    end = end < start ? start : end;
    track->lane_end[lane] = end;
    uuid = uuid_of(p, done->conn_index, done->side, TRACK_MESSAGES, lane);
    place = begin_event(p, start, TYPE_SLICE_BEGIN, uuid);
    put_name(p, timed ? "message" : "message without a measured end", name);
    annotate_number(p, "bytes", done->bytes);
    annotate_number(p, "frame of completion", done->frame);
    end_event(p, place);
    end_event(p, begin_event(p, end, TYPE_SLICE_END, uuid));
    track->goodput += done->bytes;
    count_event(p, track, done->conn_index, done->side, TRACK_GOODPUT, end, track->goodput);
}

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct perfetto *p = user;
    struct perfetto_track_state *track;
    struct event_place place;
    char buf[1024];

    if (finding->conn_index == ROCE_NO_CONN ||
        !(track = find_track(p, finding->conn_index, finding->side)))
        return;
    track->used |= 1u << TRACK_FINDINGS;
    place = begin_event(p, finding->time, TYPE_INSTANT,
                        uuid_of(p, finding->conn_index, finding->side, TRACK_FINDINGS, 0));
    put_name(p, export_severity(finding->severity), roce_rule_info(finding->rule)->id);
    annotate_text(p, "text", roce_finding_text(finding, buf, sizeof(buf)));
    annotate_number(p, "frame", finding->frame);
    end_event(p, place);
}

/* ---- descriptions of the tracks ----------------------------------------------------------------
 */

static size_t begin_track(struct perfetto *p, size_t *packet, uint64_t uuid, const char *name)
{
    size_t place;

    *packet = begin_packet(p);
    if (!p->begun)
        protobuf_put_varint(&p->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_START);
    p->begun = true;
    place = protobuf_begin(&p->packet, PACKET_TRACK_DESCRIPTOR);
    protobuf_put_varint(&p->packet, TRACK_UUID, uuid);
    if (name)
        protobuf_put_string(&p->packet, TRACK_NAME, name);
    return place;
}

/* Writes a connection as a process of the trace. The name of the process is the title of the
 * connection. */
static void on_conn(void *user, const struct roce_conn_summary *sum)
{
    struct perfetto *p = user;
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    size_t packet, track, process;

    strbuf_addf(&t, "connection %u: ", sum->facts.conn_index);
    check_conn_title(&t, sum);
    track = begin_track(p, &packet, uuid_of(p, sum->facts.conn_index, 0, TRACK_OF_CONN, 0), NULL);
    process = protobuf_begin(&p->packet, TRACK_PROCESS);
    protobuf_put_varint(&p->packet, PROCESS_PID,
                        ((p->capture & 0x7Fu) << 24 | (sum->facts.conn_index & 0xFFFFFFu)) + 1);
    protobuf_put_string(&p->packet, PROCESS_NAME, buf);
    protobuf_end(&p->packet, process);
    protobuf_end(&p->packet, track);
    end_packet(p, packet, p->out);
}

static void describe_track(struct perfetto *p, const struct roce_flow *flow, uint32_t conn,
                           unsigned side, enum track_kind kind, uint32_t lane)
{
    struct roce_flow_owner owner = export_owner(flow, conn, side);
    char name[96];
    size_t packet, track, counter;

    if (kind == TRACK_RESPONSES)
        snprintf(name, sizeof(name), "%s responds to %s", export_side(!owner.side),
                 export_side(owner.side));
    else
        snprintf(name, sizeof(name), "%s: %s", export_side(owner.side), kinds[kind].name);
    track = begin_track(p, &packet, uuid_of(p, conn, side, kind, lane), name);
    protobuf_put_varint(&p->packet, TRACK_PARENT_UUID,
                        uuid_of(p, owner.conn_index, 0, TRACK_OF_CONN, 0));
    if (kinds[kind].unit) {
        counter = protobuf_begin(&p->packet, TRACK_COUNTER);
        protobuf_put_varint(&p->packet, COUNTER_UNIT, kinds[kind].unit);
        protobuf_end(&p->packet, counter);
    }
    protobuf_end(&p->packet, track);
    end_packet(p, packet, p->out);
}

static void describe_tracks(struct perfetto *p, const struct roce_flow *flow)
{
    for (size_t i = 0; i < p->track_cnt; i++) {
        const struct perfetto_track_state *track = p->track[i];

        for (unsigned kind = TRACK_MESSAGES; track && kind < TRACK_KINDS; kind++) {
            uint32_t lanes = kind == TRACK_MESSAGES ? track->lane_cnt : 1;

            for (uint32_t lane = 0; track->used & 1u << kind && lane < lanes; lane++)
                describe_track(p, flow, (uint32_t)(i / 2), i & 1, kind, lane);
        }
    }
}

static void copy_body(struct perfetto *p)
{
    char buf[65536];
    size_t len;

    if (fseek(p->body, 0, SEEK_SET) != 0)
        p->failed = true;
    while ((len = fread(buf, 1, sizeof(buf), p->body)) > 0)
        if (fwrite(buf, 1, len, p->out) != len)
            p->failed = true;
    if (ferror(p->body) || fseek(p->body, 0, SEEK_SET) != 0 || ftruncate(fileno(p->body), 0) != 0)
        p->failed = true;
}

static void clear_tracks(struct perfetto *p)
{
    for (size_t i = 0; i < p->track_cnt; i++)
        if (p->track[i]) {
            free(p->track[i]->lane_end);
            free(p->track[i]);
            p->track[i] = NULL;
        }
}

static void on_end(void *user, const struct roce_flow *flow)
{
    struct perfetto *p = user;

    describe_tracks(p, flow);
    copy_body(p);
    clear_tracks(p);
    p->capture++;
}

int perfetto_open(struct perfetto *p, FILE *out, struct error *error)
{
    *p = (struct perfetto){.out = out, .body = tmpfile()};
    if (!p->body)
        return error_set(error, "cannot create a temporary file: %s", strerror(errno));
    return 0;
}

struct check_watch perfetto_watch(struct perfetto *p)
{
    return (struct check_watch){.user = p,
                                .on_packet = on_packet,
                                .on_link = on_link,
                                .on_done = on_done,
                                .on_finding = on_finding,
                                .on_conn = on_conn,
                                .on_end = on_end};
}

int perfetto_close(struct perfetto *p)
{
    bool failed = p->failed || p->packet.failed || p->acked.failed;

    clear_tracks(p);
    free(p->track);
    frame_list_free(&p->acked);
    protobuf_free(&p->packet);
    if (p->body)
        fclose(p->body);
    p->body = NULL;
    return failed ? -1 : 0;
}
