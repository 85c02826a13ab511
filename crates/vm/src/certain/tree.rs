//! Commands that look at the files of a directory, in which the script itself may be: `find . -exec md5sum {} +`,
//! `du -sb .`, `stat -c %s *`, `git diff --quiet`. None of them names the script, but each sees its text, its size or its
//! time, which an edit changes.
//!
//! Most scripts look at files of other directories or with other names, and those must still be edited. So a command counts
//! only if its directory is the script's own and no pattern leaves the script out; and one that only lists files, only if
//! something other than a terminal gets the list.

use super::itself::READERS;
use super::understood::words;
use crate::document::Document;
use crate::sh::{Command, Input, Script, Word};
use crate::words::{base, listed};
use std::collections::HashSet;

/// Commands that see the text, the size or the time of files, besides [`READERS`].
const LOOKING: &str = "du ls zip 7z 7za rar cksum crc32 b2sum xxd sum file cat";
/// Tests and actions of `find` by which the result depends on the text or the time of a file (find(1)).
const BY_CONTENT: &str = "-newer -anewer -cnewer -mtime -mmin -ctime -cmin -ls -fls";
/// Languages whose programs may be in a word or in a here-document.
const LANGUAGES: &str = "python python2 python3 perl ruby node php";
/// Words of such a program that list a directory, and that look at a file.
const LISTS: [&str; 8] =
    ["glob", "os.walk", "listdir", "scandir", "iterdir", "opendir", "readdir", "Dir["];
const OPENS: [&str; 7] = ["open(", "read", "getsize", "stat(", "st_size", "-s ", "hashlib"];
/// The limit of variables that are followed, and of words that are compared.
const MOST: usize = 4096;

/// Checks that no command looks at the files of the script's own directory.
///
/// # Errors
/// Returns the reason, with the line, if a command does so.
pub(super) fn looks_around(document: &Document, script: &Script) -> Result<(), String> {
    let text = document.text.as_str();
    let around = Around::new(document, script);
    let found = script.commands.iter().find_map(|command| {
        let what = around.looks(command)?;
        Some((command.span.start, what))
    });
    let found = found.or_else(|| {
        let at = around.timed_each()?;
        Some((at, "the times of files are compared".to_owned()))
    });
    let found = found.or_else(|| {
        let runs = |it: &Command| program(it).is_some_and(|(_, name)| listed(LANGUAGES, name));
        let document = script.documents.iter().find(|it| {
            let of = text.get((*it).clone()).unwrap_or_default();
            lists_and_opens(of)
        })?;
        script
            .commands
            .iter()
            .any(runs)
            .then(|| (document.start, "a program looks at the files of a directory".to_owned()))
    });
    match found {
        Some((at, what)) => {
            let line = document.text.place(at).line;
            Err(format!("line {line}: {what}, and the script may be among them"))
        }
        None => Ok(()),
    }
}

/// The script among the files of its directory.
pub(super) struct Around<'a> {
    pub(super) script: &'a Script,
    /// Its path as it was given, and its name.
    path: String,
    pub(super) name: String,
    /// Variables with the script's own directory, or with a name of each of its files in turn.
    own: HashSet<&'a str>,
    pub(super) each: HashSet<&'a str>,
}

impl<'a> Around<'a> {
    fn new(document: &'a Document, script: &'a Script) -> Self {
        let path = document.name.replace('\\', "/");
        let name = match base(&path) {
            // From the standard input.
            "" | "-" => "run.sh".to_owned(),
            name => name.to_owned(),
        };
        let text = document.text.as_str();
        let (own, each) = (HashSet::new(), HashSet::new());
        let mut around = Self { script, path, name, own, each };
        for assign in script.commands.iter().flat_map(|it| &it.assigns).take(MOST) {
            if words(assign).iter().all(|word| word.expands && around.is_own(&word.text)) {
                around.own.insert(&assign.name);
            }
        }
        // `for NAME in *.sh`
        let looped = |word: &Word| {
            let line = text.get(..word.span.start)?.lines().next_back()?;
            let (_, head) = line.rsplit_once("for ")?;
            head.split_whitespace().next().filter(|_| around.is_file(word))
        };
        let each = script.others.iter().take(MOST).filter_map(looped).collect();
        Self { each, ..around }
    }

