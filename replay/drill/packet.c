/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/packet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "capture/packet_text.h"
#include "device/rnic.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/gid.h"

/* Headers with fields that a drill can set. */
#define HEADERS(X)                                                                                 \
    X(eth, ETH)                                                                                    \
    X(ip4, IP4)                                                                                    \
    X(ip6, IP6)                                                                                    \
    X(udp, UDP)                                                                                    \
    X(bth, BTH)                                                                                    \
    X(deth, DETH)                                                                                  \
    X(reth, RETH)                                                                                  \
    X(atomiceth, ATOMICETH)                                                                        \
    X(aeth, AETH)                                                                                  \
    X(atomicacketh, ATOMICACKETH)                                                                  \
    X(immdt, IMMDT)                                                                                \
    X(ieth, IETH)                                                                                  \
    X(xrceth, XRCETH)                                                                              \
    X(feth, FETH)                                                                                  \
    X(cnp, CNP)

static uint32_t psn_add(uint32_t psn, int64_t delta)
{
    return (uint32_t)((uint64_t)psn + (uint64_t)delta) & 0xFFFFFF;
}

static int32_t psn_distance(uint32_t psn, uint32_t from)
{
    return (int32_t)((psn - from) << 8) >> 8;
}

/* Returns the PSN to which the relative PSNs in a drill are added: the first PSN of the direction's
 * requests. A response has the direction of the request that it answers. */
static uint32_t first_psn(const struct drill_context *ctx, int qp, bool from_dut, uint8_t opcode)
{
    const struct script_object *object = &ctx->script->object[qp];
    bool response = roce_opcode_is_response(roce_opcode(opcode));

    return from_dut != response ? drill_dut_psn(object) : drill_own_psn(object);
}

int32_t drill_packet_relative(const struct drill_context *ctx, int qp, bool from_dut,
                              const struct roce_pkt *pkt)
{
    return psn_distance(pkt->bth.psn, first_psn(ctx, qp, from_dut, pkt->bth.opcode));
}

static uint64_t field_value(const struct drill_context *ctx, const struct script_field *f,
                            uint32_t first)
{
    int object = f->value.object;

    switch (f->kind) {
    case SCRIPT_FIELD_PSN: return psn_add(first, (int64_t)f->value.num);
    case SCRIPT_FIELD_ADDRESS: return ctx->ops->address(ctx->dev, object) + f->value.num;
    case SCRIPT_FIELD_KEY: return ctx->ops->key(ctx->dev, object) + f->value.num;
    case SCRIPT_FIELD_QPN:
    case SCRIPT_FIELD_SRQN: return ctx->ops->number(ctx->dev, object);
    default: return f->value.num;
    }
}

static uint32_t mtu_of(const struct drill_context *ctx, int qp)
{
    return (uint32_t)script_number(&ctx->script->object[qp].options, SCRIPT_OPT_MTU, 1024);
}

/* ---- packets sent so far --------------------------------------------------------------------- */

/* Returns the request with the highest PSN that is not after `psn`, or NULL. If `kind` is not
 * ROCE_KIND_RESERVED, considers only requests of this kind. If `starts` is set, considers only the
 * first packets of messages. */
static const struct drill_sent *find_sent(const struct drill_history *h, uint32_t psn,
                                          enum roce_kind kind, bool starts)
{
    const struct drill_sent *found = NULL;

    for (unsigned i = h->cnt < DRILL_HISTORY ? h->cnt : DRILL_HISTORY; i-- > 0;) {
        const struct drill_sent *sent = &h->at[(h->cnt - 1 - i) % DRILL_HISTORY];
        const struct roce_opcode *op = roce_opcode(sent->opcode);

        if (psn_distance(psn, sent->psn) < 0 || (starts && !roce_opcode_starts(op)) ||
            (kind != ROCE_KIND_RESERVED && op->kind != kind))
            continue;
        if (!found || psn_distance(sent->psn, found->psn) >= 0)
            found = sent;
    }
    return found;
}

