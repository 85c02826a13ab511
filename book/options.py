"""The commands of the program in a text, and whether the program has such verbs and options.

    book/options.py --test     tests itself
"""

import re
import subprocess
import sys


class Options:
    """Which verbs and options the program has."""

    def __init__(self, clocksmith):
        self.clocksmith, self.known = clocksmith, {}

    def help(self, verb):
        """The help of a verb (a tuple of words), or None if there is no such verb."""
        if verb not in self.known:
            done = subprocess.run([self.clocksmith, *verb, "--help"], capture_output=True, text=True, timeout=60)
            self.known[verb] = done.stdout if done.returncode == 0 else None
        return self.known[verb]

    def verbs(self):
        """The verbs that the program has."""
        return set(re.findall(r"(?m)^ {2,}([a-z][a-z-]+) {2,}", self.help(()) or ""))

    def wrong(self, command):
        """Why this is no command of the program; None if it is one."""
        words = command.split()[1:]
        verb, rest = (), words
        while rest and re.fullmatch(r"[a-z][a-z-]+", rest[0]) and len(verb) < (2 if verb == ("vm",) else 1):
            verb, rest = (*verb, rest[0]), rest[1:]
        text = self.help(verb)
        if text is None:
            return f"there is no verb {' '.join(verb)}"
        for word in rest:
            if word in ("|", ">", ";", "&&", "--"):
                break
            option = re.match(r"^\[?[\"']?(--?[a-zA-Z][\w-]*)", word)
            if option and not re.search(rf"(?<![\w-]){re.escape(option[1])}(?![\w-])", text):
                return f"{' '.join(verb) or 'clocksmith'} has no {option[1]}"
        return None


def bare(line):
    """A command of an indented line without what is said of it."""
    return re.split(r"\s{2,}|\s#\s", line)[0]


# What is between the beginning of a command and its program: `sudo -E`, `A=1`, `ssh host`, `do`, `timeout 5`, a path.
BEFORE = re.compile(r"(?:(?:sudo|env|exec|time|do|then|else|nohup|!)(?: -\S+)* |timeout \S+ |ssh \S+ |[A-Z_]\w*=\S* )*(?:[\w./~$@-]*/)?")


def commands(code, verbs):
    """The commands of the program in a piece of code: behind pipes, in loops, over several lines."""
    found = []
    for line in re.sub(r"\s*\\\n\s*", " ", code).split("\n"):
        for part in re.split(r"\|\|?|&&?|;|\$\(|\bExecStart=", line):
            part = part.strip()
            begin = BEFORE.match(part).end()
            if not re.match(r"clocksmith(?=\s|$)", part[begin:]):
                # Behind words of other programs: `docker run IMAGE clocksmith why`.
                other = next((m for m in re.finditer(r"(?<![\w-])clocksmith (\S+)", part) if m[1] in verbs), None)
                if other is None:
                    continue
                begin = other.start()
            found.append(bare(part[begin:].rstrip(")")))
    return found


def looked_up(text, verbs):
    """Commands of the program in a page outside of console blocks."""
    found, fences = [], r"(?ms)^[ >\t]*(?:```|~~~)[ ]*([^\n]*)\n(.*?)^[ >\t]*(?:```|~~~)"
    for language, block in re.findall(fences, text):
        if re.match(r"(sh|bash|shell|ini|systemd|yaml|Dockerfile|dockerfile)\b", language):
            found += commands(block, verbs)
    text = re.sub(fences, "", text)
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
        found += commands(" ".join(code.split()), verbs)
    for line in re.findall(r"(?m)^    (?:\$ |# )?(\S.*)$", text):
        found += commands(line, verbs)
    return [one for one in found if not re.search(r"clocksmith [A-Z]", one)]


def test():
    verbs = {"why", "fix", "vm"}
    for text, wanted in [
        ("see `clocksmith why --json` and `clocksmith`", ["clocksmith why --json", "clocksmith"]),
        ("`journalctl -k | clocksmith why --log -`", ["clocksmith why --log -"]),
        ("`clocksmith why && sudo -E clocksmith fix --apply`", ["clocksmith why", "clocksmith fix --apply"]),
        ("```sh\nA=1 target/debug/clocksmith why -v  # says it\n```\n", ["clocksmith why -v"]),
        ("```sh\nfor i in 1 2; do clocksmith why; done\nx=$(clocksmith why \\\n  --json)\n```\n",
         ["clocksmith why", "clocksmith why --json"]),
        ("```ini\nExecStart=/usr/bin/clocksmith fix --boot\n```\n", ["clocksmith fix --boot"]),
        ("`ssh db1 clocksmith why -q` and `docker run image clocksmith vm lint`", ["clocksmith why -q", "clocksmith vm lint"]),
        ("    $ clocksmith why   what it says", ["clocksmith why"]),
        ("`clocksmith\nwhy -q`", ["clocksmith why -q"]),
        ("`systemctl status clocksmith --no-pager`, `apt install clocksmith -y`, `clocksmith 0.9`", ["clocksmith 0.9"]),
        ("```console\n$ clocksmith why --nosuch\n```\n", []),
        ("```text\nclocksmith why\n```\n", []),
    ]:
        found = looked_up(text, verbs)
        assert found == wanted, (text, found, wanted)


if __name__ == "__main__" and sys.argv[1:] == ["--test"]:
    test()
