//! The parts that guests are made of and boot with. Each is built once, for all steps that use it.
//!
//! All guests get the program as packages have it: a debug one is too slow under emulation, and one build serves all.

use crate::call::call;
use crate::context::Context;
use crate::needs::{CC, DPKG, LIBC, MKE2FS, MMDEBSTRAP, MUSL, Need, QEMU, QEMU_IMG, is_root};
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
    beside: false,
    seconds: 30,
    budget: 120,
    short: None,
    needs: &[CC],
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

pub(super) fn disk_image(context: &Context) -> Done {
    let program = context.target.join("debug/testbed");
    let strict = crate::runner::is_set("STRICT");
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
    if is_offline(&answer.text) {
        return Err(Stop::no_network("the emulator's source could not be fetched"));
    }
    Err(Stop::fail(answer.reason()))
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
    beside: false,
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
