// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Graphs of one connection. dygraphs has the axes, zoom and pan; the painters here draw packets on its canvas.
"use strict";

const RoceGraph = (function () {
  const D = RoceData;
  const STEPS = ["taken by the RNIC", "first packet", "last packet", "acknowledged", "completed", "polled"];
  const COLORS = ("first again response response-again ack nak implied refused rnr timeout spurious slow cnp ce " +
    "damaged missing lost text page grid side-a side-b other").split(" ");
  const ITEMS = ["run", "message", "band", "bin"]; // things to point at
  let colors = {};

  // Removes the legend of dygraphs, which is never shown, because it makes the browser lay out the page at each redraw.
  if (typeof Dygraph !== "undefined")
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter((p) => p.prototype.toString() !== "Legend Plugin");

  function readColors() {
    const style = getComputedStyle(document.documentElement);
    colors = Object.fromEntries(COLORS.map((c) => [c, style.getPropertyValue("--" + c).trim()]));
  }

  const lineColors = () => ({ gridLineColor: colors.grid, axisLineColor: colors.grid });
  const sideColor = (side) => colors[side ? "side-b" : "side-a"];
  const largest = (values) => values.reduce((m, v) => Math.max(m, v), 0);

  function bar(ctx, x0, x1, y0, y1, color) {
    ctx.fillStyle = color;
    ctx.fillRect(x0, Math.min(y0, y1), Math.max(x1 - x0, 2), Math.max(Math.abs(y1 - y0), 2));
  }

  // Counts the boxes that overlap box `p`. `boxes` has `step` numbers for each: left, right, top, bottom, and others.
  function overlaps(p, boxes, step) {
    let cnt = 0;
    for (let k = 0; k < boxes.length; k += step)
      cnt += p[0] < boxes[k + 1] && boxes[k] < p[1] && p[2] < boxes[k + 3] && boxes[k + 2] < p[3];
    return cnt;
  }

  // Draws a line through points x, y, x, y, ...
  function path(ctx, points, color, width, dash) {
    Object.assign(ctx, { strokeStyle: color, lineWidth: width });
    if (dash) ctx.setLineDash(dash);
    ctx.beginPath();
    for (let i = 0; i < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
    ctx.stroke();
    if (dash) ctx.setLineDash([]);
  }

  // Writes a text near a place, where it covers the fewest things. Omits it if it covers a text or a mark everywhere.
  function caption(at, x0, y0, text) {
    const width = at.ctx.measureText(text).width + 4, { x, w, y, h } = at.area;
    const [box] = [y0 - 21, y0 + 6].flatMap((top) => [x0 + 6, x0 - width - 6].map((left) => {
      const from = Math.max(x, Math.min(left, x + w - width));
      return [from, from + width, top, top + 15];
    })).filter((p) => p[1] <= x + w && p[2] >= y && p[3] <= y + h && !overlaps(p, at.taken, 4))
      .sort((p, q) => overlaps(p, at.hits, 6) - overlaps(q, at.hits, 6));
    if (!box || Math.abs(x0 - at.said[text]) < 160) return; // no text twice at nearly the same time
    (at.taken.push(...box), at.said[text] = x0);
    bar(at.ctx, ...box, colors.page);
    at.ctx.fillStyle = colors.text;
    at.ctx.fillText(text, box[0] + 2, box[2] + 12);
  }

  // Corners of each mark. Each has its own shape, so that it can be told apart without colours.
  const SHAPES = {
    nak: [0, 6, -6, -5, 6, -5], rnr: [-5, -5, 5, -5, 5, 5, -5, 5], implied: [0, -6, 6, 0, 0, 6, -6, 0],
    damaged: [-5, -5, 5, 5, 0, 0, 5, -5, -5, 5, 0, 0], cnp: [0, -6, 6, 5, -6, 5],
    ce: [3, 0, 2, 2, 0, 3, -2, 2, -3, 0, -2, -2, 0, -3, 2, -2], timeout: [-5, -6, 5, -6, -5, 6, 5, 6],
    spurious: [-6, -5, -6, 5, 6, -5, 6, 5],
  };

  // Draws a mark, with a rim on a coloured ground.
  function mark(ctx, kind, x, y, color, rim) {
    const shape = SHAPES[kind] || SHAPES.nak;
    ctx.beginPath();
    for (let i = 0; i < shape.length; i += 2) ctx.lineTo(x + shape[i], y + shape[i + 1]);
    ctx.closePath();
    Object.assign(ctx, { strokeStyle: colors.page, lineWidth: 4 });
    if (rim) ctx.stroke();
    Object.assign(ctx, { strokeStyle: color, fillStyle: color, lineWidth: 2 });
    ctx[["implied", "refused", "damaged"].includes(kind) ? "stroke" : "fill"]();
  }

  // ---- painters: each draws the runs or messages of a view. `at` has x(time), y(value), hit(item, index, x0, x1, y0,
  // y1) for each thing to point at, and isNew(...): whether the graph has no such shape at these pixels yet. ----

  // Draws the line of a value that changes at some runs, from each change to the next.
  function stepLine(view, at, indexes, valueOf, color, width) {
    const r = view.runs, corners = [];
    indexes.filter((i) => r.time[i] <= at.t1).forEach((i) => {
      if (r.time[i] < at.t0) corners.length = 0; // only the last corner before the window
      if (corners.length) corners.push(at.x(r.time[i]), corners[corners.length - 1]);
      corners.push(at.x(r.end[i]), at.y(valueOf(i)));
    });
    path(at.ctx, corners, color, width);
  }

  // Draws the waits of a direction as bands. Returns the captions that fit into their bands.
  function paintBands(view, at, direction) {
    return view.bands.flatMap((b, k) => {
      const x0 = at.x(b.from), x1 = at.x(b.to), y = at.y(b.psn);
      if (b.direction !== direction || b.to < at.t0 || b.from > at.t1) return [];
      at.ctx.globalAlpha = 0.3;
      bar(at.ctx, x0, x1, y - 5, y + 5, colors[b.color]);
      at.ctx.globalAlpha = 1;
      at.hit("band", k, x0, x1, y - 5, y + 5);
      const time = D.duration((b.to - b.from) * 1e9), left = Math.max(x0, at.area.x);
      const free = (text) => Math.min(x1, at.area.x + at.area.w) - left - at.ctx.measureText(text).width - 16;
      const text = [b.text + ": " + time, "wait " + time].find((t) => free(t) > 0);
      return text ? [[left + free(text) / 2, y, text]] : [];
    });
  }

  function paintPsn(view, at, direction) {
    const r = view.runs, ctx = at.ctx, marks = [], lost = [], waits = paintBands(view, at, direction);
    for (let i = 0; i < r.length; i++) {
      const s = r.style[i], kind = s.class;
      if (s.direction !== direction || !s.psn || r.end[i] < at.t0 || r.time[i] > at.t1) continue;
      const x0 = at.x(r.time[i]), x1 = at.x(r.end[i]), up = s.mark === "refused" ? 12 : 0, color = colors[s.color];
      const y0 = at.y(r.psn[i]) - up, y1 = at.y(r.psn[i] + r.span[i]) - up; // above the mark of the RNR NAK
      if (color && r.count[i] > 1 && x1 - x0 > 3) path(ctx, [x0, y0, x1, y1], color, 3);
      else if (color && at.isNew(x0, y0, y1, color)) bar(ctx, x0, x0 + 2.5, y0, y1, color);
      if (r.gap[i] && kind !== "copy") {
        path(ctx, [x0 + 1, at.y(r.psn[i] - r.gap[i]), x0 + 1, y0], colors.missing, 3, [3, 2]);
        lost.push([x0, y0, D.count(r.gap[i], "packet") + " missing"]);
      }
      [s.mark, s.implied && "implied"].filter(Boolean).forEach((m) => marks.push([m, x0, y0, colors[m]]));
      at.hit("run", i, x0, x1, y0, y1);
    }
    r.uses.filter(([i, d]) => i && d === direction).map(([i]) => at.x(r.time[i])).forEach((x) => {
      path(ctx, [x, at.area.y, x, at.area.y + at.area.h], colors.text, 1, [4, 4]);
      lost.push([x, at.area.y + 22, "QP pair used again"]);
    });
    const acked = (i) => r.psn[i] + (r.style[i].syndrome ? 0 : r.span[i]);
    stepLine(view, at, view.conn.acks[direction], acked, colors.ack, 1.2);
    marks.forEach((m) => (mark(ctx, ...m), at.take(m[1], m[2])));
    view.conn.losses[direction].forEach(([run, offset, text]) => {
      const x = at.x(r.time[run]), y = at.y(r.psn[run] + offset + 0.5);
      ctx.beginPath();
      ctx.arc(x, y, 7, 0, 7);
      Object.assign(ctx, { strokeStyle: colors.lost, lineWidth: 2 });
      ctx.stroke();
      at.take(x, y);
      lost.push([x, y, text]);
    });
    view.conn.delivered[direction].forEach((i) => lost.push([at.x(r.time[i]), at.y(acked(i)), "all acknowledged"]));
    lost.concat(waits).forEach((text) => caption(at, ...text));
  }

  function paintFlight(view, at) {
    const r = view.runs;
    [0, 1].forEach((direction) => {
      const of = r.style.flatMap((s, i) => s.direction === direction && s.class !== "cnp" ? [i] : []);
      stepLine(view, at, of, (i) => r.flight[i], sideColor(direction), 1.5);
      of.forEach((i) => {
        const x = at.x(r.time[i]), y = at.y(r.flight[i]);
        if (r.time[i] <= at.t1 && r.end[i] >= at.t0) at.hit("run", i, x, x, y, y);
      });
    });
  }

  // Bar graphs: each bar stacks two values per second. Colours, width of a bar in pixels, and values of a run.
  const BINS = {
    data: { colors: ["first", "again"], pixels: 3, names: () => ["sent the first time", "retransmitted"],
      of: (r) => [false, true].map((again) => (i) => r.style[i].again === again ? r.payload[i] : 0) },
    rate: { colors: ["side-a", "side-b"], pixels: 6, names: ({ a, b }) => [a.address, b.address],
      of: (r) => [0, 1].map((side) => (i) => r.style[i].side === side ? r.wire[i] : 0) } };

  function binsOf(view, kind, t0, t1, width) {
    const bins = Math.max(8, Math.floor(width / BINS[kind].pixels)), seconds = (t1 - t0) / bins;
    const values = BINS[kind].of(view.runs)
      .map((of) => D.binned(view.runs, t0, t1, bins, of).map((v) => v / seconds));
    return { seconds, values, most: Math.max(1, largest(values[0].map((v, b) => v + values[1][b]))) };
  }

  function paintBins(view, at, g, kind) {
    const d = g.bins = binsOf(view, kind, at.t0, at.t1, at.width), w = at.width / d.values[0].length;
    const names = BINS[kind].names(view.conn), of = BINS[kind].of(view.runs);
    g.describe = (b) => ({ accept: (i) => of.some((value) => value(i) > 0), lines: d.values.map((v, k) =>
      names[k] + ": " + D.size(Math.round(v[b] * d.seconds)) + ", " + D.rate(v[b])) });
    d.values[0].forEach((low, b) => {
      const x = at.x(at.t0) + b * w, tops = [0, low, low + d.values[1][b]].map((v) => at.y(v));
      BINS[kind].colors.forEach((color, k) => {
        if (d.values[k][b]) bar(at.ctx, x, x + w - 0.5, tops[k], tops[k + 1], colors[color]);
      });
      if (tops[2] < tops[0]) at.hit("bin", b, x, x + w, tops[2], tops[0]);
    });
  }

  function paintLatency(view, at) {
    view.messages.forEach((m, i) => {
      if (m.done < at.t0 || m.done > at.t1) return;
      const x = at.x(m.done), y = at.y(Math.log10(Math.max(m.ns, 1))), color = sideColor(m.side);
      if (at.isNew(x, y, 0, color)) bar(at.ctx, x - 2, x + 2, y - 2, y + 2, color);
      at.hit("message", i, x, x, y, y);
    });
    const r = view.runs;
    for (let i = 0; i < r.length; i++) {
      if (!r.rtt[i] || r.time[i] < at.t0 || r.time[i] > at.t1) continue;
      const x = at.x(r.time[i]), y = at.y(Math.log10(r.rtt[i]));
      Object.assign(at.ctx, { strokeStyle: colors.ack, lineWidth: 1 });
      if (at.isNew(x, y, 0, colors.ack)) at.ctx.strokeRect(x - 2, y - 2, 4, 4);
      at.hit("run", i, x, x, y, y);
    }
  }

  function paintRate(view, at, g) {
    const r = view.runs, low = at.y(0);
    paintBins(view, at, g, "rate");
    for (let i = 0; i < r.length; i++) {
      const isCnp = r.style[i].class === "cnp", x = at.x(r.time[i]);
      if (r.time[i] < at.t0 || r.time[i] > at.t1 || !(r.ce[i] || isCnp)) continue;
      if (r.ce[i] && at.isNew(x, 0, 0, colors.ce)) mark(at.ctx, "ce", x, low - 6, colors.ce, true);
      if (isCnp) mark(at.ctx, "cnp", x, low - 18, colors.cnp, true);
      at.hit("run", i, x, x, low - 18, low - 6);
    }
  }

  function paintMessages(view, at) {
    view.messages.forEach((m, i) => {
      if (m.end < at.t0 || m.begin > at.t1) return;
      const y0 = at.y(i + 0.15), y1 = at.y(i + 0.85), x0 = at.x(m.first), x1 = at.x(m.last), x2 = at.x(m.done);
      const color = sideColor(m.side);
      at.hit("message", i, at.x(m.begin), at.x(m.end), y0, y1);
      if (!m.steps && !at.isNew(x0, x2, y0, color)) return;
      at.ctx.globalAlpha = 0.35;
      bar(at.ctx, x1, x2, y0, y1, color);
      at.ctx.globalAlpha = 1;
      bar(at.ctx, x0, x1, y0, y1, color);
      if (!m.steps) return;
      const y = (y0 + y1) / 2, to = (from, x, c) => (path(at.ctx, [from, y, x, y, x, y0, x, y1], colors[c], 1.5), x);
      to(x0, at.x(m.begin), "again");
      [[4, "ack"], [5, "rnr"], [6, "timeout"]]
        .reduce((from, [k, c]) => m.steps[k] === null ? from : to(from, at.x(m.steps[k]), c), x2);
    });
  }

  function paintLanes(view, at) {
    const r = view.runs, half = Math.min(4, 0.4 * (at.y(0) - at.y(1)));
    for (let i = 0; i < r.length; i++) {
      const s = r.style[i];
      if (s.class === "cnp" || r.end[i] < at.t0 || r.time[i] > at.t1) continue;
      const x0 = at.x(r.time[i]), x1 = at.x(r.end[i]), y = at.y(s.lane + 0.5);
      const color = s.again ? colors.again : s.marked ? colors.nak : sideColor(s.side);
      if (at.isNew(x0, x1, y, color)) bar(at.ctx, x0, Math.max(x1, x0 + 2), y - half, y + half, color);
      at.hit("run", i, x0, x1, y - half, y + half);
    }
  }

  const lanesHeight = (lanes) => Math.min(Math.max(150, 10 * lanes.length), 600);

  function visible(r, t0, t1, low, high, accept) {
    let min = Infinity, max = -Infinity;
    for (let i = 0; i < r.length; i++) {
      if (r.end[i] < t0 || r.time[i] > t1 || !accept(r.style[i])) continue;
      min = Math.min(min, low(i));
      max = Math.max(max, high(i));
    }
    return min <= max ? [min, max] : [0, 1];
  }

  // Returns the ticks of a logarithmic axis: 1, 2 and 5 times each power of ten. `min` and `max` are logarithms.
  function decades(min, max) {
    const ticks = [], steps = max - min > 2.2 ? [1] : [1, 2, 5];
    for (let e = Math.floor(min); e <= max; e++) ticks.push(...steps.map((s) => e + Math.log10(s)));
    return ticks.filter((v) => v >= min && v <= max).map((v) => ({ v, label: D.duration(Math.pow(10, v)) }));
  }

  // Returns the names of the rows between two values. If there are more than `most`, returns only some of the names.
  function rows(names, from, to, most) {
    const first = Math.max(0, Math.floor(Math.min(from, to)));
    const shown = names.slice(first, Math.ceil(Math.max(from, to))), step = Math.ceil(shown.length / most);
    return shown.map((name, i) => ({ v: first + i + 0.5, label: name })).filter((_, i) => i % step === 0);
  }

  const KINDS = {
    psn: (direction) => ({
      paint: (view, at) => paintPsn(view, at, direction), tick: (v) => v % 1 ? "" : "PSN " + (v < 0 ? v : "+" + v),
      range: ({ runs: r }, t0, t1) => {
        const isDrawn = (s) => s.direction === direction && s.psn && s.class !== "dropped";
        const [low, high] = visible(r, t0, t1, (i) => r.psn[i] - r.gap[i], (i) => r.psn[i] + r.span[i], isDrawn);
        const pad = Math.max((high - low) * 0.06, 0.5);
        return [low - pad, high + pad];
      } }),
    flight: () => ({ paint: paintFlight, tick: D.size, range: ({ runs: r }, t0, t1) =>
      [0, 1.1 * Math.max(1, visible(r, t0, t1, () => 0, (i) => r.flight[i], () => true)[1])] }),
    data: () => ({ paint: (view, at, g) => paintBins(view, at, g, "data"), tick: D.rate,
      range: (view, t0, t1, width) => [0, 1.1 * binsOf(view, "data", t0, t1, width).most] }),
    latency: () => ({ paint: paintLatency, tick: String, ticker: decades, range: (view) => view.latencies }),
    rate: () => ({ paint: paintRate, tick: D.rate,
      range: (view, t0, t1, width) => [0, 1.2 * binsOf(view, "rate", t0, t1, width).most] }),
    messages: () => ({ paint: paintMessages, tick: String, noGrid: true,
      ticker: (from, to, view) => rows(view.messages.map((m) => m.kind.replace("compare and", "cmp &")), from, to, 12),
      range: (view, t0, t1) => {
        const shown = view.messages.flatMap((m, i) => m.end >= t0 && m.begin <= t1 ? [i] : []);
        return shown.length ? [shown[shown.length - 1] + 1.5, shown[0] - 0.5] : [1, 0];
      } }),
    lanes: () => ({ paint: paintLanes, tick: String, noGrid: true, range: ({ lanes }) => [0, lanes.length],
      ticker: (from, to, { lanes: l }) => rows(l.map((port) => "port " + port), from, to, lanesHeight(l) / 12) }),
  };

  // ---- one view: the graphs of one connection, with a common time window ----
  class View {
    constructor(conn, events) {
      const runs = D.decodeRuns(conn), { lanes } = conn.runs, [first, last] = conn.window.map((ns) => ns * 1e-9);
      const pad = Math.max((last - first) * 0.02, 1e-6), full = [first - pad, last + pad];
      const latencies = conn.latencies.map((ns, i) => ns ? Math.log10(ns) + [-0.2, 0.2][i] : i);
      Object.assign(this, { conn, events, runs, lanes, latencies, full, window: full, graphs: [],
        messages: D.decodeMessages(conn), bands: D.decodeBands(conn, runs) }); // events: functions of page.js
    }
    add(div, kind, direction) {
      const spec = KINDS[kind](direction), view = this;
      const g = { div, spec, hits: [] }; // hits: x0, x1, y0, y1, index into ITEMS, index; of each thing drawn
      if (kind === "lanes") div.style.height = lanesHeight(this.lanes) + "px"; // the others are in page.css
      g.dygraph = new Dygraph(div, [[this.full[0], 0], [this.full[1], 0]], {
        labels: ["time", "value"], legend: "never", dateWindow: this.window.slice(),
        visibility: [false], // the painters draw all points
        valueRange: spec.range(this, ...this.window, div.clientWidth),
        underlayCallback: (ctx, area, dygraph) => view.paint(g, ctx, area, dygraph),
        axes: {
          x: { axisLabelFormatter: (t) => D.exactDuration(t * 1e9, (view.window[1] - view.window[0]) * 5e7),
            axisLabelWidth: 76, valueFormatter: String, ticker: (a, b, w, of, ...more) => Dygraph.numericTicks(a, b, w,
              (name) => name === "pixelsPerLabel" ? Math.min(90, w / 5.5) : of(name), ...more) },
          y: { axisLabelFormatter: spec.tick, axisLabelWidth: 94, drawGrid: !spec.noGrid,
            ...(spec.ticker ? { ticker: (from, to) => spec.ticker(from, to, view) } : {}) } },
        ...lineColors(), xRangePad: 0, yRangePad: 0, animatedZooms: false,
        zoomCallback: (t0, t1) => view.setWindow(t0, t1),
        drawCallback: (dygraph, initial) => {
          const w = dygraph.xAxisRange();
          if (!initial && !view.busy && w.some((t, i) => t !== view.window[i])) view.setWindow(...w);
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
      ctx.font = "12px sans-serif";
      const seen = new Set(), palette = Object.values(colors);
      const isNew = (a, b, c, color) => seen.size !== seen.add(
        ((Math.round(a) * 4096 + Math.round(b)) * 4096 + Math.round(c)) * 32 + palette.indexOf(color)).size;
      const hit = (item, i, x0, x1, ya, yb) =>
        g.hits.push(x0, x1, Math.min(ya, yb), Math.max(ya, yb), ITEMS.indexOf(item), i);
      const taken = [], take = (x, y) => taken.push(x - 6, x + 6, y - 6, y + 6); // boxes of marks and texts
      g.spec.paint(this, { ctx, t0, t1, area, width: area.w, x: (t) => area.x + (t - t0) * sx,
        y: (v) => area.y + area.h - (v - y0) * sy, hit, hits: g.hits, isNew, taken, take, said: {} }, g);
      if (this.cursor !== undefined) {
        const x = area.x + (this.runs.time[this.cursor] - t0) * sx;
        path(ctx, [x, area.y, x, area.y + area.h], colors.text, 1, [4, 4]);
      }
      ctx.restore();
    }
    setWindow(t0, t1) {
      const length = Math.max(t1 - t0, 1e-8);
      if (this.busy) return;
      this.busy = true;
      this.window = [t0, t0 + length];
      // Reads all sizes before the page changes.
      const ranges = this.graphs.map((g) => g.spec.range(this, ...this.window, g.div.clientWidth));
      this.graphs.forEach((g, i) =>
        g.dygraph.updateOptions({ dateWindow: this.window.slice(), valueRange: ranges[i], ...lineColors() }));
      this.busy = false;
      this.events.onWindow(this.window[0], this.window[1]);
    }
    zoom(factor) {
      const middle = this.cursor === undefined ? (this.window[0] + this.window[1]) / 2 : this.runs.time[this.cursor];
      const half = (this.window[1] - this.window[0]) / 2 * factor;
      this.setWindow(Math.max(this.full[0], middle - half), Math.min(this.full[1], middle + half));
    }
    pan(share) { this.setWindow(...this.window.map((t) => t + (this.window[1] - this.window[0]) * share)); }
    redraw() { this.setWindow(...this.window); }
    reset() { this.setWindow(this.full[0], this.full[1]); }
    moveTo(i, closeUp) {
      const t = this.runs.time[i], [t0, t1] = this.window;
      const half = (closeUp ? (this.full[1] - this.full[0]) / 40 : t1 - t0) / 2;
      this.cursor = i;
      this.setWindow(...(closeUp || t < t0 || t > t1 ? [t - half, t + half] : [t0, t1]));
      this.events.onPoint(this.describe({ item: "run", index: i }), { item: "run", index: i });
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
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (this.act((e.shiftKey && e.key.startsWith("Arrow") ? "Shift " : "") + e.key)) e.preventDefault();
    }
    // Executes the action of a key or button. Returns whether there is such an action.
    act(key) {
      const all = () => Array.from({ length: this.runs.length }, (_, i) => i);
      const action = {
        ArrowRight: () => this.next(all(), 1), ArrowLeft: () => this.next(all(), -1),
        "Shift ArrowRight": () => this.pan(0.25), "Shift ArrowLeft": () => this.pan(-0.25),
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.reset(),
        n: () => this.next(this.conn.troubles, 1), p: () => this.next(this.conn.troubles, -1),
        Enter: () => this.cursor !== undefined && this.events.onPick({ item: "run", index: this.cursor }) }[key];
      if (action) action();
      return Boolean(action);
    }
    // Finds what is nearest to the mouse, at most 20 pixels away. A packet near a band precedes the band.
    point(g, e) {
      const box = g.div.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top, h = g.hits;
      let best = null, least = 400;
      for (let k = 0; k < h.length; k += 6) {
        const dx = Math.max(h[k] - x, 0, x - h[k + 1]), dy = Math.max(h[k + 2] - y, 0, y - h[k + 3]);
        const far = dx * dx + dy * dy + (ITEMS[h[k + 4]] === "band" ? 9 : 0);
        if (far < least) [least, best] = [far, { item: ITEMS[h[k + 4]], index: h[k + 5], graph: g }];
      }
      g.near = best;
      this.events.onPoint(best ? this.describe(best) : null, best, e.clientX, e.clientY);
    }
    runsOf(near) {
      const b = near.item === "band" && this.bands[near.index];
      if (b) return D.runsBetween(this.runs, b.from, b.to, (i) => this.runs.style[i].direction === b.direction);
      const { seconds } = near.graph.bins, t0 = this.window[0] + near.index * seconds;
      return D.runsBetween(this.runs, t0, t0 + seconds, near.graph.describe(near.index).accept);
    }
    filterOf(near) {
      const m = near.item === "message" && this.messages[near.index];
      const indexes = near.item === "run" ? [near.index] : m ? [] : this.runsOf(near);
      return D.filterOf(m ? [[m.frame, m.frame, 1]] : D.framesOf(this.runs, indexes), this.conn);
    }
    // Lines that describe a thing in a graph.
    describe(near) {
      if (near.item === "run") return this.describeRun(near.index);
      if (near.item === "message") return this.describeMessage(this.messages[near.index]);
      return near.item === "band" ? this.describeBand(this.bands[near.index]) : this.describeBin(near);
    }
    describeBand(b) {
      return [b.text + ": " + D.duration((b.to - b.from) * 1e9), "from " + D.duration(b.from * 1e9) + " to " +
        D.duration(b.to * 1e9) + "; it ended with frame " + this.runs.frame[b.run]];
    }
    describeBin(near) {
      const { seconds } = near.graph.bins, t0 = this.window[0] + near.index * seconds, r = this.runs;
      const of = this.runsOf(near), packets = D.count(of.reduce((sum, i) => sum + r.count[i], 0), "packet");
      const last = largest(of.map((i) => r.lastFrame[i]));
      return [D.period(t0, t0 + seconds)].concat(near.graph.describe(near.index).lines,
        of.length ? [packets + " in frames " + r.frame[of[0]] + " to " + last] : []);
    }
    describeMessage(m) {
      const since = (at) => at === null ? "never" : D.duration((at - m.begin) * 1e9), sent = (m.last - m.first) * 1e9;
      return [m.kind + ", " + D.size(m.bytes) + ", by " + (m.side ? this.conn.b : this.conn.a).address,
        "took " + D.duration(m.ns) + ": sent in " + D.duration(sent) + ", completed in frame " + m.frame]
        .concat(m.steps ? ["after the program posted it: " +
          STEPS.map((name, k) => name + " " + since(m.steps[k + 1])).join(", ")] : []);
    }
    describeRun(i) {
      const r = this.runs, s = r.style[i], first = r.psn[i], psn = (first + r.psnBase(s.direction, i)) & 0xFFFFFF;
      const where = r.count[i] === 1 ? "frame " + r.frame[i]
        : D.count(r.count[i], "packet") + " in frames " + r.frame[i] + " to " + r.lastFrame[i];
      return [
        where + ": " + s.name + (s.kind === "ACK" ? "" : " (" + s.kind + ")"),
        s.psn && "PSN " + first + (r.span[i] > 1 ? " to " + (first + r.span[i] - 1) : "") + " from the first, " +
          psn + " in the packet; " + D.size(r.payload[i]),
        "at " + D.duration(r.time[i] * 1e9) + " from " + (s.side ? this.conn.b : this.conn.a).address,
        s.cause && "retransmitted after " + s.cause +
          (r.wait[i] ? ", " + D.duration(r.wait[i]) + " after it was sent before" : ""),
        s.class === "rnr nak" && "demands a wait of at least " + D.duration(r.wait[i]),
        s.class === "nak" && s.syndrome,
        s.mark === "refused" && "for the packet that the RNR NAK refused: no other fault",
        ...this.conn.losses.flat().filter(([run]) => run === i).map(([, , text]) => text),
        r.gap[i] && D.count(r.gap[i], "packet") + " missing before it",
        s.implied && "a response before it was skipped (implied NAK)",
        s.acked && "the capture shows that it was already acknowledged",
        r.rtt[i] && "acknowledged after " + D.duration(r.rtt[i]),
        r.ce[i] && "marked: congestion experienced (CE)",
      ].filter(Boolean).concat(this.events.findingsOf(r.frame[i], r.lastFrame[i]));
    }
    destroy() { this.graphs.splice(0).forEach((g) => g.dygraph.destroy()); }
  }

  return { View, readColors, mark, color: (name) => colors[name] };
})();