    /// Returns a description of what a command looks at, if the script may be a part of it.
    fn looks(&self, command: &Command) -> Option<String> {
        if let Some(what) = self.revises(command) {
            return Some(what);
        }
        let (at, name) = program(command)?;
        let arguments = command.words.get(at + 1..).unwrap_or_default();
        let here = || !self.is_elsewhere(command);
        let files = |what: &str| Some(format!("{name} {what}"));
        match name {
            "find" => (here() && self.found(arguments) && sees(arguments))
                .then(|| "find looks at the files of a directory".to_owned()),
            "xargs" => {
                let run = arguments.iter().filter_map(Word::literal).find(|it| is_looking(it))?;
                (here() && self.is_fed(command))
                    .then(|| format!("{} looks at the files of a directory", base(run)))
            }
            "ls" if is_used(command) && is_long(arguments) && here() && self.reached(arguments) => {
                files("prints sizes or times of the files of a directory")
            }
            "du" if is_used(command) && here() && self.reached(arguments) => {
                files("prints the size of a directory or its files")
            }
            "stat" if is_used(command) && here() && self.named(arguments) => {
                files("prints properties of files")
            }
            "zip" | "7z" | "7za" | "rar" | "tar"
                if packs(name, arguments) && here() && self.taken(arguments) =>
            {
                files("packs the files of a directory")
            }
            "rpm" | "dpkg" => {
                let verifies = |it: &Word| it.text.starts_with("-V") || it.text == "--verify";
                arguments.iter().any(verifies).then(|| format!("{name} compares installed files"))
            }
            "debsums" | "aide" | "tripwire" => files("compares installed files"),
            _ if listed(LANGUAGES, name) => arguments
                .iter()
                .any(|word| lists_and_opens(&word.text))
                .then(|| "a program looks at the files of a directory".to_owned()),
            "sh" | "bash" | "dash" | "eval" => arguments
                .iter()
                .filter(|word| word.text.contains(' '))
                .find_map(|word| self.text_revises(&word.text)),
            _ => self.summed(command, name, arguments, &here),
        }
    }

    /// Returns whether the script has gone to another directory before a command.
    pub(super) fn is_elsewhere(&self, command: &Command) -> bool {
        let commands = &self.script.commands;
        let before = commands.partition_point(|it| it.span.start < command.span.start);
        let moves = |it: &&Command| {
            let moves = matches!(it.words.first().and_then(Word::literal), Some("cd" | "pushd"));
            // A subshell that has ended, or a substitution, moved only itself.
            let place = it.place;
            moves
                && (!place.apart || command.place.apart)
                && (!place.substitution || command.place.substitution)
        };
        let last = commands.get(..before).unwrap_or_default().iter().rev().find(moves);
        last.and_then(|it| it.words.iter().skip(1).find(|word| !word.text.starts_with('-')))
            .is_some_and(|word| !self.is_own(&word.text))
    }

    /// Returns whether a text names the script's own directory, or one above it.
    pub(super) fn is_own(&self, text: &str) -> bool {
        let mut text = text;
        if text == "/" {
            return true;
        }
        while let Some(rest) = ["/..", "/.", "/"].iter().find_map(|end| text.strip_suffix(end)) {
            text = rest;
        }
        if matches!(text, "" | "." | "..") {
            return true;
        }
        if let Some(inner) = text.strip_prefix('\u{1}').and_then(|it| it.strip_suffix('\u{1}')) {
            let variable = inner.trim_start_matches(['$', '{']).trim_end_matches('}');
            let marks = ["dirname", "%/*", "$0", "BASH_SOURCE"];
            return match inner.starts_with("$(") || inner.starts_with('`') {
                true => {
                    let named = inner.contains("$0")
                        || inner.contains("${0")
                        || inner.contains("BASH_SOURCE");
                    inner.trim_matches(['$', '(', ')', '`', ' ']) == "pwd"
                        || inner.contains("--show-toplevel")
                        || named && marks.iter().any(|mark| inner.contains(mark))
                }
                false => {
                    variable == "PWD"
                        || self.own.contains(variable)
                        || matches!(variable, "0%/*" | "BASH_SOURCE%/*" | "BASH_SOURCE[0]%/*")
                }
            };
        }
        if text.contains('\u{1}') {
            return false;
        }
        let text = text.trim_start_matches("./");
        let (directories, _) = self.path.rsplit_once('/').unwrap_or_default();
        match text.starts_with('/') {
            true => directories == text || directories.starts_with(&format!("{text}/")),
            false => directories.split('/').any(|it| !it.is_empty() && it == base(text)),
        }
    }

    /// Returns whether a word is a pattern of names of files, or a name, that the script's own name matches.
    fn is_file(&self, word: &Word) -> bool {
        let text = word.text.replace("**/", "");
        let (directory, pattern) = text.rsplit_once('/').unwrap_or((".", &text));
        let pattern_of_shell = word.splits && pattern.contains(['*', '?', '[']);
        (pattern_of_shell || pattern == self.name)
            && matches(pattern, &self.name)
            && self.is_own(directory)
    }

