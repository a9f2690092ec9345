/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "simnet.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

struct simnet_flight {
    uint64_t due;
    uint64_t seq; /* order of frames with equal times */
    unsigned from;
    unsigned to;
    enum simnet_class cls;
    bool bad;
    bool marked;
    bool arrives; /* at the node; false: at the switch in front of it */
    size_t len;
    uint8_t *bytes;
};

void simnet_init(struct simnet *net, uint64_t seed)
{
    memset(net, 0, sizeof(*net));
    net->rng = rng_of(seed);
}

void simnet_free(struct simnet *net)
{
    for (size_t i = 0; i < net->flight_cnt; i++)
        free(net->flight[i].bytes);
    free(net->flight);
    if (net->record)
        fclose(net->record);
    net->flight = NULL;
    net->flight_cnt = 0;
    net->flight_cap = 0;
    net->record = NULL;
}

unsigned simnet_add(struct simnet *net, const struct simnet_node *node)
{
    if (net->node_cnt == SIMNET_NODES)
        abort();
    net->node[net->node_cnt] = *node;
    return net->node_cnt++;
}

void simnet_paths(struct simnet *net, const struct simnet_path *like)
{
    for (unsigned a = 0; a < SIMNET_NODES; a++) {
        for (unsigned b = 0; b < SIMNET_NODES; b++) {
            struct simnet_path *path = &net->path[a][b];
            uint64_t busy = path->busy;
            uint64_t last = path->last;

            *path = *like;
            path->busy = busy;
            path->last = last;
        }
    }
}

struct simnet_rule *simnet_rule(struct simnet *net, const struct simnet_rule *rule)
{
    if (net->rule_cnt == SIMNET_RULES)
        abort();
    net->rule[net->rule_cnt] = *rule;
    return &net->rule[net->rule_cnt++];
}

void simnet_part(struct simnet *net, unsigned a, unsigned b, uint64_t ns)
{
    net->path[a][b].down_from = net->path[b][a].down_from = net->now;
    net->path[a][b].down_to = net->path[b][a].down_to = net->now + ns;
}

/* ---- what packets are --------------------------------------------------------------------------
 */

static enum simnet_class classify_aeth(uint8_t syndrome)
{
    switch (roce_syndrome_kind(syndrome)) {
    case ROCE_SYN_ACK: return SIMNET_ACK;
    case ROCE_SYN_RNR: return SIMNET_NAK_RNR;
    case ROCE_SYN_NAK:
        return roce_syndrome_code(syndrome) == ROCE_NAK_PSN_SEQ ? SIMNET_NAK_SEQ : SIMNET_NAK_FATAL;
    case ROCE_SYN_RESERVED: break;
    }
    return SIMNET_OTHER;
}

enum simnet_class simnet_classify(const struct roce_pkt *pkt)
{
    if (!pkt->op)
        return SIMNET_OTHER;
    switch (pkt->op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: return SIMNET_DATA;
    case ROCE_KIND_READ: return SIMNET_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_FLUSH:
    case ROCE_KIND_ATOMIC_WRITE: return SIMNET_ATOMIC;
    case ROCE_KIND_READ_RESP: return SIMNET_READ_RESP;
    case ROCE_KIND_ATOMIC_ACK: return SIMNET_ATOMIC_ACK;
    case ROCE_KIND_CNP: return SIMNET_CNP;
    case ROCE_KIND_ACK: return classify_aeth(pkt->aeth.syndrome);
    default: return SIMNET_OTHER;
    }
}

const char *simnet_class_name(enum simnet_class cls)
{
    static const char *const names[] = {
#define X(NAME) #NAME,
        SIMNET_CLASSES(X)
#undef X
    };

    return (unsigned)cls < SIMNET_CLASS_CNT ? names[cls] : "?";
}

uint64_t simnet_count(const struct simnet *net, int from, unsigned classes, enum simnet_fate fate)
{
    uint64_t sum = 0;

    for (unsigned n = 0; n < net->node_cnt; n++)
        for (unsigned c = 0; c < SIMNET_CLASS_CNT; c++)
            if ((from < 0 || n == (unsigned)from) && (classes & 1u << c))
                sum += net->tally[n][c][fate];
    return sum;
}

