// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Data of the page: decodes the columns that page_data.c writes, and formats numbers. No DOM.
"use strict";

const RoceData = (function () {
  // Bits of a run's marks: enum run_mark in packet_runs.h.
  const MARK = { gap: 1, impliedNak: 2, outOfOrder: 4, duplicateAck: 8, ackedBefore: 16, reused: 32, finding: 64, ofResponse: 128 };
  const RESPONSES = new Set(["response", "repeated response", "ack", "nak", "rnr nak"]);
  const PSN_RANGE = 1 << 24;

  function sums(deltas, scale) {
    const out = new Float64Array(deltas.length);
    let sum = 0;
    for (let i = 0; i < deltas.length; i++) out[i] = (sum += deltas[i]) * scale;
    return out;
  }

  function dense(pairs, length) {
    const out = new Float64Array(length);
    for (let i = 0; i + 1 < pairs.length; i += 2) out[pairs[i]] = pairs[i + 1];
    return out;
  }

  // PSNs relative to the first PSN of each requester.
  function relativePsns(columns, styles, conn) {
    const out = new Float64Array(columns.psn.length), at = [0, 0], base = [null, null];
    for (let i = 0; i < out.length; i++) {
      const style = styles[columns.style[i]], d = style.direction;
      if (style.class === "cnp" || style.class === "other") continue;
      at[d] += columns.psn[i];
      if (base[d] === null) {
        const first = conn[d ? "b" : "a"].first_psn;
        base[d] = first === undefined ? at[d] : first;
        if (at[d] - base[d] > PSN_RANGE / 2) base[d] += PSN_RANGE;
        else if (base[d] - at[d] > PSN_RANGE / 2) base[d] -= PSN_RANGE;
        base[d] = Math.min(base[d], at[d]);
      }
      out[i] = at[d] - base[d];
    }
    return { psn: out, base: base };
  }

  // Returns the packet runs of a connection as columns of equal length; times in seconds.
  function decodeRuns(conn) {
    const c = conn.runs;
    if (!c) return null;
    const n = c.time.length, styles = c.styles.map((s) => ({
      side: s[0], class: s[1], kind: s[2], cause: s[3], marks: s[4], sport: s[5], syndrome: s[6] }));
    styles.forEach((s) => { s.direction = RESPONSES.has(s.class) || s.marks & MARK.ofResponse ? 1 - s.side : s.side; });
    const time = sums(c.time, 1e-9), frame = sums(c.frame, 1), relative = relativePsns(c, styles, conn);
    const end = time.map((t, i) => t + c.duration[i] * 1e-9), lastFrame = frame.map((f, i) => f + c.frames[i]);
    return {
      length: n, time: time, end: end, frame: frame, lastFrame: lastFrame, count: c.count, psn: relative.psn,
      psnBase: relative.base, span: c.span, payload: c.payload, wire: c.wire, flight: c.flight, styles: styles,
      style: c.style.map((s) => styles[s]), rtt: dense(c.rtt, n), wait: dense(c.wait, n), gap: dense(c.gap, n),
      ce: dense(c.ce, n) };
  }

  function decodeMessages(conn) {
    return (conn.messages || []).map((m) => ({
      side: m[0], kind: m[1], first: m[2] * 1e-9, last: (m[2] + m[3]) * 1e-9, done: (m[2] + m[4]) * 1e-9,
      ns: m[4], bytes: m[5], frame: m[6], begin: (m[2] + (m[7] ? m[7][0] : 0)) * 1e-9,
      steps: m[7] ? m[7].map((ns) => ns === null ? null : (m[2] + ns) * 1e-9) : null }))
      .map((m) => Object.assign(m, { end: m.steps ? Math.max(m.done, ...m.steps) : m.done }));
  }

  // Sums a value of the runs into bins between two times; a run counts evenly over its duration.
  function binned(runs, t0, t1, bins, valueOf) {
    const out = new Float64Array(bins), width = (t1 - t0) / bins;
    if (!(width > 0)) return out;
    for (let i = 0; i < runs.length; i++) {
      const v = valueOf(i);
      if (!v || runs.end[i] < t0 || runs.time[i] > t1) continue;
      const from = (runs.time[i] - t0) / width, to = (runs.end[i] - t0) / width;
      if (to - from < 1e-9) {
        out[Math.max(0, Math.min(bins - 1, Math.floor(from)))] += v;
        continue;
      }
      for (let b = Math.max(0, Math.floor(from)); b < Math.min(bins, to); b++) out[b] += v * (Math.min(to, b + 1) - Math.max(from, b)) / (to - from);
    }
    return out;
  }

  // Middle of a histogram bucket, ns: value_of() in rnic/flow/base/hist.c.
  function bucketNs(bucket) {
    if (bucket === 0) return 32;
    const octave = Math.floor((bucket - 1) / 4) + 6, width = Math.pow(2, octave - 2);
    return Math.pow(2, octave) + ((bucket - 1) % 4) * width + width / 2;
  }

  // As %.4g, without an exponent.
  const digits = (v, n) => String(Number(v.toPrecision(n)));

  // As strbuf_add_duration() in replay/util/strbuf.c.
  function duration(ns) {
    const a = Math.abs(ns), sign = ns < 0 ? "-" : "";
    if (a < 0.5) return "0";
    if (a < 1e3) return sign + Math.round(a) + " ns";
    if (a < 1e6) return sign + digits(a / 1e3, 3) + " µs";
    return sign + (a < 1e9 ? digits(a / 1e6, 4) + " ms" : digits(a / 1e9, 4) + " s");
  }

  // A time with so many digits that it differs from a time `step` later.
  function exactDuration(ns, step) {
    const unit = [1e9, 1e6, 1e3].find((u) => Math.abs(ns) >= u) || 1;
    if (Math.abs(ns) < 0.5) return "0";
    return Number((ns / unit).toFixed(Math.min(9, Math.max(0, Math.ceil(Math.log10(unit / step)))))) +
      { 1e9: " s", 1e6: " ms", 1e3: " µs", 1: " ns" }[unit];
  }

  // Divides by 1000 while the value reaches a limit. Returns the rest and its unit.
  function scaled(v, limit, units) {
    let u = 0;
    for (; v >= limit && u + 1 < units.length; u++) v /= 1000;
    return [v, u, units[u]];
  }

  // As strbuf_add_size() and strbuf_add_rate().
  function size(bytes) {
    const [v, u, unit] = scaled(bytes, 10000, ["bytes", "kB", "MB", "GB", "TB"]);
    return v.toFixed(u ? 1 : 0) + " " + unit;
  }

  function rate(bytesPerSecond) {
    const [v, , unit] = scaled(bytesPerSecond * 8, 999.5, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
    return digits(v, 3) + " " + unit;
  }

  const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
  // Wireshark display filter of one run.
  const filterOf = (first, last) => first === last ? "frame.number == " + first : "frame.number >= " + first + " && frame.number <= " + last;

  return { MARK, decodeRuns, decodeMessages, binned, bucketNs, duration, exactDuration, size, rate, count, filterOf };
})();

if (typeof module !== "undefined") module.exports = RoceData;
