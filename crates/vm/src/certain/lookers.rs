//! Commands that read a text from outside the script: the command lines of processes, a machine's output, any file.
//! [`super::looked_for`] compares the literal parts of patterns; a class of characters (`[a-z]+,[a-z]+=`), a field of a
//! line (`awk '{print $3}'`) or a checksum has no literal part, but can still distinguish an edited command from the
//! previous one. So such a command must be known to read something else: a file of the host, or a tool's output about
//! the host.

use super::looked_for::others;
use super::options::wraps;
use super::script::Guard;
use super::understood::{starts, words};
use crate::sh::{Command, Form, Input, Word};
use crate::words::{base, listed};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Commands that process a text.
const FILTERS: &str = "grep egrep fgrep zgrep rg ag sed gsed awk gawk mawk nawk cut tr rev head tail wc sort uniq cmp diff \
    comm paste join fold nl column expand expr strings md5sum sha1sum sha256sum sha512sum b2sum cksum sum md5 base64 \
    base32 od xxd hexdump cat tac perl python python2 python3 ruby node lua php tclsh expect jq yq xmllint xmlstarlet \
    read mapfile readarray look tsort shuf split csplit iconv gzip xz bzip2 zstd openssl bc dc";
/// Commands that search a text.
const FINDERS: &str = "grep egrep fgrep zgrep rg ag";
/// Filters whose arguments are not files.
const WITHOUT_FILES: &str = "tr expr read bc dc";
/// Filters whose first argument is a program.
const WITH_PROGRAM: &str =
    "sed gsed awk gawk mawk nawk perl python python2 python3 ruby node lua php jq yq";
/// Commands that print properties of the host, or the choice of its user.
const OF_HOST: &str = "lspci lsusb lsmod lscpu lsblk uname arch free nproc ip ifconfig brctl route df du ls find stat file \
    id whoami hostname date numactl getconf nvidia-smi dmidecode modinfo ss netstat curl wget tput seq shuf uuidgen mktemp \
    basename dirname readlink realpath which blkid fdisk sgdisk parted losetup qemu-img lsof fuser openssl xrandr tty \
    getent groups ldd cpuid lshw iw nmcli";
/// Directories of the host's files.
const HOST: [&str; 12] = [
    "/etc/",
    "/sys/",
    "/usr/",
    "/boot/",
    "/lib/",
    "/lib64/",
    "/bin/",
    "/sbin/",
    "/opt/",
    "/proc/sys/",
    "/proc/net/",
    "/dev/random",
];
/// Files of `/proc` that describe the host.
const OF_PROC: &str = "/proc/cpuinfo /proc/meminfo /proc/modules /proc/mounts /proc/filesystems /proc/iomem /proc/cmdline \
    /proc/version /proc/devices /proc/interrupts /proc/partitions /proc/self/mounts /proc/loadavg /proc/uptime \
    /proc/swaps /proc/misc /dev/urandom /dev/zero /dev/null";
/// Commands that print the command lines of processes.
const OF_PROCESSES: &str = "ps pgrep top htop w";
/// Commands that run a text as a script, here or elsewhere.
const RUN_TEXT: &str = "ssh sh bash dash ash ksh su eval xargs watch docker podman chroot tmux screen expect script \
    systemd-run runuser";
/// Words in a text that is run which read command lines, except `ps`, which is also a part of other
/// words.
pub(super) const OF_COMMAND_LINES: [&str; 3] = ["pgrep", "pkill", "/cmdline"];
/// Words of such a text that read other text.
const OF_TEXTS: [&str; 6] = ["awk ", "sed ", "grep ", "cut ", "tr ", "diff "];
/// The most words that may name a file which the script writes; each is compared with each file that is read.
const MOST: usize = 1024;
/// The most commands of a pipeline.
const MOST_PARTS: usize = 64;
/// The limit of assignments from variable to variable that are followed.
const ROUNDS: usize = 32;
/// Words for clocks in the messages and the files of a guest's kernel.
const OF_CLOCKS: [&str; 8] = [
    "clocksource",
    "kvm-clock",
    "kvm_clock",
    "pvclock",
    "acpi_pm",
    "sched_clock",
    "timer_list",
    "using msrs",
];
/// The same, but matched as whole words only.
const CLOCKS: [&str; 2] = ["tsc", "hpet"];

