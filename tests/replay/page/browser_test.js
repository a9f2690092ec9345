// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Tests of the page's scripts that need no browser: node browser_test.js FOLDER
"use strict";

const assert = require("assert"), fs = require("fs"), path = require("path"), vm = require("vm");
const folder = path.resolve(process.argv[2]), D = require(path.join(folder, "data.js")), W = require(path.join(folder, "words.js"));

const side = (more) => ({ address: "192.0.2.1", qpn: 17, packets: 10, ...more });
const conn = (more) => ({ title: "RC", service: "RC", first_time_ns: 0, last_time_ns: 1e8, a: side(), b: side(), state: "no problem", headline: "", ...more });
const capture = (conns, summary) => ({ summary: { packets: 20, connections: conns.length, ...summary }, connections: conns });

const tests = {
  durations_have_a_unit_that_fits() {
    assert.deepStrictEqual([0, 12, 1500, 73390000, 2.5e9, -1.5e6].map(D.duration), ["0", "12 ns", "1.5 µs", "73.39 ms", "2.5 s", "-1.5 ms"]);
  },
  times_of_an_axis_have_as_many_digits_as_they_differ() {
    assert.deepStrictEqual([0, 16.07e9, 16.0701e9, -2e5].map((t) => D.exactDuration(t, 1e5)), ["0", "16.07 s", "16.0701 s", "-200 µs"]);
    assert.deepStrictEqual([20e6, 1e9, 1.05e9].map((t) => D.exactDuration(t, 1e7)), ["20 ms", "1 s", "1.05 s"]);
  },
  sizes_and_rates_have_a_unit_that_fits() {
    assert.deepStrictEqual([1, 999, 6144, 1e7].map(D.size), ["1 bytes", "999 bytes", "6144 bytes", "10.0 MB"]);
    assert.deepStrictEqual([0, 1.25e9].map(D.rate), ["0 bit/s", "10 Gbit/s"]);
  },
  one_thing_has_no_plural() {
    assert.deepStrictEqual([D.count(1, "packet"), D.count(2000, "packet"), D.count(2, "reply", "replies")], ["1 packet", "2,000 packets", "2 replies"]);
  },
  filter_names_one_frame_or_a_range() {
    assert.strictEqual(D.filterOf(7, 7), "frame.number == 7");
    assert.strictEqual(D.filterOf(7, 9), "frame.number >= 7 && frame.number <= 9");
  },
  bucket_has_the_middle_of_its_range() {
    assert.deepStrictEqual([0, 1, 4, 5].map(D.bucketNs), [32, 72, 120, 144]);
  },
  bins_keep_the_sum() {
    const runs = { length: 3, time: [0, 0.25, 0.99], end: [0, 0.75, 0.99] };
    const bins = D.binned(runs, 0, 1, 4, (i) => [1, 8, 2][i]);
    assert.deepStrictEqual(Array.from(bins), [1, 4, 4, 2]);
    assert.deepStrictEqual(Array.from(D.binned(runs, 1, 1, 2, () => 1)), [0, 0]);
  },
  psns_count_from_the_first_of_each_direction_and_across_the_wrap() {
    const runs = { time: [0, 10, 10], duration: [0, 0, 0], frame: [1, 1, 1], frames: [0, 0, 0], count: [1, 1, 1], psn: [0xFFFFFF, 1, -1], span: [1, 1, 1],
      payload: [8, 8, 0], wire: [70, 70, 62], flight: [8, 16, 0], style: [0, 0, 1], rtt: [2, 20], wait: [], gap: [], ce: [],
      styles: [[0, "request", "SEND", "", 0, 4000, ""], [1, "ack", "ACK", "", 0, 4000, ""]] };
    const r = D.decodeRuns(conn({ runs: runs, a: side({ first_psn: 0xFFFFFE }) }));
    assert.deepStrictEqual(Array.from(r.psn), [1, 2, 1]);
    assert.deepStrictEqual(Array.from(r.rtt), [0, 0, 20]);
    assert.deepStrictEqual(Array.from(r.frame), [1, 2, 3]);
    assert.strictEqual(r.style[2].direction, 0);
    assert.deepStrictEqual(Array.from(D.decodeRuns(conn({ runs: runs, a: side({ first_psn: 5 }) })).psn), [0, 1, 0]);
  },
  first_sentence_is_that_of_the_summary() {
    assert.deepStrictEqual(W.lead(capture([conn(), conn()], { headline: "No problem found." })), { good: true, text: "No problem found." });
    assert.deepStrictEqual(W.lead(capture([conn()], { headline: "Slow.", trouble: true })), { good: false, text: "Slow." });
  },
  first_sentence_is_that_of_the_chosen_connection() {
    const chosen = conn({ headline: "Connection #3 had no problem.", trouble: 0 });
    assert.deepStrictEqual(W.lead(capture([chosen], { headline: "Slow.", trouble: true, connections: 4 })),
      { good: true, text: "Connection #3 had no problem." });
  },
  parts_of_the_time_budget_have_a_colour() {
    const slow = conn({ waits: [{ side: "a", cause: "rnr_nak", text: "receiver not ready", ns: 4e7 }, { side: "a", cause: "timeout", text: "timeouts", ns: 1e7 }] });
    assert.deepStrictEqual(W.budget(slow), [{ label: "receiver not ready", color: "rnr", ns: 4e7 }, { label: "timeouts", color: "timeout", ns: 1e7 }]);
    assert.strictEqual(W.waitedNs(slow), 5e7);
    // The same table as in tests/replay/check/test_check_output.c.
    for (const [part, whole, text] of [[0, 7, "0 %"], [1, 3000, "< 0.1 %"], [1, 200, "0.5 %"], [1, 11, "9.1 %"], [6, 14, "43 %"],
      [1, 8, "13 %"], [1, 3, "33 %"], [399, 400, "100 %"], [7, 7, "100 %"], [999, 10000, "10.0 %"]])
      assert.strictEqual(W.percent(part, whole), text);
  },
  worse_connections_come_first() {
    const failed = conn({ trouble: 6 }), slow = conn({ trouble: 2 }), slower = conn({ trouble: 2, waits: [{ cause: "timeout", text: "", ns: 9 }] });
    assert.deepStrictEqual(W.worstFirst([conn(), slow, slower, failed]).slice(0, 3), [failed, slower, slow]);
  },
  lines_about_a_side_have_its_direction_once() {
    const slow = conn({ slow: ["→ packets were lost", "check links", "→ 1 packet was retransmitted", "← READ data"], b: side({ address: "192.0.2.2" }) });
    assert.strictEqual(W.slowText(slow), "192.0.2.1 (QP 0x000011) → 192.0.2.2 (QP 0x000011):\n• packets were lost\n   check links\n" +
      "• 1 packet was retransmitted\n192.0.2.2 (QP 0x000011) → 192.0.2.1 (QP 0x000011):\n• READ data");
  },
  advice_is_the_first_hint_of_the_report() {
    assert.strictEqual(W.advice(conn({ slow: ["→ packets were lost", "check links", "← READ data", "check disks"] })), "Check links.");
    assert.strictEqual(W.advice(conn({ why: "refused\ncheck R_Key" })), "Check R_Key.");
    assert.strictEqual(W.advice(conn({ why: "refused\n" })), "");
    assert.strictEqual(W.advice(conn({})), "");
  },
  scripts_are_short_and_strict_and_set_no_markup() {
    let lines = 0;
    fs.readdirSync(folder).filter((f) => f.endsWith(".js")).forEach((f) => {
      const text = fs.readFileSync(path.join(folder, f), "utf8");
      new vm.Script(text, { filename: f });
      lines += text.split("\n").length - 1;
      assert.match(text, /^"use strict";$/m, f);
      assert.doesNotMatch(text.replace(/"[^"\n]*"/g, '""'), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\bvar\b|[^=!]==[^=]|!=[^=]| $/m, f);
    });
    assert.ok(lines < 1000, "own scripts have " + lines + " lines");
  },
};

Object.entries(tests).forEach(([name, test]) => {
  try {
    test();
  } catch (error) {
    console.error(name + ": " + error.message);
    process.exitCode = 1;
  }
});
