//! Prefixes of a kernel message: time stamps, log levels, caller fields, journald and syslog
//! headers, mail quoting, and the prefixes of `dmesg --time-format`, `grep -n`, `cat -n`, containers and build
//! servers.

mod date;
pub(super) mod facility;
pub(crate) mod host;
mod listed;
mod memo;
mod stamp;
mod syslog;
mod vendor;

use super::parse::begins_like_kernel;
use stamp::seconds;
pub(super) use stamp::{behind_damaged, printk_stamp, stamp_and_message};

/// A line without its prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stripped<'a> {
    /// The message itself.
    pub(crate) message: &'a str,
    /// Seconds since boot, from a printk time stamp.
    pub(crate) at: Option<f64>,
    /// `Some(true)`: a prefix that only kernel messages have; `Some(false)`: the header names
    /// another program, or a facility other than the kernel's; `None`: no prefix at all.
    pub(crate) kernel: Option<bool>,
    /// Whether a facility shows that a program wrote the line, whatever else the prefix contains.
    foreign: bool,
    /// Whether a date, or a time of day, precedes the message.
    pub(crate) dated: bool,
    /// Whether a header names the program that wrote the line.
    pub(crate) named: bool,
    /// The words between the date and the name of the writer in a header: that of the host, of a relay before it, or
    /// those with which a program begins its name.
    pub(crate) words: usize,
    /// The first of these words.
    pub(crate) host: Option<&'a str>,
    /// Whether that program is not the kernel: a time stamp after its name shows that it forwarded a line of some
    /// kernel.
    pub(crate) program: bool,
    /// The name of the program other than the kernel that a header of a system log names, without its path and its
    /// number; also `None` if a sentence with a colon may follow the date.
    pub(crate) writer: Option<&'a str>,
}

impl<'a> Stripped<'a> {
    /// A message of the kernel that is recognised without a prefix.
    pub(crate) fn of_the_kernel(message: &'a str, at: Option<f64>) -> Self {
        Self { message, at, kernel: Some(true), ..Self::default() }
    }

    /// Whether a time stamp, or the kernel's name in a header, precedes the message.
    pub(crate) fn is_of_a_log(&self) -> bool {
        self.at.is_some() || self.named && self.kernel == Some(true)
    }

    /// Whether only the kernel's name in a header, and no time stamp, shows that the line is of the kernel.
    pub(crate) fn is_under_its_name_alone(&self) -> bool {
        self.named && self.dated && self.kernel == Some(true) && self.at.is_none()
    }

    /// The text before the message in its line. Signs at the end of the line may be missing in the message, so that the
    /// difference in length can be inside a character: `None`.
    pub(crate) fn front<'b>(&self, line: &'b str) -> Option<&'b str> {
        line.get(..line.len().checked_sub(self.message.len())?)
    }

    /// Whether the line has no prefix, and begins as only kernel messages do.
    pub(crate) fn is_message(&self) -> bool {
        self.kernel.is_none() && begins_like_kernel(self.message)
    }
}

/// Removes all prefixes of a line.
pub(crate) fn strip(line: &str) -> Stripped<'_> {
    memo::of(line, search)
}

/// Finds them.
fn search(line: &str) -> Stripped<'_> {
    let line = listed::without_marks(commented(line).unwrap_or(line));
    let mut out = Stripped { message: line, ..Stripped::default() };
    let mut rest = steps(line.trim_end(), &mut out);
    if out.kernel.is_none() {
        if let Some((message, listed)) = field(line, out) {
            rest = message;
            out = listed;
        } else if is_behind_a_name(rest) {
            out.kernel = Some(false);
        } else if let Some((message, header)) = listed(rest, out).filter(|(_, it)| it.words > 0) {
            rest = message;
            out = header;
        } else if let Some((at, message)) = embedded_stamp(rest) {
            out.at = Some(at);
            out.kernel = Some(!is_behind_a_header(rest));
            rest = message;
        } else if !begins_like_kernel(rest)
            && let Some((message, listed)) = listed(rest, out)
        {
            rest = message;
            out = listed;
        }
    }
    out.message = rest;
    if out.foreign || out.kernel == Some(true) && out.front(line).is_some_and(facility::is_foreign)
    {
        out.kernel = Some(false);
    }
    out
}

