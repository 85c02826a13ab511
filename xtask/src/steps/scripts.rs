//! Steps whose work is in scripts beside the tested files.

use crate::call::call;
use crate::needs::{CARGO_CLIPPY, CC, MMDEBSTRAP, MUSL, Need, QEMU, RUSTFMT};
use crate::step::{Step, Tier, together};
use crate::steps::guest_parts::{STATIC_PROGRAM, may_become_root};
use crate::steps::rust::PROGRAM;

pub(crate) static BOOK: Step = Step {
    name: "book",
    what: "made pages are up to date, every command of the book prints what the page says, links lead somewhere",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 32,
    budget: 150,
    short: None,
    needs: &[Need::Python],
    uses: &[&PROGRAM],
    run: |context| {
        let program = || context.program();
        // All parts, so that one run shows what is wrong in each.
        together([
            call("book/make.py --check --clocksmith").arg(program()).run(context),
            call("docs/terminal.py --check --clocksmith").arg(program()).run(context),
            call("python3 book/links.py --test").run(context),
            call("python3 book/options.py --test").run(context),
            call("book/test.py --clocksmith").arg(program()).limit(600).run(context),
        ])
    },
};

pub(crate) static BOOK_HTML: Step = Step {
    name: "book-html",
    what: "mdBook builds the book, and every link in the built book leads somewhere",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 10,
    budget: 60,
    short: None,
    needs: &[Need::Python, Need::MdBook("0.5.4")],
    uses: &[&PROGRAM],
    run: |context| {
        call("mdbook build book").run(context)?;
        // Another step runs the commands; one page is enough here.
        call("book/test.py --html target/book about.md --clocksmith")
            .arg(context.program())
            .limit(600)
            .run(context)
    },
};

pub(crate) static C: Step = Step {
    name: "c",
    what: "the C library: symbols, header, programs in C99 to C++20, pkg-config, CMake",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 13,
    budget: 60,
    short: None,
    needs: &[CC, Need::Tool("pkg-config", "pkg-config"), Need::Package("g++ binutils cmake")],
    uses: &[],
    run: |context| call("crates/clock-c/test.sh").script(context),
};

pub(crate) static PYTHON: Step = Step {
    name: "python",
    what: "the Python module: wheel, a new environment, its tests",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 15,
    budget: 100,
    short: None,
    // pip fetches what builds the module.
    needs: &[
        Need::Tool("python3", "python3"),
        Need::Package("python3-venv"),
        RUSTFMT,
        CARGO_CLIPPY,
        Need::Network,
    ],
    uses: &[],
    run: |context| call("python/test.sh").own_flags().script(context),
};

pub(crate) static WHEELS: Step = Step {
    name: "wheels",
    what: "the wheels for old glibc and for musl are what their names say (auditwheel, abi3audit), and pass the tests",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 60,
    budget: 240,
    short: None,
    needs: &[Need::Tool("python3", "python3"), Need::Package("python3-venv"), MUSL, Need::Network],
    uses: &[],
    run: |context| call("python/test.sh --wheels").script(context),
};

pub(crate) static SHIMS: Step = Step {
    name: "shims",
    what: "governor, metrics-util and fastrace pass their own tests with our clock in place of theirs; they wait for real time",
    tier: Tier::Named,
    emulated: false,
    beside: false,
    seconds: 180,
    budget: 600,
    short: None,
    needs: &[CC, RUSTFMT, Need::Network],
    uses: &[],
    run: |context| call("shims/test.sh").script(context),
};

/// By name: there is nothing to compare with before the first release, and then each pull request does.
pub(crate) static SEMVER: Step = Step {
    name: "semver",
    what: "the library's interface is still that of the last release, or its version is another",
    tier: Tier::Named,
    emulated: false,
    beside: false,
    seconds: 60,
    budget: 300,
    short: None,
    needs: &[Need::Package("git"), Need::Cargo("semver-checks", "0.51.0"), Need::Network],
    uses: &[],
    run: |context| call("packaging/semver.sh").script(context),
};

pub(crate) static FORMATS: Step = Step {
    name: "formats",
    what: "the tools that read the formats of `fix` take them: Ansible, cloud-init, tuned, Ignition, Nix, systemd",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 60,
    budget: 240,
    short: None,
    needs: &[Need::Package("systemd cloud-init tuned nix-bin"), Need::PythonTools, Need::Ignition],
    uses: &[],
    run: |context| call("crates/change/test.sh").script(context),
};

pub(crate) static FLEET: Step = Step {
    name: "fleet",
    what: "the engine for queries, compared with DuckDB, Spark and an object store; bundles by every transport into a report",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 700,
    budget: 1500,
    short: None,
    needs: &[
        Need::Tool("python3", "python3"),
        Need::Package("g++ python3-venv default-jdk-headless maven"),
        RUSTFMT,
        CARGO_CLIPPY,
        Need::PythonTools,
        Need::Engines,
        Need::Network,
    ],
    uses: &[&PROGRAM],
    run: |context| {
        // It changes its directory.
        let program = std::path::absolute(context.program()).unwrap_or(context.program());
        call("fleet/test.sh").env("CLOCKSMITH", program).own_flags().script(context)
    },
};

