# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Computes the figures of rocedrill check independently, from the packets of tshark_packets.py.

Each figure has the name of `check --json`, a side, and a description of how it is computed here. Nothing of our
analysis is used. The packets of a side are those with its address, its peer's address and the peer's QPN. The model
tracks the PSNs of a requester as a receiver does: if a packet does not have the next PSN, packets are missing, or the
packet is out of order or retransmitted."""
from tshark_packets import ATOMIC, CNP, OTHER, READ, READ_RESPONSES, SEND, UC, UD, WRITE

ORDER = 1 << 24
KINDS = (SEND, WRITE, READ, ATOMIC, OTHER)
MS = 10 ** 6
USUAL_TIMEOUT = 20 * MS     # assumed ACK timeout if the capture has no CM exchange and no timeout was measured yet, ns
COPY = 50000    # without IP identifications and NAKs: a repetition within this time counts as a copy by the network, ns

# Tables indexed by AETH code: number of credits (None: no limit), and RNR NAK timer in units of 10 us.
CREDITS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
           4096, 6144, 8192, 12288, 16384, 24576, 32768, None]
RNR_10US = [65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
            3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152]


def diff(a, b):
    """Returns a - b modulo 2^24, as a signed number."""
    d = (a - b) % ORDER
    return d if d < ORDER // 2 else d - ORDER


def diff16(a, b):
    """Returns a - b of two IPv4 identifications (text), as a signed number."""
    d = (int(a, 0) - int(b, 0)) % 65536
    return d if d < 32768 else d - 65536


def spread(values):
    return {"count": len(values), "min": min(values), "mean": sum(values) // len(values),
            "max": max(values)} if values else None


def packet_sums(packets):
    """Yields the figures that are sums over the packets of a side: (name, how, value)."""
    good = [p for p in packets if p.good is not False]
    first = next((p.frame for p in good), None)
    # Damaged packets before the first good one belong to no connection.
    packets = [p for p in packets if first is not None and p.frame >= first]
    acks = [p for p in good if p.response and p.syndrome is not None]
    told = [p for p in acks if p.syndrome < 0x20]
    yield "packets", "frames with its addresses and destination QP", len(packets)
    yield "bytes", "frame.len of them", sum(p.wire for p in packets)
    yield "bad_icrc", "zlib's CRC over the bytes differs", sum(p.good is False for p in packets)
    yield "payload_sent", "udp.length less headers and pad, of requests", sum(
        p.payload for p in good if p.request or p.service == UD)
    yield "responses", "BTH opcodes 0x0d to 0x12", sum(p.response for p in good)
    yield "psn_naks", "syndrome 0x60", sum(p.syndrome == 0x60 for p in acks)
    yield "rnr_naks", "syndrome 0x20 to 0x3f", sum(0x20 <= p.syndrome < 0x40 for p in acks)
    yield "fatal_naks", "syndrome 0x61 to 0x7f", sum(0x61 <= p.syndrome < 0x80 for p in acks)
    yield "credits", "of the latest syndrome below 0x20", CREDITS[told[-1].syndrome] if told else None
    yield "ce_marked", "ECN bits 3, not of CNPs", sum(p.ce and p.service != CNP for p in good)
    yield "cnps", "opcode 0x81", sum(p.service == CNP for p in good)
    yield "fecn", "bit of the BTH, not of CNPs", sum(p.fecn for p in good if p.service != CNP)
    yield "becn", "bit of the BTH, not of CNPs", sum(p.becn for p in good if p.service != CNP)
    yield "udp_sport", "of the first packet that is not a CNP", next((p.sport or 0 for p in good if p.service != CNP), 0)
    cnps = [p.time for p in good if p.service == CNP]
    yield "cnp_gap_ns", "between CNPs less than 10 ms apart", spread(
        [b - a for a, b in zip(cnps, cnps[1:]) if 0 < b - a < 10 * MS])


class Sent:
    """A captured request packet; a READ has several PSNs."""

    def __init__(self, p, span):
        self.first, self.last, self.tries, self.span = p, p, 1, span
        self.got, self.answered = set(), False     # indices of the captured responses; whether any response was captured
        self.next, self.again = 0, False           # index of the next response in order; whether the READ was retransmitted
        self.gap = False                           # whether a response was missing since the latest transmission
        self.untimed = False                       # whether the first transmission of the request was not captured
        self.message, self.passed = None, False    # message of the request; whether a later request has already been answered


class Message:
    """A message, created at its last packet."""

    def __init__(self, kind, p):
        self.kind, self.psn, self.length, self.end = kind, p.psn, p.length, None


class Requester:
    """Model of one requester: its requests and their completion."""

    def __init__(self, mtu, base, timeout, numbered, damaged):
        self.mtu, self.nxt, self.slow = mtu, base, timeout * 3 // 4 if timeout else MS
        self.timeout, self.answer_time = timeout, None
        # stream: next expected PSN of the READ responses. The sets have the PSNs of READ responses that were requested
        # (read_psns), captured, and missing (unread). gaps: [number of gaps, number of missing
        # responses]; repeated: [number of responses sent again, their payload bytes].
        self.stream, self.read_psns, self.captured, self.unread = None, set(), set(), set()
        self.gaps, self.repeated = [0, 0], [0, 0]
        self.una, self.known = base, base is not None
        self.first_psn, self.agreed = base, base is not None
        self.sent, self.order, self.open = {}, [], None
        self.names, self.numbered = {}, numbered    # time of the latest equal packet; whether the sender's IPv4 identifications differ
        self.missing = self.again = self.copies = 0
        self.damaged = damaged                    # by PSN: first frame of a request with a wrong ICRC
        self.ip_id, self.late = None, False       # highest IPv4 identification; whether a lower one was captured after it
        self.messages = {k: [0, 0, 0, []] for k in KINDS}     # number sent, number completed, bytes, latencies
        self.pending, self.rtt = [], []
        self.most = {"max_psns_in_flight": 0, "max_reads_in_flight": 0}
        self.retx = {}
        self.nak = self.rnr = None
        self.going, self.time = None, 0
        self.rnr_advertised = self.rnr_waited = 0
        self.timeouts, self.regions = [], {}

    # -- requests

    def span(self, p):
        return max(1, -(-p.length // self.mtu)) if p.kind == READ and self.mtu else 1

    def find(self, psn):
        e = self.sent.get(psn)
        return e or next((s for s in self.order if s.span > 1 and
                          0 <= diff(psn, s.first.psn) < s.span), None)

    def is_copy(self, p):
        name = (p.psn, p.opcode, p.ip_id, p.crc)
        before, self.names[name] = self.names.get(name), p.time
        return before is not None and (self.numbered or (
            p.request and p.time - before < COPY and not self.nak and not self.rnr and self.going != p.psn))

    def request(self, p):
        if self.is_copy(p):
            self.copies += 1
            return
        if self.numbered and (self.ip_id is None or diff16(p.ip_id, self.ip_id) > 0):
            self.ip_id = p.ip_id
        if self.nxt is None:
            self.nxt = self.una = self.first_psn = p.psn
        d = diff(p.psn, self.nxt)
        span = self.span(p)
        if d >= 0:
            self.missing += sum(self.damaged.get((self.nxt + k) % ORDER, p.frame) >= p.frame for k in range(d))
            self.add(p, span)
            self.nxt = (p.psn + span) % ORDER
            self.going = None
        else:
            self.again += 1
            e = self.find(p.psn)
            self.late |= self.numbered and diff16(p.ip_id, self.ip_id) < 0
            if p.service != UC:
                self.go_back(p, e, span)
            if e:
                e.tries, e.last, e.gap = e.tries + 1, p, False
                e.passed &= not self.answered(e.first)
                if p.kind == READ:
                    e.next, e.again = diff(p.psn, e.first.psn), True
                    e.got = set(range(e.next))
                    span = e.span - diff(p.psn, e.first.psn)
            else:
                self.add(p, span)
                self.sent[p.psn].untimed = not (self.numbered and diff16(p.ip_id, self.ip_id) < 0)
                if not self.agreed and diff(p.psn, self.first_psn) < 0:
                    self.first_psn = p.psn       # the first PSN was lost or reordered
            if self.going is not None:
                self.going = (p.psn + span) % ORDER
        self.time = p.time
        if self.known and p.service != UC:
            self.top("max_psns_in_flight", diff(self.nxt, self.una))
            self.top("max_reads_in_flight", sum(self.answered(m) for m in self.pending))

    def top(self, name, value):
        self.most[name] = max(self.most[name], value)

    def add(self, p, span):
        self.sent[p.psn] = e = Sent(p, span)
        self.order.append(e)
        if p.kind == READ:
            self.read_psns.update((p.psn + k) % ORDER for k in range(span))
        if p.rkey is not None and p.length is not None and p.service != UC:
            r = self.regions.setdefault(p.rkey, [p.va, p.va + p.length, set(), 0, 0, 0])
            r[0], r[1] = min(r[0], p.va), max(r[1], p.va + p.length)
            r[2].add(p.kind)
            r[3] += 1
            r[4 + (p.kind == READ)] += p.length
        self.link(p, span)

    def link(self, p, span):
        """Adds a message at its last packet."""
        if p.place not in "LO":
            return
        m = self.sent[p.psn].message = Message(p.kind, p)
        m.end = (p.psn + span - 1) % ORDER
        self.messages[p.kind][0] += 1
        if p.service == UC:
            self.count_whole(m)
        else:
            self.pending.append(m)

    def parts(self, m):
        """Returns the captured packets of a message, last first, and whether it is complete."""
        psn, out, whole = m.psn, [], True
        while diff(psn, self.first_psn) >= 0:
            s = self.sent.get(psn)
            if s and out and s.first.place in "LO":
                return out, False
            if s:
                out.append(s.first)
                if s.first.place in "FO":
                    return out, whole
            whole = whole and s is not None
            psn = (psn - 1) % ORDER
        return out, False

    def count_whole(self, m):
        parts, whole = self.parts(m)
        self.messages[m.kind][1] += whole
        self.messages[m.kind][2] += sum(p.payload for p in parts) if whole else 0

    # -- retransmission

    def shown(self):
        """Returns the shortest silence that may end with a timeout, ns."""
        timeout = self.timeout or min(self.timeouts, default=USUAL_TIMEOUT)
        return timeout - timeout // 4

    def go_back(self, p, e, span):
        idle = p.time - max(self.time, e.last.time if e else 0)
        # The model rounds the times of responses down to microseconds, because rocedrill stores them in microseconds.
        silence = idle if self.answer_time is None else min(idle, (p.time // 1000 - self.answer_time // 1000) * 1000)
        nak = self.nak if self.nak and silence < self.shown() else None
        # After a timeout or a NAK, the requester goes back to the oldest outstanding PSN, and then retransmits in order. self.going is
        # the PSN that it retransmits next. If p has a later PSN, the packets between were lost before the capture point, or were
        # acknowledged in the meantime.
        ahead = self.going is not None and diff(p.psn, self.going) > 0
        named = (self.nak and self.nak[0] == p.psn) or (self.rnr and self.rnr[0] == p.psn)
        if ahead and self.known and diff(p.psn, self.una) > 0 and not named:
            lost = silence < self.shown()
        else:
            lost = ahead and silence < self.slow and not (nak and diff(nak[0], self.una) >= 0) and not self.rnr
        if self.going != p.psn and not lost:
            cause = "response"
            missing = e and (e.gap or e.passed) or p.psn in self.unread     # whether a response is missing, not a request
            if nak and ((missing and diff(p.psn, nak[0]) < 0) or (diff(self.una, nak[0]) > 0 and nak[0] != p.psn)):
                nak = None      # not the cause: a response before its PSN was missing, or its PSN has been acknowledged since then
            if self.rnr and (not nak or p.time - self.rnr[1] >= self.rnr[2] // 2):
                cause = "rnr_nak"
                self.rnr_advertised += self.rnr[2]
                self.rnr_waited += p.time - self.rnr[1]
            elif nak and (nak[0] == p.psn or silence < self.slow):
                cause = "sequence_nak"
            elif silence >= (self.shown() if missing else self.slow):
                cause = "timeout"
                self.timeouts.append(idle)
            if cause != "response":
                self.nak = self.rnr = None
            self.retx.setdefault(cause, [0, 0, 0])[0] += 1
            self.cause = cause
            self.going = p.psn
        self.retx[self.cause][1] += 1
        self.retx[self.cause][2] += p.payload

    # -- responses

    def read_data(self, p, e):
        """Adds a READ response to the stream of all READ responses."""
        if self.stream is None:
            self.stream = e.first.psn
        ahead = diff(p.psn, self.stream)
        missing = {(self.stream + k) % ORDER for k in range(ahead)} & self.read_psns
        self.gaps[0] += bool(missing)
        self.gaps[1] += len(missing)
        self.unread |= missing
        self.unread.discard(p.psn)
        if ahead >= 0 or e.again:
            self.stream = (p.psn + 1) % ORDER
        if p.psn in self.captured:
            self.repeated[0] += 1
            self.repeated[1] += p.payload
        self.captured.add(p.psn)

    def response(self, p):
        if self.nxt is None:
            return
        self.answer_time = p.time
        s, e = p.syndrome, self.find(p.psn)
        positive = s is None or s < 0x20
        if s == 0x60:
            self.nak, self.rnr = (p.psn, p.time), self.rnr
        elif s is not None and 0x20 <= s < 0x40:
            self.rnr, self.nak = (p.psn, p.time, RNR_10US[s & 0x1F] * 10000), None
        if positive and e and e.tries == 1:
            if p.op == 0x11 and diff((p.psn + 1) % ORDER, self.una) > 0 or p.op != 0x11 and not e.answered:
                self.rtt.append(p.time - e.last.time)
        if positive and e and p.op != 0x11:
            e.answered = True
            k = diff(p.psn, e.first.psn)
            if e.first.kind == READ and p.op in READ_RESPONSES:
                self.read_data(p, e)
                e.gap = k > e.next or (e.gap and k != e.next)
            e.got.add(k)
            e.next += k == e.next
        if not positive:
            upto = p.psn
        elif p.op == 0x11 or not e:
            upto = (p.psn + 1) % ORDER
        else:
            upto = (e.first.psn + (e.span if e.next == e.span else 0)) % ORDER
        if diff(upto, self.una) > 0 or not self.known:
            self.una, self.known = upto, True
        self.complete(p)

    @staticmethod
    def answered(m):
        """Returns true if only the message's own response completes it, not an ACK of a later PSN."""
        return m.kind in (READ, ATOMIC, OTHER)

    def complete(self, p):
        """Completes messages after response `p`, or at the end of the capture."""
        left = []
        for m in self.pending:
            e, timed = self.sent[m.psn], True
            if self.answered(m):
                done = e.next == e.span
                if not done and len(e.got) == e.span and not e.again and (p is None or diff(self.una, m.end) > 0):
                    # All responses were captured, but not in order. The completion time is known only if the response captured
                    # last completes the message.
                    done = True
                    timed = timed and e.passed
                e.passed |= diff(self.una, m.end) > 0
            else:
                done = diff(self.una, m.end) > 0
            if done:
                count = self.messages[m.kind]
                count[1] += 1
                parts, whole = self.parts(m)
                count[2] += m.length if m.kind in (READ, ATOMIC) else sum(s.payload for s in parts)
                if timed and whole and p and not self.sent[parts[-1].psn].untimed:
                    count[3].append(p.time - parts[-1].time)
            else:
                left.append(m)
        self.pending = left


