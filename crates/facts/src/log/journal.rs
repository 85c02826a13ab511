//! Records with names of fields: `journalctl -o json`, `-o json-pretty`, `-o export` and `-o verbose`, `dmesg --json`, and
//! the formats of log stores, containers and clouds.

use super::prefix::facility::of_pair;
use super::prefix::strip;
use super::wall;
use crate::paste::is_kernel_log;
use serde_json::Value;

/// Names of the field that contains the message or the line; the first one is used.
const MESSAGE: [&str; 9] = [
    "MESSAGE",
    "message",
    "msg",
    "log",
    "textPayload",
    "line",
    "_raw",
    "@message",
    "short_message",
];
/// Names of fields, besides those of journald, that name the program of a line. Graylog puts `_` before names.
const PROGRAM: [&str; 7] =
    ["syslog_identifier", "ident", "program", "programname", "appname", "app_name", "syslogtag"];
/// Names of objects whose `name` is that of a program (`process.name` of the Elastic Common Schema), or with `_name` behind
/// it. Not `service`: Loki gives any stream a `service_name`.
const OF_PROGRAM: [&str; 3] = ["process", "container", "application"];
/// Names of fields that have the path of the file in which a line was, and of objects with such a `path`.
const FILES: [&str; 6] = ["filename", "file", "file_path", "log_path", "path", "source"];
/// Names of fields, besides those of journald, that have the date as text.
const DATES: [&str; 4] = ["@timestamp", "timestamp", "ts", "time"];
/// Maximum depth of nested objects.
const DEPTH: usize = 4;

/// A record's message.
#[derive(Debug)]
pub(super) struct Message {
    /// The message alone, or a line with its prefix.
    pub(super) message: String,
    /// Seconds since boot.
    pub(super) at: Option<f64>,
    /// Its date in seconds: it shows the order of records, and is not comparable with dates in lines.
    pub(super) written: Option<f64>,
    /// Whether the record can be of the kernel.
    pub(super) kernel: bool,
    /// Whether the record states that it is of the kernel.
    pub(super) sure: bool,
}

/// The fields of a record that are used.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The message, and the place of its field's name in [`MESSAGE`].
    message: Option<(usize, String)>,
    transport: Option<String>,
    identifier: Option<String>,
    facility: Option<String>,
    /// Whether a field of a log store names a facility other than the kernel's, or a file without the kernel's lines.
    foreign: bool,
    program: Option<String>,
    /// Whether journald names the process that sent it.
    of_process: bool,
    priority: Option<u64>,
    monotonic_us: Option<u64>,
    realtime_us: Option<u64>,
    /// The date as text, of log stores.
    date: Option<String>,
    time: Option<f64>,
}

impl Record {
    /// Stores a field; returns whether it is the message.
    pub(super) fn set(&mut self, name: &str, value: &str) -> bool {
        if let Some(place) = MESSAGE.iter().position(|known| *known == name) {
            let first = self.message.as_ref().is_none_or(|(before, _)| place < *before);
            if first {
                self.message = Some((place, value.to_owned()));
            }
            return first;
        }
        let text = || Some(value.to_owned());
        match name {
            "_TRANSPORT" => self.transport = text(),
            "SYSLOG_IDENTIFIER" => self.identifier = text(),
            "_PID" | "_UID" | "_COMM" | "_EXE" => self.of_process = true,
            "SYSLOG_FACILITY" | "fac" => self.facility = text(),
            "facility"
            | "_facility"
            | "syslog_facility"
            | "facility_label"
            | "facility_name"
            | "log.syslog.facility.name"
            | "log.syslog.facility.code"
            | "facility_num" => self.foreign |= !may_be_the_kernels(value),
            // `transport: stdout`, as Promtail names the field of journald.
            "transport" if TRANSPORTS.contains(&value) => self.transport = text(),
            // `system.user.info`: Fluentd adds the facility and the level to its own name.
            "tag" => {
                let pair = value.rmatch_indices('.').nth(1).and_then(|(at, _)| value.get(at + 1..));
                let facility = pair.and_then(of_pair);
                self.foreign |= facility.is_some_and(|name| !may_be_the_kernels(name));
            }
            "pri" => self.priority = value.parse().ok(),
            "time" if value.trim().parse::<f64>().is_ok() => self.time = value.trim().parse().ok(),
            "_SOURCE_MONOTONIC_TIMESTAMP" => self.monotonic_us = value.parse().ok(),
            "__REALTIME_TIMESTAMP" => self.realtime_us = value.parse().ok(),
            _ if DATES.contains(&name) => self.date = text(),
            _ if is_of_program(name) => self.program = text(),
            _ if is_of_file(name) => {
                self.foreign |= value.starts_with('/') && !is_kernel_log(value);
            }
            _ => {}
        }
        false
    }

