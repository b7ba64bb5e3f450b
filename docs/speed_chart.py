"""Draws the table of throughput in explanation/speed.md as speed.svg: ``python docs/speed_chart.py``."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, ROW, LEFT, RIGHT, TOP = 760, 26, 150, 60, 30
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.note { font-size: 12px; fill: #59636e; }
.bar { fill: #2f6fe4; }
.one { stroke: #8c959f; stroke-dasharray: 3 3; }
.page { fill: #ffffff; } /* its own, as a page may be dark where the browser is not */
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .note { fill: #9198a1; }
  .bar { fill: #6ea0ff; }
  .page { fill: #0d1117; }
}
"""


def ratios(page: str) -> dict[str, float]:
    """The rate of each of the ten pipelines in times of NVIDIA DALI's, the fastest first."""
    rows = re.findall(r"^\| ([a-z0-9 ]+?) \| [\d,]+ \| [\d,]+ \| ([\d.]+) \|", page, re.M)
    return dict(sorted(((name, float(ratio)) for name, ratio in rows[:10]), key=lambda row: -row[1]))


def chart(found: dict[str, float]) -> str:
    """A bar for each pipeline, and a line where both would be as fast."""
    scale = (WIDTH - LEFT - RIGHT) / max(found.values())
    height = TOP + ROW * len(found) + 8
    one = LEFT + scale
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-label="Samples a second in times of NVIDIA DALI\'s, for ten pipelines">',
        f"<style>{STYLE}</style>",
        '<rect class="page" width="100%" height="100%" rx="6"/>',
        f'<text class="note" x="{one:.0f}" y="16" text-anchor="middle">NVIDIA DALI</text>',
    ]
    for row, (name, ratio) in enumerate(found.items()):
        y = TOP + ROW * row
        lines += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{name}</text>',
            f'<rect class="bar" x="{LEFT}" y="{y + 2}" width="{ratio * scale:.0f}" height="{ROW - 8}" rx="3"/>',
            f'<text x="{LEFT + ratio * scale + 8:.0f}" y="{y + 15}">{ratio:.2f}</text>',
        ]
    lines += [f'<line class="one" x1="{one:.0f}" x2="{one:.0f}" y1="{TOP - 8}" y2="{height - 8}"/>', "</svg>\n"]
    return "\n".join(lines)


if __name__ == "__main__":
    text = (HERE / "explanation" / "speed.md").read_text("utf-8")
    (HERE / "speed.svg").write_text(chart(ratios(text)), "utf-8")
