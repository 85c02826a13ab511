//! Shapes in which lines depend on each other, or on the text.

use super::{Line, each, lines};
use std::fmt::Write;

/// The name of a shape, and its function for a log.
type Text = (&'static str, fn(&[Line]) -> Vec<u8>);

/// Shapes of a whole text.
pub(super) const TEXTS: &[Text] = &[
    ("JIRA", |all| format!("{{noformat}}\n{}{{noformat}}\n", lines(all)).into()),
    ("JIRA, beside the first line", |all| format!("{{code:none}}{}{{code}}\n", lines(all)).into()),
    ("fence", |all| format!("Hello,\n```text\n{}```\nThanks\n", lines(all)).into()),
    ("fence in a quotation", |all| {
        each(all, |l| format!("> {}", l.printk())).replacen("> ", "> ```\n> ", 1).into()
    }),
    ("HTML", |all| {
        let text = lines(all).replace('&', "&amp;").replace('<', "&lt;");
        format!("<html><body><pre>{text}</pre></body></html>").into()
    }),
    ("HTML, numbered", |all| {
        let row = |l: &Line| {
            let text = l.printk().replace('<', "&lt;");
            format!("<tr><td class=\"n\">{}</td><td>{text}</td></tr>", l.n)
        };
        format!("<table>{}</table>", each(all, row)).into()
    }),
    ("Windows", |all| lines(all).replace('\n', "\r\n").into()),
    ("Macintosh", |all| lines(all).replace('\n', "\r").into()),
    ("byte order mark", |all| format!("\u{feff}{}", lines(all)).into()),
    ("UTF-16", |all| {
        let text = format!("\u{feff}{}", lines(all).replace('\n', "\r\n"));
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }),
    ("UTF-16 without a mark", |all| lines(all).encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ("wrapped at 72", |all| each(all, |l| wrapped(&l.printk(), 72)).into()),
    ("wrapped at 72, quoted", |all| {
        each(all, |l| format!("> {}", wrapped(&l.printk(), 72).replace('\n', "\n> "))).into()
    }),
    ("mail in quoted-printable", |all| {
        // Soft line breaks at 76 columns (RFC 2045, section 6.7).
        let lines = each(all, |l| {
            format!("touko 05 07:25:{:02} web kernel: {}", l.second(), l.text).replace('=', "=3D")
        });
        let soft = |line: &str| {
            line.as_bytes().chunks(75).map(String::from_utf8_lossy).collect::<Vec<_>>().join("=\n")
        };
        lines.lines().map(|line| soft(line) + "\n").collect::<String>().into()
    }),
    ("wrapped by a terminal", |all| each(all, |l| broken(&l.printk(), 80)).into()),
    ("two lines for one", |all| lines(all).replace('\n', "\n\n").into()),
    ("journalctl -o export", |all| {
        each(all, |l| {
            format!(
                "__CURSOR=s=0;i={:x}\n_BOOT_ID=0\n_TRANSPORT=kernel\nSYSLOG_FACILITY=0\nPRIORITY={}\n_SOURCE_MONOTONIC_TIMESTAMP={}\nMESSAGE={}\n_HOSTNAME=web\n",
                l.n, l.level, l.us, l.text
            )
        })
        .into()
    }),
    ("journalctl -o verbose", |all| {
        each(all, |l| {
            format!(
                "Tue 2024-03-05 07:25:{:02}.{:06} UTC [s=0;i={:x};b=0;m=0;t=0;x=0]\n    PRIORITY={}\n    _TRANSPORT=kernel\n    SYSLOG_FACILITY=0\n    SYSLOG_IDENTIFIER=kernel\n    _SOURCE_MONOTONIC_TIMESTAMP={}\n    MESSAGE={}",
                l.second(), l.micros(), l.n, l.level, l.us, l.text
            )
        })
        .into()
    }),
    ("journalctl -o json-pretty", |all| {
        each(all, |l| {
            format!(
                "{{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"SYSLOG_FACILITY\" : \"0\",\n\t\"PRIORITY\" : \"{}\",\n\t\"MESSAGE\" : {},\n\t\"_SOURCE_MONOTONIC_TIMESTAMP\" : \"{}\"\n}}",
                l.level, l.json(), l.us
            )
        })
        .into()
    }),
    ("dmesg --json", |all| {
        let row = |l: &Line| {
            format!(
                "      {{\n         \"pri\": {},\n         \"time\": {},\n         \"msg\": {}\n      }}",
                l.level,
                l.at(),
                l.json()
            )
        };
        let rows: Vec<String> = all.iter().map(row).collect();
        format!("{{\n   \"dmesg\": [\n{}\n   ]\n}}\n", rows.join(",").replace(",      {", ",{"))
            .into()
    }),
    ("console output of EC2, JSON", |all| {
        let text = serde_json::to_string(&lines(all).replace('\n', "\r\n")).unwrap();
        format!("{{\n    \"InstanceId\": \"i-0123456789abcdef0\",\n    \"Output\": {text},\n    \"Timestamp\": \"2024-03-05T07:26:00+00:00\"\n}}\n").into()
    }),
    ("boot diagnostics of Azure, JSON", |all| {
        serde_json::to_string(&lines(all).replace('\n', "\r\n")).unwrap().into()
    }),
];

/// Wraps a line like a mailer: at blanks.
fn wrapped(line: &str, columns: usize) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while rest.len() > columns {
        let Some(at) = rest[..columns].trim_end().rfind(' ').filter(|at| *at > 15) else { break };
        let _ = writeln!(out, "{}", rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    out + rest
}

/// Wraps a line like a terminal: inside words.
fn broken(line: &str, columns: usize) -> String {
    let parts: Vec<&str> =
        line.as_bytes().chunks(columns).map(|part| std::str::from_utf8(part).unwrap()).collect();
    parts.join("\n")
}
