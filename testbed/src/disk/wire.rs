//! Talking to the agent in a guest, over a virtio serial port that is a socket on this side. The
//! agent's half is `guest/disk/agent.sh`, which documents the protocol.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The result of a command.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Answer {
    /// Its exit status; 128 and more if a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Answer {
    /// Standard output as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Why the agent did not answer.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other end is closed.
    #[error("the emulator ended, or closed the agent's line")]
    Gone,
    /// Nothing came in time.
    #[error("the agent did not {0} in time")]
    TimedOut(&'static str),
    /// The agent started again: the guest rebooted, or the agent was ended.
    #[error("the agent started again (boot {0}) and forgot what it was doing")]
    Restarted(String),
    /// Something that is not the protocol.
    #[error("the agent said `{0}`, which means nothing")]
    Garbled(String),
    /// The socket.
    #[error("the agent's line failed: {0}")]
    Line(#[from] io::Error),
}

/// A connection to the agent of one emulator. It outlives reboots of the guest.
#[derive(Debug)]
pub struct Wire {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    last: u64,
}

enum Message {
    Hello(String),
    Done(u64, Answer),
}

impl Wire {
    /// Connects to the socket, which the emulator makes shortly after its start.
    pub fn connect(socket: &Path, patience: Duration) -> Result<Wire, WireError> {
        let end = Instant::now() + patience;
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => return Wire::over(stream),
                Err(error) if Instant::now() > end => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Takes up the protocol on a connected stream.
    pub fn over(stream: UnixStream) -> Result<Wire, WireError> {
        // A guest that does not read must not stop the testbed for ever.
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Wire { writer: stream.try_clone()?, reader: BufReader::new(stream), last: 0 })
    }

    /// Waits until an agent reports that it listens, and returns the identity of its boot.
    pub fn hello(&mut self, patience: Duration) -> Result<String, WireError> {
        let end = Instant::now() + patience;
        loop {
            if let Message::Hello(boot) = self.message(end, "say that it listens")? {
                return Ok(boot);
            }
        }
    }

    /// Sends a shell script with its standard input, and does not wait for the answer.
    pub fn send(&mut self, script: &str, input: &[u8]) -> Result<(), WireError> {
        self.last += 1;
        // The shell reports a script without a last line end as one with a line that is cut off.
        let head = format!("run {} {} {}\n{script}\n", self.last, script.len() + 1, input.len());
        self.writer.write_all(head.as_bytes())?;
        self.writer.write_all(input)?;
        Ok(())
    }

    /// Sends a shell script and waits for its result.
    pub fn run(
        &mut self,
        script: &str,
        input: &[u8],
        patience: Duration,
    ) -> Result<Answer, WireError> {
        self.send(script, input)?;
        let end = Instant::now() + patience;
        loop {
            match self.message(end, "finish the command")? {
                Message::Done(id, answer) if id == self.last => return Ok(answer),
                // An answer to an earlier command, for which no caller waited.
                Message::Done(..) => {}
                Message::Hello(boot) => return Err(WireError::Restarted(boot)),
            }
        }
    }

    /// Waits until the emulator is gone.
    pub fn gone(&mut self, patience: Duration) -> Result<(), WireError> {
        let end = Instant::now() + patience;
        loop {
            match self.message(end, "end") {
                Err(WireError::Gone) => return Ok(()),
                Err(error @ (WireError::TimedOut(_) | WireError::Line(_))) => return Err(error),
                // The last messages are ignored.
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn message(&mut self, end: Instant, what: &'static str) -> Result<Message, WireError> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let more = self.some(end, what, |buffer| {
                buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |at| at + 1)
            })?;
            line.extend(more);
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_string();
        let garbled = || WireError::Garbled(line.chars().take(80).collect());
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["hello", boot] => Ok(Message::Hello(boot.to_string())),
            ["done", id, code, out, err] => {
                let id = id.parse().map_err(|_| garbled())?;
                let code = code.parse().map_err(|_| garbled())?;
                let out = out.parse().map_err(|_| garbled())?;
                let err = err.parse().map_err(|_| garbled())?;
                let stdout = self.bytes(out, end, what)?;
                let stderr = self.bytes(err, end, what)?;
                Ok(Message::Done(id, Answer { code, stdout, stderr }))
            }
            _ => Err(garbled()),
        }
    }

    fn bytes(
        &mut self,
        count: usize,
        end: Instant,
        what: &'static str,
    ) -> Result<Vec<u8>, WireError> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let missing = count - bytes.len();
            bytes.extend(self.some(end, what, |buffer| buffer.len().min(missing))?);
        }
        Ok(bytes)
    }

    /// Takes as much of the received data as `wanted` returns.
    fn some(
        &mut self,
        end: Instant,
        what: &'static str,
        wanted: impl Fn(&[u8]) -> usize,
    ) -> Result<Vec<u8>, WireError> {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(WireError::TimedOut(what));
        }
        self.reader.get_ref().set_read_timeout(Some(left))?;
        let buffer = match self.reader.fill_buf() {
            Ok([]) => return Err(WireError::Gone),
            Ok(buffer) => buffer,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        Err(WireError::TimedOut(what))
                    }
                    io::ErrorKind::Interrupted => Ok(Vec::new()),
                    io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                        Err(WireError::Gone)
                    }
                    _ => Err(error.into()),
                };
            }
        };
        let taken = buffer[..wanted(buffer)].to_vec();
        self.reader.consume(taken.len());
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const PATIENCE: Duration = Duration::from_secs(10);

    fn pair() -> (Wire, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Wire::over(ours).unwrap(), theirs)
    }

    /// The real agent, with a socket in the place of the serial port.
    #[test]
    fn the_agent_and_the_wire_understand_each_other() {
        let (mut wire, theirs) = pair();
        let place = tempfile::tempdir().unwrap();
        let script = include_str!("../../guest/disk/agent.sh")
            .replace("until [ -c \"$port\" ]; do sleep 0.2; done\nexec 3<>\"$port\"", "exec 3<&0")
            .replace("/run/", &format!("{}/", place.path().display()))
            .replace("cd /root", "cd /");
        assert!(script.contains("exec 3<&0"));
        let mut agent = Command::new("bash");
        agent.arg("-c").arg(script).stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        let mut agent = agent.spawn().unwrap();
        assert!(wire.hello(PATIENCE).unwrap().contains('-'));
        let answer = wire.run("cat; echo oops >&2; exit 3", b"a\0b\nrun 1 2 3", PATIENCE).unwrap();
        assert_eq!((answer.code, answer.stdout()), (3, "a\0b\nrun 1 2 3".to_string()));
        assert_eq!(answer.stderr(), "oops\n");
        wire.send("echo not waited for", b"").unwrap();
        assert_eq!(wire.run("echo 'it'\"'\"'s'", b"", PATIENCE).unwrap().stdout(), "it's\n");
        let large = vec![b'x'; 1 << 20];
        assert_eq!(wire.run("cat", &large, PATIENCE).unwrap().stdout, large);
        drop(wire);
        agent.wait().unwrap();
    }

    #[test]
    fn a_restart_is_not_taken_for_an_answer() {
        let (mut wire, mut theirs) = pair();
        theirs.write_all(b"hello b00t\n").unwrap();
        assert!(matches!(
            wire.run("true", b"", PATIENCE),
            Err(WireError::Restarted(boot)) if boot == "b00t"
        ));
        theirs.write_all(b"done 2 x 0 0\n").unwrap();
        assert!(matches!(wire.run("true", b"", PATIENCE), Err(WireError::Garbled(_))));
    }

    #[test]
    fn silence_and_end_give_different_errors() {
        let (mut wire, theirs) = pair();
        let short = Duration::from_millis(20);
        assert!(matches!(wire.hello(short), Err(WireError::TimedOut(_))));
        drop(theirs);
        assert!(matches!(wire.hello(PATIENCE), Err(WireError::Gone)));
        wire.gone(PATIENCE).unwrap();
    }
}
