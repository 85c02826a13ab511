//! Architectures other than x86: one architected counter each, and practically no choice.

use crate::arch_vdso;
use crate::feature::Feature;
use crate::select::{Registered, periodic, select};
use crate::{Expectation, Machine};
use clocksmith_facts::Arch;

pub(crate) fn predict(machine: &Machine, out: &mut Expectation) {
    let kernel = &machine.kernel.value;
    let (name, rating, source) = match machine.arch.value {
        Arch::Arm64 => (
            "arch_sys_counter",
            400,
            "arch_counter_register() in drivers/clocksource/arm_arch_timer.c, since 3.5",
        ),
        Arch::Riscv | Arch::Riscv32 if Feature::RiscvRating400.of(kernel) => (
            "riscv_clocksource",
            400,
            "riscv_timer_init_dt() in drivers/clocksource/timer-riscv.c, since 6.3",
        ),
        Arch::Riscv | Arch::Riscv32 => (
            "riscv_clocksource",
            300,
            "riscv_timer_init_dt() in drivers/clocksource/timer-riscv.c, until 6.2",
        ),
        Arch::S390 => ("tod", 400, "time_init() in arch/s390/kernel/time.c, all versions"),
        Arch::Powerpc => {
            ("timebase", 400, "clocksource_init() in arch/powerpc/kernel/time.c, all versions")
        }
        Arch::Loongarch | Arch::Loongarch32 => (
            "Constant",
            400,
            "constant_clocksource_init() in arch/loongarch/kernel/time.c, since 5.19",
        ),
        Arch::Arm
        | Arch::Mips
        | Arch::Sparc
        | Arch::Sh
        | Arch::Um
        | Arch::Parisc
        | Arch::Alpha
        | Arch::M68k
        | Arch::Ia64
        | Arch::Openrisc => {
            out.undecided.push(
                "the clocksource of such machines depends on the board: read \
                 /sys/devices/system/clocksource/clocksource0/available_clocksource"
                    .to_owned(),
            );
            return;
        }
        Arch::X86 | Arch::X86_64 => return,
    };
    out.reason(
        "architected counter",
        format!("{name} (rating {rating}) is the counter of this architecture"),
        source,
    );
    let vdso = arch_vdso::has_mode(machine, name).unwrap_or(true);
    let mut sources = vec![Registered::new(name, rating, true, vdso, 0)];
    // `clocksource_default_clock()` is `tod` on IBM Z.
    let z = machine.arch.value == Arch::S390;
    if !(z && Feature::JiffiesAsDefaultClock.of(kernel)) {
        sources.push(Registered::new("jiffies", 1, false, false, 4));
    }
    // On IBM Z the boot default is `tod`, so the tick is one-shot before the choice is applied.
    let wants_jiffies = machine.cmdline.value.clocksource_override().as_deref() == Some("jiffies");
    let refused = (machine.arch.value == Arch::S390 && wants_jiffies && !periodic(machine)).then(|| {
        "jiffies is not valid for high resolution, and the tick is one-shot already when the choice is \
         applied"
            .to_owned()
    });
    select(machine, sources, refused, out);
}

#[cfg(test)]
mod tests {
    use crate::{Machine, predict};
    use clocksmith_facts::{Facts, Origin};

    #[test]
    fn counter_is_read_by_the_vdso_from_the_version_on_that_can() {
        for (arch, kernel, vdso) in [
            ("riscv64", "5.6", false),
            ("riscv64", "5.8", true),
            ("arm64", "6.1", true),
            ("s390x", "6.1", true),
            ("ppc64le", "4.4", true),
        ] {
            let mut machine = Machine::of(&Facts::empty(Origin::Stated));
            machine.set("arch", arch).unwrap();
            machine.set_kernel(kernel).unwrap();
            assert_eq!(predict(&machine).vdso, Some(vdso), "{arch} {kernel}");
        }
    }
}
