/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "impair/impair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "wire/bytes.h"
#include "wire/checksum.h"

#define ECN_CE 3u

/* Counter for the condition nth= of a rule: number of frames of one connection that the rule has
 * selected so far. If the rule also has psn=, each PSN has separate counters for requests and
 * responses. */
struct impair_counter {
    uint64_t key; /* hash of the rule, the connection or datagram streams and, with psn=, the PSN
                   * and the kind of the packet; never 0, because 0 marks an unused slot */
    uint32_t cnt;
};

/* ---- chance and counting --------------------------------------------------------------------- */

/* Mixes the bits of a number (output function of splitmix64), so that neighbouring numbers have
 * unrelated results. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void impair_init(struct impair *impair, const struct impair_rules *rules, uint64_t seed)
{
    memset(impair, 0, sizeof(*impair));
    impair->rules = rules;
    impair->secret = mix(seed);
    for (size_t i = 0; i < rules->cnt; i++)
        impair->random[i] = mix(seed + (i + 1) * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}

void impair_free(struct impair *impair)
{
    free(impair->counter);
    memset(impair, 0, sizeof(*impair));
}

/* Draws 32 random bits (xorshift64*). */
static uint32_t draw_bits(uint64_t *random)
{
    uint64_t x = *random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *random = x;
    return (uint32_t)(x * UINT64_C(0x2545F4914F6CDD1D) >> 32);
}

static uint32_t draw_below(uint64_t *random, uint32_t limit)
{
    return (uint32_t)((uint64_t)draw_bits(random) * limit >> 32);
}

/* Draws a time from `from` to `to`, both included, in ns. */
static uint64_t draw_time(uint64_t *random, uint64_t from, uint64_t to)
{
    uint64_t high;

    if (from == to)
        return from;
    high = draw_bits(random);
    return from + (high << 32 | draw_bits(random)) % (to - from + 1);
}

/* Returns the slot of a key. If no slot has the key, returns the unused slot where it must be
 * stored. The table must have an unused slot. */
static struct impair_counter *find_counter(struct impair_counter *counter, size_t cap, uint64_t key)
{
    size_t at = key & (cap - 1);

    while (counter[at].key && counter[at].key != key)
        at = (at + 1) & (cap - 1);
    return &counter[at];
}

static bool grow_counters(struct impair *impair)
{
    size_t cap = impair->counter_cap ? 2 * impair->counter_cap : 64;
    struct impair_counter *counter = calloc(cap, sizeof(*counter));

    if (!counter)
        return false;
    for (size_t i = 0; i < impair->counter_cap; i++)
        if (impair->counter[i].key)
            *find_counter(counter, cap, impair->counter[i].key) = impair->counter[i];
    free(impair->counter);
    impair->counter = counter;
    impair->counter_cap = cap;
    return true;
}

/* Counts a frame that the rule selects and can change. Returns the number of frames of this
 * connection that the rule has selected, including this frame. If the rule has psn=, only frames
 * with the PSN and kind of this frame count. Returns 0 if out of memory. */
static uint32_t count_occurrence(struct impair *impair, size_t rule, const struct impair_frame *in,
                                 const struct roce_pkt *pkt, unsigned kind)
{
    bool by_psn = impair->rules->rule[rule].psn;
    const uint64_t thing[] = {rule, in->conn, (uint64_t)in->stream[0] << 32 | in->stream[1],
                              by_psn ? (uint64_t)kind << 32 | pkt->bth.psn : UINT64_MAX};
    struct impair_counter *counter;
    uint64_t key = impair->secret;

    for (size_t i = 0; i < sizeof(thing) / sizeof(thing[0]); i++)
        key = mix(key + thing[i] + UINT64_C(0x9E3779B97F4A7C15));
    key |= key == 0;
    if (4 * (impair->counter_cnt + 1) > 3 * impair->counter_cap && !grow_counters(impair))
        return 0;
    counter = find_counter(impair->counter, impair->counter_cap, key);
    impair->counter_cnt += counter->key == 0;
    counter->key = key;
    return ++counter->cnt;
}

/* ---- matching a rule and a frame ------------------------------------------------------------- */

/* Returns whether `name` contains `word`, ignoring case. */
static bool contains_word(const char *name, const char *word)
{
    size_t len = strlen(word);

    for (; *name && strncasecmp(name, word, len) != 0; name++)
        ;
    return *name || len == 0;
}

