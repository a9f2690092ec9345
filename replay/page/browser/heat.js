// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Heat map: a row for each connection, time from left to right. Colours show bytes, and marks show troubles.
"use strict";

const RoceHeat = (function () {
  const D = RoceData, G = RoceGraph, ROW = 16, LEFT = 52, ROWS = 60;
  const again = (cause) => ["packet retransmitted after a " + cause, "packets retransmitted after a " + cause];
  // Kinds of marks: colour and shape, class or cause of the packets, name in the singular and plural.
  const KINDS = [["nak", "nak", "NAK"], ["rnr", "rnr nak", "RNR NAK"], ["timeout", "timeout", ...again("timeout")],
    ["spurious", "spurious timeout", ...again("spurious timeout")], ["cnp", "cnp", "CNP"],
    ["refused", "refused", "NAK for the packet that an RNR NAK refused", "NAKs for packets that an RNR NAK refused"]];
  const kindOf = (s) => KINDS.findIndex(([, of]) => of === (s.mark === "refused" ? s.mark : s.class) || of === s.cause);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const clamp = (v, min, max) => Math.max(min, Math.min(max, Math.floor(v)));

  class Heat {
    constructor(canvas, conns, ns) {
      const width = canvas.clientWidth - LEFT - 1, bins = Math.max(1, Math.floor(width / 8));
      Object.assign(this, { canvas, width, bins, ns: ns || 1000, row: 0, bin: -1 }); // bin -1: the whole row
      this.rows = conns.slice(0, ROWS).map((conn) => this.rowOf(conn));
      canvas.style.height = this.rows.length * ROW + "px";
      canvas.setAttribute("aria-label", "Heat map of " + D.count(this.rows.length, "connection") + " over " +
        D.duration(ns) + ". " + this.rows.slice(0, 5).map((_, i) => this.text(i, -1)).join(". "));
      this.redraw();
    }
    rowOf(conn) {
      const runs = conn.decoded || (conn.decoded = D.decodeRuns(conn)) || { length: 0 }, seconds = this.ns * 1e-9;
      const marks = KINDS.map(() => new Float64Array(this.bins));
      for (let i = 0; i < runs.length; i++) {
        const kind = kindOf(runs.style[i]), bin = Math.floor(runs.time[i] / seconds * this.bins);
        if (kind >= 0) marks[kind][Math.min(this.bins - 1, bin)] += runs.count[i];
      }
      return { conn, runs, marks, bytes: D.binned(runs, 0, seconds * 1.000001, this.bins, (i) => runs.payload[i]) };
    }
    redraw() {
      this.width = this.canvas.clientWidth - LEFT - 1; // the window may have another size
      const scale = window.devicePixelRatio || 1, ctx = this.canvas.getContext("2d"), w = this.width / this.bins;
      const most = Math.max(1, ...this.rows.map((r) => r.bytes.reduce((a, b) => Math.max(a, b), 0)));
      this.canvas.width = this.canvas.clientWidth * scale;
      this.canvas.height = Math.max(1, this.rows.length * ROW * scale);
      ctx.scale(scale, scale);
      ctx.font = "12px sans-serif";
      this.rows.forEach((r, row) => {
        const y = row * ROW;
        ctx.fillStyle = G.color("text");
        ctx.fillText("#" + (r.conn.connection || 0), 4, y + 12, LEFT - 8);
        r.bytes.forEach((bytes, b) => {
          ctx.globalAlpha = bytes ? 0.15 + 0.85 * Math.sqrt(bytes / most) : 0;
          ctx.fillRect(LEFT + b * w, y + 1, w, ROW - 2);
        });
        ctx.globalAlpha = 1;
        for (let b = 0; b < this.bins; b++) {
          const kinds = KINDS.filter((_, k) => r.marks[k][b]), x = LEFT + (b + 0.5) * w - (kinds.length - 1) * 3.5;
          kinds.forEach(([kind], i) => G.mark(ctx, kind, x + i * 7, y + ROW / 2, G.color(kind), true));
        }
      });
      if (document.activeElement !== this.canvas || !this.rows.length) return;
      const [x, width] = this.bin < 0 ? [1, this.canvas.clientWidth - 2] : [LEFT + this.bin * w - 2, w + 4];
      Object.assign(ctx, { strokeStyle: G.color("text"), lineWidth: 2 });
      ctx.strokeRect(x, this.row * ROW + 1, width, ROW - 2);
    }
    period(bin) { return [bin, bin + 1].map((b) => b * this.ns / this.bins); }
    // Describes the traffic and troubles of a row, or of one cell (`bin`) of it.
    text(row, bin) {
      const r = this.rows[row], of = (values) => bin < 0 ? sum(values) : values[bin], step = this.ns / this.bins / 2;
      const marks = KINDS.flatMap(([, , one, many], k) => of(r.marks[k]) ? [D.count(of(r.marks[k]), one, many)] : []);
      const time = bin < 0 ? "" : ", " + this.period(bin).map((ns) => D.exactDuration(ns, step)).join(" to ");
      return "#" + (r.conn.connection || 0) + " " + r.conn.title + time + ": " +
        [D.size(Math.round(of(r.bytes)))].concat(marks).join(", ");
    }
    filterOf(row, bin) {
      const { conn, runs } = this.rows[row], [from, to] = bin < 0 ? [-Infinity, Infinity] : this.period(bin);
      return D.filterOf(D.framesOf(runs, D.runsBetween(runs, from * 1e-9, to * 1e-9, () => true)), conn);
    }
    // Moves the cursor by arrow keys. Returns whether the key moved it.
    key(key) {
      const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], Home: [-ROWS, 0],
        End: [ROWS, 0] }[key];
      if (!move) return false;
      this.row = clamp(this.row + move[0], 0, this.rows.length - 1);
      this.bin = clamp(this.bin + move[1], -1, this.bins - 1);
      this.redraw();
      return true;
    }
    at(x, y) {
      return [clamp(y / ROW, 0, this.rows.length - 1), clamp((x - LEFT) / this.width * this.bins, -1, this.bins - 1)];
    }
  }

  return { Heat, KINDS };
})();