static void add_sent(const struct drill_context *ctx, struct drill_history *h, int qp,
                     const struct roce_pkt *pkt)
{
    const struct roce_opcode *op = roce_opcode(pkt->bth.opcode);
    struct drill_sent *sent = &h->at[h->cnt % DRILL_HISTORY];
    const struct drill_sent *start;
    uint32_t mtu = mtu_of(ctx, qp);

    if (!roce_opcode_is_request(op))
        return;
    start = roce_opcode_starts(op) ? NULL : find_sent(h, pkt->bth.psn, ROCE_KIND_RESERVED, true);
    *sent = (struct drill_sent){.psn = pkt->bth.psn,
                                .last = pkt->bth.psn,
                                .start = start ? start->psn : pkt->bth.psn,
                                .opcode = pkt->bth.opcode,
                                .va = start ? start->va : pkt->reth.va,
                                .len = pkt->reth.dma_len};
    if (op->kind == ROCE_KIND_READ && sent->len > mtu)
        sent->last = psn_add(sent->psn, (sent->len - 1) / mtu);
    h->cnt++;
}

/* Returns the MSN of a response with this PSN that the drill sends: the number of messages of the
 * DUT that end at or before the PSN. A READ already counts at its first response. If `nak` is true,
 * does not count the message that the NAK refuses. */
static uint32_t own_msn(const struct drill_context *ctx, int qp, uint32_t psn, bool nak)
{
    const struct drill_history *h = &ctx->dut[qp];
    unsigned cnt = h->cnt < DRILL_HISTORY ? h->cnt : DRILL_HISTORY;
    uint32_t msn = 0;

    for (unsigned i = 0; i < cnt; i++) {
        const struct drill_sent *sent = &h->at[i];
        const struct roce_opcode *op = roce_opcode(sent->opcode);
        uint32_t end = op->kind == ROCE_KIND_READ ? sent->psn : sent->last;
        bool again = false;

        /* Count each message once. If an earlier request has the same last PSN, this request is a
         * retransmission, or a READ of only the lost responses. */
        for (unsigned k = 0; k < i; k++)
            again |= roce_opcode_ends(roce_opcode(h->at[k].opcode)) && h->at[k].last == sent->last;
        msn += roce_opcode_ends(op) && !again && psn_distance(psn, end) >= nak;
    }
    return msn;
}

/* ---- contents of payloads -------------------------------------------------------------------- */

/* Returns the offset of a packet's payload in its message. Sets *va to the memory address of the
 * first payload byte, or to 0 if the address is unknown. */
static uint64_t message_offset(const struct drill_context *ctx, int qp, bool from_dut,
                               const struct roce_pkt *pkt, uint64_t *va)
{
    const struct roce_opcode *op = roce_opcode(pkt->bth.opcode);
    bool response = roce_opcode_is_response(op);
    const struct drill_history *h = from_dut != response ? &ctx->dut[qp] : &ctx->own[qp];
    const struct drill_sent *sent;
    uint64_t off;

    *va = 0;
    if (response) {
        sent = find_sent(h, pkt->bth.psn, ROCE_KIND_READ, true);
        if (!sent)
            return 0;
        off = (uint64_t)psn_distance(pkt->bth.psn, sent->psn) * mtu_of(ctx, qp);
        *va = sent->va + off;
        return off;
    }
    if (roce_opcode_starts(op)) {
        *va = pkt->reth.va;
        return 0;
    }
    sent = find_sent(h, pkt->bth.psn, ROCE_KIND_RESERVED, true);
    if (!sent)
        return 0;
    off = (uint64_t)psn_distance(pkt->bth.psn, sent->psn) * mtu_of(ctx, qp);
    *va = sent->va + off;
    return off;
}

/* Translates a MAC or IP address in a script. In a script, the addresses that drill_net_of()
 * returns mean the DUT and the drill's own end. On a real network, their addresses are those in
 * ctx->net. Returns all other addresses unchanged. */
static const uint8_t *end_address(const struct drill_context *ctx, const uint8_t *bytes, size_t len)
{
    const struct drill_net own = drill_net_of(ctx->net.encap == ROCE_ENCAP_V2_IP6 ? 6 : 4);
    unsigned from = len == 4 ? 12 : 0;

    if (len == 6)
        return memcmp(bytes, own.own_mac, 6) == 0   ? ctx->net.own_mac
               : memcmp(bytes, own.dut_mac, 6) == 0 ? ctx->net.dut_mac
                                                    : bytes;
    if (len != 4 && len != 16)
        return bytes;
    return memcmp(bytes, own.own_addr + from, len) == 0   ? ctx->net.own_addr + from
           : memcmp(bytes, own.dut_addr + from, len) == 0 ? ctx->net.dut_addr + from
                                                          : bytes;
}

static const uint8_t *address_bytes(const struct drill_context *ctx, const struct script_field *f)
{
    return end_address(ctx, f->bytes, f->field->width / 8);
}

