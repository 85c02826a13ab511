//! The parts that guests are made of and boot with. Each is built once, for all steps that use it.
//!
//! All guests get the program as packages have it: a debug one is too slow under emulation, and one build serves all.

use crate::call::{Answer, call};
use crate::context::Context;
use crate::needs::{
    CC, DPKG, KEYRING, LIBC, MKE2FS, MMDEBSTRAP, MUSL, Need, QEMU, QEMU_IMG, has_target, is_root,
};
use crate::offline::is_offline;
use crate::step::{Done, Step, Stop, Tier};

const MUSL_TRIPLE: &str = "x86_64-unknown-linux-musl";

/// The program that runs in any guest, with the profile of packages (`packaging/build.sh` chooses it).
pub(crate) static STATIC_PROGRAM: Step = Step {
    name: "static-program",
    what: "the program as packages have it, for guests",
    tier: Tier::Shared,
    emulated: false,
    beside: false,
    seconds: 190,
    budget: 400,
    short: None,
    // cargo fetches what its target needs besides.
    needs: &[CC, MUSL, Need::Network],
    uses: &[],
    run: |context| static_program(context, MUSL_TRIPLE, "packaging/build.sh"),
};

/// A missing target is a missing tool, and a program that does not compile is a failure.
fn static_program(context: &Context, triple: &str, script: &str) -> Done {
    if !has_target(triple) {
        return Err(Stop::skip(format!(
            "no static program for the guests: rustup target add {triple}"
        )));
    }
    let dist = context.dir.join("dist");
    call(script).arg("--out").arg(dist).arg("program-x86_64").script(context)
}

/// The testbed and its tests.
pub(crate) static TESTBED: Step = Step {
    name: "testbed",
    what: "the testbed and its tests, compiled",
    tier: Tier::Shared,
    emulated: false,
    beside: false,
    seconds: 30,
    budget: 120,
    short: None,
    needs: &[CC, KEYRING],
    uses: &[],
    run: |context| call("cargo test --no-run --test live").workspace().run(context),
};

/// An installed system. It is built once, by root; booting it needs none.
pub(crate) static DISK_IMAGE: Step = Step {
    name: "disk-image",
    what: "an installed Debian on a disk image, kept in the cache",
    tier: Tier::Shared,
    emulated: true,
    beside: false,
    seconds: 90,
    budget: 300,
    short: None,
    needs: &[QEMU, QEMU_IMG, MMDEBSTRAP, MKE2FS, Need::Root, Need::Network],
    uses: &[&TESTBED],
    run: disk_image,
};

/// Whether this is not root, and may become it: for continuous integration. Tests of a user become root only on request.
pub(super) fn may_become_root(context: &Context) -> Result<bool, Stop> {
    let strict = crate::runner::is_set("STRICT");
    let may = || Ok(call("sudo -n true").hidden().answer(context)?.good());
    Ok(!is_root() && strict && may()?)
}

pub(super) fn disk_image(context: &Context) -> Done {
    let program = context.target.join("debug/testbed");
    let build = if may_become_root(context)? {
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
    let why =
        unfetched(error_of(&answer.text), "the packages of the disk image could not be fetched");
    Err(why.unwrap_or_else(|| Stop::fail("testbed disk build")))
}

/// QEMU with paravirtual clocks under software emulation. It is compiled once; a build that was ended continues.
pub(crate) static PARAVIRT_EMULATOR: Step = Step {
    name: "paravirt-emulator",
    what: "an emulator that offers kvm-clock and Hyper-V's clocks, compiled once and kept in the cache",
    tier: Tier::Shared,
    emulated: false,
    beside: false,
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
        return Err(Stop::skip(answer.reason()));
    }
    let why = unfetched(error_of(&answer.text), "the emulator's source could not be fetched");
    Err(why.unwrap_or_else(|| Stop::fail(answer.reason())))
}