/// Returns where a text names a clock of a guest: the place, and the name.
pub(super) fn guests_clock(text: &str) -> Option<(usize, &'static str)> {
    let lower = text.to_ascii_lowercase();
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '=' | '.');
    let alone = |at: usize, name: &str| {
        let before = lower.get(..at).and_then(|it| it.chars().next_back());
        let after = lower.get(at + name.len()..).and_then(|it| it.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    };
    let words = CLOCKS.iter().filter_map(|name| {
        let (at, _) = lower.match_indices(name).find(|(at, _)| alone(*at, name))?;
        Some((at, *name))
    });
    OF_CLOCKS.iter().filter_map(|name| Some((lower.find(name)?, *name))).chain(words).min()
}

impl Guard<'_> {
    /// Checks that no command reads a text that an edit may change.
    pub(super) fn looks(&self, is: fn(&str) -> bool) -> Result<(), String> {
        let looked = self.looked.get_or_init(|| self.look(is));
        looked.clone()
    }

    fn look(&self, is: fn(&str) -> bool) -> Result<(), String> {
        let text = self.document.text.as_str();
        let said = |at: usize, what: &str| Err(format!("line {}: {what}", self.line(at)));
        for range in others(text, self.understood(is)) {
            let other = text.get(range.clone()).unwrap_or_default();
            if let Some((at, name)) = guests_clock(other) {
                return said(
                    range.start + at,
                    &format!("{name}: the guest's clock may be looked at"),
                );
            }
        }
        for document in &self.script.documents {
            let of = text.get(document.clone()).unwrap_or_default();
            if let Some(at) = command_lines(of) {
                return said(document.start + at, "what is written there may look at processes");
            }
        }
        let mut assigned: HashMap<&str, bool> = HashMap::new();
        for assign in self.script.commands.iter().flat_map(|it| &it.assigns) {
            let plain = words(assign).iter().all(|value| value.literal().is_some_and(is_plain));
            *assigned.entry(&assign.name).or_insert(true) &= plain;
        }
        let (of_machines, written) = (self.of_machines(is), self.written(is));
        let eyes =
            Eyes { guard: self, is, of_machines, written, assigned, pipes: RefCell::default() };
        for command in self.script.commands.iter().filter(|it| !starts(it, is)) {
            if let Some(what) = eyes.unknown(command) {
                return said(command.span.start, &what);
            }
        }
        Ok(())
    }

    /// Words that may name a file which the script, or a machine, writes.
    fn written(&self, is: fn(&str) -> bool) -> Vec<&Word> {
        let mut found = Vec::new();
        for command in &self.script.commands {
            let targets = command.redirects.iter().filter(|(operator, _)| operator.contains('>'));
            found.extend(targets.map(|(_, to)| to));
            let writes = ["tee", "dd", "cp", "mv", "ln", "install", "script", "rsync", "scp"];
            let name = told(command).map_or("", |(_, name)| name);
            if writes.contains(&name) || starts(command, is) {
                found.extend(command.words.iter().skip(1));
            }
        }
        found
    }

    /// Returns the variables that have a part of a machine's command line; `None` if the assignments between them are
    /// too many.
    fn of_machines(&self, is: fn(&str) -> bool) -> Option<HashSet<&str>> {
        let commands = &self.script.commands;
        let mut found: HashSet<&str> = HashSet::new();
        let machines = commands.iter().filter(|it| starts(it, is) && !tells_version(it));
        for used in machines.flat_map(|it| &it.words).flat_map(|word| &word.uses) {
            found.insert(known_as(&used.name));
        }
        let assigns = || commands.iter().flat_map(|it| &it.assigns);
        for _ in 0..ROUNDS {
            let before = found.len();
            for assign in assigns() {
                let uses = words(assign).iter().flat_map(|word| &word.uses);
                let used: Vec<&str> = uses.map(|it| known_as(&it.name)).collect();
                if found.contains(assign.name.as_str()) {
                    found.extend(used);
                } else if used.iter().any(|it| found.contains(it)) {
                    found.insert(&assign.name);
                }
            }
            if found.len() == before {
                return Some(found);
            }
        }
        None
    }
}

