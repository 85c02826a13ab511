//! Tests in running guests and installed systems in QEMU, by the testbed.

use crate::call::call;
use crate::context::Context;
use crate::needs::{CC, DPKG, LIBC, MKE2FS, MMDEBSTRAP, Need, QEMU, QEMU_IMG};
use crate::step::{Done, Step, Stop, Tier};
use crate::steps::guest_parts::{
    CLOCK_READER, DISK_IMAGE, PARAVIRT_EMULATOR, STATIC_PROGRAM, TESTBED, disk_image, fetch,
};
use std::path::Path;

/// A case with the kernel of the tests' guests. It is fetched before, because a test without it fails, and is not skipped.
const GUEST: &str = "smp2@6.1";

/// Runs the testbed's tests in guests whose names begin with `tests`.
fn live(context: &Context, tests: &str, seconds: u64) -> Done {
    if !is_there(Path::new("."), tests) {
        return Err(Stop::fail(format!("testbed/tests/live has no test `{tests}`")));
    }
    context.part(tests, || {
        call("cargo test")
            .workspace()
            .args("--test live -- --include-ignored --nocapture --test-threads 1")
            .arg(tests)
            .env("CLOCKSMITH_STATIC", context.static_program())
            .env("CLOCKSMITH_READER", context.clock_reader())
            .limit(seconds)
            .run(context)
    })
}

/// Whether the live tests have one of these. A filter that fits none runs none, and `cargo test` does not fail then.
fn is_there(top: &Path, tests: &str) -> bool {
    let (module, name) = tests.split_once("::").unwrap_or((tests, ""));
    let place = top.join("testbed/tests/live").join(module);
    let mut files = vec![place.with_extension("rs")];
    files.extend(std::fs::read_dir(place).into_iter().flatten().flatten().map(|file| file.path()));
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let name = format!("fn {name}");
    texts.into_iter().any(|text| text.contains("#[test]") && text.contains(&name))
}

pub(crate) static SCENARIOS: Step = Step {
    name: "scenarios",
    what: "what happens to clocks in a running guest (switched, paused, moved, a wrong counter), also under `run`",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 120,
    budget: 500,
    short: Some(50),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        fetch(context, GUEST)?;
        let (plain, under_run) = if context.short.get() {
            ("switch", "pause")
        } else {
            ("switch,pause,migrate-file,fault", "pause,snapshot,migrate")
        };
        let play = |names: &str| {
            context
                .testbed("scenario")
                .arg(names)
                .args("--kernel 6.1 --guest-clocksmith")
                .arg(context.static_program())
        };
        context.part(plain, || play(plain).limit(400).run(context))?;
        // The same with a reader that has its clock from `clocksmith run`.
        context.part(&format!("under run: {under_run}"), || {
            play(under_run)
                .args("--under-run hpet --reader-error-ns 20000000")
                .limit(400)
                .run(context)
        })
    },
};

pub(crate) static WALL_CLOCK: Step = Step {
    name: "wall-clock",
    what: "the wall clock of a guest that is set by hand, paused, restored and cloned, and one with chronyd: `watch`, `why`, `check`",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 320,
    budget: 900,
    short: Some(110),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, MMDEBSTRAP, MKE2FS, Need::Root, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        for kernel in ["6.1", "7.x"] {
            fetch(context, &format!("smp2@{kernel}"))?;
        }
        // Debian's 6.1 for clouds has no driver for the generation id, later ones have.
        let kernels = if context.short.get() { "7.x" } else { "6.1,7.x" };
        context.part("without a time daemon", || {
            context
                .testbed("scenario wall-clock --kernel")
                .arg(kernels)
                .args("--guest-clocksmith")
                .arg(context.static_program())
                .limit(600)
                .run(context)
        })?;
        if context.short.get() {
            return Ok(());
        }
        context.part("disk image", || disk_image(context))?;
        live(context, "wall::", 600)
    },
};

pub(crate) static EMULATOR: Step = Step {
    name: "emulator",
    what: "the testbed's own tools: a guest that is paused, goes back to a snapshot, moves to another emulator",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 20,
    budget: 120,
    short: Some(10),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED],
    run: |context| {
        fetch(context, GUEST)?;
        live(context, if context.short.get() { "emulator::a_paused" } else { "emulator::" }, 300)
    },
};

pub(crate) static SWEEP: Step = Step {
    name: "sweep",
    what: "`bench --every-clocksource` puts the clocksource back, also when it is killed",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 60,
    budget: 240,
    short: Some(60),
    needs: &[QEMU, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        fetch(context, GUEST)?;
        live(context, "sweep::", 300)
    },
};

pub(crate) static FORGERY: Step = Step {
    name: "forgery",
    what: "lines that a user writes into the kernel log change no verdict, no plan of `fix`, no event and alert of `watch`; root \
           obeys no journal and reads no map that a user prepared",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 135,
    budget: 380,
    short: None,
    needs: &[QEMU, CC, LIBC, DPKG, Need::Tool("promtool", "prometheus"), Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        fetch(context, GUEST)?;
        live(context, "forgery::", 420)
    },
};

