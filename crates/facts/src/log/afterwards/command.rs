//! Commands that name the files of a clocksource.

use super::named;
use crate::log::prefix;

/// How sure it is that a line is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A prompt with a user, a host or a directory precedes it.
    Typed,
    /// A sign precedes it that comments have too, or nothing does.
    Perhaps,
}

/// A line that may be a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    kind: Kind,
    /// The command.
    pub(super) text: &'a str,
}

/// Tools that only read a file that follows them.
const READERS: [&str; 47] = [
    "cat",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "less",
    "more",
    "most",
    "bat",
    "ls",
    "ll",
    "stat",
    "file",
    "find",
    "wc",
    "od",
    "hexdump",
    "xxd",
    "strings",
    "sort",
    "uniq",
    "awk",
    "gawk",
    "cut",
    "diff",
    "cmp",
    "md5sum",
    "sha256sum",
    "test",
    "[",
    "[[",
    "cd",
    "pushd",
    "tree",
    "realpath",
    "readlink",
    "watch",
    "read",
    "mapfile",
    "getfattr",
    "lsof",
    "man",
    "inotifywait",
];

/// Tools for which the word is no more than the name of a file, a package or a text.
const OTHERS: [&str; 40] = [
    "git",
    "vi",
    "vim",
    "nano",
    "emacs",
    "apt",
    "apt-get",
    "yum",
    "dnf",
    "pacman",
    "zypper",
    "curl",
    "wget",
    "make",
    "gcc",
    "cc",
    "clang",
    "cargo",
    "tar",
    "unzip",
    "scp",
    "rsync",
    "perf",
    "strace",
    "bpftrace",
    "trace-cmd",
    "dmesg",
    "journalctl",
    "uname",
    "which",
    "type",
    "whatis",
    "apropos",
    "mkdir",
    "touch",
    "rm",
    "history",
    "modinfo",
    "gdb",
    "clocksmith",
];

/// Calls of languages and of services that write.
const WRITES: [&str; 14] = [
    ".write(",
    "write_text(",
    "writefile",
    "write_file",
    "file.write",
    "file_put_contents",
    "'w'",
    "\"w\"",
    "'>'",
    "\">\"",
    "content=",
    "sponge ",
    "set-content",
    "out-file",
];

impl<'a> Line<'a> {
    /// The command of a line, without its prompt.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let stripped = prefix::strip(line);
        if stripped.kernel == Some(false) || stripped.dated {
            // The log of sudo names the command.
            let command = line.split_once("COMMAND=")?.1;
            return Some(Self { kind: Kind::Typed, text: command });
        }
        let line = line.trim();
        if let Some(code) = line.strip_prefix(">>> ").filter(|code| code.contains('(')) {
            return Some(Self { kind: Kind::Typed, text: code });
        }
        let line = line.trim_start_matches(['>', ' ', '\t']);
        if line.is_empty() {
            return None;
        }
        if let Some(text) = line.strip_prefix(['$', '#', '%']) {
            return Some(Self { kind: Kind::Perhaps, text: text.trim() });
        }
        let typed = line.find(['$', '#', '%']).filter(|at| *at < 100).and_then(|at| {
            let (head, rest) = (line[..at].trim_end(), &line[at + 1..]);
            let has_place = head.contains('@') || head.ends_with(['~', '/', ']']);
            let is_short = head.split_ascii_whitespace().count() <= 2 && !head.contains(['=', '"']);
            (has_place && is_short && rest.starts_with(' ')).then(|| rest.trim())
        });
        match typed {
            Some(text) => Some(Self { kind: Kind::Typed, text }),
            None => Some(Self { kind: Kind::Perhaps, text: line }),
        }
    }

    /// Whether the command may have changed the clocksource: it writes a file of it, or nothing is known of it except
    /// that it names the clocksource.
    pub(super) fn changes(&self) -> bool {
        let small = self.text.to_ascii_lowercase();
        if writes(&small) || sets(&small) || echoes_into_variable(&small) {
            return true;
        }
        self.kind == Kind::Typed
            && small.contains("clocksource")
            && !small.contains("clocksource=")
            && !is_harmless(&small)
    }

    /// The parts of the command that a shell runs one after the other.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a str> {
        self.text.split([';', '|', '&']).map(str::trim).filter(|part| !part.is_empty())
    }
}

