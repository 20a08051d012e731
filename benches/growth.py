"""Draws tables of growth.sh: seconds of processor time for each million documents, as an SVG on standard output.

growth.py NAME=FILE [NAME=FILE ...]
"""

from __future__ import annotations

import sys
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 320, 56, 16, 16, 44
COLOURS = ("#1f6feb", "#bf5700", "#2f7d32", "#7a3fb0")


def read(path: str) -> list[tuple[int, float]]:
    """The millions of a table and their seconds."""
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file][1:]
    return [(int(row[0]), float(row[1])) for row in rows]


def draw(tables: dict[str, list[tuple[int, float]]]) -> str:
    most = max(million for rows in tables.values() for million, _ in rows)
    top = max(seconds for rows in tables.values() for _, seconds in rows)
    step = next(step for step in (5, 10, 20, 50, 100, 200) if top <= 6 * step)

    def x(million: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * million / most

    def y(seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / (top + step / 2)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for seconds in range(0, int(top) + step, step):
        if y(seconds) < TOP:
            break
        out.append(
            f'<path d="M{LEFT} {y(seconds):.1f}H{WIDTH - RIGHT}" stroke="#d8dee4"/>'
        )
        out.append(
            f'<text x="{LEFT - 8}" y="{y(seconds) + 4:.1f}" text-anchor="end">{seconds}</text>'
        )
    for million in range(0, most + 1, max(1, most // 6)):
        out.append(
            f'<text x="{x(million):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{million}</text>'
        )
    out.append(
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">million documents</text>'
    )
    out.append(
        f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">seconds a million</text>'
    )
    for place, ((name, rows), colour) in enumerate(zip(tables.items(), COLOURS)):
        points = " ".join(
            f"{x(million):.1f},{y(seconds):.1f}" for million, seconds in rows
        )
        out.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        out.append(
            f'<text x="{LEFT + 12}" y="{TOP + 16 + 18 * place}" fill="{colour}" '
            f'stroke="#ffffff" stroke-width="6" paint-order="stroke">{escape(name)}</text>'
        )
    return "\n".join([*out, "</svg>"])


if __name__ == "__main__":
    named = (argument.partition("=") for argument in sys.argv[1:])
    print(draw({name: read(path) for name, _, path in named}))
