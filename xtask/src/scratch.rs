//! The directory of a run, and the cleanup when the run is ended by a signal: a shell waits for the end of a pipe,
//! which comes however this program ends, removes the directory, and ends the processes that still run in other groups.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// `$1` is the directory; lines name the groups that begin and end.
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
    sleep 1
    for group in $groups; do kill -s KILL -- "-$group"; done
fi
rm -rf -- "$1"
"#;

/// Ends process groups when this program ends, by any signal. Without a shell it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Guard(Mutex<Option<ChildStdin>>);

impl Guard {
    pub(crate) fn begin(&self, group: u32) {
        self.tell("begin", group);
    }

    pub(crate) fn end(&self, group: u32) {
        self.tell("end", group);
    }

    fn tell(&self, word: &str, group: u32) {
        if let Ok(mut pipe) = self.0.lock()
            && let Some(pipe) = pipe.as_mut()
        {
            let _ = writeln!(pipe, "{word} {group}");
        }
    }
}

/// Ends a process group at once; without a shell, only its first process.
pub(crate) fn kill_group(child: &mut Child) {
    let killed = Command::new("sh")
        .args(["-c", "kill -s KILL -- \"-$1\"", "sh"])
        .arg(child.id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !killed.is_ok_and(|status| status.success()) {
        let _ = child.kill();
    }
}

/// A directory of this run alone.
pub(crate) struct Scratch {
    pub(crate) dir: PathBuf,
    waiting: Option<Child>,
}

impl Scratch {
    /// Makes a directory for temporary files, with a name that cannot be predicted, and its guard, which removes it.
    pub(crate) fn new(above: &Path) -> Result<(Scratch, Guard), String> {
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
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut waiting = waiting.ok();
        let pipe = waiting.as_mut().and_then(|child| child.stdin.take());
        Ok((Scratch { dir, waiting }, Guard(Mutex::new(pipe))))
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
        let (scratch, guard) = Scratch::new(&std::env::temp_dir()).unwrap();
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut other = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        for group in [&other, &child] {
            guard.begin(group.id());
        }
        guard.end(other.id());
        drop(guard);
        assert!(!child.wait().unwrap().success());
        assert!(scratch.waiting.unwrap().wait().is_ok());
        assert!(!scratch.dir.exists());
        assert!(other.try_wait().unwrap().is_none());
        kill_group(&mut other);
        assert!(!other.wait().unwrap().success());
    }
}
