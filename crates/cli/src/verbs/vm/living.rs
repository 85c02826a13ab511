//! Domains of a libvirt that runs, through `virsh`: nothing is linked, and nothing is changed.

use super::lint::judged;
use super::read::shown;
use crate::args::vm::Lint;
use crate::render;
use crate::report::vm::LintFile;
use crate::verbs::ends_with_this_thread;
use anyhow::{Context, Result, anyhow, bail};
use clocksmith_change::journal::run::find;
use clocksmith_facts::visible;
use clocksmith_vm::document::MAX_BYTES;
use clocksmith_vm::{Document, Guest, Kind};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The most domains.
const MOST: usize = 10_000;
/// How long virsh may take for one reply.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A libvirt, through its program.
struct Virsh<'a> {
    program: PathBuf,
    uri: &'a str,
}

/// Looks at every domain.
pub(super) fn domains(uri: &str, args: &Lint, files: &mut Vec<LintFile>) -> Result<()> {
    // The caller's PATH is not used: root's may have a directory that others can write to.
    let program = find("virsh").map_err(|error| anyhow!("cannot query libvirt: {error}"))?;
    let virsh = Virsh { program, uri };
    for name in virsh.names()? {
        // As a path it is the file name of the report.
        let file = format!("{uri} {name}");
        let path = Path::new(&file);
        let judged = virsh.domain(&name).and_then(|document| {
            let guest = args.guest.as_deref().and_then(Guest::of_name);
            judged(path, &document.with_guest(guest), args)
        });
        files.push(match judged {
            Ok(file) => file,
            Err(error) => LintFile::unusable(shown(path), render::error(&error)),
        });
    }
    Ok(())
}

impl Virsh<'_> {
    /// The names of all domains.
    fn names(&self) -> Result<Vec<String>> {
        let list = self.ask(&["list", "--all", "--name"])?;
        let names = list.lines().filter(|name| !name.trim().is_empty());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        if names.len() > MOST {
            bail!("{} has more than {MOST} domains", visible::line(self.uri));
        }
        Ok(names)
    }

    /// The configuration with which a domain starts the next time.
    fn domain(&self, name: &str) -> Result<Document> {
        // The name of a domain may begin like an option.
        let xml = self.ask(&["dumpxml", "--inactive", &format!("--domain={name}")])?;
        Document::of_kind(name, xml.as_bytes(), Kind::Libvirt)
            .map_err(|error| anyhow!("cannot use domain {}: {error}", visible::line(name)))
    }

    /// Returns the output of virsh.
    fn ask(&self, command: &[&str]) -> Result<String> {
        let uri = visible::line(self.uri);
        let shown = || format!("virsh --connect {uri} {}", command.first().unwrap_or(&""));
        let child = self.start(command).with_context(|| format!("cannot start {}", shown()))?;
        answer(child).with_context(|| format!("{} gave no answer", shown()))
    }

    /// Starts the program.
    fn start(&self, command: &[&str]) -> std::io::Result<Child> {
        let mut program = Command::new(&self.program);
        ends_with_this_thread(&mut program);
        program
            .arg("--quiet")
            .arg(format!("--connect={}", self.uri))
            .arg("--readonly")
            .args(command)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

fn answer(mut child: Child) -> Result<String> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("its output cannot be read");
    };
    let (done, finished) = mpsc::channel();
    let most = MAX_BYTES as u64;
    let errors = std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let _ = err.take(4096).read_to_end(&mut text);
        text
    });
    let output = std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let read = out.take(most + 1).read_to_end(&mut text).map(|_| text);
        let _ = done.send(read);
    });
    let errors = match (errors, output) {
        (Ok(errors), Ok(_)) => errors,
        (Err(error), _) | (_, Err(error)) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error).context(
                "no thread can be started to read its output; the limits are too low (ulimit -u)",
            );
        }
    };
    let text = finished.recv_timeout(TIMEOUT);
    let whole = matches!(&text, Ok(Ok(text)) if text.len() <= MAX_BYTES);
    if !whole {
        let _ = child.kill();
    }
    let status = child.wait().context("it cannot be waited for")?;
    let text = match text {
        Err(_) => bail!("it took longer than {} seconds", TIMEOUT.as_secs()),
        Ok(read) => read.context("its output cannot be read")?,
    };
    if !whole {
        bail!("it has more than {} MiB", MAX_BYTES >> 20);
    }
    if !status.success() {
        let said = errors.join().unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let said = said.trim().trim_start_matches("error: ");
        bail!("it ended with {status}: {}", visible::line(said));
    }
    String::from_utf8(text).context("it is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A substitute for `virsh` with two domains, one of which has disappeared meanwhile.
    const STAND_IN: &str = r#"#!/bin/sh
[ "$1 $2 $3" = "--quiet --connect=qemu:///system --readonly" ] || exit 9
case "$4" in
list) printf 'web\n-db\n\n' ;;
dumpxml)
    [ "$6" = "--domain=-db" ] || { echo "error: Domain not found" >&2; exit 1; }
    echo "<domain type='kvm'><name>-db</name></domain>" ;;
esac
"#;

    /// Makes a program. A shell writes it: a child that another test has just forked would hold a file that this process
    /// writes open, and the kernel would not start it until that child's `execve`.
    fn make(program: &Path, text: &str) {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"]);
        assert!(shell.arg(program).arg(text).status().unwrap().success());
    }

    #[test]
    fn virsh_is_asked_for_names_and_then_for_each() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("virsh");
        make(&program, STAND_IN);
        let virsh = Virsh { program, uri: "qemu:///system" };
        assert_eq!(virsh.names().unwrap(), ["-db", "web"]);
        assert!(virsh.domain("-db").unwrap().text.as_str().contains("<name>-db"));
        let error = format!("{:#}", virsh.domain("web").unwrap_err());
        assert!(error.contains("dumpxml") && error.contains("Domain not found"), "{error}");
        let other = Virsh { program: directory.path().join("none"), uri: "qemu:///system" };
        assert!(format!("{:#}", other.names().unwrap_err()).contains("cannot start virsh"));
    }

    #[test]
    fn virsh_that_ignores_signals_does_not_outlive_who_asks() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("virsh");
        let text = "#!/bin/sh\ntrap '' INT TERM HUP\necho begun\nwhile :; do sleep 0.1; done\n";
        make(&program, text);
        let asks = std::thread::spawn(move || {
            let virsh = Virsh { program, uri: "qemu:///system" };
            let mut child = virsh.start(&["list"]).unwrap();
            let mut begun = [0; 5];
            child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
            child
        });
        let status = asks.join().unwrap().wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }
}
