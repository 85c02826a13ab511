//! libvirt domains in Nix, as NixVirt writes them: `writeXML { type = "kvm"; clock.timer = [ { name = "hpet"; present = true; } ]; }`.
//!
//! They are judged, and never edited: functions of Nix may change them afterwards. Source: NixVirt, lib/domain.nix, and the
//! names of libvirt's own elements.

use super::made::{Made, Pairs};
use super::nix_set::{Item, Value, around, set};
use crate::document::Document;
use crate::finding::Severity;
use crate::guest::Guest;
use crate::inner::together;
use crate::lint::Report;
use crate::words::listed;
use std::ops::Range;

/// The limit of timers that are read.
const MOST: usize = 64;
/// The limit of domains that are read.
const MOST_DOMAINS: usize = 16;
/// The attributes of a timer.
const NAMES: &str = "name present tickpolicy track mode frequency";
/// The types of domains (libvirt, src/conf/domain_conf.c, virDomainVirt).
const TYPES: &str =
    "kvm qemu kqemu xen hvf lxc uml openvz test vmware hyperv vbox phyp parallels bhyve vz ch";
/// The names of timers.
const TIMERS: &str = "platform hpet kvmclock pit rtc tsc hypervclock armvtimer";
/// What is found about a guest whose name is an expression, and may be that of a Windows.
const OF_NAME: &str = "lv-no-invtsc lv-tickpolicy-catchup-linux";
/// Functions that make a domain of a set.
const WRITES: [&str; 3] = ["domain.writeXML", "domain.getXML", "domain.toXML"];
/// The reason why nothing is changed.
const LEFT: &str = "a function of Nix may change the set afterwards";
/// What is found because something is missing, if the CPU is an expression.
const OF_CPU: &str =
    "lv-kvmclock-off-no-invtsc lv-no-invtsc lv-migratable-default lv-frequency-without-invtsc";
/// The same, if the clock is one.
const OF_CLOCK: &str =
    "lv-hpet-default-on lv-hypervclock-missing lv-reenlightenment-no-freq lv-invtsc-no-freq";

/// Returns the findings about the domains of a file of Nix; `None` if it has none.
pub(crate) fn judge(document: &Document) -> Option<Report> {
    let text = document.text.as_str();
    let domains = domains(text);
    let timers = timers(text);
    if !domains.is_empty() {
        let of = |domain: &Item| {
            // The clock of the only domain may be beside it: `let clock = { ... }; in { inherit clock; }`.
            let beside = domains.len() == 1 && domain.at(&["clock"]).is_some_and(Item::is_open);
            let own = |(_, at): &&(Pairs, Range<usize>)| beside || domain.span.contains(&at.start);
            whole(document, domain, timers.iter().filter(own).cloned().collect())
        };
        return together(domains.iter().filter_map(of));
    }
    let (_, first) = timers.first()?;
    let mut made = Made { whole: first.clone(), part: true, ..Made::default() };
    made.timers = timers;
    // The system of a machine is not in its clock.
    let guest = document.guest.unwrap_or(Guest::Unknown);
    made.declared = Some(guest).filter(|guest| *guest != Guest::Unknown);
    let mut report = made.judge(&document.with_guest(Some(guest)), say).ok()?;
    // The CPU is not read here: its flags may be in another attribute, or in arguments of QEMU.
    report.findings.retain(|finding| finding.rule.id != "lv-kvmclock-off-no-invtsc");
    Some(report)
}

/// Returns the findings about one domain.
fn whole(document: &Document, domain: &Item, timers: Vec<(Pairs, Range<usize>)>) -> Option<Report> {
    let text = document.text.slice(domain.span.clone());
    let mut made = Made { whole: start(domain), timers, ..Made::default() };
    describe(&mut made, domain, text);
    made.hint = named_elsewhere(document.text.as_str(), domain);
    let mut report = made.judge(document, say).ok()?;
    report.partial = true;
    let open = |name: &str| domain.at(&[name]).is_some_and(Item::is_open);
    let cpu = open("cpu") || has_arguments(text);
    // Another set may have what is missing: `base // { ... }`.
    let merged = is_merged(document.text.as_str(), &domain.span);
    let cpu = cpu || merged;
    let clock = open("clock") || merged;
    let name = open("name") && report.guest == Guest::Unknown;
    let hyperv = domain.at(&["features", "hyperv", "mode"]);
    let passes = hyperv.is_some_and(|mode| mode.text() != Some("custom"));
    report.findings.retain(|finding| {
        let id = finding.rule.id;
        !(cpu && listed(OF_CPU, id)
            || clock && listed(OF_CLOCK, id)
            || name && listed(OF_NAME, id)
            || passes && id == "lv-hypervclock-missing")
    });
    for finding in &mut report.findings {
        if finding.severity > Severity::Info && finding.fix.is_some() && finding.left.is_none() {
            finding.left = Some(LEFT.to_owned());
        }
    }
    Some(report)
}

