// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Graphs of one connection. dygraphs has the axes, zoom and pan; the painters here draw packets on its canvas.
"use strict";

const RoceGraph = (function () {
  const D = RoceData;
  const HEIGHT = { psn: 340, messages: 260, latency: 200, data: 170, flight: 150, rate: 150, lanes: 150 };
  const MARKED = new Set(["nak", "rnr nak", "cnp", "dropped"]);
  const STEPS = ["taken by the RNIC", "first packet", "last packet", "acknowledged", "completed", "polled"]; // after posted
  let colors = {};

  // The legend of dygraphs measures text at each redraw, although it is never shown: that lays out the whole page.
  if (typeof Dygraph !== "undefined") Dygraph.PLUGINS = Dygraph.PLUGINS.filter((p) => p.prototype.toString() !== "Legend Plugin");

  function readColors() {
    const style = getComputedStyle(document.documentElement);
    const names = "first again response response-again ack nak rnr timeout spurious slow cnp ce damaged missing text page grid side-a side-b other".split(" ");
    colors = Object.fromEntries(names.map((c) => [c, style.getPropertyValue("--" + c).trim()]));
  }

  // ---- times of waiting ----
  // Colour and legend of the wait before a retransmission, by its cause.
  const READ_CAUSE = ["response-again", "band: wait for lost READ data"];
  const CAUSES = { "RNR NAK": ["rnr", "band: wait after an RNR NAK"], "sequence NAK": ["nak", "band: wait for a sequence NAK"], "timeout": ["timeout", "band: wait for a timeout"],
    "spurious timeout": ["spurious", "band: wait for a spurious timeout (the response came later)"], "implied NAK": READ_CAUSE, "READ response missing": READ_CAUSE,
    "unknown": ["other", "band: wait before another retransmission"] };

  // Bands of a PSN graph, one for each wait of the time budget, in seconds. It begins with the latest packet, or if a NAK ended it, the latest request.
  function bandsOf(r) {
    const bands = [], before = [0, 1].map(() => ({ request: Infinity, packet: Infinity, psn: 0, acked: -Infinity, again: false }));
    for (let i = 0; i < r.length; i++) {
      const s = r.style[i], last = before[s.direction], time = r.time[i], acked = r.psn[i] + r.span[i];
      const add = (from, [color, legend], text) => bands.push({ direction: s.direction, psn: r.psn[i], from: from, to: time, color: color, legend: legend, text: text + D.duration((time - from) * 1e9), ackedBefore: s.marks & D.MARK.ackedBefore });
      const isAnswer = s.class === "ack" || s.class === "response", isAgain = s.class === "repeated request";
      const from = s.cause === "RNR NAK" || s.cause === "sequence NAK" ? last.request : last.packet;
      if (isAgain && time > from && (!last.again || r.psn[i] <= last.psn)) // the first packet of a go-back
        add(from, CAUSES[s.cause] || CAUSES.unknown, s.cause === "RNR NAK" ? "receiver not ready: " : "waited ");
      if (isAnswer && acked > last.acked && !last.again && time - last.packet >= 0.01) // seconds, LATE_RESPONSE_NS in rnic/flow/response.c
        add(last.packet, ["slow", "band: slow response"], "slow response: ");
      if (isAnswer) last.acked = Math.max(last.acked, acked);
      if (s.class.endsWith("request")) Object.assign(last, { request: r.end[i], psn: r.psn[i], again: isAgain });
      if (!["cnp", "other", "dropped"].includes(s.class)) last.packet = r.end[i];
    }
    return bands;
  }

  // ---- shapes ----
  function bar(ctx, x0, x1, y0, y1, color) {
    ctx.fillStyle = color;
    ctx.fillRect(x0, Math.min(y0, y1), Math.max(x1 - x0, 2), Math.max(Math.abs(y1 - y0), 2));
  }

  // Draws a line through points x, y, x, y, ...
  function path(ctx, points, color, width, dash) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    if (dash) ctx.setLineDash(dash);
    ctx.beginPath();
    for (let i = 0; i < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
    ctx.stroke();
    if (dash) ctx.setLineDash([]);
  }

  const line = (ctx, x0, y0, x1, y1, color, width, dash) => path(ctx, [x0, y0, x1, y1], color, width, dash);

  // A time of waiting, with a text above it if there is room.
  function band(at, x0, x1, y, color, text) {
    at.ctx.globalAlpha = 0.3;
    bar(at.ctx, x0, x1, y - 5, y + 5, color);
    at.ctx.globalAlpha = 1;
    at.ctx.font = "12px sans-serif";
    const width = at.ctx.measureText(text).width, x = Math.min(Math.max(x0, at.x(at.t0)) + 8, at.x(at.t1) - width - 4);
    if (x1 - x0 < 70 || at.words.some((w) => Math.abs(w.y - y) < 16 && x < w.x + w.width + 6 && w.x < x + width + 6)) return; // it would cover another text
    at.words.push({ x: x, y: y, width: width });
    at.ctx.globalAlpha = 0.8;
    bar(at.ctx, x - 2, x + width + 2, y - 21, y - 6, colors.page);
    at.ctx.globalAlpha = 1;
    at.ctx.fillStyle = colors.text;
    at.ctx.fillText(text, x, y - 9);
  }

  // Each mark has its own shape, so that it can be told apart without colours.
  const SHAPES = {
    nak: (c, x, y) => { c.moveTo(x, y + 6); c.lineTo(x - 6, y - 5); c.lineTo(x + 6, y - 5); c.closePath(); },
    rnr: (c, x, y) => { c.rect(x - 5, y - 5, 10, 10); },
    implied: (c, x, y) => { c.moveTo(x, y - 6); c.lineTo(x + 6, y); c.lineTo(x, y + 6); c.lineTo(x - 6, y); c.closePath(); },
    damaged: (c, x, y) => { c.moveTo(x - 5, y - 5); c.lineTo(x + 5, y + 5); c.moveTo(x + 5, y - 5); c.lineTo(x - 5, y + 5); },
    cnp: (c, x, y) => { c.moveTo(x, y - 6); c.lineTo(x + 6, y + 5); c.lineTo(x - 6, y + 5); c.closePath(); },
    ce: (c, x, y) => { c.arc(x, y, 3, 0, 2 * Math.PI); },
    timeout: (c, x, y) => { c.moveTo(x - 5, y - 6); c.lineTo(x + 5, y - 6); c.lineTo(x - 5, y + 6); c.lineTo(x + 5, y + 6); c.closePath(); },
    spurious: (c, x, y) => { c.moveTo(x - 6, y - 5); c.lineTo(x - 6, y + 5); c.lineTo(x + 6, y - 5); c.lineTo(x + 6, y + 5); c.closePath(); },
  };

  // Draws a mark, with a rim on a coloured ground.
  function mark(ctx, kind, x, y, color, rim) {
    ctx.beginPath();
    SHAPES[kind](ctx, x, y);
    ctx.strokeStyle = colors.page;
    ctx.lineWidth = 4;
    if (rim) ctx.stroke();
    ctx.lineWidth = 2;
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx[["implied", "damaged"].includes(kind) ? "stroke" : "fill"]();
  }

  // ---- painters: each draws the runs or messages of a view; `at` has x(time), y(value), hit(...) and isNew(...): whether
  // the graph has no such shape at these pixels yet. The shapes of many packets share pixels, and drawing takes most of the
  // time of a zoom step. ----

  function paintPsn(view, at, direction) {
    const r = view.runs, ctx = at.ctx;
    let ackY = null, acked = -Infinity;
    const marks = [], acks = [];
    for (let i = 0; i < r.length; i++) {
      const s = r.style[i];
      if (s.direction !== direction || s.class === "cnp" || s.class === "other" || r.end[i] < at.t0 || r.time[i] > at.t1) continue;
      const x0 = at.x(r.time[i]), x1 = at.x(r.end[i]), y0 = at.y(r.psn[i]), y1 = at.y(r.psn[i] + r.span[i]);
      if (s.class === "ack" || s.class === "response" || s.class === "nak" || s.class === "rnr nak") {
        const to = r.psn[i] + (s.class === "nak" || s.class === "rnr nak" ? 0 : r.span[i]);
        if (to > acked) {
          if (ackY !== null) acks.push(x0, ackY);
          acks.push(x1, ackY = at.y(to));
          acked = to;
        }
      }
      const color = { "request": colors.first, "repeated request": colors.again, "response": colors.response,
        "repeated response": colors["response-again"], "copy": colors.other }[s.class];
      if (color && r.count[i] > 1 && x1 - x0 > 3) line(ctx, x0, y0, x1, y1, color, 3);
      else if (color && at.isNew(x0, y0, y1, color)) bar(ctx, x0, x0 + 2.5, y0, y1, color);
      if (r.gap[i] && s.class !== "copy") line(ctx, x0 + 1, at.y(r.psn[i] - r.gap[i]), x0 + 1, y0, colors.missing, 3, [3, 2]);
      if (s.class === "nak") marks.push(["nak", x0, y0, colors.nak]);
      if (s.class === "rnr nak") marks.push(["rnr", x0, y0, colors.rnr]);
      if (s.class === "dropped") marks.push(["damaged", x0, y0, colors.damaged]);
      if (s.marks & D.MARK.impliedNak) marks.push(["implied", x0, y0, colors.nak]);
      at.hit(i, x0, x1, y0, y1);
    }
    path(ctx, acks, colors.ack, 1.2);
    view.bands.filter((b) => b.direction === direction && b.to >= at.t0 && b.from <= at.t1)
      .forEach((b) => band(at, at.x(b.from), at.x(b.to), at.y(b.psn), colors[b.color], b.text));
    marks.forEach((m) => mark(ctx, ...m));
  }

  function paintFlight(view, at) {
    [0, 1].forEach((direction) => {
      const r = view.runs, points = [];
      for (let i = 0; i < r.length; i++) {
        if (r.style[i].direction !== direction || r.style[i].class === "cnp" || r.time[i] > at.t1) continue;
        const x = at.x(r.time[i]), y = at.y(r.flight[i]);
        if (r.time[i] < at.t0) points.length = 0;
        if (points.length) points.push(x, points[points.length - 1]);
        points.push(x, y);
        if (r.end[i] >= at.t0) at.hit(i, x, x, y, y);
      }
      path(at.ctx, points, direction ? colors["side-b"] : colors["side-a"], 1.5);
    });
  }

  const largest = (values) => values.reduce((m, v) => Math.max(m, v), 0);
  const isAgain = (s) => s.class === "repeated request" || s.class === "repeated response" || s.class === "copy";

  // Bins of new and of repeated payload, bytes per second, about 3 pixels wide.
  function dataBins(view, t0, t1, width) {
    const bins = Math.max(8, Math.floor(width / 3)), r = view.runs, perSecond = bins / (t1 - t0);
    const pick = (again) => D.binned(r, t0, t1, bins, (i) => isAgain(r.style[i]) === again ? r.payload[i] : 0).map((v) => v * perSecond);
    const fresh = pick(false), again = pick(true);
    return { bins: bins, fresh: fresh, again: again, most: largest(fresh.map((v, i) => v + again[i])) };
  }

  function paintData(view, at) {
    const d = dataBins(view, at.t0, at.t1, at.width), w = at.width / d.bins, x0 = at.x(at.t0), base = at.y(0);
    for (let b = 0; b < d.bins; b++) {
      const y = at.y(d.fresh[b]);
      if (d.fresh[b]) bar(at.ctx, x0 + b * w, x0 + (b + 1) * w - 0.5, base, y, colors.first);
      if (d.again[b]) bar(at.ctx, x0 + b * w, x0 + (b + 1) * w - 0.5, y, at.y(d.fresh[b] + d.again[b]), colors.again);
    }
  }

  function paintLatency(view, at) {
    view.messages.forEach((m, i) => {
      if (m.done < at.t0 || m.done > at.t1) return;
      const x = at.x(m.done), y = at.y(Math.log10(Math.max(m.ns, 1))), color = m.side ? colors["side-b"] : colors["side-a"];
      if (at.isNew(x, y, 0, color)) bar(at.ctx, x - 2, x + 2, y - 2, y + 2, color);
      at.hitMessage(i, x, x, y, y);
    });
    const r = view.runs;
    for (let i = 0; i < r.length; i++) {
      if (!r.rtt[i] || r.time[i] < at.t0 || r.time[i] > at.t1) continue;
      const x = at.x(r.time[i]), y = at.y(Math.log10(r.rtt[i]));
      at.ctx.strokeStyle = colors.ack;
      at.ctx.lineWidth = 1;
      if (at.isNew(x, y, 0, colors.ack)) at.ctx.strokeRect(x - 2, y - 2, 4, 4);
      at.hit(i, x, x, y, y);
    }
  }

  // Bytes per second that each side sent, in bins of about 6 pixels.
  function rateBins(view, t0, t1, width) {
    const bins = Math.max(8, Math.floor(width / 6)), r = view.runs;
    return [0, 1].map((side) => D.binned(r, t0, t1, bins, (i) => r.style[i].side === side ? r.wire[i] : 0).map((bytes) => bytes * bins / (t1 - t0)));
  }

  function paintRate(view, at) {
    const r = view.runs;
    rateBins(view, at.t0, at.t1, at.width).forEach((v, side) => {
      const xOf = (b) => at.x(at.t0 + (b + 0.5) * (at.t1 - at.t0) / v.length);
      path(at.ctx, Array.from(v).flatMap((rate, b) => [xOf(b), at.y(rate)]), side ? colors["side-b"] : colors["side-a"], 1.5);
    });
    for (let i = 0; i < r.length; i++) {
      if (r.time[i] < at.t0 || r.time[i] > at.t1) continue;
      const x = at.x(r.time[i]), low = at.y(0);
      if (r.ce[i] && at.isNew(x, 0, 0, colors.ce)) mark(at.ctx, "ce", x, low - 6, colors.ce);
      if (r.style[i].class === "cnp") mark(at.ctx, "cnp", x, low - 18, colors.cnp);
      if (r.ce[i] || r.style[i].class === "cnp") at.hit(i, x, x, low - 18, low - 6);
    }
  }

  function paintMessages(view, at) {
    view.messages.forEach((m, i) => {
      if (m.end < at.t0 || m.begin > at.t1) return;
      const y0 = at.y(i + 0.15), y1 = at.y(i + 0.85), x0 = at.x(m.first), x1 = at.x(m.last), x2 = at.x(m.done);
      const color = m.side ? colors["side-b"] : colors["side-a"];
      at.hitMessage(i, at.x(m.begin), at.x(m.end), y0, y1);
      if (!m.steps && !at.isNew(x0, x2, y0, color)) return;
      at.ctx.globalAlpha = 0.35;
      bar(at.ctx, x1, x2, y0, y1, color);
      at.ctx.globalAlpha = 1;
      bar(at.ctx, x0, x1, y0, y1, color);
      if (!m.steps) return;
      const y = (y0 + y1) / 2, to = (from, x, c) => (path(at.ctx, [from, y, x, y, x, y0, x, y1], colors[c], 1.5), x);
      to(x0, at.x(m.begin), "again");
      [[4, "ack"], [5, "rnr"], [6, "timeout"]].reduce((from, [k, c]) => m.steps[k] === null ? from : to(from, at.x(m.steps[k]), c), x2);
    });
  }

  function paintLanes(view, at) {
    const r = view.runs, half = Math.min(4, 0.4 * (at.y(0) - at.y(1)));
    for (let i = 0; i < r.length; i++) {
      const s = r.style[i];
      if (s.class === "cnp" || r.end[i] < at.t0 || r.time[i] > at.t1) continue;
      const x0 = at.x(r.time[i]), x1 = at.x(r.end[i]), y = at.y(s.lane + 0.5);
      const color = isAgain(s) ? colors.again : MARKED.has(s.class) ? colors.nak : s.side ? colors["side-b"] : colors["side-a"];
      if (at.isNew(x0, x1, y, color)) bar(at.ctx, x0, Math.max(x1, x0 + 2), y - half, y + half, color);
      at.hit(i, x0, x1, y - half, y + half);
    }
  }

  const laneOf = (style) => (style.side ? "b " : "a ") + style.sport;
  const lanesHeight = (lanes) => Math.min(Math.max(HEIGHT.lanes, 10 * lanes.length), 600);

  // ---- value ranges: of what is visible between two times ----
  function visible(view, t0, t1, low, high, accept) {
    let min = Infinity, max = -Infinity;
    const r = view.runs;
    for (let i = 0; i < r.length; i++) {
      if (r.end[i] < t0 || r.time[i] > t1 || !accept(r.style[i])) continue;
      min = Math.min(min, low(i));
      max = Math.max(max, high(i));
    }
    return min <= max ? [min, max] : null;
  }

  function padded(range, share) {
    const pad = range ? Math.max((range[1] - range[0]) * share, 0.5) : 0;
    return range ? [range[0] - pad, range[1] + pad] : [0, 1];
  }

  // Ticks at 1, 2 and 5 times each power of ten, of values that are logarithms.
  function decades(min, max) {
    const ticks = [], steps = max - min > 3 ? [1] : [1, 2, 5];
    for (let e = Math.floor(min); e <= max; e++) ticks.push(...steps.map((s) => e + Math.log10(s)));
    return ticks.filter((v) => v >= min && v <= max).map((v) => ({ v: v, label: D.duration(Math.pow(10, v)) }));
  }

  // Names of at most `most` rows between two values. If more rows are visible: the names of some of them.
  function rows(names, from, to, most) {
    const first = Math.max(0, Math.floor(Math.min(from, to))), shown = names.slice(first, Math.ceil(Math.max(from, to)));
    const step = Math.ceil(shown.length / most);
    return shown.map((name, i) => ({ v: first + i + 0.5, label: name })).filter((_, i) => i % step === 0);
  }

  const KINDS = {
    psn: (direction) => ({
      paint: (view, at) => paintPsn(view, at, direction), tick: (v) => Number.isInteger(v) ? String(v) : "",
      range: (view, t0, t1) => padded(visible(view, t0, t1, (i) => view.runs.psn[i] - view.runs.gap[i],
        (i) => view.runs.psn[i] + view.runs.span[i], (s) => s.direction === direction && s.class !== "cnp" && s.class !== "other" && s.class !== "dropped"), 0.06) }),
    flight: () => ({ paint: paintFlight, tick: D.size,
      range: (view, t0, t1) => [0, 1.1 * Math.max(1, (visible(view, t0, t1, () => 0, (i) => view.runs.flight[i], () => true) || [0, 1])[1])] }),
    data: () => ({ paint: paintData, tick: D.rate, range: (view, t0, t1, width) => [0, 1.1 * Math.max(1, dataBins(view, t0, t1, width).most)] }),
    latency: () => ({ paint: paintLatency, tick: String, ticker: decades, range: (view) => view.latencies }),
    rate: () => ({ paint: paintRate, tick: D.rate,
      range: (view, t0, t1, width) => [0, 1.2 * Math.max(1, ...rateBins(view, t0, t1, width).map(largest))] }),
    messages: () => ({ paint: paintMessages, tick: String, ticker: (from, to, view) => rows(view.messages.map((m) => m.kind), from, to, 12),
      range: (view, t0, t1) => {
        const shown = view.messages.flatMap((m, i) => m.end >= t0 && m.begin <= t1 ? [i] : []);
        return shown.length ? [shown[shown.length - 1] + 1.5, shown[0] - 0.5] : [1, 0];
      } }),
    lanes: () => ({ paint: paintLanes, tick: String, ticker: (from, to, view) => rows(view.lanes.map((l) => "port " + l.slice(2)), from, to, lanesHeight(view.lanes) / 12),
      range: (view) => [0, view.lanes.length] }),
  };

  // ---- one view: the graphs of one connection, with a common time window ----
  class View {
    constructor(conn, events) {
      this.conn = conn;
      this.events = events; // onPoint(text, item), onWindow(t0, t1)
      this.runs = D.decodeRuns(conn);
      this.messages = D.decodeMessages(conn);
      const styles = this.runs.styles.filter((s) => s.class !== "cnp");
      this.lanes = [...new Set(styles.map(laneOf))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
      const laneAt = new Map(this.lanes.map((lane, i) => [lane, i]));
      styles.forEach((s) => { s.lane = laneAt.get(laneOf(s)); });
      this.graphs = [];
      this.bands = bandsOf(this.runs);
      const last = this.messages.reduce((t, m) => Math.max(t, m.end), this.runs.end.reduce((m, v) => Math.max(m, v), 0));
      const first = this.messages.reduce((t, m) => Math.min(t, m.begin), this.runs.time[0]);
      const pad = Math.max((last - first) * 0.02, 1e-6);
      const all = this.messages.map((m) => m.ns).concat(Array.from(this.runs.rtt)).filter((v) => v > 0);
      this.latencies = all.length ? [Math.log10(all.reduce((a, b) => Math.min(a, b))) - 0.2, Math.log10(largest(all)) + 0.2] : [0, 1];
      this.full = [first - pad, last + pad];
      this.window = this.full;
      const isTrouble = (s, i) => isAgain(s) || MARKED.has(s.class) || this.runs.gap[i] || s.marks & D.MARK.impliedNak;
      this.trouble = this.runs.style.flatMap((s, i) => isTrouble(s, i) ? [i] : []);
    }
    add(div, kind, direction) {
      const spec = KINDS[kind](direction), view = this;
      const g = { div: div, spec: spec, hits: [] }; // hits: x0, x1, y0, y1, whether it is a message, index; of each thing drawn
      div.style.height = (kind === "lanes" ? lanesHeight(this.lanes) : HEIGHT[kind]) + "px";
      g.dygraph = new Dygraph(div, [[this.full[0], 0], [this.full[1], 0]], {
        labels: ["time", "value"], legend: "never", dateWindow: this.window.slice(), valueRange: spec.range(this, ...this.window, div.clientWidth),
        visibility: [false], underlayCallback: (ctx, area, dygraph) => view.paint(g, ctx, area, dygraph), // the painters draw all points
        axes: { x: { axisLabelFormatter: (t) => D.exactDuration(t * 1e9, (view.window[1] - view.window[0]) * 5e7), axisLabelWidth: 76, pixelsPerLabel: 90, valueFormatter: String },
          y: { axisLabelFormatter: spec.tick, axisLabelWidth: 84, ...(spec.ticker ? { ticker: (from, to) => spec.ticker(from, to, view) } : {}), drawGrid: kind !== "messages" && kind !== "lanes" } },
        gridLineColor: colors.grid, axisLineColor: colors.grid, xRangePad: 0, yRangePad: 0, animatedZooms: false,
        zoomCallback: (t0, t1) => view.setWindow(t0, t1),
        drawCallback: (dygraph, initial) => {
          const w = dygraph.xAxisRange();
          if (!initial && !view.busy && (w[0] !== view.window[0] || w[1] !== view.window[1])) view.setWindow(w[0], w[1]);
        } });
      div.addEventListener("mousemove", (e) => view.point(g, e));
      div.addEventListener("mouseleave", () => view.events.onPoint(null));
      div.addEventListener("click", () => { if (g.near) view.events.onPick(g.near); });
      div.addEventListener("keydown", (e) => view.key(e));
      this.graphs.push(g);
    }
    paint(g, ctx, area, dygraph) {
      const [t0, t1] = dygraph.xAxisRange(), [y0, y1] = dygraph.yAxisRange();
      const sx = area.w / (t1 - t0), sy = area.h / (y1 - y0);
      g.hits = [];
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.x, area.y, area.w, area.h);
      ctx.clip();
      const seen = new Set(), palette = Object.values(colors);
      const isNew = (a, b, c, color) => seen.size !==
        seen.add(((Math.round(a) * 4096 + Math.round(b)) * 4096 + Math.round(c)) * 32 + palette.indexOf(color)).size;
      const hit = (item) => (i, x0, x1, ya, yb) => g.hits.push(x0, x1, Math.min(ya, yb), Math.max(ya, yb), item, i);
      g.spec.paint(this, { ctx: ctx, t0: t0, t1: t1, width: area.w, x: (t) => area.x + (t - t0) * sx,
        y: (v) => area.y + area.h - (v - y0) * sy, hit: hit(0), hitMessage: hit(1), isNew: isNew, words: [] });
      if (this.cursor !== undefined) {
        const x = area.x + (this.runs.time[this.cursor] - t0) * sx;
        line(ctx, x, area.y, x, area.y + area.h, colors.text, 1, [4, 4]);
      }
      ctx.restore();
    }
    setWindow(t0, t1) {
      const length = Math.max(t1 - t0, 1e-8);
      if (this.busy) return;
      this.busy = true;
      this.window = [t0, t0 + length];
      const ranges = this.graphs.map((g) => g.spec.range(this, ...this.window, g.div.clientWidth)); // reads sizes before the page changes
      this.graphs.forEach((g, i) => g.dygraph.updateOptions({ dateWindow: this.window.slice(), valueRange: ranges[i] }));
      this.busy = false;
      this.events.onWindow(this.window[0], this.window[1]);
    }
    zoom(factor) {
      const middle = this.cursor === undefined ? (this.window[0] + this.window[1]) / 2 : this.runs.time[this.cursor];
      const half = (this.window[1] - this.window[0]) / 2 * factor;
      this.setWindow(Math.max(this.full[0], middle - half), Math.min(this.full[1], middle + half));
    }
    pan(share) { this.setWindow(...this.window.map((t) => t + (this.window[1] - this.window[0]) * share)); }
    reset() { this.setWindow(this.full[0], this.full[1]); }
    // Moves the cursor to a run and shows it.
    moveTo(i, closeUp) {
      this.cursor = i;
      const t = this.runs.time[i], half = (closeUp ? (this.full[1] - this.full[0]) / 40 : this.window[1] - this.window[0]) / 2;
      this.setWindow(...(closeUp || t < this.window[0] || t > this.window[1] ? [t - half, t + half] : this.window));
      this.events.onPoint(this.describe("run", i), { item: "run", index: i });
    }
    moveToFrame(frame) {
      const i = this.runs.frame.findIndex((first, k) => first <= frame && frame <= this.runs.lastFrame[k]);
      if (i >= 0) this.moveTo(i, true);
      return i >= 0;
    }
    next(list, step) {
      const now = this.cursor === undefined ? (step > 0 ? -1 : this.runs.length) : this.cursor;
      const to = step > 0 ? list.find((i) => i > now) : list.slice().reverse().find((i) => i < now);
      if (to !== undefined) this.moveTo(to, false);
    }
    key(e) {
      const all = () => Array.from({ length: this.runs.length }, (_, i) => i);
      const actions = { ArrowRight: () => e.shiftKey ? this.pan(0.25) : this.next(all(), 1),
        ArrowLeft: () => e.shiftKey ? this.pan(-0.25) : this.next(all(), -1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
        "-": () => this.zoom(2), "0": () => this.reset(), n: () => this.next(this.trouble, 1), p: () => this.next(this.trouble, -1),
        Enter: () => this.cursor !== undefined && this.events.onPick({ item: "run", index: this.cursor }) };
      if (!actions[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      actions[e.key]();
    }
    point(g, e) {
      const box = g.div.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
      let best = null, least = 400;
      for (let k = 0, h = g.hits; k < h.length; k += 6) {
        const dx = x < h[k] ? h[k] - x : x > h[k + 1] ? x - h[k + 1] : 0, dy = y < h[k + 2] ? h[k + 2] - y : y > h[k + 3] ? y - h[k + 3] : 0;
        if (dx * dx + dy * dy >= least) continue;
        least = dx * dx + dy * dy;
        best = { item: h[k + 4] ? "message" : "run", index: h[k + 5] };
      }
      g.near = best;
      this.events.onPoint(best ? this.describe(best.item, best.index) : null, best, e.clientX, e.clientY);
    }
    filterOf(near) {
      const m = near.item === "message" && this.messages[near.index], r = this.runs;
      return m ? D.filterOf(m.frame, m.frame) : D.filterOf(r.frame[near.index], r.lastFrame[near.index]);
    }
    // Lines that describe a run or a message.
    describe(item, i) {
      if (item === "message") {
        const m = this.messages[i];
        return [m.kind + ", " + D.size(m.bytes) + ", by " + (m.side ? this.conn.b : this.conn.a).address,
          "took " + D.duration(m.ns) + ": sent in " + D.duration((m.last - m.first) * 1e9) + ", completed in frame " + m.frame]
          .concat(m.steps ? ["after the program posted it: " + STEPS.map((name, k) => m.steps[k + 1] === null ? name + " never"
            : name + " " + D.duration((m.steps[k + 1] - m.begin) * 1e9)).join(", ")] : []);
      }
      const r = this.runs, s = r.style[i], lines = [], one = r.count[i] === 1, isData = s.class !== "cnp" && s.class !== "other";
      lines.push((one ? "frame " + r.frame[i] : D.count(r.count[i], "packet") + " in frames " + r.frame[i] + " to " + r.lastFrame[i]) +
        ": " + s.class.replace("nak", "NAK").replace("rnr", "RNR").replace("ack", "ACK") + (s.kind === "ACK" ? "" : " (" + s.kind + ")"));
      if (isData) lines.push("PSN " + r.psn[i] + (r.span[i] > 1 ? " to " + (r.psn[i] + r.span[i] - 1) : "") + " from the first, " +
        ((r.psn[i] + r.psnBase[s.direction]) & 0xFFFFFF) + " in the packet; " + D.size(r.payload[i]));
      lines.push("at " + D.duration(r.time[i] * 1e9) + " from " + (s.side ? this.conn.b : this.conn.a).address);
      if (s.cause) lines.push("retransmitted after " + s.cause + (r.wait[i] ? ", " + D.duration(r.wait[i]) + " after it was sent before" : ""));
      if (s.class === "rnr nak") lines.push("asks for a pause of " + D.duration(r.wait[i]));
      if (s.syndrome && s.class === "nak") lines.push(s.syndrome);
      if (r.gap[i]) lines.push(D.count(r.gap[i], "packet") + " missing before it");
      if (s.marks & D.MARK.impliedNak) lines.push("a response before it was skipped (implied NAK)");
      if (s.marks & D.MARK.ackedBefore) lines.push("the capture shows that it was already acknowledged");
      if (r.rtt[i]) lines.push("acknowledged after " + D.duration(r.rtt[i]));
      if (r.ce[i]) lines.push("marked: congestion experienced (CE)");
      return lines.concat(this.events.findingsOf(r.frame[i], r.lastFrame[i]));
    }
    redraw() { this.graphs.forEach((g) => g.dygraph.updateOptions({ gridLineColor: colors.grid, axisLineColor: colors.grid })); }
    destroy() { this.graphs.splice(0).forEach((g) => g.dygraph.destroy()); }
  }

  return { View, isAgain, readColors, mark, color: (name) => colors[name] };
})();
