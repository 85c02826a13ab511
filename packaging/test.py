#!/usr/bin/env python3
"""What is shipped for monitoring, against the real programs: Prometheus, promtool, node_exporter, Chromium; and the
page of `why` in Chromium.

    packaging/test.py CLOCKSMITH [--keep DIR]

A host whose clocksource is switched is a directory that mirrors one; a second watch watches this machine, so
that there are costs. Exits with 77, and says why in the last line, when a program is missing.
"""

import json, os, re, shutil, subprocess, sys, tempfile, time, urllib.error, urllib.parse, urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
RULES = HERE / "prometheus" / "clocksmith.rules.yml"
DASHBOARD = HERE / "grafana" / "clocksmith.json"
DEMOTION = """\
[  900.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:
[  900.000001] clocksource:                       'hpet' wd_nsec: 512000000 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff
[  900.000002] clocksource:                       'tsc' cs_nsec: 522000000 cs_now: 2000000000 cs_last: 1fa2c7a680 mask: ffffffffffffffff
[  900.000003] tsc: Marking TSC unstable due to clocksource watchdog
[  900.000009] clocksource: Switched to clocksource hpet
"""
children = []


def say(text):
    print(f"-- {text}", flush=True)


def need(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    need(done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def start(log, *command):
    with open(log, "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    children.append(child)
    return child


def until(what, seconds, ask):
    end = time.monotonic() + seconds
    while True:
        try:
            answer = ask()
            if answer:
                return answer
        except (OSError, urllib.error.URLError, ValueError):
            pass
        need(time.monotonic() < end, f"not within {seconds} s: {what}")
        time.sleep(0.2)


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def port_of(log):
    return until(f"listening: {log}", 30, lambda: re.search(r"listening on (127\.0\.0\.1:\d+)", Path(log).read_text())).group(1)


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def mirror(root):
    sysfs = root / "sys/devices/system/clocksource/clocksource0"
    sysfs.mkdir(parents=True)
    (sysfs / "current_clocksource").write_text("tsc\n")
    (sysfs / "available_clocksource").write_text("tsc hpet acpi_pm\n")
    (root / "proc").mkdir()
    (root / "proc/version").write_text("Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)\n")
    (root / "dmesg").write_text(
        "[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)\n"
        "[    1.000000] clocksource: Switched to clocksource tsc\n"
    )
    return sysfs


def prometheus(work, targets, nodes):
    config = work / "prometheus.yml"
    scrape = lambda name, list: f"  - job_name: {name}\n    static_configs: [{{targets: {json.dumps(list)}}}]\n"
    config.write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s, scrape_timeout: 1s}\n"
        f"rule_files: [{RULES}]\nscrape_configs:\n{scrape('clocksmith', targets)}{scrape('node', nodes)}"
    )
    run("promtool", "check", "config", str(config))
    address = f"127.0.0.1:{free_port()}"
    start(
        work / "prometheus.log", "prometheus", f"--config.file={config}", f"--storage.tsdb.path={work}/data",
        f"--web.listen-address={address}",
    )
    api = lambda path, **query: json.loads(get(f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(query)}"))["data"]
    until("every target is up", 60, lambda: len(up := api("targets")["activeTargets"]) == len(targets) + len(nodes)
          and all(target["health"] == "up" for target in up))
    return api


def dashboard(api):
    board = json.loads(DASHBOARD.read_text())
    need(board["schemaVersion"] >= 36 and board["uid"] and board["title"], "the dashboard names itself")
    panels = [inner for panel in board["panels"] for inner in [panel, *panel.get("panels", [])]]
    ids = [panel["id"] for panel in panels]
    need(len(ids) == len(set(ids)), "ids of panels are unique")
    count = 0
    notes = [(note["name"], note["expr"]) for note in board["annotations"]["list"]]
    expressions = [(v["name"], v["definition"]) for v in board["templating"]["list"] if v["type"] == "query"]
    expressions += [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]
    for title, expression in expressions + notes:
        expression = expression.replace("$__rate_interval", "1m").replace("$__range", "1h").replace("$instance", ".*").replace("$job", ".*")
        label = re.fullmatch(r"label_values\((.*), *\w+\)", expression)
        expression = label.group(1) if label else expression
        need("$" not in expression, f"a variable without a value: {expression}")
        until(f"data for {title}: {expression}", 20, lambda: api("query", query=expression)["result"])
        count += 1
    say(f"dashboard: {len(panels)} panels, {count} queries, each with data")


def browser(work, *more):
    return run(
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--virtual-time-budget=4000", f"--user-data-dir={work}/chromium", "--enable-logging=stderr", *more,
    )


def looks(work, name, text, address, parts, sections):
    """Whether a page says its parts, loads nothing, and can be read narrow and wide, light and dark."""
    seen = browser(work, "--dump-dom", address)
    console = [line for line in seen.splitlines() if "CONSOLE" in line]
    need(not console, f"{name}: the console says: {console}")
    for part in parts:
        need(part in seen, f"{name} lacks {part!r}:\n{seen}")
    need(not re.search(r"<script|@import|url\(|<[^>]*\ssrc=|<[^>]*href=.https?:", text), f"{name} loads something")
    # Narrow and wide: frames of both widths in a page of ours, which looks whether anything sticks out.
    frame = text.replace("&", "&amp;").replace('"', "&quot;")
    widths = [320, 400, 768, 1400]
    frames = "".join(f'<iframe width="{w}" height="900" srcdoc="{frame}"></iframe>' for w in widths)
    script = """<script>onload=()=>{const out=[];for(const f of document.querySelectorAll('iframe')){
      const d=f.contentDocument,b=f.contentWindow.getComputedStyle(d.body);
      out.push([+f.width,d.documentElement.scrollWidth<=d.documentElement.clientWidth,b.backgroundColor,b.color,d.querySelectorAll('section').length]);}
      document.body.innerHTML='<p id=r>'+JSON.stringify(out)+'</p>'}</script>"""
    wrapper = work / "frames.html"
    wrapper.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}{script}")
    colours = {}
    for scheme, setting in [("dark", 0), ("light", 1)]:
        dom = browser(work, "--dump-dom", f"--blink-settings=preferredColorScheme={setting}", wrapper.as_uri())
        result = json.loads(re.search(r'<p id="r">(.*?)</p>', dom).group(1))
        need([row[0] for row in result] == widths and all(row[1] for row in result), f"{name}: something sticks out: {result}")
        need(all(row[4] >= sections for row in result), f"{name}: sections are missing: {result}")
        colours[scheme] = result[0][2:4]
        # The window is no narrower than 500 pixels, whatever is asked for.
        for width in [500, 1280]:
            picture = work / f"{name}-{scheme}-{width}.png"
            browser(work, f"--blink-settings=preferredColorScheme={setting}", f"--window-size={width},1700",
                    f"--screenshot={picture}", address)
            need(picture.stat().st_size > 5_000, f"{name}: a picture")
    bright = lambda colour: sum(map(int, re.findall(r"\d+", colour)[:3]))
    need(bright(colours["dark"][0]) < bright(colours["dark"][1]), f"{name}: dark is not dark: {colours}")
    need(bright(colours["light"][0]) > bright(colours["light"][1]), f"{name}: light is not light: {colours}")
    say(f"{name}: content, no word on the console, nothing sticks out at 320 to 1400 pixels, light and dark")


def page(work, base):
    parts = ["Clocks of", "WARNING", "tsc -&gt; hpet", "tsc-skew", "Timeline", "<svg", "Marking clocksource"]
    looks(work, "page", get(f"{base}/"), f"{base}/", parts, 5)


def report(work, clocksmith):
    """The page of `why`: of this machine, and of a log whose writer wishes us ill."""
    evil = "<script>document.title=1</script>" + "\u202e\x1b[31m\"'&<img src=x onerror=alert(1)>" + "x" * 300
    log = work / "hostile.log"
    log.write_text(
        "[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)\n"
        f"[    0.000000] Command line: clocksource={evil}\n[    1.000000] clocksource: Switched to clocksource tsc\n"
        f"{DEMOTION}[  901.000000] tsc: Marking TSC unstable due to {evil}\n"
    )
    for name, parts, sections, more in [
        ("why-live", ["CLOCK_MONOTONIC", "class=\"bars\"", "bare counter"], 3, []),
        ("why-log", ["SLOW", "tsc-skew", "&lt;script&gt;", "[U+202E]", "What to do", "What not to do", "unfit"], 6, ["--log", str(log)]),
    ]:
        file = work / f"{name}.html"
        run(clocksmith, "why", *more, "--html", str(file))
        looks(work, name, file.read_text(), file.as_uri(), parts, sections)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    clocksmith = str(Path(sys.argv[1]).resolve())
    missing = [name for name in ["prometheus", "promtool", "prometheus-node-exporter", "chromium"] if not shutil.which(name)]
    if missing:
        print(f"not installed: {', '.join(missing)} (apt-get install prometheus prometheus-node-exporter chromium)")
        sys.exit(77)
    keep = Path(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None
    work = keep or Path(tempfile.mkdtemp(prefix="clocksmith-watch-"))
    work.mkdir(exist_ok=True)
    try:
        test(clocksmith, work)
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(20)
        if not keep:
            shutil.rmtree(work, ignore_errors=True)


def test(clocksmith, work):
    run("promtool", "check", "rules", str(RULES))
    run("promtool", "test", "rules", RULES.name.replace(".rules.yml", ".rules.test.yml"), cwd=RULES.parent)
    for source in [[clocksmith, "check", "--format", "prometheus"], [clocksmith, "watch", "--once"]]:
        metrics = subprocess.run(source, capture_output=True, text=True).stdout
        said = run("promtool", "check", "metrics", input=metrics)
        need(metrics and not said.strip(), f"{source}: {said}")
    say("promtool: rules, their tests, metrics")

    root, textfiles = work / "mirror", work / "textfiles"
    sysfs = mirror(root)
    textfiles.mkdir()
    watch = [clocksmith, "watch", "--listen", "127.0.0.1:0", "--poll", "200ms", "--look", "2s"]
    fake = start(work / "fake.log", *watch, "--root", str(root), "--state-dir", str(work / "state"),
                 "--textfile", str(textfiles / "clocksmith.prom"))
    start(work / "live.log", *watch, "--no-history", "--test", "2s")
    at, live = port_of(work / "fake.log"), port_of(work / "live.log")
    node = f"127.0.0.1:{free_port()}"
    start(work / "node.log", "prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
          "--collector.time", "--path.sysfs=/sys", f"--collector.textfile.directory={textfiles}", f"--web.listen-address={node}")
    passed_on = lambda line: line in get(f"http://{node}/metrics")
    until("node_exporter passes it on", 20, lambda: passed_on("clocksmith_state "))
    exported = get(f"http://{node}/metrics")
    need("node_textfile_scrape_error 0" in exported, "node_exporter cannot read the textfile")
    said = run("promtool", "check", "metrics", input=get(f"http://{at}/metrics"))
    need(not said.strip(), f"promtool: {said}")
    api = prometheus(work, [at, live], [node])
    value = lambda query: [row["value"][1] for row in api("query", query=query)["result"]]
    joined = 'clocksmith_clocksource_current_info{job="clocksmith"} * on (device, clocksource) group_left (job) node_time_clocksource_current_info'
    say(f"Prometheus scrapes {at}, {live} and, through node_exporter, {node}")
    if value("node_time_clocksource_current_info"):
        need(value(joined), "the labels are not those of node_exporter")
    time.sleep(3)
    # This machine may itself have no time daemon, which is one after ten minutes.
    unsynchronised = value("node_timex_sync_status == 0 and node_timex_maxerror_seconds >= 16")
    named = lambda alert: unsynchronised and alert["labels"]["alertname"] == "WallClockUnsynchronisedByKernel"
    wrong = [alert for alert in api("alerts")["alerts"] if alert["state"] != "pending" or not named(alert)]
    need(not wrong, f"an alert without a reason: {wrong}")

    with open(root / "dmesg", "a") as log:
        log.write(DEMOTION)
    (sysfs / "available_clocksource").write_text("hpet acpi_pm\n")
    (sysfs / "current_clocksource").write_text("hpet\n")
    begun = time.monotonic()
    change = until("the watch tells it", 10, lambda: re.search(r"clocksource-change: tsc -> hpet: .*\[tsc-skew\]", (work / "fake.log").read_text()))
    say(f"told within {time.monotonic() - begun:.1f} s: {change.group(0)[:100]}")
    # Node_exporter's copy of the metrics may be the first to fire.
    firing = lambda: {a["labels"]["alertname"] for a in api("alerts")["alerts"] if a["state"] == "firing" and a["labels"]["instance"] == at}
    until("alerts fire", 30, lambda: {"ClocksourceChanged", "ClocksourceDemoted"} <= firing())
    told = next(a for a in api("alerts")["alerts"] if a["labels"]["alertname"] == "ClocksourceChanged" and a["labels"]["instance"] == at)
    need("from tsc to hpet, cause: tsc-skew" in told["annotations"]["description"], f"the alert lacks the reason: {told}")
    say(f"alerts fire {time.monotonic() - begun:.1f} s after the switch: {', '.join(sorted(firing()))}")
    until("the textfile follows", 10, lambda: 'clocksource="hpet"' in get(f"http://{node}/metrics"))

    dashboard(api)
    page(work, f"http://{at}")
    report(work, clocksmith)
    need(fake.poll() is None, "the watch is gone")
    fake.terminate()
    need(fake.wait(10) == 0, "the watch does not end cleanly")
    history = (work / "state/history.jsonl").read_text().splitlines()
    need([json.loads(line)["kind"] for line in history].count("clocksource-change") == 1, "the history has the change once")
    say("ended cleanly, history kept")


main()
