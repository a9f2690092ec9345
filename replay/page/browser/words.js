// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Figures of a connection, from the members of "check --json". No DOM.
"use strict";

const RoceWords = (function () {
  const COLORS = { response: "slow", timeout: "timeout", spurious_timeout: "spurious", read_gap: "response-again",
    rnr_nak: "rnr", sequence_nak: "nak", unknown: "other", credit: "credit", setup: "soft", silence: "line" };
  const n = (v) => v || 0;
  const nameOf = (side) => side.address + (side.qpn === undefined ? "" : " (QP 0x" + side.qpn.toString(16).padStart(6, "0") + ")");
  const lengthNs = (conn) => n(conn.last_time_ns) - n(conn.first_time_ns);
  const goodput = (conn) => n(conn.a.goodput_bytes) + n(conn.b.goodput_bytes);
  const budget = (conn) => (conn.waits || []).map((w) => ({ label: w.text, color: COLORS[w.cause], ns: w.ns }));
  const waitedNs = (conn) => budget(conn).reduce((sum, p) => sum + p.ns, 0);
  const retransmitted = (side) => Object.values(side.retransmissions || {}).reduce((sum, r) => sum + n(r.packets), 0);
  const sentAgain = (conn) => [conn.a, conn.b].reduce((sum, side) => sum + retransmitted(side) + n(side.repeated_responses), 0);
  const trouble = (conn) => n(conn.trouble); // 0 for none, larger is worse

  // As strbuf_add_percent() in the text of the report.
  function percent(part, all) {
    const p = 100 * part / all;
    return (p >= 10 || p === 0 ? p.toFixed(0) : p < 0.05 ? "< 0.1" : p.toFixed(1)) + " %";
  }

  // The lines of the report about a slow connection. Arrows at their beginning become the names of both sides.
  function slowText(conn) {
    const names = { "→": nameOf(conn.a) + " → " + nameOf(conn.b), "←": nameOf(conn.b) + " → " + nameOf(conn.a) };
    let arrow = "";
    return (conn.slow || []).flatMap((line) => {
      const begins = names[line[0]], lines = begins && line[0] !== arrow ? [begins + ":"] : [];
      if (begins) arrow = line[0];
      return lines.concat(begins ? "• " + line.slice(2) : "   " + line);
    }).join("\n");
  }

  // What the report advises about a connection that failed or was slow, as a sentence; "" if nothing.
  const sentence = (text) => text ? text[0].toUpperCase() + text.slice(1) + "." : "";
  const advice = (conn) => sentence(conn.why ? conn.why.split("\n")[1] : (conn.slow || []).find((line) => !/^[→←] /u.test(line)));

  const worstFirst = (conns) => conns.slice().sort((x, y) => trouble(y) - trouble(x) || waitedNs(y) - waitedNs(x) ||
    n(y.a.packets) + n(y.b.packets) - n(x.a.packets) - n(x.b.packets));

  // The first sentence of the page, and whether it is good news. A page of one chosen connection begins with that one.
  const lead = ({ summary: s, connections: [conn, ...more] }) =>
    conn && !more.length && s.connections > 1 ? { good: !trouble(conn), text: conn.headline } : { good: !s.trouble, text: s.headline };

  return { budget, trouble, lead, advice, slowText, worstFirst, goodput, waitedNs, sentAgain, lengthNs, nameOf, percent };
})();

if (typeof module !== "undefined") module.exports = RoceWords;
