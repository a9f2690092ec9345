/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/psn_legend.h"

#include <stdio.h>
#include "page/loss_marks.h"
#include "util/strbuf.h"

#define OF(class) (1u << (class))

/* Entries of the legend for packets, in its order. `classes`: classes of packets that the entry
 * describes. `first`: the entry has the style of this class. */
static const struct {
    const char *class, *text;
    enum run_class first;
    unsigned classes;
} packets[] = {
    {"first", "request", RUN_REQUEST, OF(RUN_REQUEST)},
    {"again", "retransmitted request", RUN_REPEATED_REQUEST, OF(RUN_REPEATED_REQUEST)},
    {"response", "response", RUN_RESPONSE, OF(RUN_RESPONSE)},
    {"response-again", "retransmitted response", RUN_REPEATED_RESPONSE, OF(RUN_REPEATED_RESPONSE)},
    {"nak", "▼ NAK: error or packet missing", RUN_NAK, OF(RUN_NAK)},
    {"rnr", "■ RNR NAK (receiver not ready)", RUN_RNR_NAK, OF(RUN_RNR_NAK)},
    {"damaged", "✕ damaged, dropped by the receiver", RUN_DROPPED, OF(RUN_DROPPED)},
    {"other", "captured twice", RUN_COPY, OF(RUN_COPY)},
    {"ack", "━ acknowledged up to here", RUN_ACK,
     OF(RUN_ACK) | OF(RUN_RESPONSE) | OF(RUN_NAK) | OF(RUN_RNR_NAK)},
};

static const struct {
    const char *class, *text;
} bands[WAIT_BAND_KINDS] = {
    [WAIT_BAND_RNR] = {"rnr",
                       "band: wait for a retransmission (RNR NAK), since the latest request"},
    [WAIT_BAND_NAK] = {"nak",
                       "band: wait for a retransmission (sequence NAK), since the latest request"},
    [WAIT_BAND_TIMEOUT] = {"timeout", "band: wait for an ACK timeout"},
    [WAIT_BAND_SPURIOUS] = {"spurious",
                            "band: wait for a spurious timeout (the response came later)"},
    [WAIT_BAND_READ] = {"response-again", "band: wait for lost READ data"},
    [WAIT_BAND_OTHER] = {"other", "band: wait before another retransmission"},
    [WAIT_BAND_SLOW] = {"slow", "band: slow response"},
};

const char *psn_legend_class(enum run_class class)
{
    for (unsigned i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
        if (packets[i].first == class)
            return packets[i].class;
    return "ack";
}

const char *psn_legend_band(enum wait_band_kind kind)
{
    return bands[kind].class;
}

static void note_band(void *user, const struct wait_band *band)
{
    unsigned *found = user;

    *found |= OF(band->kind);
}

static struct psn_legend_entry entry_of(const char *class, const char *text, unsigned kind)
{
    return (struct psn_legend_entry){.class = class, .text = text, .kind = kind};
}

static void note_loss(void *user, const struct loss_mark *mark)
{
    (void)mark;
    *(bool *)user = true;
}

/* Stores the text of an entry that depends on the packets: the results of the responses, or the
 * waits that the RNR NAKs demand. */
static void set_own_text(struct psn_legend_entry *entry, enum run_class class,
                         const struct packet_runs *runs, unsigned direction)
{
    struct strbuf t = strbuf_of(entry->own, sizeof(entry->own));
    uint64_t least = UINT64_MAX, most = 0;
    bool data = false, empty = false, result = false;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];

        if (run->class != class || !packet_run_is_in(run, direction))
            continue;
        data |= run->kind == ROCE_KIND_READ_RESP && run->payload;
        empty |= run->kind == ROCE_KIND_READ_RESP && !run->payload;
        result |= run->kind == ROCE_KIND_ATOMIC_ACK;
        least = run->wait < least ? run->wait : least;
        most = run->wait > most ? run->wait : most;
    }
    if (class == RUN_RESPONSE) {
        strbuf_addf(&t, "response: %s%s%s%s%s, sent by the other side", data ? "READ data" : "",
                    data && (result || empty) ? " or " : "",
                    result ? "result of an atomic operation" : "", result && empty ? " or " : "",
                    empty ? "end of a FLUSH, ATOMIC WRITE or empty READ" : "");
    } else {
        strbuf_addf(&t, "%s: wait at least ", entry->text);
        strbuf_add_duration(&t, least);
        if (most != least) {
            strbuf_addf(&t, " to ");
            strbuf_add_duration(&t, most);
        }
        strbuf_addf(&t, " (min_rnr_timer)");
    }
    entry->text = entry->own;
}

unsigned psn_legend(const struct packet_runs *runs, unsigned direction,
                    struct psn_legend_entry entry[PSN_LEGEND_MAX])
{
    unsigned cnt = 0, classes = 0, marks = 0, found = 0;
    bool missing = false, lost = false, refused = false;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];

        if (!packet_run_is_in(run, direction))
            continue;
        refused |= packet_run_is_refused(run);
        classes |= packet_run_is_refused(run) ? 0 : OF(run->class);
        marks |= run->marks;
        missing |= run->gap > 0;
    }
    for (unsigned i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
        if (!(classes & packets[i].classes))
            continue;
        entry[cnt++] = entry_of(packets[i].class, packets[i].text, WAIT_BAND_KINDS);
        if (packets[i].first == RUN_RESPONSE || packets[i].first == RUN_RNR_NAK)
            set_own_text(&entry[cnt - 1], packets[i].first, runs, direction);
    }
    if (refused)
        entry[cnt++] =
            entry_of("refused", "▽ NAK for the packet that the RNR NAK refused: no other fault",
                     WAIT_BAND_KINDS);
    if (marks & RUN_MARK_IMPLIED_NAK)
        entry[cnt++] = entry_of("implied", "◇ response skipped (implied NAK)", WAIT_BAND_KINDS);
    if (missing)
        entry[cnt++] = entry_of("missing", "┆ missing packets", WAIT_BAND_KINDS);
    if (marks & RUN_MARK_NEW_USE)
        entry[cnt++] = entry_of("text", "┊ QP pair used again: its first PSN is 0 from here on",
                                WAIT_BAND_KINDS);
    loss_marks_find(runs, direction, note_loss, &lost);
    if (lost)
        entry[cnt++] = entry_of("lost", "○ lost or late, as its text says", WAIT_BAND_KINDS);
    if (classes)
        wait_bands_find(runs, direction, note_band, &found);
    for (unsigned k = 0; k < WAIT_BAND_KINDS; k++)
        if (found & OF(k))
            entry[cnt++] = entry_of(bands[k].class, bands[k].text, k);
    return cnt;
}
