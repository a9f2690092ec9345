// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// The page: fills the elements of page.html. Text from the capture is only ever set as textContent.
"use strict";

(function () {
  const D = RoceData, G = RoceGraph, ROWS = { connections: 500, findings: 1000 }; // maximum number of rows of a table
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

  function showBudget(conn) {
    const parts = conn.budget || [], label = parts.map((p) => p[1]).join(", ");
    const bars = parts.map(([color, , share]) =>
      styled(el("span"), { width: share / 10 + "%", background: "var(--" + color + ")" }));
    byId("budget").replaceChildren(...(parts.length ? [el("p", {}, conn.spent),
      el("div", { class: "bar", role: "img", "aria-label": label }, ...bars),
      el("ul", { class: "legend" }, ...parts.map(keyOf))] : []));
  }

  // Marks the parts of the path in which packets were lost: data-of of page.html names their senders and parts.
  function showPlaces(conn) {
    const places = conn.loss_places || [], all = byId("places");
    all.hidden = !conn.places_title;
    byId("places-title").textContent = conn.places_title || "";
    byId("places-text").replaceChildren(...places.map((p) => el("li", {}, p.text)));
    all.querySelectorAll("[data-end]").forEach((e, i) => { e.textContent = [conn.a, conn.b][i].address; });
    all.querySelectorAll("[data-of]").forEach((e) => {
      const of = places.filter((p) => e.dataset.of.includes(p.side + " " + p.part));
      const cnt = of.reduce((sum, p) => sum + p.packets, 0), guess = of.every((p) => p.probable);
      e.setAttribute("class", cnt ? guess ? "lost probable" : "lost" : "");
      e.lastElementChild.textContent = cnt ? "✕ " + cnt + (guess ? "?" : "") : "";
    });
  }

  // Formats of the numbers of a connection in the table of page.html, which follow its state and title.
  const FORMATS = [(v) => v.toLocaleString("en"), D.size, (v) => v.toLocaleString("en"), D.duration, D.duration];

  // The connections that the filter accepts. The capture has them in the order of their trouble.
  function sorted() {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean), { sort } = state;
    const textOf = (c) => ("#" + numberOf(c) + " " + c.title + " " + c.state).toLowerCase();
    const kept = state.capture.connections.filter((c) => words.every((w) => textOf(c).includes(w)));
    const value = (c) => sort === 1 ? -numberOf(c) : c.row[sort - 2];
    if (sort) kept.sort((x, y) => value(y) - value(x));
    return state.down ? kept : kept.reverse();
  }

  const cellsOf = (conn) => [
    el("td", {}, el("span", { class: "badge " + (conn.trouble ? "bad" : "good") }, conn.state)),
    el("td", { class: "title" }, button("#" + numberOf(conn) + " " + conn.title, () => choose(conn, true))),
    ...conn.row.map((v, i) => number(FORMATS[i](v)))];

  function showTable() {
    const table = byId("conns"), all = state.capture, conns = state.conns = sorted();
    const order = state.down ? "descending" : "ascending";
    table.querySelectorAll("th").forEach((th, i) => th.setAttribute("aria-sort", i === state.sort ? order : "none"));
    table.tBodies[0].replaceChildren(...conns.slice(0, ROWS.connections).map((conn) =>
      el("tr", { class: conn === state.chosen ? "chosen" : undefined }, ...cellsOf(conn))));
    byId("shown").textContent = conns.length + " of " + all.connections.length + " connections" +
      (conns.length > ROWS.connections ? ", the first " + ROWS.connections + " are listed" : "") +
      (all.connections_left_out ? "; " + all.connections_left_out + " more are not in this page" : "");
  }

  // Bytes and troubles of each connection over time, the worst connections first.
  function showHeat() {
    const signs = byId("heat-legend").querySelectorAll(".sign");
    const heat = state.heat = new RoceHeat.Heat(byId("heat"), state.conns, state.capture.duration_ns);
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
    const conn = state.capture.connections.find((c) => numberOf(c) === numberOf(f)), frame = String(f.frame);
    const open = () => (choose(conn, true), state.view.moveToFrame(f.frame) ||
      announce("frame " + f.frame + " is not in the graphs"));
    return el("tr", { "data-frame": frame }, number(conn && conn.runs ? button(frame, open) : frame),
      el("td", {}, f.severity), el("td", {}, el("span", { title: f.means }, f.rule)),
      el("td", {}, f.side === undefined ? "" : "#" + numberOf(f)), el("td", { class: "wide" }, f.text));
  }

  function showFindings() {
    const table = byId("findings"), list = state.capture.findings;
    byId("findings-count").textContent = state.capture.about_findings;
    table.parentElement.hidden = !list.length;
    table.tBodies[0].replaceChildren(...list.slice(0, ROWS.findings).map(rowOf));
  }

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
    onPick: (near) => (copy(state.view.filterOf(near)), showRows(near)),
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

  function addGraph(figure, to, kind, direction) {
    const name = figure.querySelector("h3").textContent + ". " + figure.querySelector("figcaption").textContent;
    const div = el("div", { class: "graph", tabindex: "0", role: "application", "aria-label": name });
    figure.dataset.graph = kind + (direction === undefined ? "" : direction);
    figure.append(div);
    byId(to).append(figure);
    state.view.add(div, kind, direction);
  }

  function showGraphs(conn) {
    const { names, has } = conn; // the attributes data-if of page.html name the members of `has`
    const figures = [...byId("figures").content.children].map((figure) => figure.cloneNode(true));
    conn.legends.forEach((legend, d) => {
      const figure = figures[0].cloneNode(true);
      if (!legend.length) return;
      figure.querySelector("h3").append(names[d] + " → " + names[1 - d]);
      figure.querySelector("figcaption").textContent = conn.captions[d];
      figure.querySelector("ul").append(...legend.map(keyOf));
      addGraph(figure, "packets", "psn", d);
    });
    figures.slice(1).filter((figure) => has[figure.dataset.graph]).forEach((figure) => {
      figure.querySelectorAll("[data-if]").forEach((e) => { if (!has[e.dataset.if]) e.remove(); });
      figure.querySelectorAll("[data-side]").forEach((e) => e.append(names[e.dataset.side]));
      const operations = String(conn.messages_left_out + state.view.messages.length);
      figure.querySelectorAll(".left-out").forEach((e) => e.append(operations));
      addGraph(figure, "graphs", figure.dataset.graph);
      if (figure.dataset.graph === "latency") showDistributions(conn);
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

  function bucketRow(conn, { side, key }, [low, high, count], most) {
    const share = styled(el("span", { class: "share" }), {
      background: "var(--side-" + "ab"[side] + ")", width: Math.max(1, 300 * count / most) + "px" });
    const pick = button(String(count), () => copy(D.filterOf(framesOf(side, key, low, high), conn)));
    return el("tr", { title: "click the number: copy the Wireshark filter" },
      number(D.duration(low) + " to " + D.duration(high)), number(pick), el("td", { class: "wide" }, share));
  }

  function showDistributions(conn) {
    conn.distributions.filter((d) => d.buckets.length > 1).forEach((d) => {
      const details = byId("distribution").content.firstElementChild.cloneNode(true);
      const most = Math.max(...d.buckets.map((b) => b[2]));
      details.querySelector("summary").append(d.title);
      details.querySelector("tbody").append(...d.buckets.map((b) => bucketRow(conn, d, b, most)));
      byId("graphs").append(details);
    });
  }

  function choose(conn, focus) {
    if (state.view) state.view.destroy();
    Object.assign(state, { view: null, chosen: conn });
    ["packets", "graphs"].forEach((id) => byId(id).replaceChildren());
    byId("conn-title").textContent = "Connection #" + numberOf(conn) + ": " + conn.a.address + " ↔ " + conn.b.address;
    byId("conn-about").textContent = byId("lead").textContent.startsWith(conn.headline) ? "" : conn.headline;
    ["ends", "why"].forEach((id) => { byId("conn-" + id).textContent = conn[id] || ""; });
    showPlaces(conn);
    const said = [conn.headline, conn.why, conn.advice, ...(conn.budget || []).map((p) => p[1])].join(" ") +
      byId("places-text").textContent;
    const terms = [...byId("words").querySelectorAll(".explain")];
    byId("conn-words").replaceChildren(...terms.filter((term) => said.includes(term.textContent))
      .map((term) => el("div", {}, term.cloneNode(true), term.nextElementSibling.cloneNode(true))));
    byId("tools").hidden = byId("tools-about").hidden = !conn.runs;
    announce(conn.drawn);
    if (conn.runs) {
      state.view = new G.View(conn, events);
      showGraphs(conn);
      events.onWindow(...state.view.window);
    }
    [...byId("conns").tBodies[0].rows].forEach((row, i) => row.classList.toggle("chosen", state.conns[i] === conn));
    if (focus) byId("connection").focus();
  }

  const showLead = (textContent, className) => Object.assign(byId("lead"), { textContent, className });

  function showCapture(capture) {
    const { connections: conns, summary } = capture, single = conns.length === 1;
    const worst = conns.find((c) => c.headline && summary.headline.startsWith(c.headline)) || conns[0];
    Object.assign(state, { capture, filter: byId("filter").value = "" });
    ["file", "facts", "text"].forEach((id) => { byId(id).textContent = capture[id]; });
    if (!data.has_results) {
      showLead(capture.lead, capture.look);
      document.title = capture.file + " - RoCEdrill";
      byId("advice").textContent = worst && worst.advice || "";
    }
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
  byId("tools").querySelectorAll("button").forEach((b) => on(b, "click", () => state.view.act(b.dataset.key)));
  [[matchMedia("(prefers-color-scheme: dark)"), "change"], [window, "resize"]].forEach((of) => on(...of, () =>
    (G.readColors(), [state.view, state.heat].forEach((drawn) => drawn && drawn.redraw()))));
  if (data.captures.length) showCapture(data.captures[0]);
  else if (!data.has_results) showLead("No capture could be read.", "bad");
  window.rocedrill = state; // for tests
})();
