//! A question that a program answers at once: its version, a directory, a commit.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a program may take to answer; a busy machine has time.
const ANSWER: Duration = Duration::from_secs(300);

/// How long a process that it left behind may keep its output open.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// An answer.
pub(crate) struct Said {
    pub(crate) good: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Asks a program. One that does not end in time is killed, and has not answered.
pub(crate) fn ask(command: &mut Command) -> io::Result<Said> {
    ask_within(command, ANSWER)
}

fn ask_within(command: &mut Command, time: Duration) -> io::Result<Said> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (out, err) = (read(child.stdout.take()), read(child.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(None) if begun.elapsed() < time => std::thread::sleep(Duration::from_millis(5)),
            Ok(Some(status)) => break status,
            stop => {
                let _ = child.kill();
                let _ = child.wait();
                stop?;
                let why = format!("it did not answer in {} s", time.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    };
    let text = |stream: io::Result<Receiver<Vec<u8>>>| {
        let bytes = stream?.recv_timeout(LEFT_BEHIND).map_err(|_| io::ErrorKind::TimedOut)?;
        io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Said { good: status.success(), out: text(out)?, err: text(err)? })
}

/// Reads a stream to its end, in a thread, so that no program waits for a full pipe.
fn read(stream: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (send, receive) = channel();
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if stream.is_none_or(|mut stream| stream.read_to_end(&mut bytes).is_ok()) {
            let _ = send.send(bytes);
        }
    })?;
    Ok(receive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn shell(script: &str) -> io::Result<Said> {
        ask(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn ask_has_both_streams_and_whether_it_is_good() {
        let said = shell("echo out; echo err >&2; exit 3").unwrap();
        assert_eq!((said.good, said.out.as_str(), said.err.as_str()), (false, "out\n", "err\n"));
        let said = shell("head -c 300000 /dev/zero").unwrap();
        assert!(said.good && said.out.len() == 300_000 && said.err.is_empty());
    }

    #[test]
    fn ask_does_not_wait_for_a_program_that_hangs_or_for_what_it_left_behind() {
        let begun = Instant::now();
        let hangs = ask_within(Command::new("sleep").arg("100"), Duration::from_secs(1));
        assert_eq!(hangs.err().unwrap().to_string(), "it did not answer in 1 s");
        assert_eq!(shell("sleep 30 & exit 0").err().unwrap().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(25));
    }

    fn sources(dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn commands_of_the_checks_have_a_limit() {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for path in sources(&src).iter().filter(|path| !path.ends_with("scratch.rs")) {
            let text = std::fs::read_to_string(path).unwrap();
            let code = text.split("mod tests {").next().unwrap();
            let is_test = path.file_stem().unwrap().to_str().unwrap().ends_with("_tests");
            let waits = [".output()", ".status()"].iter().any(|call| code.contains(call));
            assert!(is_test || !waits, "{}: ask it, or call it", path.display());
        }
    }
}
