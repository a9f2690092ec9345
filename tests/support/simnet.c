/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "simnet.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

struct simnet_flight {
    struct delay_entry entry; /* entry in simnet.flights */
    unsigned from;
    unsigned to;
    enum simnet_class cls;
    bool bad;
    bool marked;
    /* True: the frame arrives at the node; false: it arrives at the switch port towards the
     * node. */
    bool arrives;
    size_t len;
    uint8_t bytes[];
};

void simnet_init(struct simnet *net, uint64_t seed)
{
    memset(net, 0, sizeof(*net));
    net->rng = rng_of(seed);
    /* Initialize all entries of the rule table, because each has a separate random sequence. */
    net->faults.cnt = IMPAIR_RULES_MAX;
    impair_init(&net->impair, &net->faults, seed);
    net->faults.cnt = 0;
}

/* Removes the next frame in flight that arrives by `now`, and returns it. Returns NULL if there is
 * none. */
static struct simnet_flight *take_flight(struct simnet *net, uint64_t now)
{
    struct delay_entry *entry = delay_line_take(&net->flights, now);

    return entry ? (struct simnet_flight *)((char *)entry - offsetof(struct simnet_flight, entry))
                 : NULL;
}

void simnet_free(struct simnet *net)
{
    struct simnet_flight *flight;

    while ((flight = take_flight(net, UINT64_MAX)) != NULL)
        free(flight);
    delay_line_free(&net->flights);
    impair_free(&net->impair);
    if (net->record)
        fclose(net->record);
    net->record = NULL;
}

unsigned simnet_add(struct simnet *net, const struct simnet_node *node)
{
    if (net->node_cnt == SIMNET_NODES)
        abort();
    net->node[net->node_cnt] = *node;
    return net->node_cnt++;
}

/* Adds a chance fault: `rule` applied with probability `ppm` (parts per million). Adds nothing if
 * `ppm` is 0. */
