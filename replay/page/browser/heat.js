// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Heat map connections × time: bytes as colour, troubles as marks. One row a connection.
"use strict";

const RoceHeat = (function () {
  const D = RoceData, G = RoceGraph;
  const ROW = 16, LEFT = 52, ROWS = 60;
  // Kinds of marks: colour and shape, one, many.
  const KINDS = [["nak", "NAK", "NAKs"], ["rnr", "RNR NAK", "RNR NAKs"], ["timeout", "packet sent again after a timeout", "packets sent again after a timeout"],
    ["spurious", "packet sent again after a spurious timeout", "packets sent again after a spurious timeout"], ["cnp", "CNP", "CNPs"]];
  const kindOf = (s) => ["nak", "rnr nak", "timeout", "spurious timeout", "cnp"].findIndex((k) => k === s.class || k === s.cause);
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  class Heat {
    constructor(canvas, conns, ns) {
      const width = canvas.clientWidth - LEFT - 1, bins = Math.max(1, Math.floor(width / 8)), seconds = ns * 1e-9 || 1e-6;
      Object.assign(this, { canvas: canvas, width: width, bins: bins, ns: ns, row: 0, bin: -1 }); // bin -1: the whole row
      this.rows = conns.slice(0, ROWS).map((conn) => {
        const r = conn.decoded || (conn.decoded = D.decodeRuns(conn)), marks = KINDS.map(() => new Float64Array(bins));
        for (let i = 0; r && i < r.length; i++)
          if (kindOf(r.style[i]) >= 0) marks[kindOf(r.style[i])][Math.min(bins - 1, Math.floor(r.time[i] / seconds * bins))] += r.count[i];
        return { conn: conn, marks: marks, bytes: r ? D.binned(r, 0, seconds * 1.000001, bins, (i) => r.payload[i]) : new Float64Array(bins) };
      });
      canvas.style.height = this.rows.length * ROW + "px";
      canvas.setAttribute("aria-label", "Heat map of " + D.count(this.rows.length, "connection") + " over " + D.duration(ns) + ". " +
        this.rows.slice(0, 5).map((_, i) => this.text(i, -1)).join(". "));
      this.redraw();
    }
    redraw() {
      const scale = window.devicePixelRatio || 1, ctx = this.canvas.getContext("2d"), w = this.width / this.bins;
      this.canvas.width = this.canvas.clientWidth * scale;
      this.canvas.height = Math.max(1, this.rows.length * ROW * scale);
      ctx.scale(scale, scale);
      ctx.font = "12px sans-serif";
      const most = Math.max(1, ...this.rows.map((r) => r.bytes.reduce((a, b) => Math.max(a, b), 0)));
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
          const kinds = KINDS.filter((_, k) => r.marks[k][b]);
          kinds.forEach(([kind], i) => G.mark(ctx, kind, LEFT + (b + 0.5) * w + (i - (kinds.length - 1) / 2) * 7, y + ROW / 2, G.color(kind), true));
        }
      });
      if (document.activeElement !== this.canvas || !this.rows.length) return;
      ctx.strokeStyle = G.color("text");
      ctx.lineWidth = 2;
      ctx.strokeRect(this.bin < 0 ? 1 : LEFT + this.bin * w - 2, this.row * ROW + 1, this.bin < 0 ? this.canvas.clientWidth - 2 : w + 4, ROW - 2);
    }
    // What a row carried, or one cell of it.
    text(row, bin) {
      const r = this.rows[row], of = (values) => bin < 0 ? sum(values) : values[bin], step = this.ns / this.bins;
      const marks = KINDS.flatMap(([, one, many], k) => of(r.marks[k]) ? [D.count(of(r.marks[k]), one, many)] : []);
      return "#" + (r.conn.connection || 0) + " " + r.conn.title + (bin < 0 ? "" : ", " + [bin, bin + 1].map((b) => D.exactDuration(b * step, step / 2)).join(" to ")) +
        ": " + [D.size(Math.round(of(r.bytes)))].concat(marks).join(", ");
    }
    // Moves the cursor by arrow keys. Returns whether the key moved it.
    key(key) {
      const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], Home: [-ROWS, 0], End: [ROWS, 0] }[key];
      if (!move) return false;
      this.row = Math.max(0, Math.min(this.rows.length - 1, this.row + move[0]));
      this.bin = Math.max(-1, Math.min(this.bins - 1, this.bin + move[1]));
      this.redraw();
      return true;
    }
    // Row and bin at a place of the canvas.
    at(x, y) {
      const clamp = (v, min, max) => Math.max(min, Math.min(max, Math.floor(v)));
      return [clamp(y / ROW, 0, this.rows.length - 1), clamp((x - LEFT) / this.width * this.bins, -1, this.bins - 1)];
    }
  }

  return { Heat, KINDS };
})();
