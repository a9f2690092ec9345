# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests of pages with hostile names, comments and payload, pages of replay and drill, and pages without a capture or without
scripts. Called by page_browser.py."""
import json
import os
import shutil
import struct
import subprocess

from page_captures import Connection, write_capture
from page_test import audit, fail, make_page, open_page

SEND_ONLY = 4  # opcode
IMPAIRED = "rnic-run dropped 3 packets: "  # start of a comment of rnic-run

# File names that end an element, an attribute, a string or a comment where a page does not escape them.
HOSTILE = ["</script><img src=x onerror=hacked()>.pcap", "\"'><svg onload=hacked()>.pcap", "<!--<script>&lt;.pcap",
           "</title><script>hacked()<\u2215script>\u2028.pcap", "${hacked()}`;hacked();`\\u003cscript>\t\n<plaintext>.pcap",
           "\udcff\udcfe]]>--><img src=x onerror=hacked()>\udcc0\udcbc\u202e.pcap"]

failures = 0


def check_markup(browser, name, scripts):
    for problem in browser.problems():
        fail(name, problem)
    if browser.run("document.querySelectorAll('img, svg:not(.ladder, #places > svg), iframe, object, [onload], [onerror]').length"):
        fail(name, "text became markup")
    if browser.run("document.querySelectorAll('script').length") != scripts:
        fail(name, "text became a script")


def write_pcapng(path, texts, frames):
    """Writes a pcapng file with the texts as the comments and names of its section, interface and packets, where rnic-run
    writes the names of programs."""
    def block(kind, body, *options):
        for code, text in (*options, (0, b"")):
            body += struct.pack("<HH", code, len(text)) + text + bytes(-len(text) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    names = [os.fsencode(text) for text in (*texts, IMPAIRED + texts[0])]
    with open(path, "wb") as out:
        out.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1), *[(code, text) for code in (1, 2, 3, 4) for text in names]))
        out.write(block(1, struct.pack("<HHI", 1, 0, 0), *[(code, text) for code in (1, 2, 3, 12) for text in names]))
        for time, data in frames:
            fields = struct.pack("<IIIII", 0, time // 1000 >> 32, time // 1000 & 0xFFFFFFFF, len(data), len(data))
            out.write(block(6, fields + data + bytes(-len(data) % 4), *[(1, text) for text in names]))


def check_options(browser, rocedrill, folder):
    """Expects that the comments and names in a pcapng file never become markup, in pages of check and of replay."""
    path, t = os.path.join(folder, "options.pcapng"), Connection(mtu=1024)
    for _ in range(3):
        t.add_all(0, t.write(0, 4096))
        t.acknowledge(0)
    write_pcapng(path, HOSTILE, t.frames)
    open_page(browser, "options", make_page(rocedrill, folder, path))
    check_markup(browser, "options", 6)
    packets = browser.run("rocedrill.chosen.a.packets")
    if packets != 12:
        fail("options", f"{packets} packets")
    page = os.path.join(folder, "page.html")
    subprocess.run([rocedrill, "replay", "-q", "--html", page, path], stdout=subprocess.DEVNULL, check=False)
    open_page(browser, "options of replay", page)
    check_markup(browser, "options of replay", 6)


def check_names(browser, rocedrill, folder, path):
    """Expects that the names of captures never become markup."""
    copies = []
    for name in HOSTILE:
        copies.append(os.path.join(folder, name.replace("/", "\u2215") if "/" in name else name))
        shutil.copy(path, copies[-1])
    # A slash cannot be in a file name, but it can be in a path.
    deep = os.path.join(folder, "<", "script><script>hacked()<", "script>.pcap")
    os.makedirs(os.path.dirname(deep))
    shutil.copy(path, deep)
    copies.append(deep)
    page = make_page(rocedrill, folder, *copies)
    open_page(browser, "names", page)
    for i in range(len(copies)):
        browser.run(f"(() => {{ const s = document.getElementById('capture'); s.value = {i}; s.dispatchEvent(new Event('change')); }})()")
        browser.frames()
    check_markup(browser, "names", 6)
    shown = browser.run("document.getElementById('file').textContent")
    if shown != deep:
        fail("names", f"the page shows '{shown}'")


def check_payload(browser, rocedrill, folder):
    """Expects that a page has no payload of packets."""
    path, t = os.path.join(folder, "payload.pcap"), Connection(mtu=1024)
    for text in HOSTILE:
        t.add(0, t.frame(0, SEND_ONLY, t.use_psns(0), os.fsencode(text), 1))
    write_capture(path, t.frames)
    page = make_page(rocedrill, folder, path)
    open_page(browser, "payload", page)
    check_markup(browser, "payload", 6)
    with open(page, encoding="utf-8") as text:
        if "hacked" in text.read():
            fail("payload", "the page has payload")


def differences(browser):
    """Returns the rows of all tables of differences: field, expected value, actual value, rule with its text."""
    return browser.run("[...document.querySelectorAll('table.differences tbody tr')].map(r => "
                       "[1, 2, 3, 5].map(i => r.cells[i].textContent.trim()))")


def check_rows(name, have, want):
    """Compares the tables of differences with those of a JSON report (`want`). The page adds the text of the
    rule to its id."""
    if [r[:3] for r in have] != [[d.get("field", ""), d.get("recorded") or d.get("expected", ""),
                                  d.get("replayed") or d.get("actual", "")] for d in want]:
        fail(name, f"differences {have}, JSON {want}")
    for row, d in zip(have, want):
        if not row[3].startswith(d.get("rule", "")) or ("rule" in d and len(row[3]) < len(d["rule"]) + 10):
            fail(name, f"rule '{row[3]}' instead of {d.get('rule')} and its text")


def check_ladders(browser, name, cnt):
    """Expects `cnt` ladders, each with its difference, and nothing outside of a drawing."""
    found = browser.run("""[...document.querySelectorAll('svg.ladder')].map(s => {
        const box = s.getBoundingClientRect();
        return [s.querySelectorAll('.spot').length, s.querySelectorAll('.detail').length,
            [...s.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > box.right + 1
              || t.getBoundingClientRect().left < box.left - 1).map(t => t.textContent)]; })""")
    if len(found) < cnt or not all(spots and details and not outside for spots, details, outside in found):
        fail(name, f"ladders {found}, wanted {cnt}")


def check_replay(browser, rocedrill, folder, captures):
    """Checks the pages of failing replays: one capture in rocedrill's own process, several in worker processes.
    Captures of Linux fail if no known deviation is excused."""
    page, report = (os.path.join(folder, n) for n in ("page.html", "report.json"))
    many = [os.path.join(folder, n) for n in HOSTILE]
    for name in many:
        shutil.copy(f"{captures}/rc-loss-read-responses.pcap", name)
    for paths in [f"{captures}/rc-loss-read-responses.pcap"], many + [f"{captures}/rc-atomics.pcap"]:
        name = f"replay of {len(paths)}"
        run = subprocess.run([rocedrill, "replay", "-q", "--quirks", "none", "--json", report, "--html", page, *paths], check=False)
        with open(report, encoding="utf-8") as text:
            reports = json.load(text)["captures"]
        if run.returncode != 1:
            fail(name, f"status {run.returncode}")
        open_page(browser, name, page)
        check_rows(name, differences(browser), [d for r in reports for d in r["differences"] if r["verdict"] == "FAIL"])
        check_ladders(browser, name, sum(r["verdict"] == "FAIL" for r in reports))
        if browser.run("document.querySelectorAll('#results tbody tr').length") != (len(paths) if len(paths) > 1 else 0):
            fail(name, "the table of results has not all captures")
        if not browser.run("document.querySelectorAll('figure[data-graph^=psn]').length"):
            fail(name, "no graph of packets")
        if "FAIL" not in browser.run("document.getElementById('lead').textContent"):
            fail(name, "the first sentence lacks the verdict")
        check_markup(browser, name, 6)
        audit(browser, name)


DRILL = """purpose {0}
rules RC-RSP-099
role responder
mr M len 64 access write
qp Q rc
# {0}
+0 < WRITE Only PSN +0 va M+0 payload 8 AckReq
+0 > Acknowledge PSN +0 ACK MSN 7 [RC-RSP-102]
"""


def check_drill(browser, rocedrill, folder):
    name, evil = "drill", "</script><img src=x onerror=hacked()><svg onload=hacked()>"
    page, report, drills = (os.path.join(folder, n) for n in ("page.html", "report.json", "drills"))
    os.mkdir(drills)
    for file, text in ("\"'><script>hacked()&lt;.drill", DRILL.format(evil)), ("bad.drill", evil), \
            ("good.drill", DRILL.format("good").replace("MSN 7", "MSN 1")):
        with open(os.path.join(drills, file), "w", encoding="utf-8") as out:
            out.write(text)
    run = subprocess.run([rocedrill, "drill", "--device", evil, "--json", report, "--html", page, "--record", os.path.join(folder, "recorded"),
                          drills], stdout=subprocess.DEVNULL, check=False)
    with open(report, encoding="utf-8") as text:
        cases = json.load(text)["drills"]
    if run.returncode != 2:
        fail(name, f"status {run.returncode}")
    open_page(browser, name, page)
    check_rows(name, differences(browser), [c for c in cases if c["verdict"] == "fail"])
    files = browser.run("JSON.parse(document.getElementById('data').textContent).captures.map(c => c.file)")
    if len(files) != 1 or not files[0].startswith(os.path.join(folder, "recorded")) or not browser.run("rocedrill.view.graphs.length"):
        fail(name, f"graphs of the recordings {files}")
    check_ladders(browser, name, 1)
    if browser.run("[...document.querySelectorAll('#results .badge')].map(b => b.textContent)") != [c["verdict"] for c in cases]:
        fail(name, "the table of results differs from the JSON")
    lead = browser.run("document.getElementById('lead').textContent")
    if not lead.startswith(evil + ": 2 of 3 cases failed; "):
        fail(name, f"first sentence '{lead}'")
    check_markup(browser, name, 6)
    audit(browser, name)


def check_unreadable(browser, rocedrill, folder):
    empty, page = os.path.join(folder, "empty.pcap"), os.path.join(folder, "page.html")
    open(empty, "w", encoding="ascii").close()
    run = subprocess.run([rocedrill, "check", "-q", "--html", page, empty], stderr=subprocess.DEVNULL, check=False)
    open_page(browser, "unreadable", page)
    lead = browser.run("document.getElementById('lead').textContent")
    if run.returncode != 2 or lead != "No capture could be read.":
        fail("unreadable", f"status {run.returncode}, first sentence '{lead}'")


def check_without_scripts(browser, rocedrill, folder, path):
    """A server such as Jenkins forbids the scripts of the files that it keeps. The page then says what to do."""
    page = make_page(rocedrill, folder, path)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.events = []
    browser.call("Page.navigate", url="file://" + page)
    browser.wait_event("Page.loadEventFired")
    said = browser.run("document.querySelector('noscript').innerText")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    if "rocedrill check CAPTURE" not in said:
        fail("without scripts", f"'{said}'")


def check_hostile(browser, rocedrill, folder, captures):
    check_without_scripts(browser, rocedrill, folder, f"{captures}/rc-atomics.pcap")
    check_names(browser, rocedrill, folder, f"{captures}/rc-atomics.pcap")
    check_options(browser, rocedrill, folder)
    check_payload(browser, rocedrill, folder)
    check_replay(browser, rocedrill, folder, captures)
    check_drill(browser, rocedrill, folder)
    check_unreadable(browser, rocedrill, folder)