/// Facts about the texts that commands read.
struct Eyes<'a> {
    guard: &'a Guard<'a>,
    is: fn(&str) -> bool,
    /// `None` if these are not known.
    of_machines: Option<HashSet<&'a str>>,
    written: Vec<&'a Word>,
    /// Variables that the script assigns, and whether each of their values is plain text.
    assigned: HashMap<&'a str, bool>,
    /// The results for pipelines, by their places.
    pipes: RefCell<HashMap<(usize, usize), bool>>,
}

impl Eyes<'_> {
    /// Returns a description of the text that a command reads, unless that text is known not to be a machine's.
    fn unknown(&self, command: &Command) -> Option<String> {
        let (at, name) = told(command)?;
        let arguments = command.words.get(at + 1..).unwrap_or_default();
        let script = &self.guard.script;
        if name == "export" && arguments.iter().any(|word| word.text == "-f") {
            return Some("a function is exported, and its text may be looked at".to_owned());
        }
        let listing =
            matches!(name, "type" | "command") && arguments.iter().any(|it| it.text != "-v");
        if listing && arguments.iter().any(|it| script.functions.contains(&it.text)) {
            return Some("the text of a function is printed".to_owned());
        }
        let lists = matches!(name, "set" | "env" | "export" | "declare") && arguments.is_empty();
        if lists && (command.place.apart || command.place.substitution) {
            return Some(format!("`{name}` prints variables and functions"));
        }
        if listed(RUN_TEXT, name) {
            let has = |word: &Word| {
                let text = word.text.as_str();
                text.contains(' ')
                    && (command_lines(text).is_some()
                        || OF_TEXTS.iter().any(|it| text.contains(it)))
            };
            return arguments
                .iter()
                .any(has)
                .then(|| "a text is run that looks at others".to_owned());
        }
        let pattern = |word: &&Word| !word.text.starts_with('-');
        if matches!(name, "pgrep" | "pkill") {
            let full = |word: &Word| {
                word.text.starts_with('-')
                    && !word.text.starts_with("--")
                    && word.text.contains(['f', 'a'])
                    || matches!(word.text.as_str(), "--full" | "--list-full")
            };
            let plain = arguments.iter().filter(pattern).all(|word| self.is_plain(word));
            return (arguments.iter().any(full) && !plain)
                .then(|| "the command lines of processes are looked at".to_owned());
        }
        let of_process =
            |word: &Word| word.text.contains("/cmdline") && word.text != "/proc/cmdline";
        if command.words.iter().chain(command.redirects.iter().map(|(_, to)| to)).any(of_process) {
            return Some("the command line of a process is looked at".to_owned());
        }
        let fed = matches!(command.input, Some(Input::Pipe(_)));
        if fed && script.functions.iter().any(|it| it == name) && !self.input_is_known(command) {
            return Some("a function looks at what is printed".to_owned());
        }
        if !listed(FILTERS, name) || self.is_harmless(name, arguments) {
            return None;
        }
        let known = match self.files(name, arguments) {
            Some(known) => known,
            None => self.input_is_known(command),
        };
        (!known).then(|| format!("{name} looks at a text that is not known"))
    }

    /// Returns whether a command searches only for literal text, which [`super::looked_for`] compares, or processes
    /// whole lines.
    fn is_harmless(&self, name: &str, arguments: &[Word]) -> bool {
        if listed(FINDERS, name) {
            let from_file = |word: &Word| {
                word.text.starts_with("-f")
                    || word.text.starts_with("--file")
                    || word.text.contains("byte")
            };
            let patterns = arguments.iter().filter(|word| !word.text.starts_with('-')).take(1);
            let given = arguments.iter().filter_map(|word| word.text.strip_prefix("-e"));
            return !arguments.iter().any(from_file)
                && patterns.clone().count() == 1
                && patterns.clone().all(|word| self.is_plain(word))
                && given.clone().all(|it| it.is_empty());
        }
        let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        match (name, texts.as_slice()) {
            // The fields before the command line in the output of `ps`.
            ("awk" | "gawk" | "mawk", [program]) => {
                let field = program.replace([' ', ';'], "");
                let field = field.strip_prefix("{print$").and_then(|it| it.strip_suffix('}'));
                field.is_some_and(|it| matches!(it, "1" | "2"))
            }
            ("wc", ["-l"]) | ("cat" | "tac" | "sort" | "uniq" | "head" | "tail", []) => true,
            ("head" | "tail", [count]) => count
                .strip_prefix("-n")
                .or(count.strip_prefix('-'))
                .is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit())),
            ("head" | "tail", ["-n", count]) => count.bytes().all(|b| b.is_ascii_digit()),
            // The output goes to the terminal, or to another command, which is checked separately.
            ("cat" | "tac", _) => true,
            _ => false,
        }
    }

    /// Whether all files that a command names are the host's; `None` if it names none.
    fn files(&self, name: &str, arguments: &[Word]) -> Option<bool> {
        if listed(WITHOUT_FILES, name) {
            // `expr` reads its arguments.
            let of_others = |word: &Word| self.has_of_machines(word);
            return (name == "expr").then(|| !arguments.iter().any(of_others));
        }
        let number = |word: &&Word| {
            let text = word.text.trim_start_matches(['+', '-']);
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
        };
        let given = arguments.iter().any(|word| matches!(word.text.as_str(), "-e" | "-f"));
        let skipped = usize::from(listed(FINDERS, name) || listed(WITH_PROGRAM, name) && !given);
        let mut files = arguments
            .iter()
            .filter(|word| !word.text.starts_with('-'))
            .skip(skipped)
            .filter(|it| !number(it) && !is_of_processes(it))
            .peekable();
        files.peek()?;
        Some(files.all(|it| self.is_file_known(it)))
    }

    /// Returns whether a file has nothing of a machine: it belongs to the host, or the script does not write it.
    fn is_file_known(&self, file: &Word) -> bool {
        let text = file.text.as_str();
        if is_of_host(file) {
            return true;
        }
        let odd = ["/proc", "/dev/", "$(", "<(", "`", "*", "?"];
        if file.splits && file.uses.is_empty()
            || text == "-"
            || odd.iter().any(|it| text.contains(it))
        {
            return false;
        }
        let name = base(text);
        file.uses.iter().all(|it| self.assigned.contains_key(it.name.as_str()))
            && self.written.len() <= MOST
            && !self.has_of_machines(file)
            && !self.written.iter().any(|word| base(&word.text).contains(name))
    }

    /// Whether the standard input of a command has nothing of a machine.
    fn input_is_known(&self, command: &Command) -> bool {
        match &command.input {
            // A person types it.
            None => true,
            Some(Input::File(file)) => self.is_file_known(file),
            Some(Input::Text(text)) => !self.has_of_machines(text),
            Some(Input::Pipe(range)) => self.pipe_is_known(range),
        }
    }

    /// Returns whether no part of a pipeline, up to a place, has anything of a machine. A filter has the content of the
    /// part before it, so each part is checked once.
    fn pipe_is_known(&self, range: &Range<usize>) -> bool {
        if let Some(known) = self.pipes.borrow().get(&(range.start, range.end)) {
            return *known;
        }
        let commands = &self.guard.script.commands;
        let first = commands.partition_point(|it| it.span.start < range.start);
        let within = commands.iter().skip(first).take_while(|it| it.span.start < range.end);
        let of_parts = |it: &Command| matches!(&it.input, Some(Input::Pipe(before)) if range.start <= before.start);
        let known = within.clone().take(MOST_PARTS + 1).count() <= MOST_PARTS
            && within.clone().all(|it| self.is_source_known(it, of_parts(it)));
        self.pipes.borrow_mut().insert((range.start, range.end), known);
        known
    }

    /// Returns whether a command's output has nothing of a machine. `input`: the caller takes the command's own input
    /// as known.
    fn is_source_known(&self, command: &Command, input: bool) -> bool {
        if starts(command, self.is) {
            return tells_version(command);
        }
        let Some((at, name)) = told(command) else { return command.words.is_empty() };
        let arguments = command.words.get(at + 1..).unwrap_or_default();
        match name {
            "echo" | "printf" => !arguments.iter().any(|word| self.has_of_machines(word)),
            "true" | "false" | ":" | "test" | "[" | "sleep" | "cd" => true,
            _ if listed(OF_PROCESSES, name) => false,
            _ if listed(FILTERS, name) => {
                self.files(name, arguments).unwrap_or_else(|| input || self.input_is_known(command))
            }
            _ => listed(OF_HOST, name),
        }
    }

    /// Returns whether a pattern is literal text, or variables with literal text that the script assigns.
    fn is_plain(&self, word: &Word) -> bool {
        let inside = |c: char| c == '\u{1}';
        let parts = word.text.split(inside).enumerate();
        let written: String =
            parts.filter(|(index, _)| index % 2 == 0).map(|(_, part)| part).collect();
        let plain = |name: &str| self.assigned.get(name).copied().unwrap_or(true);
        let only_variables = word.text.matches(inside).count() == 2 * word.uses.len();
        let of_script = word.uses.iter().all(|it| it.form == Form::Plain && plain(&it.name));
        !word.lines && only_variables && of_script && is_plain(&written)
    }

    fn has_of_machines(&self, word: &Word) -> bool {
        let Some(of_machines) = &self.of_machines else { return true };
        word.uses.iter().any(|it| of_machines.contains(known_as(&it.name)))
    }
}

