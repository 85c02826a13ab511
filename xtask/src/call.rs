//! Running a command, shown and recorded.

use crate::context::{Context, WORKSPACE};
use crate::step::{Done, Stop};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal as _};
use std::process::{Command, Stdio};

/// A command to run.
pub(crate) struct Call {
    words: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    limit: Option<u64>,
    shown: bool,
    /// It compiles the workspace: by [`crate::lint`].
    linted: bool,
}

/// Its exit status, and its output on both streams.
pub(crate) struct Answer {
    /// None: killed by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn good(&self) -> bool {
        self.code == Some(0)
    }

    /// Whether it was ended at its limit, by `timeout`.
    pub(crate) fn is_late(&self) -> bool {
        matches!(self.code, Some(124 | 137))
    }

    /// How it ended, in words.
    pub(crate) fn how(&self) -> String {
        how(self.code)
    }

    /// The last line that is not empty, without the name of the script at its start.
    pub(crate) fn reason(&self) -> &str {
        let last = self.text.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.unwrap_or("it printed nothing");
        let is_name = |name: &str| !name.is_empty() && !name.contains(' ');
        last.split_once(": ").filter(|(name, _)| is_name(name)).map_or(last, |(_, reason)| reason)
    }
}

/// `line` is split at spaces; arguments that may have some are added by [`Call::arg`].
pub(crate) fn call(line: &str) -> Call {
    let words = line.split_whitespace().map(OsString::from).collect();
    Call { words, env: Vec::new(), limit: None, shown: true, linted: false }
}

impl Call {
    pub(crate) fn arg(mut self, word: impl Into<OsString>) -> Call {
        self.words.push(word.into());
        self
    }

    pub(crate) fn args(mut self, line: &str) -> Call {
        self.words.extend(line.split_whitespace().map(OsString::from));
        self
    }

    /// Adds the crates and features of every cargo command that compiles the workspace, and the compiler with lints, so
    /// that each crate is compiled once.
    pub(crate) fn workspace(mut self) -> Call {
        self.linted = true;
        self.args(WORKSPACE)
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Call {
        self.env.push((name, value.into()));
        self
    }

    /// The output of cargo has no colours, which would hide words from a search.
    pub(crate) fn plain(self) -> Call {
        self.env("CARGO_TERM_COLOR", "never")
    }

    /// Seconds after which it is ended, with all that it started.
    pub(crate) fn limit(mut self, seconds: u64) -> Call {
        self.limit = Some(seconds);
        self
    }

    /// Its output is recorded alone.
    pub(crate) fn hidden(mut self) -> Call {
        self.shown = false;
        self
    }

    /// Runs it; any other exit code than 0 is a failure.
    pub(crate) fn run(self, context: &Context) -> Done {
        let name = self.to_string();
        let answer = self.answer(context)?;
        if answer.good() { Ok(()) } else { Err(failure(&name, answer.code)) }
    }

    /// Runs a script of this project: exit code 77 means that a tool is missing, 75 that the network is; its last line
    /// names which.
    pub(crate) fn script(self, context: &Context) -> Done {
        let name = self.to_string();
        let answer = self.answer(context)?;
        match answer.code {
            Some(0) => Ok(()),
            Some(77) => Err(Stop::skip(answer.reason())),
            Some(75) => Err(Stop::no_network(answer.reason())),
            code => Err(failure(&name, code)),
        }
    }

    /// Runs the command and returns its exit code and output.
    pub(crate) fn answer(self, context: &Context) -> Result<Answer, Stop> {
        let name = self.to_string();
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Stop::fail(format!("{what} `{name}`: {error}"))
        };
        let mut words = Vec::new();
        if let Some(limit) = context.limit(self.limit)? {
            words.extend(["timeout", "--kill-after=20"].map(OsString::from));
            // Ctrl-C goes to the terminal's process group; without a terminal, `timeout` has a separate group, which is
            // ended as a whole.
            if std::io::stdin().is_terminal() {
                words.push("--foreground".into());
            }
            words.push(limit.to_string().into());
        }
        words.extend(self.words);
        let (program, arguments) =
            words.split_first().ok_or_else(|| Stop::fail("an empty command"))?;
        let (reader, writer) = std::io::pipe().map_err(|error| failed("a pipe for", &error))?;
        let second = writer.try_clone().map_err(|error| failed("a pipe for", &error))?;
        let mut command = Command::new(program);
        if self.linted {
            command.envs(crate::lint::environment());
        }
        command.args(arguments).envs(self.env).stdin(Stdio::null()).stdout(writer).stderr(second);
        let mut child = command.spawn().map_err(|error| failed("starting", &error))?;
        // The pipe ends when no process can write to it.
        drop(command);
        let mut text = String::new();
        let mut line = Vec::new();
        let mut reader = BufReader::new(reader);
        while reader.read_until(b'\n', &mut line).map_err(|error| failed("reading from", &error))?
            > 0
        {
            if self.shown {
                crate::output::write(&line);
            }
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        let status = child.wait().map_err(|error| failed("waiting for", &error))?;
        context.count(&text);
        Ok(Answer { code: status.code(), text })
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        formatter.write_str(&words.join(" "))
    }
}

fn failure(name: &str, code: Option<i32>) -> Stop {
    Stop::fail(format!("`{name}` {}", how(code)))
}

fn how(code: Option<i32>) -> String {
    match code {
        // Of `timeout`.
        Some(124 | 137) => "took too long and was ended".to_owned(),
        Some(code) => format!("ended with {code}"),
        None => "was killed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_says_by_its_exit_code_what_is_missing() {
        let context = Context::new(&std::env::temp_dir(), None);
        let ends =
            |code: &str| call("sh -c").arg(format!("echo x: why; exit {code}")).script(&context);
        assert_eq!(ends("0"), Ok(()));
        assert_eq!(ends("77"), Err(Stop::skip("why")));
        assert_eq!(ends("75"), Err(Stop::no_network("why")));
        assert!(matches!(ends("1"), Err(Stop::Fail(_))));
    }
}
