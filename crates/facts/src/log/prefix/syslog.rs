//! The text between a date and a message: `HOST PROGRAM: ` of syslog and journald, the fields of RFC 5424, the
//! process and the tag of Android. It names the writer of the line.

use super::{Stripped, date, printk_stamp, vendor};
use crate::log::parse::begins_like_kernel;

/// Programs under whose name the kernel's own lines are written to a log, with the kernel's time stamp: its log daemon
/// and that of containers' hosts, the output of the command in a unit, and the console of a guest.
const FORWARDERS: [&str; 4] = ["klogd", "dmesg", "kmsg", "qemu"];

/// Removes the text after a date: `HOST PROGRAM: ` of a syslog, or nothing, as in the output of `dmesg --time-format
/// iso`, build servers, consoles and container logs.
pub(super) fn behind_date<'a>(date: date::Dated<'a>, out: &mut Stripped<'a>) -> Option<&'a str> {
    let after = date.after;
    // The end of a wrapped banner is a date, and not a prefix.
    if after.is_empty() {
        return None;
    }
    if date.of_dmesg {
        out.kernel = Some(true);
        return Some(after);
    }
    out.dated = true;
    if begins_like_kernel(after) {
        return Some(after);
    }
    if let Some(after) =
        android(after, out).or_else(|| stream(after)).or_else(|| installer(after, out))
    {
        return Some(after);
    }
    if date.month || date.of_rsyslog {
        out.writer = without_colon(after);
    }
    if date.month {
        return header(after, true, out);
    }
    let one_name = after.find([':', ' ', '\t']).is_none_or(|at| after[at..].starts_with(':'));
    let program = after.starts_with("kernel:") || after.contains("]: ");
    if one_name && !program || after.starts_with(['<', '{', '|']) {
        return Some(after);
    }
    header(after, false, out).or(Some(after))
}

/// Removes `HOST kernel: ` or `kernel[1]: ` after a date or a time stamp; another program's name decides the writer.
/// `month` means that the date has the form of syslog.
fn header<'a>(after: &'a str, month: bool, out: &mut Stripped<'a>) -> Option<&'a str> {
    let after = after.trim_start();
    let colon = after.find(": ").or_else(|| after.ends_with(':').then(|| after.len() - 1));
    let bracket = after.find('[');
    // A printk time stamp directly after the date: `2025-06-03T16:08:54 [    0.000000] ...`.
    if bracket.is_some_and(|at| after[..at].trim().is_empty()) {
        return Some(after);
    }
    // A logger that omits the program: `DATE HOST MESSAGE`.
    if let Some(message) = behind_host(after) {
        return Some(message);
    }
    let Some(colon) = colon else {
        out.foreign |= is_behind_words(after);
        return None;
    };
    let names: Vec<&str> = after[..colon].split_whitespace().collect();
    let ident = names.last()?;
    if names.len() > out.words {
        out.words = names.len() - 1;
        out.host = names.first().copied().filter(|_| out.words > 0);
    }
    if names.len() > 3 {
        // A relay puts its own name before the whole header.
        let relayed = || after.split_once(' ').is_some_and(|(_, rest)| date::take(rest).is_some());
        let is_named_so =
            is_kernel(ident) && !relayed() && !names.iter().any(|name| is_level(name));
        out.foreign |= is_behind_words(after) || is_process(ident) || is_named_so;
        return Some(after);
    }
    // `logger -t 'x kernel'`: the name of a program can contain blanks. A relay puts its own address or name first, and some
    // daemons the facility.
    let is_of_daemon = |name: &str| {
        super::foreign_word(name).is_some()
            || super::facility::of_pair(name.trim_matches(['<', '>'])).is_some()
            || is_level(name)
            || name.starts_with(['[', '<', '('])
            || name.parse::<std::net::IpAddr>().is_ok()
    };
    let is_inside = match names[..] {
        [first, second, _] => {
            first != second && !is_of_daemon(first) && !is_of_daemon(second) && !first.contains('=')
        }
        _ => false,
    };
    let is_pair = |name: &&str| {
        super::facility::of_pair(name.trim_matches(['<', '>'])).is_some_and(|name| name != "kern")
    };
    out.foreign |= names.iter().any(is_pair);
    let is_kernel = is_kernel(ident) && !is_inside && after[..colon].ends_with(ident);
    out.kernel = Some(is_kernel);
    out.named = true;
    out.program = !is_kernel;
    // Whatever its message begins with. The level of a logger is not the name of a host.
    let is_header = month || !names.first().is_some_and(|name| is_level(name));
    out.foreign |= is_header && !is_kernel && !FORWARDERS.contains(&program(ident));
    if !is_kernel && after[..colon].ends_with(ident) && names[..names.len() - 1].iter().all(is_host)
    {
        out.writer = Some(program(ident));
    }
    Some(&after[(colon + 1).min(after.len())..])
}

