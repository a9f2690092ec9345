/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/timeline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "device/rnic.h"
#include "drill/words.h"
#include "util/keymap.h"
#include "util/strbuf.h"

/* The engine ends a drill when its log has more than FRAMES_MAX rows, or after TIMERS_MAX steps of
 * virtual time: such a device probably never stops sending. */
#define FRAMES_MAX 20000u
#define TIMERS_MAX 200000u

/* ---- writing the log ------------------------------------------------------------------------- */

static struct drill_log_row *add_row(struct drill_engine *e)
{
    struct drill_result *r = e->result;
    struct drill_log_row *row;

    if (!VEC_GROW(r->log, r->log_cnt, r->log_cap))
        return NULL;
    row = &r->log[r->log_cnt++];
    *row = (struct drill_log_row){.time = e->now - DRILL_TIME_BASE, .qp = SCRIPT_NO_OBJECT};
    return row;
}

void timeline_text(struct drill_engine *e, unsigned line, const char *fmt, ...)
{
    struct drill_log_row *row = add_row(e);
    char text[320];
    va_list args;

    if (!row)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    row->text = strdup(text);
    row->line = line;
}

/* Adds a frame and its text to the log. Returns the row, or NULL if out of memory. */
static struct drill_log_row *add_frame(struct drill_engine *e, const uint8_t *bytes, size_t len,
                                       const char *text, bool from_dut)
{
    struct drill_log_row *row = add_row(e);

    if (!row)
        return NULL;
    row->frame = true;
    row->from_dut = from_dut;
    row->bytes = malloc(len + 1);
    row->text = strdup(text);
    if (!row->bytes || !row->text)
        return row;
    memcpy(row->bytes, bytes, len);
    row->len = len;
    return row;
}

/* Returns whether an address is in a memory region, or is the address after its last byte. */
static bool region_has(const struct drill_engine *e, int object, uint64_t va)
{
    uint64_t start = e->ops->address(e->ctx.dev, object);

    return va >= start &&
           va - start <= script_number(&e->script->object[object].options, SCRIPT_OPT_LEN, 0);
}

/* In the text of a packet, replaces the address and R_Key by the name of the memory region and the
 * offset, as "va M+64". If the R_Key belongs to memory window W, writes "va M+64 rkey W". */
static void name_region(const struct drill_engine *e, const struct roce_pkt *pkt, struct strbuf *t)
{
    bool reth = roce_pkt_has(pkt, ROCE_HDR_RETH);
    uint64_t va = reth ? pkt->reth.va : pkt->atomiceth.va;
    uint32_t rkey = reth ? pkt->reth.rkey : pkt->atomiceth.rkey;
    const char *window = NULL;
    char raw[64], rest[256], *at;
    int found = SCRIPT_NO_OBJECT;

    if (!reth && !roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        return;
    snprintf(raw, sizeof(raw), "va 0x%" PRIx64 " rkey 0x%08x", va, rkey);
    at = strstr(t->p, raw);
    for (int i = 0; at && i < e->script->object_cnt; i++) {
        const struct script_object *o = &e->script->object[i];

        if (o->kind == SCRIPT_MW && e->ops->key(e->ctx.dev, i) == rkey)
            window = o->name;
        if ((o->kind == SCRIPT_MR || o->kind == SCRIPT_PEER) && region_has(e, i, va) &&
            (found == SCRIPT_NO_OBJECT || e->ops->key(e->ctx.dev, i) == rkey))
            found = i;
    }
    if (found == SCRIPT_NO_OBJECT || (!window && e->ops->key(e->ctx.dev, found) != rkey))
        return;
    snprintf(rest, sizeof(rest), "%s", at + strlen(raw));
    t->len = (size_t)(at - t->p);
    *at = '\0';
    strbuf_addf(t, "va %s+%" PRIu64 "%s%s%s", e->script->object[found].name,
                va - e->ops->address(e->ctx.dev, found), window ? " rkey " : "",
                window ? window : "", rest);
}

/* Writes the text of a packet for the log. If the QP of the packet is known, uses a relative PSN
 * and the names of the memory regions. */
static void packet_text(const struct drill_engine *e, int qp, bool from_dut,
                        const struct roce_pkt *pkt, struct strbuf *t)
{
    unsigned qps = 0;

    for (int i = 0; i < e->script->object_cnt; i++)
        qps += e->script->object[i].kind == SCRIPT_QP;
    if (qp == SCRIPT_NO_OBJECT) {
        packet_text_full(t, pkt);
        return;
    }
    if (qps > 1)
        strbuf_addf(t, "%s: ", e->script->object[qp].name);
    packet_text_short(t, pkt, drill_packet_relative(&e->ctx, qp, from_dut, pkt));
    name_region(e, pkt, t);
}

void timeline_sent(struct drill_engine *e, const struct script_event *event, const uint8_t *bytes,
                   size_t len)
{
    char text[256];
    struct strbuf t = strbuf_of(text, sizeof(text));
    struct drill_log_row *row;
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, bytes, len, len) == 0)
        packet_text(e, event->packet->qp, false, &pkt, &t);
    else
        strbuf_addf(&t, "a malformed frame of %zu bytes", len);
    row = add_frame(e, bytes, len, text, false);
    if (row)
        row->line = event->line;
    if (e->has_oracle)
        flow_oracle_feed(&e->oracle, false, bytes, len, e->now);
}