/* Gets byte `i` of the payload as the line describes it. `base`: offset of the payload in its
 * message or memory region (fill_base()). Returns false if the memory region or the data that the
 * line names is too short. */
static bool fill_byte(const struct drill_context *ctx, const struct script_fill *fill,
                      uint64_t base, uint64_t i, uint8_t *out)
{
    const struct script_object *object;

    switch (fill->kind) {
    case SCRIPT_FILL_PATTERN:
        *out = script_pattern(fill->pattern, fill->has_off ? fill->off + i : base + i);
        return true;
    case SCRIPT_FILL_DATA:
        *out = i < fill->len ? end_address(ctx, fill->data, fill->len)[i] : 0;
        return i < fill->len;
    case SCRIPT_FILL_ZERO: *out = 0; return true;
    case SCRIPT_FILL_MEMORY:
        object = &ctx->script->object[fill->place.object];
        if (object->kind != SCRIPT_PEER)
            return ctx->ops->read(ctx->dev, fill->place.object, fill->place.num + base + i, out, 1);
        *out = script_pattern(object->options.fill.pattern, fill->place.num + base + i);
        return true;
    default: *out = script_pattern(0, base + i); return true;
    }
}

bool drill_fill_compare(const struct drill_context *ctx, const struct script_fill *fill,
                        uint64_t base, const uint8_t *bytes, size_t len, struct drill_diff *diff)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t want = 0;

        if (!fill_byte(ctx, fill, base, i, &want)) {
            snprintf(diff->field, sizeof(diff->field), "byte %u", (unsigned)i);
            snprintf(diff->expected, sizeof(diff->expected), "a byte outside the memory region");
            snprintf(diff->actual, sizeof(diff->actual), "0x%02x", bytes[i]);
            return false;
        }
        if (bytes[i] == want)
            continue;
        snprintf(diff->field, sizeof(diff->field), "byte %u of %u", (unsigned)i, (unsigned)len);
        snprintf(diff->expected, sizeof(diff->expected), "0x%02x", want);
        snprintf(diff->actual, sizeof(diff->actual), "0x%02x", bytes[i]);
        return false;
    }
    return true;
}

/* Returns the offset of a packet's payload in the contents that its line names. If the line names a
 * memory region without an offset, and the packet accesses this region, returns the offset of the
 * accessed address in the region. Otherwise returns the offset of the payload in the message. */
static uint64_t fill_base(const struct drill_context *ctx, const struct script_packet *packet,
                          bool from_dut, const struct roce_pkt *pkt)
{
    uint64_t va, off = message_offset(ctx, packet->qp, from_dut, pkt, &va);
    const struct script_fill *fill = &packet->fill;
    uint64_t start, len;

    if (fill->kind != SCRIPT_FILL_MEMORY || fill->has_off)
        return off;
    start = ctx->ops->address(ctx->dev, fill->place.object);
    len = script_number(&ctx->script->object[fill->place.object].options, SCRIPT_OPT_LEN, 0);
    return va >= start && va - start < len ? va - start : off;
}

/* ---- building a frame ------------------------------------------------------------------------ */

static void set_field(const struct drill_context *ctx, struct roce_pkt *pkt,
                      const struct script_field *f, uint64_t value)
{
    uint8_t bytes[64];

    switch (f->hdr) {
#define X(id, ID)                                                                                  \
    case ROCE_HDR_##ID:                                                                            \
        roce_##id##_build(&pkt->id, bytes);                                                        \
        if (f->kind == SCRIPT_FIELD_BYTES)                                                         \
            memcpy(bytes + f->field->byte, address_bytes(ctx, f), f->field->width / 8);            \
        else                                                                                       \
            roce_field_put(f->field, bytes, value);                                                \
        roce_##id##_parse(bytes, &pkt->id);                                                        \
        break;
        HEADERS(X)
#undef X
    default: break;
    }
}

static void set_destination(const struct drill_net *net, const struct script_packet *packet,
                            struct roce_pkt *pkt)
{
    uint8_t addr[16];

    memcpy(pkt->eth.dst, net->dut_mac, 6);
    memcpy(pkt->eth.src, net->own_mac, 6);
    memcpy(addr, net->dut_addr, 16);
    if (packet->group) {
        drill_net_group(net, packet->group, addr);
        rnic_gid_multicast_mac(addr, pkt->eth.dst);
        pkt->bth.dest_qp = ROCE_QP_MULTICAST;
    }
    if (net->encap == ROCE_ENCAP_V2_IP4) {
        memcpy(pkt->ip4.dst, addr + 12, 4);
        memcpy(pkt->ip4.src, net->own_addr + 12, 4);
    } else {
        memcpy(pkt->ip6.dst, addr, 16);
        memcpy(pkt->ip6.src, net->own_addr, 16);
    }
}

