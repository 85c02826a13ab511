//! `vm lint` and `vm fix` as a user runs them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BAD: &str = "<domain type='kvm'>\n  <name>debian</name>\n  <clock offset='utc'>\n    <timer name='hpet' present='yes'/>\n  </clock>\n</domain>\n";
const GOOD: &str = "<domain type='kvm'>\n  <name>debian</name>\n  <clock offset='utc'>\n    <timer name='hpet' present='no'/>\n  </clock>\n</domain>\n";

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn file(dir: &Path, name: &str, content: &str) -> (PathBuf, String) {
    let path = dir.join(name);
    fs::write(&path, content).unwrap();
    (path.clone(), path.to_str().unwrap().to_owned())
}

/// A document that is valid against its schema.
fn document(name: &str, out: &Output) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(text(&out.stdout).starts_with(&format!("{{\n  \"schema\": \"{name}\"")));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"));
    let schema = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    value
}

#[test]
fn lint_says_what_where_and_exits_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bad) = file(dir.path(), "bad.xml", BAD);
    let (_, good) = file(dir.path(), "good.xml", GOOD);
    let (_, junk) = file(dir.path(), "junk.xml", "<domain><clock>");
    assert_eq!(run(&["vm", "lint", &good]).status.code(), Some(0));
    let out = run(&["vm", "lint", &bad, &good, "--json"]);
    assert_eq!(out.status.code(), Some(1));
    let value = document("clocksmith.vm-lint.v1", &out);
    let finding = &value["files"][0]["findings"][0];
    assert_eq!(finding["id"], "lv-hpet-on");
    assert_eq!((&finding["line"], &finding["column"]), (&4.into(), &5.into()));
    assert_eq!(finding["where"], "<timer name='hpet' present='yes'/>");
    assert_eq!(value["files"][0]["kind"], "libvirt");
    assert_eq!(value["files"][0]["guest"], "linux");
    // The other files are still checked.
    let out = run(&["vm", "lint", &junk, &bad, "--json"]);
    assert_eq!(out.status.code(), Some(2));
    let value = document("clocksmith.vm-lint.v1", &out);
    assert!(value["files"][0]["error"].as_str().unwrap().contains("line 1, column 9"));
    assert_eq!(value["files"][1]["findings"][0]["id"], "lv-hpet-on");
    let shown = text(&run(&["vm", "lint", &bad]).stdout);
    assert!(shown.contains("4:5") && shown.contains("[lv-hpet-on]"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || line.contains(&bad)), "{shown}");
}

#[test]
fn path_that_is_not_a_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let name = dir.path().to_str().unwrap();
    let out = run(&["vm", "lint", name]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("no file of a known kind is in"), "{}", text(&out.stderr));
    let out = run(&["vm", "lint", "/nowhere"]);
    assert!(
        text(&out.stderr).starts_with("clocksmith: cannot read /nowhere"),
        "{}",
        text(&out.stderr)
    );
    let (_, words) = file(dir.path(), "words.txt", "to be or not to be\n");
    let out = run(&["vm", "fix", &words]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("--kind"), "{}", text(&out.stderr));
    assert!(!text(&out.stderr).contains("panicked"));
}

