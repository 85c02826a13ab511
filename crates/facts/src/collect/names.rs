//! Masks the host's name.
//!
//! Installers make the name a part of other names: Debian's of the volume group (`NAME-vg`, which the device mapper writes
//! `NAME--vg`), RHEL's too (`vg_NAME`), md adds a number to it, an administrator the name of the board that manages the
//! machine (`NAME-ilo`). So a name that no message of the kernel has is masked anywhere in a word. A short name, or one that
//! is an ordinary word, is masked where it is a word of its own, and in messages about clocks, or if it is a word
//! of these, only where a host is named.

use super::header;
use super::spellings::{Kind, Spelling, spellings};
use crate::log;
use crate::tree::Tree;
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;

/// Takes the place of the name.
const HOST: &str = "host";
/// Takes the place of the domain.
const DOMAIN: &str = "domain";
/// Names that are masked: the log of a server may be of many hosts.
const MOST: usize = 64;
/// The longest name of a host (`HOST_NAME_MAX`), with its domain.
const LONGEST: usize = 253;

/// Files whose content is a host's name.
const FILES: [&str; 4] = [
    "proc/sys/kernel/hostname",
    "etc/hostname",
    "sos_commands/host/hostname",
    "sos_commands/host/hostname_-f",
];
/// Files with the host's name as the second word.
const UNAME: [&str; 2] = ["uname", "sos_commands/kernel/uname_-a"];

/// Texts before the name of a host, in small letters.
const BEFORE: [&str; 15] = [
    "hostname=",
    "host=",
    "node=",
    "nodename=",
    "hostname: ",
    "hostname set to <",
    "set hostname to <",
    "@",
    "//",
    "\\\\",
    "server ",
    "nfs: ",
    "mapper/",
    "lvm.lv=",
    "vg_",
];
/// Texts after the name of a host.
const AFTER: [&str; 8] = [":/", "--vg", "-vg", "-ilo", "-ipmi", "-bmc", "-idrac", "-drac"];
/// Parameters of the kernel that contain the name of a host.
const OF_HOST: [&str; 6] = ["ip", "nfsroot", "hostname", "host", "node", "h"];
/// Parameters that name a filesystem, a volume or a pool.
const OF_STORAGE: [&str; 6] = ["root", "real_root", "resume", "zfs", "bootfs", "cryptdevice"];

/// The names of the host, as files and logs state them.
#[derive(Debug, Default)]
pub(super) struct Names {
    found: RefCell<BTreeSet<String>>,
    spellings: RefCell<Vec<Spelling>>,
    /// Finds the spellings in ASCII.
    searcher: RefCell<Option<AhoCorasick>>,
}

impl Names {
    /// The names that the files of a machine state, without its logs.
    pub(super) fn of(tree: &dyn Tree) -> Self {
        let text =
            |path: &str| tree.read(path, 4096).map(|it| String::from_utf8_lossy(&it).into_owned());
        let names = Self::default();
        for name in FILES.iter().filter_map(|path| text(path).ok()) {
            names.learn(&name);
        }
        for line in UNAME.iter().filter_map(|path| text(path).ok()) {
            names.learn(line.split_whitespace().nth(1).unwrap_or_default());
        }
        if let Ok(line) = text("proc/cmdline") {
            names.learn_parameters(&line);
        }
        names
    }

    /// The number of names.
    pub(super) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// Adds a name with its first label and its domain.
    pub(super) fn learn(&self, name: &str) {
        let name = name.trim().trim_end_matches('.');
        let label = name.split('.').next().unwrap_or_default();
        // An empty spelling would be found everywhere.
        let is_name = name.len() <= LONGEST && label.contains(char::is_alphanumeric);
        let mut found = self.found.borrow_mut();
        if !is_name || found.len() >= MOST || !found.insert(name.to_lowercase()) {
            return;
        }
        let mut all = self.spellings.borrow_mut();
        all.extend(spellings(name));
        if label.len() < name.len() && name.chars().any(char::is_alphabetic) {
            all.extend(spellings(label));
            let domain = &name[label.len() + 1..];
            // Not `local`, `lan` and `internal`, which are words.
            if domain.contains('.') {
                all.push(Spelling { text: domain.to_owned(), kind: Kind::Domain });
            }
        }
        let searcher = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(all.iter().map(|spelling| spelling.text.as_str()));
        *self.searcher.borrow_mut() = searcher.ok();
    }