/// Fetches the kernels of a subset of the testbed's cases. Only a missing network is a skip: a testbed that fails in
/// another way is broken.
pub(super) fn fetch(context: &Context, subset: &str) -> Done {
    let answer = context.testbed("fetch --subset").arg(subset).limit(300).answer(context)?;
    if answer.good() {
        return Ok(());
    }
    Err(unfetched_kernel(&answer).unwrap_or_else(|| {
        Stop::fail(format!("testbed fetch --subset {subset}: {}", answer.how()))
    }))
}

/// Why `testbed fetch` ended, if it is the network.
fn unfetched_kernel(answer: &Answer) -> Option<Stop> {
    let what = "the kernel could not be fetched";
    // An archive that does not respond: it waits, and is ended.
    let last = answer.text.lines().next_back().unwrap_or_default();
    let waits = ["fetching package lists into ", "kernel "].iter().any(|way| last.starts_with(way));
    if answer.is_late() && waits {
        return Some(Stop::no_network(what));
    }
    unfetched(error_of(&answer.text), what)
}

/// The error with which the testbed ended: its last, which may have several lines. A panic has none.
pub(super) fn error_of(text: &str) -> &str {
    let begin = "testbed: ";
    if text.starts_with(begin) && !text.contains("\ntestbed: ") {
        return text;
    }
    text.rfind("\ntestbed: ").and_then(|at| text.get(at + 1..)).unwrap_or_default()
}

/// Whether an error of the testbed is that something cannot be fetched: because the network is missing, or because this
/// system has no archive of Debian.
pub(super) fn unfetched(error: &str, what: &str) -> Option<Stop> {
    if error.contains("no Debian archive found") {
        return Some(Stop::skip(format!(
            "{what}: no Debian archive in apt's configuration: CLOCKSMITH_TESTBED_MIRROR=http://deb.debian.org/debian"
        )));
    }
    fetching(error).filter(|said| is_offline(said)).map(|_| Stop::no_network(what))
}

/// What a part of the testbed that fetches has said, if that is where it ended. The words of a guest, of the log of one or
/// of an emulator are in errors of others.
fn fetching(error: &str) -> Option<&str> {
    let error = error.strip_prefix("testbed: ").unwrap_or(error);
    // "getting the kernel `6.1` (linux-image-*): fetching package lists failed (exit status: 100): ..."
    let inner = match error.strip_prefix("getting the ") {
        Some(rest) => rest.split_once("): ").map_or(rest, |(_, inner)| inner),
        None => error,
    };
    let is_fetch = ["fetching ", "downloading "].iter().any(|begin| inner.starts_with(begin));
    // It fetches and installs. What it says after its own part is of its packages, which `packaging/offline.txt` knows.
    let is_bootstrap = inner.starts_with("installing ")
        && inner.lines().next().is_some_and(|first| first.contains(" with mmdebstrap failed "));
    (is_fetch || is_bootstrap).then_some(inner)
}

