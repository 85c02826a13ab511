//! Running a command, shown and recorded.

use crate::context::{Context, WORKSPACE};
use crate::running::{self, Late, Limits};
use crate::skips;
use crate::step::{Done, Stop};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

/// A command to run.
pub(crate) struct Call {
    words: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    limit: Option<u64>,
    shown: bool,
    /// It compiles the workspace: by [`crate::lint`].
    linted: bool,
    /// The flags of compilers are its own alone: see [`crate::flags`].
    own_flags: bool,
}

/// Its exit status, and its output on both streams.
pub(crate) struct Answer {
    /// None: killed by a signal.
    pub(crate) code: Option<i32>,
    /// The signal that killed it.
    pub(crate) signal: Option<i32>,
    /// Why it was ended, if it was.
    pub(crate) late: Option<Late>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn good(&self) -> bool {
        self.code == Some(0) && self.late.is_none()
    }

    /// Whether it was ended at its own limit.
    pub(crate) fn is_late(&self) -> bool {
        self.late.as_ref().is_some_and(|late| late.own)
    }

    /// How it ended, in words.
    pub(crate) fn how(&self) -> String {
        match (&self.late, self.code, self.signal) {
            (Some(late), ..) => late.why.clone(),
            // Of a shell, or of `timeout`, whose own child was killed.
            (None, Some(code @ 129..=192), _) => {
                format!(
                    "ended with {code}, the code for a program that signal {} killed",
                    code - 128
                )
            }
            (None, Some(code), _) => format!("ended with {code}"),
            (None, None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None, None) => "could not be ended".to_owned(),
        }
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
    Call { words, env: Vec::new(), limit: None, shown: true, linted: false, own_flags: false }
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
        self.own_flags |= crate::flags::is_flags(name.as_ref());
        self.env.push((name, value.into()));
        self
    }

    /// Without the flags of compilers that the environment has: it judges warnings.
    pub(crate) fn own_flags(mut self) -> Call {
        self.own_flags = true;
        self
    }

    /// The output of cargo has no colours, which would hide words from a search.
    pub(crate) fn plain(self) -> Call {
        self.env("CARGO_TERM_COLOR", "never")
    }

    /// Seconds of two quiet processors after which it is ended, with all that it started.
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
        if answer.good() { Ok(()) } else { Err(failure(&name, &answer)) }
    }

    /// Runs a script of this project: exit code 77 means that a tool is missing, 75 that the network is; its last line
    /// names which.
    pub(crate) fn script(self, context: &Context) -> Done {
        let name = self.to_string();
        let answer = self.answer(context)?;
        match answer.code.filter(|_| answer.late.is_none()) {
            Some(0) => Ok(()),
            // Without a word, it is not one of a script that lacks something.
            Some(77 | 75) if answer.text.trim().is_empty() => Err(failure(&name, &answer)),
            Some(77) => Err(Stop::skip(answer.reason())),
            Some(75) => Err(Stop::no_network(answer.reason())),
            _ => Err(failure(&name, &answer)),
        }
    }

    /// Runs the command and returns its exit code and output.
    pub(crate) fn answer(mut self, context: &Context) -> Result<Answer, Stop> {
        context.has_time()?;
        let name = self.to_string();
        if skips::are_hidden(&self.words) {
            let has_arguments = self.words.iter().any(|word| word == "--");
            self = self.args(if has_arguments { "" } else { "--" }).arg(skips::SHOW);
        }
        let limits = Limits::new(context, self.limit);
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| Stop::fail("an empty command"))?;
        let mut command = Command::new(program);
        if self.linted {
            command.envs(crate::lint::environment());
        }
        for flags in crate::flags::inherited().iter().filter(|_| self.own_flags) {
            say!("-- without {} of the environment: {name}", flags.display());
            command.env_remove(flags);
        }
        if self.own_flags {
            // Cargo also prefers an empty variable to the flags in its configuration.
            command.envs(crate::flags::OF_NO_CONFIGURATION);
        }
        command.args(arguments).envs(self.env);
        let ended = running::run(command, limits, &context.guard, self.shown)
            .map_err(|error| Stop::fail(format!("running `{name}`: {error}")))?;
        context.count(&ended.text);
        Ok(Answer {
            code: ended.status.and_then(|status| status.code()),
            signal: ended.status.and_then(|status| status.signal()),
            late: ended.late,
            text: ended.text,
        })
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        formatter.write_str(&words.join(" "))
    }
}