uint64_t simnet_sum(const uint64_t by_class[SIMNET_CLASS_CNT], unsigned classes)
{
    uint64_t sum = 0;

    for (unsigned c = 0; c < SIMNET_CLASS_CNT; c++)
        if (classes & 1u << c)
            sum += by_class[c];
    return sum;
}

/* ---- recording ---------------------------------------------------------------------------------
 */

static void put32(FILE *f, uint32_t v)
{
    uint8_t b[4];

    roce_le32_put(b, v);
    fwrite(b, 1, sizeof(b), f);
}

bool simnet_record(struct simnet *net, const char *path)
{
    net->record = fopen(path, "wb");
    if (!net->record)
        return false;
    put32(net->record, 0xA1B23C4D); /* magic number of pcap with nanoseconds, little-endian */
    put32(net->record, 0x00040002); /* version 2.4 */
    put32(net->record, 0);
    put32(net->record, 0);
    put32(net->record, 65535);
    put32(net->record, 1); /* link type Ethernet */
    return true;
}

static void record(const struct simnet *net, const uint8_t *frame, size_t len)
{
    if (!net->record)
        return;
    put32(net->record, (uint32_t)(net->now / 1000000000u));
    put32(net->record, (uint32_t)(net->now % 1000000000u));
    put32(net->record, (uint32_t)len);
    put32(net->record, (uint32_t)len);
    fwrite(frame, 1, len, net->record);
}

/* ---- the heap of frames under way --------------------------------------------------------------
 */

