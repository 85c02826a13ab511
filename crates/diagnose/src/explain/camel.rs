//! Names in camel case about a clock's fault as the words that they consist of: `JWTIssuedAtFuture`, `HostClockSkewDetected`. Alerts and
//! errors are called so, and such a name is often the only thing that a text says of the fault.

/// The least number of words in a name; settings (`ClockSkew`) have fewer.
const LEAST: usize = 3;

/// Words of what such a name is about.
const NOUNS: [&str; 12] = [
    "clock",
    "clocks",
    "time",
    "ntp",
    "chrony",
    "jwt",
    "token",
    "certificate",
    "cert",
    "timestamp",
    "timesync",
    "rtc",
];
/// Beginnings of words for its fault.
const FAULTS: [&str; 12] = [
    "skew",
    "future",
    "synchroni",
    "sync",
    "unsync",
    "drift",
    "behind",
    "ahead",
    "yet",
    "wrong",
    "backward",
    "jump",
];
/// Words of names of settings and of functions.
const SETTINGS: [&str; 22] = [
    "allowed",
    "max",
    "min",
    "maximum",
    "minimum",
    "allowance",
    "tolerance",
    "tolerated",
    "correction",
    "config",
    "setting",
    "settings",
    "limit",
    "threshold",
    "default",
    "option",
    "enable",
    "get",
    "set",
    "service",
    "provider",
    "client",
];

/// A text where such names are words.
pub(super) fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_uppercase()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(from.len());
        let (name, after) = from.split_at(end);
        let inside = before.chars().next_back().or(out.chars().next_back()).is_some_and(is_inside);
        let words = if inside { Vec::new() } else { words(name) };
        if is_fault(&words) {
            out.push_str(&words.join(" "));
        } else {
            out.push_str(name);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a character before a name shows that it is a part of another one.
fn is_inside(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '$')
}

/// `JWTIssuedAtFuture`: `JWT`, `Issued`, `At`, `Future`.
fn words(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    for at in 1..bytes.len() {
        let rises = bytes[at].is_ascii_uppercase() && !bytes[at - 1].is_ascii_uppercase();
        // The last capital letter of an acronym begins the next word.
        let ends = bytes[at].is_ascii_uppercase()
            && bytes[at - 1].is_ascii_uppercase()
            && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        if rises || ends {
            found.push(&name[from..at]);
            from = at;
        }
    }
    found.push(&name[from..]);
    found
}

fn is_fault(words: &[&str]) -> bool {
    let small: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let any = |list: &[&str]| small.iter().any(|word| list.contains(&word.as_str()));
    let fault = small.iter().any(|word| FAULTS.iter().any(|fault| word.starts_with(fault)));
    small.len() >= LEAST && fault && any(&NOUNS) && !any(&SETTINGS)
}

#[cfg(test)]
mod tests {
    use super::spelled;

    #[test]
    fn names_of_faults_are_words() {
        for (text, words) in [
            ("error: JWTIssuedAtFuture, again", "error: JWT Issued At Future, again"),
            (
                "the alert HostClockNotSynchronising fires",
                "the alert Host Clock Not Synchronising fires",
            ),
            ("(TokenNotYetValid)", "(Token Not Yet Valid)"),
            ("NodeNTPDriftHigh", "Node NTP Drift High"),
        ] {
            assert_eq!(spelled(text), words);
        }
    }

    #[test]
    fn other_names() {
        for text in [
            "ClockSkew = TimeSpan.Zero",
            "opts.AllowedClockSkew, MaxClockDriftSeconds",
            "TimeSyncService::new",
            "System.currentTimeMillis and QueryPerformanceCounter",
            "RequestTime",
            "\u{c4}rger mit NTP",
            "/src/ClockDriftMonitorTest",
            "",
        ] {
            assert_eq!(spelled(text), text);
        }
    }
}
