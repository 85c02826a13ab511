//! The border between two boots: banners, time stamps that go back, and lines of a boot that are
//! quoted after another one.

use super::machine::{Machine, Sign};
use super::{Event, Scanner, Store, Stripped};
use crate::log::lines::{line_before, text};
use crate::log::prefix::strip;
use crate::log::{disorder, transcript, wall};

/// The state of the scan for one boot.
pub(super) struct Boot {
    store: Store,
    banner: Option<String>,
    boots: u32,
    from_boot: bool,
    first_at: Option<f64>,
    last_at: Option<f64>,
    /// Whether it saves the memory of the boot before it.
    captures: bool,
}

/// Maximum number of boots whose refined frequency is kept.
pub(super) const BOOTS_NOTED: usize = 32;

/// A boot that begins has time stamps up to this one, in seconds.
const BEGUN_S: f64 = 0.05;

/// The other CPUs are up by then, in seconds.
const UP_S: f64 = 60.0;

/// Lines before a choice that are searched for a time stamp: a sentence may separate two logs.
const STAMP_WITHIN: usize = 8;

/// Seconds by which the time stamps of one boot never go back.
pub(super) const BACK_S: f64 = 0.5;

/// Seconds by which time stamps go back between two boots, and not between two consoles.
const FAR_S: f64 = 5.0;

/// Examined lines with a time stamp from which on lines without a banner are a boot, and not a quotation.
const BOOT_LINES: u32 = 8;

impl Scanner {
    /// Whether the last line was the first one of a boot.
    pub(super) fn told_boot(&self) -> bool {
        self.told == Some(Event::Banner(String::new()).kind())
    }

    /// Whether this boot already has the same line, and its time stamps have increased since. In each boot many lines
    /// have the time stamp 0.
    pub(super) fn is_quoted(&self, line: &Stripped<'_>) -> bool {
        let back = |at: f64| at > 0.0 && self.last_at.is_some_and(|last| last > at + BACK_S);
        line.at.filter(|at| back(*at)).is_some_and(|at| self.store.has_line(at, line.message))
    }

    /// Begins another machine's log at a prompt of another host.
    pub(super) fn of_host(&mut self, line: &str) {
        let Some(host) = transcript::host_of_prompt(line) else { return };
        if self.host.as_deref().is_some_and(|former| former != host) {
            self.new_boot();
        }
        self.host = Some(host.to_owned());
    }

    /// Begins another boot at a line of another machine.
    pub(super) fn runs_elsewhere(&mut self, event: &Event) {
        let Some(sign) = Sign::of(event) else { return };
        if self.machine.is_other(&sign) {
            self.new_boot();
        }
        self.machine.note(sign);
    }

    /// Compares the dates of boots: a boot whose first date is before that of an earlier one may not be later.
    pub(super) fn follow_dates(&mut self, event: &Event, raw: &str) {
        let begins = matches!(event, Event::Banner(_));
        if !begins && self.went_back.is_none() {
            return;
        }
        let Some(date) = wall::seconds(raw) else { return };
        let Some(newest) = self.newest else {
            self.newest = Some(date);
            return;
        };
        if disorder::step(newest, date) == disorder::Step::Later {
            self.newest = Some(date);
            self.went_back = None;
        } else if begins {
            self.went_back = Some(format!(
                "the boot that begins at {}:{} has an earlier date than one before it: which of \
                 them is the last one is not known",
                self.log.name, self.line
            ));
        }
    }

    /// Notes a choice before which the time stamps of this boot are higher: it is of another boot, of another machine,
    /// or of another excerpt.
    pub(super) fn switch_back(&mut self, window: &[u8], start: usize, line: &Stripped<'_>) {
        let Some(now) = line.at.filter(|_| line.message.contains("to clocksource ")) else {
            return;
        };
        if self.prompted || self.store.has_line(now, line.message) {
            return;
        }
        if stamp_before(window, start).is_some_and(|stamp| stamp > now + FAR_S) {
            self.stamp_back = Some(self.line);
        }
    }

    /// Reads the time stamp before a choice of the first half second: the lines of a boot without a keyword may
    /// continue after the last examined line.
    pub(super) fn stamp_in_front(&mut self, window: &[u8], start: usize, line: &Stripped<'_>) {
        let begins = line.at.is_some_and(|at| at < 0.5) && line.message.contains("to clocksource ");
        if !begins || self.last_at.is_none_or(|last| last > 5.0) {
            return;
        }
        // A line of this log that is quoted after it.
        if line.at.is_some_and(|at| self.store.has_line(at, line.message)) {
            return;
        }
        if let Some(stamp) = stamp_before(window, start) {
            self.last_at = Some(stamp);
        }
    }