fn failure(name: &str, answer: &Answer) -> Stop {
    Stop::fail(format!("`{name}` {}", answer.how()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::KILLS;

    #[test]
    fn script_says_by_its_exit_code_what_is_missing() {
        let context = Context::new(&std::env::temp_dir(), None);
        let ends =
            |code: &str| call("sh -c").arg(format!("echo x: why; exit {code}")).script(&context);
        assert_eq!(ends("0"), Ok(()));
        assert_eq!(ends("77"), Err(Stop::skip("why")));
        assert_eq!(ends("75"), Err(Stop::no_network("why")));
        assert!(matches!(ends("1"), Err(Stop::Fail(_))));
        for code in ["exit 77", "exit 75"] {
            assert!(matches!(call("sh -c").arg(code).script(&context), Err(Stop::Fail(_))));
        }
    }

    fn shell(script: &str) -> Call {
        call("sh -c").arg(script)
    }

    fn context() -> Context {
        Context::new(&std::env::temp_dir(), None)
    }

    #[test]
    fn answer_of_a_command_that_hangs_is_that_it_was_ended_with_its_children() {
        let child = std::env::temp_dir().join(format!("xtask-call-{}", std::process::id()));
        let script = format!("sleep 1000 & echo $! >{}; echo begun; wait", child.display());
        let kills = KILLS.get();
        let answer = shell(&script).limit(1).answer(&context()).unwrap();
        assert_eq!(KILLS.get(), kills + 1);
        assert!(answer.is_late() && !answer.good() && answer.text == "begun\n");
        assert_eq!(answer.how(), "took longer than 1 s and was ended");
        has_ended(&child);
        // It has ended by itself with the code of `timeout`, or of a child that was killed: no limit was reached.
        for (code, how) in [
            (124, "ended with 124"),
            (137, "ended with 137, the code for a program that signal 9 killed"),
        ] {
            let answer = shell(&format!("exit {code}")).limit(60).answer(&context()).unwrap();
            assert!(!answer.is_late());
            assert_eq!(answer.how(), how);
        }
        let killed = shell("kill -s KILL $$").answer(&context()).unwrap();
        assert_eq!(killed.how(), "was killed by signal 9");
        std::fs::remove_file(child).unwrap();
    }

    /// Waits for the end of a `sleep` of which a file has the number.
    fn has_ended(file: &std::path::Path) {
        let pid = std::fs::read_to_string(file).unwrap();
        let begun = std::time::Instant::now();
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.is_ok_and(|stat| stat.contains("(sleep)") && !stat.contains(") Z "))
        };
        while runs() {
            assert!(begun.elapsed().as_secs() < 60, "{pid} still runs");
            std::thread::yield_now();
        }
    }

    #[test]
    fn answer_does_not_wait_for_a_process_that_is_left_behind() {
        let child = std::env::temp_dir().join(format!("xtask-left-{}", std::process::id()));
        // The second does not hold the output.
        for sleep in ["sleep 1000", "sleep 1000 >/dev/null 2>&1"] {
            let script = format!("{sleep} & echo $! >{}; echo done; exit 3", child.display());
            let begun = std::time::Instant::now();
            let kills = KILLS.get();
            let answer = shell(&script).answer(&context()).unwrap();
            assert_eq!(KILLS.get(), kills + 1, "{sleep}");
            assert!(answer.code == Some(3) && answer.text == "done\n", "{sleep}");
            assert!(begun.elapsed().as_secs() < 500);
            has_ended(&child);
            std::fs::remove_file(&child).unwrap();
        }
    }

    #[test]
    fn answer_to_a_signal_for_the_run_is_the_end_of_the_command() {
        use crate::scratch::Scratch;
        let (scratch, guard) = Scratch::new(&std::env::temp_dir()).unwrap();
        let (child, second) = (scratch.dir.with_extension("child"), guard.clone());
        let script = format!("sleep 1000 & echo $! >{}; wait", child.display());
        let runs = std::thread::spawn(move || {
            let mut context = context();
            context.guard = second;
            shell(&script).limit(60).answer(&context).map(|answer| answer.late)
        });
        let begun = std::time::Instant::now();
        while !std::fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n'))
            && begun.elapsed().as_secs() < 60
        {
            std::thread::yield_now();
        }
        assert!(begun.elapsed().as_secs() < 60);
        // The guard is informed right after the start.
        std::thread::sleep(std::time::Duration::from_millis(500));
        // As the end of this program does.
        guard.close();
        assert_eq!(runs.join().unwrap(), Ok(None));
        has_ended(&child);
        std::fs::remove_file(child).unwrap();
        scratch.end(guard);
    }

    #[test]
    fn answer_of_one_long_line_is_read_in_pieces() {
        let answer = shell("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end")
            .hidden()
            .answer(&context())
            .unwrap();
        assert_eq!(answer.text.len(), 300_005);
        assert_eq!(answer.reason(), "end");
    }
}