    /// Whether one of the words names files, and the script is among them.
    pub(super) fn named(&self, arguments: &[Word]) -> bool {
        let each = |word: &Word| word.uses.iter().any(|it| self.each.contains(it.name.as_str()));
        arguments.iter().take(MOST).any(|word| self.is_file(word) || each(word))
    }

    /// Whether one of the words names files or directories, and the script is among them.
    pub(super) fn taken(&self, arguments: &[Word]) -> bool {
        let directory = |word: &Word| !word.text.starts_with('-') && self.is_own(&word.text);
        self.named(arguments) || arguments.iter().take(MOST).any(directory)
    }

    /// As [`Self::taken`]; no name at all is the directory in which the command runs.
    pub(super) fn reached(&self, arguments: &[Word]) -> bool {
        let options = |word: &Word| word.text.starts_with('-');
        if arguments.iter().any(|word| word.text == "-d" || word.text == "--directory") {
            return self.named(arguments);
        }
        arguments.iter().all(options) || self.taken(arguments)
    }

    /// Whether `find` may find the script.
    fn found(&self, arguments: &[Word]) -> bool {
        let tests = |word: &&Word| {
            let text = word.text.as_str();
            !(text.starts_with('-') && text.len() > 2 || matches!(text, "(" | "!"))
        };
        let starts: Vec<&Word> =
            arguments.iter().take_while(tests).filter(|it| !it.text.starts_with('-')).collect();
        let own = |word: &&Word| self.is_own(&word.text) || self.is_file(word);
        if !starts.is_empty() && !starts.iter().any(own) {
            return false;
        }
        let value = |at: usize| arguments.get(at + 1).map_or("", |word| word.text.as_str());
        let negated = |at: usize| {
            at.checked_sub(1)
                .and_then(|at| arguments.get(at))
                .is_some_and(|word| matches!(word.text.as_str(), "!" | "-not"))
        };
        let mut patterns = false;
        let mut hit = false;
        for (at, word) in arguments.iter().enumerate() {
            match word.text.as_str() {
                "-type" if !value(at).contains('f') && !negated(at) => return false,
                "-name" | "-iname" if !negated(at) => {
                    patterns = true;
                    hit |= matches(value(at), &self.name);
                }
                _ => {}
            }
        }
        !patterns || hit
    }

    /// Whether the names that `xargs` reads are those of the script's own directory.
    pub(super) fn is_fed(&self, command: &Command) -> bool {
        let Some(Input::Pipe(range)) = &command.input else { return false };
        let commands = &self.script.commands;
        let first = commands.partition_point(|it| it.span.start < range.start);
        let within = commands.iter().skip(first).take_while(|it| it.span.start < range.end);
        let mut lists = false;
        for part in within {
            let Some((at, name)) = program(part) else { continue };
            let arguments = part.words.get(at + 1..).unwrap_or_default();
            match name {
                "find" => lists |= self.found(arguments),
                "ls" => lists |= self.reached(arguments),
                "git" => lists |= arguments.iter().any(|word| word.text == "ls-files"),
                "echo" | "printf" => lists |= self.named(arguments),
                // It selects some of the names.
                "grep" | "egrep" | "fgrep" | "sed" | "awk" => return false,
                _ => {}
            }
        }
        lists
    }
}

/// Returns the program of a command, after the commands that run it unchanged, and its place.
fn program(command: &Command) -> Option<(usize, &str)> {
    let names = ["sudo", "doas", "exec", "command", "time", "nice", "env", "if", "!"];
    let found = command.words.iter().enumerate().find(|(_, word)| {
        word.literal().is_none_or(|text| !names.contains(&text) && !text.starts_with('-'))
    });
    let (at, word) = found?;
    Some((at, base(word.literal()?)))
}

/// Whether a word is a command that sees the text, the size or the time of files.
fn is_looking(word: &str) -> bool {
    let name = base(word);
    (listed(READERS, name) || listed(LOOKING, name)) && name != "."
}

/// Whether the output of a command goes to something other than a terminal.
pub(super) fn is_used(command: &Command) -> bool {
    let kept = |(sign, to): &(String, Word)| {
        let to = to.text.as_str();
        sign.contains('>')
            && !matches!(
                to,
                "/dev/null" | "/dev/stderr" | "/dev/tty" | "1" | "2" | "&1" | "&2" | "-"
            )
    };
    let place = command.place;
    // A redirection may follow the loop.
    place.apart || place.substitution || place.looped || command.redirects.iter().any(kept)
}