/// Removes all known prefixes of kernel messages.
fn steps<'a>(line: &'a str, out: &mut Stripped<'a>) -> &'a str {
    let mut rest = line;
    for _ in 0..12 {
        rest = rest.trim_start();
        let Some(next) = step(rest, out) else { break };
        rest = next;
    }
    rest
}

/// A line of a kernel log in a comment of a script or a configuration file: `# kernel: TSC ...`, `# [ 0.1] tsc: ...`.
pub(super) fn commented(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("# ")?.trim_start();
    let stamp = rest.starts_with('[') && embedded_stamp(rest).is_some_and(|(at, _)| at >= 0.0);
    let named = rest.strip_prefix("kernel: ").is_some_and(begins_like_kernel);
    (stamp || named || begins_like_kernel(rest) && crate::log::parse::is_clock_message(rest))
        .then_some(rest)
}

/// The message after the prefixes of lists, editors, search tools and log stores. They are removed only
/// if a kernel message, or its header, follows.
fn listed<'a>(line: &'a str, so_far: Stripped<'a>) -> Option<(&'a str, Stripped<'a>)> {
    let (mut rest, mut out) = (line, so_far);
    for _ in 0..6 {
        rest = steps(listed::step(rest, &mut out.at)?.trim_start(), &mut out);
        if out.kernel.is_some() || begins_like_kernel(rest) {
            return Some((rest, out));
        }
    }
    None
}

/// The field with the kernel's message, of a line of comma-separated values.
fn field<'a>(line: &'a str, so_far: Stripped<'a>) -> Option<(&'a str, Stripped<'a>)> {
    let mut before = Vec::new();
    listed::fields(line).find_map(|field| {
        let mut out = so_far;
        // A column with the facility precedes the message.
        out.foreign |= facility::is_foreign_column(&before);
        before.push(field);
        let mut rest = steps(field.trim(), &mut out);
        if out.kernel.is_none()
            && let Some((at, message)) = embedded_stamp(rest)
        {
            (out.at, out.kernel, rest) = (Some(at), Some(true), message);
        }
        (out.kernel.is_some() || begins_like_kernel(rest)).then_some((rest, out))
    })
}

/// Removes one prefix, or returns `None` if the rest is the message.
fn step<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    // A program wrote the text, and only a time stamp in it shows a line of the kernel.
    if out.kernel == Some(false) && !rest.starts_with(['[', '<']) {
        return None;
    }
    match *rest.as_bytes().first()? {
        b'>' | b'|' => Some(&rest[1..]),
        b'<' => level(rest, out),
        // The log of the hypervisor.
        b'(' if rest.starts_with("(XEN)") => {
            out.foreign = true;
            Some(&rest[5..])
        }
        b'[' => bracket(rest, out),
        b'M' if rest.starts_with("MESSAGE=") => Some(&rest[8..]),
        b'a'..=b'z' | b'.' | b'/' if out.kernel == Some(true) && vendor::source(rest).is_some() => {
            vendor::source(rest)
        }
        b'c' if out.kernel == Some(true) && vendor::of_cpu(rest).is_some() => vendor::of_cpu(rest),
        b'k' => kern_word(rest, out),
        b'u' | b'd' | b'm' | b'a' | b's' | b'l' | b'n' | b'c' | b'f'
            if foreign_word(rest).is_some() =>
        {
            out.foreign = true;
            foreign_word(rest)
        }
        b'0'..=b'9' => vendor::behind_logger(rest)
            .or_else(|| record(rest, out))
            .or_else(|| vendor::behind_node(rest))
            .or_else(|| syslog::rfc5424(rest, out))
            .or_else(|| date::take(rest).and_then(|date| syslog::behind_date(date, out))),
        b'-' | b'(' | b'A'..=b'Z'
            if out.kernel == Some(true) && vendor::of_task(rest).is_some() =>
        {
            vendor::of_task(rest)
        }
        _ => date::take(rest)
            .and_then(|date| syslog::behind_date(date, out))
            .or_else(|| syslog::host_kernel(rest, out))
            .or_else(|| syslog::android_brief(rest, out))
            .or_else(|| vendor::behind_node(rest))
            .or_else(|| container(rest)),
    }
}

