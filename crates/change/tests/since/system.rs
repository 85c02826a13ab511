//! Systems whose boot files others change, and changes of them that are killed.

use crate::common::{build, open, step, temporary, write};
use clocksmith_change::journal::{Applied, Force, JournalError, Recovered, Report, Silent, Which};
use clocksmith_change::words::Change;
use clocksmith_change::{Action, Plan};
use std::fs;
use std::path::Path;
use std::process::Command;
/// Makes an entry for every kernel, with the words of the settings; runs the test's files `before` and `after`, if they
/// exist.
pub(super) const UPDATE_GRUB: &str = r#"cd "$ROOT/boot/grub"
words=
for file in "$ROOT"/etc/default/grub "$ROOT"/etc/default/grub.d/*.cfg; do
    [ -e "$file" ] && . "$file"
done
[ -e "$ROOT/before" ] && . "$ROOT/before"
for kernel in ../vmlinuz-*; do
    version=${kernel##*/vmlinuz-}
    echo "menuentry 'Linux $version' {"
    echo "	linux /boot/vmlinuz-$version root=/dev/vda $GRUB_CMDLINE_LINUX"
    echo "	initrd /boot/initrd-$version"
    echo "}"
done > grub.cfg.new
mv grub.cfg.new grub.cfg
[ -e "$ROOT/after" ] && . "$ROOT/after"
true
"#;

/// Edits the entries, and the words of new ones.
pub(super) const GRUBBY: &str = r#"cd "$ROOT/boot/loader/entries"
[ -e "$ROOT/before" ] && . "$ROOT/before"
for file in *.conf; do
    case $2 in
        --args=*) grep -q "${2#--args=}" "$file" || sed -i "s/^options.*/& ${2#--args=}/" "$file" ;;
        --remove-args=*) sed -i "s/ ${2#--remove-args=}//" "$file" ;;
    esac
done
[ -e "$ROOT/after" ] && . "$ROOT/after"
true
"#;

pub(super) const DROP_IN: &str = "etc/default/grub.d/90-clocksmith.cfg";
pub(super) const CONFIG: &str = "boot/grub/grub.cfg";

pub(super) fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

pub(super) fn put(root: &Path, path: &str, content: &str) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), content).unwrap();
}

pub(super) fn install(root: &Path, version: &str) {
    put(root, &format!("boot/vmlinuz-{version}"), "kernel");
    put(root, &format!("boot/initrd-{version}"), "disk");
}

pub(super) fn remove(root: &Path, version: &str) {
    for name in ["vmlinuz", "initrd"] {
        fs::remove_file(root.join(format!("boot/{name}-{version}"))).unwrap();
    }
}

/// Runs a program of the system, as a package manager does.
pub(super) fn run(root: &Path, program: &str) {
    let status = Command::new("/bin/sh")
        .arg(root.join("usr/sbin").join(program))
        .env("ROOT", root)
        .status()
        .unwrap();
    assert!(status.success());
}

/// A system with GRUB and one kernel.
pub(super) fn grub() -> tempfile::TempDir {
    let dir = temporary();
    let root = dir.path();
    build(root);
    fs::remove_file(root.join("boot/loader/entries/old.conf")).unwrap();
    put(root, "etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet splash\"\n");
    put(root, "usr/sbin/update-grub", UPDATE_GRUB);
    install(root, "6");
    run(root, "update-grub");
    dir
}

/// Returns a plan of these steps, after which the kernel gets `expected`.
fn of_steps(summary: &str, expected: Change, steps: Vec<clocksmith_change::Step>) -> Plan {
    Plan {
        summary: summary.to_owned(),
        steps,
        cmdline: expected.clone(),
        expected,
        ..Plan::default()
    }
}

fn added() -> Change {
    Change { add: vec!["quirk=1".to_owned()], remove: Vec::new() }
}

pub(super) fn generate(
    words: &str,
    step_before: clocksmith_change::Step,
    expected: Change,
) -> Plan {
    let command = vec!["update-grub".to_owned()];
    let generator = step(Action::Run {
        command: command.clone(),
        rewrites: vec![format!("/{CONFIG}").into()],
        undo: None,
        regenerate: Some(command),
    });
    let steps = vec![step_before, generator];
    of_steps(words, expected, steps)
}