/* Sets the default values of the fields that the line of a packet may omit. */
static void set_defaults(const struct drill_context *ctx, const struct script_packet *packet,
                         struct roce_pkt *pkt)
{
    const struct script_object *qp = &ctx->script->object[packet->qp];

    pkt->udp.sport = (uint16_t)(0xC000 + packet->qp);
    pkt->bth.dest_qp = ctx->ops->number(ctx->dev, packet->qp);
    pkt->bth.pkey = (uint16_t)script_number(&qp->options, SCRIPT_OPT_PKEY, 0xFFFF);
    pkt->deth.qkey = (uint32_t)script_number(&qp->options, SCRIPT_OPT_QKEY, 0x11111111);
    pkt->deth.src_qp = drill_own_qpn(&ctx->net, packet->qp);
    pkt->bth.psn = first_psn(ctx, packet->qp, false, packet->opcode);
    if (packet->opcode == ROCE_OP_CNP_ROCE)
        pkt->bth.becn = 1;
    for (int i = ctx->script->object_cnt; i-- > 0;)
        if (ctx->script->object[i].kind == SCRIPT_SRQ)
            pkt->xrceth.srqn = ctx->ops->number(ctx->dev, i);
}

/* Returns the length of the payload. If the line names no length, it is the length of the data that
 * the line names, else the usual length for the opcode. */
static uint32_t payload_len(const struct drill_context *ctx, const struct script_packet *packet,
                            const struct roce_opcode *op)
{
    if (packet->has_payload)
        return packet->payload;
    if (packet->fill.kind == SCRIPT_FILL_DATA)
        return packet->fill.len;
    if (op->payload == ROCE_PAYLOAD_MTU)
        return mtu_of(ctx, packet->qp);
    return op->payload == ROCE_PAYLOAD_8 ? 8 : 0;
}

#define PSN_NEAR 65536 /* an absolute PSN farther after the first PSN is probably a mistake */

void drill_packet_doubt(const struct drill_context *ctx, const struct script_packet *packet,
                        bool from_dut, unsigned line, struct strbuf *t)
{
    const struct roce_opcode *op = roce_opcode(packet->opcode);
    const struct script_field *psn = script_packet_field(packet, ROCE_HDR_BTH, "psn");
    const struct script_field *len = script_packet_field(packet, ROCE_HDR_RETH, "dma_len");

    if (packet->qp == SCRIPT_NO_OBJECT)
        return;
    if (psn && psn->kind == SCRIPT_FIELD_NUMBER && !psn->altered) {
        const uint32_t first = first_psn(ctx, packet->qp, from_dut, packet->opcode);
        const int32_t rel = psn_distance((uint32_t)psn->value.num, first);

        if (rel < 0 || rel > PSN_NEAR)
            strbuf_addf(t,
                        "; PSN %" PRIu64 " of line %u is absolute, but the connection starts at "
                        "PSN %u: did you mean PSN +%" PRIu64 "?",
                        psn->value.num, line, first, psn->value.num);
    }
    if (!from_dut && len && len->kind == SCRIPT_FIELD_NUMBER && op->kind == ROCE_KIND_WRITE &&
        op->pos == ROCE_POS_ONLY && len->value.num != payload_len(ctx, packet, op))
        strbuf_addf(t, "; line %u has len %" PRIu64 " but sends %u bytes of payload", line,
                    len->value.num, payload_len(ctx, packet, op));
}

static unsigned keep_flags(const struct script_packet *packet)
{
    unsigned flags = 0;

    for (unsigned i = 0; i < packet->field_cnt; i++) {
        const struct script_field *f = &packet->field[i];
        const char *name = f->field->name;

        if (strcmp(name, "padcnt") == 0)
            flags |= ROCE_BUILD_KEEP_PAD;
        if (f->hdr == ROCE_HDR_IP4 && strcmp(name, "csum") == 0)
            flags |= ROCE_BUILD_KEEP_CSUM;
        if ((f->hdr == ROCE_HDR_IP4 && (strcmp(name, "len") == 0 || strcmp(name, "ihl") == 0)) ||
            ((f->hdr == ROCE_HDR_IP6 || f->hdr == ROCE_HDR_UDP) && strcmp(name, "len") == 0))
            flags |= ROCE_BUILD_KEEP_LEN;
    }
    return flags;
}

