//! `fix` where two boot loaders are: it names them, the one that boots and why, in plan, JSON and `--status`.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

const ENTRY: &str = "title a\nlinux /v\noptions root=UUID=2 rw\n";
const VARIABLE: &str = "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The EFI variable that a boot loader leaves.
fn booted_by(root: &Path, name: &str) {
    let units = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
    let bytes: Vec<u8> = [6, 0, 0, 0].into_iter().chain(units).collect();
    write(root, VARIABLE, &bytes);
}

fn fix(root: &Path, arguments: &str) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["fix", "--root", root.to_str().unwrap()])
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// Words that a page may have broken anywhere.
fn has(text: &str, words: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(text).contains(&plain(words))
}

#[test]
fn fix_with_two_loaders_names_the_one_that_boots_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "etc/default/grub", b"GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
    write(root, "usr/sbin/grub-mkconfig", b"default/grub.d\n");
    write(root, "boot/grub/grub.cfg", b"menuentry x {\nlinux /v root=UUID=1 quiet\n}\n");
    write(root, "boot/efi/loader/entries/a.conf", ENTRY.as_bytes());
    let wish = "--param tsc=nowatchdog --boot cmdline --accept-unverified-counter";
    // Nothing shows which one boots.
    let (code, said) = fix(root, &format!("{wish} --apply"));
    assert_eq!(code, 1, "{said}");
    assert!(has(&said, "--loader grub|entries"), "{said}");
    assert_eq!(fs::read_to_string(root.join("boot/efi/loader/entries/a.conf")).unwrap(), ENTRY);
    assert!(!root.join("etc/default/grub.d").exists());
    let (code, said) = fix(root, &format!("{wish} --loader zipl"));
    assert!(code == 1 && has(&said, "is not here"), "{said}");
    let (code, said) = fix(root, &format!("{wish} --loader grub"));
    assert!(code == 0 && has(&said, "it was named by --loader"), "{said}");
    // The firmware's variable does.
    booted_by(root, "systemd-boot 255.4");
    let (code, said) = fix(root, &format!("{wish} --apply"));
    assert_eq!(code, 0, "{said}");
    assert!(has(&said, "boots: the EFI variable LoaderInfo is \"systemd-boot 255.4\""), "{said}");
    let edited = fs::read_to_string(root.join("boot/efi/loader/entries/a.conf")).unwrap();
    assert!(edited.contains("rw tsc=nowatchdog"), "{edited}");
    let (code, said) = fix(root, "--status --json");
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &json["boot"]["boots"]), (0, &"entries".into()), "{said}");
    assert_eq!(json["boot"]["found"].as_array().unwrap().len(), 2);
    // From now on another one boots.
    booted_by(root, "GRUB 2.12");
    let (code, said) = fix(root, "--status");
    assert_eq!(code, 1, "{said}");
    assert!(has(&said, "was changed, and GRUB boots this machine"), "{said}");
    let (code, said) = fix(root, "--undo");
    assert_eq!(code, 0, "{said}");
    assert_eq!(fs::read_to_string(root.join("boot/efi/loader/entries/a.conf")).unwrap(), ENTRY);
}