/// A record of `/dev/kmsg`, which netconsole also sends: `6,101,9100000,-;`, preceded by the kernel's version.
fn record<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let (head, message) = rest.split_once(';').filter(|(head, _)| head.len() < 120)?;
    let mut fields = head.split(',').peekable();
    if fields.peek()?.contains('.') {
        fields.next();
    }
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (level, _sequence, us) = (number()?, number()?, number()?);
    fields.next().filter(|flags| flags.len() <= 2)?;
    out.foreign |= level >= 8;
    #[allow(clippy::cast_precision_loss)]
    let at = us as f64 / 1e6;
    out.at = Some(at);
    out.kernel = Some(true);
    Some(message)
}

/// `<6>` or `<30>`: the number is eight times the facility plus the level. The kernel's facility is
/// 0; a message that a program wrote to `/dev/kmsg` or to syslog has another one.
fn level<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let end = rest.find('>').filter(|end| (2..=4).contains(end))?;
    let number: u32 = rest[1..end].parse().ok()?;
    out.foreign |= number >= 8;
    Some(&rest[end + 1..])
}

/// The levels of messages in the output of `dmesg -x`, syslog and Talos.
const LEVELS: [&str; 12] = [
    "emerg",
    "panic",
    "alert",
    "crit",
    "err",
    "error",
    "warn",
    "warning",
    "notice",
    "info",
    "debug",
    "emergency",
];

/// `user  :info  : ` and `daemon:warn  : ` (`dmesg -x`), `user.notice ` (syslog daemons).
fn foreign_word(rest: &str) -> Option<&str> {
    let word = rest.split([' ', '\t']).next()?;
    if facility::of_pair(word.trim_end_matches(':')).is_some_and(|name| name != "kern") {
        return Some(&rest[word.len()..]);
    }
    let mut parts = rest.splitn(3, ':');
    let known = facility::NAMES.contains(&parts.next()?.trim_end())
        && LEVELS.contains(&parts.next()?.trim());
    if known { parts.next() } else { None }
}

/// `web-1  | ` and `web_1  | `, in the output of compose tools; `[pod/web-0/app] `.
fn container(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !b"_-.".contains(&(c as u8)))?;
    let name = &rest[..end];
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let numbered = digits > 0 && name[..name.len() - digits].ends_with(['_', '-']);
    if !numbered || end > 64 {
        return None;
    }
    let after = rest[end..].trim_start().strip_prefix('|')?;
    after.starts_with([' ', '\t']).then_some(after)
}