/* ---- fetching from the device ---------------------------------------------------------------- */

static void take_frame(struct drill_engine *e, const uint8_t *buf, size_t len)
{
    struct drill_log_row *row;
    struct roce_pkt pkt;
    char text[256];
    struct strbuf t = strbuf_of(text, sizeof(text));
    int qp = SCRIPT_NO_OBJECT;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0) {
        qp = drill_packet_seen(&e->ctx, &pkt);
        packet_text(e, qp, true, &pkt, &t);
    } else {
        strbuf_addf(&t, "a frame of %zu bytes that is not RoCE", len);
    }
    if (e->has_oracle)
        flow_oracle_feed(&e->oracle, true, buf, len, e->now);
    row = add_frame(e, buf, len, text, true);
    if (!row)
        return;
    row->qp = qp;
    if (e->ops->arrived)
        row->time = e->ops->arrived(e->ctx.dev) - DRILL_TIME_BASE;
}

/* Adds a completion to the log, as a line of a drill would describe it. */
static void comp_text(struct drill_engine *e, const struct drill_comp *comp)
{
    char text[48] = "";
    struct strbuf t = strbuf_of(text, sizeof(text));
    const char *qp = comp->object == SCRIPT_NO_OBJECT ? "?" : e->script->object[comp->object].name;

    if (comp->recv && comp->status == RNIC_WC_SUCCESS) {
        strbuf_addf(&t, " len %u", comp->len);
        if (comp->has_imm)
            strbuf_addf(&t, " imm 0x%x", comp->imm);
    }
    timeline_text(e, 0, "comp %s%s id %" PRIu64 " %s%s", comp->recv ? "recv " : "", qp, comp->id,
                  words_name(words_status, comp->status), text);
}

bool timeline_failed(struct drill_engine *e)
{
    const char *failure = e->ops->failure ? e->ops->failure(e->ctx.dev) : NULL;

    e->endless |= failure != NULL;
    e->gone |= failure && !device_is_unsupported(failure);
    return e->endless;
}

void timeline_drain(struct drill_engine *e)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct queued_comp comp = {.time = e->now};
    struct drill_async async;
    char text[SCRIPT_NAME_MAX + 64];
    struct strbuf t;
    unsigned type;
    size_t len;
    int cq;

    timeline_failed(e);
    while ((len = e->ops->output(e->ctx.dev, buf, sizeof(buf), e->now)) != 0) {
        if (e->result->log_cnt > FRAMES_MAX) {
            e->endless = true;
            return;
        }
        take_frame(e, buf, len);
    }
    while (e->ops->poll(e->ctx.dev, &comp.comp)) {
        comp_text(e, &comp.comp);
        comp.row = e->result->log_cnt ? e->result->log_cnt - 1 : 0;
        e->comp_total++;
        if (comp.comp.object != SCRIPT_NO_OBJECT)
            e->comp_of[comp.comp.object]++;
        if (e->comp_cnt < DRILL_QUEUE_MAX)
            e->comp[e->comp_cnt++] = comp;
    }
    while (e->ops->async(e->ctx.dev, &async)) {
        if (!words_have(words_event, async.type)) {
            timeline_text(e, 0, "other asynchronous event, number %u", async.type);
            continue; /* an event of a kind that no line can expect, for example that a GID
                       * became valid */
        }
        t = strbuf_of(text, sizeof(text));
        match_add_async(e, &async, &t);
        timeline_text(e, 0, "event %s", text);
        e->async_total++;
        if (e->async_cnt < DRILL_QUEUE_MAX)
            e->async[e->async_cnt++] = (struct queued_async){
                .event = async, .row = e->result->log_cnt ? e->result->log_cnt - 1 : 0};
    }
    while (e->ops->notified && e->ops->notified(e->ctx.dev, &cq)) {
        e->notified_total++;
        if (e->notified_cnt < DRILL_QUEUE_MAX)
            e->notified[e->notified_cnt++] = cq;
    }
    while (e->ops->cm_event && e->ops->cm_event(e->ctx.dev, &type)) {
        timeline_text(e, 0, "cm-event %s", words_name(words_cm_event, type));
        if (e->cm_event_cnt < DRILL_QUEUE_MAX)
            e->cm_event[e->cm_event_cnt++] = (struct queued_cm_event){
                .type = type, .row = e->result->log_cnt ? e->result->log_cnt - 1 : 0};
    }
}

void timeline_step(struct drill_engine *e, uint64_t to)
{
    uint64_t deadline = e->ops->deadline(e->ctx.dev);

    if (e->ops->wait) {
        e->now = e->ops->wait(e->ctx.dev, to);
        timeline_drain(e);
        return;
    }
    if (++e->timers > TIMERS_MAX)
        e->endless = true;
    if (deadline <= to) {
        e->now = deadline > e->now ? deadline : e->now;
        e->ops->expire(e->ctx.dev, e->now);
    } else {
        e->now = to;
    }
    timeline_drain(e);
}

void timeline_until(struct drill_engine *e, uint64_t to)
{
    timeline_drain(e);
    while (!e->endless && (e->now < to || e->ops->deadline(e->ctx.dev) <= e->now))
        timeline_step(e, to);
}
