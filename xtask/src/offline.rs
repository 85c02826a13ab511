//! Whether a command failed because the network is missing: by the words that it printed.
//!
//! The words are in `packaging/offline.txt`, which scripts also read (`packaging/offline.sh`).

/// Words that say so; after `!`, words of other errors, beside which the network may well be there; after `-`, words of
/// lines that are not looked at.
const WORDS: &str = include_str!("../../packaging/offline.txt");

/// The error of a program that fetches is in its last lines.
const LAST: usize = 40;

/// Whether the end of what a command that fetches has printed names a network that cannot be reached, and no other error.
/// Not for the output of a test, a guest or a scanner, which may have the same words.
pub(crate) fn is_offline(text: &str) -> bool {
    let text = text.to_lowercase();
    let lines: Vec<&str> =
        text.lines().filter(|line| !words('-').any(|w| line.contains(w))).collect();
    let last = lines.get(lines.len().saturating_sub(LAST)..).unwrap_or_default();
    let has = |word: &str| last.iter().any(|line| line.contains(word));
    !words('!').any(has) && plain().any(has)
}

/// The words after a sign.
fn words(sign: char) -> impl Iterator<Item = &'static str> {
    WORDS.lines().filter_map(move |line| line.strip_prefix(sign))
}

/// The words without a sign.
fn plain() -> impl Iterator<Item = &'static str> {
    WORDS.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '!', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// What programs print without a network.
    const OFFLINE: &[&str] = &[
        "error: failed to get `libc` as a dependency\n\nCaused by:\n  failed to download from `https://index.example.org/config.json`\n\n\
            Caused by:\n  [7] Could not connect to server (Failed to connect to 127.0.0.1 port 9 after 0 ms)",
        "  [6] Could not resolve hostname (Could not resolve host: index.example.org)",
        "  attempting to make an HTTP request, but --offline was specified",
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip>: Failed to establish a new \
            connection: [Errno -3] Temporary failure in name resolution')': /simple/pytest/\nERROR: No matching distribution found",
        "WARNING: Retrying after connection broken by 'ProxyError('Cannot connect to proxy.', x)'",
        "[ERROR] failed to fetch advisory database https://github.com/RustSec/advisory-db with cli: failed to clone:\n\
            fatal: unable to access 'https://github.com/RustSec/advisory-db/': Could not resolve host: github.com",
        "E: Failed to fetch http://d/debian/dists/bookworm/InRelease  Could not connect to 127.0.0.1:9\n\
            E: apt-get update --error-on=any failed",
        "E: Failed to fetch http://d/ca-certificates.deb  Could not connect to d:80 (::1). - connect (111: Connection refused)\n\
            W: Download is performed unsandboxed as root as file 'x' couldn't be accessed by user '_apt'. - pkgAcquire::Run (13: Permission denied)",
        "fatal: unable to access 'https://g/db/': CONNECT tunnel failed, response 403",
        "error: could not download file from 'https://r/channel.toml': error sending request for url (https://r/channel.toml): client \
            error (Connect): dns error: failed to lookup address information: Name or service not known",
    ];

    /// What they print where something else is wrong.
    const OTHERS: &[&str] = &[
        "",
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        "error: cannot update the lock file /c/Cargo.lock because --locked was passed to prevent this",
        "ERROR: Cannot install pytest<8 and pytest>=8 because these package versions have conflicting dependencies.",
        "E: Unable to locate package nosuch",
        "E: The following signatures couldn't be verified: NO_PUBKEY 0E98404D386FA1D9\nE: Failed to fetch http://d/InRelease",
        "[ERROR] failed to open advisory database: Permission denied (os error 13)",
        "[ERROR] failed to load advisory database: the index is corrupt",
        "E: Failed to fetch http://d/l.deb  Could not connect to d\nE: Write error - write (28: No space left on device)",
        // An archive that was reached.
        "E: Failed to fetch http://d/l.deb  Hash Sum mismatch\nW: Connection timed out",
        "E: Failed to fetch http://d/l.deb  404  Not Found [IP: 192.0.2.1 80]\nW: Connection timed out",
        "E: Failed to fetch http://d/InRelease  403  Forbidden",
        "W: The following signatures were invalid: BADSIG 0E98\nE: Failed to fetch http://d/InRelease  Connection failed",
        "W: The following signatures were invalid: EXPKEYSIG 0E98\nE: Failed to fetch http://d/InRelease  Connection failed",
        "E: Failed to fetch https://d/InRelease  Certificate verification failed: The certificate is NOT trusted. Connection failed",
        "fatal: unable to access 'https://g/db/': server certificate verification failed. CAfile: none CRLfile: none",
        "fatal: unable to access 'https://g/db/': The requested URL returned error: 403",
        "error sending request for url (https://d/): invalid peer certificate: UnknownIssuer",
        "404 Client Error: Not Found for url: https://i/simple/x/\nx: connection refused",
        // A try that failed, and the next one reached the archive.
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'RemoteDisconnected('Remote end closed connection without \
            response')'\nerror: subprocess-exited-with-error\nnote: metadata-generation-failed",
        "WARNING: Retrying after connection broken by 'Connection reset by peer'\nERROR: ResolutionImpossible: conflicting dependencies",
        "warning: spurious network error (3 tries remaining): Timeout was reached\nerror: package `x` cannot be built",
        "warning: spurious network error (3 tries remaining): Timeout was reached\nerror: failed to select a version for `x`",
        "W: Failed to fetch http://t/InRelease  Could not connect to t\nE: Unmet dependencies. Try 'apt --fix-broken install'",
        "E: Release file for http://d/InRelease is expired\nW: Connection failed",
        // What an installation prints, and a guest.
        "Failed to connect to bus: No such file or directory",
        "Failed to connect to system scope bus: Connection refused\ndpkg: error processing package tuned (--configure):",
        "x: Connection refused\nE: Sub-process /usr/bin/dpkg returned an error code (1)",
        "E: Unable to locate package nosuch\nx: connection refused",
        "mkdir: cannot create directory: Read-only file system\nconnection refused",
        "fork: Cannot allocate memory\nconnection refused",
        "sh: /x: Permission denied\nconnection refused",
        // Long before the end.
        FAR,
    ];

    const FAR: &str = "connection refused\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nerror: wrong";

    #[test]
    fn is_offline_only_if_the_network_is_named() {
        for text in OFFLINE {
            assert!(is_offline(text), "{text}");
        }
        for text in OTHERS {
            assert!(!is_offline(text), "{text}");
        }
        // A line of the list that is not a word, or not in small letters, would fit all, or nothing.
        for line in WORDS.lines() {
            assert_eq!(line.trim(), line);
            assert!(
                line.starts_with('#') || (line.len() > 5 && line.to_lowercase() == line),
                "{line}"
            );
        }
    }

    fn packaging() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
    }

    #[test]
    fn scripts_have_the_same_rule() {
        for (texts, code) in [(OFFLINE, 75), (OTHERS, 1)] {
            for text in texts {
                let script = ". \"$0\"; fetch sh -c 'printf %s \"$1\"; exit 4' sh \"$1\"";
                let mut bash = Command::new("bash");
                bash.args(["-euo", "pipefail", "-c", script]).arg(packaging().join("offline.sh"));
                let done = bash.arg(text).stderr(Stdio::null()).status().unwrap();
                assert_eq!(done.code(), Some(code), "{text}");
            }
        }
        let script = ". \"$0\"; fetch echo hello && echo world";
        let done = Command::new("bash")
            .args(["-euo", "pipefail", "-c", script])
            .arg(packaging().join("offline.sh"))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stdout), "world\n");
    }

    #[test]
    fn scripts_find_the_list_where_cd_prints() {
        let script = ". packaging/offline.sh; is_offline 'x: connection refused' && echo yes";
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", script]).current_dir(packaging().join(".."));
        let done = bash.env("CDPATH", ".").output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&done.stdout), "yes\n", "{said}");
    }

    /// A python3 with a pip that ends in these words.
    fn python(dir: &Path, words: &str) -> PathBuf {
        use std::os::unix::fs::OpenOptionsExt as _;
        let stub = dir.join("python");
        let script = format!(
            "#!/bin/sh\ncase $* in\n*'-m venv '*) mkdir -p \"$3/bin\"; cp \"$0\" \"$3/bin/python\" ;;\n\
            *' pip '*) echo {words:?} >&2; exit 1 ;;\nesac\n"
        );
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o755).open(&stub).unwrap();
        file.write_all(script.as_bytes()).unwrap();
        stub
    }

    #[test]
    fn python_without_a_registry_lacks_the_network_and_with_a_full_disk_fails() {
        for (name, words, code) in [
            ("offline", "Temporary failure in name resolution", 75),
            ("full", "[Errno 28] No space left on device", 1),
        ] {
            let dir = std::env::temp_dir().join(format!("xtask-pip-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            let mut script = Command::new("bash");
            script.arg(packaging().join("../python/test.sh")).env("PYTHON", python(&dir, words));
            let done = script.env("TMPDIR", &dir).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(done.status.code(), Some(code), "{name}: {said}");
            assert!(said.contains(words) && said.contains("pip cannot install"), "{said}");
            std::fs::remove_dir_all(&dir).unwrap();
        }
    }
}