static void add_chance(struct simnet *net, struct impair_rule rule, uint32_t ppm)
{
    rule.keep_icrc = true;
    rule.kinds = IMPAIR_ANY;
    rule.nth_to = UINT32_MAX;
    rule.chance = IMPAIR_ALWAYS * ppm / 1000000;
    if (ppm)
        net->faults.rule[net->faults.cnt++] = rule;
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
    net->faults.cnt = 0;
    add_chance(net, (struct impair_rule){.action = IMPAIR_DROP}, like->loss_ppm);
    add_chance(net, (struct impair_rule){.action = IMPAIR_DUP, .cnt_max = 1}, like->dup_ppm);
    add_chance(net, (struct impair_rule){.action = IMPAIR_DELAY, .delay_max = like->reorder_ns},
               like->reorder_ppm);
    add_chance(net, (struct impair_rule){.action = IMPAIR_CE}, like->mark_ppm);
    for (unsigned part = IMPAIR_PAYLOAD; part <= IMPAIR_ICRC; part++)
        add_chance(
            net,
            (struct impair_rule){.action = IMPAIR_CORRUPT, .part = part, .byte = IMPAIR_ANY_BYTE},
            like->corrupt_ppm / 3);
    net->chance_cnt = net->faults.cnt;
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

/* ---- classes of packets ---------------------------------------------------------------------- */

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

/* ---- recording frames ------------------------------------------------------------------------ */

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
    put32(net->record, 1); /* link type: Ethernet */
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

/* ---- applying faults ------------------------------------------------------------------------- */

/* Effects of the rules (struct simnet_rule) that rnic/impair does not implement. */
struct own_faults {
    uint64_t repeat_ns; /* time between the copies of a frame, ns */
    bool full;          /* treat the queue of the path as full */
};

static uint64_t up_to(struct simnet *net, uint64_t ns)
{
    return ns ? rng_u64(&net->rng) % (ns + 1) : 0;
}

static bool rule_fits(const struct simnet_rule *rule, unsigned from, enum simnet_class cls,
                      const struct roce_pkt *pkt)
{
    return (rule->from < 0 || (unsigned)rule->from == from) &&
           (rule->dest_qp == 0 || rule->dest_qp == pkt->bth.dest_qp) &&
           (!rule->psn_matters || (rule->psn & ROCE_PSN_MASK) == pkt->bth.psn) &&
           (rule->classes == 0 || (rule->classes & 1u << cls));
}

/* Adds the fault of an exact rule to the faults of the current frame, or to *own if rnic/impair
 * does not implement it. */
static void add_fault(struct simnet *net, struct simnet_path *path, const struct simnet_rule *rule,
                      const struct roce_pkt *pkt, struct own_faults *own)
{
    struct impair_rule fault = {
        .action = IMPAIR_CORRUPT, .part = IMPAIR_ICRC, .byte = IMPAIR_ANY_BYTE};

    switch (rule->action) {
    case SIMNET_DROP: fault.action = IMPAIR_DROP; break;
    case SIMNET_REPEAT:
        fault = (struct impair_rule){.action = IMPAIR_DUP, .cnt_max = 1};
        own->repeat_ns = rule->delay_ns;
        break;
    case SIMNET_HOLD:
        fault = (struct impair_rule){
            .action = IMPAIR_DELAY, .delay_min = rule->delay_ns, .delay_max = rule->delay_ns};
        break;
    case SIMNET_CORRUPT_PAYLOAD:
        if (pkt->payload_len)
            fault.part = IMPAIR_PAYLOAD;
        break;
    case SIMNET_CORRUPT_HEADER:
        fault.part = IMPAIR_HEADER;
        fault.byte = 11;
        break;
    case SIMNET_CORRUPT_ICRC: break;
    case SIMNET_MARK: fault.action = IMPAIR_CE; break;
    case SIMNET_FULL: own->full = true; return;
    case SIMNET_CUT:
        path->down_from = net->now;
        path->down_to = net->now + rule->delay_ns;
        return;
    case SIMNET_ACTION_CNT: return;
    }
    if (net->faults.cnt == IMPAIR_RULES_MAX)
        abort();
    fault.keep_icrc = true;
    fault.kinds = IMPAIR_ANY;
    fault.nth_to = UINT32_MAX;
    fault.chance = IMPAIR_ALWAYS;
    net->faults.rule[net->faults.cnt++] = fault;
}

/* Applies the chance faults of the path and all matching exact rules to a frame. */
static struct own_faults apply_faults(struct simnet *net, unsigned from, struct simnet_path *path,
                                      enum simnet_class cls, const struct roce_pkt *pkt,
                                      struct impair_result *out)
{
    const struct impair_frame in = {.data = pkt->frame, .len = pkt->wire_len};
    struct own_faults own = {.repeat_ns = up_to(net, path->reorder_ns)};

    net->faults.cnt = net->chance_cnt;
    for (unsigned i = 0; i < net->rule_cnt; i++) {
        struct simnet_rule *rule = &net->rule[i];

        if (!rule_fits(rule, from, cls, pkt))
            continue;
        rule->seen++;
        if (rule->nth && rule->nth != rule->seen)
            continue;
        rule->hits++;
        add_fault(net, path, rule, pkt, &own);
    }
    if (impair_apply(&net->impair, &in, out) != 0)
        abort();
    return own;
}

/* ---- sending frames -------------------------------------------------------------------------- */

static int find_node(const struct simnet *net, const uint8_t mac[6])
{
    for (unsigned i = 0; i < net->node_cnt; i++)
        if (memcmp(net->node[i].mac, mac, 6) == 0)
            return (int)i;
    return -1;
}

static void put_flight(struct simnet *net, struct simnet_flight *flight, uint64_t due)
{
    if (!delay_line_put(&net->flights, &flight->entry, due, 0, 0))
        abort();
}

static void launch(struct simnet *net, unsigned from, unsigned to, enum simnet_class cls,
                   const struct impair_result *out, uint64_t due)
{
    struct simnet_flight *flight = malloc(sizeof(*flight) + out->len);

    if (!flight)
        abort();
    *flight = (struct simnet_flight){.from = from,
                                     .to = to,
                                     .cls = cls,
                                     .bad = out->damaged,
                                     .marked = (out->actions & 1u << IMPAIR_CE) != 0,
                                     .len = out->len};
    memcpy(flight->bytes, out->data, out->len);
    put_flight(net, flight, due);
}

/* Returns the time at which the sender will have sent a frame of `len` bytes completely, ns.
 * Returns 0 if the queue of the path is full. */
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
    struct impair_result out;
    struct own_faults own = apply_faults(net, from, path, cls, pkt, &out);
    unsigned fates = 1u << SIMNET_SENT;
    uint64_t left = take_wire(net, from, path, pkt->wire_len);
    uint64_t due;

    if (net->now >= path->down_from && net->now < path->down_to)
        return fates | 1u << SIMNET_PARTED;
    if (out.copies == 0)
        return fates | 1u << SIMNET_LOST;
    if (own.full || (path->bps && left == 0))
        return fates | 1u << SIMNET_OVERFLOWED;
    due = left + path->delay_ns + up_to(net, path->jitter_ns);
    if (out.actions & 1u << IMPAIR_DELAY) {
        fates |= 1u << SIMNET_HELD;
        due += out.delay;
    } else {
        if (due < path->last)
            due = path->last;
        path->last = due;
    }
    if (out.actions & 1u << IMPAIR_CE)
        fates |= 1u << SIMNET_MARKED;
    if (out.damaged)
        fates |= 1u << SIMNET_CORRUPTED;
    if (out.copies > 1)
        fates |= 1u << SIMNET_DUPLICATED;
    for (unsigned i = 0; i < out.copies; i++)
        launch(net, from, to, cls, &out, due + i * own.repeat_ns);
    return fates;
}

