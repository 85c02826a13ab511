//! What a guest's configuration says of its TSC: no more than is needed to know where it can go.

use clocksmith_facts::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// Who starts and moves the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// libvirt.
    Libvirt,
    /// QEMU, by its own command line.
    Qemu,
    /// Not known.
    Unknown,
}

/// A TSC frequency that the configuration sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Frequency {
    /// In Hz.
    Set(u64),
    /// It sets none.
    Absent,
    /// What is known of the guest does not say.
    Unknown,
}

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Guest {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Who moves it.
    pub manager: Manager,
    /// Whether it has `invtsc`: it may believe that its TSC never changes its rate.
    pub invtsc: Option<bool>,
    /// Its TSC's frequency.
    pub frequency: Frequency,
}

/// Why a text tells of no guest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GuestError {
    /// Not one of the kinds.
    #[error(
        "it is neither a libvirt domain (`virsh dumpxml GUEST`) nor a QEMU command line with -cpu. \
         `--frequency HZ --invtsc` instead of a file describes a guest, too"
    )]
    Kind,
    /// A kind that is understood, and broken.
    #[error("{0}")]
    Broken(String),
}

/// Reads a guest from a text; which kind it is shows in it.
///
/// # Errors
/// It is of no kind that is understood.
pub fn parse(text: &str) -> Result<Guest, GuestError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('<') { clock_of_domain(text) } else { clock_of_qemu(text) }
}

/// The clock of a libvirt domain.
///
/// `invtsc` comes with `<feature name='invtsc'>`, or with all that the host has when a CPU is passed
/// through with `migratable='off'` (the default is on). The frequency is `<timer name='tsc'
/// frequency='Hz'>`. A `-cpu` in `<qemu:commandline>` replaces all that libvirt says, as the last of
/// QEMU's options counts; libvirt's own refusals go by its own elements all the same.
///
/// # Errors
/// No XML, or no domain.
pub fn clock_of_domain(text: &str) -> Result<Guest, GuestError> {
    let options = roxmltree::ParsingOptions { nodes_limit: 200_000, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options)
        .map_err(|error| GuestError::Broken(format!("this XML cannot be read: {error}")))?;
    let root = document.root_element();
    // `virsh snapshot-dumpxml` and saved configurations wrap it.
    let domain = root.descendants().find(|node| node.has_tag_name("domain"));
    let Some(domain) = domain else { return Err(GuestError::Kind) };
    let mut guest = Guest {
        name: None,
        manager: Manager::Libvirt,
        invtsc: Some(false),
        frequency: Frequency::Absent,
    };
    for child in domain.children() {
        match child.tag_name().name() {
            "name" => guest.name = child.text().map(|name| name.trim().to_owned()),
            "cpu" => {
                let passed =
                    matches!(child.attribute("mode"), Some("host-passthrough" | "maximum"));
                let off = child.attribute("migratable") == Some("off");
                guest.invtsc = Some(passed && off);
                let invtsc = |node: &roxmltree::Node<'_, '_>| {
                    node.has_tag_name("feature") && node.attribute("name") == Some("invtsc")
                };
                if let Some(feature) = child.children().find(invtsc) {
                    guest.invtsc = match feature.attribute("policy") {
                        Some("disable" | "forbid") => Some(false),
                        // Whether the host had it when the guest was started.
                        Some("optional") => None,
                        _ => Some(true),
                    };
                }
            }
            "clock" => {
                let tsc = child.children().find(|timer| {
                    timer.has_tag_name("timer") && timer.attribute("name") == Some("tsc")
                });
                if let Some(hz) = tsc.and_then(|timer| timer.attribute("frequency")) {
                    guest.frequency = set(hz, hz.trim().parse().ok())?;
                }
            }
            _ => {}
        }
    }
    let passed: Vec<&str> = domain
        .children()
        .filter(|node| node.tag_name().name() == "commandline")
        .flat_map(|node| node.children())
        .filter(|node| node.tag_name().name() == "arg")
        .filter_map(|node| node.attribute("value"))
        .collect();
    if let Some(cpu) = last_cpu(passed.into_iter()) {
        let raw = clock_of_cpu(cpu)?;
        // libvirt looks at its own XML, QEMU at the last -cpu: with either having it, somebody minds.
        if raw.invtsc != Some(false) {
            guest.invtsc = raw.invtsc;
        }
        if guest.frequency == Frequency::Absent && guest.invtsc == Some(false) {
            guest.frequency = raw.frequency;
        }
    }
    Ok(guest)
}

/// The clock of a QEMU command line, alone or in a script.
///
/// # Errors
/// There is no `-cpu` in it, or a frequency that is none.
pub fn clock_of_qemu(text: &str) -> Result<Guest, GuestError> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '\0' | '\'' | '"'));
    let words = words.filter(|word| !word.is_empty());
    let cpu = last_cpu(words).ok_or(GuestError::Kind)?;
    clock_of_cpu(cpu)
}

fn last_cpu<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut last = None;
    let mut is_value = false;
    for word in words {
        if is_value {
            last = Some(word);
        }
        is_value = matches!(word, "-cpu" | "--cpu");
    }
    last
}

