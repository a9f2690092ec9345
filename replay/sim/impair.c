/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/impair.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/error.h"
#include "util/strbuf.h"
#include "wire/bytes.h"

#define PSN_NONE UINT32_MAX
#define IP4_CSUM 10u /* offset in the header */
#define ECN_CE   3u
#define ETH_LEN  14u /* what of a frame the ICRC does not cover, and a receiver looks at */

/* What occurrences are counted of. */
struct place {
    uint32_t edit;
    uint32_t conn;
    uint32_t stream[2];
    uint32_t psn;
    uint32_t way;
};

int impair_rules_add(struct impair_rules *edits, const char *text, struct error *error)
{
    if (edits->cnt == IMPAIR_RULES_MAX)
        return error_set(error, "--impair %s: more than %u edits", text, IMPAIR_RULES_MAX);
    if (impair_rule_parse(&edits->spec[edits->cnt], text, error) != 0)
        return -1;
    edits->cnt++;
    return 0;
}

void impair_init(struct impair *editor, const struct impair_rules *edits, uint64_t seed)
{
    memset(editor, 0, sizeof(*editor));
    editor->edits = edits;
    /* Neighbouring seeds shall not give neighbouring states (splitmix64). */
    seed += UINT64_C(0x9E3779B97F4A7C15);
    seed = (seed ^ seed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    seed = (seed ^ seed >> 27) * UINT64_C(0x94D049BB133111EB);
    editor->state = (seed ^ seed >> 31) | 1;
    keymap_init(&editor->seen, sizeof(struct place));
}

void impair_free(struct impair *editor)
{
    keymap_free(&editor->seen);
    free(editor->seen_cnt);
    memset(editor, 0, sizeof(*editor));
}

/* xorshift64*. */
static uint32_t below(struct impair *editor, uint32_t limit)
{
    uint64_t x = editor->state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    editor->state = x;
    return (uint32_t)((x * UINT64_C(0x2545F4914F6CDD1D) >> 32) * limit >> 32);
}

/* ---- where -------------------------------------------------------------------------------------
 */

/* Whether a name has the word in it, whatever the case. */
static bool has_word(const char *name, const char *word)
{
    size_t len = strlen(word);

    for (; *name && strncasecmp(name, word, len) != 0; name++)
        ;
    return *name || len == 0;
}

static bool fits(const struct impair_rule *spec, const struct impair_frame *in,
                 const struct roce_pkt *pkt)
{
    int64_t psn = spec->relative ? in->rel : (int64_t)pkt->bth.psn;

    return (spec->conn == 0 || spec->conn == in->conn) &&
           (spec->stream == 0 || spec->stream == in->stream[0] || spec->stream == in->stream[1]) &&
           (spec->ways & in->way) &&
           (!spec->psn || (in->way != IMPAIR_CM && psn >= spec->psn_from && psn <= spec->psn_to)) &&
           has_word(pkt->op->name, spec->op);
}

/* Counts the frame. Which one it is, from 1, or 0 without memory. */
static uint32_t occurrence(struct impair *editor, size_t edit, const struct impair_frame *in,
                           const struct roce_pkt *pkt)
{
    struct place place = {.edit = (uint32_t)edit,
                          .conn = in->conn,
                          .stream = {in->stream[0], in->stream[1]},
                          .psn = editor->edits->spec[edit].psn ? pkt->bth.psn : PSN_NONE,
                          .way = in->way};
    uint32_t cnt = editor->seen.cnt, at;

    if (place.psn == PSN_NONE)
        place.way = 0;
    if (!VEC_GROW(editor->seen_cnt, cnt, editor->seen_cap))
        return 0;
    at = keymap_add(&editor->seen, &place);
    if (at == KEYMAP_NONE)
        return 0;
    if (at == cnt)
        editor->seen_cnt[at] = 0;
    return ++editor->seen_cnt[at];
}

/* ---- what --------------------------------------------------------------------------------------
 */

/* RFC 791: the header checksum, after a field of the header was changed. */
static void fix_ip4(uint8_t *ip, unsigned words)
{
    uint32_t sum = 0;

    roce_bits_put(ip, IP4_CSUM, 0, 16, 0);
    for (unsigned i = 0; i < 2 * words; i++)
        sum += (uint32_t)roce_bits_get(ip, 2 * i, 0, 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    roce_bits_put(ip, IP4_CSUM, 0, 16, ~sum & 0xFFFF);
}

static void put_field(struct impair_result *out, const struct roce_pkt *pkt, enum roce_hdr hdr,
                      const struct roce_field *field, uint64_t value, const uint8_t *bytes)
{
    uint8_t *at = out->data + pkt->off[hdr];

    if (bytes)
        memcpy(at + field->byte, bytes, field->width / 8);
    else
        roce_field_put(field, at, value);
    if (hdr == ROCE_HDR_IP4 && field->byte != IP4_CSUM)
        fix_ip4(at, pkt->ip4.ihl < 5 ? 5 : pkt->ip4.ihl);
    out->changed = true;
}

static void mark_ce(struct impair_result *out, const struct roce_pkt *pkt)
{
    enum roce_hdr hdr = roce_pkt_has(pkt, ROCE_HDR_IP4) ? ROCE_HDR_IP4 : ROCE_HDR_IP6;

    if (roce_pkt_has(pkt, hdr))
        put_field(out, pkt, hdr, roce_field_find(roce_hdr_info(hdr), "ecn"), ECN_CE, NULL);
}

/* Flips a bit; false if the frame has no such byte. */
static bool corrupt(struct impair *editor, const struct impair_rule *spec,
                    struct impair_result *out, const struct roce_pkt *pkt)
{
    uint32_t from = pkt->off[ROCE_HDR_BTH], len = pkt->payload_off - from;

    if (spec->part == IMPAIR_PAYLOAD) {
        from = pkt->payload_off;
        len = pkt->payload_len;
    } else if (spec->part == IMPAIR_ICRC) {
        from = pkt->icrc_off;
        len = ROCE_ICRC_LEN;
    }
    if (len == 0 || (spec->byte != IMPAIR_ANY_BYTE && spec->byte >= len) || from + len > out->len)
        return false;
    from += spec->byte == IMPAIR_ANY_BYTE ? below(editor, len) : spec->byte;
    out->data[from] ^= (uint8_t)(1u << below(editor, 8));
    out->changed = true;
    return true;
}

static bool set(const struct impair_rule *spec, struct impair_result *out,
                const struct roce_pkt *pkt)
{
    bool bytes = spec->field->fmt == ROCE_FMT_MAC || spec->field->fmt == ROCE_FMT_IP4 ||
                 spec->field->width > 64;

    if (!roce_pkt_has(pkt, spec->hdr))
        return false;
    put_field(out, pkt, spec->hdr, spec->field, spec->value, bytes ? spec->bytes : NULL);
    return true;
}

/* Whether the edit changed what becomes of the frame. */
static bool apply_rule(struct impair *editor, const struct impair_rule *spec,
                       struct impair_result *out, const struct roce_pkt *pkt)
{
    switch (spec->action) {
    case IMPAIR_DROP: out->copies = 0; return true;
    case IMPAIR_DUP: out->copies += out->copies ? spec->cnt : 0; return true;
    case IMPAIR_DELAY: out->delay += spec->ns; return true;
    case IMPAIR_REORDER: out->hold = spec->cnt; return true;
    case IMPAIR_CORRUPT: return corrupt(editor, spec, out, pkt);
    case IMPAIR_CE: mark_ce(out, pkt); return out->changed;
    default: return set(spec, out, pkt);
    }
}

static void add_note(struct impair_result *out, const char *text)
{
    struct strbuf note = {out->note, sizeof(out->note), strlen(out->note)};

    strbuf_addf(&note, "%s%s", note.len ? "; " : "edited: ", text);
}

/* Makes the ICRC right again, and says what a receiver makes of the frame. */
static void close_frame(struct impair_result *out, const struct impair_frame *in, uint32_t before,
                        bool keep_icrc)
{
    struct roce_pkt pkt;
    uint32_t icrc = 0;

    out->damaged = true;
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, out->data, out->len, out->len) != 0)
        return;
    if (!keep_icrc && roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD) {
        roce_le32_put(out->data + pkt.icrc_off, icrc);
        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, out->data, out->len, out->len);
    }
    /* The ICRC covers all that means something to a receiver. Where it is right the packet may be
     * malformed: a receiver may drop it or refuse it (R072), which nobody asked for either. */
    out->damaged = roce_pkt_icrc_check(&pkt, &icrc) != ROCE_ICRC_GOOD;
    out->forged = !out->damaged && (icrc != before || memcmp(out->data, in->data, ETH_LEN) != 0);
}