/// The first word of a command after those that only say how it is run.
pub(super) fn tool(part: &str) -> &str {
    let by =
        ["sudo", "doas", "time", "nohup", "env", "exec", "do", "then", "if", "while", "until", "!"];
    let mut words = part.split_ascii_whitespace();
    let word = words.find(|word| !by.contains(word) && !word.starts_with('-')).unwrap_or_default();
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a line is certainly a command, or the output of one, and not a sentence.
pub(super) fn is_of_shell(line: &str) -> bool {
    let first = line.split_ascii_whitespace().next().unwrap_or_default();
    matches!(Line::of(line), Some(Line { kind: Kind::Typed, .. }))
        || READERS.contains(&first)
        || matches!(
            first,
            "echo" | "printf" | "sudo" | "tee" | "dmesg" | "reboot" | "kexec" | "sed"
        )
}

/// Whether a path is that of a clocksource's file, as a shell reads it.
fn is_file(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'', '`', '(', ')', ',', '\\']);
    path.contains("current_clocksource")
        || path.contains("unbind_clocksource")
        || path.contains("/clocksource0")
        || path.contains("/clocksource/")
        || path.starts_with("current_c")
        || path.starts_with("current*")
}

/// The targets to which a command redirects its output.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('>').filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        // `->`, `=>`, `2>`: arrows, and the channel of errors.
        if matches!(before, Some('-' | '=' | '2' | '<')) {
            return None;
        }
        let target = text[at + 1..].trim_start_matches(['>', '|', ' ', '"', '\'']);
        target
            .split([' ', ';', '"', '\'', ')', '|', '&'])
            .next()
            .filter(|target| !target.is_empty())
    })
}

/// Whether a command, in small letters, writes a file of a clocksource.
fn writes(small: &str) -> bool {
    let names_file = small.split([' ', '=', '\t', '\'', '"']).any(is_file);
    if !names_file {
        return false;
    }
    let words = || small.split([' ', '\t', '\'', '"', '|', ';', '(']);
    let has =
        |wanted: &str| words().any(|word| word == wanted || word.ends_with(&format!("/{wanted}")));
    let last_is_file = || words().rfind(|word| !word.is_empty()).is_some_and(is_file);
    targets(small).any(|target| is_file(target) || target.starts_with('$'))
        || has("tee")
        || small.contains("of=") && has("dd")
        || (has("cp") || has("mv") || has("install")) && last_is_file()
        || has("sed") && small.contains(" -i")
        || WRITES.iter().any(|words| small.contains(words)) && !small.contains("print(open(")
        // A line of tmpfiles.d.
        || (small.starts_with("w ") || small.starts_with("w+ ")) && named(small).next().is_some()
}

/// Whether a line of a file assigns a clocksource to its file in sysfs: `devices/.../current_clocksource = hpet`.
fn sets(small: &str) -> bool {
    crate::log::is_setting(small)
        && small.split_once('=').is_some_and(|(path, value)| {
            path.contains("/current_clocksource") && super::wanted(value).is_some()
        })
}

/// `echo hpet > $F`, whose file an earlier line names.
fn echoes_into_variable(small: &str) -> bool {
    let begins = small.strip_prefix("echo ").or_else(|| small.strip_prefix("printf "));
    let goes = targets(small).any(|target| target.starts_with('$'))
        || small.contains("tee \"$")
        || small.contains("tee $");
    begins.is_some_and(|rest| {
        let word = rest.split([' ', '>', '|']).next().unwrap_or_default();
        goes && super::is_clocksource(word.trim_matches(['"', '\'']))
    })
}

/// Whether each part of a command that names the clocksource only reads it, or does not concern the kernel's.
fn is_harmless(small: &str) -> bool {
    let shows = [
        "systemctl status",
        "systemctl cat",
        "systemctl show",
        "systemctl is-",
        ".read(",
        ".read_text(",
        "print(open(",
        "(<",
        " < ",
        "</",
    ];
    if shows.iter().any(|words| small.contains(words)) {
        return true;
    }
    small.split([';', '|', '&', '(']).filter(|part| part.contains("clocksource")).all(|part| {
        let at = part.find("clocksource").unwrap_or_default();
        let mut words = part[..at].split([' ', '\t', '\'', '"', '`']);
        let of_tool = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        let reads = |word: &str| READERS.contains(&of_tool(word).as_str());
        let copies = matches!(tool(part), "cp" | "install" | "mv");
        words.any(reads)
            || OTHERS.contains(&tool(part))
            || copies
            || is_output(part)
            || assigns(part)
    })
}

/// Whether a part only prints a text: `echo "the clocksource:"`.
fn is_output(part: &str) -> bool {
    matches!(tool(part), "echo" | "printf")
}

/// Whether a part only gives a variable a text.
fn assigns(part: &str) -> bool {
    let name = part.trim().split('=').next().unwrap_or_default();
    !name.is_empty()
        && name.len() < part.trim().len()
        && !part.trim().contains(' ')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
