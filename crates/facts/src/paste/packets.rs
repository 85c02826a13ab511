//! Packets of NTP that a capture shows (`tcpdump port 123`): whether a server answers.

use super::{Page, Reader, discipline};
use crate::wall::{Remark, TimeSource, What};

pub(super) const READER: Reader = Reader { name: "tcpdump", words: &["NTPv"], read };

/// Maximum number of lines of a capture.
const LINES: usize = 2000;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// A packet of NTP.
struct Packet {
    /// Seconds since midnight.
    at_s: f64,
    /// From a client to a server.
    asks: bool,
}

/// `19:42:14.885041 wlp2s0 Out IP 192.0.2.11.59610 > 192.0.2.12.123: NTPv4, Client, length 48`.
fn packet(line: &str) -> Option<Packet> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let protocol = words.iter().take(4).position(|word| matches!(*word, "IP" | "IP6"))?;
    if words.get(protocol + 2) != Some(&">") {
        return None;
    }
    let ntp = words.iter().position(|word| word.starts_with("NTPv"))?;
    let asks = match *words.get(ntp + 1)? {
        "Client," => true,
        "Server," => false,
        _ => return None,
    };
    let mut parts = words.first()?.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let at_s = (hours * 60.0 + minutes) * 60.0 + seconds;
    ((0.0..DAY_S).contains(&at_s) && protocol > 0).then_some(Packet { at_s, asks })
}

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let Some(first) = packet(page.line(at)) else { return 0 };
    let is_known = |what: &What| matches!(what, What::Packets { .. });
    if page.told.source.value().is_some_and(|told| told.remarks_of(is_known).count() > 0) {
        return 1;
    }
    let all: Vec<Packet> =
        (at..page.len().min(at + LINES)).filter_map(|number| packet(page.line(number))).collect();
    let count =
        |asks| u32::try_from(all.iter().filter(|one| one.asks == asks).count()).unwrap_or(u32::MAX);
    let last = all.iter().rev().find(|one| one.asks).map_or(first.at_s, |one| one.at_s);
    let over_s = (last - first.at_s).rem_euclid(DAY_S);
    let what = What::Packets { asked: count(true), answered: count(false), over_s };
    let remark = Remark { what, program: "tcpdump", source: page.source(at) };
    discipline::add(page, at, TimeSource { remarks: vec![remark], ..TimeSource::default() });
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packets_of_both_ways_are_counted() {
        let text = "09:17:09.500000 IP 192.0.2.1.32887 > 192.0.2.9.123: NTPv4, Client, length 48\n\
                    09:17:09.750000 IP 192.0.2.9.123 > 192.0.2.1.32887: NTPv4, Server, length 48\n\
                    09:17:30.500000 eth0 Out IP 192.0.2.1.32887 > 192.0.2.9.123: NTPv4, Client, length 48\n";
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let read = super::super::Pasted::read(&lines, "text");
        let told = read.told.source.value().cloned().unwrap();
        assert_eq!(told.remarks.len(), 1);
        assert_eq!(told.remarks[0].what, What::Packets { asked: 2, answered: 1, over_s: 21.0 });
    }

    #[test]
    fn other_lines_are_no_packets() {
        for line in [
            "18:16:40.641317 rule 2/0(match): pass out on tun0: 192.0.2.1.123 > 192.0.2.9.123: NTPv4, Client, length 48",
            "the line `NTPv4, Client, length 48` is a request",
            "{\"client request\", 48, \"NTPv4, Client, length 48\"},",
        ] {
            assert!(packet(line).is_none(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,80}") {
            let _ = packet(&text);
            let _ = packet(&format!("1:2:3 IP a > b: NTPv4, {text}"));
        }
    }
}
