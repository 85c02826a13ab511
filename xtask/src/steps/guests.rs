//! Real kernels and installed systems in QEMU, by the testbed.
//!
//! All guests get the program as packages have it: a debug one is too slow under emulation, and one build serves all.

use crate::call::call;
use crate::context::{Context, WORKSPACE};
use crate::needs::{CC, LIBC, MUSL, Need, QEMU, is_root};
use crate::step::{Done, Step, Stop, Tier};
use crate::steps::rust::PROGRAM;
use std::path::Path;

const MUSL_TRIPLE: &str = "x86_64-unknown-linux-musl";
const DPKG: Need = Need::Tool("dpkg", "dpkg");
const QEMU_IMG: Need = Need::Tool("qemu-img", "qemu-utils");
const MMDEBSTRAP: Need = Need::Tool("mmdebstrap", "mmdebstrap");
const MKE2FS: Need = Need::Tool("mke2fs", "e2fsprogs");
/// Boots of the short form: one for each architecture and each verdict.
const FEW_BOOTS: &str =
    "smp2@6.1,no-hpet@7.x,smp1@7.x,want-jiffies@7.x,arm-want-jiffies,i386,plain@6.1-s390x";

/// The program that runs in any guest, with the profile of packages (`packaging/build.sh` chooses it).
pub(crate) static STATIC_PROGRAM: Step = Step {
    name: "static-program",
    what: "the program as packages have it, for guests",
    tier: Tier::Shared,
    emulated: false,
    seconds: 190,
    budget: 400,
    short: None,
    needs: &[CC, MUSL],
    uses: &[],
    run: |context| {
        let answer = call("packaging/build.sh --out")
            .arg(context.dir.join("dist"))
            .arg("program-x86_64")
            .answer(context)?;
        if answer.good() {
            return Ok(());
        }
        if crate::needs::targets().iter().any(|target| target == MUSL_TRIPLE)
            && answer.code != Some(75)
        {
            return Err(Stop::fail("packaging/build.sh"));
        }
        Err(Stop::no_network(
            "no static program for the guests: rustup target add x86_64-unknown-linux-musl",
        ))
    },
};

/// The testbed and its tests.
pub(crate) static TESTBED: Step = Step {
    name: "testbed",
    what: "the testbed and its tests, compiled",
    tier: Tier::Shared,
    emulated: false,
    seconds: 30,
    budget: 120,
    short: None,
    needs: &[CC],
    uses: &[],
    run: |context| call("cargo test --no-run --test live").args(WORKSPACE).run(context),
};

/// An installed system. It is built once, by root; booting it needs none.
pub(crate) static DISK_IMAGE: Step = Step {
    name: "disk-image",
    what: "an installed Debian on a disk image, kept in the cache",
    tier: Tier::Shared,
    emulated: true,
    seconds: 90,
    budget: 300,
    short: None,
    needs: &[QEMU, QEMU_IMG, MMDEBSTRAP, MKE2FS, Need::Root, Need::Network],
    uses: &[&TESTBED],
    run: disk_image,
};

fn disk_image(context: &Context) -> Done {
    let program = context.target.join("debug/testbed");
    let strict = std::env::var_os("STRICT").is_some_and(|value| !value.is_empty());
    // For continuous integration; tests of a user become root only on request.
    let build = if !is_root() && strict && call("sudo -n true").hidden().answer(context)?.good() {
        let cache =
            std::env::var_os("XDG_CACHE_HOME").map(std::path::PathBuf::from).or_else(|| {
                std::env::var_os("HOME").map(|home| std::path::Path::new(&home).join(".cache"))
            });
        let cache = cache.ok_or_else(|| Stop::fail("neither HOME nor XDG_CACHE_HOME is set"))?;
        call("sudo -n --preserve-env=CLOCKSMITH_TESTBED_MIRROR")
            .arg(program)
            .args("disk build --cache")
            .arg(cache.join("clocksmith-testbed"))
    } else {
        call("").arg(program).args("disk build")
    };
    let answer = build.limit(600).answer(context)?;
    if answer.good() {
        return Ok(());
    }
    if answer.text.contains("needs root: it installs") {
        return Err(Stop::skip("no disk image, and only root can build one: testbed disk build"));
    }
    if is_offline(&answer.text) {
        return Err(Stop::no_network("the packages of the disk image could not be fetched"));
    }
    Err(Stop::fail("testbed disk build"))
}