/* Counts the fates (bit set) of one copy of a frame. Does not count SENT, which is counted once for
 * all copies. */
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

/* Transmits the frames that the nodes have to send: one frame of each node in turn, until no node
 * has one. */
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

/* ---- advancing the clock --------------------------------------------------------------------- */

static void tell_switched(struct simnet *net, const struct simnet_flight *flight,
                          enum simnet_fate fate)
{
    if (net->switched)
        net->switched(net->ctx, flight->from, flight->to, flight->bytes, flight->len, fate);
}

/* Handles a frame that reaches the switch. Queues it at the output port, and marks it if the queue
 * is long. Drops it if the queue is full. */
static void enter_queue(struct simnet *net, struct simnet_flight *flight)
{
    struct simnet_port *port = &net->port[flight->to];
    uint64_t start = port->busy > net->now ? port->busy : net->now;
    uint64_t waiting = (start - net->now) * port->bps / 8000000000u;

    if (waiting + flight->len > port->queue) {
        net->tally[flight->from][flight->cls][SIMNET_OVERFLOWED]++;
        tell_switched(net, flight, SIMNET_OVERFLOWED);
        free(flight);
        return;
    }
    if (waiting + flight->len > port->depth_max)
        port->depth_max = waiting + flight->len;
    if (port->mark && waiting > port->mark && impair_mark_ce(flight->bytes, flight->len, true)) {
        flight->marked = true;
        net->tally[flight->from][flight->cls][SIMNET_MARKED]++;
        tell_switched(net, flight, SIMNET_MARKED);
    }
    port->busy = start + (uint64_t)flight->len * 8000000000u / port->bps;
    flight->arrives = true;
    put_flight(net, flight, port->busy + port->delay_ns);
}

static void deliver(struct simnet *net, struct simnet_flight *flight)
{
    const struct simnet_node *node = &net->node[flight->to];

    if (!flight->arrives && net->port[flight->to].bps) {
        enter_queue(net, flight);
        return;
    }
    if (net->arrive)
        net->arrive(net->ctx, flight->to, flight->bytes, flight->len, net->now);
    net->tally[flight->from][flight->cls][SIMNET_DELIVERED]++;
    net->tally[flight->from][flight->cls][SIMNET_BAD] += flight->bad;
    net->got[flight->to][flight->cls] += !flight->bad;
    net->marked[flight->to][flight->cls] += flight->marked && !flight->bad;
    net->got_bytes[flight->to] += flight->len;
    net->arrived[flight->to]++;
    net->arrived_bad[flight->to] += flight->bad;
    node->input(node->ctx, flight->bytes, flight->len, net->now);
    free(flight);
}

static uint64_t next_event(const struct simnet *net)
{
    uint64_t next = delay_line_due(&net->flights);

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
        struct simnet_flight *flight;
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
        if (fired) /* before the next frame arrives, let the nodes transmit if their timers expired
                    * */
            drain(net);
        flight = take_flight(net, net->now);
        if (flight)
            deliver(net, flight);
    }
}
