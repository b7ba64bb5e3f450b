"""The table of results: applicable cases of each file, how many pass, and one line why for each that does not."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any


def counted(known: dict[str, Any]) -> Counter[str]:
    """Applicable cases (those that pass in NVIDIA DALI), and how they end here."""
    applicable = [name for name, result in known["nvidia"].items() if result["status"] == "passed" and name != "import"]
    ours = known.get("dali_lab", {})
    counts: Counter[str] = Counter(applicable=len(applicable))
    for name in applicable:
        status = ours.get(name, {}).get("status", "failed")
        counts["failed" if status == "skipped" else status] += 1
    return counts


def row(file: str, known: dict[str, Any]) -> str:
    """One line of the table."""
    counts = counted(known)
    return f"| {file} | {counts['applicable']} | {counts['passed']} | {counts['wording']} | {counts['failed']} |"


def failures(known: dict[str, Any]) -> list[tuple[str, str]]:
    """Applicable cases that do not pass, with the error."""
    ours = known.get("dali_lab", {})
    result = []
    for name, theirs in known["nvidia"].items():
        if theirs["status"] == "passed" and name != "import" and ours.get(name, {}).get("status") != "passed":
            result.append((name, ours.get(name, ours.get("import", {"error": "not run"}))["error"]))
    return result


def write(path: Path, out: Path) -> None:
    """Write the table of all results in `out`; lines why are kept from ``reasons.json`` beside this file."""
    reasons: dict[str, str] = json.loads((Path(__file__).parent / "reasons.json").read_text())
    rows, why, total = [], [], Counter[str]()
    for place in sorted(out.glob("*.json")):
        file = place.stem.replace("--", "/")
        known = json.loads(place.read_text())
        counts = counted(known)
        total.update(counts)
        if counts["applicable"]:
            rows.append(row(file, known))
        seen: dict[str, list[str]] = {}
        for name, error in failures(known):
            text = reasons.get(f"{file}::{name.partition(':')[0]}") or " ".join(error.split())[:160]
            seen.setdefault(text, []).append(name)
        why += [f"| {file} | {', '.join(names)} | {text.replace('|', '/')} |" for text, names in seen.items()]
    share = 100 * total["passed"] / max(total["applicable"], 1)
    path.write_text(
        "\n".join(
            [
                "# NVIDIA DALI's own tests",
                "",
                f"{date.today()}: {total['passed']} of {total['applicable']} applicable cases pass ({share:.1f} %);"
                f" {total['wording']} fail by the wording of an error or warning alone, {total['failed']} otherwise."
                " Applicable are cases that pass in NVIDIA DALI 2.4 on a machine without a GPU, where pipelines are"
                " made with `device_id=None` in both engines. Cases about the error of a machine without a GPU run with"
                " `DALI_LAB_GPU=require`. Files without such cases are left out. Made by"
                " `python -m tests.nvidia`.",
                "",
                "| file | applicable | passes | wording | fails |",
                "|---|---|---|---|---|",
                *rows,
                "",
                "## What does not pass",
                "",
                "| file | cases | why |",
                "|---|---|---|",
                *why,
                "",
            ]
        )
    )
