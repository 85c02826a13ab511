//! One line of `journalctl -o json`.

use serde::Deserialize;

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "MESSAGE")]
    message: Option<Text>,
    #[serde(rename = "SYSLOG_IDENTIFIER")]
    identifier: Option<String>,
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
    let kernel = match (record.transport.as_deref(), record.identifier.as_deref()) {
        (Some(transport), _) => transport == "kernel",
        (None, Some(identifier)) => identifier == "kernel",
        (None, None) => true,
    };
    #[allow(clippy::cast_precision_loss)]
    let at =
        record.source_monotonic.and_then(|us| us.parse::<u64>().ok()).map(|us| us as f64 / 1e6);
    Some(Message { message, at, kernel })
}