int impair_apply(struct impair *editor, const struct impair_frame *in, struct impair_result *out)
{
    bool keep_icrc = false;
    struct roce_pkt pkt;
    uint32_t icrc = 0;

    out->copies = 1;
    out->delay = 0;
    out->hold = 0;
    out->changed = out->damaged = out->forged = false;
    out->note[0] = '\0';
    out->len = in->len < sizeof(out->data) ? in->len : sizeof(out->data);
    memcpy(out->data, in->data, out->len);
    if (editor->edits->cnt == 0 ||
        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, in->data, in->len, in->len) != 0)
        return 0;
    /* What came damaged stays so. */
    keep_icrc = roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD;
    for (size_t i = 0; i < editor->edits->cnt; i++) {
        const struct impair_rule *spec = &editor->edits->spec[i];
        uint32_t nth;

        if (!fits(spec, in, &pkt))
            continue;
        nth = occurrence(editor, i, in, &pkt);
        if (nth == 0)
            return -1;
        if (nth < spec->nth_from || nth > spec->nth_to ||
            (spec->chance && below(editor, 1000000) >= spec->ppm) ||
            !apply_rule(editor, spec, out, &pkt))
            continue;
        keep_icrc |= spec->keep_icrc;
        editor->applied[i]++;
        add_note(out, spec->text);
    }
    if (out->changed)
        close_frame(out, in, icrc, keep_icrc);
    return 0;
}
