// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// The page: fills the elements of page.html. Text from the capture is only ever set as textContent.
"use strict";

(function () {
  const D = RoceData, G = RoceGraph;
  const ROWS = { connections: 500, findings: 1000 }; // maximum number of rows of a table
  const ANSWERS = new Set(["ack", "nak", "rnr nak", "response", "repeated response"]);
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
  const on = (e, name, act) => (e.addEventListener(name, act), e);
  const button = (text, act) => on(el("button", { type: "button" }, text), "click", act);
  const number = (content) => el("td", { class: "number" }, content);
  const numberOf = (conn) => conn.connection || 0;
  const hex = (qpn) => "0x" + qpn.toString(16).padStart(6, "0");
  const nameOf = (side) => side.address + (side.qpn === undefined ? "" : " (QP " + hex(side.qpn) + ")");
  const announce = (text) => { byId("status").textContent = text; };

  // An entry of a legend: a coloured area, or the sign with which the text begins.
  function keyOf([color, text]) {
    const [, sign, words] = /^(?:(\W) )?(.*)$/su.exec(text);
    const look = sign ? "glyph" : words.startsWith("band: ") ? "swatch band" : "swatch";
    const key = el("span", { class: look, "aria-hidden": "true" }, sign || "");
    return el("li", {}, styled(key, { color: "var(--" + color + ")" }), words);
  }

  function copy(filter) {
    const done = (ok) => announce((ok ? "Copied: " : "Wireshark filter: ") + filter);
    const copied = navigator.clipboard ? navigator.clipboard.writeText(filter) : Promise.reject();
    copied.then(() => done(true), () => done(false));
  }

  // ---- overview ----
  function showBudget(conn) {
    const parts = conn.budget || [], label = parts.map((p) => p[1]).join(", ");
    const bars = parts.map(([color, , share]) =>
      styled(el("span"), { width: share / 10 + "%", background: "var(--" + color + ")" }));
    byId("budget").replaceChildren(...(parts.length ? [el("p", {}, conn.spent),
      el("div", { class: "bar", role: "img", "aria-label": label }, ...bars),
      el("ul", { class: "legend" }, ...parts.map(keyOf))] : []));
  }

  // The columns of the table of connections in page.html.
  const COLUMNS = [
    { value: D.trouble, text: (c) => c.state, badge: true },
    { value: (c) => -numberOf(c), text: (c) => "#" + numberOf(c) + " " + c.title, open: true },
    { value: D.packets, text: (v) => v.toLocaleString("en") },
    { value: D.goodput, text: D.size },
    { value: D.sentAgain, text: (v) => v.toLocaleString("en") },
    { value: D.waitedNs, text: D.duration },
    { value: D.lengthNs, text: D.duration },
  ];

  function sorted() {
    const { value } = COLUMNS[state.sort], words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = (c) => ("#" + numberOf(c) + " " + c.title + " " + c.state).toLowerCase();
    const kept = D.worstFirst(state.capture.connections).filter((c) => words.every((w) => textOf(c).includes(w)));
    if (state.sort === 0) return state.down ? kept : kept.reverse();
    return kept.sort((x, y) => (state.down ? -1 : 1) * (value(x) - value(y)));
  }

  function cellOf(conn, c) {
    if (c.open) return el("td", { class: "title" }, button(c.text(conn), () => choose(conn, true)));
    if (!c.badge) return number(c.text(c.value(conn)));
    return el("td", {}, el("span", { class: "badge " + (D.trouble(conn) ? "bad" : "good") }, c.text(conn)));
  }

  function showTable() {
    const table = byId("conns"), all = state.capture, conns = state.conns = sorted();
    const order = state.down ? "descending" : "ascending";
    table.querySelectorAll("th").forEach((th, i) => th.setAttribute("aria-sort", i === state.sort ? order : "none"));
    table.tBodies[0].replaceChildren(...conns.slice(0, ROWS.connections).map((conn) =>
      el("tr", { class: conn === state.chosen ? "chosen" : undefined }, ...COLUMNS.map((c) => cellOf(conn, c)))));
    byId("shown").textContent = conns.length + " of " + all.connections.length + " connections" +
      (conns.length > ROWS.connections ? ", the first " + ROWS.connections + " are listed" : "") +
      (all.connections_left_out ? "; " + all.connections_left_out + " more are not in this page" : "");
  }

  // Bytes and troubles of each connection over time, the worst connections first.
  function showHeat() {
    const signs = byId("heat-legend").querySelectorAll(".sign");
    const heat = state.heat = new RoceHeat.Heat(byId("heat"), state.conns, D.lengthNs(state.capture));
    signs.forEach((sign, k) => { sign.parentElement.hidden = !heat.rows.some((r) => r.marks[k].some((v) => v)); });
    byId("heat-rows").textContent = state.conns.length > heat.rows.length
      ? "The first " + heat.rows.length + " of the table are drawn." : "";
  }

  // Describes and opens the rows of the heat map by keys and mouse.
  function watchHeat() {
    const when = (name, act) => on(byId("heat"), name, (e) => { if (state.heat.rows.length) act(state.heat, e); });
    const read = (heat) => { byId("heat-status").textContent = heat.text(heat.row, heat.bin); };
    const open = (heat, row, bin) => { choose(heat.rows[row].conn, true); copy(heat.filterOf(row, bin)); };
    const tip = (text) => [text, "click: show its graphs, and copy the Wireshark filter"];
    when("focus", (heat) => (heat.redraw(), read(heat)));
    when("blur", (heat) => heat.redraw());
    when("mousemove", (heat, e) => showTip(tip(heat.text(...heat.at(e.offsetX, e.offsetY))), e.clientX, e.clientY));
    when("mouseleave", () => showTip(null));
    when("click", (heat, e) => open(heat, ...heat.at(e.offsetX, e.offsetY)));
    when("keydown", (heat, e) => {
      if (e.key === "Enter") open(heat, heat.row, heat.bin);
      else if (heat.key(e.key)) read(heat);
      else return;
      e.preventDefault();
    });
  }

  function rowOf(f) {
    const conn = state.capture.connections.find((c) => numberOf(c) === numberOf(f));
    const open = () => {
      choose(conn, true);
      if (!state.view.moveToFrame(f.frame)) announce("frame " + f.frame + " is not in the graphs");
    };
    const frame = String(f.frame);
    return el("tr", { "data-frame": frame }, number(conn && conn.runs ? button(frame, open) : frame),
      el("td", {}, f.severity), el("td", {}, el("span", { title: f.means }, f.rule)),
      el("td", {}, f.side === undefined ? "" : "#" + numberOf(f)), el("td", { class: "wide" }, f.text));
  }

  function showFindings() {
    const table = byId("findings"), list = state.capture.findings.slice();
    list.sort((x, y) => Boolean(x.known) - Boolean(y.known));
    byId("findings-count").textContent = state.capture.about_findings;
    table.parentElement.hidden = !list.length;
    table.tBodies[0].replaceChildren(...list.slice(0, ROWS.findings).map(rowOf));
  }

  // ---- one connection ----

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
      copy(state.view.filterOf(near));
      showRows(near);
    },
    onWindow: (t0, t1) => { byId("range").textContent = D.period(t0, t1); },
    findingsOf: (first, last) => state.capture.findings.filter((f) => f.frame >= first && f.frame <= last)
      .slice(0, 3).map((f) => f.severity + " " + f.rule + ": " + f.text),
  };

  // Marks the findings of a packet in the table.
  function showRows(near) {
    if (near.item !== "run") return;
    const r = state.view.runs, all = byId("findings-all");
    byId("findings").querySelectorAll("tr[data-frame]").forEach((row) => {
      const frame = Number(row.dataset.frame), is = frame >= r.frame[near.index] && frame <= r.lastFrame[near.index];
      row.classList.toggle("chosen", is);
      all.checked = all.checked || (is && row.offsetHeight === 0);
      if (is) row.scrollIntoView({ block: "nearest" });
    });
  }

  // What a connection has. The attributes data-if of the figures in page.html name these members.
  function partsOf(conn, v) {
    const r = v.runs, used = (test) => r.style.some(test), early = v.bands.some((b) => b.ackedBefore);
    const has = { data: true, again: used(G.isAgain), cnp: used((s) => s.class === "cnp"), ce: r.ce.some(Boolean),
      rtt: r.rtt.some(Boolean), timed: v.messages.some((m) => m.steps), messages: v.messages.length > 0,
      early: early || used((s) => s.class === "repeated response"), left: conn.messages_left_out,
      flight: r.flight.some(Boolean) && used((s) => ANSWERS.has(s.class)), lanes: v.lanes.length > 2 };
    [0, 1].forEach((side) => {
      has["messages" + side] = v.messages.some((m) => m.side === side);
      has["flight" + side] = r.style.some((s, i) => s.direction === side && r.flight[i]);
    });
    return Object.assign(has, { latency: has.messages || has.rtt, rate: has.cnp || has.ce });
  }

  function addGraph(figure, to, kind, direction) {
    const name = figure.querySelector("h3").textContent + ". " + figure.querySelector("figcaption").textContent;
    const div = el("div", { class: "graph", tabindex: "0", role: "application", "aria-label": name });
    figure.dataset.graph = kind + (direction === undefined ? "" : direction);
    figure.append(div);
    byId(to).append(figure);
    state.view.add(div, kind, direction);
  }

  function showGraphs(conn) {
    const names = [conn.a, conn.b].map(nameOf), has = partsOf(conn, state.view);
    const figures = [...byId("figures").content.children].map((figure) => figure.cloneNode(true));
    conn.legends.forEach((legend, d) => {
      const figure = figures[0].cloneNode(true);
      if (!legend.length) return;
      figure.querySelector("h3").append(names[d] + " → " + names[1 - d]);
      if (state.view.graphs.length) figure.querySelector("figcaption").textContent = "";
      figure.querySelector("ul").append(...legend.map(keyOf));
      addGraph(figure, "packets", "psn", d);
    });
    figures.slice(1).filter((figure) => has[figure.dataset.graph]).forEach((figure) => {
      figure.querySelectorAll("[data-if]").forEach((e) => { if (!has[e.dataset.if]) e.remove(); });
      figure.querySelectorAll("[data-side]").forEach((e) => e.append(names[e.dataset.side]));
      figure.querySelectorAll(".left-out").forEach((e) => e.append(String(has.left + state.view.messages.length)));
      addGraph(figure, "graphs", figure.dataset.graph);
      if (figure.dataset.graph === "latency") showHistograms(conn);
    });
  }

  // Returns the frames of the completed operations, or of the round trips, that a histogram has between two times.
  function framesOf(side, key, low, high) {
    const { messages, runs: r } = state.view, fits = (ns) => ns >= low && ns < high;
    const answers = (i) => r.rtt[i] && r.style[i].direction === side && fits(r.rtt[i]);
    if (key === "rtt") return D.framesOf(r, D.runsBetween(r, -Infinity, Infinity, answers));
    return messages.filter((m) => m.side === side && m.operation === key && fits(m.ns))
      .map((m) => [m.frame, m.frame, 1]);
  }

  function histogramRow(conn, side, key, [low, high, count], most) {
    const share = styled(el("span", { class: "share" }), {
      background: "var(--side-" + "ab"[side] + ")", width: Math.max(1, 300 * count / most) + "px" });
    const pick = button(String(count), () => copy(D.filterOf(framesOf(side, key, low, high), conn)));
    return el("tr", { title: "click the number: copy the Wireshark filter" },
      number(D.duration(low) + " to " + D.duration(high)), number(pick), el("td", { class: "wide" }, share));
  }

  function showHistograms(conn) {
    const names = { send: "SEND", write: "WRITE", read: "READ", atomic: "Atomic", other: "Other",
      rtt: "Round trip of acknowledgements" };
    const all = ["a", "b"].flatMap((letter, side) => Object.entries((conn.histogram || {})[letter] || {})
      .map(([key, numbers]) => ({ letter, side, key, numbers })));
    all.forEach(({ letter, side, key, numbers }) => {
      const buckets = numbers.flatMap((_, i) => i % 3 ? [] : [numbers.slice(i, i + 3)]);
      if (buckets.length < 2) return;
      const details = byId("distribution").content.firstElementChild.cloneNode(true);
      const most = Math.max(...buckets.map((b) => b[2]));
      details.querySelector("summary").append(names[key] + " of " + conn[letter].address);
      details.querySelector("tbody").append(...buckets.map((b) => histogramRow(conn, side, key, b, most)));
      byId("graphs").append(details);
    });
  }

  function choose(conn, focus) {
    if (state.view) state.view.destroy();
    Object.assign(state, { view: null, chosen: conn });
    ["packets", "graphs"].forEach((id) => byId(id).replaceChildren());
    byId("conn-title").textContent = "Connection #" + numberOf(conn) + ": " + conn.a.address + " ↔ " + conn.b.address;
    byId("conn-ends").textContent = conn.ends;
    byId("conn-about").textContent = byId("lead").textContent.startsWith(conn.headline) ? "" : conn.headline;
    byId("conn-why").textContent = conn.why || "";
    const said = [conn.headline, conn.why, conn.advice, ...(conn.budget || []).map((p) => p[1])].join(" ");
    const terms = [...byId("words").querySelectorAll(".explain")];
    byId("conn-words").replaceChildren(...terms.filter((term) => said.includes(term.textContent))
      .map((term) => el("div", {}, term.cloneNode(true), term.nextElementSibling.cloneNode(true))));
    byId("tools").hidden = byId("tools-about").hidden = !conn.runs;
    const merged = conn.merged && D.count(conn.merged, "packet is", "packets are") +
      " drawn together with neighbours; packets with a finding are drawn alone.";
    announce(conn.runs ? merged || "" : "This page has no packets of this connection.");
    if (conn.runs) {
      state.view = new G.View(conn, events);
      showGraphs(conn);
      events.onWindow(...state.view.window);
    }
    const table = byId("conns").tBodies[0].rows;
    [...table].forEach((row, i) => row.classList.toggle("chosen", state.conns[i] === conn));
    if (focus) byId("connection").focus();
  }

  function showLead({ text, good }) {
    Object.assign(byId("lead"), { textContent: text, className: good ? "good" : "bad" });
  }

  function showCapture(capture) {
    const { connections: conns, summary } = capture, single = conns.length === 1;
    const worst = conns.find((c) => c.headline && summary.headline.startsWith(c.headline)) || D.worstFirst(conns)[0];
    Object.assign(state, { capture, filter: byId("filter").value = "" });
    byId("file").textContent = capture.file;
    if (!data.has_results) {
      showLead(D.lead(capture));
      document.title = capture.file + " - RoCEdrill";
      byId("advice").textContent = worst && worst.advice || "";
    }
    byId("facts").textContent = capture.facts;
    byId("text").textContent = capture.text;
    byId("overview-conns").hidden = byId("overview-title").hidden = single;
    showTable();
    showFindings();
    byId("connection").hidden = !worst;
    showBudget(worst || {});
    requestAnimationFrame(() => { // after the first paint of the overview
      if (!single) showHeat();
      if (worst) choose(worst, false);
    });
  }

  G.readColors();
  data.captures.forEach((c, i) => byId("capture").append(el("option", { value: i }, c.file)));
  byId("capture-choice").hidden = data.captures.length < 2;
  on(byId("capture"), "change", (e) => showCapture(data.captures[e.target.value]));
  const showAll = (change) => { Object.assign(state, change); showTable(); showHeat(); };
  on(byId("filter"), "input", (e) => showAll({ filter: e.target.value }));
  watchHeat();
  byId("conns").querySelectorAll("th button").forEach((b, i) =>
    on(b, "click", () => showAll({ down: state.sort !== i || !state.down, sort: i })));
  const tools = { "zoom-in": (v) => v.zoom(0.5), "zoom-out": (v) => v.zoom(2), "pan-left": (v) => v.pan(-0.25),
    "pan-right": (v) => v.pan(0.25), reset: (v) => v.reset(), previous: (v) => v.next(v.trouble, -1),
    next: (v) => v.next(v.trouble, 1) };
  Object.entries(tools).forEach(([id, act]) => on(byId(id), "click", () => state.view && act(state.view)));
  on(matchMedia("(prefers-color-scheme: dark)"), "change", () => {
    G.readColors();
    [state.view, state.heat].forEach((drawn) => drawn && drawn.redraw());
  });
  if (data.captures.length) showCapture(data.captures[0]);
  else if (!data.has_results) showLead({ good: false, text: "No capture could be read." });
  window.rocedrill = state; // for tests
})();