/// The clock of a value of `-cpu`.
///
/// `+feature` and `-feature` count after `feature=on`, whatever their order
/// (`x86_cpu_parse_featurestr()`, QEMU 2.9 to 10.0); `invtsc` is no migratable feature, so `host` and
/// `max` have it only with `migratable=off`, or by name.
///
/// # Errors
/// A frequency that is none.
pub fn clock_of_cpu(value: &str) -> Result<Guest, GuestError> {
    let mut words = value.split(',');
    let model = words.next().unwrap_or_default();
    let (mut plus, mut minus, mut named, mut migratable) = (false, false, None, true);
    let mut frequency = Frequency::Absent;
    for word in words {
        match word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value))) {
            ("+invtsc", None) => plus = true,
            ("-invtsc", None) => minus = true,
            ("invtsc", value) => named = Some(value.is_none_or(on)),
            ("migratable", Some(value)) => migratable = on(value),
            ("tsc-frequency", Some(text)) => {
                let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16).ok());
                frequency = set(text, hex.unwrap_or_else(|| text.parse().ok()))?;
            }
            ("tsc-freq", Some(text)) => frequency = set(text, metric(text))?,
            _ => {}
        }
    }
    let whole = matches!(model, "host" | "max") && !migratable;
    let invtsc = !minus && (plus || named.unwrap_or(whole));
    Ok(Guest { name: None, manager: Manager::Qemu, invtsc: Some(invtsc), frequency })
}

fn on(value: &str) -> bool {
    matches!(value, "on" | "yes" | "true" | "y")
}

/// `2.5G`, as QEMU reads it (`qemu_strtosz_metric()`), in Hz.
fn metric(text: &str) -> Option<u64> {
    let (digits, zeros) = match text.as_bytes().last()? {
        b'k' | b'K' => (text.get(..text.len() - 1)?, 3),
        b'm' | b'M' => (text.get(..text.len() - 1)?, 6),
        b'g' | b'G' => (text.get(..text.len() - 1)?, 9),
        b't' | b'T' => (text.get(..text.len() - 1)?, 12),
        _ => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value: u64 = whole.parse().ok()?;
    let mut part = part.bytes();
    for _ in 0..zeros {
        let digit = part.next().map_or(Some(0), |byte| (byte as char).to_digit(10))?;
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

fn set(text: &str, hz: Option<u64>) -> Result<Frequency, GuestError> {
    match hz {
        // QEMU takes 0 for none.
        Some(0) => Ok(Frequency::Absent),
        Some(hz) if (super::host::MIN_HZ..=super::host::MAX_HZ).contains(&hz) => {
            Ok(Frequency::Set(hz))
        }
        _ => {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
            Err(GuestError::Broken(format!(
                "its TSC frequency \"{shown}\" is none that a processor has: it is given in Hz, \
                 such as 2500000000"
            )))
        }
    }
}

/// What a running guest tells: whether it has `invtsc`. Whether its frequency was set cannot be seen
/// from inside.
#[must_use]
pub fn of_facts(facts: &Facts) -> Guest {
    let invtsc = facts.cpu.flags.value().map(|flags| flags.has("nonstop_tsc"));
    Guest { name: None, manager: Manager::Unknown, invtsc, frequency: Frequency::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn domain(inside: &str) -> Guest {
        let namespace = "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'";
        let xml = format!("<domain type='kvm' {namespace}><name>db</name>{inside}</domain>");
        clock_of_domain(&xml).unwrap()
    }

    #[test]
    fn domains_get_invtsc_by_name_or_with_the_whole_host() {
        for (inside, invtsc) in [
            ("", Some(false)),
            ("<cpu mode='host-passthrough'/>", Some(false)),
            ("<cpu mode='host-passthrough' migratable='off'/>", Some(true)),
            ("<cpu mode='host-model' migratable='off'/>", Some(false)),
            ("<cpu><feature policy='require' name='invtsc'/></cpu>", Some(true)),
            ("<cpu><feature name='invtsc'/></cpu>", Some(true)),
            ("<cpu><feature policy='optional' name='invtsc'/></cpu>", None),
            (
                "<cpu mode='host-passthrough' migratable='off'><feature policy='disable' \
                 name='invtsc'/></cpu>",
                Some(false),
            ),
            (
                "<cpu/><qemu:commandline><qemu:arg value='-cpu'/><qemu:arg value='host,+invtsc'/>\
                 </qemu:commandline>",
                Some(true),
            ),
        ] {
            let guest = domain(inside);
            assert_eq!(guest.invtsc, invtsc, "{inside}");
            assert_eq!(guest.frequency, Frequency::Absent);
            assert_eq!(guest.name.as_deref(), Some("db"));
        }
        let timer = "<clock offset='utc'><timer name='hpet' frequency='1'/><timer name='tsc' \
                     frequency='2397223000' mode='native'/></clock>";
        assert_eq!(domain(timer).frequency, Frequency::Set(2_397_223_000));
    }

    #[test]
    fn command_lines() {
        for (line, invtsc, frequency) in [
            ("qemu -cpu host", false, Frequency::Absent),
            ("-cpu host,migratable=off", true, Frequency::Absent),
            ("-cpu Skylake-Server,migratable=off", false, Frequency::Absent),
            ("-cpu host,+invtsc,tsc-frequency=2500000000", true, Frequency::Set(2_500_000_000)),
            ("-cpu 'host,tsc-freq=2.5G,invtsc=on'", true, Frequency::Set(2_500_000_000)),
            ("-cpu host,invtsc=on,-invtsc", false, Frequency::Absent),
            ("-cpu host,+invtsc -m 1G -cpu qemu64", false, Frequency::Absent),
            ("-cpu max,migratable=no,tsc-frequency=0", true, Frequency::Absent),
        ] {
            let guest = parse(line).unwrap();
            assert_eq!((guest.invtsc, guest.frequency), (Some(invtsc), frequency), "{line}");
        }
        assert_eq!(parse("#!/bin/sh\necho hello"), Err(GuestError::Kind));
        assert!(matches!(parse("-cpu host,tsc-frequency=2500000"), Err(GuestError::Broken(_))));
        assert!(matches!(parse("<capabilities/>"), Err(GuestError::Kind)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_guest_or_an_error(text in "(?s)(<domain|-cpu )?.{0,200}") {
            let _ = parse(&text);
        }
    }
}