/* Returns the kind of the packet (enum impair_kind), which the condition dir= of a rule selects.
 * Returns 0 if the frame is not a RoCE packet. */
static unsigned kind_of(const struct roce_pkt *pkt)
{
    if (!pkt || !pkt->op)
        return 0;
    if (pkt->bth.dest_qp == ROCE_QP_GSI)
        return IMPAIR_CM;
    return roce_opcode_is_request(pkt->op) ? IMPAIR_REQUEST : IMPAIR_RESPONSE;
}

/* Returns whether the conditions of the rule select the frame. If the frame is not a RoCE packet,
 * `pkt` is NULL and `kind` is 0. */
static bool rule_matches(const struct impair_rule *rule, const struct impair_frame *in,
                         const struct roce_pkt *pkt, unsigned kind)
{
    unsigned sides = rule->sides ? rule->sides : IMPAIR_OUT;
    int64_t psn;

    if (rule->frame_to && (in->number < rule->frame_from || in->number > rule->frame_to))
        return false;
    if ((in->side && !(sides & in->side)) || (rule->conn && rule->conn != in->conn) ||
        (rule->stream && rule->stream != in->stream[0] && rule->stream != in->stream[1]))
        return false;
    if (kind == 0)
        return rule->kinds == IMPAIR_ANY && !rule->psn && rule->op[0] == '\0';
    psn = rule->relative ? in->rel : (int64_t)pkt->bth.psn;
    return (rule->kinds & kind) &&
           (!rule->psn || (kind != IMPAIR_CM && psn >= rule->psn_from && psn <= rule->psn_to)) &&
           contains_word(pkt->op->name, rule->op);
}

/* Returns whether the packet has the header in which the rule sets a field, or the part in which
 * the rule inverts a bit. */
static bool has_part(const struct impair_rule *rule, const struct roce_pkt *pkt)
{
    if (rule->action == IMPAIR_SET)
        return pkt && roce_pkt_has(pkt, rule->hdr);
    if (rule->action == IMPAIR_CORRUPT && rule->part == IMPAIR_PAYLOAD)
        return pkt && pkt->payload_len > 0;
    return true;
}

/* ---- applying an action ---------------------------------------------------------------------- */

/* Sets the ECN field of the IP header `ip` to "congestion experienced", as impair_mark_ce() does
 * for a frame. */
static bool mark_ip_ce(uint8_t *ip, bool ip4, bool capable)
{
    unsigned ecn = (unsigned)roce_bits_get(ip, 1, ip4 ? 6 : 2, 2);

    if (ecn == ECN_CE || (capable && ecn == 0))
        return false;
    if (ip4) {
        uint32_t sum = (0xFFFF ^ (uint32_t)roce_bits_get(ip, ROCE_IP4_CSUM, 0, 16)) +
                       (0xFFFF ^ (uint32_t)roce_bits_get(ip, 0, 0, 16));

        ip[1] |= ECN_CE;
        sum += (uint32_t)roce_bits_get(ip, 0, 0, 16);
        sum = (sum & 0xFFFF) + (sum >> 16);
        sum = (sum & 0xFFFF) + (sum >> 16);
        roce_bits_put(ip, ROCE_IP4_CSUM, 0, 16, 0xFFFF ^ sum);
    } else {
        roce_bits_put(ip, 1, 2, 2, ECN_CE);
    }
    return true;
}

bool impair_mark_ce(uint8_t *frame, size_t len, bool capable)
{
    size_t at = ROCE_ETH_LEN;
    uint16_t type = len >= at ? (uint16_t)roce_bits_get(frame, 12, 0, 16) : 0;
    bool ip4;

    for (; roce_ethertype_is_tag(type) && len >= at + ROCE_VLAN_LEN; at += ROCE_VLAN_LEN)
        type = (uint16_t)roce_bits_get(frame, (unsigned)at + 2, 0, 16);
    ip4 = type == ROCE_ETHERTYPE_IP4 && len >= at + ROCE_IP4_LEN;
    if (!ip4 && !(type == ROCE_ETHERTYPE_IP6 && len >= at + ROCE_IP6_LEN))
        return false;
    return mark_ip_ce(frame + at, ip4, capable);
}

/* Returns the length of the headers before the IP header. */
static size_t link_len(enum roce_link link, const struct roce_pkt *pkt)
{
    return link == ROCE_LINK_ETHERNET ? ROCE_ETH_LEN : pkt ? pkt->net_off : 0;
}

/* Inverts one random bit of the part that the rule names. Returns true, or false if the frame has
 * no such part or byte. */
