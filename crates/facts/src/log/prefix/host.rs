//! The host before a message: syslog and journald write it after the date, log stores as a label, and
//! programs that run a command on many machines before each line of output.

use super::date;
use crate::log::parse::begins_like_kernel;
use std::net::IpAddr;

/// The host that a line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host<'a> {
    /// The first label of the host's name: some lines of one machine also have the domain.
    pub(crate) name: &'a str,
    /// Whether the line is of the kernel.
    pub(crate) of_kernel: bool,
}

/// Labels and fields that name a host.
const FIELDS: [&str; 9] = [
    "_HOSTNAME",
    "host.name",
    "hostname",
    "HOSTNAME",
    "host",
    "nodename",
    "node_name",
    "node",
    "instance",
];

/// Words in the place of a host that are a level, a program or a file.
const OTHERS: [&str; 22] = [
    "INFO", "DEBUG", "WARNING", "WARN", "ERROR", "NOTICE", "TRACE", "CRITICAL", "kernel", "kern",
    "dmesg", "syslog", "messages", "klog", "console", "serial", "stdout", "stderr", "tty", "log",
    "kmsg", "journal",
];

/// The host of a line, if it names one.
pub(crate) fn of(line: &str) -> Option<Host<'_>> {
    let line = line.trim_start();
    labelled(line)
        .or_else(|| in_header(line))
        .or_else(|| in_front(line))
        .or_else(|| undated(line))
        .or_else(|| sender(line))
        .or_else(|| tagged(line))
        .or_else(|| of_file(line))
}

/// The first label of a host's name, or its address.
pub(crate) fn name(text: &str) -> Option<&str> {
    let text = text.trim_matches('"');
    if text.parse::<IpAddr>().is_ok() {
        return Some(text);
    }
    let is_name = (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && text.bytes().any(|b| b.is_ascii_alphabetic());
    let label = text.split('.').next()?;
    (is_name && !label.is_empty() && !OTHERS.contains(&label)).then_some(label)
}

/// `DATE HOST kernel: `, after a syslog priority or a time stamp; `<6>1 DATE HOST kernel - - - ` (RFC 5424).
fn in_header(line: &str) -> Option<Host<'_>> {
    let rest = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((level, rest)) if level.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => line,
    };
    let numbered = rest.strip_prefix("1 ").filter(|_| rest.len() < line.len());
    let behind_stamp = || {
        let (stamp, rest) = rest.strip_prefix('[')?.split_once("] ")?;
        stamp.trim().parse::<f64>().ok().map(|_| rest)
    };
    let date = date::take(numbered.unwrap_or(rest));
    let after = match &date {
        Some(date) => date.after,
        None => behind_stamp()?,
    };
    let mut words = after.split_ascii_whitespace();
    let (host, program) = (words.next()?, words.next()?);
    let of_kernel = program == "kernel:" || program.starts_with("kernel[");
    // Some loggers omit the program.
    let bare = || {
        let message = after[host.len()..].trim_start();
        begins_like_kernel(message)
    };
    if date.is_none() && !of_kernel {
        return None;
    }
    let of_kernel = of_kernel || numbered.is_some() && program == "kernel";
    if !of_kernel && !program.ends_with(':') && !bare() {
        return None;
    }
    Some(Host { name: name(host)?, of_kernel: of_kernel || bare() })
}

/// `{host="web1", job="kernel"} ...`, even after a date, and `{"_HOSTNAME":"web1", ...}`.
fn labelled(line: &str) -> Option<Host<'_>> {
    let begin = line.find('{').filter(|at| *at < 64)?;
    if begin > 0 {
        date::take(&line[..begin])?;
    }
    let fields = &line[begin..];
    let value = FIELDS.iter().find_map(|field| {
        memchr::memmem::find_iter(fields.as_bytes(), field.as_bytes()).take(4).find_map(|at| {
            let before = fields.as_bytes().get(at.checked_sub(1)?)?;
            let rest = fields.get(at + field.len()..)?;
            let rest = rest.strip_prefix('"').unwrap_or(rest).trim_start();
            let rest = rest.strip_prefix([':', '='])?.trim_start().strip_prefix('"')?;
            (!before.is_ascii_alphanumeric() && !b"_.".contains(before)).then_some(rest)
        })
    })?;
    let end = value.find(['"', ':'])?;
    Some(Host { name: name(&value[..end])?, of_kernel: true })
}