/// Returns where a text that is run, or written, may read command lines.
fn command_lines(text: &str) -> Option<usize> {
    OF_COMMAND_LINES.iter().chain(&["ps "]).find_map(|it| text.find(it))
}

/// Returns whether a word is the numbers of processes: `$(pidof qemu-system-x86_64)`. They are not the text of a machine.
fn is_of_processes(word: &Word) -> bool {
    let text = word.text.trim_matches('\u{1}');
    let quoted = || text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    let inner = text.strip_prefix("$(").and_then(|text| text.strip_suffix(')')).or_else(quoted);
    let mut words = inner.unwrap_or_default().split_whitespace();
    let plain = |word: &str| {
        let name = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let option = matches!(word, "-s" | "-x" | "-o" | "-n");
        option || !word.starts_with('-') && word.chars().all(name)
    };
    matches!(words.next(), Some("pidof" | "pgrep")) && words.all(plain)
}

/// Returns the variable's name, or `@` for all parameters of the script, because one of them may be any.
fn known_as(name: &str) -> &str {
    let parameter = matches!(name, "@" | "*") || name.bytes().all(|b| b.is_ascii_digit());
    if parameter { "@" } else { name }
}

/// Returns the program of a command and its place, after the commands that run it unchanged.
fn told(command: &Command) -> Option<(usize, &str)> {
    let names = || command.words.iter().map(|word| word.literal().map(base)).enumerate();
    let first = names().next()?.1?;
    let looks = |name: &str| {
        [FILTERS, OF_PROCESSES, RUN_TEXT, "pkill"].iter().any(|names| listed(names, name))
    };
    // `sudo -u NAME ps`: only the options of `sudo` show which of its words is the program.
    let at = match wraps(first) {
        true => names().find(|(_, name)| name.is_some_and(looks)).map_or(0, |(at, _)| at),
        false => 0,
    };
    Some((at, base(command.words.get(at)?.literal()?)))
}