static bool corrupt_bit(const struct impair_rule *rule, uint64_t *random, struct impair_result *out,
                        enum roce_link link, const struct roce_pkt *pkt)
{
    size_t from = link_len(link, pkt), len = out->len > from ? out->len - from : 0;

    if (rule->part != IMPAIR_FRAME && !pkt)
        return false;
    if (rule->part == IMPAIR_HEADER) {
        from = pkt->off[ROCE_HDR_BTH];
        len = pkt->payload_off - from;
    } else if (rule->part == IMPAIR_PAYLOAD) {
        from = pkt->payload_off;
        len = pkt->payload_len;
    } else if (rule->part == IMPAIR_ICRC) {
        from = pkt->icrc_off;
        len = ROCE_ICRC_LEN;
    }
    if (len == 0 || (rule->byte != IMPAIR_ANY_BYTE && rule->byte >= len) || from + len > out->len)
        return false;
    from += rule->byte == IMPAIR_ANY_BYTE ? draw_below(random, (uint32_t)len) : rule->byte;
    out->data[from] ^= (uint8_t)(1u << draw_below(random, 8));
    return true;
}

/* Sets the header field that the rule names. Returns true, or false if the packet has no such
 * header. */
static bool set_field(const struct impair_rule *rule, struct impair_result *out,
                      const struct roce_pkt *pkt)
{
    const struct roce_field *field = rule->field;
    uint8_t *at;

    if (!pkt || !roce_pkt_has(pkt, rule->hdr))
        return false;
    at = out->data + pkt->off[rule->hdr];
    if (field->fmt == ROCE_FMT_MAC || field->fmt == ROCE_FMT_IP4 || field->width > 64)
        memcpy(at + field->byte, rule->bytes, field->width / 8);
    else
        roce_field_put(field, at, rule->value);
    if (rule->hdr == ROCE_HDR_IP4 && field->byte != ROCE_IP4_CSUM)
        roce_ip4_set_checksum(at, pkt->ip4.ihl < 5 ? ROCE_IP4_LEN : pkt->ip4.ihl * 4u);
    return true;
}

/* Applies the rule's action to the frame. Returns false if the action could not change the frame,
 * for example because the packet lacks the header. */
static bool apply_rule(const struct impair_rule *rule, uint64_t *random, struct impair_result *out,
                       enum roce_link link, const struct roce_pkt *pkt)
{
    bool changed = false;

    switch (rule->action) {
    case IMPAIR_DROP: out->copies = 0; return true;
    case IMPAIR_DUP: out->copies += out->copies ? rule->cnt_max : 0; return true;
    case IMPAIR_DELAY:
        out->delay += draw_time(random, rule->delay_min, rule->delay_max);
        return true;
    case IMPAIR_REORDER:
        out->hold = (uint32_t)draw_time(random, rule->cnt_min, rule->cnt_max);
        return true;
    case IMPAIR_CORRUPT: changed = corrupt_bit(rule, random, out, link, pkt); break;
    case IMPAIR_CE:
    case IMPAIR_ECN:
        if (link == ROCE_LINK_ETHERNET)
            changed = impair_mark_ce(out->data, out->len, rule->action == IMPAIR_ECN);
        else if (pkt && (roce_pkt_has(pkt, ROCE_HDR_IP4) || roce_pkt_has(pkt, ROCE_HDR_IP6)))
            changed = mark_ip_ce(out->data + pkt->net_off, roce_pkt_has(pkt, ROCE_HDR_IP4),
                                 rule->action == IMPAIR_ECN);
        break;
    case IMPAIR_SET: changed = set_field(rule, out, pkt); break;
    }
    out->changed |= changed;
    return changed;
}

static void add_note(struct impair_result *out, const char *text)
{
    size_t len = strlen(out->note);

    snprintf(out->note + len, sizeof(out->note) - len, "%s%s", len ? "; " : "impaired: ", text);
}

/* Returns the UDP checksum of a packet (RFC 768), or 0 if the frame does not contain the whole UDP
 * datagram. An IPv4 address is added as ::ffff:a.b.c.d, because the word 0xFFFF does not change a
 * one's complement sum. */
