#!/usr/bin/env python3
"""Makes a picture (SVG) of a command as a terminal shows it, from what it really prints.

    docs/terminal.py                     writes docs/why.svg, the picture in README.md
    docs/terminal.py --check             fails if that picture is not what the program prints now

    --clocksmith FILE                    the program (target/debug/clocksmith below CARGO_TARGET_DIR)

The command runs in `book/samples`, in a pseudo-terminal of 80 columns, so with its colours. The picture brings
its own dark background, so it reads the same on a light page and on a dark one; it needs no font but a
monospaced one, and nothing from elsewhere.
"""

import argparse
import html
import os
import pty
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PICTURE = TOP / "docs/why.svg"
COMMAND = ["clocksmith", "why", "--log", "db1.log"]
# What is shown ends before the line that begins so.
UNTIL = "  3. "
COLUMNS = 80

# A cell in pixels, and the margin.
WIDTH, HEIGHT, MARGIN, BAR = 8.4, 18, 16, 30
COLOURS = {
    "30": "#6e7681", "31": "#ff7b72", "32": "#56d364", "33": "#e3b341",
    "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd", "37": "#e6edf3",
    "90": "#8b949e", "91": "#ffa198", "92": "#7ee787", "93": "#f2cc60",
    "94": "#a5d6ff", "95": "#e2c5ff", "96": "#b3f0ff", "97": "#ffffff",
}


def printed(program):
    """What the command prints on a terminal."""
    out, begun = b"", pty.fork()
    if begun[0] == 0:
        os.chdir(TOP / "book/samples")
        for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
            os.environ.pop(name, None)
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LC_ALL="C.UTF-8")
        os.execv(program, COMMAND)
    while True:
        try:
            piece = os.read(begun[1], 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    code = os.waitstatus_to_exitcode(os.waitpid(begun[0], 0)[1])
    if code not in (0, 1, 3):
        sys.exit(f"docs/terminal.py: {' '.join(COMMAND)} ended with {code}")
    return out.decode(errors="replace").replace("\r\n", "\n")


def spans(line, codes):
    """Pieces of a line with the codes that are in force (`codes`, which goes on in the next line)."""
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        found = re.fullmatch(r"\x1b\[([\d;]*)m", piece)
        if found:
            for code in (found[1] or "0").split(";"):
                codes[:] = [] if code in ("", "0") else [*codes, code]
        elif piece:
            yield piece, list(codes)


def drawn(text):
    """The picture."""
    lines = [f"\x1b[1;32m$\x1b[0m \x1b[1m{' '.join(COMMAND)}\x1b[0m"]
    for line in text.rstrip("\n").split("\n"):
        if re.sub(r"\x1b\[[\d;]*m", "", line).startswith(UNTIL):
            lines.append("  ...")
            break
        lines.append(line)
    # Commands to be copied are not wrapped.
    longest = max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in lines)
    width = max(COLUMNS, longest) * WIDTH + 2 * MARGIN
    height = BAR + len(lines) * HEIGHT + MARGIN
    plain = html.escape(re.sub(r"\x1b\[[\d;]*m", "", "\n".join(lines[:3])), quote=True)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{plain}">',
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#0d1117" stroke="#30363d"/>',
        *(f'<circle cx="{MARGIN + 6 + 18 * i}" cy="16" r="5" fill="#484f58"/>' for i in range(3)),
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
        'font-size="14" fill="#e6edf3">',
    ]
    going = []
    for row, line in enumerate(lines):
        column, y = 0, BAR + row * HEIGHT + 14
        for piece, codes in spans(line, going):
            blank = len(piece) - len(piece.lstrip(" "))
            word = piece.strip(" ")
            cells = html.escape(word).replace(" ", "\u00a0")
            if word:
                colour = next((COLOURS[c] for c in reversed(codes) if c in COLOURS), None)
                style = f' fill="{colour}"' if colour else (' fill="#8b949e"' if "2" in codes else "")
                style += ' font-weight="bold"' if "1" in codes else ""
                style += ' text-decoration="underline"' if "4" in codes else ""
                x = MARGIN + (column + blank) * WIDTH
                # The length is told, so that columns stay columns in every font.
                out.append(
                    f'<text x="{x:g}" y="{y}" textLength="{len(word) * WIDTH:g}" '
                    f'lengthAdjust="spacingAndGlyphs"{style}>{cells}</text>'
                )
            column += len(piece)
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description="Makes the picture in README.md.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--clocksmith", metavar="FILE")
    args = parser.parse_args()
    target = TOP / os.environ.get("CARGO_TARGET_DIR", "target")
    program = Path(args.clocksmith or target / "debug/clocksmith").resolve()
    if not program.is_file():
        sys.exit(f"docs/terminal.py: no program at {program}: cargo build -p clocksmith-cli --features full")
    picture = drawn(printed(str(program)))
    if args.check:
        if not PICTURE.exists() or PICTURE.read_text() != picture:
            sys.exit("docs/terminal.py: docs/why.svg is not what the program prints; run docs/terminal.py")
    else:
        PICTURE.write_text(picture)


if __name__ == "__main__":
    main()