/// Whether an operator merges a set with another one.
fn is_merged(text: &str, span: &Range<usize>) -> bool {
    let front = text.get(..span.start).unwrap_or_default().trim_end();
    let back = text.get(span.end..).unwrap_or_default().trim_start();
    let front = front.strip_suffix("rec").unwrap_or(front).trim_end();
    front.ends_with("//") || back.starts_with("//")
}

/// The name of a domain that another line of the file gives: `let name = "win11"; in { inherit name; }`. Another line may
/// give another one, so it is a hint.
fn named_elsewhere(text: &str, domain: &Item) -> Option<String> {
    let item = domain.at(&["name"]).filter(|it| it.is_open())?;
    let written = text.get(item.span.clone()).unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-'".contains(c);
    // What is inherited, or the variable that is the value.
    let variable = match written {
        it if !it.is_empty()
            && it.chars().all(plain)
            && !it.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            it
        }
        it if it.starts_with(['"', '(']) => return None,
        _ => "name",
    };
    let mut values = text.match_indices(variable).take(MOST).filter_map(|(at, _)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let own =
            !domain.span.contains(&at) && before.is_none_or(|c| c.is_whitespace() || c == '{');
        let value = text.get(at + variable.len()..)?.trim_start().strip_prefix('=')?;
        let value = value.trim_start().strip_prefix('"')?.split('"').next()?;
        (own && !value.contains("${") && !listed(TIMERS, value)).then(|| value.to_owned())
    });
    let first = values.next()?;
    values.all(|it| it == first).then_some(first)
}

/// The place where a domain begins.
fn start(domain: &Item) -> Range<usize> {
    domain.span.start..domain.span.start + 1
}

/// Returns whether a text has such a domain, or timers of one.
pub(crate) fn any(text: &str) -> bool {
    !timers(text).is_empty() || !domains(text).is_empty()
}

/// Returns whether a domain is the machine of a file, whatever else the file sets. A `-cpu` among the arguments of QEMU is
/// judged with the rules of a command line.
pub(crate) fn decides(text: &str) -> bool {
    let flags = has_arguments(text) && text.contains("\"-cpu\"");
    !flags && !domains(text).is_empty()
}

/// Whether a domain may have arguments of QEMU, besides its own elements.
fn has_arguments(text: &str) -> bool {
    text.contains("qemu-commandline") || text.contains("qemu:commandline")
}

/// Returns the sets of domains: the arguments of functions that write them, or the set with a clock.
fn domains(text: &str) -> Vec<Item> {
    let calls = WRITES.iter().flat_map(|name| text.match_indices(name));
    let arguments = calls.take(MOST_DOMAINS).filter_map(|(at, name)| {
        let rest = text.get(at + name.len()..)?;
        let bare = rest.trim_start();
        bare.starts_with('{').then(|| text.len() - bare.len())
    });
    let mut found: Vec<usize> = arguments.collect();
    if found.is_empty() {
        // A domain need not have a clock, or has it from elsewhere.
        found
            .extend(["clock", "os", "vcpu", "memory"].iter().filter_map(|name| around(text, name)));
        found.sort_unstable();
        found.dedup();
    }
    let sets = found.into_iter().filter_map(|at| set(text, at));
    // A set of another program may have a type.
    let parts = ["name", "memory", "vcpu", "os", "cpu", "features", "devices", "clock"];
    // Machines of other programs have plain numbers.
    let shapes: [&[&str]; 5] = [
        &["clock"],
        &["os", "type"],
        &["memory", "count"],
        &["vcpu", "count"],
        &["devices", "emulator"],
    ];
    let is = |domain: &Item| {
        domain.at(&["type"]).and_then(Item::text).is_some_and(|kind| listed(TYPES, kind))
            && parts.iter().filter(|part| domain.at(&[part]).is_some()).count() >= 2
            && shapes.iter().any(|path| domain.at(path).is_some())
    };
    sets.filter(is).collect()
}