/// The library's reader for guests.
pub(crate) static CLOCK_READER: Step = Step {
    name: "clock-reader",
    what: "a program that reads the library's clocks, for guests",
    tier: Tier::Shared,
    emulated: false,
    beside: false,
    seconds: 40,
    budget: 160,
    short: None,
    needs: &[CC, MUSL],
    uses: &[],
    run: |context| {
        if !has_target(MUSL_TRIPLE) {
            return Err(Stop::skip(
                "no reader for guests: rustup target add x86_64-unknown-linux-musl",
            ));
        }
        call("cargo build --locked --release -p clocksmith --example clock_reader --target")
            .arg(MUSL_TRIPLE)
            .run(context)
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::tests::host;
    use crate::running::Late;

    fn is_network(stop: Option<Stop>) -> bool {
        matches!(stop, Some(Stop::Skip { network: true, .. }))
    }

    fn fetched(code: i32, text: &str) -> Option<Stop> {
        let late = (code == 124).then(|| Late { why: "took long".to_owned(), own: true });
        let answer = Answer { code: Some(code), signal: None, late, text: text.to_owned() };
        unfetched_kernel(&answer)
    }

    #[test]
    fn fetch_only_a_missing_network_is_a_skip() {
        let begin = "fetching package lists into /c/apt/bookworm-amd64\n";
        let getting = "testbed: getting the kernel `6.1` (linux-image-*): ";
        for end in [
            "fetching package lists left none in /c/apt/bookworm-amd64",
            "fetching package lists failed (exit status: 100): W: x\nE: Failed to fetch http://d/dists/sid/InRelease  503  Service Unavailable",
            "downloading linux-image=6.1 failed (exit status: 100): E: Failed to fetch http://d/pool/l.deb  Temporary failure resolving 'd'",
        ] {
            assert!(is_network(fetched(2, &format!("{begin}{getting}{end}\n"))), "{end}");
        }
        assert!(is_network(fetched(124, begin)));
        for (code, end) in [
            (101, "thread 'main' panicked at testbed/src/kernel/store.rs:9:5:\nno"),
            (124, "fetched, and then nothing"),
            (2, "testbed: reading the catalogue kernels.toml: No such file or directory"),
            (
                2,
                "testbed: getting the kernel `6.1` (linux-image-*): no package matches `linux-image-*`; the archive may have moved on",
            ),
            (
                2,
                "testbed: fetching package lists failed (exit status: 100): E: Failed to fetch http://d/InRelease  NO_PUBKEY 0E98",
            ),
            (2, "testbed: starting apt-get; the testbed needs apt: No such file or directory"),
            (
                2,
                "testbed: getting the kernel `6.1` (x): downloading linux failed (exit status: 100): E: Failed to fetch http://d/l.deb  404  Not Found",
            ),
            (
                2,
                "testbed: downloading linux failed (exit status: 100): E: Failed to fetch http://d/l.deb  Hash Sum mismatch",
            ),
        ] {
            assert_eq!(
                fetched(code, &format!("{begin}  apt-get update: E: x\n{end}\n")),
                None,
                "{end}"
            );
        }
    }

    #[test]
    fn words_of_a_guest_or_of_an_installation_are_no_missing_network() {
        for (error, network) in [
            (
                "testbed: installing Debian 12 with mmdebstrap failed (exit status: 1); it needs root. Its last words:\nE: Failed to fetch http://d/InRelease  Temporary failure resolving 'd'",
                true,
            ),
            (
                "testbed: installing Debian 12 with mmdebstrap failed (exit status: 1); it needs root. Its last words:\nx: Connection refused\nE: Sub-process /usr/bin/dpkg returned an error code (1)",
                false,
            ),
            (
                "testbed: installing the boot loader inside the image failed (status 1): x:\nConnection refused",
                false,
            ),
            ("testbed: connecting to the emulator: Connection refused (os error 111)", false),
            (
                "testbed: waiting for the guest to say `ready`; its last words: x: Connection reset by peer",
                false,
            ),
        ] {
            assert_eq!(is_network(unfetched(error, "x")), network, "{error}");
        }
    }

    #[test]
    fn system_without_an_archive_lacks_a_setting_and_not_the_network() {
        let stop = fetched(
            2,
            "testbed: getting the kernel `6.1` (x): no Debian archive found in apt's configuration; set it",
        );
        let Some(Stop::Skip { reason, network }) = stop else { panic!("{stop:?}") };
        assert!(!network && reason.contains("CLOCKSMITH_TESTBED_MIRROR="), "{reason}");
    }

    #[test]
    fn static_program_that_does_not_compile_is_a_failure_and_a_missing_target_a_missing_tool() {
        let context = Context::new(&std::env::temp_dir(), None);
        assert!(matches!(static_program(&context, &host(), "false"), Err(Stop::Fail(_))));
        assert_eq!(static_program(&context, &host(), "true"), Ok(()));
        let absent = static_program(&context, "vax-unknown-ultrix", "true");
        assert!(matches!(absent, Err(Stop::Skip { network: false, .. })), "{absent:?}");
    }
}
