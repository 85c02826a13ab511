//! Commands of version systems that compare the files of a work tree with those of the repository, or replace them:
//! `git -C . diff --quiet`, `git checkout -- .`, `hg status`. The first kind sees an edit of a script that is one of these
//! files, and the second undoes it. Sources: git(1), hg(1), svn help, fossil help, jj help, yadm(1), chezmoi(1).

use super::tree::{Around, matches};
use crate::sh::{Command, Value, Word};
use crate::words::{base, listed};

/// Version systems, and programs that manage files by one of them.
const SYSTEMS: &str =
    "git yadm hg chg sl svn fossil jj bzr brz cvs darcs pijul got p4 repo dvc chezmoi etckeeper";
/// Commands before another one that run it with its arguments unchanged.
const RUNNERS: &str = "sudo doas exec command time nice ionice env timeout stdbuf setsid nohup chronic builtin if while \
    until then do else ! {";
/// Options of these whose value is the next word.
const OF_RUNNERS: &str = "-u --user -g --group -k -s -C -h -p -r -t -U";
/// Subcommands of git that compare the files of the work tree, or need or make it equal to a revision (git(1)).
const OF_GIT: &str =
    "diff status diff-index diff-files difftool update-index stash rebase cherry-pick revert";
/// Other commands of git: any name besides these is an alias.
const COMMANDS: &str = "add am annotate apply archimport archive bisect blame branch bugreport bundle cat-file check-attr \
    check-ignore check-mailmap check-ref-format checkout checkout-index cherry citool clean clone column commit \
    commit-graph commit-tree config count-objects credential daemon describe diagnose diff-tree fast-export fast-import \
    fetch fetch-pack filter-branch filter-repo fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id \
    grep gui hash-object help hook http-backend imap-send index-pack init init-db instaweb interpret-trailers lfs log \
    ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool \
    mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-refs patch-id prune pull push range-diff read-tree \
    receive-pack reflog remote repack replace request-pull rerere reset restore rev-list rev-parse rm send-email send-pack \
    shortlog show show-branch show-index show-ref sparse-checkout stage stripspace submodule subtree svn switch \
    symbolic-ref tag unpack-file unpack-objects update-ref update-server-info upload-archive var verify-commit verify-pack \
    verify-tag version whatchanged worktree write-tree annex crypt flow review secret up";
/// Options of git before the subcommand whose value is the next word.
const WITH_VALUE: &str = "-c --git-dir --namespace --config-env --super-prefix --attr-source";
/// The limit of values of a variable that are followed.
const MOST: usize = 64;