/// Fills a domain with what the set says.
fn describe(made: &mut Made, domain: &Item, text: &str) {
    let said = |path: &[&str]| {
        let item = domain.at(path)?;
        Some((item.text()?.to_owned(), item.span.clone()))
    };
    made.kind = said(&["type"]);
    made.name = said(&["name"]).map(|(name, _)| name).unwrap_or_default();
    made.arch = said(&["os", "arch"]).map(|(arch, _)| arch);
    made.machine = said(&["os", "machine"]).map(|(machine, _)| machine);
    made.system = system(text);
    if let Some((mode, at)) = said(&["cpu", "mode"]) {
        made.cpu.push(("mode", mode, at));
    }
    if let Some((migratable, at)) = said(&["cpu", "migratable"]) {
        made.cpu.push(("migratable", on_off(&migratable).to_owned(), at));
    }
    for feature in domain.at(&["cpu", "feature"]).map(Item::each).unwrap_or_default() {
        let of = |key: &str| feature.at(&[key]).map(Item::text);
        // Without a policy it is `require`.
        if let (Some(Some(name)), Some(policy)) =
            (of("name"), of("policy").unwrap_or(Some("require")))
        {
            made.features.push((name.to_owned(), policy.to_owned(), feature.span.clone()));
        }
    }
    if let Some(Item { value: Value::Set(entries), .. }) = domain.at(&["features", "hyperv"]) {
        for (name, item) in entries {
            if let Some(state) = item.at(&["state"]).and_then(Item::text) {
                made.hyperv.push((name.clone(), on_off(state).to_owned(), item.span.clone()));
            }
        }
    }
    if let Some((state, at)) = said(&["features", "kvm", "hidden", "state"]) {
        made.hidden = Some((on_off(&state).to_owned(), at));
    }
    // USB and SCSI devices move.
    let holds =
        |device: &&Item| !matches!(device.at(&["type"]).and_then(Item::text), Some("usb" | "scsi"));
    let devices = domain.at(&["devices", "hostdev"]);
    made.hostdev = match devices {
        Some(Item { value: Value::Open, span }) => Some(span.clone()),
        Some(item) => item.each().iter().find(holds).map(|it| it.span.clone()),
        None => None,
    };
}

/// Returns the identifier of libosinfo in the text of a domain: `"http://microsoft.com/win/11"`.
fn system(text: &str) -> Option<String> {
    text.match_indices("\"http://").take(MOST).find_map(|(at, _)| {
        let id = text.get(at + 1..)?.split('"').next()?;
        let libosinfo = id.contains("libosinfo") || id.contains("libvirt.org");
        (!libosinfo && id.matches('/').count() >= 4).then(|| id.to_owned())
    })
}

fn on_off(text: &str) -> &str {
    match text {
        "true" => "on",
        "false" => "off",
        other => other,
    }
}

fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "lv-hpet-on" | "lv-hpet-default-on" => "{ name = \"hpet\"; present = false; }",
        "lv-tsc-timer-noop" => "remove the timer, or write its frequency = HERTZ",
        "lv-hypervclock-missing" => "{ name = \"hypervclock\"; present = true; }",
        "lv-kvmclock-off-no-invtsc" => {
            "{ name = \"kvmclock\"; present = true; }, or { policy = \"require\"; name = \"invtsc\"; }"
        }
        "lv-kvm-hidden" => "kvm.hidden.state = false",
        _ => return None,
    })
}

/// The timers of each list `timer = [ ... ]`: their attributes, and their places.
fn timers(text: &str) -> Vec<(Pairs, Range<usize>)> {
    let mut out = Vec::new();
    for (at, _) in text.match_indices("timer").take(MOST) {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let rest = text.get(at + "timer".len()..).unwrap_or_default().trim_start();
        let value = rest.strip_prefix('=').map(str::trim_start);
        let own = before.is_none_or(|c| c.is_whitespace() || "{;.".contains(c));
        let Some(value) = value.filter(|_| own) else { continue };
        let list = value.strip_prefix('[');
        let known = out.len();
        // NixVirt takes a set for a list of one; other programs also have a `timer`.
        if list.is_some() || value.starts_with('{') {
            let list = list.unwrap_or(value);
            sets(list, crate::text::offset(text, list), &mut out);
        }
        if list.is_none() {
            let timer = |(pairs, _): &(Pairs, Range<usize>)| {
                pairs.iter().any(|(name, value)| name == "name" && listed(TIMERS, value))
            };
            let alone = out.len() == known + 1 && out.last().is_some_and(timer);
            out.truncate(if alone { known + 1 } else { known });
        }
    }
    out.truncate(MOST);
    out
}