/// Whether options of `ls` request or sort by sizes or times (ls(1)).
fn is_long(arguments: &[Word]) -> bool {
    arguments.iter().any(|word| {
        let text = word.text.as_str();
        let short = text.starts_with('-') && !text.starts_with("--");
        short && text.contains(['l', 's', 'S', 't', 'g', 'o', 'n', 'c', 'u'])
            || ["--size", "--full-time", "--time", "--sort", "--format=l"]
                .iter()
                .any(|it| text.starts_with(it))
    })
}

/// Whether the words of an archiver make an archive of files here.
fn packs(name: &str, arguments: &[Word]) -> bool {
    let first = arguments.first().map_or("", |word| word.text.as_str());
    match name {
        "zip" => true,
        "tar" => {
            let elsewhere =
                |word: &Word| word.text.starts_with("-C") || word.text.starts_with("--directory");
            let first = first.strip_prefix("--").unwrap_or(first);
            (first.contains('c') && !first.starts_with("exclude")
                || arguments.iter().any(|word| word.text == "--create" || word.text == "-c"))
                && !first.contains('x')
                && !arguments.iter().any(elsewhere)
        }
        _ => first == "a",
    }
}

/// Whether the result of `find` depends on the text, the size or the time of what it finds.
fn sees(arguments: &[Word]) -> bool {
    let value = |at: usize| arguments.get(at + 1).map_or("", |word| word.text.as_str());
    arguments.iter().enumerate().any(|(at, word)| match word.text.as_str() {
        "-exec" | "-execdir" | "-ok" | "-okdir" => {
            let run = arguments.get(at + 1..).unwrap_or_default();
            let end = |word: &&Word| !matches!(word.text.as_str(), ";" | "+");
            let mut run = run.iter().take_while(end);
            let program = run.next().map_or("", |word| word.text.as_str());
            let inner = |word: &Word| {
                word.text.split(|c: char| c.is_whitespace() || ";|&(".contains(c)).any(is_looking)
            };
            is_looking(program)
                || matches!(base(program), "sh" | "bash" | "sudo" | "nice" | "env")
                    && run.any(inner)
        }
        // A script has less than a megabyte.
        "-size" => !(value(at).starts_with('+') && value(at).ends_with(['M', 'G'])),
        "-printf" | "-fprintf" => {
            ["%s", "%t", "%T", "%c", "%C", "%k", "%b"].iter().any(|it| value(at).contains(it))
        }
        text => listed(BY_CONTENT, text) || text.starts_with("-newer"),
    })
}

/// Whether the text of a program lists a directory and looks at files.
fn lists_and_opens(text: &str) -> bool {
    LISTS.iter().any(|it| text.contains(it)) && OPENS.iter().any(|it| text.contains(it))
}

