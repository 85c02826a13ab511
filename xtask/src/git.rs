//! The repository of these sources.

use crate::ask::ask;
use std::path::Path;
use std::process::Command;

/// The variables of a repository: a hook of git has these, and then no directory counts. `test.sh` and `.ci/run` also have the list.
const VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
];

/// Git in a directory, whatever repository the environment names.
pub(crate) fn git(top: &Path) -> Command {
    let mut git = Command::new("git");
    for name in VARIABLES {
        git.env_remove(name);
    }
    git.arg("-C").arg(top);
    git
}

/// The commit of the repository of which a directory is the top.
pub(crate) fn head_of(top: &Path) -> Result<String, String> {
    let said = |words: &[&str]| {
        let asked = ask(git(top).args(words));
        let answer = asked.map_err(|error| format!("ci: git {}: {error}", words.join(" ")))?;
        let text = if answer.good { &answer.out } else { &answer.err }.trim();
        // Git says why, and what to do about a checkout of another user.
        let fault = || format!("ci: no commit here; name a turn: ./test.sh ci 1. git: {text}");
        if answer.good { Ok(text.to_owned()) } else { Err(fault()) }
    };
    // Unpacked sources in another repository.
    let above = said(&["rev-parse", "--show-cdup"])?;
    if !above.is_empty() {
        return Err(format!(
            "ci: the repository here is that of {above}, not of these sources; name a turn: ./test.sh ci 1"
        ));
    }
    said(&["rev-parse", "--verify", "HEAD^{commit}"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_does_not_ask_the_repository_of_a_hook() {
        let command = git(Path::new("."));
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        assert_eq!(removed.len(), VARIABLES.len());
        // Who calls it with them set.
        for script in ["../test.sh", "../.ci/run"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
            let text = std::fs::read_to_string(path).unwrap();
            let line = text.lines().find(|line| line.starts_with("unset CDPATH "));
            assert_eq!(line, Some(&*format!("unset CDPATH {}", VARIABLES.join(" "))), "{script}");
        }
    }

    #[test]
    fn ci_the_commit_is_that_of_these_sources() {
        if ask(Command::new("git").arg("--version")).is_err() {
            return;
        }
        let top = std::env::temp_dir().join(format!("xtask-head-{}", std::process::id()));
        std::fs::create_dir_all(top.join("unpacked")).unwrap();
        let run = |words: &[&str]| {
            let name = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
            assert!(ask(git(&top).args(name).args(words)).unwrap().good, "{words:?}");
        };
        run(&["init", "-q"]);
        let error = head_of(&top).unwrap_err();
        assert!(
            error.contains("no commit here; name a turn") && error.contains("fatal"),
            "{error}"
        );
        run(&["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(head_of(&top).unwrap().len(), 40);
        let error = head_of(&top.join("unpacked")).unwrap_err();
        assert!(error.contains("that of ../, not of these sources"), "{error}");
        std::fs::remove_dir_all(&top).unwrap();
    }
}