pub(crate) static WATCH: Step = Step {
    name: "watch",
    what: "monitoring with the real programs: Prometheus, node_exporter, Chromium, sos; the page of `why`",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 60,
    budget: 240,
    short: None,
    needs: &[
        Need::Tool("promtool", "prometheus"),
        Need::Tool("prometheus-node-exporter", "prometheus-node-exporter"),
        Need::Tool("chromium", "chromium"),
        Need::Package("sosreport"),
        Need::Root,
    ],
    uses: &[&PROGRAM],
    run: |context| {
        call("packaging/test.py").arg(context.program()).script(context)?;
        // sos reports on a whole machine.
        let sudo = if may_become_root(context)? { "sudo -n" } else { "" };
        call(sudo).arg("packaging/sos/test.py").arg(context.program()).script(context)
    },
};

pub(crate) static PACKAGES: Step = Step {
    name: "packages",
    what: "everything that is given to users is built, and installed, run and removed in a new system",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 700,
    budget: 1500,
    short: None,
    needs: &[
        MMDEBSTRAP,
        Need::Tool("rpmbuild", "rpm"),
        Need::Tool("rpm2cpio", "rpm2cpio"),
        Need::Tool("cpio", "cpio"),
        Need::Tool("umoci", "umoci"),
        Need::Tool("skopeo", "skopeo"),
        Need::Tool("lintian", "lintian"),
        Need::Tool("rpmlint", "rpmlint"),
        Need::Tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        Need::Package("libc6-dev-arm64-cross"),
        Need::Tool("qemu-aarch64-static", "qemu-user-static"),
        MUSL,
        Need::Target("aarch64-unknown-linux-musl"),
        Need::Root,
        Need::Network,
    ],
    uses: &[],
    run: |context| call("packaging/test-packages.sh").script(context),
};

pub(crate) static DEPLOY: Step = Step {
    name: "deploy",
    what: "the container image diagnoses its host, the Helm chart passes Kubernetes' schemas, the Ansible role is idempotent",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 50,
    budget: 240,
    short: None,
    needs: &[
        Need::Package("umoci skopeo util-linux dpkg"),
        MMDEBSTRAP,
        Need::PythonTools,
        Need::Helm,
        Need::Root,
        Need::Network,
    ],
    uses: &[&STATIC_PROGRAM],
    run: |context| call("packaging/test-deploy.sh").arg(context.static_program()).script(context),
};

/// In a Debian 13 root that root makes.
pub(crate) static MSRV: Step = Step {
    name: "msrv",
    what: "the library and its C and Python faces build with the compiler of Debian 13, the program with its own",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 200,
    budget: 600,
    short: None,
    needs: &[MMDEBSTRAP, Need::Root, Need::Network],
    uses: &[],
    run: |context| call("packaging/msrv.sh").script(context),
};

pub(crate) static ACTIONS: Step = Step {
    name: "actions",
    what: "workflows pass actionlint; forms, dependabot's settings and action.yml pass their schemas; forms ask for `clocksmith collect`",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 1,
    budget: 20,
    short: None,
    needs: &[Need::Actionlint, Need::JsonSchema, Need::Package("python3-yaml")],
    uses: &[],
    run: |context| call("packaging/actions.sh").script(context),
};

pub(crate) static TREE: Step = Step {
    name: "tree",
    what: "nothing is tracked that profilers, crashes, editors and merges leave behind, or that some system cannot check out; scripts parse",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 3,
    budget: 30,
    short: None,
    needs: &[Need::Package("git python3")],
    uses: &[],
    run: |context| call("packaging/tree.sh").script(context),
};

pub(crate) static PROSE: Step = Step {
    name: "prose",
    what: "texts keep to the words of docs/style.md",
    tier: Tier::Default,
    emulated: false,
    beside: true,
    seconds: 2,
    budget: 20,
    short: None,
    needs: &[Need::Python],
    uses: &[],
    run: |context| call("packaging/prose.py").run(context),
};

pub(crate) static VM: Step = Step {
    name: "vm",
    what: "files of virtual machines against the real libvirt: fixed files are valid, and QEMU gets the reported options",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 60,
    budget: 240,
    short: None,
    needs: &[
        QEMU,
        Need::Tool("virsh", "libvirt-clients"),
        Need::Tool("virt-xml-validate", "libvirt-clients"),
        Need::Tool("xmllint", "libxml2-utils"),
        Need::Tool("libvirtd", "libvirt-daemon"),
        Need::Package("libvirt-daemon-driver-qemu"),
    ],
    uses: &[],
    run: |context| {
        call("cargo test")
            .workspace()
            .args("--test libvirt -- --ignored --nocapture")
            .limit(600)
            .run(context)
    },
};

/// Release builds, because speed is measured.
pub(crate) static SPEED: Step = Step {
    name: "speed",
    what: "the log is read about as fast as grep; a read of the clock costs what the book says",
    tier: Tier::All,
    emulated: false,
    beside: false,
    seconds: 240,
    budget: 600,
    short: None,
    needs: &[
        CC,
        Need::Tool("grep", "grep"),
        Need::Tool("pkg-config", "pkg-config"),
        Need::Package("g++ binutils cmake python3-venv"),
        RUSTFMT,
        CARGO_CLIPPY,
    ],
    uses: &[],
    run: |context| {
        call("cargo bench --locked -p clocksmith-cli --bench why_speed").run(context)?;
        call("cargo bench --locked -p clocksmith-clock-bench --bench read_cost -- --quick")
            .run(context)?;
        call("cargo bench --locked -p clocksmith-measure --bench plain_c").run(context)?;
        call("crates/clock-c/test.sh --bench").script(context)?;
        call("python/test.sh --bench").own_flags().script(context)
    },
};
