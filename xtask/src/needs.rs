//! The needs of steps, whether they are met, and how to meet them.

use crate::ask::ask;
use crate::step::Step;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Something that a step cannot do without, or does less without.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// A command, in a Debian package.
    Tool(&'static str, &'static str),
    /// A Debian package whose absence the step detects itself.
    Package(&'static str),
    /// A command, in a Debian package, without which some tests of a step skip themselves: a failure under `STRICT`.
    Within(&'static str, &'static str),
    /// A command that is a component of the toolchain.
    Component(&'static str, &'static str),
    /// A subcommand of cargo, in a crate of that version.
    Cargo(&'static str, &'static str),
    /// mdBook, of that version.
    MdBook(&'static str),
    /// A target of the compiler. The step itself detects that it is missing, and does the rest of the work.
    Target(&'static str),
    /// A nightly compiler with Miri and the sources of the standard library.
    Nightly,
    /// Python 3.11 or later.
    Python,
    /// Tools in Python, which the step looks for itself.
    PythonTools,
    /// Other engines for queries, which the step looks for itself.
    Engines,
    /// helm, which the step looks for itself.
    Helm,
    /// ignition-validate, which the step looks for itself.
    Ignition,
    /// actionlint, which the step looks for itself.
    Actionlint,
    /// check-jsonschema, which the step looks for itself.
    JsonSchema,
    /// Root, or `sudo -n` with `STRICT=1`, for a part that the step names.
    Root,
    /// An archive of Debian packages, or of Python packages.
    Network,
}

/// The kinds that `--needs` lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Steps,
    Packages,
    Targets,
    Tools,
}

pub(crate) const QEMU: Need = Need::Tool("qemu-system-x86_64", "qemu-system-x86");
/// With what the linker needs of the C library.
pub(crate) const CC: Need = Need::Tool("cc", "gcc libc6-dev");
pub(crate) const RUSTFMT: Need = Need::Component("rustfmt", "rustfmt");
pub(crate) const CARGO_CLIPPY: Need = Need::Component("cargo-clippy", "clippy");
/// An archive of C programs for guests.
pub(crate) const LIBC: Need = Need::Package("libc6-dev");
pub(crate) const MUSL: Need = Need::Target("x86_64-unknown-linux-musl");
pub(crate) const DPKG: Need = Need::Tool("dpkg", "dpkg");
pub(crate) const QEMU_IMG: Need = Need::Tool("qemu-img", "qemu-utils");
/// With the keys of Debian's archive, which other distributions do not have.
pub(crate) const MMDEBSTRAP: Need = Need::Tool("mmdebstrap", "mmdebstrap debian-archive-keyring");
/// The keys that sign the archive from which kernels for guests come; Debian always has them.
pub(crate) const KEYRING: Need = Need::Package("debian-archive-keyring");
pub(crate) const MKE2FS: Need = Need::Tool("mke2fs", "e2fsprogs");

impl Need {
    /// Returns the reason why a step cannot run, with the command that installs the missing part.
    pub(crate) fn missing(self) -> Option<String> {
        let absent = |is_here: bool, why: String| if is_here { None } else { Some(why) };
        match self {
            Need::Tool(command, package) => {
                absent(is_command(command), format!("no {command}: apt-get install {package}"))
            }
            Need::Component(command, component) => absent(
                succeeds(&[command, "--version"]),
                format!("no {component}: rustup component add {component}"),
            ),
            Need::Cargo(name, version) => absent(
                succeeds(&["cargo", name, "--version"]),
                format!("no cargo-{name}: cargo install --locked cargo-{name} --version {version}"),
            ),
            Need::MdBook(version) => absent(
                is_command("mdbook"),
                format!(
                    "no mdbook: cargo install --locked mdbook --version {version} --no-default-features"
                ),
            ),
            Need::Nightly => absent(
                succeeds(&["cargo", "+nightly", "miri", "--version"]),
                "no nightly with Miri: rustup toolchain install nightly -c miri,rust-src"
                    .to_owned(),
            ),
            Need::Python => absent(
                succeeds(&["python3", "-c", "import tomllib"]),
                "no Python 3.11 or later: apt-get install python3 brings it from Debian 12 and Ubuntu 24.04 on".to_owned(),
            ),
            Need::Package(_)
            | Need::Within(..)
            | Need::Target(_)
            | Need::PythonTools
            | Need::Engines
            | Need::Helm
            | Need::Ignition
            | Need::Actionlint
            | Need::JsonSchema
            | Need::Root
            | Need::Network => None,
        }
    }

    /// Its word in `--help`.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Need::Tool(command, _) | Need::Within(command, _) => Some(command),
            Need::Component(_, component) => Some(component),
            Need::Package(packages) => Some(packages),
            Need::Cargo("deny", _) => Some("cargo-deny"),
            Need::Cargo("fuzz", _) => Some("cargo-fuzz"),
            Need::Cargo("semver-checks", _) => Some("cargo-semver-checks"),
            Need::Cargo(name, _) => Some(name),
            Need::MdBook(_) => Some("mdbook"),
            Need::Target(triple) => Some(triple),
            Need::Nightly => Some("nightly with Miri"),
            Need::Python => Some("Python 3.11"),
            Need::PythonTools => Some("ansible, kubernetes-validate"),
            Need::Engines => Some("duckdb, pyspark, datafusion, moto"),
            Need::Helm => Some("helm"),
            Need::Ignition => Some("ignition-validate"),
            Need::Actionlint => Some("actionlint"),
            Need::JsonSchema => Some("check-jsonschema"),
            Need::Root => Some("root"),
            Need::Network => Some("network"),
        }
    }

    /// The entry for an installer: a kind, and a line for it.
    fn line(self) -> Option<(Kind, String)> {
        match self {
            Need::Tool(_, package) | Need::Within(_, package) | Need::Package(package) => {
                Some((Kind::Packages, package.to_owned()))
            }
            Need::Target(triple) => Some((Kind::Targets, triple.to_owned())),
            Need::Cargo(name, version) => Some((Kind::Tools, format!("cargo-{name} {version}"))),
            Need::MdBook(version) => Some((Kind::Tools, format!("mdbook {version}"))),
            Need::Component(_, component) => Some((Kind::Tools, format!("component {component}"))),
            Need::Nightly => Some((Kind::Tools, "nightly".to_owned())),
            Need::PythonTools => Some((Kind::Tools, "python-tools".to_owned())),
            Need::Engines => Some((Kind::Tools, "engines".to_owned())),
            Need::Helm => Some((Kind::Tools, "helm".to_owned())),
            Need::Ignition => Some((Kind::Tools, "ignition-validate".to_owned())),
            Need::Actionlint => Some((Kind::Tools, "actionlint".to_owned())),
            Need::JsonSchema => Some((Kind::Tools, "check-jsonschema".to_owned())),
            Need::Python => Some((Kind::Packages, "python3".to_owned())),
            Need::Root | Need::Network => None,
        }
    }
}