    /// Adds the names that a line of a log states: that of its header, and what systemd and the kernel's DHCP client print.
    pub(super) fn learn_line(&self, line: &str) {
        if let Some(name) = header::host(line).and_then(|at| line.get(at)) {
            // Other words can be in the place of a name.
            if log::host_name(name).is_some() {
                self.learn(name);
            }
        }
        for text in ["ostname set to <", "et hostname to <"] {
            if let Some((_, rest)) = line.split_once(text) {
                self.learn(rest.split('>').next().unwrap_or_default());
            }
        }
        if line.contains("IP-Config: ") || line.contains(" domain=") {
            let value = |key: &str| {
                let (_, rest) = line.split_once(key)?;
                rest.split([',', ' ']).next().filter(|value| !value.is_empty())
            };
            if let Some(host) = value(" host=") {
                self.learn(host);
                if let Some(domain) = value(" domain=").filter(|domain| *domain != "(none)") {
                    self.learn(&format!("{host}.{domain}"));
                }
            }
        }
        if let Some((_, parameters)) = line.split_once("ommand line: ") {
            self.learn_parameters(parameters);
        }
    }

    /// Adds the names that parameters of the kernel state.
    fn learn_parameters(&self, line: &str) {
        for word in line.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else { continue };
            match key {
                "systemd.hostname" | "hostname" => self.learn(value),
                // `ip=CLIENT:SERVER:GATEWAY:MASK:HOST:DEVICE:...`
                "ip" if !value.contains('[') => {
                    self.learn(value.split(':').nth(4).unwrap_or_default())
                }
                _ => {}
            }
        }
    }

    /// A line of a log without the names.
    pub(super) fn line(&self, line: &str) -> String {
        let mut line = line.to_owned();
        // The name in a header may be another host's.
        if let Some(at) = header::any(&line) {
            line.replace_range(at, HOST);
        }
        if let Some(at) = line.find("ommand line: ").map(|at| at + "ommand line: ".len()) {
            let (before, parameters) = line.split_at(at);
            return self.distinct(before) + &self.parameters(parameters);
        }
        let message = log::strip_prefix(&line).0;
        // Signs at the end may be missing in the message.
        let from = line.find(message).unwrap_or(0);
        // A long line may have the name a thousand times.
        let about_clocks = OnceCell::new();
        let about_clocks = || *about_clocks.get_or_init(|| log::is_clock_message(message));
        self.replaced(&line, false, |kind, start, end| match kind {
            Kind::Anywhere | Kind::Domain => true,
            // Prefixes contain short words: `[    C1]`.
            Kind::Word => start >= from && !about_clocks() || names_host(&line, start, end),
            Kind::Ordinary => names_host(&line, start, end),
        })
    }

    /// The kernel's parameters without the names.
    pub(super) fn parameters(&self, line: &str) -> String {
        let parameter = |word: &str| {
            let key = word.split_once('=').map(|(key, _)| key);
            let of_storage =
                key.is_some_and(|key| OF_STORAGE.contains(&key) || key.starts_with("rd."));
            self.replaced(word, of_storage, |kind, start, end| {
                let Some(key) = key else { return matches!(kind, Kind::Anywhere | Kind::Domain) };
                let of_host = OF_HOST.contains(&key) || key.ends_with("hostname");
                let is_end =
                    |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || ",:;=+\"".contains(c));
                let (before, after) = (&word[..start], &word[end..]);
                // `tsc=reliable` of a host `reliable`.
                let is_value = is_end(before.chars().next_back())
                    && is_end(after.chars().next())
                    && !word[start..end].contains(|c: char| c.is_ascii_digit());
                match kind {
                    Kind::Anywhere | Kind::Domain => true,
                    _ if start <= key.len() => false,
                    Kind::Word => of_host || !is_value || names_host(word, start, end),
                    Kind::Ordinary => of_host && is_value || names_host(word, start, end),
                }
            })
        };
        line.split_inclusive(char::is_whitespace).map(parameter).collect()
    }

    /// A text without the names, if no word of the text can be equal to them.
    pub(super) fn distinct(&self, text: &str) -> String {
        self.replaced(text, false, |kind, start, end| match kind {
            Kind::Anywhere | Kind::Domain => true,
            Kind::Word | Kind::Ordinary => names_host(text, start, end),
        })
    }

    fn replaced(
        &self,
        line: &str,
        of_storage: bool,
        is_name: impl Fn(Kind, usize, usize) -> bool,
    ) -> String {
        let (searcher, all) = (self.searcher.borrow(), self.spellings.borrow());
        let mut out = String::new();
        let (mut kept, mut at) = (0, 0);
        while let Some(found) =
            searcher.as_ref().and_then(|it| it.find(Input::new(line).range(at..)))
        {
            let (start, end) = (found.start(), found.end());
            let fits = all.get(found.pattern().as_usize()).filter(|spelling| {
                spelling.fits(line, start, end, of_storage) && is_name(spelling.kind, start, end)
            });
            let Some(spelling) = fits else {
                at = start + line[start..].chars().next().map_or(1, char::len_utf8);
                continue;
            };
            out.push_str(&line[kept..start]);
            out.push_str(if spelling.kind == Kind::Domain { DOMAIN } else { HOST });
            (kept, at) = (end, end);
        }
        out.push_str(&line[kept..]);
        out
    }
}