    /// The message, if there is one.
    pub(super) fn message(self) -> Option<Message> {
        let (place, text) = self.message?;
        // One record is one message: lines after the first one are foreign text.
        let message = text.lines().next().unwrap_or_default().to_owned();
        // A record that a program writes to /dev/kmsg has the kernel's transport, and another facility.
        let own = self.facility.as_deref().is_none_or(|facility| matches!(facility, "0" | "kern"))
            && self.priority.is_none_or(|priority| priority < 8)
            && !self.foreign;
        let of_journal = match (self.transport.as_deref(), self.identifier.as_deref()) {
            (Some(transport), _) => Some(transport == "kernel"),
            (None, Some(identifier)) => Some(identifier == "kernel"),
            (None, None) => (place == 0).then_some(true),
        };
        // `dmesg --json`.
        let of_dmesg = self.priority.is_some() && self.time.is_some();
        let sure = of_journal == Some(true) || of_dmesg;
        let program = self.program.as_deref().is_some_and(|name| !is_kernel(name));
        let kernel = own
            // A process chooses its name and its facility, and not whether journald names it.
            && !self.of_process
            && (sure || of_journal.is_none())
            // What looks like a prefix in a program's message is the program's.
            && (sure || !program);
        #[allow(clippy::cast_precision_loss)]
        let seconds = |us: u64| us as f64 / 1e6;
        let at = self.monotonic_us.map(seconds).or(self.time.filter(|_| of_dmesg));
        let dated = || wall::of_date(self.date.as_deref()?);
        let written = self.realtime_us.map(seconds).or_else(dated);
        Some(Message { message, at, written, kernel, sure })
    }

    fn object(&mut self, value: &Value, depth: usize, of: &str) {
        let Value::Object(fields) = value else { return };
        for (name, value) in fields {
            match value {
                // `"process": {"name": "app"}`, `"file": {"path": "/var/log/app.log"}`.
                Value::String(text)
                    if matches!(name.as_str(), "name" | "path") && !of.is_empty() =>
                {
                    _ = self.set(&format!("{of}.{name}"), text);
                }
                Value::String(text) => _ = self.set(name, text),
                Value::Number(number) => _ = self.set(name, &number.to_string()),
                // journald writes text that is not UTF-8 as an array of bytes.
                Value::Array(bytes) if name == "MESSAGE" => {
                    let byte =
                        |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
                    let bytes: Vec<u8> = bytes.iter().filter_map(byte).collect();
                    _ = self.set(name, &String::from_utf8_lossy(&bytes));
                }
                Value::Object(parts) if name == "facility" => {
                    let foreign = |part: &Value| match part {
                        Value::String(text) => !may_be_the_kernels(text),
                        Value::Number(number) => !may_be_the_kernels(&number.to_string()),
                        _ => false,
                    };
                    self.foreign |= parts.values().any(foreign);
                }
                Value::Object(_) if depth < DEPTH => self.object(value, depth + 1, name),
                _ => {}
            }
        }
    }
}

/// Transports of journald (`_TRANSPORT` in `systemd.journal-fields(7)`).
const TRANSPORTS: [&str; 6] = ["audit", "driver", "syslog", "journal", "stdout", "kernel"];

