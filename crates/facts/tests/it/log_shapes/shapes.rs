//! Shapes in which each line is independent.

use super::Line;

/// The name of a shape, and its function for a line.
type Shape = (&'static str, fn(&Line) -> String);

/// Shapes in which each line is independent.
pub(super) const SHAPES: &[Shape] = &[
    // dmesg
    ("dmesg", |l| l.printk()),
    ("dmesg -t", |l| l.text.to_owned()),
    ("comment of Rust", |l| format!("/// {}", l.text)),
    ("comment of Rust, stamps", |l| format!("/// {}", l.printk())),
    ("comment of C++", |l| format!("// {}", l.text)),
    ("comment of C++, stamps", |l| format!("// {}", l.printk())),
    ("comment of SQL", |l| format!("-- {}", l.text)),
    ("comment of SQL, stamps", |l| format!("-- {}", l.printk())),
    ("comment of Lisp", |l| format!(";; {}", l.text)),
    ("comment of Lisp, stamps", |l| format!(";; {}", l.printk())),
    ("comment of assembler", |l| format!("; {}", l.text)),
    ("comment of assembler, stamps", |l| format!("; {}", l.printk())),
    ("comment of TeX", |l| format!("% {}", l.text)),
    ("comment of TeX, stamps", |l| format!("% {}", l.printk())),
    ("comment in a block", |l| format!(" * {}", l.text)),
    ("comment in a block, stamps", |l| format!(" * {}", l.printk())),
    ("comment of a script", |l| format!("# {}", l.text)),
    ("comment of a script, stamps", |l| format!("# {}", l.printk())),
    ("dmesg -r", |l| format!("<{}>{}", l.level, l.printk())),
    ("dmesg -r -t", |l| format!("<{}>{}", l.level, l.text)),
    ("dmesg -x", |l| format!("kern  :{:<6}: {}", l.level(), l.printk())),
    ("dmesg -x -t", |l| format!("kern  :{:<6}: {}", l.level(), l.text)),
    ("dmesg -T", |l| format!("[Tue Mar  5 07:25:{:02} 2024] {}", l.second(), l.text)),
    ("dmesg -T -x", |l| {
        format!("kern  :{:<6}: [Tue Mar  5 07:25:{:02} 2024] {}", l.level(), l.second(), l.text)
    }),
    ("dmesg -T, German", |l| format!("[Di M\u{e4}r  5 07:25:{:02} 2024] {}", l.second(), l.text)),
    ("dmesg -T, French", |l| format!("[mar. mars  5 07:25:{:02} 2024] {}", l.second(), l.text)),
    ("dmesg -T, Russian", |l| {
        format!("[\u{412}\u{442} \u{43c}\u{430}\u{440}  5 07:25:{:02} 2024] {}", l.second(), l.text)
    }),
    ("dmesg -T, Chinese", |l| {
        format!("[\u{4e8c} 3\u{6708}  5 07:25:{:02} 2024] {}", l.second(), l.text)
    }),
    ("dmesg -e", |l| {
        if l.n == 1 {
            format!("[Mar 5 07:25] {}", l.text)
        } else {
            format!("[  +0.{:06}] {}", l.micros(), l.text)
        }
    }),
    ("dmesg -d", |l| format!("[{} <    0.000012>] {}", l.at(), l.text)),
    ("dmesg -d -t", |l| format!("[<    0.000012>] {}", l.text)),
    ("dmesg --time-format=iso", |l| {
        format!("2024-03-05T07:25:{:02},{:06}+00:00 {}", l.second(), l.micros(), l.text)
    }),
    ("dmesg --time-format=iso -x", |l| {
        format!(
            "kern  :{:<6}: 2024-03-05T07:25:{:02},{:06}+00:00 {}",
            l.level(),
            l.second(),
            l.micros(),
            l.text
        )
    }),
    ("dmesg of syzbot, with callers", |l| format!("[{}][    T1] {}", l.at(), l.text)),
    ("dmesg with callers", |l| format!("[{}] [    C3] {}", l.at(), l.text)),
    ("dmesg in colour", |l| {
        format!("\u{1b}[32m[{}] \u{1b}[0m\u{1b}[1m\u{1b}[33m{}\u{1b}[0m", l.at(), l.text)
    }),
    ("colour without its escapes", |l| format!("[32m[{}] [0m[1m[33m{}[0m", l.at(), l.text)),
    ("colour, cat -v", |l| format!("^[[32m[{}] ^[[0m^[[33m{}^[[0m", l.at(), l.text)),
    ("colour, rsyslog", |l| format!("#033[32m{}#033[0m", l.text)),
    ("/dev/kmsg", |l| format!("{},{},{},-;{}", l.level, 100 + l.n, l.us, l.text)),
    ("/dev/kmsg with callers", |l| {
        format!("{},{},{},-,caller=T1;{}", l.level, 100 + l.n, l.us, l.text)
    }),
    ("netconsole, extended", |l| {
        format!("6.1.0-18-amd64,{},{},{},-;{}", l.level, 100 + l.n, l.us, l.text)
    }),
    ("netconsole by syslog", |l| {
        format!("Mar  5 07:25:{:02} 192.0.2.7 {}", l.second(), l.printk())
    }),
    // journald
    ("journalctl", |l| format!("Mar 05 07:25:{:02} web kernel: {}", l.second(), l.text)),
    ("journalctl --no-hostname", |l| format!("Mar 05 07:25:{:02} kernel: {}", l.second(), l.text)),
    ("journalctl, German", |l| {
        format!("M\u{e4}r 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl, French", |l| format!("mars 05 07:25:{:02} web kernel: {}", l.second(), l.text)),
    ("journalctl, Dutch", |l| format!("mrt 05 07:25:{:02} web kernel: {}", l.second(), l.text)),
    ("journalctl, Finnish", |l| {
        format!("maalis 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl, Russian", |l| {
        format!("\u{43c}\u{430}\u{440} 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl, Chinese", |l| {
        format!("3\u{6708} 05 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o short-precise", |l| {
        format!("Mar 05 07:25:{:02}.{:06} web kernel: {}", l.second(), l.micros(), l.text)
    }),
    ("journalctl -o short-iso", |l| {
        format!("2024-03-05T07:25:{:02}+0100 web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o short-iso-precise", |l| {
        format!("2024-03-05T07:25:{:02}.{:06}+01:00 web kernel: {}", l.second(), l.micros(), l.text)
    }),
    ("journalctl -o short-full", |l| {
        format!("Tue 2024-03-05 07:25:{:02} CET web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o short-full, German", |l| {
        format!("Di 2024-03-05 07:25:{:02} CET web kernel: {}", l.second(), l.text)
    }),
    ("journalctl -o with-unit", |l| {
        format!(
            "Tue 2024-03-05 07:25:{:02}.{:06} UTC web kernel[1]: {}",
            l.second(),
            l.micros(),
            l.text
        )
    }),
    ("journalctl -o short-monotonic", |l| format!("[{}] web kernel: {}", l.at(), l.text)),
    ("journalctl -o short-delta", |l| {
        format!("[{} <    0.000012 >] web kernel: {}", l.at(), l.text)
    }),
    ("journalctl -o short-unix", |l| {
        format!("17096235{:02}.{:06} web kernel: {}", l.second(), l.micros(), l.text)
    }),
    ("journalctl -o json", |l| {
        format!(
            "{{\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"PRIORITY\":\"{}\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"{}\",\"MESSAGE\":{}}}",
            l.level,
            l.us,
            l.json()
        )
    }),
    // syslog
    ("RFC 3164", |l| format!("<{}>Mar  5 07:25:{:02} web kernel: {}", l.level, l.second(), l.text)),
    ("kern.log", |l| format!("Mar  5 07:25:{:02} web kernel: {}", l.second(), l.printk())),
    ("kern.log with a year", |l| {
        format!("Mar  5 2024 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("kern.log with a year in front", |l| {
        format!("2024 Mar  5 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("kern.log with facility", |l| {
        format!("Mar  5 07:25:{:02} web kern.{} kernel: {}", l.second(), l.level(), l.text)
    }),
    ("logread of OpenWrt", |l| {
        format!("Tue Mar  5 07:25:{:02} 2024 kern.{} kernel: {}", l.second(), l.level(), l.printk())
    }),
    ("logread of OpenWrt, no stamps", |l| {
        format!("Tue Mar  5 07:25:{:02} 2024 kern.{} kernel: {}", l.second(), l.level(), l.text)
    }),
    ("RFC 5424", |l| {
        format!(
            "<{}>1 2024-03-05T07:25:{:02}.{:06}+00:00 web kernel - - - {}",
            l.level,
            l.second(),
            l.micros(),
            l.text
        )
    }),
    ("RFC 5424 with structured data", |l| {
        format!(
            "<{}>1 2024-03-05T07:25:{:02}.{:06}Z web kernel - - [meta sequenceId=\"{}\"] {}",
            l.level,
            l.second(),
            l.micros(),
            l.n,
            l.text
        )
    }),
    ("Kiwi syslog", |l| {
        format!("2024-03-05 07:25:{:02}\tKernel.Warning\t192.0.2.7\tkernel: {}", l.second(), l.text)
    }),
    // Dates and times of day alone
    ("time of day", |l| format!("07:25:{:02} {}", l.second(), l.text)),
    ("time of day with a fraction", |l| {
        format!("07:25:{:02}.{:03} {}", l.second(), l.micros() / 1000, l.text)
    }),
    ("time of day and minutes", |l| format!("07:25 {}", l.text)),
    ("time of day in the afternoon", |l| format!("7:25:{:02} PM {}", l.second(), l.text)),
    ("time of day and stamp", |l| format!("07:25:{:02} {}", l.second(), l.printk())),
    ("time of day and whole seconds", |l| {
        format!("07:25:{:02} [{}] {}", l.second(), l.us / 1_000_000, l.text)
    }),
    ("time of day in brackets", |l| format!("[07:25:{:02}] {}", l.second(), l.text)),
    ("time of day of tio", |l| {
        format!("[07:25:{:02}.{:03}] {}", l.second(), l.micros() / 1000, l.text)
    }),
    ("time of day in parentheses", |l| format!("(07:25:{:02}) {}", l.second(), l.text)),
    ("date of minicom", |l| format!("[2024-03-05 07:25:{:02}] {}", l.second(), l.text)),
    ("date of Jenkins", |l| format!("[2024-03-05T07:25:{:02}.123Z] {}", l.second(), l.text)),
    ("date of Tera Term", |l| format!("[Tue Mar 05 07:25:{:02}.123 2024] {}", l.second(), l.text)),
    ("ts", |l| format!("Mar 05 07:25:{:02} {}", l.second(), l.text)),
    ("ts -s", |l| format!("00:00:{:02} {}", l.us / 1_000_000, l.text)),
    ("ts with a format", |l| format!("2024-03-05 07:25:{:02} {}", l.second(), l.text)),
    ("date with slashes", |l| format!("2024/03/05 07:25:{:02} {}", l.second(), l.text)),
    ("date, American", |l| format!("03/05/2024 07:25:{:02} AM {}", l.second(), l.text)),
    ("date, German", |l| format!("05.03.2024 07:25:{:02} {}", l.second(), l.text)),
    ("date, German, with a comma", |l| format!("05.03.2024, 07:25:{:02}: {}", l.second(), l.text)),
    ("date, British", |l| format!("5 Mar 2024 07:25:{:02} {}", l.second(), l.text)),
    ("date, with a day of the week", |l| {
        format!("Tue Mar  5 07:25:{:02} UTC 2024 {}", l.second(), l.text)
    }),
    ("seconds since 1970", |l| format!("17096235{:02} {}", l.second(), l.text)),
    ("stamp without brackets", |l| format!("{} {}", l.at(), l.text)),
    ("stamp without brackets, with a colon", |l| format!("{}: {}", l.at(), l.text)),
    ("stamp in parentheses", |l| format!("({}) {}", l.at().trim(), l.text)),
    ("stamp in milliseconds", |l| {
        format!("[{:5}.{:03}] {}", l.us / 1_000_000, l.micros() / 1000, l.text)
    }),
    ("stamp with a comma", |l| format!("[{}] {}", l.at().replace('.', ","), l.text)),
    ("stamp without a blank", |l| format!("[{}]{}", l.at().trim(), l.text)),
    ("stamps of grabserial", |l| format!("[{} 0.000012] {}", l.at().trim(), l.printk())),
    // Containers, build servers, laboratories
    ("docker logs -t", |l| {
        format!("2024-03-05T07:25:{:02}.{:09}Z {}", l.second(), l.micros() * 1000, l.text)
    }),
    ("docker, JSON", |l| {
        format!(
            "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2024-03-05T07:25:{:02}.123456789Z\"}}",
            serde_json::to_string(&format!("{}\n", l.printk())).unwrap(),
            l.second()
        )
    }),
    ("docker compose", |l| format!("web-1  | {}", l.text)),
    ("containerd", |l| {
        format!("2024-03-05T07:25:{:02}.123456789+00:00 stdout F {}", l.second(), l.text)
    }),
    ("kubectl logs --prefix", |l| format!("[pod/web-0/app] {}", l.text)),
    ("kubectl logs --prefix --timestamps", |l| {
        format!("[pod/web-0/app] 2024-03-05T07:25:{:02}.123456789Z {}", l.second(), l.text)
    }),
    ("stern", |l| format!("web-0 app {}", l.printk())),
    ("GitHub Actions", |l| format!("2024-03-05T07:25:{:02}.1234567Z {}", l.second(), l.text)),
    ("gh run view --log", |l| {
        format!("boot\tRun dmesg\t2024-03-05T07:25:{:02}.1234567Z {}", l.second(), l.text)
    }),
    ("GitLab", |l| format!("2024-03-05T07:25:{:02}.123456Z 01O {}", l.second(), l.text)),
    ("Jenkins", |l| format!("07:25:{:02}  {}", l.second(), l.printk())),
    ("LAVA", |l| format!("2024-03-05T07:25:{:02}.123456 {}", l.second(), l.printk())),
    ("LAVA, YAML", |l| {
        format!(
            "- {{\"dt\": \"2024-03-05T07:25:{:02}.123456\", \"lvl\": \"target\", \"msg\": {}}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    ("KernelCI", |l| format!("07:25:{:02}.123456  {}", l.second(), l.printk())),
    ("openQA", |l| format!("[2024-03-05T07:25:{:02}.123456Z] [debug] {}", l.second(), l.printk())),
    ("Avocado", |l| format!("2024-03-05 07:25:{:02}: {}", l.second(), l.text)),
    ("Avocado, debug", |l| format!("07:25:{:02} DEBUG| [stdlog] {}", l.second(), l.printk())),
    ("Python, bytes", |l| format!("b\"{}\\r\\n\"", l.printk())),
    ("Python, list", |l| format!("  '{}',", l.printk())),
    ("Ansible", |l| format!("            {},", serde_json::to_string(&l.printk()).unwrap())),
    ("Ansible without stamps", |l| format!("            {},", l.json())),
    ("YAML", |l| format!("  - \"{}\"", l.printk())),
    ("logger of Python", |l| {
        format!("2024-03-05 07:25:{:02},123 INFO console: {}", l.second(), l.printk())
    }),
    ("Anaconda", |l| format!("07:25:{:02},123 INFO kernel:{}", l.second(), l.text)),
    ("telephone, two stamps", |l| {
        format!("[{}] (7)[1:swapper/0][{}]@7 {}", l.at(), l.at(), l.text)
    }),
    // Log stores and clouds
    ("logcli", |l| {
        format!(
            "2024-03-05T07:25:{:02}Z {{host=\"web\",job=\"syslog\"}} Mar  5 07:25:{:02} web kernel: {}",
            l.second(),
            l.second(),
            l.text
        )
    }),
    ("logcli without a header", |l| {
        format!("2024-03-05T07:25:{:02}Z {{host=\"web\", job=\"kernel\"}} {}", l.second(), l.text)
    }),
    ("Graylog, CSV", |l| {
        format!("\"2024-03-05T07:25:{:02}.123Z\",\"web\",\"kernel: {}\"", l.second(), l.text)
    }),
    ("Splunk, CSV", |l| {
        format!(
            "\"2024-03-05T07:25:{:02}.000+0000\",\"Mar  5 07:25:{:02} web kernel: {}\",web,main",
            l.second(),
            l.second(),
            l.text
        )
    }),
    ("Splunk, raw CSV", |l| {
        format!("\"{}\",\"2024-03-05T07:25:{:02}.000+0000\"", l.printk(), l.second())
    }),
    ("Kibana, CSV", |l| {
        format!("\"Mar 5, 2024 @ 07:25:{:02}.123\",web,\"{}\"", l.second(), l.text)
    }),
    ("Elasticsearch, JSON", |l| {
        format!(
            "{{\"@timestamp\":\"2024-03-05T07:25:{:02}.123Z\",\"host\":{{\"name\":\"web\"}},\"message\":{}}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    ("logfmt", |l| {
        format!("time=\"2024-03-05T07:25:{:02}Z\" level=info msg={}", l.second(), l.json())
    }),
    ("aws logs tail", |l| {
        format!(
            "2024-03-05T07:25:{:02}.123000+00:00 i-0123456789abcdef0 {}",
            l.second(),
            l.printk()
        )
    }),
    ("aws logs tail of a syslog", |l| {
        format!(
            "2024-03-05T07:25:{:02}.123000+00:00 ip-192-0-2-7 Mar  5 07:25:{:02} ip-192-0-2-7 kernel: {}",
            l.second(),
            l.second(),
            l.text
        )
    }),
    ("CloudWatch, CSV", |l| format!("17096235{:02}123,\"{}\"", l.second(), l.printk())),
    ("CloudWatch, JSON", |l| {
        format!(
            "{{\"timestamp\":17096235{:02}123,\"message\":{},\"ingestionTime\":1709623599123}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    ("Google Cloud, JSON", |l| {
        format!(
            "{{\"textPayload\":{},\"timestamp\":\"2024-03-05T07:25:{:02}Z\"}}",
            serde_json::to_string(&format!("{}\r\n", l.printk())).unwrap(),
            l.second()
        )
    }),
    ("Google Cloud, serial port", |l| {
        format!("Mar  5 07:25:{:02} web kernel: {}\r", l.second(), l.printk())
    }),
    ("fluentd", |l| {
        format!(
            "2024-03-05 07:25:{:02}.000000000 +0000 kernel.info: {{\"message\":{}}}",
            l.second(),
            serde_json::to_string(&l.printk()).unwrap()
        )
    }),
    // Android
    ("logcat -b kernel", |l| {
        let level = if l.level < 5 { 'W' } else { 'I' };
        let head = format!("03-05 07:25:{:02}.123     0     0 {level}", l.second());
        match l.text.split_once(": ").filter(|(tag, _)| tag.bytes().all(|b| b.is_ascii_lowercase()))
        {
            Some((tag, rest)) => format!("{head} {tag:<8}: {rest}"),
            None => format!("{head} {}", l.text),
        }
    }),
    ("logcat -v brief", |l| {
        let level = if l.level < 5 { 'W' } else { 'I' };
        match l.text.split_once(": ").filter(|(tag, _)| tag.bytes().all(|b| b.is_ascii_lowercase()))
        {
            Some((tag, rest)) => format!("{level}/{tag:<8}(    0): {rest}"),
            None => format!("{level}/        (    0): {}", l.text),
        }
    }),
    ("MediaTek", |l| format!("<{}>[{}]  (0)[0:swapper/0]{}", l.level, l.at(), l.text)),
    ("Samsung", |l| format!("<{}>[{}]  I[0:      swapper/0:    1] {}", l.level, l.at(), l.text)),
    ("Exynos", |l| format!("<{}>[{}] c{} {:6} {}", l.level, l.at(), l.n % 4, l.n, l.text)),
    // Search tools and editors
    ("grep -n", |l| format!("{}:{}", l.n, l.text)),
    ("grep -n with stamps", |l| format!("{}:{}", l.n, l.printk())),
    ("grep -H", |l| format!("/var/log/kern.log:{}", l.text)),
    ("grep -Hn", |l| format!("/var/log/dmesg.0:{}:{}", l.n, l.text)),
    ("grep -n of a kern.log", |l| {
        format!("{}:Mar  5 07:25:{:02} web kernel: {}", l.n, l.second(), l.text)
    }),
    ("grep -H of a kern.log", |l| {
        format!("/var/log/kern.log:Mar  5 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("grep -nC", |l| format!("{}-{}", l.n, l.text)),
    ("grep -HnC", |l| format!("kern.log-{}-{}", l.n, l.text)),
    ("grep -HC of a kern.log", |l| {
        format!("/var/log/kern.log-Mar  5 07:25:{:02} web kernel: {}", l.second(), l.text)
    }),
    ("cat -n", |l| format!("{:6}\t{}", l.n, l.text)),
    ("less -N", |l| format!("{:7} {}", l.n, l.text)),
    ("numbers with a bar", |l| format!("{:3} | {}", l.n, l.printk())),
    ("numbers with a bar, no stamps", |l| format!("{:3} | {}", l.n, l.text)),
    // Patches, mails, trackers, chats
    ("added by a patch", |l| format!("+{}", l.printk())),
    ("added by a patch, no stamps", |l| format!("+{}", l.text)),
    ("commit message", |l| format!("    {}", l.text)),
    ("quoted mail", |l| format!("> {}", l.printk())),
    ("quoted twice", |l| format!(">> {}", l.text)),
    ("quoted by four", |l| format!(">>>>    [ {}] {}", l.at().trim(), l.text)),
    ("date without a T, and no host", |l| {
        format!("2024-03-05 07:25:{:02}.{:03} kernel: {}", l.second(), l.micros() / 1000, l.text)
    }),
    ("list of JSON, no stamps", |l| format!("        {},", l.json())),
    ("quoted with a name", |l| format!("JD> {}", l.text)),
    ("quoted with a bar", |l| format!("| {}", l.text)),
    ("ABRT", |l| format!(":{}", l.text)),
    ("Markdown, code", |l| format!("`{}`", l.text)),
    ("Markdown, list", |l| format!("- `{}`", l.text)),
    ("Markdown, numbers", |l| format!("{}. {}", l.n, l.printk())),
    ("Markdown, escaped", |l| {
        l.printk().replace('[', "\\[").replace(']', "\\]").replace('_', "\\_").replace('<', "\\<")
    }),
    ("Markdown, table", |l| format!("| {} | {} |", l.at(), l.text)),
    ("Markdown, table of messages", |l| format!("| {} | {} |", l.n, l.text)),
    ("JIRA, on a line", |l| format!("{{noformat}}{}{{noformat}}", l.text)),
    ("JIRA, monospace", |l| format!("{{{{{}}}}}", l.text)),
    ("BBCode", |l| format!("[code]{}[/code]", l.text)),
    ("BBCode with stamps", |l| format!("[CODE]{}[/CODE]", l.printk())),
    ("IRC", |l| format!("07:25 < alice> {}", l.printk())),
    ("IRC, no stamps", |l| format!("07:25:{:02} <alice> {}", l.second(), l.text)),
    ("tabs", |l| format!("[{}]\t{}", l.at(), l.text)),
    ("indented by tabs", |l| format!("\t\t{}", l.printk())),
    ("no-break spaces", |l| l.printk().replace(' ', "\u{a0}")),
    ("entities", |l| l.printk().replace('\'', "&#39;").replace('<', "&lt;")),
    ("typographic quotes", |l| l.printk().replace(" '", " \u{2018}").replace('\'', "\u{2019}")),
    ("serial console", |l| format!("{}\r\r", l.printk())),
];