/* Sets the lengths in the IP and UDP headers. Sets the pad count too, unless the line names the pad
 * count. */
static void set_lengths(struct roce_pkt *pkt, const struct script_packet *packet)
{
    uint32_t pad = (4 - (pkt->payload_len & 3)) & 3;
    uint32_t len =
        ROCE_UDP_LEN + roce_opcode(pkt->bth.opcode)->len + pkt->payload_len + pad + ROCE_ICRC_LEN;

    pkt->udp.len = (uint16_t)len;
    pkt->ip6.len = (uint16_t)len;
    pkt->ip4.len = (uint16_t)(len + ROCE_IP4_LEN);
    if (!script_packet_field(packet, ROCE_HDR_BTH, "padcnt"))
        pkt->bth.padcnt = (uint8_t)pad;
}

/* Applies fields of the line to a packet. If `altered` is false, applies the fields that the sender
 * sets. If `altered` is true, applies the fields after the word "altered", which the network
 * changes after the sender has computed the ICRC. */
static void apply_fields(const struct drill_context *ctx, const struct script_packet *packet,
                         bool altered, struct roce_pkt *pkt)
{
    uint32_t first =
        packet->qp == SCRIPT_NO_OBJECT ? 0 : first_psn(ctx, packet->qp, false, packet->opcode);

    for (unsigned i = 0; i < packet->field_cnt; i++)
        if (packet->field[i].altered == altered && packet->field[i].kind != SCRIPT_FIELD_ANY)
            set_field(ctx, pkt, &packet->field[i], field_value(ctx, &packet->field[i], first));
}

static bool has_altered(const struct script_packet *packet)
{
    for (unsigned i = 0; i < packet->field_cnt; i++)
        if (packet->field[i].altered)
            return true;
    return false;
}

/* Builds the frame and returns its length. If the network alters fields, the frame keeps the ICRC
 * that the sender computed. */
static size_t build_frame(const struct drill_context *ctx, const struct script_packet *packet,
                          struct roce_pkt *pkt, uint8_t *buf, size_t cap)
{
    unsigned flags = keep_flags(packet);
    int len;

    if (flags & ROCE_BUILD_KEEP_LEN) {
        set_lengths(pkt, packet);
        apply_fields(ctx, packet, false, pkt);
    }
    len = roce_pkt_build(pkt, flags, buf, cap);
    if (len < (int)ROCE_ICRC_LEN)
        return 0;
    if (packet->bad_icrc)
        buf[len - 1] ^= 0x01;
    if (has_altered(packet)) {
        pkt->icrc = roce_le32_get(buf + len - ROCE_ICRC_LEN);
        pkt->bth.padcnt = (uint8_t)((4 - (pkt->payload_len & 3)) & 3);
        apply_fields(ctx, packet, true, pkt);
        len = roce_pkt_build(pkt, flags | ROCE_BUILD_KEEP_ICRC | ROCE_BUILD_KEEP_PAD, buf, cap);
    }
    return len > (int)packet->cut ? (size_t)len - packet->cut : 0;
}

