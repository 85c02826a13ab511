#!/usr/bin/env python3
"""The plugin in the installed sos: its report has the answers of clocksmith, and `why --root` reads that report.

    packaging/sos/test.py CLOCKSMITH

Exit code: 0 good, 1 not, 77 sos is not installed or this user is not root.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def sos():
    """Where the installed sos is, with a Python that has it."""
    found = subprocess.run(
        ["/usr/bin/python3", "-c", "import sos; print(sos.__path__[0])"], capture_output=True, text=True
    )
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def main(clocksmith):
    installed = sos()
    if installed is None or os.geteuid() != 0:
        print("skipped: sos is not installed (Debian: sosreport), or this is not root")
        return 77
    with tempfile.TemporaryDirectory(prefix="clocksmith-sos-") as place:
        place = Path(place)
        shutil.copytree(installed, place / "python/sos", symlinks=True)
        shutil.copy(HERE / "clocksmith.py", place / "python/sos/report/plugins")
        (place / "bin").mkdir()
        # sos looks for commands in directories of its own choice: here also in that of the program.
        launcher = f"""import os, sys
sys.path.insert(0, {str(place / 'python')!r})
from sos import SoS
write = os.environ.__class__.__setitem__
def setitem(self, key, value):
    write(self, key, value + {f':{place}/bin'!r} if key == 'PATH' else value)
os.environ.__class__.__setitem__ = setitem
SoS(sys.argv[1:]).execute()
"""
        (place / "launch.py").write_text(launcher)
        shutil.copy(clocksmith, place / "bin/clocksmith")
        environment = dict(os.environ, PATH=f"{place}/bin:{os.environ['PATH']}")
        (place / "out").mkdir()
        words = ["/usr/bin/python3", str(place / "launch.py"), "report", "--batch", "-q"]
        words += ["--only-plugins", "clocksmith", "--tmp-dir", str(place / "out")]
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
        reports = list((place / "out").glob("sosreport-*.tar.*"))
        reports = [report for report in reports if not report.name.endswith((".sha256", ".md5"))]
        if len(reports) != 1:
            print(ran.stdout, ran.stderr, "no report", sep="\n")
            return 1
        with tarfile.open(reports[0]) as report:
            report.extractall(place / "report")
        root = next((place / "report").iterdir())
        answers = sorted(path.name for path in (root / "sos_commands/clocksmith").iterdir())
        print(*answers)
        wanted = ["clocksmith_check", "clocksmith_why_--json", "clocksmith_why_--no-color_--verbose"]
        if missing := [name for name in wanted if name not in answers]:
            print(f"not in the report: {missing}; sos says:\n{ran.stdout}{ran.stderr}")
            return 1
        why = subprocess.run([clocksmith, "why", "--root", str(root)], capture_output=True, text=True)
        print(why.stdout.splitlines()[0])
        current = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        if current.exists() and current.read_text().strip() not in why.stdout:
            print(why.stdout, why.stderr)
            return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1])))