/// Whether a pattern of names, with `*`, `?` and `[...]`, matches a name; brackets match any character.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts: Vec<char> = Vec::new();
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        match c {
            '[' => {
                parts.push('?');
                _ = letters.find(|c| *c == ']');
            }
            '*' if parts.last() == Some(&'*') => {}
            _ => parts.push(c),
        }
    }
    let name: Vec<char> = name.chars().collect();
    // The place of the last star, and of the letter that is tried after it.
    let (mut at, mut letter, mut star) = (0, 0, None);
    while letter < name.len() {
        match parts.get(at) {
            Some('*') => {
                star = Some((at, letter));
                at += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(letter) => {
                (at, letter) = (at + 1, letter + 1)
            }
            _ => match star {
                Some((from, tried)) => {
                    star = Some((from, tried + 1));
                    (at, letter) = (from + 1, tried + 1);
                }
                None => return false,
            },
        }
    }
    parts.get(at..).unwrap_or_default().iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::super::tests_programs::edited;
    use super::matches;

    #[test]
    fn script_that_looks_at_the_files_of_its_directory_is_left() {
        for lines in [
            "find . -name '*.sh' -print0 | xargs -0 md5sum > n.txt\nRUN",
            "find . -type f -exec sha256sum {} \\; > n.txt\nRUN",
            "find -exec sh -c 'wc -c \"$1\"' _ {} \\;\nRUN",
            "find \"$(dirname \"$0\")\" -type f -exec cksum {} +\nRUN",
            "HERE=$(cd \"$(dirname \"$0\")\" && pwd)\ndu -sb \"$HERE\" > n.txt\nRUN",
            "find dir -type f -exec cksum {} + > n.txt\nRUN",
            "find . -name '*.sh' -size -300c | grep -q . || exit 7\nRUN",
            "[ -z \"$(find -type f -newer stamp)\" ] || exit 5\nRUN",
            "find . -type f -printf '%s\\n' > sizes\nRUN",
            "du -sb . > n.txt\nRUN",
            "SIZE=$(du -s)\nRUN -name vm-$SIZE",
            "stat -c %s * > n.txt\nRUN",
            "for f in *.sh; do stat -c %Y \"$f\"; done > n.txt\nRUN",
            "ls -l > n.txt\nRUN",
            "NEW=$(ls -t | head -n 1)\nRUN",
            "ls -l | tee list\nRUN",
            "ls | xargs wc -c > n.txt\nRUN",
            "zip -q out.zip *\nRUN",
            "tar czf out.tgz .\nRUN",
            "git diff --quiet || exit 1\nRUN",
            "cd \"$(dirname \"$0\")\"\ngit diff --quiet || exit 1\nRUN",
            "(cd linux; make)\ngit diff --quiet || exit 1\nRUN",
            "[ \"$(git status --porcelain)\" ] && exit 1\nRUN",
            "git ls-files -m | grep -q . && exit 1\nRUN",
            "V=$(git describe --always --dirty)\nRUN -name vm-$V",
            "bash -c 'git diff --quiet' || exit 1\nRUN",
            "git reset --hard\nRUN",
            "rpm -V vm-scripts || exit 1\nRUN",
            "debsums -s vm-scripts || exit 1\nRUN",
            "python3 -c 'import glob;print(sum(len(open(f).read()) for f in glob.glob(\"*.sh\")))' > n\nRUN",
            "python3 <<EOF\nimport os\nfor f in os.listdir('.'): print(os.stat(f).st_size)\nEOF\nRUN",
        ] {
            assert!(!edited(lines), "{lines}");
        }
    }

    #[test]
    fn script_that_looks_at_other_files_is_edited() {
        for lines in [
            "find /sys/kernel/iommu_groups -type l\nRUN",
            "find . -name '*.iso'\nRUN",
            "find . -name '*.iso' -exec md5sum {} \\;\nRUN",
            "find . -type d -exec ls {} \\;\nRUN",
            "find images -type f -exec sha256sum {} \\;\nRUN",
            "find . -size +100M -print\nRUN",
            "find /tmp -type f -mtime +7 -delete\nRUN",
            "find . -type f -exec chmod 644 {} \\;\nRUN",
            "du -h d.img\nRUN",
            "SIZE=$(du -m d.img)\nRUN",
            "SIZE=$(stat -c %s \"$1\")\nRUN",
            "USER_OF=$(stat -c %U \"$HOME\")\nRUN",
            "stat -c %s *.img > n.txt\nRUN",
            "ls -l\nRUN",
            "ls -lh *.img\nRUN",
            "NEW=$(ls -t *.iso | head -n 1)\nRUN",
            "ls | grep img\nRUN",
            "ls -lh d.img 2>&1 >/dev/null\nRUN",
            "zip -q out.zip *.img\nRUN",
            "tar xf rootfs.tar\nRUN",
            "tar -C rootfs -cf rootfs.tar .\nRUN",
            "7z x image.7z\nRUN",
            "git pull\nRUN",
            "git clone https://example.org/x\nRUN",
            "V=$(git describe --always)\nRUN -name vm-$V",
            "git rev-parse HEAD\nRUN",
            "git -C linux diff --quiet || exit 1\nRUN",
            "cd linux\ngit diff --quiet || exit 1\ncd ..\nRUN",
            "git submodule update --init\nRUN",
            "rpm -q qemu-kvm || exit 1\nRUN",
            "python3 -c 'print(open(\"/etc/hostname\").read())'\nRUN",
        ] {
            assert!(edited(lines), "{lines}");
        }
    }

    #[test]
    fn patterns_of_names() {
        for (pattern, name) in [
            ("*", "vm.sh"),
            ("*.sh", "vm.sh"),
            ("v?.sh", "vm.sh"),
            ("[a-z]m*h", "vm.sh"),
            ("**s**", "vm.sh"),
            ("vm.sh", "vm.sh"),
            ("*a*a*", "baab"),
        ] {
            assert!(matches(pattern, name), "{pattern}");
        }
        for (pattern, name) in
            [("*.img", "vm.sh"), ("", "a"), ("v", "vm"), ("*a", "ab"), ("?", "ab")]
        {
            assert!(!matches(pattern, name), "{pattern}");
        }
        assert!(!matches(&"*a".repeat(60), &"a".repeat(5000).replace("a", "ab")));
    }
}