/// Whether a field names the program of a line.
fn is_of_program(name: &str) -> bool {
    let name = name.strip_prefix('_').unwrap_or(name);
    let object = name.strip_suffix(".name").or_else(|| name.strip_suffix("_name"));
    PROGRAM.contains(&name) || object.is_some_and(|object| OF_PROGRAM.contains(&object))
}

/// Whether a field names the file in which a line was.
fn is_of_file(name: &str) -> bool {
    let name = name.strip_prefix('_').unwrap_or(name);
    FILES.contains(&name) || matches!(name, "file.path" | "log.file.path")
}

/// Whether a program's name is that of the kernel, as syslog writes it: `kernel`, `kernel:`.
fn is_kernel(program: &str) -> bool {
    let program = program.trim().trim_end_matches(':');
    program.is_empty() || matches!(program.split('[').next(), Some("kernel" | "kern" | "klogd"))
}

/// Whether the facility that a log store names may be the kernel's: a program chooses any name for its own.
fn may_be_the_kernels(facility: &str) -> bool {
    let facility = facility.trim().to_ascii_lowercase();
    let name = facility.split(['.', ' ']).next().unwrap_or_default();
    matches!(name, "" | "-" | "0" | "kern" | "kernel" | "unknown" | "null")
}

/// The message of a line with a record in JSON, if it is one: `{"MESSAGE":...}`, even as an item of a list or after a
/// date and a name.
pub(super) fn message(line: &str) -> Option<Message> {
    let begin = line.find("{\"").filter(|begin| *begin < 96 && may_precede(&line[..*begin]))?;
    let end = line.rfind('}').filter(|end| line.len() - end < 8)?;
    let value: Value = serde_json::from_str(line.get(begin..=end)?).ok()?;
    let mut record = Record::default();
    record.object(&value, 0, "");
    let mut message = record.message()?;
    // After the header of a program.
    message.kernel &= strip(&line[..begin]).kernel != Some(false);
    Some(message)
}

/// Most words that a log store writes between the date and the record: `stdout F `, a stream and a name.
const NAMES: usize = 3;