/// Adds a word.
pub(super) fn plan() -> Plan {
    let content = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX quirk=1\"\n";
    generate("add quirk=1", write(&format!("/{DROP_IN}"), content), added())
}

/// Returns a plan that removes a word.
pub(super) fn plan_of_removal() -> Plan {
    let expected = Change { add: Vec::new(), remove: vec!["splash".to_owned()] };
    let content = "GRUB_CMDLINE_LINUX=\"quiet\"\n";
    generate("take splash away", write("/etc/default/grub", content), expected)
}

pub(super) const ENTRIES: &str = "boot/loader/entries";

pub(super) fn entry(version: &str, words: &str) -> String {
    format!(
        "title Linux {version}\nversion {version}\nlinux /vmlinuz-{version}\ninitrd /initrd-{version}\n\
         options root=/dev/vda quiet{words}\n"
    )
}

pub(super) fn add_entry(root: &Path, version: &str, words: &str) {
    install(root, version);
    put(root, &format!("{ENTRIES}/id-{version}.conf"), &entry(version, words));
}

/// A system with entry files of two kernels.
pub(super) fn entries() -> tempfile::TempDir {
    let dir = temporary();
    let root = dir.path();
    build(root);
    fs::remove_file(root.join(ENTRIES).join("old.conf")).unwrap();
    put(root, "boot/grub/grubenv", "saved_entry=id-6\n");
    put(root, "usr/sbin/grubby", GRUBBY);
    for version in ["5", "6"] {
        add_entry(root, version, "");
    }
    dir
}

pub(super) fn grubby() -> Plan {
    let command =
        |option: &str| ["grubby", "--update-kernel=ALL", option].map(str::to_owned).to_vec();
    let steps = vec![step(Action::Run {
        command: command("--args=quirk=1"),
        rewrites: vec![format!("/{ENTRIES}").into(), "/boot/grub/grubenv".into()],
        undo: None,
        regenerate: Some(command("--remove-args=quirk=1")),
    })];
    of_steps("add quirk=1", added(), steps)
}

/// The entries, edited by the change itself.
pub(super) fn edits(root: &Path) -> Plan {
    let mut steps = Vec::new();
    for version in ["5", "6"] {
        let path = format!("{ENTRIES}/id-{version}.conf");
        let new = text(root, &path).replace("quiet", "quiet quirk=1");
        steps.push(write(&format!("/{path}"), &new));
    }
    of_steps("add quirk=1", added(), steps)
}

/// Runs a job of this test in a separate process, which a program of the system kills.
pub(super) fn killed(test: &str, root: &Path, job: fn(&Path)) {
    const CHILD: &str = "CLOCKSMITH_TEST_KILLED";
    if let Some(root) = std::env::var_os(CHILD) {
        job(Path::new(&root));
        panic!("the job was not killed");
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(CHILD, root)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(std::os::unix::process::ExitStatusExt::signal(&status) == Some(9), "{status:?}");
    for hook in ["before", "after"] {
        let _ = fs::remove_file(root.join(hook));
    }
}

pub(super) fn taken_back(recovered: &[Recovered]) -> &Report {
    match recovered.first() {
        Some(
            Recovered::RolledBack(report)
            | Recovered::Unconfirmed(report)
            | Recovered::Mended(report)
            | Recovered::FinishedUndo(report),
        ) => report,
        other => panic!("{other:?}"),
    }
}

pub(super) fn apply(root: &Path, plan: &Plan) -> Applied {
    open(root).unwrap().apply(plan, &mut Silent).unwrap()
}

pub(super) fn undo(root: &Path, force: Force) -> Result<Vec<Report>, JournalError> {
    open(root).unwrap().undo(Which::Last, force)
}

/// A run of the change that was killed: before its program wrote, with its file empty, or when it had written all.
pub(super) fn half(test: &str, root: &Path, when: usize) {
    let hooks = [("before", ""), ("before", ": > grub.cfg; "), ("after", "")];
    let (name, more) = hooks[when];
    put(root, name, &format!("{more}kill -9 $PPID; sleep 1"));
    killed(test, root, |root| drop(open(root).unwrap().apply(&plan(), &mut Silent)));
}