/// QEMU with paravirtual clocks under software emulation. It is compiled once; a build that was ended continues.
pub(crate) static PARAVIRT_EMULATOR: Step = Step {
    name: "paravirt-emulator",
    what: "an emulator that offers kvm-clock and Hyper-V's clocks, compiled once and kept in the cache",
    tier: Tier::Shared,
    emulated: false,
    seconds: 540,
    budget: 1200,
    short: None,
    needs: &[
        // For its firmware.
        QEMU,
        Need::Tool("dpkg-source", "dpkg-dev"),
        Need::Tool("patch", "patch"),
        Need::Tool("make", "make"),
        Need::Tool("meson", "meson"),
        Need::Tool("ninja", "ninja-build"),
        Need::Tool("pkg-config", "pkg-config"),
        Need::Package("libglib2.0-dev"),
        Need::Package("libpixman-1-dev"),
        Need::Package("libfdt-dev"),
        CC,
        LIBC,
        DPKG,
        Need::Network,
    ],
    uses: &[&TESTBED],
    run: paravirt_emulator,
};

fn paravirt_emulator(context: &Context) -> Done {
    let answer = context.testbed("emulator --limit 2400").limit(2700).answer(context)?;
    if answer.good() {
        return Ok(());
    }
    if answer.text.contains("the emulator cannot be built here: ") {
        return Err(Stop::skip(answer.last_line()));
    }
    if is_offline(&answer.text) {
        return Err(Stop::no_network("the emulator's source could not be fetched"));
    }
    Err(Stop::fail(answer.last_line()))
}

