//! Filters for the content of files in a bundle.
//!
//! Only files of [`super::paths`] are read at all. Some of these contain more than is needed: the
//! filters here keep the lines about clocks, and mask hardware addresses, the host's name ([`super::names`]), and the
//! passwords and keys among the kernel's parameters.

use super::addresses;
use super::header;
use super::kernel_config;
use super::log::is_log;
use super::names::Names;
use super::secrets::Masked;
use super::serials;
use crate::dmi::{AZURE_TAG, Dmi, ORACLE_TAG};
use crate::tick;
use crate::tree::decode::open_log;
use crate::wall::ChronyConfig;
use std::io::{self, BufRead, BufReader, Read};

/// Decompressed bytes of a log that are kept, from its beginning: the largest ring buffers have 32 MiB.
const MAX_LOG: usize = 32 << 20;
/// Bytes of a log that are searched for them: of logs that programs share, only the kernel's lines are kept.
const SEARCHED: u64 = 256 << 20;
/// Bytes of a line of a log that are kept; no reader uses more than 16 KiB.
const MAX_LINE: usize = 64 << 10;

/// The content of a file for the bundle: at most `most` bytes.
pub(super) fn filter(
    path: &str,
    content: &mut dyn Read,
    most: usize,
    names: &Names,
    secrets: &Masked,
) -> io::Result<Vec<u8>> {
    if is_log(path) {
        return Ok(log(path, content, most.min(MAX_LOG), names, secrets));
    }
    let of_interest: Option<fn(&str) -> bool> = match path {
        "proc/timer_list" => Some(tick::is_mode_line),
        "etc/chrony.conf" | "etc/chrony/chrony.conf" => Some(ChronyConfig::is_of_interest),
        _ => None,
    };
    if let Some(of_interest) = of_interest {
        let kept = |line: &str| of_interest(line).then(|| line.to_owned());
        let mut out = Vec::new();
        return lines(content.take(SEARCHED), most, kept, &mut out).map(|()| out);
    }
    let mut all = Vec::new();
    content.take(most as u64).read_to_end(&mut all)?;
    Ok(of_whole(path, all, names, secrets))
}

fn of_whole(path: &str, content: Vec<u8>, names: &Names, secrets: &Masked) -> Vec<u8> {
    match path {
        "proc/1/environ" => match crate::environment::container_of_environ(&content) {
            Some(runtime) => format!("container={runtime}\0").into_bytes(),
            None => Vec::new(),
        },
        "proc/1/cgroup" => text(&content, |line| names.distinct(&without_identifiers(line))),
        "proc/cmdline" => text(&content, |line| {
            names.parameters(&serials::masked(&addresses::masked(&secrets.line(line))))
        }),
        // `Linux NODE RELEASE ...`
        "uname" | "sos_commands/kernel/uname_-a" => text(&content, |line| {
            let words = line.split(' ').enumerate();
            let kept = words.map(|(index, word)| if index == 1 { "-" } else { word });
            names.distinct(&kept.collect::<Vec<_>>().join(" "))
        }),
        "proc/cpuinfo" if serials::has_processors(&content) => {
            text(&content, serials::without_processors)
        }
        "dmidecode" => dmidecode(&String::from_utf8_lossy(&content)).into_bytes(),
        path if path.ends_with("/chassis_asset_tag") => {
            let tag = String::from_utf8_lossy(&content).trim().to_owned();
            if tag == AZURE_TAG || tag == ORACLE_TAG { content } else { Vec::new() }
        }
        // Drivers of network adapters name their clock after the address.
        path if path.ends_with("/clock_name") => text(&content, addresses::masked),
        path if is_text(path) => text(&content, |line| names.distinct(line)),
        path if kernel_config::is_config(path) => kernel_config::without_texts(&content),
        _ => content,
    }
}

fn text(content: &[u8], line: impl Fn(&str) -> String) -> Vec<u8> {
    let mut out = String::new();
    for (index, one) in String::from_utf8_lossy(content).split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&line(one));
    }
    out.into_bytes()
}

/// The results of `keep` for lines, without the rest of those that are too long; at most `most` bytes.
fn lines(
    content: impl Read,
    most: usize,
    keep: impl Fn(&str) -> Option<String>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    each_line(content, |line| {
        let Some(kept) = keep(line) else { return true };
        let fits = out.len() + kept.len() < most;
        if fits {
            out.extend_from_slice(kept.as_bytes());
            out.push(b'\n');
        }
        fits
    })
}