/// `web1: [    0.000000] ...` (pdsh, clush, dsh), `web1 | [    0.000000] ...`, `web1: kern: info: [DATE]: ` (talosctl).
fn in_front(line: &str) -> Option<Host<'_>> {
    let end = line.find([':', ' ', '|'])?;
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix([':', '|'])?.strip_prefix(' ')?.trim_start();
    let is_kernels = super::printk_stamp(rest).is_some() || super::vendor::is_of_talos(rest);
    is_kernels.then(|| Some(Host { name: name(&line[..end])?, of_kernel: true }))?
}

/// The file that `grep -r` prints before a line, if its name distinguishes machines: `web1/dmesg:[    0.000000] ...`.
fn of_file(line: &str) -> Option<Host<'_>> {
    let (path, rest) = line.split_once(':').filter(|(path, _)| path.len() <= 160)?;
    let is_path = path.contains('/') || [".txt", ".log"].iter().any(|end| path.ends_with(end));
    if !is_path || path.contains(char::is_whitespace) {
        return None;
    }
    let number = rest.split_once(':').filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()));
    let rest = number.map_or(rest, |(_, rest)| rest);
    if let Some(host) = in_header(rest) {
        return Some(host);
    }
    super::printk_stamp(rest.trim_start())?;
    Some(Host { name: crate::paste::label(path)?, of_kernel: true })
}

/// `web1 kernel: ...`, of a log whose dates were removed.
fn undated(line: &str) -> Option<Host<'_>> {
    let (host, rest) = line.split_once(' ')?;
    rest.strip_prefix("kernel: ")?;
    Some(Host { name: name(host)?, of_kernel: true })
}

/// A single word before a time stamp: the address of a netconsole sender with its port, the id of an instance, a
/// name followed by a tab.
fn sender(line: &str) -> Option<Host<'_>> {
    let end = line.find([' ', '\t']).filter(|end| *end <= 64)?;
    super::printk_stamp(line[end..].trim_start())?;
    let word = &line[..end];
    let address = |text: &str| text.parse::<IpAddr>().is_ok();
    let of_address = match word.rsplit_once(':') {
        _ if address(word) => Some(word),
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            address(host).then_some(host)
        }
        _ => None,
    };
    let instance = || {
        let id = word.strip_prefix("i-")?;
        (id.len() >= 3 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(word)
    };
    let tabbed = || {
        let level = OTHERS.iter().any(|other| word.eq_ignore_ascii_case(other));
        if line.as_bytes()[end] == b'\t' && !level { name(word) } else { None }
    };
    let name = of_address.or_else(instance).or_else(tabbed)?;
    Some(Host { name, of_kernel: true })
}

/// Bytes before a time stamp that are searched for a tag.
const TAGS: usize = 160;