/// Why tests of a step skip themselves, as far as it could have been installed. What a container without root does not allow
/// is only counted.
pub(crate) fn lacking(needs: &[Need]) -> Option<String> {
    let absent = needs.iter().filter_map(|need| match need {
        Need::Within(command, package) if !is_command(command) => {
            Some(format!("{command} (apt-get install {package})"))
        }
        _ => None,
    });
    let absent: Vec<String> = absent.collect();
    (!absent.is_empty()).then(|| format!("the other tests pass; not there: {}", absent.join(", ")))
}

/// Returns all needs of a step, with those of the steps that it uses.
pub(crate) fn of(step: &Step) -> Vec<Need> {
    let mut needs = step.needs.to_vec();
    for used in step.uses {
        needs.extend(of(used));
    }
    needs
}

/// Prints the needs of these steps, for an installer: one per line.
pub(crate) fn print(kind: Kind, steps: &[&Step]) {
    if kind == Kind::Steps {
        let mut seen = BTreeSet::new();
        for step in steps.iter().filter(|step| seen.insert(step.name)) {
            say!("{}", step.name);
        }
        return;
    }
    let lines: BTreeSet<String> = steps
        .iter()
        .flat_map(|step| of(step))
        .filter_map(Need::line)
        .filter(|(found, _)| *found == kind)
        .flat_map(|(_, line)| {
            // A need may be several packages.
            let words = line.split(' ').map(str::to_owned).collect();
            if kind == Kind::Packages { words } else { vec![line] }
        })
        .collect();
    for line in lines {
        say!("{line}");
    }
}

/// Returns whether a command exists, also among those for administrators.
pub(crate) fn is_command(name: &str) -> bool {
    // A name of a directory need not be UTF-8.
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| is_executable(&directory.join(name)))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn succeeds(words: &[&str]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    ask(Command::new(program).args(arguments)).is_ok_and(|said| said.good)
}

/// Whether the compiler has the standard library, or at least `core`, of a target. The compiler is asked, because not every
/// one is rustup's.
pub(crate) fn has_target(triple: &str) -> bool {
    let mut asked = Command::new("rustc");
    asked.args(["--print", "target-libdir", "--target", triple]);
    ask(&mut asked).is_ok_and(|said| said.good && Path::new(said.out.trim_end()).is_dir())
}

pub(crate) fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The compiler's own target, which is always installed.
    pub(crate) fn host() -> String {
        let asked = Command::new("rustc").arg("-vV").output().unwrap();
        let text = String::from_utf8(asked.stdout).unwrap();
        text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
    }

    #[test]
    fn file_that_is_not_executable_is_no_command() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(is_executable(&top.join("test.sh")) && !is_executable(&top.join("README.md")));
        assert!(!is_executable(&top) && is_command("sh"));
    }

    #[test]
    fn tool_that_is_missing_or_fails_does_not_succeed() {
        assert!(succeeds(&["true"]) && !succeeds(&["false"]) && !succeeds(&["/nonexistent"]));
    }

    #[test]
    fn command_that_tests_lack_is_named_and_installed() {
        let needs = [Need::Within("sh", "dash"), Need::Within("nosuch", "no-such"), Need::Root];
        assert_eq!(
            lacking(&needs).unwrap(),
            "the other tests pass; not there: nosuch (apt-get install no-such)"
        );
        assert_eq!(lacking(&[Need::Within("sh", "dash"), Need::Package("nosuch")]), None);
        let needs = of(crate::plan::find("test").unwrap());
        assert!(needs.contains(&Need::Within("strace", "strace")));
        assert_eq!(Need::Within("x", "y").line(), Some((Kind::Packages, "y".to_owned())));
    }

    #[test]
    fn targets_are_those_of_the_compiler() {
        assert!(has_target(&host()));
        assert!(!has_target("vax-unknown-ultrix") && !has_target(""));
    }

    #[test]
    fn steps_with_guests_want_the_keys_of_the_archive() {
        for step in crate::steps::STEPS {
            let needs = of(step);
            if needs.contains(&QEMU) && step.name != "vm" {
                let words: Vec<String> =
                    needs.iter().filter_map(|need| need.line()).map(|(_, line)| line).collect();
                let has = words.iter().any(|line| line.contains("debian-archive-keyring"));
                assert!(has, "{}", step.name);
            }
        }
    }
}