/* Sets the default values of the fields that the line of a CM message may omit. */
static void set_cm_defaults(const struct drill_context *ctx, uint8_t kind, uint8_t *mad)
{
    static const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"local_ca_guid", 0x0200000000000001},
        {"local_comm_id", 0x11110001},
        {"local_qpn", 0x000100},
        {"service_id", 0x0000000001061BD0},
        {"responder_resources", 4},
        {"initiator_depth", 4},
        {"starting_psn", 700},
        {"pkey", 0xFFFF},
        {"mtu", 3},
        {"retry_count", 7},
        {"rnr_retry_count", 7},
        {"max_cm_retries", 3},
        {"remote_cm_timeout", 18},
        {"local_cm_timeout", 18},
        {"primary_ack_timeout", 15},
        {"primary_hop", 64},
        {"request_id", 0x22220001},
        {"service_timeout", 18},
    };
    const struct roce_hdr_info *info = roce_cm_info((enum roce_cm)kind);
    const struct roce_field *f;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        f = roce_field_find(info, rows[i].name);
        if (f)
            roce_field_put(f, mad + ROCE_MAD_LEN, rows[i].value);
    }
    f = roce_field_find(info, "remote_comm_id");
    if (f)
        roce_field_put(f, mad + ROCE_MAD_LEN, ctx->cm_id);
    f = roce_field_find(info, "remote_qpn");
    if (f)
        roce_field_put(f, mad + ROCE_MAD_LEN, ctx->cm_qpn);
    if (kind == ROCE_CM_REQ || kind == ROCE_CM_SIDR_REQ) {
        bool ip6 = ctx->net.encap == ROCE_ENCAP_V2_IP6;
        uint8_t *data = mad + ROCE_MAD_LEN + roce_field_find(info, "private_data")->byte;
        const uint8_t *own = ctx->net.own_addr, *dut = ctx->net.dut_addr;

        /* The RDMA-IP header (Annex A11): IP version, source port and both addresses. */
        data[1] = ip6 ? 0x60 : 0x40;
        data[2] = 0x9C;
        data[3] = 0x40;
        memcpy(data + 4 + (ip6 ? 0 : 12), own + (ip6 ? 0 : 12), ip6 ? 16 : 4);
        memcpy(data + 20 + (ip6 ? 0 : 12), dut + (ip6 ? 0 : 12), ip6 ? 16 : 4);
        if (kind == ROCE_CM_REQ) {
            memcpy(mad + ROCE_MAD_LEN + roce_field_find(info, "primary_local_gid")->byte, own, 16);
            memcpy(mad + ROCE_MAD_LEN + roce_field_find(info, "primary_remote_gid")->byte, dut, 16);
        }
    }
}

static size_t build_cm(struct drill_context *ctx, const struct script_packet *packet, uint8_t *buf,
                       size_t cap)
{
    uint8_t mad[ROCE_MAD_SIZE];
    struct roce_cm_msg msg;
    struct roce_pkt pkt;
    bool reply = packet->cm_kind != ROCE_CM_REQ && packet->cm_kind != ROCE_CM_SIDR_REQ &&
                 packet->cm_kind != ROCE_CM_DREQ;

    roce_cm_msg_init(&msg, (enum roce_cm)packet->cm_kind,
                     reply ? ctx->cm_tid : UINT64_C(0x33330001) + packet->cm_kind);
    if (roce_cm_msg_build(&msg, mad, sizeof(mad)) < 0)
        return 0;
    set_cm_defaults(ctx, packet->cm_kind, mad);
    for (unsigned i = 0; i < packet->cm_cnt; i++) {
        const struct script_cm_field *f = &packet->cm[i];
        uint64_t value = f->value.object == SCRIPT_NO_OBJECT
                             ? f->value.num
                             : ctx->ops->number(ctx->dev, f->value.object);

        if (!f->any)
            roce_field_put(f->field, mad + (f->mad ? 0 : ROCE_MAD_LEN), value);
    }
    roce_pkt_init(&pkt, ctx->net.encap, packet->opcode);
    set_destination(&ctx->net, packet, &pkt);
    pkt.udp.sport = 0xC001;
    pkt.bth.dest_qp = ROCE_QP_GSI;
    pkt.bth.psn = ctx->cm_psn++ & 0xFFFFFF;
    pkt.deth.qkey = ROCE_QKEY_GSI;
    pkt.deth.src_qp = ROCE_QP_GSI;
    pkt.payload = mad;
    pkt.payload_len =
        packet->has_payload && packet->payload < sizeof(mad) ? packet->payload : sizeof(mad);
    apply_fields(ctx, packet, false, &pkt);
    return build_frame(ctx, packet, &pkt, buf, cap);
}

size_t drill_packet_build(struct drill_context *ctx, const struct script_packet *packet,
                          uint8_t *buf, size_t cap)
{
    const struct roce_opcode *op = roce_opcode(packet->opcode);
    uint8_t payload[16384];
    struct roce_pkt pkt;
    uint64_t base;

    if (packet->is_cm)
        return build_cm(ctx, packet, buf, cap);
    roce_pkt_init(&pkt, ctx->net.encap, packet->opcode);
    set_defaults(ctx, packet, &pkt);
    set_destination(&ctx->net, packet, &pkt);
    pkt.payload_len = payload_len(ctx, packet, op);
    pkt.reth.dma_len = pkt.payload_len;
    apply_fields(ctx, packet, false, &pkt);
    if (!script_packet_field(packet, ROCE_HDR_AETH, "msn"))
        pkt.aeth.msn = own_msn(ctx, packet->qp, pkt.bth.psn,
                               roce_pkt_has(&pkt, ROCE_HDR_AETH) &&
                                   roce_syndrome_kind(pkt.aeth.syndrome) != ROCE_SYN_ACK);
    base = fill_base(ctx, packet, false, &pkt);
    for (uint32_t i = 0; i < pkt.payload_len; i++)
        if (!fill_byte(ctx, &packet->fill, base, i, &payload[i]))
            payload[i] = 0;
    pkt.payload = payload;
    add_sent(ctx, &ctx->own[packet->qp], packet->qp, &pkt);
    return build_frame(ctx, packet, &pkt, buf, cap);
}