/// Whether a stamp of the kernel follows more words than the name of a host, which are not the kernel's name.
fn is_behind_words(after: &str) -> bool {
    let stamp = after.match_indices('[').find(|(at, _)| printk_stamp(&after[*at..]).is_some());
    let Some((at, _)) = stamp else { return false };
    let words: Vec<&str> = after[..at].split_whitespace().collect();
    let Some(last) = words.last().map(|word| word.trim_end_matches(':')) else { return false };
    let is_word =
        |word: &&str| is_host(&word.trim_end_matches(']').replace(['[', '<', '>'], "").as_str());
    words.len() > 1
        && words.iter().all(is_word)
        && !words.iter().any(|word| is_level(word))
        && !(is_kernel(last) || FORWARDERS.contains(&program(last)))
}

/// The message in the log of the installer Anaconda, after the level and the name of the writer, without a blank between them:
/// `11:35:47,547 INFO kernel:Hypervisor detected: VMware`.
fn installer<'a>(after: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let (level, rest) = after.split_once(' ')?;
    let (name, message) = rest.split_once(':')?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !(is_level(level) && is_name) || message.starts_with([' ', ':']) || message.is_empty() {
        return None;
    }
    out.kernel = Some(name == "kernel");
    out.named = true;
    out.program = name != "kernel";
    Some(message)
}

/// Whether a word is the level that a logger prints after the date: `INFO`.
fn is_level(word: &str) -> bool {
    let name = word.trim_matches(['[', ']', '(', ')', ':']);
    name.bytes().all(|byte| byte.is_ascii_uppercase())
        && super::LEVELS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether the name before a message is the kernel's. journald shows the number of the process for a message that a user
/// wrote under this name (`logger -t kernel`).
fn is_kernel(ident: &str) -> bool {
    let number = ident.strip_prefix("kernel[").and_then(|rest| rest.strip_suffix(']'));
    ident == "kernel" || ident == "vmunix" || number.is_some_and(is_nobodys)
}

/// Whether a name is that of a user's process: `kernel[4242]`, `sshd[812]`.
fn is_process(ident: &str) -> bool {
    let number = ident.strip_suffix(']').and_then(|rest| rest.split_once('['));
    number.is_some_and(|(name, number)| {
        !name.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !is_nobodys(number)
    })
}

/// Whether a number cannot be that of a user's process: containers' logs have the kernel's messages under 1.
fn is_nobodys(process: &str) -> bool {
    matches!(process, "-" | "0" | "1")
}

/// The program in `HOST PROGRAM MESSAGE`: a message that a program passes to the socket of a syslog may have no colon.
fn without_colon(after: &str) -> Option<&str> {
    let (host, rest) = after.split_once([' ', '\t'])?;
    let (ident, message) = rest.trim_start().split_once([' ', '\t'])?;
    (!after.contains(": ") && !host.ends_with(':') && is_host(&host) && !message.trim().is_empty())
        .then(|| program(ident))
}

/// Whether a word may be the name of a host.
fn is_host(word: &&str) -> bool {
    word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b))
}

/// The name in `/usr/sbin/chronyd[12]`.
fn program(ident: &str) -> &str {
    let name = ident.split_once('[').map_or(ident, |(name, _)| name);
    name.rsplit_once('/').map_or(name, |(_, name)| name)
}