    /// Follows the time stamps; a jump back to the very beginning is a new boot.
    pub(super) fn stamp(&mut self, at: Option<f64>) {
        let Some(at) = at else { return };
        // After a choice a smaller step back also begins another boot.
        let far = if self.store.has_switched() { at + BACK_S } else { 5.0 };
        let restarted = at < 0.5 && self.last_at.is_some_and(|last| last > far);
        if restarted && !self.prompted && !self.is_bringing_up(at) {
            std::mem::take(&mut self.repeated).finish(&mut self.store);
            let is_boot = self.banner.is_some() || self.store.has_decided();
            if let Some(former) = is_boot.then(|| self.take_boot()) {
                let refined = former.store.refined();
                self.begin_boot();
                self.note_refined(refined);
                self.former = Some(former);
            } else {
                self.new_boot();
            }
        }
        self.last_at = Some(at);
        self.log.last_at = Some(at);
        if self.log.first_at.is_none() {
            self.log.first_at = Some(at);
        }
    }

    /// Whether only the time stamps step back, in one boot: where the other CPUs come up, the time stamps may continue from
    /// the counter of one of them. Such a boot has its beginning in the log and no decision yet, and its time does not
    /// begin again at zero.
    fn is_bringing_up(&self, at: f64) -> bool {
        at > BEGUN_S
            && self.banner.is_some()
            && self.log.from_boot
            && !self.store.has_switched()
            && self.last_at.is_some_and(|last| last < UP_S)
    }

    pub(super) fn new_boot(&mut self) {
        if self.store.is_empty() && self.banner.is_none() {
            return;
        }
        self.begin_boot();
    }

    /// Keeps the refined frequency of a finished boot.
    pub(super) fn note_refined(&mut self, khz: Option<u64>) {
        if self.log.refined_before.len() < BOOTS_NOTED {
            self.log.refined_before.extend(khz);
        }
    }

    pub(super) fn begin_boot(&mut self) {
        let refined = self.store.refined();
        self.note_refined(refined);
        if !self.captures && !self.store.is_empty() {
            self.worked = Some(self.take_boot());
        }
        self.captures = false;
        self.log.boots = self.log.boots.saturating_add(1);
        self.store.clear();
        self.repeated.clear();
        self.recent.clear();
        self.banner = None;
        self.machine = Machine::default();
        self.stamped = 0;
        self.bare = 0;
        self.last_at = None;
        self.log.first_at = None;
        self.log.last_at = None;
        self.log.from_boot = false;
        self.log.change_cut = None;
        self.stamp_back = None;
        self.gather.restart();
    }

    fn take_boot(&mut self) -> Boot {
        Boot {
            store: std::mem::take(&mut self.store),
            banner: self.banner.clone(),
            boots: self.log.boots,
            from_boot: self.log.from_boot,
            first_at: self.log.first_at,
            last_at: self.log.last_at,
            captures: self.captures,
        }
    }

    /// Sets the previous boot aside: the banner of a boot shows that no earlier one is the last
    /// one.
    pub(super) fn leave_former(&mut self) {
        self.worked = self.former.take().filter(|former| !former.captures).or(self.worked.take());
    }

    /// Restores the boot that crashed, if this one saves its memory: the kernel that saves a crash dump is another
    /// system, on one processor.
    pub(super) fn leave_capture(&mut self) {
        if !self.captures {
            return;
        }
        let worked = self.former.take().filter(|former| !former.captures).or(self.worked.take());
        if let Some(worked) = worked {
            self.restore(worked);
        }
    }

    /// Restores the previous boot if the later lines are quoted, or of another machine.
    pub(super) fn take_back_former(&mut self) {
        let is_boot =
            self.banner.is_some() || self.store.has_decided() || self.stamped >= BOOT_LINES;
        let Some(former) = self.former.take().filter(|_| !is_boot) else { return };
        if former.store.refined().is_some() {
            self.log.refined_before.pop();
        }
        self.restore(former);
    }

    fn restore(&mut self, boot: Boot) {
        self.store = boot.store;
        self.banner = boot.banner;
        self.captures = boot.captures;
        self.log.boots = boot.boots;
        self.log.from_boot = boot.from_boot;
        self.log.first_at = boot.first_at;
        self.log.last_at = boot.last_at;
        self.log.extent.last_at = boot.last_at;
        self.log.extent.is_left = true;
        self.log.change_cut = None;
        self.stamp_back = None;
    }
}

