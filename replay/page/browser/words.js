// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Words of the page: sentences for readers who do not know RDMA, from the numbers of "check --json". No DOM.
"use strict";

const RoceWords = (function () {
  const D = typeof RoceData !== "undefined" ? RoceData : require("./data.js");

  // Causes of a retransmission, in the words of the time budget.
  const CAUSES = {
    timeout: { label: "retransmission timeouts", color: "timeout",
      text: "a packet or its answer was lost, and the sender noticed only when its timer expired" },
    read_gap: { label: "lost READ data", color: "again", text: "data that was read did not arrive and had to be requested again" },
    implied_nak: { label: "lost READ data", color: "again", text: "data that was read did not arrive and had to be requested again" },
    rnr_nak: { label: "receiver not ready (RNR NAK)", color: "rnr",
      text: "the receiving program had no receive buffer ready, so the sender had to pause" },
    sequence_nak: { label: "lost packets (sequence NAK)", color: "nak",
      text: "packets were lost or reordered, and the receiver asked for them again" },
    unknown: { label: "unknown reason", color: "other", text: "the sender retransmitted, and the capture does not show why" },
  };

  const ENDS = {
    rejected: "the other side refused to set up the connection",
    nak: "the other side refused a request for good (fatal NAK)",
    rnr_exhausted: "the receiving program never had a receive buffer ready, and the sender gave up",
    rnr_waiting: "the receiving program has no receive buffer ready, and the sender waits",
    retry_exhausted: "no answer came, however often the sender retransmitted, and it gave up",
    unanswered: "the sender retransmitted and gave up; the capture contains no answer at all",
  };

  const n = (v) => v || 0;
  const sides = (conn) => [conn.a, conn.b];
  const nameOf = (side) => side.address + (side.qpn === undefined ? "" : " (QP 0x" + side.qpn.toString(16) + ")");
  const has = (conn, state) => (conn.state || []).includes(state);

  const lengthNs = (conn) => n(conn.last_time_ns) - n(conn.first_time_ns);
  const goodput = (conn) => n(conn.a.goodput_bytes) + n(conn.b.goodput_bytes);
  const waitedNs = (conn) => budget(conn).reduce((sum, p) => sum + p.ns, 0);
  const retransmitted = (side) => Object.values(side.retransmissions || {}).reduce((sum, r) => sum + n(r.packets), 0);

  // Time that a connection spent waiting, by cause, largest first: of the direction that waited more.
  function budget(conn) {
    let best = [], most = 0;
    sides(conn).forEach((side, i) => {
      const parts = new Map();
      let sum = 0;
      Object.entries(side.retransmissions || {}).forEach(([cause, r]) => {
        const words = CAUSES[cause] || CAUSES.unknown;
        if (!n(r.waited_ns)) return;
        const part = parts.get(words.label) || { label: words.label, color: words.color, text: words.text, ns: 0, side: i };
        part.ns += r.waited_ns;
        parts.set(words.label, part);
        sum += r.waited_ns;
      });
      if (sum > most) {
        most = sum;
        best = [...parts.values()];
      }
    });
    return best.sort((x, y) => y.ns - x.ns);
  }

  // Trouble of a connection: 0 for none, larger is worse.
  function trouble(conn) {
    return has(conn, "failed") ? 6 : n(conn.errors_unknown) ? 5 : has(conn, "stuck") ? 4 : has(conn, "lossy") ? 3
      : has(conn, "slow") ? 2 : has(conn, "marked") ? 1 : 0;
  }

  const stateWord = (conn) => ["no problem", "congested", "slow", "data lost", "stuck", "breaks a rule", "failed"][trouble(conn)];

  function percent(part, all) {
    const p = 100 * part / all;
    return (p >= 10 || p === 0 ? p.toFixed(0) : p.toFixed(1)) + " %";
  }

  function slowText(conn) {
    const parts = budget(conn), ns = lengthNs(conn), waited = waitedNs(conn);
    const again = sides(conn).reduce((sum, s) => sum + retransmitted(s) + n(s.repeated_responses), 0);
    const packets = sides(conn).reduce((sum, s) => sum + n(s.packets), 0);
    const cuts = sides(conn).reduce((sum, s) => sum + n((s.slowdowns || {}).slowed), 0);
    if (ns && waited * 100 >= ns)
      return "it spent " + percent(waited, ns) + " of " + D.duration(ns) + " waiting, mostly because " + parts[0].text;
    if (again) return D.count(again, "packet") + " of " + packets.toLocaleString("en") + " had to be sent again";
    if (cuts) return "the network was congested and asked it to slow down " + D.count(cuts, "time");
    const damaged = sides(conn).reduce((sum, s) => sum + n(s.bad_icrc), 0);
    return damaged ? D.count(damaged, "packet") + " arrived damaged" : "packets were lost or late";
  }

  // One sentence about a connection.
  function aboutConn(conn) {
    const end = conn.end || {}, who = "Connection #" + n(conn.connection);
    if (has(conn, "failed")) return who + " failed: " + (ENDS[end.kind] || "it was never set up") + ".";
    if (has(conn, "stuck")) return who + " is stuck: " + (ENDS[end.kind] || "a request makes no progress") + ".";
    if (has(conn, "lossy")) {
      const lost = n(conn.a.lost_messages) + n(conn.b.lost_messages);
      return who + " lost " + D.count(lost, "message") + " for good: its service (" + conn.service + ") never retransmits.";
    }
    if (has(conn, "slow")) return who + " was slow: " + slowText(conn) + ".";
    if (has(conn, "marked"))
      return who + " met congestion: packets were marked (ECN), but the receiver never told the sender to slow down.";
    if (n(conn.errors_unknown))
      return who + " worked, but " + D.count(n(conn.errors_unknown), "packet breaks", "packets break") + " a rule of the protocol.";
    return who + " had no problem: " + D.size(goodput(conn)) + " in " + D.duration(lengthNs(conn)) + ".";
  }

  function worstFirst(conns) {
    return conns.slice().sort((x, y) => trouble(y) - trouble(x) ||
      waitedNs(y) - waitedNs(x) ||
      n(y.a.packets) + n(y.b.packets) - n(x.a.packets) - n(x.b.packets));
  }

  // The first sentence of the page, and whether it is good news.
  function lead(capture) {
    const s = capture.summary, conns = worstFirst(capture.connections), worst = conns[0];
    const bad = n(s.connections_failed) + n(s.connections_stuck) + n(s.connections_slowed);
    if (s.fault) return { good: false, text: "The capture could not be read to its end: " + s.fault };
    if (worst && trouble(worst)) {
      const more = conns.filter((c) => trouble(c)).length - 1;
      return { good: false, text: aboutConn(worst) +
        (more > 0 ? " " + D.count(more, "more connection has", "more connections have") + " a problem." : "") };
    }
    if (n(s.rejections)) return { good: false, text: D.count(s.rejections, "connection was", "connections were") + " refused by the other side." };
    if (n(s.requests_unanswered)) return { good: false, text: D.count(s.requests_unanswered, "request", "requests") + " to set up a connection got no answer." };
    if (bad) return { good: false, text: D.count(bad, "connection has", "connections have") + " a problem." };
    if (n(s.errors_unknown)) return { good: false, text: D.count(s.errors_unknown, "packet breaks", "packets break") + " a rule of the protocol." };
    return { good: true, text: "No problem found: " + D.count(n(s.connections), "connection") + ", " +
      D.count(n(s.packets), "packet") + ", none failed, stuck or slow." };
  }

  return { CAUSES: CAUSES, budget: budget, trouble: trouble, stateWord: stateWord, aboutConn: aboutConn,
    lead: lead, worstFirst: worstFirst, goodput: goodput, waitedNs: waitedNs, retransmitted: retransmitted,
    lengthNs: lengthNs, nameOf: nameOf, percent: percent };
})();

if (typeof module !== "undefined") module.exports = RoceWords;
