//! The systemd unit that chooses a clocksource at each boot, and the shell script inside it.
//!
//! At run time rather than on the kernel command line, because a write at run time cannot prevent a
//! boot. The script needs nothing but a POSIX shell, so that the unit works on machines where this
//! program is not installed.
//!
//! Facts about the kernel that it uses (`kernel/time/clocksource.c`, all versions since 2.6.21):
//! * `current_clocksource_store()` returns success for a name that it does not know, and for one
//!   that cannot be used: so it is read back.
//! * A write is also an override: a better rated clocksource that comes later does not take over. So
//!   it is written even when it is already in use.
//! * On x86 `tsc` is registered about a second after the boot (`tsc_refine_calibration_work()`);
//!   before that, there is only `tsc-early`. So the script waits.

/// The name of the unit's file.
pub const UNIT: &str = "clocksmith-clocksource.service";

/// The directory in which the kernel shows its clocksources.
pub const SYSFS: &str = "/sys/devices/system/clocksource/clocksource0";

/// The limit of the script's wait for a clocksource to be registered, in seconds.
pub const WAIT: u32 = 10;

/// Whether this is a name that a clocksource may have: 1 to 31 of `a-z`, `0-9`, `_`, `-`.
///
/// The kernel takes up to 31 characters (`CS_NAME_LEN`, 32 with the NUL) of any kind; no clocksource
/// in Linux uses others than these, and these mean nothing to a shell, to YAML, JSON, Nix or systemd.
#[must_use]
pub fn is_name(name: &str) -> bool {
    (1..=31).contains(&name.len()) && name.bytes().all(allowed)
}

fn allowed(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')
}

/// The characters of a string that [`is_name`] accepts. A valid name is returned unchanged.
fn safe(name: &str) -> String {
    name.bytes().filter(|byte| allowed(*byte)).take(31).map(char::from).collect()
}

/// Returns the shell script: it waits until `clocksource` is available, writes it, and reads it back. `directory` has
/// `available_clocksource` and `current_clocksource` ([`SYSFS`]; another one in tests).
///
/// Exits with 0 when the clocksource is in use at the end, otherwise with 1 and a line on standard error that names the
/// clocksource in use. `<3>` before it is systemd's and the kernel's level "error".
///
/// The lines are valid joined by newlines as well as by blanks, and contain neither `'` nor `%`. `directory` is
/// inserted unchanged. Characters that a name may not have ([`is_name`]) are removed from `clocksource`, so that
/// nothing can be injected; such a script then fails without writing.
#[must_use]
pub fn script(clocksource: &str, directory: &str) -> Vec<String> {
    let name = safe(clocksource);
    vec![
        format!("d={directory}; n=0;"),
        "there() {".to_owned(),
        "read -r all <\"$d/available_clocksource\" || return 1;".to_owned(),
        format!("case \" $all \" in *\" {name} \"*) return 0;; esac; return 1; }};"),
        "until there; do".to_owned(),
        "n=$((n + 1));".to_owned(),
        format!("if [ $n -gt {WAIT} ]; then"),
        format!(
            "echo \"<3>clocksource {name} is not available ($all); nothing was changed\" >&2; exit 1;"
        ),
        "fi;".to_owned(),
        "sleep 1;".to_owned(),
        "done;".to_owned(),
        format!("echo {name} >\"$d/current_clocksource\";"),
        "now=; read -r now <\"$d/current_clocksource\";".to_owned(),
        format!("if [ \"$now\" != {name} ]; then"),
        format!(
            "echo \"<3>the kernel did not take clocksource {name}: $now is in use\" >&2; exit 1;"
        ),
        "fi;".to_owned(),
        format!("echo \"clocksource {name} is in use\""),
    ]
}