/// Whether the text around a word shows that it is the name of a host.
fn names_host(line: &str, start: usize, end: usize) -> bool {
    let (before, after) = (&line[..start], &line[end..]);
    let ends = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let precedes = |text: &&str| {
        let from = before.len().checked_sub(text.len());
        from.and_then(|from| before.get(from..)).is_some_and(|it| it.eq_ignore_ascii_case(text))
    };
    let alone = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
    ends && BEFORE.iter().any(precedes) || alone && AFTER.iter().any(|text| after.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(names: &[&str]) -> Names {
        let all = Names::default();
        names.iter().for_each(|name| all.learn(name));
        all
    }

    #[test]
    fn a_name_is_masked_inside_of_words() {
        let names = known(&["acme-db7"]);
        for (line, kept) in [
            (
                "device-mapper: ioctl: acme--db7--vg-root: created",
                "device-mapper: ioctl: host--vg-root: created",
            ),
            ("mounted /srv/acme_db7/data", "mounted /srv/host/data"),
            ("nfs: server acme-db7-ilo not responding", "nfs: server host-ilo not responding"),
            ("md: md127: name acmedb7:0", "md: md127: name host:0"),
            ("md/raid1:md0: super acme-db71", "md/raid1:md0: super host1"),
            (
                "target iqn.2004-10.com.example:acme-db7:lun0",
                "target iqn.2004-10.com.example:host:lun0",
            ),
            ("systemd[1]: dev-mapper-acme\\x2ddb7.device", "systemd[1]: dev-mapper-host.device"),
            ("audit: hostname=61636D652D646237 x", "audit: hostname=host x"),
            ("Linux version 6.1.0 (me@ACME-DB7) #1 SMP", "Linux version 6.1.0 (me@host) #1 SMP"),
        ] {
            assert_eq!(names.line(line), kept);
        }
    }

    #[test]
    fn parameters_with_a_name() {
        for (name, line, kept) in [
            (
                "acmedb7",
                "root=/dev/mapper/acmedb7--vg-root rd.lvm.lv=acmedb7-vg/root zfs=acmedb7_pool/ROOT vg_acmedb7/x",
                "root=/dev/mapper/host--vg-root rd.lvm.lv=host-vg/root zfs=host_pool/ROOT vg_host/x",
            ),
            ("acme", "root=ZFS=acmepool/ROOT ro", "root=ZFS=hostpool/ROOT ro"),
            (
                "db1",
                "root=/dev/mapper/db1--vg-root node=db1 ro",
                "root=/dev/mapper/host--vg-root node=host ro",
            ),
            (
                "web",
                "systemd.hostname=web ip=192.0.2.1:::255.255.255.0:web:eth0:off",
                "systemd.hostname=host ip=192.0.2.1:::255.255.255.0:host:eth0:off",
            ),
            (
                "quiet",
                "ro quiet root=/dev/mapper/quiet-root",
                "ro quiet root=/dev/mapper/host-root",
            ),
            (
                "tsc",
                "clocksource=tsc tsc=reliable root=/dev/mapper/tsc--vg-root",
                "clocksource=tsc tsc=reliable root=/dev/mapper/host--vg-root",
            ),
            ("nomwait", "idle=nomwait ro", "idle=nomwait ro"),
        ] {
            assert_eq!(known(&[name]).parameters(line), kept, "{name}");
            let line = format!("[    0.000000] Command line: {line}");
            assert_eq!(
                known(&[name]).line(&line),
                format!("[    0.000000] Command line: {kept}"),
                "{name}"
            );
        }
    }

    #[test]
    fn a_short_name_is_masked_as_a_word_and_an_ordinary_one_as_a_host() {
        let names = known(&["db1.corp.example.com"]);
        assert_eq!(
            names.line("nfs: db1 x sdb1 db12, node=db1"),
            "nfs: host x sdb1 db12, node=host"
        );
        assert_eq!(names.line("nfs: nfs.corp.example.com x"), "nfs: nfs.domain x");
        assert_eq!(
            names.line("Hostname set to <db1.corp.example.com>."),
            "Hostname set to <host>."
        );
        for (name, line, kept) in [
            (
                "kernel",
                "Nov 30 10:00:00 kernel kernel: nfs: server kernel OK, kernel",
                "Nov 30 10:00:00 host kernel: nfs: server host OK, kernel",
            ),
            (
                "hpet",
                "[    1.0] clocksource: Switched to clocksource hpet",
                "[    1.0] clocksource: Switched to clocksource hpet",
            ),
            ("c1", "[    1.000000][    C1] nfs: c1", "[    1.000000][    C1] nfs: host"),
            ("a", "a line of a, host=a", "a line of a, host=host"),
            ("10", "10 nfs: 10", "10 nfs: host"),
            ("a+b c", "nfs: a+b c, xa+b c", "nfs: host, xa+b c"),
            ("memory", "[    1.0] memory of memory", "[    1.0] host of host"),
            ("kvm-clock", "[    1.0] kvm-clock: Using msrs", "[    1.0] kvm-clock: Using msrs"),
            (
                "quick",
                "tsc: Fast TSC calibration using PIT, quick",
                "tsc: Fast TSC calibration using PIT, quick",
            ),
        ] {
            assert_eq!(known(&[name]).line(line), kept, "{name}");
        }
    }

    #[test]
    fn lines_state_names() {
        for (line, shown) in [
            ("Nov 19 17:15:31 acmedb7 kernel: [    0.0] x", "acmedb7"),
            ("[    0.000000] acmedb7 kernel: x", "acmedb7"),
            ("<6>Nov 19 17:15:31 acmedb7 kern.info kernel: x", "acmedb7"),
            ("<6>1 2026-11-30T10:00:00Z acmedb7 kernel - - - x", "acmedb7"),
            ("[    9.0] systemd[1]: Hostname set to <acmedb7>.", "acmedb7"),
            (
                "[    9.0] systemd[1]: Set hostname to <acmedb7.corp.example.com>.",
                "acmedb7 corp.example.com",
            ),
            (
                "[    9.0] IP-Config: Complete: host=acmedb7, domain=corp.example.com, x",
                "acmedb7 corp.example.com",
            ),
            ("[    0.0] Command line: ip=192.0.2.1:::255.255.255.0:acmedb7:eth0:off", "acmedb7"),
        ] {
            let names = Names::default();
            names.learn_line(line);
            let kept = names.distinct(&format!("on {shown}, unknown"));
            assert!(!kept.contains("acmedb7") && !kept.contains("corp"), "{line}: {kept}");
        }
        let names = Names::default();
        names.learn_line("Dec 24 21:07:06 kernel: tsc: x");
        names.learn_line("[    1.000000] usb 1-1: bar kernel: x");
        ["-", "__", ".a", ""].iter().for_each(|name| names.learn(name));
        assert_eq!(names.count(), 0);
        let line = "Dec 24 21:07:06 kernel: tsc: x";
        assert_eq!(names.line(line), line);
    }
}
