"""The links of a text in Markdown, in the forms of https://spec.commonmark.org/0.31.2/#links and as HTML.

    book/links.py FILE...      prints where they lead
    book/links.py --test       tests itself
"""

import re
import sys
from pathlib import Path

FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")
# The text of a link may have brackets in it; what is code was replaced before.
TEXT = r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"
TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
WHERE = rf"(?:<([^<>\n]*)>|((?:[^\s()<]|\([^\s()]*\))[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)){TITLE}\s*"
INLINE = re.compile(rf"\]\(\s*(?:{WHERE})?\)")
DEFINED = re.compile(rf"(?m)^[ \t>]{{0,8}}\[([^\[\]\n]+)\]:\s*{WHERE}$")
REFERENCE = re.compile(rf"{TEXT}\[([^\[\]\n]*)\]")
TAG = re.compile(r"(?i)<[a-z][^<>]*?\b(?:href|src|poster)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
# Several images, each with a size: https://html.spec.whatwg.org/#srcset-attribute
SEVERAL = re.compile(r"(?i)<[a-z][^<>]*?\bsrcset\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
FOOTNOTE = re.compile(r"(?<!\\)\[\^([^\]\s]+)\](:?)")
# Not a path: another site, or what a page tells a program.
ABROAD = re.compile(r"[a-zA-Z][\w+.-]*:|//")
SITE = re.compile(r"(?i)https?://[^\s/]+|mailto:.|tel:.|data:.|irc:.")


def without_code(text):
    """The text with an `x` for each piece of code, and without its blocks of code and its comments."""
    lines, fence = [], None
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence:
            # The same sign, as often at least, and nothing behind it.
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = None
            lines.append("")
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            lines.append("")
        else:
            lines.append(line)
    text = re.sub(r"(?s)<!--.*?-->", "", "\n".join(lines))
    # Code ends with as many signs as it begins with, in the same paragraph.
    return re.sub(r"(?s)(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)*?)(?<!`)\1(?!`)", "x", text)


def label(text):
    return " ".join(text.split()).casefold()


def links(text):
    """Where the links lead, and what is wrong with them, in words."""
    text = without_code(text)
    found, wrong = [], []
    for place in re.finditer(r"(?<!\\)\]\(", text):
        # `[x] (y)` is a sentence; `](` never is.
        if (link := INLINE.match(text, place.start())) is None:
            wrong.append(f"what is this link: {text[place.start():].split(chr(10))[0][:60]}")
        elif target := link[1] or link[2]:
            found.append(target)
        else:
            wrong.append("a link that leads nowhere: ]()")
    known = set()
    for definition in DEFINED.finditer(text):
        known.add(label(definition[1]))
        if target := definition[2] or definition[3]:
            found.append(target)
    for reference in REFERENCE.finditer(text):
        if label(name := reference[2] or reference[1]) not in known:
            wrong.append(f"no line says where [{name}] leads")
    found += [a or b or c for a, b, c in TAG.findall(text)]
    for several in SEVERAL.findall(text):
        found += [one.split()[0] for one in "".join(several).split(",") if one.strip()]
    notes = FOOTNOTE.findall(text)
    there = {label(name) for name, colon in notes if colon}
    wrong += [f"no line has the footnote [^{name}]" for name, colon in notes if not colon and label(name) not in there]
    for target in found:
        if ABROAD.match(target) and not SITE.match(target):
            wrong.append(f"what kind of address is this: {target}")
    return found, wrong


def own(targets):
    """Those that do not lead to other sites."""
    return [target for target in targets if not ABROAD.match(target)]


def test():
    for text, wanted in [
        ("see [a](a.md), ![b](b.png) and [`c`](c.md#d)", ["a.md", "b.png", "c.md#d"]),
        ("[a `b`](a.md) and [c](c.md) `d`", ["a.md", "c.md"]),
        ("``x`` [a](a.md) `[b](b.md)`", ["a.md"]),
        ("[a](a.md \"title\") [b](b.md 'title') [c](<c d.md>)", ["a.md", "b.md", "c d.md"]),
        ("[a](\na.md) [b](b(1).md)", ["a.md", "b(1).md"]),
        ("[a]: a.md\n[b]:\n  b.md \"title\"\n\n[x][a] [y][B] [a][]", ["a.md", "b.md"]),
        ("<a href=\"a.html\">x</a> <img alt='' src='b.png'>", ["a.html", "b.png"]),
        ("[![x](a.svg)](b.md)", ["a.svg", "b.md"]),
        ("```\n[a](a.md)\n```\n[b](b.md)\n~~~sh\n[c](c.md)\n```\n~~~\n", ["b.md"]),
        ("- x\n  ````\n  ```\n  [a](a.md)\n  ````\n  [b](b.md)", ["b.md"]),
        ("<!-- [a](a.md) -->", []),
        ("<A HREF='a.md'>x</A> <img srcset=\"a.png 1x, b.png 2x\"> <video poster=c.png>", ["a.md", "a.png", "b.png", "c.png"]),
        ("a note[^1], and <https://x.org>\n\n[^1]: what it says", []),
        ("a list [0] (see below) and f(x)[1]", []),
    ]:
        found, wrong = links(text)
        assert (sorted(found), wrong) == (sorted(wanted), []), (text, found, wrong)
    for text in ["[a](a b.md)", "[a](", "[x][y]", "[x][]", "[`x`][y]", "[a]()", "[a](htps://x.org)", "[a](http:/x.org)", "[a](file:///x)", "a[^1]"]:
        assert links(text)[1], text
    assert own(["a.md", "#b", "https://x.org", "mailto:x@y", "//x.org/y"]) == ["a.md", "#b"]


if __name__ == "__main__":
    if sys.argv[1:] == ["--test"]:
        test()
    else:
        for name in sys.argv[1:]:
            found, wrong = links(Path(name).read_text())
            print("\n".join(found + wrong))