/// The last time stamp before a line, among the few lines before it.
fn stamp_before(window: &[u8], start: usize) -> Option<f64> {
    let mut at = start;
    for _ in 0..STAMP_WITHIN {
        let before = line_before(window, at)?;
        at = before.start;
        let stamp = strip(&text(window, before.start, before.end)).at;
        if stamp.is_some() {
            return stamp;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;
    use crate::log::event::Event;

    #[test]
    fn a_banner_behind_the_choice_of_an_old_kernel_begins_another_boot() {
        let banner =
            "Linux version 2.6.20 (x@y) (gcc version 4.1.2) #2 SMP Thu Jun 7 20:19:32 UTC 2007\n";
        for choice in [
            "Using hpet for high-res timesource\n",
            "time.c: Using 14.318180 MHz WALL HPET GTOD HPET timer.\n",
            "time.c: Using PIT/TSC based timekeeping.\n",
        ] {
            let log = KernelLog::scan(format!("{choice}{banner}").as_bytes(), "log").unwrap();
            assert_eq!(log.boots, 2, "{choice}");
            assert!(!log.any(|event| event.time_source().is_some()), "{choice}");
            let log = KernelLog::scan(format!("{banner}{choice}").as_bytes(), "log").unwrap();
            assert_eq!(log.boots, 1, "{choice}");
        }
    }

    #[test]
    fn stamps_between_the_lines_about_clocks_tell_boots_apart() {
        let text = |end: &str| {
            format!(
                "[    0.310021] clocksource: Switched to clocksource hpet\n{end}and the guest:\n\
                 [    0.410021] clocksource: Switched to clocksource tsc-early\n\
                 [    1.432311] clocksource: Switched to clocksource tsc\n"
            )
        };
        let boots = |end: &str| KernelLog::scan(text(end).as_bytes(), "log").unwrap().boots;
        assert_eq!(boots("[  800.100002] usb 1-1: new device\n"), 2);
        assert_eq!(boots("[    0.320000] usb 1-1: new device\n"), 1);
    }

    #[test]
    fn cpu_of_a_guest_that_comes_up_late_begins_no_boot() {
        let log = KernelLog::scan(
            &b"[    0.000000] Linux version 5.15.0-rc1 (a@b) (gcc 9) #1 SMP\n\
               [    0.000000] kvm-clock: cpu 0, msr 3751001, primary cpu clock\n\
               [  245.100000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
               [    0.069580] kvm-clock: cpu 1, msr 3751021, secondary cpu clock\n\
               [  245.466000] smp: Brought up 1 node, 2 CPUs\n\
               [  246.000000] clocksource: Switched to clocksource kvm-clock\n"[..],
            "log",
        )
        .unwrap();
        assert_eq!(log.boots, 1);
        assert!(log.any(|event| matches!(event, Event::TscUnstable(_))));
    }

    #[test]
    fn kernel_that_saves_a_dump_is_not_the_last_boot() {
        let boot = |command: &str, name: &str| {
            format!(
                "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n[    0.000000] Command line: {command}\n\
                 [    1.910000] clocksource: Switched to clocksource {name}\n[   60.000000] usb 1-1: x\n"
            )
        };
        let scan = |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap();
        let last = |log: &KernelLog| {
            let name = log.last(|event| match event {
                Event::Switched(name) => Some(name.clone()),
                _ => None,
            });
            name.map(|(_, name)| name)
        };
        let works = boot("ro crashkernel=256M", "hpet");
        let by_tree = boot("ro", "tsc").replacen(
            '\n',
            "\n[    0.000000] Reserving 2KB of memory at 0x1ffffe000 for elfcorehdr\n",
            1,
        );
        assert_eq!(last(&scan(&format!("{works}{by_tree}"))).as_deref(), Some("hpet"));
        let captures = boot("ro nr_cpus=1 reset_devices elfcorehdr=867700K", "tsc");
        for text in [format!("{works}{captures}"), format!("{works}{captures}{captures}")] {
            let log = scan(&text);
            assert_eq!((last(&log).as_deref(), log.boots), (Some("hpet"), 1), "{text}");
            assert_eq!((log.mixed, log.last_at), (None, Some(1.91)));
        }
        let log = scan(&format!("{works}{captures}{}", boot("ro", "tsc")));
        assert_eq!((last(&log).as_deref(), log.boots), (Some("tsc"), 3));
        assert!(scan(&captures).mixed.is_some());
        // Many boots, the older ones of which are skipped.
        let many = works.repeat(800);
        assert_eq!(last(&scan(&format!("{many}{captures}{captures}"))).as_deref(), Some("hpet"));
    }

    #[test]
    fn clocks_of_two_hypervisors_are_of_two_machines() {
        let text = "[    2.600920] Switched to clocksource kvm-clock\n[    0.607022] Switched to clocksource xen\n";
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap_or_default();
        assert_eq!(log.boots, 2);
        assert!(!log.any(|event| matches!(event, Event::Switched(name) if name == "kvm-clock")));
    }

    #[test]
    fn stamps_that_begin_again_behind_a_choice_are_of_another_guest() {
        let first = "[    0.000000] Hypervisor detected: KVM\n[    0.500000] clocksource: Switched to clocksource kvm-clock\n\
                     [    1.500000] tsc: Refined TSC clocksource calibration: 2399.998 MHz\n";
        let other = "[    0.000000] Hypervisor detected: KVM\n[    0.400000] clocksource: Switched to clocksource tsc-early\n";
        let log = KernelLog::scan(format!("{first}{other}").as_bytes(), "log").unwrap();
        assert_eq!(log.boots, 2);
        assert!(!log.any(|event| matches!(event, Event::Refined { .. })));
        // A repeated line of the same guest.
        let again = "[    0.500000] clocksource: Switched to clocksource kvm-clock\n";
        let log = KernelLog::scan(format!("{first}{again}").as_bytes(), "log").unwrap();
        assert_eq!(log.boots, 1);
    }
}