/// `[    1.234567]`, `[ T0]`, `[    C1]`, `[Wed Dec 22 08:37:21 2021]`; not `[Firmware Bug]`.
fn bracket<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    if let Some(message) = behind_damaged(rest).filter(|message| begins_like_kernel(message)) {
        out.kernel = Some(true);
        return Some(message);
    }
    let end = rest.find(']').filter(|end| *end < 48)?;
    let inside = rest[1..end].trim();
    // `dmesg -d`: `[    5.140900 <    0.000012>]`, even after a date.
    let inside = match inside.find('<') {
        Some(at) if at > 0 && inside.ends_with('>') => inside[..at].trim_end(),
        _ => inside,
    };
    let after = &rest[end + 1..];
    // `dmesg -d -t`: only the time since the previous line.
    let delta = inside.starts_with('<');
    let bare = inside.trim_start_matches('<').trim_end_matches('>').trim();
    if let Some(at) = seconds(bare).or_else(|| vendor::stamp(bare, after)) {
        out.at = if delta { out.at } else { Some(at) };
        out.kernel = Some(true);
        return Some(after);
    }
    // `[ 2.9]`: a time stamp that was shortened by hand.
    let short = bare.split_once('.').is_some_and(|(whole, part)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits(whole) && digits(part)
    });
    if short {
        return Some(after);
    }
    let caller = inside.len() > 1
        && matches!(inside.as_bytes()[0], b'T' | b'C')
        && inside[1..].bytes().all(|b| b.is_ascii_digit());
    if caller {
        return Some(after);
    }
    // `dmesg -T` prints the name of a day first; other dates in brackets are of terminals and servers.
    let date = inside.matches(':').count() >= 2
        && inside.starts_with(char::is_alphabetic)
        && date::take(inside).is_some_and(|date| date.after.is_empty() && date.month);
    if date {
        out.kernel = Some(true);
        return Some(after);
    }
    // `dmesg -e`: `[Nov22 04:02]` once a minute, and `[  +0.000012]` in between.
    let minute = inside.len() < 24
        && inside.starts_with(char::is_alphabetic)
        && inside.chars().position(char::is_numeric).is_some_and(|at| {
            let spaced: String =
                inside.chars().enumerate().fold(String::new(), |mut text, (n, sign)| {
                    if n == at {
                        text.push(' ');
                    }
                    text.push(sign);
                    text
                });
            date::take(&spaced).is_some_and(|date| date.after.is_empty() && date.month)
        });
    if minute {
        out.kernel = Some(true);
        return Some(after);
    }
    // `[0:      swapper/0:    1]`, after the time stamp: CPU, task and process, of kernels for telephones and boards.
    let task = || {
        let (cpu, rest) = inside.split_once(':')?;
        let (name, process) = rest.rsplit_once(':').unwrap_or((rest, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let name = name.trim();
        (cpu.len() <= 3
            && digits(cpu)
            && digits(process.trim())
            && !name.is_empty()
            && !digits(name))
        .then_some(after)
    };
    if out.at.is_some()
        && inside.len() < 48
        && let Some(after) = task()
    {
        return Some(after);
    }
    if out.at.is_some() && vendor::is_mark(inside) {
        return Some(after);
    }
    // `kubectl logs --prefix`.
    if inside.starts_with("pod/") && !inside.contains(' ') {
        return Some(after);
    }
    if inside.starts_with('+') && seconds(&inside[1..]).is_some() {
        out.kernel = Some(true);
        return Some(after);
    }
    None
}

/// `kernel: ` and `kern  :info  : ` (`dmesg -x`).
fn kern_word<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    if let Some(after) = rest.strip_prefix("kernel:") {
        out.kernel = Some(true);
        return Some(after);
    }
    if let Some(after) = rest.strip_prefix("kern") {
        // `kern.warn: `, the facility and level of syslog daemons.
        let (facility, rest) = match after.strip_prefix('.') {
            Some(rest) => ("", rest),
            None => after.split_once(':')?,
        };
        let (level, rest) = rest.split_once(':').unwrap_or((rest, ""));
        if facility.trim().is_empty() && LEVELS.contains(&level.trim()) {
            out.kernel = Some(true);
            return Some(of_talos(rest).unwrap_or(rest));
        }
    }
    syslog::host_kernel(rest, out)
}

/// ` [2021-11-04T19:09:39.462Z]: `, which Talos prints after the level.
fn of_talos(rest: &str) -> Option<&str> {
    let (inside, after) = rest.trim_start().strip_prefix('[')?.split_once("]:")?;
    date::take(inside).is_some_and(|date| date.after.is_empty()).then_some(after)
}