static bool before(const struct simnet_flight *a, const struct simnet_flight *b)
{
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static void swap(struct simnet_flight *a, struct simnet_flight *b)
{
    struct simnet_flight t = *a;

    *a = *b;
    *b = t;
}

static void push(struct simnet *net, const struct simnet_flight *flight)
{
    size_t i = net->flight_cnt++;

    if (i == net->flight_cap) {
        net->flight_cap = net->flight_cap ? 2 * net->flight_cap : 256;
        net->flight = realloc(net->flight, net->flight_cap * sizeof(*net->flight));
        if (!net->flight)
            abort();
    }
    net->flight[i] = *flight;
    for (; i && before(&net->flight[i], &net->flight[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&net->flight[i], &net->flight[(i - 1) / 2]);
}

static struct simnet_flight pop(struct simnet *net)
{
    struct simnet_flight first = net->flight[0];
    size_t i = 0;

    net->flight[0] = net->flight[--net->flight_cnt];
    for (;;) {
        size_t kid = 2 * i + 1;

        if (kid >= net->flight_cnt)
            return first;
        if (kid + 1 < net->flight_cnt && before(&net->flight[kid + 1], &net->flight[kid]))
            kid++;
        if (!before(&net->flight[kid], &net->flight[i]))
            return first;
        swap(&net->flight[kid], &net->flight[i]);
        i = kid;
    }
}

/* ---- faults ------------------------------------------------------------------------------------
 */

/* The faults that hit one frame. */
struct verdict {
    bool drop;
    bool repeat;
    uint64_t repeat_ns;
    bool hold;
    uint64_t hold_ns;
    int corrupt; /* offset of the byte with a flipped bit, or -1 */
    uint8_t bit;
    bool mark;
    bool full; /* the queue has no room */
};

static bool chance(struct simnet *net, uint32_t ppm)
{
    return ppm && rng_below(&net->rng, 1000000) < ppm;
}

static uint64_t up_to(struct simnet *net, uint64_t ns)
{
    return ns ? rng_u64(&net->rng) % (ns + 1) : 0;
}

static int icrc_byte(struct simnet *net, const struct roce_pkt *pkt)
{
    return (int)(pkt->icrc_off + rng_below(&net->rng, ROCE_ICRC_LEN));
}

static int payload_byte(struct simnet *net, const struct roce_pkt *pkt)
{
    if (pkt->payload_len == 0)
        return icrc_byte(net, pkt);
    return (int)(pkt->payload_off + rng_below(&net->rng, pkt->payload_len));
}

/* Returns the offset of a random byte of the BTH that the ICRC covers. */
static int header_byte(struct simnet *net, const struct roce_pkt *pkt)
{
    static const uint8_t bytes[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11};

    return pkt->off[ROCE_HDR_BTH] + bytes[rng_below(&net->rng, sizeof(bytes))];
}

static void corrupt_somewhere(struct simnet *net, const struct roce_pkt *pkt, struct verdict *v)
{
    v->bit = (uint8_t)(1u << rng_below(&net->rng, 8));
    switch (rng_below(&net->rng, 3)) {
    case 0: v->corrupt = payload_byte(net, pkt); break;
    case 1: v->corrupt = header_byte(net, pkt); break;
    default: v->corrupt = icrc_byte(net, pkt); break;
    }
}

static bool rule_fits(const struct simnet_rule *rule, unsigned from, enum simnet_class cls,
                      const struct roce_pkt *pkt)
{
    return (rule->from < 0 || (unsigned)rule->from == from) &&
           (rule->dest_qp == 0 || rule->dest_qp == pkt->bth.dest_qp) &&
           (!rule->psn_matters || (rule->psn & ROCE_PSN_MASK) == pkt->bth.psn) &&
           (rule->classes == 0 || (rule->classes & 1u << cls));
}

static void apply_rule(struct simnet *net, struct simnet_path *path, const struct simnet_rule *rule,
                       const struct roce_pkt *pkt, struct verdict *v)
{
    v->bit = 1;
    switch (rule->action) {
    case SIMNET_DROP: v->drop = true; break;
    case SIMNET_REPEAT:
        v->repeat = true;
        v->repeat_ns = rule->delay_ns;
        break;
    case SIMNET_HOLD:
        v->hold = true;
        v->hold_ns = rule->delay_ns;
        break;
    case SIMNET_CORRUPT_PAYLOAD: v->corrupt = payload_byte(net, pkt); break;
    case SIMNET_CORRUPT_HEADER: v->corrupt = pkt->off[ROCE_HDR_BTH] + 11; break;
    case SIMNET_CORRUPT_ICRC: v->corrupt = icrc_byte(net, pkt); break;
    case SIMNET_MARK: v->mark = true; break;
    case SIMNET_FULL: v->full = true; break;
    case SIMNET_CUT:
        path->down_from = net->now;
        path->down_to = net->now + rule->delay_ns;
        break;
    case SIMNET_ACTION_CNT: break;
    }
}

static struct verdict judge(struct simnet *net, unsigned from, struct simnet_path *path,
                            enum simnet_class cls, const struct roce_pkt *pkt)
{
    struct verdict v = {.corrupt = -1};

    v.drop = chance(net, path->loss_ppm);
    v.repeat = chance(net, path->dup_ppm);
    v.repeat_ns = v.repeat ? up_to(net, path->reorder_ns) : 0;
    v.hold = chance(net, path->reorder_ppm);
    v.hold_ns = v.hold ? up_to(net, path->reorder_ns) : 0;
    v.mark = chance(net, path->mark_ppm);
    if (chance(net, path->corrupt_ppm))
        corrupt_somewhere(net, pkt, &v);
    for (unsigned i = 0; i < net->rule_cnt; i++) {
        struct simnet_rule *rule = &net->rule[i];

        if (!rule_fits(rule, from, cls, pkt))
            continue;
        rule->seen++;
        if (rule->nth && rule->nth != rule->seen)
            continue;
        rule->hits++;
        apply_rule(net, path, rule, pkt, &v);
    }
    return v;
}

/* ---- sending -----------------------------------------------------------------------------------
 */

static int find_node(const struct simnet *net, const uint8_t mac[6])
{
    for (unsigned i = 0; i < net->node_cnt; i++)
        if (memcmp(net->node[i].mac, mac, 6) == 0)
            return (int)i;
    return -1;
}

/* Sets ECN to 11 and corrects the IPv4 header checksum. The ICRC covers neither. */
static void mark_frame(uint8_t *frame, const struct roce_pkt *pkt)
{
    uint8_t *ip = frame + pkt->net_off;
    uint32_t sum = 0;

    if (pkt->encap == ROCE_ENCAP_V2_IP6) {
        ip[1] |= 0x30;
        return;
    }
    if (pkt->encap != ROCE_ENCAP_V2_IP4)
        return;
    ip[1] |= 3;
    roce_bits_put(ip, 10, 0, 16, 0);
    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)roce_bits_get(ip, i, 0, 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    roce_bits_put(ip, 10, 0, 16, ~sum & 0xFFFF);
}

static void launch(struct simnet *net, unsigned from, unsigned to, enum simnet_class cls,
                   const struct roce_pkt *pkt, const struct verdict *v, uint64_t due)
{
    struct simnet_flight flight = {.due = due,
                                   .seq = net->seq++,
                                   .from = from,
                                   .to = to,
                                   .cls = cls,
                                   .bad = v->corrupt >= 0,
                                   .marked = v->mark && pkt->encap != ROCE_ENCAP_V1,
                                   .len = pkt->wire_len};

    flight.bytes = malloc(flight.len);
    if (!flight.bytes)
        abort();
    memcpy(flight.bytes, pkt->frame, flight.len);
    if (v->mark)
        mark_frame(flight.bytes, pkt);
    if (v->corrupt >= 0)
        flight.bytes[v->corrupt] ^= v->bit;
    push(net, &flight);
}

/* Returns the time at which a frame of `len` bytes has left the sender, or 0 if the queue has no
 * room. */
static uint64_t take_wire(struct simnet *net, unsigned from, struct simnet_path *path, size_t len)
{
    uint64_t start = path->busy > net->now ? path->busy : net->now;

    if (path->bps == 0)
        return net->now;
    if (path->queue && (start - net->now) * path->bps / 8000000000u + len > path->queue)
        return 0;
    path->busy = start + (uint64_t)len * 8000000000u / path->bps;
    if (path->queue == 0)
        net->hold_output[from] = path->busy;
    return path->busy;
}

static unsigned carry(struct simnet *net, unsigned from, unsigned to, enum simnet_class cls,
                      const struct roce_pkt *pkt)
{
    struct simnet_path *path = &net->path[from][to];
    struct verdict v = judge(net, from, path, cls, pkt);
    unsigned fates = 1u << SIMNET_SENT;
    uint64_t left = take_wire(net, from, path, pkt->wire_len);
    uint64_t due;

    if (net->now >= path->down_from && net->now < path->down_to)
        return fates | 1u << SIMNET_PARTED;
    if (v.drop)
        return fates | 1u << SIMNET_LOST;
    if (v.full || (path->bps && left == 0))
        return fates | 1u << SIMNET_OVERFLOWED;
    due = left + path->delay_ns + up_to(net, path->jitter_ns);
    if (v.hold) {
        fates |= 1u << SIMNET_HELD;
        due += v.hold_ns;
    } else {
        if (due < path->last)
            due = path->last;
        path->last = due;
    }
    if (v.mark)
        fates |= 1u << SIMNET_MARKED;
    if (v.corrupt >= 0)
        fates |= 1u << SIMNET_CORRUPTED;
    launch(net, from, to, cls, pkt, &v, due);
    if (v.repeat) {
        fates |= 1u << SIMNET_DUPLICATED;
        launch(net, from, to, cls, pkt, &v, due + v.repeat_ns);
    }
    return fates;
}

/* Counts the fate of one copy, except SENT, which is counted once per frame. */
static unsigned tally(struct simnet *net, unsigned from, enum simnet_class cls, unsigned fates)
{
    for (unsigned f = 0; f < SIMNET_FATE_CNT; f++)
        if (f != SIMNET_SENT)
            net->tally[from][cls][f] += fates >> f & 1;
    return fates;
}

static void send_frame(struct simnet *net, unsigned from, const uint8_t *frame, size_t len)
{
    struct roce_pkt pkt;
    struct simnet_event event;
    int error = roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len);
    enum simnet_class cls = error ? SIMNET_OTHER : simnet_classify(&pkt);
    bool group = (frame[0] & 1) != 0;
    int to = group ? -1 : find_node(net, frame);
    unsigned fates = 1u << SIMNET_SENT;

    record(net, frame, len);
    net->sent_bytes[from] += len;
    net->tally[from][cls][SIMNET_SENT]++;
    for (unsigned i = 0; i < net->node_cnt && !error; i++)
        if (group ? i != from : (int)i == to)
            fates |= tally(net, from, cls, carry(net, from, i, cls, &pkt));
    if (!group && (to < 0 || error))
        fates |= tally(net, from, cls, 1u << SIMNET_LOST);
    event = (struct simnet_event){from, to, cls, fates, net->now, &pkt};
    if (net->observe)
        net->observe(net->ctx, &event);
}

/* Transmits the pending frames of all nodes, one frame per node in turn. */
static void drain(struct simnet *net)
{
    uint8_t frame[ROCE_FRAME_MAX];
    bool any;

    do {
        any = false;
        for (unsigned i = 0; i < net->node_cnt; i++) {
            const struct simnet_node *node = &net->node[i];
            size_t len;

            if (net->hold_output[i] > net->now)
                continue;
            len = node->output(node->ctx, frame, sizeof(frame), net->now);
            if (len) {
                send_frame(net, i, frame, len);
                any = true;
            }
        }
    } while (any);
}

/* ---- the clock ---------------------------------------------------------------------------------
 */

static void tell_switched(struct simnet *net, const struct simnet_flight *flight,
                          enum simnet_fate fate)
{
    if (net->switched)
        net->switched(net->ctx, flight->from, flight->to, flight->bytes, flight->len, fate);
}

/* A frame reaches the switch: queues it at the output port, marks it if the queue is long, or drops
 * it. */
static void enter_queue(struct simnet *net, struct simnet_flight *flight)
{
    struct simnet_port *port = &net->port[flight->to];
    uint64_t start = port->busy > net->now ? port->busy : net->now;
    uint64_t waiting = (start - net->now) * port->bps / 8000000000u;
    struct roce_pkt pkt;

    if (waiting + flight->len > port->queue) {
        net->tally[flight->from][flight->cls][SIMNET_OVERFLOWED]++;
        tell_switched(net, flight, SIMNET_OVERFLOWED);
        free(flight->bytes);
        return;
    }
    if (waiting + flight->len > port->depth_max)
        port->depth_max = waiting + flight->len;
    if (port->mark && waiting > port->mark &&
        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, flight->bytes, flight->len, flight->len) == 0 &&
        ((pkt.encap == ROCE_ENCAP_V2_IP4 && pkt.ip4.ecn) ||
         (pkt.encap == ROCE_ENCAP_V2_IP6 && pkt.ip6.ecn))) {
        mark_frame(flight->bytes, &pkt);
        flight->marked = true;
        net->tally[flight->from][flight->cls][SIMNET_MARKED]++;
        tell_switched(net, flight, SIMNET_MARKED);
    }
    port->busy = start + (uint64_t)flight->len * 8000000000u / port->bps;
    flight->due = port->busy + port->delay_ns;
    flight->seq = net->seq++;
    flight->arrives = true;
    push(net, flight);
}

static void deliver(struct simnet *net)
{
    struct simnet_flight flight = pop(net);
    const struct simnet_node *node = &net->node[flight.to];

    if (!flight.arrives && net->port[flight.to].bps) {
        enter_queue(net, &flight);
        return;
    }
    if (net->arrive)
        net->arrive(net->ctx, flight.to, flight.bytes, flight.len, net->now);
    net->tally[flight.from][flight.cls][SIMNET_DELIVERED]++;
    net->tally[flight.from][flight.cls][SIMNET_BAD] += flight.bad;
    net->got[flight.to][flight.cls] += !flight.bad;
    net->marked[flight.to][flight.cls] += flight.marked && !flight.bad;
    net->got_bytes[flight.to] += flight.len;
    net->arrived[flight.to]++;
    net->arrived_bad[flight.to] += flight.bad;
    node->input(node->ctx, flight.bytes, flight.len, net->now);
    free(flight.bytes);
}

static uint64_t next_event(const struct simnet *net)
{
    uint64_t next = net->flight_cnt ? net->flight[0].due : SIMNET_NEVER;

    for (unsigned i = 0; i < net->node_cnt; i++) {
        uint64_t at = net->node[i].deadline(net->node[i].ctx);

        if (at < next)
            next = at;
        if (net->hold_output[i] > net->now && net->hold_output[i] < next)
            next = net->hold_output[i];
    }
    return next;
}

bool simnet_run(struct simnet *net, uint64_t until)
{
    for (;;) {
        uint64_t next;
        bool fired = false;

        drain(net);
        if (net->tick)
            net->tick(net->ctx, net->now);
        drain(net);
        next = next_event(net);
        if (next == SIMNET_NEVER)
            return true;
        if (next > until) {
            if (until > net->now)
                net->now = until;
            return false;
        }
        if (next > net->now)
            net->now = next;
        for (unsigned i = 0; i < net->node_cnt; i++) {
            if (net->node[i].deadline(net->node[i].ctx) > net->now)
                continue;
            net->node[i].expire(net->node[i].ctx, net->now);
            fired = true;
        }
        if (fired) /* Frames that a timer causes leave before another frame arrives. */
            drain(net);
        if (net->flight_cnt && net->flight[0].due <= net->now)
            deliver(net);
    }
}