/// Passes lines as text to `take`, up to [`MAX_LINE`] bytes of each, until `take` returns `false`.
fn each_line(content: impl Read, mut take: impl FnMut(&str) -> bool) -> io::Result<()> {
    let mut content = BufReader::with_capacity(MAX_LINE, content);
    let (mut line, mut cut) = (Vec::new(), false);
    loop {
        let buffer = match content.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', buffer);
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let room = MAX_LINE - line.len();
        cut |= part.len() > room;
        line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        let (used, over) = (part.len() + usize::from(end.is_some()), buffer.is_empty());
        content.consume(used);
        if end.is_none() && !over {
            continue;
        }
        if over && line.is_empty() && !cut {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        // A truncated word may be a name or an address that the masks do not recognise.
        let text = match text.rfind(' ') {
            Some(blank) if cut => text.get(..blank).unwrap_or_default(),
            _ if cut => "",
            _ => text,
        };
        if !take(text) || over {
            return Ok(());
        }
        line.clear();
        cut = false;
    }
}

/// A log, decompressed. Of logs that programs also write, only the kernel's lines.
fn log(
    path: &str,
    content: &mut dyn Read,
    most: usize,
    names: &Names,
    secrets: &Masked,
) -> Vec<u8> {
    // An omitted line becomes an empty one: lines are cited by their number.
    let kept = |line: &str| {
        if !is_kernels(path, line) {
            return Some(String::new());
        }
        names.learn_line(line);
        Some(masked(&secrets.line(line), names))
    };
    let mut out = Vec::new();
    // The content before the damaged part of a file is kept, as the reader would also see it.
    if let Ok(log) = open_log(content) {
        let _ = lines(log.take(SEARCHED), most, kept, &mut out);
    }
    out
}

/// Whether a line is the kernel's. Only the ring buffer and its copies have no header that names the writer.
fn is_kernels(path: &str, line: &str) -> bool {
    let of_all = ["messages", "syslog", "journalctl"].iter().any(|name| path.contains(name));
    if !of_all && !path.contains("kern.log") {
        return true;
    }
    // A program can write the kernel's name in its message, and a syslog can be configured to write a program's
    // messages to kern.log.
    let (message, of_kernel) = crate::log::strip_prefix(line);
    let named = line.contains(" kernel:") || header::any(line).is_some();
    of_kernel && (named || !of_all)
        || !of_all && crate::log::is_clock_message(message) && message == line
}

/// The five strings that the reader uses of the output of `dmidecode`.
fn dmidecode(content: &str) -> String {
    let dmi = Dmi::from_dmidecode(content);
    let tag = [AZURE_TAG, ORACLE_TAG].into_iter().find(|tag| dmi.asset_tag == *tag).unwrap_or("");
    format!(
        "BIOS Information\n\tVendor: {}\n\tVersion: {}\nSystem Information\n\tManufacturer: {}\n\
         \tProduct Name: {}\nChassis Information\n\tAsset Tag: {tag}\n",
        dmi.bios_vendor, dmi.bios_version, dmi.sys_vendor, dmi.product_name
    )
}

/// A line of a log, or a place, without hardware addresses, serial numbers and the host's names.
pub(super) fn masked(line: &str, names: &Names) -> String {
    if line.is_empty() {
        String::new()
    } else {
        names.line(&serials::masked(&addresses::masked(line)))
    }
}

/// The filtered content of a file without names that became known later.
pub(super) fn without_names(path: &str, content: &[u8], names: &Names) -> Vec<u8> {
    if is_log(path) {
        return text(content, |line| names.line(line));
    }
    match path {
        "proc/cmdline" => text(content, |line| names.parameters(line)),
        path if is_text(path) => text(content, |line| names.distinct(line)),
        _ => content.to_vec(),
    }
}

/// Whether a file is a text that may contain the host's name.
fn is_text(path: &str) -> bool {
    matches!(path, "proc/version" | "proc/1/cgroup" | "uname" | "dmidecode")
        || path.starts_with("sos_commands/")
        || path.starts_with("etc/chrony")
}

/// Masks identifiers of containers and pods: twelve or more hexadecimal digits, hyphens, underscores.
fn without_identifiers(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for part in line.split_inclusive(|c: char| !(c.is_ascii_hexdigit() || c == '-' || c == '_')) {
        let run = part.trim_end_matches(|c: char| !(c.is_ascii_hexdigit() || c == '-' || c == '_'));
        let masked = run.len() >= 12 && run.bytes().any(|byte| byte.is_ascii_digit());
        out.push_str(if masked { "x" } else { run });
        out.push_str(&part[run.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filtered(path: &str, content: &str, hostname: &str) -> String {
        let (secrets, names) = (Masked::default(), Names::default());
        names.learn(hostname);
        let filtered = filter(path, &mut content.as_bytes(), 1 << 20, &names, &secrets);
        String::from_utf8(filtered.unwrap()).unwrap()
    }

    #[test]
    fn addresses_are_masked_and_clock_messages_are_not() {
        let line =
            "[    1.0] eth0: 52:54:00:12:34:56, irq 5 at 0000:00:1f.2 12:34:56 a0-b1-c2-d3-e4-f5";
        let masked = filtered("dmesg", line, "");
        assert!(masked.contains("eth0: xx:xx:xx:xx:xx:xx, irq 5 at 0000:00:1f.2 12:34:56 xx-xx"));
        let clock = "[    0.1] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff\n";
        assert_eq!(filtered("dmesg", clock, "hpet"), clock);
        assert_eq!(
            filtered("proc/cmdline", "BOOTIF=01-52-54-00-12-34-56\n", ""),
            "BOOTIF=xx-xx-xx-xx-xx-xx-xx\n"
        );
    }

    #[test]
    fn the_hosts_name_is_masked() {
        let log = "systemd[1]: Hostname set to <web-01.example.com>.\nxweb-01 web-012 web-01\n";
        let masked = filtered("dmesg", log, "web-01.example.com");
        assert_eq!(masked, "systemd[1]: Hostname set to <host>.\nxhost host2 host\n");
        let masked = filtered(
            "dmesg",
            "WEB-\u{dc}1 web-\u{fc}1 xWeb-\u{dc}1 Web-\u{fc}1.example\n",
            "Web-\u{dc}1",
        );
        assert_eq!(masked, "host host xhost host.example\n");
    }

    #[test]
    fn shared_logs_keep_the_kernels_lines_only() {
        let log = "Nov 19 17:15:31 alpha kernel: [    0.000000] Linux version 6.1\n\
                   Nov 19 17:15:32 alpha sshd[1]: Accepted for root\n";
        let kept = filtered("var/log/messages", log, "beta");
        assert_eq!(kept, "Nov 19 17:15:31 host kernel: [    0.000000] Linux version 6.1\n\n");
        let kern = "Nov 30 10:00:00 alpha kernel: [    0.000000] Linux version 6.1\n\
                    <6>1 2026-11-30T10:00:00Z alpha kernel - - - tsc: Detected 2294.609 MHz processor\n\
                    Nov 30 10:01:00 alpha sshd[42]: Accepted password for carol from 192.0.2.1\n\
                    Nov 30 10:01:01 alpha sudo: carol : COMMAND=/usr/bin/mysql -phunter2 kernel: x\n\
                    Nov 30 10:01:02 alpha sshd[42]: [    5.000000] carol\n\
                    2026-11-30T10:01:03.000000+00:00 alpha sudo[7]: carol kernel: [    5.000000] x\n\
                    tsc: Detected 2294.609 MHz processor\n\
                    Command: carol\n";
        let kept = "Nov 30 10:00:00 host kernel: [    0.000000] Linux version 6.1\n\
                    <6>1 2026-11-30T10:00:00Z host kernel - - - tsc: Detected 2294.609 MHz processor\n\
                    \n\n\n\n";
        assert_eq!(
            filtered("var/log/kern.log", kern, ""),
            format!("{kept}tsc: Detected 2294.609 MHz processor\n\n")
        );
        assert_eq!(filtered("var/log/syslog.gz", kern, ""), format!("{kept}\n\n"));
        let journal = "[    0.000000] alpha kernel: Linux version 6.1\n";
        let kept = filtered("sos_commands/logs/journalctl_--boot", journal, "");
        assert_eq!(kept, "[    0.000000] host kernel: Linux version 6.1\n");
    }

    #[test]
    fn what_says_more_than_needed_is_cut_down() {
        let environ = "SECRET=1\0container=lxc\0X=2";
        assert_eq!(filtered("proc/1/environ", environ, ""), "container=lxc\0");
        assert_eq!(filtered("proc/1/environ", "SECRET=1", ""), "");
        assert_eq!(
            filtered("uname", "Linux secret 6.1 #1 SMP x86_64\n", ""),
            "Linux - 6.1 #1 SMP x86_64\n"
        );
        assert_eq!(filtered("sys/class/dmi/id/chassis_asset_tag", "INV-0042\n", ""), "");
        assert_eq!(filtered("sys/class/dmi/id/chassis_asset_tag", ORACLE_TAG, ""), ORACLE_TAG);
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(
            filtered("proc/1/cgroup", &format!("1:cpu:/docker/{id}\n"), ""),
            "1:cpu:/docker/x\n"
        );
        let dmi = "System Information\n\tManufacturer: QEMU\n\tSerial Number: S\n\tUUID: U\n";
        let kept = filtered("dmidecode", dmi, "");
        assert!(kept.contains("QEMU") && !kept.contains("Serial") && !kept.contains("UUID"));
        assert_eq!(
            filtered("proc/timer_list", "cpu: 0\n  .hres_active    : 1\n", ""),
            "  .hres_active    : 1\n"
        );
    }

    proptest! {
        #[test]
        fn masking_is_done_once_and_for_all(line in "[a-f0-9:. -]{0,60}|\\PC{0,40}", name in "[a-z.-]{0,8}") {
            let names = Names::default();
            names.learn(&name);
            let once = masked(&line, &names);
            prop_assert_eq!(addresses::masked(&once), once.clone());
            let _ = without_identifiers(&line);
        }

        #[test]
        fn any_content(path in 0usize..6, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let path = ["proc/1/environ", "proc/timer_list", "proc/1/cgroup", "uname", "dmesg", "dmidecode"][path];
            let names = Names::default();
            names.learn("host-name");
            filter(path, &mut bytes.as_slice(), 100, &names, &Masked::default()).unwrap();
        }
    }
}