/// `ptp4l[42247.991]: port 1: ...`: the programs of linuxptp print the time since the boot, with three digits, where others have
/// the number of the process.
fn is_behind_a_name(rest: &str) -> bool {
    let Some((name, after)) = rest.split_once('[') else { return false };
    let is_name = !name.is_empty()
        && name != "kernel"
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let stamp = after.split_once("]:").map(|(stamp, _)| stamp);
    let short = |stamp: &str| stamp.split_once('.').is_some_and(|(_, part)| part.len() == 3);
    is_name && stamp.is_some_and(|stamp| short(stamp) && seconds(stamp).is_some())
}

/// Bytes before the header of a log, as of the name of a file.
const FILE: usize = 160;

/// `/var/log/messages:Nov 30 09:00:00 db1 app[42]: [ 1.000000] ...`: the header of a program, after the name of the file as
/// `grep` prints it, and a time stamp that the program wrote.
fn is_behind_a_header(rest: &str) -> bool {
    let mut places = rest.match_indices([':', '-']).take_while(|(at, _)| *at < FILE);
    let date = places.find_map(|(at, _)| {
        let behind = &rest[at + 1..];
        // A month, or a year.
        behind
            .starts_with(|c: char| c.is_ascii_uppercase() || c == '2')
            .then(|| date::take(behind))?
    });
    date.is_some_and(|date| {
        let mut out = Stripped::default();
        let message = syslog::behind_date(date, &mut out);
        message.is_some() && out.program && out.foreign
    })
}

