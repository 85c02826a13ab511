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
        all.push_str(&body[..end].replace("/etc/systemd/system", &units));
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
mkdir -p \"$1/multi-user.target.wants\" \"$1/sockets.target.wants\"
ln -s /lib/old.service \"$1/multi-user.target.wants/old.service\"
ln -s /dev/null \"$1/tuned.service\"
before=$(enabled)
disable \"$before\"
ln -s /lib/prometheus.service \"$1/multi-user.target.wants/prometheus.service\"
ln -s /lib/libvirtd.socket \"$1/sockets.target.wants/libvirtd.socket\"
disable \"$before\"
find \"$1\" -type l -printf '%f\\n' | sort
";
    let said = run(&dir, &["enabled", "disable"], script);
    std::fs::remove_dir_all(&dir).unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(
        said,
        [
            "disabled: prometheus.service",
            "disabled: libvirtd.socket",
            "old.service",
            "tuned.service"
        ]
    );
}
