#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Validates the JSON report of rocedrill drill by replay/drill/drill.schema.json.

    drill_schema.py PROGRAM SCHEMA DRILL-FOLDER

The reports cover all drills of the folder, and drills with each verdict. The schema allows only the
members that it names. The test also fails if no report has a member of the schema.
"""
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

HEAD = "rules RC-RSP-099\nrole responder\ncoverage v1c09-1\nmr M len 64 access write\nqp Q rc\n"
WRITE = "+0 < WRITE Only PSN +0 va M+0 payload 8 AckReq\n"
ACK = "> Acknowledge PSN +0 ACK"
DRILLS = {
    "pass": f"purpose p\n{HEAD}{WRITE}+0 {ACK}\n",
    "fail": f"purpose p\n{HEAD}{WRITE}+0 {ACK} MSN 7 [RC-RSP-102]\n",
    "known": f"purpose p\n{HEAD}{WRITE}+0 > nothing\nelse {ACK} known S1\n",
    "inconclusive": f"purpose p\n{HEAD}{WRITE}+0 > nothing\nor {ACK} inconclusive\n",
    "unsupported": f"purpose p\nneeds cnp\n{HEAD}{WRITE}",
    "unusable": "nonsense\n",
}


def main():
    program, schema_file, folder = sys.argv[1:4]
    with open(schema_file, encoding="utf-8") as text:
        schema = json.load(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    seen = set()
    with tempfile.TemporaryDirectory() as tmp:
        os.mkdir(f"{tmp}/g")
        for name, text in DRILLS.items():
            with open(f"{tmp}/g/{name}.drill", "w", encoding="utf-8") as file:
                file.write(text)
        for args in ([folder], ["--record", f"{tmp}/rec", f"{tmp}/g"], ["--shard", "1/1", f"{tmp}/g"]):
            done = subprocess.run([program, "drill", "--lacks", "cnp", "--json", "-"] + args, capture_output=True, text=True)
            report = json.loads(done.stdout)
            jsonschema.validate(report, schema)
            for case in report["drills"]:
                seen.update(case)
                name = case["name"].partition("/")[2]
                if case["name"].startswith("g/") and case["verdict"] != name:
                    sys.exit(f"{case['name']}: verdict {case['verdict']}")
            if sum(report["totals"].values()) != len(report["drills"]):
                sys.exit("the totals are not the number of cases")
    missing = set(schema["$defs"]["case"]["properties"]) - seen
    if missing:
        sys.exit(f"no report has these members of the schema: {sorted(missing)}")


if __name__ == "__main__":
    main()