/* ---- the DUT's packets ----------------------------------------------------------------------- */

static void learn_cm(struct drill_context *ctx, const struct roce_cm_msg *msg)
{
    uint8_t mad[ROCE_MAD_SIZE];
    const struct roce_hdr_info *info = roce_cm_info(msg->kind);
    const struct roce_field *f = roce_field_find(info, "local_comm_id");

    ctx->cm_tid = msg->mad.tid;
    if (roce_cm_msg_build(msg, mad, sizeof(mad)) < 0)
        return;
    if (f)
        ctx->cm_id = (uint32_t)roce_field_get(f, mad + ROCE_MAD_LEN);
    f = roce_field_find(info, "local_qpn");
    if (f)
        ctx->cm_qpn = (uint32_t)roce_field_get(f, mad + ROCE_MAD_LEN);
}

int drill_packet_seen(struct drill_context *ctx, const struct roce_pkt *pkt)
{
    struct roce_cm_msg msg;

    if (roce_cm_msg_of_pkt(&msg, pkt) == 0) {
        learn_cm(ctx, &msg);
        return SCRIPT_NO_OBJECT;
    }
    for (int i = 0; i < ctx->script->object_cnt; i++) {
        const struct script_object *object = &ctx->script->object[i];
        bool ours =
            pkt->bth.dest_qp == drill_own_qpn(&ctx->net, i) ||
            (roce_pkt_has(pkt, ROCE_HDR_DETH) && pkt->deth.src_qp == ctx->ops->number(ctx->dev, i));

        if (object->kind == SCRIPT_QP && ours) {
            add_sent(ctx, &ctx->dut[i], i, pkt);
            return i;
        }
    }
    return SCRIPT_NO_OBJECT;
}

static bool set_diff(struct drill_diff *diff, const char *field, const char *expected,
                     const char *actual)
{
    struct strbuf f = strbuf_of(diff->field, sizeof(diff->field));
    struct strbuf e = strbuf_of(diff->expected, sizeof(diff->expected));
    struct strbuf a = strbuf_of(diff->actual, sizeof(diff->actual));

    strbuf_addf(&f, "%s", field);
    strbuf_addf(&e, "%s", expected);
    strbuf_addf(&a, "%s", actual);
    return false;
}

static bool number_diff(struct drill_diff *diff, const char *field, uint64_t expected,
                        uint64_t actual)
{
    snprintf(diff->field, sizeof(diff->field), "%s", field);
    snprintf(diff->expected, sizeof(diff->expected), "%" PRIu64, expected);
    snprintf(diff->actual, sizeof(diff->actual), "%" PRIu64, actual);
    return false;
}

static bool compare_field(const struct drill_context *ctx, const struct script_field *f,
                          uint32_t first, const struct roce_pkt *pkt, struct drill_diff *diff)
{
    const uint8_t *hdr = pkt->frame + pkt->off[f->hdr];
    uint64_t want = field_value(ctx, f, first), got;
    uint8_t bytes[64] = {0};
    bool same;

    if (f->kind == SCRIPT_FIELD_ANY)
        return true;
    if (!roce_pkt_has(pkt, f->hdr))
        return set_diff(diff, roce_hdr_info(f->hdr)->name, "present", "absent");
    snprintf(diff->field, sizeof(diff->field), "%s.%s", roce_hdr_info(f->hdr)->id, f->field->name);
    if (f->kind == SCRIPT_FIELD_BYTES) {
        memcpy(bytes + f->field->byte, address_bytes(ctx, f), f->field->width / 8);
        same = memcmp(hdr + f->field->byte, address_bytes(ctx, f), f->field->width / 8) == 0;
    } else {
        got = roce_field_get(f->field, hdr);
        if (f->hdr == ROCE_HDR_BTH && strcmp(f->field->name, "dest_qp") == 0)
            want = drill_qpn(&ctx->net, want);
        same = f->kind_only ? got >> 5 == want >> 5 : got == want;
        roce_field_put(f->field, bytes, want);
    }
    if (same)
        return true;
    if (f->kind == SCRIPT_FIELD_PSN) {
        snprintf(diff->expected, sizeof(diff->expected), "%+d",
                 psn_distance((uint32_t)want, first));
        snprintf(diff->actual, sizeof(diff->actual), "%+d", psn_distance(pkt->bth.psn, first));
        return false;
    }
    if (f->kind_only)
        snprintf(diff->expected, sizeof(diff->expected), "%s", want >> 5 == 0 ? "ACK" : "RNR NAK");
    else
        roce_field_text(f->field, bytes, diff->expected, sizeof(diff->expected));
    roce_field_text(f->field, hdr, diff->actual, sizeof(diff->actual));
    return false;
}

