//! One line of `journalctl -o json`.

use serde::Deserialize;

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "MESSAGE")]
    message: Option<Text>,
    #[serde(rename = "SYSLOG_IDENTIFIER")]
    identifier: Option<String>,
    #[serde(rename = "SYSLOG_FACILITY")]
    facility: Option<String>,
    #[serde(rename = "_TRANSPORT")]
    transport: Option<String>,
    #[serde(rename = "_SOURCE_MONOTONIC_TIMESTAMP")]
    source_monotonic: Option<String>,
}

/// journald writes text that is not UTF-8 as an array of bytes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Bytes(Vec<u8>),
}

/// A journal record's message.
pub(super) struct Message {
    pub(super) message: String,
    pub(super) at: Option<f64>,
    pub(super) kernel: bool,
}

/// The message of a JSON record, if the line is one.
pub(super) fn message(line: &str) -> Option<Message> {
    let record: Record = serde_json::from_str(line).ok()?;
    let message = match record.message? {
        Text::Plain(text) => text,
        Text::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    // What a program writes to /dev/kmsg has the kernel's transport, and a facility of its own.
    let own = record.facility.as_deref().is_none_or(|facility| facility == "0");
    let kernel = own
        && match (record.transport.as_deref(), record.identifier.as_deref()) {
            (Some(transport), _) => transport == "kernel",
            (None, Some(identifier)) => identifier == "kernel",
            (None, None) => true,
        };
    // One record is one message: lines behind its first are text that something put there.
    let message = message.lines().next().unwrap_or_default().to_owned();
    #[allow(clippy::cast_precision_loss)]
    let at =
        record.source_monotonic.and_then(|us| us.parse::<u64>().ok()).map(|us| us as f64 / 1e6);
    Some(Message { message, at, kernel })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