/// A tag before a time stamp: `[web1] [    0.000000] ...`, `node=web1 [    0.000000] ...`, `[pod/web1/CONTAINER] ...` of
/// `kubectl logs --prefix`. A tag that names the host ranks above the others.
fn tagged(line: &str) -> Option<Host<'_>> {
    let stamp = line
        .match_indices('[')
        .map(|(at, _)| at)
        .take_while(|at| *at <= TAGS)
        .find(|at| super::printk_stamp(&line[*at..]).is_some())?;
    let front = line[..stamp].trim_end();
    let field = front.split_ascii_whitespace().find_map(|word| {
        let (key, value) = word.split_once('=')?;
        if FIELDS.contains(&key) { name(value) } else { None }
    });
    let pod = || {
        let rest = front.strip_prefix("[pod/")?;
        name(rest.split('/').next()?)
    };
    let alone = || {
        let word = front.strip_prefix('[')?.strip_suffix(']')?;
        // Levels of loggers.
        let level = word.len() < 2 || OTHERS.iter().any(|other| word.eq_ignore_ascii_case(other));
        if level { None } else { name(word) }
    };
    let name = field.or_else(pod).or_else(alone)?;
    Some(Host { name, of_kernel: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_every_kind_of_line_are_read() {
        let message = "[    1.430694] clocksource: Switched to clocksource tsc";
        for front in [
            "Nov 24 01:10:01 web1 kernel: ",
            "<6>Nov 24 01:10:01 web1.example.org kernel: ",
            "2026-11-24T01:00:03.838+00:00 web1 kernel[1]: ",
            "<6>1 2026-11-24T01:00:03Z web1 kernel - - - ",
            "2026-11-24T01:00:03Z {host=\"web1\", job=\"kernel\"} ",
            "{\"_TRANSPORT\":\"kernel\",\"_HOSTNAME\":\"web1\",\"MESSAGE\":\"x\"} ",
            "web1: ",
            "web1 | ",
        ] {
            let line = format!("{front}{message}");
            assert_eq!(of(&line), Some(Host { name: "web1", of_kernel: true }), "{line}");
        }
        for (front, name) in [
            ("10.0.0.5:6665 ", "10.0.0.5"),
            ("10.0.0.5 ", "10.0.0.5"),
            ("[fe80::1]:6665 ", "fe80::1"),
            ("10.0.0.5: ", "10.0.0.5"),
            ("Nov 24 01:10:01 10.1.1.2 kernel: ", "10.1.1.2"),
            ("web1 kernel: ", "web1"),
            ("i-0abc12\t", "i-0abc12"),
            ("i-0abc12 ", "i-0abc12"),
            ("web1\t", "web1"),
            ("[web1] ", "web1"),
            ("node=web1 ", "web1"),
            ("[pod/web1/reader] ", "web1"),
            ("[pod/reader-7f/reader] node=web1.example.org ", "web1"),
            ("web1/dmesg:", "web1"),
            ("logs/web1/dmesg.txt:12:", "logs/web1"),
            ("web1/messages:Nov 24 01:10:01 db kernel: ", "db"),
        ] {
            let line = format!("{front}{message}");
            assert_eq!(of(&line), Some(Host { name, of_kernel: true }), "{line}");
        }
        let talos = "web1: kern:    info: [2024-09-12T07:14:03.100Z]: tsc: x";
        assert_eq!(of(talos), Some(Host { name: "web1", of_kernel: true }));
        let other = Some(Host { name: "web1", of_kernel: false });
        assert_eq!(of("Nov 24 01:10:01 web1 ntpd[77]: time reset"), other);
        for line in [
            message,
            "Nov 24 01:10:01 INFO kernel: [    1.000000] x",
            "kernel: [    1.430694] tsc: x",
            "kern.log: [    1.430694] tsc: x",
            "Mon Nov 24 01:10:01 2026: x",
            "[    1.430694] usb 1-1: x",
            "web1: tsc",
            "info\t[    1.430694] tsc: x",
            "[info] [    1.430694] tsc: x",
            "[I] [    1.430694] tsc: x",
            "[2026-01-01T00:00:00Z] [    1.430694] tsc: x",
            "[    1.430694] [    2.430694] tsc: x",
            "[usb 1-1] [    1.430694] tsc: x",
            "1.2.3: [    1.430694] tsc: x",
            "web1 [    1.430694] tsc: x",
            "/var/log/dmesg.0:[    1.430694] tsc: x",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
