//! A wall clock that was wrong from the start: no real-time clock, or one that lost its power.

use super::judge::View;
use crate::cause::Evidence;
use clocksmith_facts::Arch;
use clocksmith_facts::log::Event;
use clocksmith_facts::wall::What;

/// 2001-01-01: real-time clocks without power begin at 1970, 1980 or 2000, and no kernel that prints the line is as old.
const FIRST_DATE: i64 = 978_307_200;

/// The year of a time before [`FIRST_DATE`], in seconds since 1970.
fn year(epoch: i64) -> i64 {
    let mut days = epoch.max(0) / 86_400;
    let mut year = 1970;
    loop {
        // 2000 was a leap year.
        let length = if year % 4 == 0 { 366 } else { 365 };
        if days < length {
            return year;
        }
        days -= length;
        year += 1;
    }
}

impl View<'_> {
    /// Whether the kernel sets its time only by a driver of a real-time clock. On x86 and others it has set it before, by
    /// the firmware's or the hypervisor's clock (`read_persistent_clock64()`, arch/x86/kernel/rtc.c). Where the architecture is not known, a time daemon's lines decide.
    fn sets_time_by_driver(&self) -> bool {
        match self.facts.arch.value() {
            Some(arch) => matches!(arch, Arch::Arm | Arch::Arm64 | Arch::Riscv | Arch::Riscv32),
            None => self.told.is_some(),
        }
    }

    /// The reason why the clock was wrong from the start, as a clause, and the line that shows it.
    pub(super) fn wrong_from_the_start(&self) -> Option<(String, Evidence)> {
        let of_log = self.facts.kernel_log().and_then(|log| {
            let entry = log.entries.iter().find(|entry| match entry.event {
                Event::SetByRtc(epoch) => epoch < FIRST_DATE,
                Event::NoRtc => self.sets_time_by_driver(),
                _ => false,
            })?;
            let words = match entry.event {
                Event::SetByRtc(epoch) => format!(
                    "the real-time clock began in {}, so it has no battery or an empty one, or it was never set",
                    year(epoch)
                ),
                _ => "the kernel found no real-time clock that holds a date when it looked for one (a driver that is a module comes later)".to_owned(),
            };
            Some((words, Evidence::line(log, entry)))
        });
        of_log.or_else(|| {
            let (told, _) = self.told?;
            let remark = told
                .remarks_of(|what| matches!(what, What::Recorded | What::BeforeAnyDate))
                .next()?;
            let words = match remark.what {
                What::Recorded => format!(
                    "{} found it earlier than a time that it had recorded: no real-time clock kept it while the machine was \
                     off, or something had set it back",
                    remark.program
                ),
                _ => format!(
                    "{} found a date that is too early to be possible: nothing had set the clock \
                     since the boot, as on a machine without a real-time clock, or in a guest \
                     without one",
                    remark.program
                ),
            };
            Some((words, Evidence::new(remark.source.0.clone(), super::remarks::short(&remark.what))))
        })
    }
}
