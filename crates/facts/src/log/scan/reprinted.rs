//! A banner that is not a boot: a shell, an init script or a fault report prints `/proc/version`, which contains the
//! words of the banner. The following lines distinguish them: a kernel prints its command line, its processor and its
//! memory.

use super::{Event, Scanner};
use crate::log::continuation::Place;
use crate::log::lines::{line_before, next_line, text};
use crate::log::parse::{self, Groups};
use crate::log::prefix::{Stripped, strip};

/// Number of lines after a banner that are examined.
const LINES: usize = 8;
/// Number of characters for which the first lines of two boots of one machine are compared.
const ALIKE: usize = 16;
/// Seconds after the boot within which a kernel prints the lines after its banner.
const EARLY_S: f64 = 1.0;

/// The beginnings of the messages after the banner: `setup_arch()` of each architecture, in `arch/*/kernel/setup.c`.
const FIRST: [&str; 41] = [
    "command line:",
    "kernel command line:",
    "kernel supported cpus",
    "intel genuineintel",
    "bios-",
    "e820:",
    "x86/",
    "efi:",
    "uefi",
    "secureboot:",
    "cpu: ",
    "cpu0 ",
    "cpu revision",
    "fpu revision",
    "msa revision",
    "machine",
    "memory",
    "of: ",
    "printk:",
    "bootconsole",
    "earlycon",
    "built 1 zone",
    "pid hash",
    "dentry cache",
    "on node",
    "mips:",
    "arch:",
    "promlib:",
    "ethernet address",
    "determined physical",
    "memcluster",
    "booting ",
    "numa:",
    "sbi ",
    "setup.",
    "random:",
    "ignoring ",
    "initrd",
    "hypervisor detected",
    "boot params",
    "soc:",
];

impl Scanner {
    /// The event of a banner: a boot, or the release of the running kernel, if that is not known yet.
    pub(super) fn of_banner(
        &mut self,
        place: Place<'_>,
        line: &Stripped<'_>,
        event: Event,
    ) -> Option<Event> {
        if !self.is_reprinted(place, line, &event) {
            self.behind_banner =
                behind(place).iter().map(|line| head(strip(line).message.trim())).collect();
            return Some(event);
        }
        let Event::Banner(banner) = event else { return None };
        let release = banner.split_whitespace().next().filter(|_| self.banner.is_none())?;
        Some(Event::Release(release.to_owned()))
    }

    /// Whether a banner without a time stamp does not begin a boot.
    fn is_reprinted(&self, place: Place<'_>, line: &Stripped<'_>, event: &Event) -> bool {
        let Event::Banner(banner) = event else { return false };
        let known = self.banner.as_deref().map(str::trim);
        if line.at.is_some() || known.is_none() && !self.store.has_decided() {
            return false;
        }
        // The kernel of another machine, or another kernel of this machine.
        if known.is_some_and(|own| !is_same(own, banner.trim())) {
            return false;
        }
        let behind = behind(place);
        if behind.iter().any(|next| self.is_of_a_boot(next)) {
            return false;
        }
        // Without following lines, it may be the beginning of a boot whose rest is not in the text.
        known.is_some() || !behind.is_empty() || was_asked_for(place)
    }

    fn is_of_a_boot(&self, line: &str) -> bool {
        let stripped = strip(line);
        if let Some(at) = stripped.at {
            return at < EARLY_S;
        }
        let message = stripped.message.trim();
        let lower = message.to_ascii_lowercase();
        let told = || parse::parse(message, Groups::of(message));
        FIRST.iter().any(|head| lower.starts_with(head))
            || self.behind_banner.contains(&head(message))
            || told().is_some_and(|event| !matches!(event, Event::Banner(_) | Event::Release(_)))
    }
}

/// Whether two banners are the same, one of them possibly truncated or wrapped.
fn is_same(own: &str, other: &str) -> bool {
    const ENOUGH: usize = 40;
    let short = own.len().min(other.len());
    own == other
        || short >= ENOUGH
            && own.as_bytes().iter().take(short).eq(other.as_bytes().iter().take(short))
}

fn head(message: &str) -> String {
    message.chars().take(ALIKE).collect()
}

/// The non-blank lines after a banner, without the wrapped rest of the banner.
fn behind(place: Place<'_>) -> Vec<String> {
    let mut end = place.end;
    let mut lines = Vec::new();
    while lines.len() < LINES {
        let Some((line, stop)) = next_line(place.window, end, place.complete) else { break };
        end = stop;
        if !line.trim().is_empty() {
            lines.push(line.into_owned());
        }
    }
    lines
}

/// Whether the previous line is a command that prints `/proc/version`.
fn was_asked_for(place: Place<'_>) -> bool {
    line_before(place.window, place.start)
        .is_some_and(|range| text(place.window, range.start, range.end).contains("/proc/version"))
}