/// A printk time stamp in the first part of a line, after an unknown prefix.
fn embedded_stamp(rest: &str) -> Option<(f64, &str)> {
    let mut from = 0;
    for _ in 0..4 {
        let open = from + rest.get(from..)?.find('[').filter(|at| from + at < 96)?;
        let close = open + rest[open..].find(']')?;
        // A time stamp that was truncated by another one.
        let open = rest[open..close].rfind('[').map_or(open, |at| open + at);
        if close - open >= 20 {
            return None;
        }
        if let Some(at) = seconds(rest[open + 1..close].trim()) {
            let mut out = Stripped::default();
            let mut after = rest[close + 1..].trim_start();
            while let Some(next) = step(after, &mut out) {
                after = next.trim_start();
            }
            return Some((at, after));
        }
        from = open + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, message: &str, at: Option<f64>, kernel: Option<bool>) {
        let out = strip(line);
        assert_eq!((out.message, out.at, out.kernel), (message, at, kernel), "{line}");
    }

    #[test]
    fn installer_names_the_writer_without_a_blank() {
        check(
            "11:35:47,547 INFO kernel:Hypervisor detected: VMware",
            "Hypervisor detected: VMware",
            None,
            Some(true),
        );
        for line in [
            "11:35:47,547 INFO journal:Hypervisor detected: VMware",
            "11:35:47,547 INFO kernel-x:Hypervisor detected: VMware",
        ] {
            assert_eq!(strip(line).kernel, Some(false), "{line}");
        }
    }

    #[test]
    fn a_program_that_prints_the_time_since_the_boot_is_not_the_kernel() {
        for line in [
            "ptp4l[42247.991]: port 1: announce timeout",
            "phc2sys[8585.493]: selecting CLOCK_REALTIME for synchronization",
        ] {
            assert_eq!(strip(line).kernel, Some(false), "{line}");
        }
        assert_eq!(strip("kernel[42.991]: tsc: Detected 1.0 MHz").kernel, Some(true));
        assert_eq!(strip("web[42.991123] tsc: Detected 1.0 MHz").kernel, Some(true));
    }

    #[test]
    fn program_whose_name_contains_the_kernels_is_not_the_kernel() {
        for line in [
            "Nov 30 09:00:00 db1 x kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 db1 x y kernel: [90000.250000] tsc: x",
            "2026-11-30T09:00:00.123456+00:00 db1 x kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 <user.info> db1 kernel: [90000.250000] tsc: x",
            "2026-11-30T09:00:00.123456+00:00 db1 x y kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 db1 kernel\t: [90000.250000] tsc: x",
            "Nov 30 09:00:00 db1 Nov 30 09:00:00 db1 kernel[42]: [90000.250000] tsc: x",
            "/var/log/messages:Nov 30 09:00:00 db1 bob[4242]: [90000.250000] tsc: x",
            "/var/log/messages:12:Nov 30 09:00:00 db1 bob: [90000.250000] tsc: x",
            "log/syslog-2026-11-30T09:00:00.123456+00:00 db1 bob[4242]: [90000.250000] tsc: x",
        ] {
            assert_eq!(strip(line).kernel, Some(false), "{line}");
        }
        for line in [
            "Nov 30 09:00:00 db1 kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 192.0.2.7 db1 kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 db1 db1 kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 relay Nov 30 09:00:00 db1 kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 <kern.info> db1 kernel: [90000.250000] tsc: x",
            "Nov 30 09:00:00 db1 kern.info kernel: [90000.250000] tsc: x",
            "/var/log/messages:Nov 30 09:00:00 db1 kernel: [90000.250000] tsc: x",
            "db1: [90000.250000] tsc: x",
            "a.txt:12:[90000.250000] tsc: x",
        ] {
            assert_eq!(strip(line).kernel, Some(true), "{line}");
        }
    }

    #[test]
    fn every_prefix_that_people_paste() {
        let m = "clocksource: Switched to clocksource tsc";
        check(m, m, None, None);
        check(&format!("[    1.510663] {m}"), m, Some(1.510663), Some(true));
        check(&format!("<6>[    1.510663] {m}"), m, Some(1.510663), Some(true));
        check(&format!("[    1.510663][    T1] {m}"), m, Some(1.510663), Some(true));
        check(&format!("[    1.510663] [ T0] {m}"), m, Some(1.510663), Some(true));
        check(&format!("[    1.510663] [    C3] {m}\r"), m, Some(1.510663), Some(true));
        for stamp in
            ["[    1.510663@3]", "[    1.510663s][pid:1,cpu3,swapper/0]", "[    1.510663] [K]"]
        {
            check(&format!("{stamp} {m}"), m, Some(1.510663), Some(true));
        }
        for task in
            ["[0:      swapper/0:    1]", "[3:kworker/u8:1:   42]", "[1:        swapper:    0]"]
        {
            check(&format!("[    1.510663]  {task} {m}"), m, Some(1.510663), Some(true));
        }
        check(&format!("[Wed Dec 22 08:37:21 2021] {m}"), m, None, Some(true));
        check(&format!("Sep 11 07:03:06 kernel: {m}"), m, None, Some(true));
        check(
            &format!("Sep 11 07:03:06 web-1 kernel: [ 9.123456] {m}"),
            m,
            Some(9.123456),
            Some(true),
        );
        check(&format!("Sep  1 07:03:06.123456 web-1 kernel: {m}"), m, None, Some(true));
        check(&format!("2025-06-03T16:08:54.123456+02:00 web kernel: {m}"), m, None, Some(true));
        check(&format!("2025-06-03 16:08:54 [    0.250000] {m}"), m, Some(0.25), Some(true));
        check(&format!("kernel: [  384.258940] {m}"), m, Some(384.258940), Some(true));
        check(&format!("[    0.100000] web-1 kernel: {m}"), m, Some(0.1), Some(true));
        check(&format!("kern  :info  : [    0.100000] {m}"), m, Some(0.1), Some(true));
        check(&format!("> > [    0.100000] {m}"), m, Some(0.1), Some(true));
        check(&format!("MESSAGE={m}"), m, None, None);
        check(&format!("console-1: 17: [    0.100000] {m}"), m, Some(0.1), Some(true));
        check(&format!("Sep 11 07:03:06 web tuned[12]: {m}"), m, None, Some(false));
        // Under the kernel's name by a user's process.
        for process in ["812", "2", "x", ""] {
            check(&format!("Sep 11 07:03:06 web kernel[{process}]: {m}"), m, None, Some(false));
        }
        check(&format!("Sep 11 07:03:06 web kernel[1]: {m}"), m, None, Some(true));
        let fields = "1 2025-06-03T16:08:54Z web kernel";
        check(&format!("{fields} - - - {m}"), m, None, Some(true));
        check(&format!("{fields} 812 - - {m}"), m, None, Some(false));
    }

    #[test]
    fn first_process_is_the_kernel_before_it_runs_a_program() {
        let m = "clocksource: Switched to clocksource tsc";
        for (process, mark) in [
            ("    0     0", "-(0)[0:swapper]"),
            ("    1     1", "(6)[1:swapper/0]"),
            ("    1     1", "-(6)[1:swapper]"),
        ] {
            for tag in ["", "        : "] {
                check(
                    &format!("05-26 20:26:47.075 {process} I {tag}{mark}{m}"),
                    m,
                    None,
                    Some(true),
                );
            }
        }
        check(&format!("I/        (    1): (6)[1:swapper/0]{m}"), m, None, Some(true));
        for (process, mark) in [
            ("    1     1", "(6)[1:init]"),
            (" 4711  4711", "(6)[1:swapper/0]"),
            ("    1     1", ""),
        ] {
            let line = format!("05-26 20:26:47.075 {process} I {mark}{m}");
            assert_eq!(strip(&line).kernel, Some(false), "{line}");
        }
    }

    #[test]
    fn dates_without_a_host_are_taken_off() {
        let m = "clocksource: Switched to clocksource tsc";
        check(&format!("2020-01-02T03:04:05,000003+00:00 {m}"), m, None, Some(true));
        check(&format!("2020-01-02 03:04:05,000003-05:00 {m}"), m, None, Some(true));
        check(&format!("2020-01-02T03:04:05.1234567Z {m}"), m, None, None);
        check(&format!("2020-01-02 03:04:05 {m}"), m, None, None);
        let long = "timekeeping watchdog: Marking clocksource 'tsc' as unstable";
        check(&format!("2020-01-02T03:04:05Z {long}"), long, None, None);
        let wordy = "Booting paravirtualized kernel on KVM";
        check(&format!("2020-01-02T03:04:05Z {wordy}"), wordy, None, None);
        check(&format!("2020-01-02T03:04:05Z web tuned[12]: {m}"), m, None, Some(false));
        check(&format!("2020-01-02T03:04:05Z web tuned: {m}"), m, None, Some(false));
    }

    #[test]
    fn tools_prefixes_are_taken_off() {
        let m = "clocksource: Switched to clocksource tsc";
        for node in ["", "10.5.0.2: ", "worker-1: ", "fd00::2: "] {
            let line = format!("{node}kern:    info: [2024-09-12T07:14:03.100Z]: {m}");
            check(&line, m, None, Some(true));
        }
        for prefix in [
            "- ",
            "* ",
            "\u{2022} ",
            "12:",
            "  12\t",
            "12. ",
            "kern.log:",
            "/var/log/dmesg:12:",
            "web_1  | ",
            "web-1 | ",
            "[pod/web-0/app] ",
            "`",
        ] {
            let end = if prefix == "`" { "`" } else { "" };
            let line = format!("{prefix}{m}{end}");
            assert_eq!(strip(&line).message.trim_end_matches('`'), m, "{line}");
        }
        check(&format!("[    5.140900 <    0.000012>] {m}"), m, Some(5.1409), Some(true));
        check(&format!("[Sun Nov 22 04:02:54 2026 <    0.000012>] {m}"), m, None, Some(true));
        check(&format!("[Nov22 04:02] {m}"), m, None, Some(true));
        check(&format!("[  +0.000012] {m}"), m, None, Some(true));
    }

    #[test]
    fn programs_that_write_to_the_kernel_log_are_told_by_their_facility() {
        let m = "tsc: Marking TSC unstable due to clocksource watchdog";
        check(&format!("<12>[    5.100000] {m}"), m, Some(5.1), Some(false));
        check(&format!("user  :warn  : [    5.100000] {m}"), m, Some(5.1), Some(false));
        check(&format!("daemon:info  : [    5.100000] {m}"), m, Some(5.1), Some(false));
        check(&format!("<4>[    5.100000] {m}"), m, Some(5.1), Some(true));
    }

    #[test]
    fn facility_that_is_printed_decides_before_the_name_of_the_program() {
        let m = "clocksource: Switched to clocksource hpet";
        let lines = |facility: &str| {
            [
                format!("Nov 30 10:00:00 db1 {facility}.notice kernel: [    5.100000] {m}"),
                format!("Mon Nov 30 10:00:00 2026 {facility}.info kernel: [    5.100000] {m}"),
                format!("db1 {facility}.notice kernel: [    5.100000] {m}"),
                format!("{facility}.notice kernel: [    5.100000] {m}"),
                format!("{facility}.notice: [    5.100000] {m}"),
                format!("ts=2026-11-30T10:00:00Z facility={facility} msg=\"[    5.100000] {m}\""),
                format!(
                    "time:2026-11-30\thost:db1\tfacility:{facility}\tmessage:[    5.100000] {m}"
                ),
                format!("2026-11-30T10:00:00Z,db1,{facility},\"[    5.100000] {m}\""),
            ]
        };
        for facility in ["user", "auth", "local0", "daemon"] {
            for line in lines(facility) {
                assert_eq!(strip(&line).kernel, Some(false), "{line}");
            }
        }
        for line in lines("kern") {
            assert_eq!(strip(&line).kernel, Some(true), "{line}");
        }
    }

    #[test]
    fn stamp_in_the_words_of_a_program_is_not_the_kernels() {
        let m = "[    5.100000] clocksource: Switched to clocksource hpet";
        for name in [
            "bob:",
            "bob[42]:",
            "kernel[42]:",
            "9f86d081884c[42]:",
            "a b c d:",
            "bob says",
            "kernel[42] <Notice>:",
        ] {
            for date in ["Nov 30 10:00:00", "Mon 2026-11-30 10:00:00 UTC"] {
                let line = format!("{date} db1 {name} {m}");
                assert_eq!(strip(&line).kernel, Some(false), "{line}");
            }
        }
        for line in [
            format!("2026-11-30T10:00:00.000000+00:00 db1 bob[42]: {m}"),
            format!("2026-11-30T10:00:00+0000 db1 bob[42]: {m}"),
            format!("1 2026-11-30T10:00:00Z db1 bob 42 - - {m}"),
        ] {
            assert_eq!(strip(&line).kernel, Some(false), "{line}");
        }
        for name in ["kernel:", "kernel[1]:", "klogd:", "klogd[7]:", "dmesg:", "dmesg[7]:", ""] {
            let line = format!("Nov 30 10:00:00 db1 {name} {m}");
            assert_eq!(strip(&line).kernel, Some(true), "{line}");
        }
    }

    #[test]
    fn quotations_in_sentences_stay_what_they_are() {
        for line in [
            "`tsc: Marking TSC unstable due to clocksource watchdog` is what I see",
            "I see tsc: Marking TSC unstable due to clocksource watchdog",
        ] {
            assert_eq!(strip(line).message, line);
        }
    }

    #[test]
    fn firmware_bug_is_part_of_the_message() {
        let line = "[    0.000000] [Firmware Bug]: TSC doesn't count with P0 frequency!";
        assert!(strip(line).message.starts_with("[Firmware Bug]"));
    }

    proptest! {
        #[test]
        fn never_panics_and_returns_a_part_of_the_line(line in "\\PC{0,120}") {
            let out = strip(&line);
            prop_assert!(line.contains(out.message));
        }

        #[test]
        fn stamps_survive(seconds in 0.0f64..1e9, message in "[a-z][a-z ]{0,20}[a-z]") {
            let line = format!("<4>[{seconds:12.6}] {message}");
            let out = strip(&line);
            prop_assert_eq!(out.message, message.as_str());
            prop_assert!((out.at.unwrap() - seconds).abs() < 1e-5);
        }
    }
}
