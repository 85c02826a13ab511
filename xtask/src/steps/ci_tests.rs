//! Tests of parts of `.ci/run`.

use std::path::Path;
use std::process::Command;

/// Runs a script with functions of `.ci/run`, whose units are in a directory.
fn run(dir: &Path, functions: &[&str], script: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/run");
    let text = std::fs::read_to_string(source).unwrap();
    let units = dir.display().to_string();
    let mut all = String::from("set -euo pipefail\nsudo=()\n");
    for function in functions {
        let begin = text.find(&format!("\n{function}() {{\n")).unwrap();
        let body = &text[begin..];
        let end = body.find("\n}\n").unwrap() + 3;
        let body = body[..end].replace("/etc/systemd/system", &units);
        all.push_str(&body.replace("/etc/systemd/user", &format!("{units}-user")));
    }
    all.push_str(script);
    let done = Command::new("bash").args(["-c", &all, "bash"]).arg(dir).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn ci_run_disables_what_packages_enabled_and_nothing_else() {
    let dir = std::env::temp_dir().join(format!("xtask-units-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let script = "
mkdir -p \"$1-user/default.target.wants\" \"$1/x.service.requires\" \"$1/multi-user.target.wants\" \"$1/sockets.target.wants\"
ln -s /lib/old.service \"$1/multi-user.target.wants/old.service\"
ln -s /dev/null \"$1/tuned.service\"
before=$(enabled)
disable \"$before\"
ln -s /lib/prometheus.service \"$1/multi-user.target.wants/prometheus.service\"
ln -s /lib/libvirtd.socket \"$1/sockets.target.wants/libvirtd.socket\"
ln -s /lib/pipewire.service \"$1-user/default.target.wants/pipewire.service\"
ln -s /lib/needed.service \"$1/x.service.requires/needed.service\"
disable \"$before\"
find \"$1\" -type l -printf '%f\\n' | sort
";
    let said = run(&dir, &["enabled", "disable"], script);
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::remove_dir_all(
        dir.with_file_name(format!("{}-user", dir.file_name().unwrap().display())),
    )
    .unwrap();
    let mut said: Vec<&str> = said.lines().collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            "disabled: libvirtd.socket",
            "disabled: needed.service",
            "disabled: pipewire.service",
            "disabled: prometheus.service",
            "old.service",
            "tuned.service"
        ]
    );
}

#[test]
fn ci_run_goes_on_with_a_compiler_that_is_there_whatever_an_archive_said() {
    let script = "
debian() { if [ \"$1\" = good ]; then nosuch() { :; }; fi; return 100; }
basic sh dash && echo first
(basic nosuch bad) 2>&1 || echo \"ends with $?\"
basic nosuch good
echo last
";
    let said = run(&std::env::temp_dir(), &["basic"], script);
    assert_eq!(
        said,
        "first\n.ci/run: no nosuch, and apt-get cannot install bad: the lines above say why\nends with 1\nlast\n"
    );
}