def delays(packets, side):
    """Returns the times from a marked packet to the CNP of `side` for it. Only the latest marked packet before a CNP counts."""
    marked, out = None, []
    for who, p in packets:
        if p.service == CNP and who == side:
            if marked is not None:
                out.append(p.time - marked)
            marked = None
        elif p.ce and p.service != CNP and who != side:
            marked = p.time
    return out


def mtu_of(packets, agreed):
    """Returns the path MTU: the largest payload of First and Middle packets, else that of CM."""
    sizes = [p.payload for p in packets if p.place in ("F", "M") or (p.response and p.op in (0x0D, 0x0E))]
    return max(sizes, default=agreed)


def connection_figures(sides, cm):
    """Yields the figures of both sides: (side, name, how, value). `sides`: the packets of each side; `cm`: first
    PSNs and timeout from CM, if captured."""
    both = sorted(((who, p) for who in sides for p in sides[who] if p.good is not False),
                  key=lambda x: x[1].frame)
    mtu = mtu_of([p for _, p in both], cm.get("mtu"))
    asks = {who: Requester(mtu, cm.get("psn", {}).get(who), cm.get("timeout", {}).get(who),
                           len({p.ip_id for p in sides[who]}) > 1,
                           {p.psn: p.frame for p in reversed(sides[who]) if p.good is False and p.request})
            for who in sides}
    for who, p in both:
        other = "b" if who == "a" else "a"
        if p.request:
            asks[who].request(p)
        elif p.response and other in asks and not asks[other].is_copy(p):
            asks[other].response(p)
    for who, r in asks.items():
        r.complete(None)
        yield who, "first_psn", "starting PSN of CM, else the lowest PSN at the start", r.first_psn
        yield who, "missing_psns", "PSNs that were skipped, without those of damaged requests", r.missing
        yield who, "repetitions", "requests before the next PSN that are not copies", r.again
        for kind in KINDS:
            sent, done, size, times = r.messages[kind]
            yield who, f"operations.{kind}.messages", "Last and Only packets, without retransmissions", sent
            yield who, f"operations.{kind}.completed", "acknowledged, or completely answered", done
            yield who, f"operations.{kind}.bytes", "of those", size
            yield who, f"operations.{kind}.latency_ns", "first transmission of the first packet to completion", times
        yield who, "goodput_bytes", "of all operations", sum(r.messages[k][2] for k in KINDS)
        yield who, "ack_rtt_ns", "from a request that was sent once to its first response", r.rtt
        # With reordering, IPv4 identifications distinguish retransmissions; the model does not.
        for cause in () if r.late else ("sequence_nak", "rnr_nak", "timeout", "response"):
            for name, value in zip(("episodes", "packets", "bytes"), r.retx.get(cause, (0, 0, 0))):
                yield who, f"retransmissions.{cause}.{name}", "event before the retransmission", value
        for name, value in r.most.items():
            yield who, name, "sent and not acknowledged", value
        other = "b" if who == "a" else "a"
        if other in sides:
            for name, value in zip(("response_gaps", "missing_responses"), r.gaps):
                yield other, name, "PSNs of READs that its READ responses skip", value
            for name, value in zip(("repeated_responses", "repeated_response_bytes"), r.repeated):
                yield other, name, "READ responses whose PSN was captured before", value
        yield who, "regions", "RETH and AtomicETH of requests, without retransmissions", r.regions
        yield who, "cnp_delay_ns", "since the latest marked packet", spread(delays(both, who))
        if r.late:
            continue
        yield who, "rnr_advertised_ns", "timers of RNR NAKs followed by a retransmission", r.rnr_advertised
        yield who, "rnr_waited_ns", "from the RNR NAK to the retransmission", r.rnr_waited
        yield who, "timeout_min_ns", "idle time before a retransmission without NAK", min(r.timeouts, default=0)
        yield who, "timeout_max_ns", "idle time before a retransmission without NAK", max(r.timeouts, default=0)
