//! `--bundle`: a bundle comes from another person, who may be malicious.

use super::tarball::{self, gzip, header};
use super::{at_most, directory, file, refused, refuses, run};
use tar::EntryType;

/// A tar file of empty entries.
fn tar(entries: &[(&str, EntryType)]) -> Vec<u8> {
    let entries: Vec<_> = entries.iter().map(|(path, kind)| (*path, *kind, &b""[..])).collect();
    tarball::tar(&entries)
}

fn regular(path: &str) -> Vec<u8> {
    tar(&[(path, EntryType::Regular)])
}

#[test]
fn hostile_bundles_are_refused() {
    let twice =
        tar(&[("proc/version", EntryType::Regular), ("./proc//version", EntryType::Regular)]);
    let whole = gzip(&regular("proc/version"));
    let huge = header("dmesg", 1 << 40, EntryType::Regular).as_bytes().to_vec();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "no tar file"),
        ("text", b"hello, world\n".repeat(100), "no tar file"),
        ("gzip of text", gzip(&b"hello, world\n".repeat(100)), "no tar file"),
        ("..", regular("../etc/passwd"), "'..'"),
        (".. inside", regular("proc/../../x"), "'..'"),
        ("absolute", regular("/etc/passwd"), "absolute"),
        ("symbolic link", tar(&[("dmesg", EntryType::Symlink)]), "a link"),
        ("hard link", tar(&[("dmesg", EntryType::Link)]), "a link"),
        ("character device", tar(&[("dmesg", EntryType::Char)]), "not a regular file"),
        ("block device", tar(&[("dmesg", EntryType::Block)]), "not a regular file"),
        ("FIFO", tar(&[("dmesg", EntryType::Fifo)]), "not a regular file"),
        ("twice", twice, "twice"),
        ("a terabyte", huge, "larger than"),
        ("cut off", whole[..whole.len() / 2].to_vec(), "bundle"),
    ];
    for (what, content, words) in cases {
        let (_dir, path) = file("some.tar", &content);
        let path = path.to_str().unwrap();
        refuses(what, &["--bundle", path], &[words, path, "clocksmith collect"]);
        refuses(what, &["predict", "--bundle", path], &[words, path]);
    }
    let dir = directory();
    let dir = dir.path().to_str().unwrap();
    refuses("a directory", &["--bundle", dir], &[dir, "not a regular file"]);
    refuses("not there", &["--bundle", "/nonexistent"], &["/nonexistent"]);
    refuses("a device", &["--bundle", "/dev/zero"], &["/dev/zero", "not a regular file"]);
}

#[test]
fn a_bomb_ends_in_time() {
    // One large file, then more of it than any bundle may have; gzip members follow each other.
    let zeros = gzip(&vec![0; 64 << 20]);
    let mut bomb = Vec::new();
    for number in 0..5 {
        let name = format!("file{number}");
        bomb.extend_from_slice(&gzip(header(&name, 64 << 20, EntryType::Regular).as_bytes()));
        bomb.extend_from_slice(&zeros);
    }
    assert!(bomb.len() < 4 << 20);
    stops_at_its_limit("a bomb", &bomb, "larger than");
}

#[test]
fn a_million_entries_end_in_time() {
    let thousand = gzip(&header("d/", 0, EntryType::Directory).as_bytes().repeat(1000));
    stops_at_its_limit("a million entries", &thousand.repeat(1000), "entries");
}

/// A bundle with more than any may have is refused, and one that is eight times as long takes no more time.
fn stops_at_its_limit(what: &str, bytes: &[u8], words: &str) {
    let [short, long] = [1, 8].map(|times| {
        let (_dir, path) = file("some.tar.gz", &bytes.repeat(times));
        let path = path.to_str().unwrap();
        refuses(what, &["--bundle", path], &[words]);
        let outcome = run(&["--bundle", path]);
        refused(what, &outcome, &[words]);
        outcome
    });
    at_most(4, what, &long, &short);
}
