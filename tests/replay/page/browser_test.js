// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Tests of the page's scripts that need no browser: node browser_test.js FOLDER
"use strict";

const assert = require("assert"), fs = require("fs"), path = require("path"), vm = require("vm");
const folder = path.resolve(process.argv[2]), D = require(path.join(folder, "data.js"));

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
  filter_names_frames_or_a_range_with_the_queue_pairs() {
    const ends = { a: { qpn: 17 }, b: {} }, of = (...frames) => D.filterOf(frames, ends);
    assert.strictEqual(of([7, 7, 1]), "frame.number == 7");
    assert.strictEqual(of([7, 7, 1], [8, 9, 2]), "frame.number >= 7 && frame.number <= 9");
    assert.strictEqual(of([9, 9, 1], [3, 3, 1], [4, 4, 1]), "frame.number in {3..4, 9}");
    assert.strictEqual(of([3, 9, 2]), "frame.number >= 3 && frame.number <= 9 && infiniband.bth.destqp in {17}");
    const many = Array.from({ length: 60 }, (_, i) => [2 * i + 1, 2 * i + 1, 1]);
    assert.strictEqual(of(...many), "frame.number >= 1 && frame.number <= 119 && infiniband.bth.destqp in {17}");
  },
  bins_keep_the_sum() {
    const runs = { length: 3, time: [0, 0.25, 0.99], end: [0, 0.75, 0.99] };
    const bins = D.binned(runs, 0, 1, 4, (i) => [1, 8, 2][i]);
    assert.deepStrictEqual(Array.from(bins), [1, 4, 4, 2]);
    assert.deepStrictEqual(Array.from(D.binned(runs, 1, 1, 2, () => 1)), [0, 0]);
  },
  psns_and_bands_come_from_differences() {
    const runs = { time: [0, 10, 2000, 10], duration: [0, 0, 0, 0], frame: [1, 1, 1, 1], frames: [0, 0, 0, 0], count: [1, 1, 1, 1],
      psn: [1, 1, -1, 0], span: [1, 1, 1, 1], payload: [8, 8, 8, 0], wire: [70, 70, 70, 62], flight: [8, 16, 16, 0], style: [0, 0, 1, 2],
      rtt: [3, 20], wait: [], gap: [], ce: [], uses: [[0, 0, 0xFFFFFE], [0, 1, 0], [2, 0, 7]],
      styles: ["request", "repeated request", "ack"].map((name) => ({ class: name, direction: 0 })) };
    const one = { runs, bands: [[0, 1, 2, 1500]], legends: [[["first", "request"], ["timeout", "band: wait for an ACK timeout"]], []] };
    const r = D.decodeRuns(one);
    assert.deepStrictEqual(Array.from(r.psn), [1, 2, 1, 1]);
    assert.deepStrictEqual([r.psnBase(0, 1), r.psnBase(0, 2), r.psnBase(1, 3)], [0xFFFFFE, 7, 0]);
    assert.deepStrictEqual(Array.from(r.rtt), [0, 0, 0, 20]);
    assert.deepStrictEqual(Array.from(r.frame), [1, 2, 3, 4]);
    const [band, ...more] = D.decodeBands(one, r);
    assert.deepStrictEqual([band.direction, band.color, band.text, band.run, band.psn, more.length],
      [0, "timeout", "wait for an ACK timeout", 2, 1, 0]);
    assert.ok(Math.abs(band.to - 2010e-9) < 1e-12 && Math.abs(band.from - 510e-9) < 1e-12);
    assert.deepStrictEqual(D.framesOf(r, D.runsBetween(r, 10e-9, 2010e-9, (i) => i !== 2)), [[2, 2, 1]]);
  },
  scripts_are_short_and_strict_and_set_no_markup() {
    let lines = 0;
    fs.readdirSync(folder).filter((f) => f.endsWith(".js")).forEach((f) => {
      const text = fs.readFileSync(path.join(folder, f), "utf8");
      new vm.Script(text, { filename: f });
      lines += text.split("\n").length - 1;
      text.split("\n").forEach((line, i) => assert.ok([...line].length <= 120, f + ":" + (i + 1) + " has more than 120 columns"));
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