pub(crate) static WHO: Step = Step {
    name: "who",
    what: "`who` finds the readers of a slow clock and counts their system calls; `run` makes them fast",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 60,
    budget: 300,
    short: Some(35),
    needs: &[QEMU, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        fetch(context, GUEST)?;
        live(context, "who::who_reads", 300)?;
        if context.short.get() { Ok(()) } else { live(context, "who::system_calls", 300) }
    },
};

/// In a separate turn of continuous integration, because every run would compile an emulator.
pub(crate) static PARAVIRT: Step = Step {
    name: "paravirt",
    what: "the library and each verb in guests on kvm-clock and Hyper-V's clocks, served in user space and not: exact, \
           never back, and the right verdict",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 360,
    budget: 1000,
    short: None,
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM, &CLOCK_READER, &PARAVIRT_EMULATOR],
    run: |context| {
        fetch(context, GUEST)?;
        for tests in ["kvm_clock_is", "hyperv_page_is", "slow_", "tsc_beside", "events_"] {
            live(context, &format!("paravirt::{tests}"), 900)?;
        }
        Ok(())
    },
};

pub(crate) static DISK: Step = Step {
    name: "disk",
    what: "an installed system whose boot loader is configured for another clocksource, and a power cut",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 90,
    budget: 300,
    short: Some(90),
    needs: &[QEMU, QEMU_IMG],
    uses: &[&TESTBED, &DISK_IMAGE],
    run: |context| live(context, "disk::grub", 600),
};

pub(crate) static FIX: Step = Step {
    name: "fix",
    what: "`fix` reverts a change that does not hold; in installed systems: made fast, rebooted, power cut, undone",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 400,
    budget: 1200,
    short: Some(220),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, MMDEBSTRAP, MKE2FS, Need::Root, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        live(context, "trial::", 400)?;
        context.part("disk image", || disk_image(context))?;
        let all = ["fix::the_command", "fix::slow_clocksource", "fix::a_power_cut"];
        // A real boot loader's generator refuses, or is refused, for reasons that nothing else shows.
        for test in &all[..if context.short.get() { 1 } else { all.len() }] {
            live(context, test, 900)?;
        }
        Ok(())
    },
};

pub(crate) static ALERT: Step = Step {
    name: "alert",
    what: "a real Prometheus fires the shipped alert when the clocksource of a guest is switched",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 120,
    budget: 400,
    short: None,
    needs: &[
        QEMU,
        QEMU_IMG,
        MMDEBSTRAP,
        Need::Tool("prometheus", "prometheus"),
        Need::Tool("promtool", "prometheus"),
    ],
    uses: &[&TESTBED, &STATIC_PROGRAM, &DISK_IMAGE],
    run: |context| live(context, "alert::", 400),
};

/// Besides GRUB; firmware for it is one package more, and another image.
pub(crate) static UEFI: Step = Step {
    name: "uefi",
    what: "`disk` and `fix` in an installed system with UEFI and systemd-boot",
    tier: Tier::Named,
    emulated: true,
    beside: false,
    seconds: 300,
    budget: 1200,
    short: None,
    needs: &[QEMU, QEMU_IMG, MMDEBSTRAP, MKE2FS, Need::Package("ovmf"), Need::Root, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        live(context, "disk::systemd_boot", 900)?;
        live(context, "fix::systemd_boot", 900)
    },
};

pub(crate) static SOAK: Step = Step {
    name: "soak",
    what: "a watch for half an hour in a busy guest (CLOCKSMITH_SOAK_MINUTES=30)",
    tier: Tier::Named,
    emulated: true,
    beside: false,
    seconds: 1900,
    budget: 2700,
    short: None,
    needs: &[QEMU, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        let minutes =
            std::env::var("CLOCKSMITH_SOAK_MINUTES").ok().and_then(|text| text.parse().ok());
        let more: u64 = minutes.unwrap_or(30_u64).saturating_sub(30);
        context.asked.set(more.saturating_mul(60));
        fetch(context, GUEST)?;
        live(context, "soak::", 3 * 3600 + context.asked.get())
    },
};

pub(crate) static SERVERS: Step = Step {
    name: "servers",
    what: "figures to read: servers in guests with a slow clock, with and without `run`",
    tier: Tier::Named,
    emulated: true,
    beside: false,
    seconds: 1800,
    budget: 3600,
    short: None,
    needs: &[QEMU, MMDEBSTRAP, Need::Tool("cpio", "cpio"), Need::Root, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        for source in ["hpet", "acpi_pm"] {
            context.part(source, || {
                call("testbed/servers.sh --source")
                    .arg(source)
                    .env("CLOCKSMITH", context.static_program())
                    .script(context)
            })?;
        }
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_that_fits_no_test_is_known() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (tests, there) in [
            ("fix::the_command", true),
            ("forgery::", true),
            ("wall::", true),
            ("fix::a_slow", false),
            ("walls::", false),
            ("guest::", false),
        ] {
            assert_eq!(is_there(&top, tests), there, "{tests}");
        }
    }
}