#[test]
fn standard_input_is_a_file() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["vm", "lint", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(BAD.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(document("clocksmith.vm-lint.v1", &out)["files"][0]["file"], "-");
    assert_eq!(run(&["vm", "fix", "-", "--apply"]).status.code(), Some(2));
}

#[test]
fn fix_shows_first_and_writes_with_apply() {
    let dir = tempfile::tempdir().unwrap();
    let (path, bad) = file(dir.path(), "bad.xml", BAD);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = dir.path().join("link.xml");
    symlink(&path, &link).unwrap();
    let shown = run(&["vm", "fix", &bad]);
    assert_eq!(shown.status.code(), Some(0));
    let diff = text(&shown.stdout);
    assert!(
        diff.contains(
            "-    <timer name='hpet' present='yes'/>\n+    <timer name='hpet' present='no'/>\n"
        ),
        "{diff}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), BAD);
    // Through a link: the file is written, the link stays.
    let out = run(&["vm", "fix", link.to_str().unwrap(), "--apply", "--json"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let value = document("clocksmith.vm-fix.v1", &out);
    assert_eq!(value["files"][0]["written"], true);
    assert_eq!(value["files"][0]["mended"][0]["id"], "lv-hpet-on");
    assert_eq!(value["files"][0]["qemu"][0], "-machine ...,hpet=off");
    assert_eq!(fs::read_to_string(&path).unwrap(), GOOD);
    assert_eq!(fs::read_to_string(dir.path().join("bad.xml.clocksmith-before")).unwrap(), BAD);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let names = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 3, "no file is left over");
    // Once more: nothing to do.
    let out = run(&["vm", "fix", &bad, "--apply", "--json"]);
    assert_eq!(document("clocksmith.vm-fix.v1", &out)["files"][0]["written"], false);
}

#[test]
fn the_diff_is_one_for_patch() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = file(dir.path(), "bad.xml", BAD);
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["vm", "fix", "bad.xml"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let Ok(mut patch) =
        Command::new("patch").arg("-p1").current_dir(dir.path()).stdin(Stdio::piped()).spawn()
    else {
        eprintln!("skipped: no patch(1)");
        return;
    };
    patch.stdin.take().unwrap().write_all(&out.stdout).unwrap();
    assert!(patch.wait().unwrap().success());
    assert_eq!(fs::read_to_string(path).unwrap(), GOOD);
}

#[test]
fn fix_apply_follows_no_link_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: fix_apply_follows_no_link_of_another_user needs root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = file(dir.path(), "secret.xml", BAD);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for (number, mode) in [0o755, 0o777, 0o1777].into_iter().enumerate() {
        let theirs = dir.path().join(format!("theirs{number}"));
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, fs::Permissions::from_mode(mode)).unwrap();
        chown(&theirs, Some(1000), Some(1000)).unwrap();
        symlink(&path, theirs.join("file.xml")).unwrap();
        symlink(dir.path(), theirs.join("way")).unwrap();
        // A link of this user that leads to the other user's file.
        let ours = dir.path().join(format!("ours{number}.xml"));
        symlink(theirs.join("file.xml"), &ours).unwrap();
        for link in ["file.xml", "way"] {
            lchown(theirs.join(link), Some(1000), Some(1000)).unwrap();
        }
        for name in [theirs.join("file.xml"), theirs.join("way/secret.xml"), ours] {
            let out = run(&["vm", "fix", name.to_str().unwrap(), "--apply"]);
            assert_eq!(out.status.code(), Some(2), "{name:?}");
            let error = text(&out.stderr);
            assert!(
                error.contains("(owner 1000") && error.contains("Name the file itself"),
                "{error}"
            );
        }
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 2);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), BAD);
    assert!(!dir.path().join("secret.xml.clocksmith-before").exists());
    // A file of another user in a directory of theirs is theirs afterwards, too.
    let (their, name) = file(&dir.path().join("theirs0"), "their.xml", BAD);
    chown(&their, Some(1000), Some(1000)).unwrap();
    assert_eq!(run(&["vm", "fix", &name, "--apply"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&their).unwrap(), GOOD);
    assert_eq!(fs::metadata(&their).unwrap().uid(), 1000);
}

#[test]
fn fix_apply_refuses_a_file_with_two_names() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = file(dir.path(), "one.xml", BAD);
    let other = dir.path().join("other.xml");
    fs::hard_link(&path, &other).unwrap();
    let out = run(&["vm", "fix", other.to_str().unwrap(), "--apply"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("2 names (hard links)"), "{}", text(&out.stderr));
    assert_eq!(fs::read_to_string(&other).unwrap(), BAD);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_libvirt_keeps_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join(".config/libvirt/qemu");
    fs::create_dir_all(&kept).unwrap();
    let (path, name) = file(&kept, "debian.xml", BAD);
    let planned = run(&["vm", "fix", &name]);
    let said = text(&planned.stdout).to_owned();
    assert!(said.contains("--apply would refuse") && said.contains("virsh define"), "{said}");
    assert!(!said.contains("use --apply"), "{said}");
    let out = run(&["vm", "fix", &name, "--apply"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("virsh define"), "{}", text(&out.stderr));
    assert_eq!(fs::read_to_string(path).unwrap(), BAD);
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 1);
}

