/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/parsed_frame.h"

#include "wire/bytes.h"

#define MAC_CONTROL 0x8808u /* EtherType of MAC Control frames (PAUSE, PFC) */

int captured_frame_parse(struct roce_pkt *pkt, const struct captured_frame *frame)
{
    return roce_pkt_parse_fast(pkt, frame->link, frame->data, frame->cap_len, frame->wire_len)
               ? 0
               : roce_tunnel_parse(pkt, frame->link, frame->data, frame->cap_len, frame->wire_len);
}

void parsed_frame_set(struct parsed_frame *item, const struct captured_frame *frame,
                      const struct roce_hash_secret *secret)
{
    struct roce_pkt *pkt = &item->pkt;

    item->time = frame->time;
    item->number = frame->number;
    item->parsed = captured_frame_parse(pkt, frame);
    if (item->parsed == 0)
        roce_digest_packet(&item->digest, pkt, secret);
}

void parsed_frame_set_icrc(struct parsed_frame *item, bool check)
{
    item->icrc =
        check && item->parsed == 0 ? roce_pkt_icrc_check(&item->pkt, NULL) : ROCE_ICRC_UNVERIFIED;
}

/* Returns whether a PFC frame (IEEE 802.3, annex 31D) stops at least one priority: the priority is
 * enabled and its time is not 0. The times of the other priorities mean nothing. */
static bool is_pfc_stop(const uint8_t *frame)
{
    const uint64_t enabled = roce_be_get(frame + 16, 2);

    for (unsigned i = 0; i < 8; i++)
        if (enabled >> i & 1 && roce_be_get(frame + 18 + 2 * i, 2))
            return true;
    return false;
}

/* Returns whether the frame stops a sender: a PAUSE frame (IEEE 802.3, annex 31B) with a time other
 * than 0, or a PFC frame. */
static bool is_pause(const struct captured_frame *frame)
{
    const uint8_t *p = frame->data;
    uint64_t op;

    if (frame->link != ROCE_LINK_ETHERNET || frame->cap_len < 34 ||
        roce_be_get(p + 12, 2) != MAC_CONTROL)
        return false;
    op = roce_be_get(p + 14, 2);
    return (op == 0x0001 && roce_be_get(p + 16, 2)) || (op == 0x0101 && is_pfc_stop(p));
}

void frame_counts_init(struct frame_counts *counts)
{
    *counts = (struct frame_counts){.first_time = UINT64_MAX};
}

void frame_counts_add(struct frame_counts *counts, const struct parsed_frame *item,
                      const struct captured_frame *frame)
{
    const struct roce_pkt *pkt = &item->pkt;

    if (frame->time < counts->first_time)
        counts->first_time = frame->time;
    if (frame->time > counts->last_time)
        counts->last_time = frame->time;
    if (item->parsed == ROCE_ERR_NOT_ROCE) {
        counts->foreign++;
        counts->pauses += is_pause(frame);
        counts->tunnel[pkt->tunnel]++;
        return;
    }
    if (pkt->frame != frame->data) /* true only if the packet was in a tunnel */
        counts->tunnel[pkt->tunnel]++;
    counts->cut += pkt->cap_len < pkt->wire_len;
    if (item->parsed != 0)
        counts->unreadable++;
    else
        counts->unverified += item->icrc == ROCE_ICRC_UNVERIFIED;
    counts->zero_checksums += roce_pkt_defect(pkt, ROCE_DEFECT_IP_CHECKSUM_0);
}

void frame_counts_join(struct frame_counts *counts, const struct frame_counts *more)
{
    if (more->first_time < counts->first_time)
        counts->first_time = more->first_time;
    if (more->last_time > counts->last_time)
        counts->last_time = more->last_time;
    counts->foreign += more->foreign;
    counts->pauses += more->pauses;
    counts->unreadable += more->unreadable;
    counts->cut += more->cut;
    counts->unverified += more->unverified;
    counts->zero_checksums += more->zero_checksums;
    for (unsigned i = 0; i < ROCE_TUNNEL_CNT; i++)
        counts->tunnel[i] += more->tunnel[i];
}