/// Reads the sets up to the end of a list, which begins at `base`.
fn sets(list: &str, base: usize, out: &mut Vec<(Pairs, Range<usize>)>) {
    let mut at = 0;
    while let Some(c) = list.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = list.get(at..).unwrap_or_default();
        match c {
            '#' => at += rest.find('\n').unwrap_or(rest.len()),
            '{' => {
                let Some(length) = rest.find('}') else { return };
                let inside = rest.get(1..length).unwrap_or_default();
                let pairs = pairs(inside);
                if pairs.iter().any(|(name, _)| name == "name") && out.len() < MOST {
                    out.push((pairs, base + at..base + at + length + 1));
                }
                at += length + 1;
            }
            c if c.is_whitespace() => at += c.len_utf8(),
            // The end, or an expression.
            _ => return,
        }
    }
}

/// The attributes of a set whose values are strings, numbers or truth values.
fn pairs(inside: &str) -> Pairs {
    let lines = inside.lines().map(|line| line.split('#').next().unwrap_or_default());
    let plain: String = lines.flat_map(|line| [line, " "]).collect();
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let value = match value {
            "true" => "yes",
            "false" => "no",
            _ => value.trim_matches('"'),
        };
        let simple = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric());
        (simple && listed(NAMES, name)).then(|| (name.to_owned(), value.to_owned()))
    };
    plain.split(';').filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::formats::Kind;
    use crate::guest::Guest;
    use crate::testing;

    const DOMAIN: &str = "{ nixvirt, ... }: {\n  definition = nixvirt.lib.domain.writeXML {\n    type = \"kvm\";\n    clock = {\n      \
        timer = [\n        { name = \"rtc\"; tickpolicy = \"catchup\"; }\n        { name = \"hpet\"; present = PRESENT; } # x }\n        \
        { name = \"tsc\"; present = true; mode = \"native\"; }\n      ];\n    };\n  };\n}\n";

    #[test]
    fn timers_of_nix_are_judged_and_left() {
        let text = DOMAIN.replace("PRESENT", "true");
        let report = testing::report(Kind::Libvirt, "domain.nix", &text);
        let found: Vec<_> = report.findings.iter().map(|it| (it.rule.id, it.severity)).collect();
        for id in ["lv-hpet-on", "lv-tsc-timer-noop"] {
            assert!(found.contains(&(id, Severity::Warn)), "{id} not in {found:?}");
        }
        assert!(report.findings.iter().all(|it| it.edits.is_empty()));
        let at = report.findings.iter().find(|it| it.rule.id == "lv-hpet-on").unwrap().span.clone();
        assert_eq!(text.get(at), Some("{ name = \"hpet\"; present = true; }"));
        let clock =
            text.replace("\"rtc\"; tickpolicy = \"catchup\"", "\"kvmclock\"; present = false");
        let bad = testing::bad(Kind::Libvirt, "domain.nix", &clock);
        assert_eq!(bad, ["lv-hpet-on", "lv-tsc-timer-noop"]);
        let off = DOMAIN.replace("PRESENT", "false");
        assert!(!testing::bad(Kind::Libvirt, "domain.nix", &off).contains(&"lv-hpet-on"));
        assert_eq!(Kind::detect("domain.nix", &text), Some(Kind::Libvirt));
        assert_eq!(Kind::detect("timer.nix", "{ systemd.timer = [ ]; }\n"), None);
    }

    const WHOLE: &str = "{ inputs, ... }: {\n  domains = [ {\n    definition = inputs.NixVirt.lib.domain.writeXML {\n      type = \"kvm\"; name = \"win11\";\n      \
        memory = { count = 8; unit = \"GiB\"; };\n      features = { hyperv = { mode = \"custom\"; relaxed = { state = true; }; }; kvm = { hidden = { state = HIDDEN; }; }; };\n      \
        cpu = { mode = \"host-passthrough\"; feature = [ FEATURES ]; };\n      clock = { offset = \"localtime\"; timer = [ TIMERS ]; };\n      \
        devices = { emulator = \"/run/libvirt/nix-emulators/qemu-system-x86_64\"; disk = [ { type = \"file\"; } ]; };\n    };\n  } ];\n}\n";

    fn whole(hidden: &str, features: &str, timers: &str) -> String {
        let text = WHOLE.replace("HIDDEN", hidden).replace("FEATURES", features);
        text.replace("TIMERS", timers)
    }

    #[test]
    fn domain_of_nix_is_one_of_libvirt_with_its_name_and_its_cpu() {
        const PAGE: &str = "{ name = \"hypervclock\"; present = true; }";
        let found = |text: &str| {
            assert_eq!(Kind::detect("vm.nix", text), Some(Kind::Libvirt));
            testing::bad(Kind::Libvirt, "vm.nix", text)
        };
        let off = "{ policy = \"disable\"; name = \"hypervisor\"; }";
        let report = testing::report(Kind::Libvirt, "vm.nix", &whole("false", "", PAGE));
        assert_eq!(report.guest, Guest::Windows);
        assert_eq!(found(&whole("false", "", PAGE)), [""; 0]);
        assert_eq!(found(&whole("false", off, PAGE)), ["lv-hypervisor-hidden"]);
        assert_eq!(found(&whole("false", "", "")), ["lv-hypervclock-missing"]);
        let catchup = format!("{PAGE} {{ name = \"rtc\"; tickpolicy = \"catchup\"; }}");
        let all = |text: &str| testing::ids(Kind::Libvirt, "vm.nix", text);
        let lost = |text: &str| all(text).iter().any(|it| it.0 == "lv-tickpolicy-catchup-linux");
        assert!(!lost(&whole("false", "", &catchup)));
        assert!(lost(&whole("false", "", &catchup).replace("win11", "debian")));
        let linux = whole("true", "", "").replace("win11", "debian12");
        assert_eq!(found(&linux), ["lv-kvm-hidden"]);
        assert_eq!(
            found(&linux.replace("state = true; }; }; };", "state = false; }; }; };")),
            [""; 0]
        );
        let clock = "{ name = \"kvmclock\"; present = false; }";
        let linux = whole("false", "", clock).replace("win11", "debian12");
        assert_eq!(found(&linux), ["lv-kvmclock-off-no-invtsc"]);
        // What only Nix knows may add the feature, or the timer.
        assert_eq!(found(&linux.replace("feature = [  ]", "feature = cfg.features")), [""; 0]);
        let added = whole("false", "", "").replace("timer = [  ]", "timer = cfg.timers");
        assert_eq!(found(&added), [""; 0]);
        let report = testing::report(Kind::Libvirt, "vm.nix", &linux);
        assert!(report.findings.iter().all(|it| it.edits.is_empty()));
        let bad = report.findings.iter().find(|it| it.rule.id == "lv-kvmclock-off-no-invtsc");
        assert!(bad.unwrap().left.is_some());
    }

    #[test]
    fn domain_without_a_clock_and_a_list_of_one_are_read() {
        let text = whole("false", "", "")
            .replace("clock = { offset = \"localtime\"; timer = [  ]; };", "");
        let alone = "{ ... }: { type = \"kvm\"; name = \"debian12\"; memory = { count = 2; }; os = { type = \"hvm\"; }; }\n";
        for text in [text.replace("win11", "debian").as_str(), alone] {
            assert_eq!(Kind::detect("vm.nix", text), Some(Kind::Libvirt), "{text}");
            assert_eq!(
                testing::report(Kind::Libvirt, "vm.nix", text).guest,
                Guest::Linux,
                "{text}"
            );
        }
        let other = "{ type = \"kvm\"; name = \"a\"; memory = 2048; vcpu = 2; }\n";
        assert_eq!(Kind::detect("vm.nix", other), None);
        let service = alone.replace("kvm", "simple");
        assert_eq!(Kind::detect("vm.nix", &service), None);
        let off = whole("false", "", "").replace("win11", "debian");
        let off = off.replace("timer = [  ]", "timer = { name = \"kvmclock\"; present = false; }");
        assert_eq!(testing::bad(Kind::Libvirt, "vm.nix", &off), ["lv-kvmclock-off-no-invtsc"]);
        let fixed = off.replace(
            "name = \"kvmclock\"; present = false",
            "name = \"tsc\"; frequency = 2994372000",
        );
        let fixed = fixed
            .replace("feature = [  ]", "feature = { policy = \"require\"; name = \"invtsc\"; }");
        let ids = testing::ids(Kind::Libvirt, "vm.nix", &fixed);
        assert!(ids.iter().any(|it| it.0 == "lv-invtsc-freq-ok"), "{ids:?}");
        assert_eq!(Kind::detect("a.nix", "{ timer = { name = \"backup\"; }; }\n"), None);
    }

    #[test]
    fn what_nix_gives_from_elsewhere_is_not_known_and_not_missing() {
        let set = "{ type = \"kvm\"; NAME os = { type = \"hvm\"; }; CLOCK devices = { emulator = \"/x\"; }; }\n";
        let clock = "clock = { offset = \"utc\"; timer = [ { name = \"rtc\"; tickpolicy = \"catchup\"; } ]; };";
        let of = |before: &str, name: &str, clock: &str| {
            let text = format!("{before}{}", set.replace("NAME", name).replace("CLOCK", clock));
            assert_eq!(Kind::detect("vm.nix", &text), Some(Kind::Libvirt), "{text}");
            let report = testing::report(Kind::Libvirt, "vm.nix", &text);
            let ids: Vec<_> = report.findings.iter().map(|it| it.rule.id).collect();
            (report.guest, ids)
        };
        for (before, name) in [
            ("let name = \"win11\"; in ", "inherit name;"),
            ("let n = \"win11\"; in ", "name = n;"),
        ] {
            let (guest, ids) = of(before, name, clock);
            assert_eq!(guest, Guest::Windows);
            assert!(ids.contains(&"lv-hypervclock-missing"), "{ids:?}");
            assert!(!ids.contains(&"lv-tickpolicy-catchup-linux"), "{ids:?}");
        }
        for name in ["name = \"${p}11\";", "name = cfg.name;", "inherit (cfg) name;"] {
            let (guest, ids) = of("", name, clock);
            assert_eq!(guest, Guest::Unknown);
            for id in ["lv-tickpolicy-catchup-linux", "lv-no-invtsc"] {
                assert!(!ids.contains(&id), "{ids:?}");
            }
        }
        let own = format!("let {clock} in ");
        let (guest, ids) = of(&own, "name = \"win11\";", "inherit clock;");
        assert_eq!(guest, Guest::Windows);
        assert!(!ids.contains(&"lv-hpet-default-on") && !ids.contains(&"lv-hypervclock-missing"));
        let on = clock.replace("\"rtc\"; tickpolicy = \"catchup\"", "\"hpet\"; present = true");
        let (_, ids) = of(&format!("let {on} in "), "name = \"win11\";", "inherit clock;");
        assert!(ids.contains(&"lv-hpet-on"), "{ids:?}");
        let (_, ids) = of("let base = { }; in base // ", "name = \"win11\";", "");
        assert!(!ids.contains(&"lv-hpet-default-on") && !ids.contains(&"lv-hypervclock-missing"));
        let (_, ids) = of("", "name = \"win11\";", clock);
        assert!(ids.contains(&"lv-hpet-default-on") && ids.contains(&"lv-hypervclock-missing"));
    }

    #[test]
    fn domains_of_one_file_have_their_own_timers() {
        let one = "writeXML { type = \"kvm\"; name = \"debian\"; memory.count = 1; clock.timer = [ { name = \"hpet\"; present = false; } ]; }";
        let two = format!("{{ lib, ... }}: {{ a = lib.domain.{one}; b = lib.domain.{one}; }}\n");
        assert_eq!(testing::bad(Kind::Libvirt, "vm.nix", &two), [""; 0]);
    }

    #[test]
    fn set_of_nix_with_a_list_of_disks_is_no_domain_of_xen() {
        let host = "{ boot.kernelParams = [ \"clocksource=tsc\" ];\n  xdg.configFile.a.text = ''\n    qemu-system-x86_64 -m 1G -cpu host\n  '';\n";
        let text = whole("false", "", "").replacen("{\n", host, 1);
        assert_eq!(Kind::detect("vm.nix", &text), Some(Kind::Libvirt));
        let text = "{\n  emulator = \"/run/qemu-system-x86_64\";\n  disk = [\n    a\n  ];\n}\n";
        assert_ne!(Kind::detect("disks.nix", text), Some(Kind::Xen));
    }

    #[test]
    fn timers_of_nix_beside_arguments_of_qemu() {
        let text = DOMAIN.replace("PRESENT", "true").replace(
            "type = \"kvm\";",
            "type = \"kvm\";\n    qemu-commandline.arg = map (value: { inherit value; }) [ \"-global\" \"ICH9-LPC.disable_s3=1\" \"-cpu\" (\"host,topoext=on\" + \",migratable=off\") \"-machine\" \"x-pci-hole=1\" ];",
        );
        let found = testing::bad(Kind::Qemu, "domain.nix", &text);
        assert!(found.contains(&"lv-hpet-on"), "{found:?}");
        let all = testing::ids(Kind::Qemu, "domain.nix", &text);
        assert!(!all.iter().any(|it| it.0 == "q-hpet-default-on"), "{all:?}");
    }
}