static uint16_t udp_checksum(const struct roce_pkt *pkt, const uint8_t *frame, size_t frame_len)
{
    const uint8_t *udp = frame + pkt->off[ROCE_HDR_UDP];
    const size_t len = pkt->udp.len;
    uint8_t src[16], dst[16];
    uint32_t sum;

    if (!roce_pkt_has(pkt, ROCE_HDR_UDP) || len < ROCE_UDP_LEN ||
        pkt->off[ROCE_HDR_UDP] + len > frame_len)
        return 0;
    roce_pkt_addr(pkt, src, dst);
    sum = roce_checksum_add(ROCE_IPPROTO_UDP + pkt->udp.len, src, 16);
    sum = roce_checksum_add(sum, dst, 16);
    sum = roce_checksum_add(sum, udp, ROCE_UDP_CSUM); /* the UDP header without its checksum */
    sum = roce_checksum_add(sum, udp + ROCE_UDP_LEN, len - ROCE_UDP_LEN);
    return sum == 0xFFFF ? 0xFFFF : (uint16_t)~sum;
}

/* Called after a rule changed the frame `in` to out->data. Keeps ICRC and UDP checksum if the rule
 * keeps the ICRC, or if the ICRC of `in` was wrong. Otherwise computes the ICRC again, and also the
 * UDP checksum if the UDP checksum of `in` was correct. Sets `damaged` (a receiver drops the frame)
 * and `forged` (a receiver accepts it). */
static void finish_change(struct impair_result *out, const struct impair_frame *in,
                          const struct roce_pkt *before, bool keep_icrc)
{
    uint32_t icrc = 0, icrc_before = 0;
    struct roce_pkt pkt;

    out->damaged = true;
    if (!before || roce_pkt_parse(&pkt, in->link, out->data, out->len, out->len) != 0)
        return;
    keep_icrc |= roce_pkt_icrc_check(before, &icrc_before) == ROCE_ICRC_BAD;
    if (!keep_icrc && roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD) {
        roce_le32_put(out->data + pkt.icrc_off, icrc);
        roce_pkt_parse(&pkt, in->link, out->data, out->len, out->len);
    }
    if (!keep_icrc && before->udp.csum &&
        before->udp.csum == udp_checksum(before, in->data, in->len)) {
        roce_bits_put(out->data + pkt.off[ROCE_HDR_UDP], ROCE_UDP_CSUM, 0, 16,
                      udp_checksum(&pkt, out->data, out->len));
        roce_pkt_parse(&pkt, in->link, out->data, out->len, out->len);
    }
    /* The ICRC covers all bytes that a receiver uses, except the Ethernet header. A packet with a
     * correct ICRC may still be malformed, so that a receiver drops or refuses it (R072). */
    out->damaged = roce_pkt_icrc_check(&pkt, &icrc) != ROCE_ICRC_GOOD;
    out->forged = !out->damaged && (icrc != icrc_before ||
                                    memcmp(out->data, in->data, link_len(in->link, before)) != 0);
}

int impair_apply(struct impair *impair, const struct impair_frame *in, struct impair_result *out)
{
    struct roce_pkt parsed;
    const struct roce_pkt *pkt =
        roce_pkt_parse(&parsed, in->link, in->data, in->len, in->len) == 0 ? &parsed : NULL;
    unsigned kind = kind_of(pkt);
    bool keep_icrc = false;

    out->copies = 1;
    out->actions = 0;
    out->delay = 0;
    out->hold = 0;
    out->changed = out->damaged = out->forged = false;
    out->note[0] = '\0';
    out->len = in->len < sizeof(out->data) ? in->len : sizeof(out->data);
    memcpy(out->data, in->data, out->len);
    for (size_t i = 0; i < impair->rules->cnt; i++) {
        const struct impair_rule *rule = &impair->rules->rule[i];

        if (!rule_matches(rule, in, pkt, kind))
            continue;
        if (rule->nth_from > 1 || rule->nth_to < UINT32_MAX) {
            uint32_t nth;

            if (!has_part(rule, pkt))
                continue;
            nth = count_occurrence(impair, i, in, pkt, kind);
            if (nth == 0)
                return -1;
            if (nth < rule->nth_from || nth > rule->nth_to)
                continue;
        }
        if ((rule->chance < IMPAIR_ALWAYS && draw_bits(&impair->random[i]) >= rule->chance) ||
            !apply_rule(rule, &impair->random[i], out, in->link, pkt))
            continue;
        keep_icrc |= rule->keep_icrc;
        impair->applied[i]++;
        out->actions |= 1u << rule->action;
        add_note(out, rule->text);
    }
    if (out->changed)
        finish_change(out, in, kind ? pkt : NULL, keep_icrc);
    return 0;
}