/* Checks the properties that the specification requires of every packet, even if the line does not
 * name them. */
static bool compare_form(const struct drill_context *ctx, const struct script_packet *packet,
                         const struct roce_pkt *pkt, struct drill_diff *diff)
{
    const struct roce_opcode *op = roce_opcode(packet->opcode);
    char text[256];
    struct strbuf t = strbuf_of(text, sizeof(text));

    if (pkt->bth.opcode != packet->opcode)
        return set_diff(diff, "bth.opcode", packet_text_opcode(packet->opcode),
                        packet_text_opcode(pkt->bth.opcode));
    packet_text_defects(&t, pkt);
    if (t.len && !packet->bad_icrc)
        return set_diff(diff, "form", "no defect", text + 2);
    if (memcmp(pkt->eth.src, ctx->net.dut_mac, 6) != 0)
        return set_diff(diff, "eth.src", "that of the device", "another");
    if (!(pkt->eth.dst[0] & 1) && memcmp(pkt->eth.dst, ctx->net.own_mac, 6) != 0)
        return set_diff(diff, "eth.dst", "that of the drill", "another");
    if (roce_opcode_is_response(op) && pkt->bth.ackreq)
        return number_diff(diff, "bth.ackreq", 0, 1);
    if (!script_packet_field(packet, ROCE_HDR_BTH, "se") && pkt->bth.se)
        return number_diff(diff, "bth.se", 0, 1);
    return true;
}

static bool compare_cm(const struct drill_context *ctx, const struct script_packet *packet,
                       const struct roce_pkt *pkt, struct drill_diff *diff)
{
    uint8_t mad[ROCE_MAD_SIZE];
    struct roce_cm_msg msg;

    if (roce_cm_msg_of_pkt(&msg, pkt) != 0)
        return set_diff(diff, "packet", roce_cm_name((enum roce_cm)packet->cm_kind),
                        packet_text_opcode(pkt->bth.opcode));
    if (msg.kind != packet->cm_kind)
        return set_diff(diff, "CM message", roce_cm_name((enum roce_cm)packet->cm_kind),
                        roce_cm_name(msg.kind));
    if (roce_cm_msg_build(&msg, mad, sizeof(mad)) < 0)
        return set_diff(diff, "CM message", "readable", "unreadable");
    for (unsigned i = 0; i < packet->cm_cnt; i++) {
        const struct script_cm_field *f = &packet->cm[i];
        uint64_t want = f->value.object == SCRIPT_NO_OBJECT
                            ? f->value.num
                            : ctx->ops->number(ctx->dev, f->value.object);
        uint64_t got = roce_field_get(f->field, mad + (f->mad ? 0 : ROCE_MAD_LEN));

        if (!f->any && want != got)
            return number_diff(diff, f->field->name, want, got);
    }
    return true;
}

bool drill_packet_compare(const struct drill_context *ctx, const struct script_packet *packet,
                          const struct roce_pkt *pkt, struct drill_diff *diff)
{
    uint32_t first = 0;

    if (!compare_form(ctx, packet, pkt, diff))
        return false;
    if (packet->is_cm)
        return compare_cm(ctx, packet, pkt, diff);
    first = first_psn(ctx, packet->qp, true, packet->opcode);
    for (unsigned i = 0; i < packet->field_cnt; i++)
        if (!compare_field(ctx, &packet->field[i], first, pkt, diff))
            return false;
    if (packet->has_payload && pkt->payload_len != packet->payload)
        return number_diff(diff, "payload length", packet->payload, pkt->payload_len);
    if (packet->fill.kind == SCRIPT_FILL_NONE)
        return true;
    return drill_fill_compare(ctx, &packet->fill, fill_base(ctx, packet, true, pkt), pkt->payload,
                              pkt->payload_cap_len, diff);
}