/// Whether a text may precede a record: marks of a list or a quotation, and dates and names. A message is none: a user can
/// have chosen the rest of it, as of `tmpfs: Unknown parameter '{"MESSAGE":...}'`.
fn may_precede(front: &str) -> bool {
    let stripped = strip(front);
    if stripped.kernel == Some(true) {
        return false;
    }
    let mut rest = stripped.message.trim();
    // `b'`, a quotation around the whole record.
    rest = rest.strip_suffix(['\'', '"', '`']).map_or(rest, |rest| rest.trim_end_matches('b'));
    let mut words = rest.split_whitespace().rev();
    // The name before the record may end in a colon. Another one, or a quotation, is of a message.
    let is_name = |word: &str| !word.ends_with(':') && !word.contains(['\'', '"']);
    let last = words.next().is_none_or(|word| !word.contains(['\'', '"']));
    last && rest.split_whitespace().count() <= NAMES && words.all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_inside_a_message_is_no_record() {
        let object = "{\"MESSAGE\":\"tsc: x\"}";
        for front in [
            "[90000.000000] tmpfs: Unknown parameter '",
            "[90000.000000] ",
            "<6>[90000.000000] usb 1-2: Product: ",
            "usb 1-2: Product: ",
            "tmpfs: Unknown parameter '",
            "tmpfs: Unknown parameter \"",
            "2026-11-30T09:00:00,123456+00:00 usb 1-2: Product: ",
            "Nov 30 09:00:00 db1 kernel: usb 1-2: Product: ",
            "Nov 30 09:00:00 db1 kernel: [90000.000000] usb 1-2: Product: ",
            "[Mon Nov 30 09:00:00 2026] usb 1-2: Product: ",
            "kern  :info  : [90000.000000] usb 1-2: Product: ",
            "6,101,9100000,-;usb 1-2: Product: ",
        ] {
            assert!(message(&format!("{front}{object}")).is_none(), "{front}");
            assert!(message(&format!("{front}{object}'")).is_none(), "{front}");
        }
        for front in [
            "",
            "  ",
            "[",
            "- ",
            "12: ",
            "2026-11-30T09:00:00.123Z stdout F ",
            "2026-11-30T09:00:00.123Z web-1 ",
            "web_1  | ",
            "b'",
            "'",
            "> ",
            "kern.log:",
        ] {
            assert!(message(&format!("{front}{object}")).is_some(), "{front}");
        }
    }

    #[test]
    fn one_record_is_one_message_of_the_kernel() {
        let record = |more: &str| {
            format!("{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"tmpfs: x\\ntsc: y\"{more}}}")
        };
        let read = message(&record("")).unwrap();
        assert_eq!((read.message.as_str(), read.kernel), ("tmpfs: x", true));
        assert!(message(&record(",\"SYSLOG_FACILITY\":\"0\"")).unwrap().kernel);
        assert!(!message(&record(",\"SYSLOG_FACILITY\":\"1\"")).unwrap().kernel);
    }

    #[test]
    fn records_of_programs_are_not_the_kernels() {
        for other in [
            "{\"_TRANSPORT\":\"stdout\",\"MESSAGE\":\"tsc: x\"}",
            "{\"SYSLOG_IDENTIFIER\":\"tuned\",\"MESSAGE\":\"tsc: x\"}",
            "{\"program\":\"tuned\",\"message\":\"tsc: x\"}",
            "{\"SYSLOG_IDENTIFIER\":\"kernel\",\"_PID\":\"7\",\"MESSAGE\":\"tsc: x\"}",
            "{\"short_message\":\"[ 1.000000] tsc: x\",\"_facility\":\"user\"}",
            "{\"facility\":\"user-level\",\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"facility\":3,\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"log\":{\"syslog\":{\"facility\":{\"name\":\"user\"}}},\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"log.syslog.facility.name\":\"user\",\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"log\":{\"syslog\":{\"facility\":{\"code\":1}}},\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"pri\":12,\"time\":1.000000,\"msg\":\"tsc: x\"}",
            "{\"process\":{\"name\":\"app\"},\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"process.name\":\"app\",\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"container\":{\"id\":\"1\",\"name\":\"web\"},\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"log\":{\"syslog\":{\"appname\":\"app\"}},\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"log\":{\"file\":{\"path\":\"/tmp/app.log\"}},\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"labels\":{\"filename\":\"/srv/app.log\"},\"line\":\"[ 1.000000] tsc: x\"}",
            "{\"labels\":{\"transport\":\"stdout\"},\"line\":\"[ 1.000000] tsc: x\"}",
            "{\"tag\":\"system.user.info\",\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"ident\":\"kernelx\",\"message\":\"[ 1.000000] tsc: x\"}",
            "{\"short_message\":\"[ 1.000000] tsc: x\",\"facility\":\"gelf-rb\"}",
            "{\"short_message\":\"[ 1.000000] tsc: x\",\"_application_name\":\"app\"}",
        ] {
            assert!(!message(other).unwrap().kernel, "{other}");
        }
        let bytes = message("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[116,115,99]}").unwrap();
        assert_eq!((bytes.message.as_str(), bytes.sure), ("tsc", true));
        for own in [
            "\"facility\":\"kern\"",
            "\"_facility\":0",
            "\"log\":{\"syslog\":{\"facility\":{\"name\":\"kernel\",\"code\":0},\"appname\":\"kernel\"}}",
            "\"process\":{\"name\":\"kernel\"}",
            "\"log\":{\"file\":{\"path\":\"/var/log/kern.log\"}}",
            "\"labels\":{\"filename\":\"/var/log/messages\",\"job\":\"varlogs\"}",
            "\"tag\":\"system.kern.info\",\"ident\":\"kernel\"",
            "\"source\":\"web-1\",\"syslogtag\":\"kernel:\"",
        ] {
            assert!(
                message(&format!("{{{own},\"message\":\"[ 1.000000] tsc: x\"}}")).unwrap().kernel,
                "{own}"
            );
        }
        let inside = message("{\"jsonPayload\":{\"message\":\"tsc: x\"}}").unwrap();
        assert!(inside.kernel && !inside.sure);
        assert!(message("{\"a\":1}").is_none() && message("{x}").is_none());
    }
}