/// Whether a command requests a program's version or its help.
fn tells_version(command: &Command) -> bool {
    let asks = |word: &Word| {
        matches!(
            word.text.as_str(),
            "-version" | "--version" | "-help" | "--help" | "-h" | "help" | "?"
        ) || word.text.ends_with(",help")
    };
    command.words.iter().any(asks)
}

/// Whether a word names a file of the host.
fn is_of_host(word: &Word) -> bool {
    let text = word.text.as_str();
    // The text before an expansion is enough to recognise a file of the host.
    let known = text.split('\u{1}').next().unwrap_or_default();
    !text.contains("..") && (HOST.iter().any(|it| known.starts_with(it)) || listed(OF_PROC, text))
}

/// Returns whether a pattern is only literal text, which the other rule compares. `[q]emu` is also
/// a common idiom.
fn is_plain(text: &str) -> bool {
    let text = text.trim_start_matches('^');
    let idiom = text.strip_prefix('[').and_then(|rest| {
        let (one, rest) = (rest.chars().next()?, rest.get(1..)?);
        one.is_ascii_alphanumeric().then(|| rest.strip_prefix(']')).flatten()
    });
    let text = idiom.unwrap_or(text);
    let text = [".*", "\\|", "\\."].iter().fold(text.to_owned(), |text, it| text.replace(it, " "));
    text.chars().all(|c| c.is_ascii_alphanumeric() || " _-/:=@,%+.|".contains(c))
}
