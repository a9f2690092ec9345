// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Data of the page: decodes the columns that page_data.c writes, and formats numbers. No DOM.
"use strict";

const RoceData = (function () {
  const FRAMES_MAX = 50; // maximum number of ranges of frames in a display filter
  const OPERATIONS = { SEND: "send", WRITE: "write", READ: "read", "compare and swap": "atomic",
    "fetch and add": "atomic" };
  const INSTANT = 5e-10; // seconds; two times that differ by less are equal

  const sums = (deltas, scale, sum = 0) => Float64Array.from(deltas, (delta) => (sum += delta) * scale);

  const dense = (pairs, length) =>
    pairs.reduce((out, v, k) => (k % 2 && (out[pairs[k - 1]] = v), out), new Float64Array(length));

  // Returns the packet runs of a connection as columns of equal length; times in seconds.
  function decodeRuns(conn) {
    const c = conn.runs;
    if (!c) return null;
    const n = c.time.length, time = sums(c.time, 1e-9), frame = sums(c.frame, 1), at = [0, 0];
    const style = c.style.map((s) => c.styles[s]);
    const end = time.map((t, i) => t + c.duration[i] * 1e-9), lastFrame = frame.map((f, i) => f + c.frames[i]);
    return {
      length: n, time, end, frame, lastFrame, count: c.count, span: c.span, payload: c.payload, wire: c.wire,
      psn: c.psn.map((delta, i) => at[style[i].direction] += delta), flight: c.flight,
      rtt: dense(c.rtt, n), wait: dense(c.wait, n), gap: dense(c.gap, n), ce: dense(c.ce, n), style, uses: c.uses,
      psnBase: (direction, i) => c.uses.filter(([run, of]) => run <= i && of === direction).pop()[2] };
  }

  // Returns the waits of the time budget; each ends with a run.
  const decodeBands = (conn, runs) => conn.bands.map(([direction, entry, run, ns]) => {
    const [color, all] = conn.legends[direction][entry], to = runs.time[run], text = all.replace(/^band: |, .*/g, "");
    return { direction, color, text, run, psn: runs.psn[run], from: to - ns * 1e-9, to };
  });

  function decodeMessages(conn) {
    return (conn.messages || []).map((m) => ({
      side: m[0], kind: m[1], operation: OPERATIONS[m[1]] || "other", ns: m[4], bytes: m[5], frame: m[6],
      first: m[2] * 1e-9, last: (m[2] + m[3]) * 1e-9, done: (m[2] + m[4]) * 1e-9,
      begin: (m[2] + (m[7] ? m[7][0] : 0)) * 1e-9,
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
      if (to - from < 1e-9) out[Math.max(0, Math.min(bins - 1, Math.floor(from)))] += v;
      else for (let b = Math.max(0, Math.floor(from)); b < Math.min(bins, to); b++)
        out[b] += v * (Math.min(to, b + 1) - Math.max(from, b)) / (to - from);
    }
    return out;
  }

  // Returns the indexes of the runs between two times that `accept` accepts.
  function runsBetween(runs, t0, t1, accept) {
    const found = [];
    for (let i = 0; i < runs.length; i++)
      if (runs.end[i] >= t0 - INSTANT && runs.time[i] <= t1 + INSTANT && accept(i)) found.push(i);
    return found;
  }

  const framesOf = (runs, indexes) => indexes.map((i) => [runs.frame[i], runs.lastFrame[i], runs.count[i]]);

  // Formats a number with `n` significant digits and without an exponent.
  const digits = (v, n) => String(Number(v.toPrecision(n)));
  const UNITS = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
  const unitOf = (ns) => UNITS.find(([unit]) => Math.abs(ns) >= unit) || UNITS[3];

  // Formats a duration as strbuf_add_duration() in replay/util/strbuf.c does.
  function duration(ns) {
    const [unit, name] = unitOf(ns), few = Math.abs(ns) < 0.5;
    return few ? "0" : unit === 1 ? Math.round(ns) + name : digits(ns / unit, unit === 1e3 ? 3 : 4) + name;
  }

  // Formats a time with enough digits to distinguish it from a time `step` later.
  function exactDuration(ns, step) {
    const [unit, name] = unitOf(ns), decimals = Math.min(9, Math.max(0, Math.ceil(Math.log10(unit / step))));
    return Math.abs(ns) < 0.5 ? "0" : Number((ns / unit).toFixed(decimals)) + name;
  }

  // Formats the range from `t0` to `t1`, in seconds. A shorter range gets more decimal places.
  const period = (t0, t1) => [Math.max(t0, 0), t1].map((t) => exactDuration(t * 1e9, (t1 - t0) * 1e7)).join(" to ");

  // Divides by 1000 while the value reaches a limit. Returns the rest and its unit.
  function scaled(v, limit, units) {
    let u = 0;
    for (; v >= limit && u + 1 < units.length; u++) v /= 1000;
    return [v, u, units[u]];
  }

  // Format a number of bytes and a bit rate, as strbuf_add_size() and strbuf_add_rate() do.
  function size(bytes) {
    const [v, u, unit] = scaled(bytes, 10000, ["bytes", "kB", "MB", "GB", "TB"]);
    return v.toFixed(u ? 1 : 0) + " " + unit;
  }

  function rate(bytesPerSecond) {
    const [v, , unit] = scaled(bytesPerSecond * 8, 999.5, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
    return digits(v, 3) + " " + unit;
  }

  const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");

  // Returns the Wireshark display filter of frames: an array of [first, last, number of packets in them]. If the filter
  // would be long, or if frames between are of other connections, it has the QPs of the connection instead.
  function filterOf(frames, conn) {
    const ranges = [], qpns = [conn.a.qpn, conn.b.qpn].filter((qpn) => qpn !== undefined).join(", ");
    frames.slice().sort((a, b) => a[0] - b[0]).forEach(([from, to]) => {
      const before = ranges[ranges.length - 1];
      if (before && from <= before[1] + 1) before[1] = Math.max(before[1], to);
      else ranges.push([from, to]);
    });
    const first = ranges.length ? ranges[0][0] : 0, last = ranges.length ? ranges[ranges.length - 1][1] : 0;
    const between = "frame.number >= " + first + " && frame.number <= " + last;
    if (ranges.length > FRAMES_MAX || frames.some(([from, to, inside]) => inside <= to - from))
      return between + (qpns ? " && infiniband.bth.destqp in {" + qpns + "}" : "");
    if (ranges.length > 1)
      return "frame.number in {" + ranges.map(([from, to]) => from === to ? from : from + ".." + to).join(", ") + "}";
    return first === last ? "frame.number == " + first : between;
  }

  return {
    decodeRuns, decodeBands, decodeMessages, binned, runsBetween, framesOf, duration, exactDuration, period,
    size, rate, count, filterOf };
})();

if (typeof module !== "undefined") module.exports = RoceData;
