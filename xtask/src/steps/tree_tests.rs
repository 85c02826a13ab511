//! Tests of the refusals of `packaging/tree.sh`, in a repository of a few files.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Tree(PathBuf);

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Tree {
    fn new(name: &str) -> Tree {
        let top = std::env::temp_dir().join(format!("xtask-tree-{name}-{}", std::process::id()));
        let tree = Tree(top);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/tree.sh");
        tree.file("packaging/tree.sh", &std::fs::read_to_string(&script).unwrap());
        std::fs::set_permissions(
            tree.0.join("packaging/tree.sh"),
            std::fs::metadata(script).unwrap().permissions(),
        )
        .unwrap();
        tree.git(&["init", "-q"]);
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn git(&self, words: &[&str]) {
        assert!(crate::git::git(&self.0).args(words).status().unwrap().success(), "{words:?}");
    }

    /// Returns whether it passes, and its output.
    fn check(&self) -> (bool, String) {
        self.git(&["add", "-Af"]);
        let done = Command::new("bash").arg(self.0.join("packaging/tree.sh")).output().unwrap();
        let text = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}

/// Whether there is all that the lint needs; the step itself names what is missing.
fn are_tools_here() -> bool {
    ["git", "python3"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok())
}

#[test]
fn tree_with_links_and_scripts_passes() {
    if !are_tools_here() {
        return;
    }
    let tree = Tree::new("good");
    tree.file("docs/a.py", "print(1)\n");
    tree.file("docs/with space.md", "text\n");
    tree.file("crates/a/LICENSE", "text\n");
    symlink("../docs", tree.0.join("crates/docs")).unwrap();
    symlink("../../docs/with space.md", tree.0.join("crates/a/link")).unwrap();
    let (good, text) = tree.check();
    assert!(good, "{text}");
}

#[test]
fn tree_refuses_each_of_these() {
    if !are_tools_here() {
        return;
    }
    let tree = Tree::new("bad");
    tree.file("docs/Page.md", "text\n");
    tree.file("docs/page.md", "text\n");
    for name in ["aux.md", "a:b", ".env", "id_rsa"] {
        tree.file(name, "text\n");
    }
    let key = ["-----BEGIN OPENSSH ", "PRIVATE KEY-----\nb3Blbn\n"].concat();
    tree.file("docs/deploy.pem", &key);
    tree.file("crates/a/fixtures/server.pem", &key);
    tree.file("large.txt", &"a line\n".repeat(200_000));
    tree.file("a.sh", "#!/bin/bash\nif true; then\n");
    tree.file("a.bash", "if true; then\n");
    tree.file("tool.jar", "text\n");
    tree.file("zero.rs", "// a\0b\n");
    tree.file("said.bin", "a\0b\n");
    tree.file(".gitattributes", "said.bin -text\n");
    let readme = tree.0.join("README.md");
    tree.file("README.md", "text\n");
    std::fs::set_permissions(&readme, std::fs::Permissions::from_mode(0o755)).unwrap();
    tree.file("b.py", "def f(:\n");
    tree.file("crates/new/Cargo.toml", "[package]\nname = \"new\"\npublish = false\n");
    tree.file(
        "shims/a/Cargo.toml",
        "[package]\nname = \"a\"\nedition = \"2024\"\nlicense = \"GPL-3.0-only\"\nrust-version = \"1.70\"\n[lints]\nworkspace = true\n",
    );
    tree.file("fuzz/Cargo.toml", "[[bin]]\npath = \"fuzz_targets/old.rs\"\n");
    tree.file("crates/published/Cargo.toml", "[package]\nname = \"published\"\n");
    tree.file("LICENSE-MIT", "the licence\n");
    tree.file("crates/published/LICENSE-MIT", "another\n");
    tree.file("fuzz/fuzz_targets/old.rs", "");
    tree.file("fuzz/fuzz_targets/new.rs", "");
    symlink("/etc/hostname", tree.0.join("absolute")).unwrap();
    symlink("nothing", tree.0.join("dangling")).unwrap();
    symlink("../elsewhere", tree.0.join("outside")).unwrap();
    let nested = "0000000000000000000000000000000000000001";
    tree.git(&["add", "-Af"]);
    tree.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{nested},inner")]);
    std::fs::create_dir_all(tree.0.join("inner")).unwrap();
    let done = Command::new("bash").arg(tree.0.join("packaging/tree.sh")).output().unwrap();
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(!done.status.success());
    for words in [
        "docs/page.md and docs/Page.md differ by case only",
        "aux.md has a name that Windows cannot have",
        "a:b has a name that Windows cannot have",
        ".env is an environment of one machine",
        "id_rsa is a key",
        "docs/deploy.pem is a private key",
        "large.txt is a file of more than 1 MiB",
        "a.sh: line 3: syntax error",
        "a.bash: line 2: syntax error",
        "tool.jar is a compiled file",
        "zero.rs is binary",
        "README.md is executable, and no script",
        "b.py: invalid syntax",
        "crates/new/Cargo.toml has no lints",
        "crates/new/Cargo.toml does not state edition",
        "crates/new/Cargo.toml does not state license",
        "crates/new/Cargo.toml does not state rust-version",
        "shims/a/Cargo.toml states rust-version 1.70",
        "shims/a/Cargo.toml states the licence GPL-3.0-only",
        "crates/published/LICENSE-MIT is not the text of LICENSE-MIT",
        "fuzz/fuzz_targets/new.rs has no [[bin]]",
        "absolute is a link to /etc/hostname",
        "dangling is a link to nothing, which is not tracked",
        "outside is a link to ../elsewhere, outside",
        "inner is another repository",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    for name in ["old.rs", "server.pem", "said.bin"] {
        assert!(!text.contains(name), "{name}:\n{text}");
    }
}

#[test]
fn tree_refuses_names_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt as _;
    if !are_tools_here() {
        return;
    }
    let tree = Tree::new("names");
    for name in [&b"b\xff.md"[..], b"two\nlines"] {
        std::fs::write(tree.0.join(std::ffi::OsStr::from_bytes(name)), "text\n").unwrap();
    }
    let (good, text) = tree.check();
    assert!(!good);
    for words in ["is not UTF-8", "control character"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}
