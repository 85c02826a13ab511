//! The directory of a run, and the cleanup when the run is ended by a signal: a shell waits for the end of a pipe,
//! which comes however this program ends, removes the directory, and ends the processes that still run in other groups.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

/// `$1` is the directory, `$2` the seconds that a group has to end by itself; lines name the groups that begin and end.
const GUARD: &str = r#"trap '' INT TERM HUP QUIT
groups=
while read -r word group; do
    rest=
    for other in $groups; do [ "$other" = "$group" ] || rest="$rest $other"; done
    groups=$rest
    if [ "$word" = begin ]; then groups="$groups $group"; fi
done
if [ -n "$groups" ]; then
    for group in $groups; do kill -s TERM -- "-$group"; done
    # They take back what they have mounted, and end what they have started.
    look=0
    while [ "$look" -lt "$2" ]; do
        left=
        for group in $groups; do if kill -s 0 -- "-$group"; then left="$left $group"; fi; done
        groups=$left
        [ -n "$groups" ] || break
        look=$((look + 1))
        sleep 1
    done
    for group in $groups; do kill -s KILL -- "-$group"; done
fi
rm -rf -- "$1"
"#;

/// Seconds that what still runs has to end by itself.
const PATIENCE: u32 = 10;

/// Ends process groups when this program ends, by any signal. Without a shell it does nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard(Arc<Mutex<Option<ChildStdin>>>);

impl Guard {
    pub(crate) fn begin(&self, group: u32) {
        self.tell("begin", group);
    }

    pub(crate) fn end(&self, group: u32) {
        self.tell("end", group);
    }

    /// As if this program had ended.
    #[cfg(test)]
    pub(crate) fn close(&self) {
        drop(self.0.lock().unwrap().take());
    }

    fn tell(&self, word: &str, group: u32) {
        if let Ok(mut pipe) = self.0.lock()
            && let Some(pipe) = pipe.as_mut()
        {
            let _ = writeln!(pipe, "{word} {group}");
        }
    }
}

#[cfg(test)]
thread_local! {
    /// How many groups this thread has killed.
    pub(crate) static KILLS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Ends a process group at once; without a shell, only its first process.
pub(crate) fn kill_group(child: &mut Child) {
    #[cfg(test)]
    KILLS.set(KILLS.get() + 1);
    if !signal_group(child.id(), "KILL") {
        let _ = child.kill();
    }
}

/// Sends a signal to a process group. Whether it could be sent.
pub(crate) fn signal_group(group: u32, signal: &str) -> bool {
    let sent = Command::new("sh")
        .args(["-c", "kill -s \"$1\" -- \"-$2\"", "sh", signal])
        .arg(group.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    sent.is_ok_and(|status| status.success())
}

/// A directory of this run alone.
pub(crate) struct Scratch {
    pub(crate) dir: PathBuf,
    waiting: Option<Child>,
}

impl Scratch {
    /// Makes a directory for temporary files, with a name that cannot be predicted, and its guard, which removes it.
    pub(crate) fn new(above: &Path) -> Result<(Scratch, Guard), String> {
        Scratch::with(above, PATIENCE)
    }

    fn with(above: &Path, patience: u32) -> Result<(Scratch, Guard), String> {
        if !above.is_dir() {
            return Err(format!(
                "TMPDIR: {} is not a directory; make it, or unset TMPDIR",
                above.display()
            ));
        }
        let dir = make(above).map_err(|error| {
            format!("making a directory in {} (TMPDIR chooses another): {error}", above.display())
        })?;
        // It must not end with the group of the terminal, or keep open a pipe that another program reads to its end.
        let waiting = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(&dir)
            .arg(patience.to_string())
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut waiting = waiting.ok();
        let pipe = waiting.as_mut().and_then(|child| child.stdin.take());
        Ok((Scratch { dir, waiting }, Guard(Arc::new(Mutex::new(pipe)))))
    }

    /// Removes the directory.
    pub(crate) fn end(self, guard: Guard) {
        let _ = std::fs::remove_dir_all(&self.dir);
        drop(guard);
        if let Some(mut waiting) = self.waiting {
            let _ = waiting.wait();
        }
    }
}

fn make(above: &Path) -> io::Result<PathBuf> {
    // Hashes of nothing differ by the random keys.
    let names = std::iter::repeat_with(|| RandomState::new().build_hasher().finish()).take(16);
    for name in names {
        let dir = above.join(format!("clocksmith-test-{name:016x}"));
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| dir),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn new_without_a_directory_names_the_setting() {
        let error = Scratch::new(Path::new("/nonexistent")).map(|_| ()).unwrap_err();
        assert!(error.contains("TMPDIR") && error.contains("/nonexistent"), "{error}");
    }

    #[test]
    fn scratch_is_of_its_user_alone_and_goes_with_its_program() {
        let (scratch, guard) = Scratch::new(&std::env::temp_dir()).unwrap();
        let dir = scratch.dir.clone();
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o7777, 0o700);
        std::fs::write(dir.join("file"), "").unwrap();
        scratch.end(guard);
        assert!(!dir.exists());
        // As if a signal had ended this program: the pipe ends, and nothing else is done.
        let (scratch, guard) = Scratch::with(&std::env::temp_dir(), 4).unwrap();
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut other = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        for group in [&other, &child] {
            guard.begin(group.id());
        }
        guard.end(other.id());
        // One that needs a while, and one that hears no signal.
        let last = dir.with_extension("last");
        let slow = format!(
            "trap 'sleep 2; echo taken back >{}; exit 0' TERM; while :; do sleep 0.1; done",
            last.display()
        );
        let mut slow = Command::new("sh")
            .args(["-c", &slow])
            .process_group(0)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deaf = "trap '' TERM; while :; do sleep 1; done";
        let mut deaf = Command::new("sh")
            .args(["-c", deaf])
            .process_group(0)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for group in [&slow, &deaf] {
            guard.begin(group.id());
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
        drop(guard);
        assert!(!child.wait().unwrap().success());
        assert!(slow.wait().unwrap().success() && !deaf.wait().unwrap().success());
        assert_eq!(std::fs::read_to_string(&last).unwrap(), "taken back\n");
        std::fs::remove_file(&last).unwrap();
        assert!(scratch.waiting.unwrap().wait().is_ok());
        assert!(!scratch.dir.exists());
        assert!(other.try_wait().unwrap().is_none());
        kill_group(&mut other);
        assert!(!other.wait().unwrap().success());
    }
}