/// The message of the kernel directly after a host.
fn behind_host(after: &str) -> Option<&str> {
    let (host, message) = after.split_once([' ', '\t'])?;
    let message = message.trim_start();
    let installed =
        message.starts_with("Time: ") && message.contains(" clocksource has been installed");
    (!host.contains([':', '[', '(']) && (installed || begins_like_kernel(message)))
        .then_some(message)
}

/// `HOST kernel: ` without a date (journald's short-monotonic, after the time stamp).
pub(super) fn host_kernel<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let space = rest.find(' ').filter(|space| *space <= 64)?;
    let after = rest[space + 1..].strip_prefix("kernel:")?;
    if rest[..space].contains([':', '=', '\'', '"']) {
        return None;
    }
    out.kernel = Some(true);
    out.named = true;
    Some(after)
}

/// `1 DATE HOST PROGRAM PROCID MSGID STRUCTURED-DATA MESSAGE` (RFC 5424, section 6).
pub(super) fn rfc5424<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let date = date::take(rest.strip_prefix("1 ")?).filter(|date| !date.month)?;
    let mut fields = date.after.splitn(5, ' ');
    let (_host, program, process, _id) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let mut rest = fields.next()?;
    if let Some(after) = rest.strip_prefix('-') {
        rest = after;
    } else {
        while rest.starts_with('[') {
            rest = &rest[rest.find(']')? + 1..];
        }
    }
    let is_kernel = program == "kernel" && is_nobodys(process);
    out.kernel = Some(is_kernel);
    out.named = true;
    out.program = !is_kernel;
    out.foreign |= !is_kernel && !FORWARDERS.contains(&program);
    out.writer = out.program.then_some(program);
    Some(rest.trim_start().trim_start_matches('\u{feff}'))
}

/// `0     0 W tsc     : ` after a date (`logcat -v threadtime`): the kernel's lines have process 0. A tag that was
/// padded with blanks is omitted, because the kernel did not print the padding.
fn android<'a>(after: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let mut rest = after;
    let mut number = || {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = rest[..digits].parse().ok()?;
        rest = rest[digits..].strip_prefix(' ')?.trim_start();
        Some(number)
    };
    let (process, _thread) = (number()?, number()?);
    let rest = rest.strip_prefix(LEVELS)?.strip_prefix(' ')?;
    let message = match rest.split_once(':') {
        Some((tag, message)) if tag.ends_with(' ') && !tag.trim().contains(' ') => message,
        _ => rest,
    };
    out.kernel = Some(is_kernels(process, message));
    out.named = true;
    Some(message)
}

/// Whether a line of logcat is of the kernel: process 0, and process 1 before it runs the first program.
fn is_kernels(process: u32, message: &str) -> bool {
    process == 0 || process == 1 && vendor::is_of_boot(message.trim_start())
}

/// The stream of a line: `stdout F ` of the container runtime interface, `01O ` of GitLab.
fn stream(after: &str) -> Option<&str> {
    if let Some(kind) = after.strip_prefix("stdout ").or_else(|| after.strip_prefix("stderr ")) {
        return kind.strip_prefix("F ").or_else(|| kind.strip_prefix("P "));
    }
    let kind = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after.len() - kind.len() == 2;
    kind.strip_prefix(['O', 'E'])
        .filter(|_| numbered)
        .and_then(|rest| rest.strip_prefix([' ', '+']))
}

const LEVELS: [char; 6] = ['V', 'D', 'I', 'W', 'E', 'F'];

/// `W/tsc     (    0): ` (`logcat -v brief` and `-v time`).
pub(super) fn android_brief<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let tagged = rest.strip_prefix(LEVELS)?.strip_prefix('/')?;
    let (tag, after) =
        tagged.split_once('(').filter(|(tag, _)| tag.len() <= 64 && !tag.contains(':'))?;
    let (process, message) = after.split_once("):")?;
    let process: u32 = process.trim().parse().ok()?;
    out.kernel = Some(is_kernels(process, message));
    out.named = true;
    // Only the colon between the tag and the kernel's message is missing.
    let _ = tag;
    Some(message)
}