/// Whether a failure of the testbed is one of the network.
fn is_offline(text: &str) -> bool {
    [
        "no Debian archive found",
        "Failed to fetch",
        "Could not resolve",
        "apt-get update",
        "fetching package lists",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// The library's reader for guests.
pub(crate) static CLOCK_READER: Step = Step {
    name: "clock-reader",
    what: "a program that reads the library's clocks, for guests",
    tier: Tier::Shared,
    emulated: false,
    seconds: 40,
    budget: 160,
    short: None,
    needs: &[CC, MUSL],
    uses: &[],
    run: |context| {
        if !crate::needs::targets().iter().any(|target| target == MUSL_TRIPLE) {
            return Err(Stop::skip(
                "no reader for guests: rustup target add x86_64-unknown-linux-musl",
            ));
        }
        call("cargo build --locked --release -p clocksmith --example clock_reader --target")
            .arg(MUSL_TRIPLE)
            .run(context)
    },
};

/// Tests of the testbed that boot something: those whose names begin with `tests`.
fn live(context: &Context, tests: &str, seconds: u64) -> Done {
    if !is_there(tests) {
        return Err(Stop::fail(format!("testbed/tests/live has no test `{tests}`")));
    }
    context.part(tests, || {
        call("cargo test")
            .args(WORKSPACE)
            .args("--test live -- --include-ignored --nocapture --test-threads 1")
            .arg(tests)
            .env("CLOCKSMITH_STATIC", context.static_program())
            .env("CLOCKSMITH_READER", context.clock_reader())
            .limit(seconds)
            .run(context)
    })
}

/// Whether the live tests have one of these. A filter that fits none runs none, and that is no failure for `cargo test`.
fn is_there(tests: &str) -> bool {
    let (module, name) = tests.split_once("::").unwrap_or((tests, ""));
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbed/tests/live").join(module);
    let mut files = vec![place.with_extension("rs")];
    files.extend(std::fs::read_dir(place).into_iter().flatten().flatten().map(|file| file.path()));
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let name = format!("fn {name}");
    texts.into_iter().any(|text| text.contains("#[test]") && text.contains(&name))
}

pub(crate) static BOOTS: Step = Step {
    name: "boots",
    what: "what real kernels choose is what is predicted, and what is said inside is right",
    tier: Tier::All,
    emulated: true,
    seconds: 120,
    budget: 600,
    short: Some(40),
    needs: &[
        QEMU,
        Need::Tool("qemu-system-aarch64", "qemu-system-arm"),
        Need::Tool("qemu-system-s390x", "qemu-system-misc"),
        CC,
        LIBC,
        DPKG,
        Need::Network,
    ],
    uses: &[&PROGRAM, &TESTBED, &STATIC_PROGRAM],
    run: boots,
};

/// The second try boots only the cases that disagreed in the first.
fn boots(context: &Context) -> Done {
    let again = context.again.take();
    let subset = match (again.as_str(), context.short.get()) {
        ("", true) => FEW_BOOTS,
        ("", false) => "ci",
        (some, _) => some,
    };
    let answer = context
        .testbed("run --clocksmith")
        .arg(context.program())
        .arg("--guest-clocksmith")
        .arg(context.static_program())
        .arg("--out")
        .arg(context.dir.join(if again.is_empty() { "boots" } else { "boots-again" }))
        .args("--subset")
        .arg(subset)
        .limit(1500)
        .answer(context)?;
    if answer.good() {
        return Ok(());
    }
    if !answer.text.contains("compared agree") {
        return Err(Stop::no_network("the kernels could not be fetched, or no guest came up"));
    }
    let complaints = complaints(&answer.text);
    if complaints.is_empty() && answer.code == Some(1) {
        // A kernel of a suite that moves may choose otherwise than its case file says, if that was predicted.
        say!("-- boots: as predicted, and not as the case file expects; see above");
        return Ok(());
    }
    if !complaints.is_empty() && complaints.iter().all(|complaint| complaint.unfetched) {
        return Err(Stop::no_network(
            "a kernel could not be fetched; the others choose as predicted",
        ));
    }
    let names: Vec<&str> = complaints.iter().map(|complaint| complaint.boot.as_str()).collect();
    if names.is_empty() {
        return Err(Stop::fail(format!(
            "testbed run ended with {:?}, and names no boot",
            answer.code
        )));
    }
    context.again.replace(names.join(","));
    Err(Stop::fail(format!("not as predicted, or not up: {}", names.join(", "))))
}

/// A boot that `testbed run` complains about.
#[derive(Debug, Eq, PartialEq)]
struct Complaint {
    boot: String,
    /// It was not booted, because its kernel could not be fetched.
    unfetched: bool,
}

fn complaints(text: &str) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = Vec::new();
    let mut boot = "";
    for line in text.lines() {
        if !line.starts_with(' ') {
            boot = line.split_whitespace().next().filter(|word| word.contains('@')).unwrap_or("");
        }
        let inner = line.strip_prefix("    ").unwrap_or_default();
        let failed = line.contains("FAILED: ");
        let wrong = line.contains("NO PREDICTION: ")
            || ["PREDICTED ", "DISAGREES "].iter().any(|word| inner.starts_with(word));
        if boot.is_empty()
            || !(failed || wrong)
            || found.iter().any(|complaint| complaint.boot == boot)
        {
            continue;
        }
        let unfetched =
            failed && ["apt", "fetch", "archive"].iter().any(|word| line.contains(word));
        found.push(Complaint { boot: boot.to_owned(), unfetched });
    }
    found
}

pub(crate) static SCENARIOS: Step = Step {
    name: "scenarios",
    what: "what happens to clocks in a running guest (switched, paused, moved, a wrong counter), also under `run`",
    tier: Tier::All,
    emulated: true,
    seconds: 120,
    budget: 500,
    short: Some(50),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        let fetched = context.testbed("fetch --subset smp2@6.1").limit(300).answer(context)?;
        if !fetched.good() {
            return Err(Stop::no_network("the kernel could not be fetched"));
        }
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
    seconds: 320,
    budget: 900,
    short: Some(110),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, MMDEBSTRAP, MKE2FS, Need::Root, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        for kernel in ["6.1", "7.x"] {
            let fetch = format!("fetch --subset smp2@{kernel}");
            if !context.testbed(&fetch).limit(300).answer(context)?.good() {
                return Err(Stop::no_network("the kernel could not be fetched"));
            }
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
    seconds: 20,
    budget: 120,
    short: Some(10),
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED],
    run: |context| {
        live(context, if context.short.get() { "emulator::a_paused" } else { "emulator::" }, 300)
    },
};

pub(crate) static SWEEP: Step = Step {
    name: "sweep",
    what: "`bench --every-clocksource` puts the clocksource back, also when it is killed",
    tier: Tier::All,
    emulated: true,
    seconds: 60,
    budget: 240,
    short: Some(60),
    needs: &[QEMU, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| live(context, "sweep::", 300),
};

pub(crate) static FORGERY: Step = Step {
    name: "forgery",
    what: "lines that a user writes into the kernel log change no verdict, no plan of `fix`, no event and alert of `watch`; root \
           obeys no journal and reads no map that a user prepared",
    tier: Tier::All,
    emulated: true,
    seconds: 135,
    budget: 380,
    short: Some(135),
    needs: &[QEMU, CC, LIBC, DPKG, Need::Tool("promtool", "prometheus"), Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| live(context, "forgery::", 420),
};

pub(crate) static WHO: Step = Step {
    name: "who",
    what: "`who` finds the readers of a slow clock and counts their system calls; `run` makes them fast",
    tier: Tier::All,
    emulated: true,
    seconds: 60,
    budget: 300,
    short: Some(35),
    needs: &[QEMU, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        live(context, "who::who_reads", 300)?;
        if context.short.get() { Ok(()) } else { live(context, "who::system_calls", 300) }
    },
};

/// In a turn of its own: every run would compile an emulator.
pub(crate) static PARAVIRT: Step = Step {
    name: "paravirt",
    what: "the library and each verb in guests on kvm-clock and Hyper-V's clocks, served in user space and not: exact, \
           never back, and the right verdict",
    tier: Tier::All,
    emulated: true,
    seconds: 360,
    budget: 1000,
    short: None,
    needs: &[QEMU, QEMU_IMG, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM, &CLOCK_READER, &PARAVIRT_EMULATOR],
    run: |context| {
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
    seconds: 120,
    budget: 400,
    short: Some(120),
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
    seconds: 1900,
    budget: 2700,
    short: None,
    needs: &[QEMU, CC, LIBC, DPKG, Need::Network],
    uses: &[&TESTBED, &STATIC_PROGRAM],
    run: |context| {
        let minutes =
            std::env::var("CLOCKSMITH_SOAK_MINUTES").ok().and_then(|text| text.parse().ok());
        context.asked.set(60 * minutes.unwrap_or(30_u64).saturating_sub(30));
        live(context, "soak::", 3 * 3600 + context.asked.get())
    },
};

pub(crate) static SERVERS: Step = Step {
    name: "servers",
    what: "figures to read: servers in guests with a slow clock, with and without `run`",
    tier: Tier::Named,
    emulated: true,
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
    fn complaints_each_boot_is_named_once() {
        let text = "\
smp1@7.x    [tsc]  agrees
    inside: ok  (why 0.4 s, collect 0.2 s, 11 KiB)
smp2@6.1    [hpet]
    PREDICTED [tsc]
    DISAGREES verdict ok
no-hpet@6.1    [acpi_pm]  agrees
    DISAGREES verdict ok
q35@6.1     FAILED: the guest said nothing for 60 s
i386@6.1-pae  FAILED: fetching package lists left none
pit@6.1     [tsc]  agrees
    THE CASE FILE EXPECTS [hpet]
6 boots; 3 of 4 compared agree in 9 s; 2 boots failed
";
        let found = complaints(text);
        let names: Vec<&str> = found.iter().map(|complaint| complaint.boot.as_str()).collect();
        assert_eq!(names, ["smp2@6.1", "no-hpet@6.1", "q35@6.1", "i386@6.1-pae"]);
        let unfetched: Vec<bool> = found.iter().map(|complaint| complaint.unfetched).collect();
        assert_eq!(unfetched, [false, false, false, true]);
    }

    #[test]
    fn filter_that_fits_no_test_is_known() {
        assert!(is_there("fix::the_command") && is_there("forgery::") && is_there("wall::"));
        assert!(!is_there("fix::a_slow") && !is_there("walls::") && !is_there("guest::"));
    }
}