impl Around<'_> {
    /// Returns a description of what a command does with files under a version system, if the script may be one of them.
    pub(super) fn revises(&self, command: &Command) -> Option<String> {
        let here = || !self.is_elsewhere(command);
        self.calls(command).into_iter().find_map(|(name, words)| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.asked(&name, &words, &here)
        })
    }

    /// Returns what the text of a shell does with such files.
    pub(super) fn text_revises(&self, text: &str) -> Option<String> {
        if text.contains("cd ") {
            return None;
        }
        text.split([';', '|', '&', '\n', '(', ')', '{', '}', '`']).find_map(|part| {
            let words: Vec<&str> = part
                .split_whitespace()
                .map(|word| word.trim_matches(['"', '\'', '!']))
                .filter(|word| !word.is_empty())
                .skip_while(|word| {
                    listed(RUNNERS, word) || matches!(*word, "[" | "test" | "-n" | "-z")
                })
                .collect();
            let (name, rest) = words.split_first()?;
            let name = base(name.trim_start_matches(['$', '"']));
            self.asked(name, rest, &|| true)
        })
    }

    /// The calls of a version system that a command may be: the name of the system, and the words after it. A variable may
    /// have the name, with options: `G="git --no-pager"`.
    fn calls(&self, command: &Command) -> Vec<(String, Vec<String>)> {
        let words = &command.words;
        let runs = |word: &Word| word.literal().is_some_and(|it| listed(RUNNERS, base(it)));
        let mut at = 0;
        // `command -v git` only looks for the program.
        if words.get(1).is_some_and(|it| matches!(it.text.as_str(), "-v" | "-V")) {
            return Vec::new();
        }
        if words.first().is_some_and(runs) {
            at = 1;
            let passed = |at: usize| {
                let (Some(word), Some(last)) = (words.get(at), words.get(at - 1)) else {
                    return false;
                };
                let text = word.text.as_str();
                let value = listed(OF_RUNNERS, &last.text) && !listed(SYSTEMS, base(text));
                text.starts_with('-')
                    || value
                    || text.contains('=')
                    || runs(word)
                    || text.starts_with(|c: char| c.is_ascii_digit())
            };
            while passed(at) {
                at += 1;
            }
        }
        let Some(word) = words.get(at) else { return Vec::new() };
        let rest: Vec<String> = words.iter().skip(at + 1).map(|word| word.text.clone()).collect();
        if let Some(text) = word.literal() {
            return vec![(base(text).to_owned(), rest)];
        }
        let [variable] = word.uses.as_slice() else { return Vec::new() };
        let whole = word.text.starts_with('\u{1}')
            && word.text.ends_with('\u{1}')
            && word.text.matches('\u{1}').count() == 2;
        if !whole {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut assigned = false;
        for value in self.values(&variable.name) {
            assigned = true;
            let mut given = value.split_whitespace().map(str::to_owned);
            if let Some(name) = given.next() {
                found.push((base(&name).to_owned(), given.chain(rest.iter().cloned()).collect()));
            }
        }
        // `$GIT diff`, `${GIT:-git} diff`
        if !assigned && word.text.to_ascii_lowercase().contains("git") {
            found.push(("git".to_owned(), rest));
        }
        found
    }

    /// The texts that the script assigns to a variable.
    fn values(&self, name: &str) -> Vec<String> {
        let assigns = self.script.commands.iter().flat_map(|it| &it.assigns);
        let text = |value: &Value| match value {
            Value::One(word) => word.text.clone(),
            Value::Array(words) => {
                words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
            }
        };
        assigns.filter(|it| it.name == name).take(MOST).map(|it| text(&it.value)).collect()
    }

    fn asked(&self, name: &str, words: &[&str], here: &dyn Fn() -> bool) -> Option<String> {
        let found = || Some(format!("{name} compares or replaces changed files"));
        // The first word that is neither an option nor the value of one, and the words after it.
        let first = |with_value: &str| {
            let mut at = 0;
            while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
                at += 1 + usize::from(listed(with_value, word));
            }
            Some((*words.get(at)?, words.get(at + 1..).unwrap_or_default()))
        };
        let (with_value, of_system) = match name {
            "git" => return self.of_git(words, here),
            // Their files are those of the home directory, or of /etc.
            "yadm" => {
                let asked = first("-Y -C -c").map(|(asked, _)| asked)?;
                let words = words.iter().copied().skip_while(|word| *word != asked);
                let own = !listed(COMMANDS, asked) && !listed(OF_GIT, asked);
                return (!own).then(|| self.of_git(&words.collect::<Vec<_>>(), &|| true)).flatten();
            }
            "chezmoi" => {
                let asked = first("-S --source -D --destination -c --config").map(|(it, _)| it)?;
                return listed("verify diff status apply update re-add merge merge-all", asked)
                    .then(found)
                    .flatten();
            }
            "etckeeper" => {
                return words
                    .first()
                    .is_some_and(|it| listed("unclean vcs", it))
                    .then(found)
                    .flatten();
            }
            "svnversion" | "hgversion" => return here().then(found).flatten(),
            "hg" | "chg" | "sl" => (
                "-R --repository --cwd --config --encoding --color --pager",
                "status st stat summary sum diff di extdiff identify id revert shelve",
            ),
            "svn" => (
                "--username --password --config-dir --config-option",
                "status st stat diff di revert",
            ),
            "fossil" => ("-R --chdir --user", "changes status diff gdiff extras revert stash"),
            "jj" => ("-R --repository --at-operation --config --color", "diff status st restore"),
            "bzr" | "brz" => ("", "status st stat diff di revert version-info"),
            "cvs" => ("-d -e -s -z", "diff di status stat"),
            "darcs" => ("--repodir", "whatsnew what w diff revert rev"),
            "pijul" | "got" | "p4" | "repo" | "dvc" => {
                ("-c -p -u", "status diff opened reconcile revert reset st")
            }
            _ => return None,
        };
        let (asked, rest) = first(with_value)?;
        let elsewhere = words.windows(2).any(|pair| match pair {
            [option, directory] => {
                matches!(*option, "-R" | "--repository" | "--cwd" | "--chdir")
                    && !self.may_be_own(directory)
            }
            _ => false,
        });
        let replaces = listed("update up checkout co", asked)
            && rest.iter().any(|it| matches!(*it, "-C" | "--clean"));
        ((listed(of_system, asked) || replaces) && !elsewhere && here()).then(found).flatten()
    }

    /// The same for git, whose options may select another work tree.
    fn of_git(&self, words: &[&str], here: &dyn Fn() -> bool) -> Option<String> {
        let mut tree = None;
        let mut open = false;
        let mut at = 0;
        let asked = loop {
            let Some(word) = words.get(at) else { break None };
            let next = words.get(at + 1).copied().unwrap_or_default();
            match *word {
                "-C" | "--work-tree" => {
                    let own = if next == "." { here() } else { self.may_be_own(next) };
                    tree = Some(tree.unwrap_or(true) && own);
                    at += 2;
                }
                option if listed(WITH_VALUE, option) => at += 2,
                option if option.starts_with('-') => {
                    if let Some(directory) = option.strip_prefix("--work-tree=") {
                        tree = Some(self.may_be_own(directory));
                    }
                    at += 1;
                }
                // It may be options, or the subcommand.
                variable if variable.contains('\u{1}') => {
                    open = true;
                    at += 1;
                }
                name => break Some(name),
            }
        };
        let rest = words.get(at + 1..).unwrap_or_default();
        let has = |names: &str| rest.iter().any(|word| listed(names, word));
        let hit = || rest.iter().any(|word| self.is_hit(word));
        let letter = |wanted: char| {
            let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
            rest.iter().filter(short).any(|word| word.contains(wanted))
        };
        let found = match asked {
            None => open,
            // A revision, and not the files.
            Some("diff" | "difftool" | "diff-index" | "diff-files")
                if has("--cached --staged --no-index") =>
            {
                false
            }
            Some("describe") => rest
                .iter()
                .any(|it| ["--dirty", "--broken"].iter().any(|name| it.starts_with(name))),
            Some("ls-files") => has("-m --modified -d --deleted"),
            Some("pull") => has("--rebase -r"),
            Some("reset") => has("--hard --merge --keep"),
            Some("checkout") => letter('f') || has("--force --pathspec-from-file") || hit(),
            Some("switch") => letter('f') || has("--force --discard-changes"),
            Some("restore") => {
                let index = has("--staged -S") && !has("--worktree -W -SW -WS");
                !index && (hit() || has("--pathspec-from-file"))
            }
            Some("checkout-index") => letter('a') || letter('f') || has("--all --force") || hit(),
            Some("read-tree") => has("-u --reset"),
            Some(name) if listed(OF_GIT, name) => true,
            Some(name) => !listed(COMMANDS, name),
        };
        if !found || !tree.unwrap_or_else(here) {
            return None;
        }
        Some(match asked {
            Some(name) if !listed(COMMANDS, name) && !listed(OF_GIT, name) => {
                format!("git {name}, which may be an alias, may compare or replace changed files")
            }
            Some("checkout" | "switch" | "restore" | "reset" | "checkout-index" | "read-tree") => {
                "git replaces changed files, which undoes an edit".to_owned()
            }
            _ => "git compares or replaces changed files".to_owned(),
        })
    }

    /// Whether a word of `git checkout` or `git restore` selects the script: its name, a pattern of git, or its directory.
    fn is_hit(&self, word: &str) -> bool {
        let file = base(word);
        let directory =
            matches!(word, "." | "./" | "..") || word.ends_with('/') && self.is_own(word);
        let expands = word.starts_with('\u{1}') && self.is_own(word);
        directory
            || expands
            || word.starts_with(':')
            || !word.starts_with('-')
                && (file == self.name || file.contains('*') && matches(file, &self.name))
    }

    /// Whether a directory may be the script's own: it is, or only a run shows which one it is.
    fn may_be_own(&self, text: &str) -> bool {
        if self.is_own(text) {
            return true;
        }
        let inner = text.strip_prefix('\u{1}').and_then(|it| it.strip_suffix('\u{1}'));
        let Some(inner) = inner.filter(|it| !it.contains('\u{1}') && !it.starts_with("$(")) else {
            return false;
        };
        let name = inner.trim_matches(['$', '{', '}']);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return false;
        }
        const MARKS: [&str; 8] =
            ["$0", "${0", "BASH_SOURCE", "$PWD", "${PWD", "$(pwd)", "show-toplevel", ":-.}"];
        let values = self.values(name);
        values.is_empty()
            || values
                .iter()
                .any(|it| it.ends_with('\u{1}') && MARKS.iter().any(|mark| it.contains(mark)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_programs::edited;

    #[test]
    fn script_whose_version_system_sees_or_undoes_the_edit_is_left() {
        for lines in [
            "git -C \"$PWD\" diff --exit-code >/dev/null || exit 1\nRUN",
            "git -C \"$(dirname \"$0\")\" diff --quiet || exit 1\nRUN",
            "git -C . status --porcelain | grep -q . && exit 1\nRUN",
            "git -C \"$REPO\" diff --quiet || exit 1\nRUN",
            "HERE=$(cd \"$(dirname \"$0\")\" && pwd)\ngit -C \"$HERE\" diff --quiet || exit 1\nRUN",
            "git -c core.fileMode=false diff-files --quiet || exit 1\nRUN",
            "git --no-pager -c color.ui=never diff --quiet || exit 1\nRUN",
            "git --git-dir .git --work-tree . diff --quiet || exit 1\nRUN",
            "G=\"git --no-pager\"; $G diff --quiet || exit 1\nRUN",
            "G=(git -C .); \"${G[@]}\" diff --quiet || exit 1\nRUN",
            "${GIT:-git} diff --quiet || exit 1\nRUN",
            "V=$(git -C . describe --always --dirty)\nRUN -name vm-$V",
            "sudo -u build git diff --quiet || exit 1\nRUN",
            "timeout 5 git status --porcelain | grep -q . && exit 1\nRUN",
            "bash -c 'git -C . diff --quiet' || exit 1\nRUN",
            "git st | grep -q . && exit 1\nRUN",
            "git checkout -q -- .\nRUN",
            "git checkout -qf main\nRUN",
            "git checkout HEAD vm.sh\nRUN",
            "git checkout -- '*.sh'\nRUN",
            "git restore .\nRUN",
            "git restore --source=HEAD vm.sh\nRUN",
            "git switch --discard-changes main\nRUN",
            "fossil changes --quiet || exit 1\nRUN",
            "jj diff --stat | grep -q '^0 files' || exit 1\nRUN",
            "yadm diff --quiet || exit 1\nRUN",
            "chezmoi verify || exit 1\nRUN",
            "etckeeper unclean && exit 1\nRUN",
            "[ -z \"$(hg -R . status -q)\" ] || exit 1\nRUN",
            "hg up -C\nRUN",
            "bzr status -S | grep -q . && exit 1\nRUN",
        ] {
            assert!(!edited(lines), "{lines}");
        }
    }

    #[test]
    fn script_that_only_gets_other_files_is_edited() {
        for lines in [
            "git -C linux diff --quiet || exit 1\nRUN",
            "K=../linux; git -C \"$K\" diff --quiet || exit 1\nRUN",
            "git -C \"$HERE/linux\" checkout -f v6.1\nRUN",
            "git -C \"$1/linux\" status\nRUN",
            "git --work-tree=linux diff --quiet || exit 1\nRUN",
            "git checkout v6.1\nRUN",
            "git checkout -b test\nRUN",
            "git checkout -- d.cfg\nRUN",
            "git restore d.cfg\nRUN",
            "git restore --staged .\nRUN",
            "cd linux\ngit checkout -f v6.1\ngit restore .\ncd ..\nRUN",
            "cd linux && git -C . diff --quiet || exit 1\nRUN",
            "git clone --depth 1 https://example.org/x\nRUN",
            "git lfs pull\ngit submodule update --init\nRUN",
            "git $OPTIONS clone https://example.org/x\nRUN",
            "sudo apt-get install -y git status\nRUN",
            "sudo -E apt-get -y install git qemu-utils\nRUN",
            "sudo pacman -S git qemu\nRUN",
            "command -v git diff\nRUN",
            "hg -R linux status\nRUN",
            "hg update\nRUN",
            "svn checkout https://example.org/x\nRUN",
            "repo sync\nRUN",
        ] {
            assert!(edited(lines), "{lines}");
        }
    }
}
