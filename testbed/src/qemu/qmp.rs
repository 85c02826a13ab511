//! Talking to a running emulator over its control socket: pause and resume a guest, save and load
//! its state, move it to another emulator. These are the events that clocks in guests suffer from.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the emulator may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to one emulator.
pub struct Qmp {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Qmp {
    /// Connects to the socket, which the emulator makes shortly after its start.
    pub fn connect(socket: &Path) -> Result<Qmp> {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => return Qmp::over(stream),
                Err(error) if Instant::now() > end => {
                    return Err(error).with_context(|| {
                        format!("connecting to the emulator's control socket {}", socket.display())
                    });
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Takes up the protocol on a connected stream.
    pub fn over(stream: UnixStream) -> Result<Qmp> {
        stream.set_read_timeout(Some(PATIENCE)).context("setting the socket's patience")?;
        let writer = stream.try_clone().context("duplicating the socket")?;
        let mut qmp = Qmp { reader: BufReader::new(stream), writer };
        let greeting = qmp.receive()?;
        if greeting.get("QMP").is_none() {
            bail!("the emulator's control socket greets with {greeting}, which is not QMP");
        }
        qmp.execute("qmp_capabilities", Value::Null)?;
        Ok(qmp)
    }

    /// Runs one command and returns its result. Events that arrive meanwhile are dropped.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let mut message = json!({ "execute": command });
        if !arguments.is_null() {
            message["arguments"] = arguments;
        }
        writeln!(self.writer, "{message}")
            .with_context(|| format!("sending `{command}` to the emulator"))?;
        loop {
            let answer = self.receive().with_context(|| format!("waiting for `{command}`"))?;
            if let Some(result) = answer.get("return") {
                return Ok(result.clone());
            }
            if let Some(error) = answer.get("error") {
                let description = error.get("desc").and_then(Value::as_str).unwrap_or("no reason");
                bail!("the emulator refuses `{command}`: {description}");
            }
        }
    }

    /// Pauses the guest's processors. Its virtual clock stops too.
    pub fn stop(&mut self) -> Result<()> {
        self.execute("stop", Value::Null).map(drop)
    }

    /// Resumes the guest.
    pub fn cont(&mut self) -> Result<()> {
        self.execute("cont", Value::Null).map(drop)
    }

    /// Saves the guest's state under a name, in a disk image that can hold snapshots.
    pub fn savevm(&mut self, name: &str) -> Result<()> {
        self.monitor(&format!("savevm {name}"))
    }

    /// Goes back to a saved state. If there is none of that name, the guest is left paused.
    pub fn loadvm(&mut self, name: &str) -> Result<()> {
        self.monitor(&format!("loadvm {name}"))
    }

    /// Moves the guest to the emulator that listens at `address`, and waits until it is there.
    pub fn migrate(&mut self, address: &str, patience: Duration) -> Result<()> {
        self.execute("migrate", json!({ "uri": address }))?;
        let end = Instant::now() + patience;
        loop {
            let state = self.execute("query-migrate", Value::Null)?;
            let status = state.get("status").and_then(Value::as_str).unwrap_or("unknown");
            match status {
                "completed" => return Ok(()),
                "failed" | "cancelled" => {
                    let why =
                        state.get("error-desc").and_then(Value::as_str).unwrap_or("no reason");
                    bail!("migration to {address} {status}: {why}");
                }
                _ if Instant::now() > end => {
                    bail!("migration to {address} is still `{status}` after {patience:?}");
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Whether the guest runs; `paused`, `running`, `inmigrate` and so on.
    pub fn status(&mut self) -> Result<String> {
        let answer = self.execute("query-status", Value::Null)?;
        Ok(answer.get("status").and_then(Value::as_str).unwrap_or("unknown").to_string())
    }

    /// Runs a command of the human monitor, which answers nothing on success.
    fn monitor(&mut self, line: &str) -> Result<()> {
        let answer = self.execute("human-monitor-command", json!({ "command-line": line }))?;
        match answer.as_str().map(str::trim) {
            None | Some("") => Ok(()),
            Some(complaint) => bail!("the emulator's monitor says to `{line}`: {complaint}"),
        }
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line).context("reading the control socket")?;
        if read == 0 {
            bail!("the emulator closed its control socket");
        }
        serde_json::from_str(&line)
            .with_context(|| format!("the emulator sent no JSON: {}", line.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An emulator that expects commands in order and answers each with the given line.
    fn emulator(script: Vec<(&'static str, &'static str)>) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut writer = theirs.try_clone().unwrap();
            writeln!(writer, r#"{{"QMP": {{"version": {{}}}}}}"#).unwrap();
            let mut lines = BufReader::new(theirs).lines();
            let all = [("qmp_capabilities", r#"{"return": {}}"#)].into_iter().chain(script);
            for (command, answer) in all {
                let line = lines.next().unwrap().unwrap();
                assert!(line.contains(command), "{line} is not {command}");
                writeln!(writer, "{answer}").unwrap();
            }
        });
        ours
    }

    #[test]
    fn commands_go_out_and_events_are_dropped() {
        let script = vec![
            ("stop", "{\"event\": \"STOP\"}\n{\"return\": {}}"),
            ("query-status", r#"{"return": {"status": "paused"}}"#),
            ("savevm one", r#"{"return": ""}"#),
        ];
        let mut qmp = Qmp::over(emulator(script)).unwrap();
        qmp.stop().unwrap();
        assert_eq!(qmp.status().unwrap(), "paused");
        qmp.savevm("one").unwrap();
    }

    #[test]
    fn refusals_say_why() {
        let script = vec![
            ("cont", r#"{"error": {"class": "X", "desc": "no such thing"}}"#),
            ("loadvm one", "{\"return\": \"Error: no snapshots\\r\\n\"}"),
            ("\"migrate\"", r#"{"return": {}}"#),
            ("query-migrate", r#"{"return": {"status": "failed", "error-desc": "gone"}}"#),
        ];
        let mut qmp = Qmp::over(emulator(script)).unwrap();
        assert!(qmp.cont().unwrap_err().to_string().contains("no such thing"));
        assert!(qmp.loadvm("one").unwrap_err().to_string().contains("no snapshots"));
        let error = qmp.migrate("unix:/m", PATIENCE).unwrap_err().to_string();
        assert!(error.contains("failed") && error.contains("gone"));
    }
}
