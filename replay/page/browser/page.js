// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// The page: fills the elements of page.html. Text from the capture is only ever set as textContent.
"use strict";

(function () {
  const D = RoceData, W = RoceWords, G = RoceGraph;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const state = { capture: null, conns: [], chosen: null, view: null, sort: 0, down: true, filter: "" };

  function el(name, attributes, ...children) {
    const e = document.createElement(name);
    Object.entries(attributes || {}).forEach(([k, v]) => { if (v !== undefined) e.setAttribute(k, v); });
    children.forEach((c) => e.append(c));
    return e;
  }

  const styled = (e, style) => (Object.assign(e.style, style), e);

  // An entry of a legend: a coloured area, or the sign with which the text begins.
  function keyOf(color, text) {
    const [, sign, words] = /^(?:(\W) )?(.*)$/su.exec(text), look = sign ? "glyph" : words.startsWith("band: ") ? "swatch band" : "swatch";
    return el("li", {}, styled(el("span", { class: look, "aria-hidden": "true" }, sign || ""), { color: "var(--" + color + ")" }), words);
  }

  // ---- overview ----
  function showBudget(div, conn) {
    const parts = W.budget(conn), ns = W.lengthNs(conn), waited = W.waitedNs(conn);
    div.replaceChildren();
    if (!ns || waited * 100 < ns) return;
    const bar = el("div", { class: "bar", role: "img", "aria-label": parts.map((p) => W.percent(p.ns, ns) + " waiting for: " + p.label).join(", ") });
    const legend = el("ul", { class: "legend" });
    parts.concat({ label: "sending, receiving or idle (no wait for a retransmission or slow response)", color: "panel", ns: Math.max(ns - waited, 0) }).forEach((p) => {
      bar.append(styled(el("span"), { width: (100 * p.ns / Math.max(ns, waited)) + "%", background: "var(--" + p.color + ")" }));
      legend.append(keyOf(p.color, p.label + ": " + D.duration(p.ns) + " (" + W.percent(p.ns, ns) + ")"));
    });
    div.append(el("p", {}, "Where the " + D.duration(ns) + " of connection #" + (conn.connection || 0) + " went:"), bar, legend);
  }

  // The columns of the table of connections in page.html.
  const COLUMNS = [
    { value: W.trouble, text: (c) => c.state, badge: true },
    { value: (c) => -(c.connection || 0), text: (c) => "#" + (c.connection || 0) + " " + c.title, open: true },
    { value: (c) => (c.a.packets || 0) + (c.b.packets || 0), text: (v) => v.toLocaleString("en") },
    { value: W.goodput, text: D.size },
    { value: W.sentAgain, text: (v) => v.toLocaleString("en") },
    { value: W.waitedNs, text: D.duration },
    { value: W.lengthNs, text: D.duration },
  ];

  function sorted() {
    const column = COLUMNS[state.sort], worst = W.worstFirst(state.capture.connections);
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = worst.filter((c) => words.every((w) => ("#" + (c.connection || 0) + " " + c.title + " " + c.state).toLowerCase().includes(w)));
    if (state.sort === 0) return state.down ? kept : kept.reverse();
    return kept.sort((x, y) => (state.down ? -1 : 1) * (column.value(x) - column.value(y)));
  }

  function showTable() {
    const table = byId("conns");
    state.conns = sorted();
    table.querySelectorAll("th").forEach((th, i) => th.setAttribute("aria-sort", i !== state.sort ? "none" : state.down ? "descending" : "ascending"));
    const cellOf = (conn, c) => {
      const text = c.badge || c.open ? c.text(conn) : c.text(c.value(conn));
      const inner = c.open ? el("button", { type: "button" }, text) : c.badge ? el("span", { class: "badge " + (W.trouble(conn) ? "bad" : "good") }, text) : text;
      if (c.open) inner.addEventListener("click", () => choose(conn, true));
      return el("td", { class: c.open ? "title" : c.badge ? undefined : "number" }, inner);
    };
    table.tBodies[0].replaceChildren(...state.conns.slice(0, 500).map((conn) =>
      el("tr", { class: conn === state.chosen ? "chosen" : undefined }, ...COLUMNS.map((c) => cellOf(conn, c)))));
    byId("shown").textContent = state.conns.length + " of " + state.capture.connections.length + " connections" +
      (state.conns.length > 500 ? ", the first 500 are listed" : "") +
      (state.capture.connections_left_out ? "; " + state.capture.connections_left_out + " more are not in this page" : "");
  }

  // Bytes and troubles of each connection over time, the worst connections first.
  function showHeat() {
    const s = state.capture.summary;
    state.heat = new RoceHeat.Heat(byId("heat"), state.conns, (s.last_time_ns || 0) - (s.first_time_ns || 0));
    byId("heat-legend").querySelectorAll(".sign").forEach((sign, k) => { sign.parentElement.hidden = !state.heat.rows.some((r) => r.marks[k].some((v) => v)); });
    byId("heat-rows").textContent = state.conns.length > state.heat.rows.length ? "The first " + state.heat.rows.length + " of the table are drawn." : "";
  }

  // Describes and opens the rows of the heat map by keys and mouse.
  function watchHeat() {
    const on = (name, act) => byId("heat").addEventListener(name, (e) => { if (state.heat.rows.length) act(state.heat, e); });
    const read = (heat) => { byId("heat-status").textContent = heat.text(heat.row, heat.bin); };
    on("focus", (heat) => (heat.redraw(), read(heat)));
    on("blur", (heat) => heat.redraw());
    on("mousemove", (heat, e) => showTip([heat.text(...heat.at(e.offsetX, e.offsetY)), "click: show its graphs"], e.clientX, e.clientY));
    on("mouseleave", () => showTip(null));
    on("click", (heat, e) => choose(heat.rows[heat.at(e.offsetX, e.offsetY)[0]].conn, true));
    on("keydown", (heat, e) => {
      if (e.key === "Enter") choose(heat.rows[heat.row].conn, true);
      else if (heat.key(e.key)) read(heat);
      else return;
      e.preventDefault();
    });
  }

  function showFindings() {
    const list = state.capture.findings.slice().sort((x, y) => Boolean(x.known) - Boolean(y.known)), table = byId("findings");
    const counts = ["errors", "warnings", "notes"].map((k) => state.capture.summary[k] ? D.count(state.capture.summary[k], k.slice(0, -1)) : "").filter(Boolean);
    byId("findings-about").textContent = (counts.join(", ") || "No findings") + (state.capture.summary.known ? "; " + state.capture.summary.known + " of them are known deviations of the peer" : "") + ". An error breaks a rule of the protocol; a warning may have another cause; a note is an event." + (list.some((f) => f.known) ? " Known deviations stand at the end of the list." : "") +
      (state.capture.findings_left_out ? " " + state.capture.findings_left_out + " are not listed here." : "");
    table.parentElement.hidden = !list.length;
    table.tBodies[0].replaceChildren(...list.slice(0, 1000).map((f) => {
      const conn = state.capture.connections.find((c) => (c.connection || 0) === (f.connection || 0)), go = el("button", { type: "button" }, String(f.frame));
      go.addEventListener("click", () => {
        choose(conn, true);
        if (!state.view.moveToFrame(f.frame)) announce("frame " + f.frame + " is not in the graphs");
      });
      return el("tr", { "data-frame": f.frame }, el("td", { class: "number" }, conn && conn.runs ? go : String(f.frame)), el("td", {}, f.severity),
        el("td", {}, el("span", { title: f.means }, f.rule)), el("td", {}, f.side === undefined ? "" : "#" + (f.connection || 0)),
        el("td", { class: "wide" }, f.text));
    }));
  }

  // ---- one connection ----
  const announce = (text) => { byId("status").textContent = text; };

  // Shows lines next to the mouse; hides the last ones without lines.
  function showTip(lines, x, y) {
    const tip = byId("tip");
    tip.textContent = (lines || []).join("\n");
    tip.hidden = !lines;
    tip.style.left = Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 10 : y + 18) + "px";
  }

  const events = {
    onPoint: (lines, near, x, y) => {
      if (lines && x === undefined) announce(lines.join("\n"));
      showTip(x === undefined ? null : lines && lines.concat("click: copy the Wireshark filter"), x, y);
    },
    onPick: (near) => {
      const text = state.view.filterOf(near), done = (ok) => announce((ok ? "Copied: " : "Wireshark filter: ") + text);
      showRows(near);
      (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).then(() => done(true), () => done(false));
    },
    onWindow: (t0, t1) => { byId("range").textContent = [Math.max(t0, 0), t1].map((t) => D.exactDuration(t * 1e9, (t1 - t0) * 1e6)).join(" to "); },
    findingsOf: (first, last) => state.capture.findings.filter((f) => f.frame >= first && f.frame <= last)
      .slice(0, 3).map((f) => f.severity + " " + f.rule + ": " + f.text),
  };

  // Marks the findings of a packet in the table.
  function showRows(near) {
    if (near.item !== "run") return;
    const r = state.view.runs;
    byId("findings").querySelectorAll("tr[data-frame]").forEach((row) => {
      const frame = Number(row.dataset.frame), is = frame >= r.frame[near.index] && frame <= r.lastFrame[near.index];
      row.classList.toggle("chosen", is);
      byId("findings-all").checked ||= is && row.offsetHeight === 0;
      if (is) row.scrollIntoView({ block: "nearest" });
    });
  }

  function addGraph(kind, direction, title, about, legend) {
    const div = el("div", { class: "graph", tabindex: "0", role: "application", "aria-label": title + ". " + about });
    const list = el("ul", { class: "legend" }, ...legend.map(([color, text]) => keyOf(color, text)));
    byId("graphs").append(el("figure", { "data-graph": kind + (direction === undefined ? "" : direction) }, el("h3", {}, title), el("figcaption", {}, about), list, div));
    state.view.add(div, kind, direction);
  }

  function showGraphs(conn) {
    const v = state.view, used = (test) => v.runs.style.some(test), name = [W.nameOf(conn.a), W.nameOf(conn.b)], both = [["side-a", name[0]], ["side-b", name[1]]];
    [0, 1].forEach((d) => {
      const of = v.runs.style.filter((s) => s.direction === d && s.class !== "cnp" && s.class !== "other");
      const is = (...classes) => of.some((s) => classes.includes(s.class));
      if (!of.length) return;
      const packets = [["first", "request", true], ["again", "request sent again", is("repeated request")], ["response", "response (READ data)", is("response")],
        ["response-again", "response sent again", is("repeated response")], ["nak", "▼ NAK: error or packet missing", is("nak")],
        ["rnr", "■ RNR NAK (receiver not ready)", is("rnr nak")], ["damaged", "✕ damaged, dropped by the receiver", is("dropped")],
        ["other", "captured twice", is("copy")], ["ack", "━ acknowledged up to here", is("ack", "response", "nak", "rnr nak")],
        ["nak", "◇ response skipped (implied NAK)", of.some((s) => s.marks & D.MARK.impliedNak)],
        ["missing", "┆ missing packets", v.runs.style.some((s, i) => s.direction === d && v.runs.gap[i])]];
      const bands = new Map(v.bands.filter((b) => b.direction === d).map((b) => [b.legend, b.color]));
      const legend = packets.filter(([, , shown]) => shown).concat([...bands].map(([text, color]) => [color, text]));
      addGraph("psn", d, "Packets " + name[d] + " → " + name[1 - d], v.graphs.length ? "" : "Each bar is a packet: time to the right, packet sequence number (PSN) upwards; the bar of a READ request takes the PSNs of its responses. A healthy flow climbs steadily. Steps back are packets sent again. A coloured band is a wait that the time budget above counts: for a retransmission, or for a slow response.", legend);
    });
    const again = [["again", "sent again"]].filter(() => used(G.isAgain)), sides = (has) => both.filter((_, d) => has(d)), operating = sides((d) => v.messages.some((m) => m.side === d));
    addGraph("data", undefined, "Data", "Payload per time. What was sent again brings nothing new.", [["first", "sent the first time"]].concat(again));
    const isAnswer = (s) => ["ack", "nak", "rnr nak", "response", "repeated response"].includes(s.class);
    if (v.runs.flight.some((f) => f) && v.runs.style.some(isAnswer)) addGraph("flight", undefined, "Bytes in flight", "Bytes sent and not yet acknowledged.", sides((d) => v.runs.style.some((s, i) => s.direction === d && v.runs.flight[i])));
    const early = (used((s) => s.class === "repeated response") || v.bands.some((b) => b.ackedBefore)) ? " An answer that was captured but then lost counts as completion: the wait until it was sent again is in the time budget, not here." : "";
    if (v.messages.length || v.runs.rtt.some((x) => x)) {
      addGraph("latency", undefined, "Latency", "Each point is a completed operation (filled) or an acknowledgement (hollow): when it completed, and how long it took." + early +
        (conn.messages_left_out ? " The slower ones of " + (v.messages.length + conn.messages_left_out) + " operations are drawn." : ""), operating.concat(v.runs.rtt.some((x) => x) ? [["ack", "□ round trip of an acknowledgement"]] : []));
      showHistograms(conn);
    }
    if (used((s) => s.class === "cnp") || v.runs.ce.some((x) => x))
      addGraph("rate", undefined, "Congestion", "Sending rate of both sides. Dots: packets that a switch marked (CE). Triangles: requests to slow down (CNP).", both.concat([["ce", "● CE"], ["cnp", "▲ CNP"]].filter(([kind]) => kind === "cnp" ? used((s) => s.class === "cnp") : v.runs.ce.some((x) => x))));
    const timed = v.messages.some((m) => m.steps);
    if (v.messages.length) addGraph("messages", undefined, "Messages", "One row a message, in the order of completion: dark from the first transmission of its request to the last (waits included), light until it was acknowledged or answered." + early +
      (timed ? " Thin lines, of rnic-run --timeline: from the program's posting to the first packet, and from the answer to the poll." : ""),
      operating.concat(timed ? [["again", "┣ posted"], ["ack", "┫ acknowledged"], ["rnr", "┫ completed"], ["timeout", "┫ polled"]] : []));
    if (v.lanes.length > 2) addGraph("lanes", undefined, "Paths", "One lane for each sender and UDP source port, which selects the path through the network.", both.concat(again));
  }

  function showHistograms(conn) {
    const names = { send: "SEND", write: "WRITE", read: "READ", atomic: "Atomic", other: "Other", rtt: "Round trip of acknowledgements" };
    ["a", "b"].forEach((side) => Object.entries((conn.histogram || {})[side] || {}).forEach(([key, pairs]) => {
      if (pairs.length < 4) return;
      const most = Math.max(...pairs.filter((_, i) => i % 2));
      const rows = pairs.flatMap((bucket, i) => i % 2 ? [] : [el("tr", {}, el("td", { class: "number" }, D.duration(D.bucketNs(bucket))), el("td", { class: "number" }, String(pairs[i + 1])),
        el("td", { class: "wide" }, styled(el("span", { class: "share" }), { background: "var(--side-" + side + ")", width: Math.max(1, 300 * pairs[i + 1] / most) + "px" })))]);
      byId("graphs").append(el("details", {}, el("summary", {}, "Distribution: " + names[key] + " of " + conn[side].address),
        el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "about"), el("th", { scope: "col" }, "number"), el("th", { scope: "col" }, "share"))), el("tbody", {}, ...rows))));
    }));
  }

  function choose(conn, focus) {
    if (state.view) state.view.destroy();
    Object.assign(state, { view: null, chosen: conn });
    byId("graphs").replaceChildren();
    byId("conn-title").textContent = "Connection #" + (conn.connection || 0) + ": " + conn.title;
    byId("conn-about").textContent = byId("lead").textContent.startsWith(conn.headline) ? "" : conn.headline;
    const why = byId("conn-why").textContent = conn.why || W.slowText(conn);
    byId("conn-words").replaceChildren(...[...byId("words").querySelectorAll(".explain")].filter((term) => (conn.headline + why).includes(term.textContent))
      .flatMap((term) => [term.cloneNode(true), term.nextElementSibling.cloneNode(true)]));
    byId("tools").hidden = byId("tools-about").hidden = !conn.runs;
    announce(conn.runs ? (conn.merged ? D.count(conn.merged, "packet is", "packets are") + " drawn together with neighbours; packets with a finding are drawn alone." : "")
      : "This page has no packets of this connection.");
    if (conn.runs) {
      state.view = new G.View(conn, events);
      showGraphs(conn);
      events.onWindow(...state.view.window);
    }
    byId("conns").querySelectorAll("tbody tr").forEach((row, i) => row.classList.toggle("chosen", state.conns[i] === conn));
    if (focus) byId("connection").focus();
  }

  const showLead = (lead) => Object.assign(byId("lead"), { textContent: lead.text, className: lead.good ? "good" : "bad" });

  function showCapture(capture) {
    const lead = W.lead(capture), s = capture.summary, single = capture.connections.length === 1;
    Object.assign(state, { capture: capture, filter: byId("filter").value = "" });
    byId("file").textContent = capture.file;
    if (!data.has_results) showLead(lead);
    if (!data.has_results) document.title = capture.file + " - RoCEdrill";
    byId("facts").textContent = [D.count(s.frames || 0, "frame"), D.count(s.packets || 0, "RoCE packet"), D.duration((s.last_time_ns || 0) - (s.first_time_ns || 0)),
      D.count(s.connections || 0, "connection"), s.errors_unknown ? D.count(s.errors_unknown, "violated rule") : "no rule of the protocol was violated"].join(", ") + "." +
      (capture.packets_left_out ? " " + D.count(capture.packets_left_out, "packet is", "packets are") + " not drawn." : "");
    byId("text").textContent = capture.text;
    byId("overview-conns").hidden = single;
    showTable();
    showFindings();
    byId("budget").replaceChildren();
    const worst = capture.connections.find((c) => c.headline && s.headline.startsWith(c.headline)) || W.worstFirst(capture.connections)[0];
    byId("connection").hidden = !worst;
    byId("advice").textContent = worst && !data.has_results ? W.advice(worst) : "";
    if (worst) showBudget(byId("budget"), worst);
    requestAnimationFrame(() => { // after the first paint of the overview
      if (!single) showHeat();
      if (worst) choose(worst, false);
    });
  }

  G.readColors();
  data.captures.forEach((c, i) => byId("capture").append(el("option", { value: i }, c.file)));
  byId("capture-choice").hidden = data.captures.length < 2;
  byId("capture").addEventListener("change", (e) => showCapture(data.captures[e.target.value]));
  byId("filter").addEventListener("input", (e) => { state.filter = e.target.value; showTable(); showHeat(); });
  watchHeat();
  byId("conns").querySelectorAll("th button").forEach((button, i) => button.addEventListener("click", () => {
    Object.assign(state, { down: state.sort === i ? !state.down : true, sort: i });
    showTable();
    showHeat();
  }));
  const tools = { "zoom-in": (v) => v.zoom(0.5), "zoom-out": (v) => v.zoom(2), "pan-left": (v) => v.pan(-0.25), "pan-right": (v) => v.pan(0.25),
    reset: (v) => v.reset(), previous: (v) => v.next(v.trouble, -1), next: (v) => v.next(v.trouble, 1) };
  Object.entries(tools).forEach(([id, act]) => byId(id).addEventListener("click", () => { if (state.view) act(state.view); }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    G.readColors();
    [state.view, state.heat].forEach((drawn) => drawn && drawn.redraw());
  });
  if (data.captures.length) showCapture(data.captures[0]);
  else if (!data.has_results) showLead({ good: false, text: "No capture could be read." });
  window.rocedrill = state; // for tests
})();