#[test]
fn rules_are_explained() {
    let out = run(&["explain", "lv-hpet-on"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(text(&out.stdout).contains("lv-hpet-on (rule)"), "{}", text(&out.stdout));
    let out = run(&["explain", "hpet-default"]);
    assert!(text(&out.stdout).contains("lv-hpet-default-on"), "{}", text(&out.stdout));
}

#[test]
fn lint_connect_asks_virsh_for_every_domain() {
    let out = run(&["vm", "lint", "--connect", "test:///default", "--json"]);
    if out.status.code() == Some(2) && text(&out.stderr).contains("not installed") {
        return;
    }
    let value = document("clocksmith.vm-lint.v1", &out);
    let files = value["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["file"] == "test:///default test"), "{value}");
    let out = run(&["vm", "lint", "--connect", "test:///no/such/file"]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    assert!(
        text(&out.stderr).contains("virsh --connect test:///no/such/file list"),
        "{}",
        text(&out.stderr)
    );
}

#[test]
fn lint_of_a_tree_of_proxmox_resolves_models() {
    let dir = tempfile::tempdir().unwrap();
    let machines = dir.path().join("nodes/a/qemu-server");
    fs::create_dir_all(&machines).unwrap();
    fs::create_dir_all(dir.path().join("virtual-guest")).unwrap();
    file(
        &dir.path().join("virtual-guest"),
        "cpu-models.conf",
        "cpu-model: quick\n    reported-model host\n    hidden 1\n",
    );
    file(&machines, "100.conf", "ostype: l26\ncores: 2\ncpu: custom-quick\n");
    file(&machines, "101.conf", "ostype: l26\ncores: 2\ncpu: custom-other\n");
    let out = run(&["vm", "lint", "--json", dir.path().to_str().unwrap()]);
    let value = document("clocksmith.vm-lint.v1", &out);
    let ids = |name: &str| -> Vec<String> {
        let files = value["files"].as_array().unwrap();
        let file =
            files.iter().find(|file| file["file"].as_str().unwrap().ends_with(name)).unwrap();
        file["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(ids("100.conf").contains(&"pve-kvm-hidden".to_owned()), "{:?}", ids("100.conf"));
    assert!(ids("101.conf").contains(&"pve-model-unknown".to_owned()), "{:?}", ids("101.conf"));
}

#[test]
fn lint_uses_no_models_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mine, theirs) = (dir.path().join("mine"), dir.path().join("virtual-guest"));
    fs::create_dir(&mine).unwrap();
    fs::create_dir(&theirs).unwrap();
    let (_, machine) = file(&mine, "100.conf", "ostype: l26\ncores: 2\ncpu: custom-quick\n");
    let (models, _) = file(&theirs, "cpu-models.conf", "cpu-model: quick\n    hidden 1\n");
    let ids = |name: &str| text(&run(&["vm", "lint", name]).stdout).contains("pve-kvm-hidden");
    assert!(ids(&machine));
    for path in [&models, &theirs] {
        chown(path, Some(1000), None).unwrap();
        for name in [machine.as_str(), mine.to_str().unwrap()] {
            let out = run(&["vm", "lint", name]);
            assert!(!text(&out.stdout).contains("pve-"), "{}", text(&out.stdout));
            let said = text(&out.stderr).to_owned();
            assert!(said.contains("is not used: it belongs to another user (1000)"), "{said}");
        }
        chown(path, Some(0), None).unwrap();
    }
    // Their own machine, and their own models.
    for path in [&models, &theirs, &mine.join("100.conf")] {
        chown(path, Some(1000), None).unwrap();
    }
    assert!(ids(&machine));
}

#[test]
fn lint_of_a_directory_fails_for_files_that_it_cannot_use() {
    let dir = tempfile::tempdir().unwrap();
    file(dir.path(), "good.xml", GOOD);
    let long = format!("<domain><name>{}</name></domain>\n", "x".repeat(5 << 20));
    file(dir.path(), "long.xml", &long);
    file(dir.path(), "long.txt", &"text\n".repeat(1 << 20));
    let name = dir.path().to_str().unwrap();
    let out = run(&["vm", "lint", name]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    let said = text(&out.stderr).to_owned();
    assert!(said.contains("long.xml: it has more than 4 MiB"), "{said}");
    assert!(!said.contains("long.txt") && text(&out.stdout).contains("good.xml"), "{said}");
    for long in ["long.xml", "long.txt"] {
        fs::remove_file(dir.path().join(long)).unwrap();
    }
    assert_eq!(run(&["vm", "lint", name]).status.code(), Some(0));
    let deep = dir.path().join("d/".repeat(17));
    fs::create_dir_all(&deep).unwrap();
    file(&deep, "bad.xml", BAD);
    let out = run(&["vm", "lint", name]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("deeper than 16 directories"), "{}", text(&out.stderr));
}

#[test]
fn lint_of_an_ova_reads_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let ovf = "<Envelope><VirtualSystem><OperatingSystemSection vmw:osType=\"ubuntu64Guest\"/><VirtualHardwareSection><System><VirtualSystemType>vmx-19</VirtualSystemType></System><vmw:Config vmw:key=\"tools.syncTimeWithHost\" vmw:value=\"true\"/></VirtualHardwareSection></VirtualSystem></Envelope>\n";
    let mut ova = tar::Builder::new(Vec::new());
    for (name, content) in [("a.ovf", ovf.as_bytes().to_vec()), ("a.vmdk", vec![7; 6 << 20])] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        ova.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    let path = dir.path().join("a.ova");
    fs::write(&path, ova.into_inner().unwrap()).unwrap();
    let out = run(&["vm", "lint", "--json", path.to_str().unwrap()]);
    let value = document("clocksmith.vm-lint.v1", &out);
    assert!(value.to_string().contains("vmx-sync-on"), "{value}");
}

/// In a GitHub job, a line that begins with `::` is a command to the runner.
#[test]
fn a_name_or_a_text_is_not_a_workflow_command() {
    let dir = tempfile::tempdir().unwrap();
    let name = "::set-output name=x::y.xml";
    file(dir.path(), name, &BAD.replace("debian", "##[add-mask]x"));
    let lint = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        let out = command.current_dir(dir.path()).args(["vm", "lint"]).args(words).output();
        text(&out.unwrap().stdout)
    };
    for words in [&[name][..], &["-v", name], &["-q", name]] {
        let out = lint(words);
        assert!(out.starts_with(&format!("./{name} (libvirt")), "{out}");
        assert!(!out.lines().any(|line| line.trim_start().starts_with("::")), "{out}");
        assert!(!out.contains("##["), "{out}");
    }
}