/// The unit ([`UNIT`]) that chooses `clocksource` at each boot. For names see [`is_name`] and
/// [`script`].
#[must_use]
pub fn unit(clocksource: &str) -> String {
    let name = safe(clocksource);
    // systemd reads `$$` as `$`, and a backslash at a line's end as a blank.
    let script = script(&name, SYSFS)
        .iter()
        .map(|line| format!("    {}", line.replace('$', "$$")))
        .collect::<Vec<_>>()
        .join(" \\\n");
    format!(
        "\
# Made by clocksmith: chooses the clocksource {name} at each boot.
#
# Why: a choice made through sysfs is lost at a reboot. It is made again here, and not
#   on the kernel command line, because this cannot keep the machine from booting.
# Risk: if the hardware behind {name} is wrong, time is wrong: `clocksmith verify` tests it.
# It acts only when {name} is available, and reads back what it wrote, because the kernel
# reports success for a name that it does not accept. If it fails, the kernel's own choice
# stays.
# Undo: systemctl disable {UNIT}
#       rm /etc/systemd/system/{UNIT}; systemctl daemon-reload
#   and reboot, or write the original name into
#   {SYSFS}/current_clocksource
# For one boot: systemd.mask={UNIT} on the kernel command line.

[Unit]
Description=Choose the clocksource {name}
Documentation=https://docs.kernel.org/timers/timekeeping.html
ConditionPathExists={SYSFS}/current_clocksource
# In a container these are the files of the host.
ConditionVirtualization=!container
# Nothing waits for it: with the default dependencies multi-user.target would.
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
# The script gives up after {WAIT} s.
TimeoutStartSec=30
NoNewPrivileges=yes
ExecStart=/bin/sh -c ' \\
{script}'

[Install]
WantedBy=multi-user.target
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Output};

    /// A directory that looks like the kernel's.
    fn sysfs(available: &str, current: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("available_clocksource"), format!("{available} \n"))
            .unwrap();
        fs::write(directory.path().join("current_clocksource"), format!("{current}\n")).unwrap();
        directory
    }

    /// Runs the script with a `sleep` that does not wait.
    fn run(name: &str, directory: &Path, separator: &str) -> Output {
        let script = script(name, directory.to_str().unwrap()).join(separator);
        Command::new("/bin/sh")
            .args(["-c", &format!("sleep() {{ :; }}; {script}")])
            .output()
            .unwrap()
    }

    fn current(directory: &Path) -> String {
        fs::read_to_string(directory.join("current_clocksource")).unwrap()
    }

    #[test]
    fn script_writes_available_clocksource_and_reads_back() {
        for separator in ["\n", " "] {
            let directory = sysfs("tsc hpet acpi_pm", "hpet");
            let output = run("tsc", directory.path(), separator);
            assert!(output.status.success(), "{output:?}");
            assert_eq!(current(directory.path()), "tsc\n");
        }
    }

    #[test]
    fn script_leaves_unavailable_clocksource_alone() {
        // `tsc-early` is not `tsc`, and `hpet` stays.
        let directory = sysfs("tsc-early hpet acpi_pm", "hpet");
        let output = run("tsc", directory.path(), " ");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(current(directory.path()), "hpet\n");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("<3>clocksource tsc is not available (tsc-early"), "{message}");
    }

    #[test]
    fn script_waits_for_late_clocksource() {
        let directory = sysfs("hpet", "hpet");
        let path = directory.path().to_str().unwrap();
        let script = script("tsc", path).join("\n");
        let sleep = format!("sleep() {{ echo 'tsc hpet' >{path}/available_clocksource; }}");
        let status = Command::new("/bin/sh").args(["-c", &format!("{sleep}\n{script}")]).status();
        assert!(status.unwrap().success());
        assert_eq!(current(directory.path()), "tsc\n");
    }

    #[test]
    fn a_write_that_was_swallowed_is_a_failure() {
        let directory = sysfs("tsc hpet", "hpet");
        let file = directory.path().join("current_clocksource");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        let output = run("tsc", directory.path(), " ");
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("<3>the kernel did not take clocksource tsc"), "{message}");
    }

    #[test]
    fn the_unit_holds_the_script_with_its_dollars_doubled() {
        let unit = unit("tsc");
        assert!(unit.contains("read -r all <\"$$d/available_clocksource\""));
        assert!(!unit.replace("$$", "").contains('$'));
        // A line that is continued must not be followed by a comment or an empty line.
        for line in unit.lines().skip_while(|line| !line.starts_with("ExecStart")).skip(1) {
            if line.ends_with("'") {
                break;
            }
            assert!(line.ends_with(" \\"), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_string_reaches_the_shell(text in "(?s).{0,60}") {
            let unit = unit(&text);
            let exec = unit.split("ExecStart=").nth(1).unwrap();
            prop_assert_eq!(exec.matches('\'').count(), 2);
            prop_assert!(!exec.contains('%'));
            let name = safe(&text);
            prop_assert_eq!(unit.lines().count(), super::unit(&name).lines().count());
            prop_assert!(name.is_empty() || is_name(&name));
            if is_name(&text) {
                prop_assert_eq!(name, text);
            }
        }
    }
}
