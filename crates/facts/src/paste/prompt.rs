//! Prompts of shells.

/// A prompt, with the host that it names and the command after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prompt<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) command: &'a str,
}

/// Commands that make a bare `#` or `$` a prompt: comments begin with other words.
const COMMANDS: [&str; 47] = [
    "cat",
    "echo",
    "dmesg",
    "sudo",
    "grep",
    "egrep",
    "head",
    "tail",
    "journalctl",
    "uname",
    "more",
    "less",
    "perf",
    "strace",
    "lscpu",
    "cpuid",
    "dmidecode",
    "systemd-detect-virt",
    "virt-what",
    "lsmod",
    "chronyc",
    "timedatectl",
    "adjtimex",
    "ntptime",
    "ntpq",
    "virsh",
    "pg_test_timing",
    "redis-server",
    "valkey-server",
    "time",
    "taskset",
    "numactl",
    "hostnamectl",
    "go",
    "bpftrace",
    "tee",
    "clocksmith",
    "vdsotest",
    "clockperf",
    "sysbench",
    "find",
    "for",
    "awk",
    "zgrep",
    "cd",
    "make",
    "gcc",
];

/// The prompt that a line is; for a command that runs on another machine (`ssh db2 cat x`), as of that machine.
pub(super) fn read(line: &str) -> Option<Prompt<'_>> {
    let found = own(line)?;
    Some(remote(found.command).unwrap_or(found))
}

/// Options of ssh that have a value.
const WITH_VALUES: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// The machine and the command of `ssh [OPTIONS] [USER@]HOST COMMAND`. Without a command it is a login, after which the
/// other machine prints its own prompt.
pub(super) fn remote(command: &str) -> Option<Prompt<'_>> {
    let mut rest = command.strip_prefix("sudo ").unwrap_or(command).strip_prefix("ssh ")?;
    loop {
        let (word, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        let Some(option) = word.strip_prefix('-') else {
            let host = word.rsplit_once('@').map_or(word, |(_, host)| host);
            let command = rest.trim().trim_matches(['\'', '"']);
            return (is_name(host) && !command.is_empty())
                .then_some(Prompt { host: Some(host), command });
        };
        // `-p 22`, but not `-p22`.
        if option.ends_with(|c: char| WITH_VALUES.contains(c)) {
            rest = rest.trim_start().split_once(' ')?.1;
        }
    }
}

/// The prompt of the machine that prints it: `$ cat x`, `# cat x`, `root@web:~# cat x`, `[root@web ~]# cat x`,
/// `web:~ # cat x`, `user@web ~ % cat x`, `~]# cat x`.
pub(super) fn own(line: &str) -> Option<Prompt<'_>> {
    let line = line.trim();
    if line.len() > 2000 {
        return None;
    }
    if let Some(rest) = line.strip_prefix(['$', '#', '%']) {
        // `# ssh ...` may be a comment.
        let is_command = is_command(rest) || line.starts_with("$ ssh ");
        return is_command.then(|| Prompt { host: None, command: rest.trim() });
    }
    let front = &line.as_bytes()[..line.len().min(100)];
    let at = memchr::memchr3(b'$', b'#', b'%', front)?;
    let (head, rest) = (line[..at].trim_end(), &line[at + 1..]);
    if !(rest.is_empty() || rest.starts_with(' ') || is_command(rest)) {
        return None;
    }
    // `~]# cat x`: manuals leave the user and the host out.
    if matches!(head, "~]" | "/]" | "~" | "/" | "]") {
        return is_command(rest).then(|| Prompt { host: None, command: rest.trim() });
    }
    let inside = head.strip_prefix('[').and_then(|head| head.strip_suffix(']'));
    let head = inside.unwrap_or(head).trim_start_matches('(').trim();
    let mut words = head.split_ascii_whitespace();
    let (first, second) = (words.next()?, words.next());
    if words.next().is_some() || second.is_some_and(|dir| dir.contains('@') || dir.ends_with(',')) {
        return None;
    }
    let place = first.split_once(':').map_or(first, |(place, _)| place);
    let host = match place.split_once('@') {
        Some((user, host)) if is_name(user) && is_name(host) => host,
        // Without a user only a known command makes it a prompt.
        None if is_name(place) && first.contains(':') && is_command(rest) => place,
        // `host$ cat x`, `guest# cat x`.
        None if second.is_none() && is_bare(line, at) && is_name(place) => {
            let host = Some(place).filter(|place| !is_of_a_user(place));
            return Some(Prompt { host, command: rest.trim() });
        }
        _ => return None,
    };
    Some(Prompt { host: Some(host), command: rest.trim() })
}

/// Commands after a prompt that is one word.
const BARE: [&str; 18] = [
    "cat",
    "dmesg",
    "uname",
    "sudo",
    "echo",
    "head",
    "grep",
    "journalctl",
    "lscpu",
    "chronyc",
    "timedatectl",
    "ntpq",
    "ntpdate",
    "ntptime",
    "adjtimex",
    "hwclock",
    "date",
    "strace",
];

/// Whether the prompt character directly follows the first word of a line, and is followed by a command.
fn is_bare(line: &str, at: usize) -> bool {
    let begins = line.starts_with(|c: char| c.is_ascii_alphabetic());
    let command = line[at + 1..].strip_prefix(' ').and_then(|rest| rest.split(' ').next());
    begins
        && !line[..at].contains(' ')
        && line[at..].starts_with(['$', '#'])
        && command.is_some_and(|word| BARE.contains(&word))
}

/// Words before the prompt character that name a shell or a user.
pub(super) fn is_of_a_user(word: &str) -> bool {
    const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "ksh", "ash", "dash"];
    const USERS: [&str; 8] = ["root", "user", "admin", "me", "you", "shell", "prompt", "adb"];
    let shell = word.split('-').next().unwrap_or_default();
    SHELLS.contains(&shell) || USERS.contains(&word)
}

fn is_command(rest: &str) -> bool {
    let rest = rest.trim_start();
    let word = rest.split([' ', '\t', '|', ';']).next().unwrap_or_default();
    COMMANDS.contains(&word)
        || word.starts_with("./") && word.len() > 2
        || word.starts_with("/usr/")
}

pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_of_each_shell_names_host_and_command() {
        for (line, host, command) in [
            ("$ cat /x", None, "cat /x"),
            ("$cat /x", None, "cat /x"),
            ("# dmesg | grep tsc", None, "dmesg | grep tsc"),
            ("root@web1:~# uname -a", Some("web1"), "uname -a"),
            ("root@web1:/# ", Some("web1"), ""),
            ("[root@db-2 ~]# cat /x", Some("db-2"), "cat /x"),
            ("user@mac ~ % cat /x", Some("mac"), "cat /x"),
            ("suse:~ # cat /x", Some("suse"), "cat /x"),
            ("~]# cat /x", None, "cat /x"),
            ("~]$ dmesg", None, "dmesg"),
            ("/ # cat /x", None, "cat /x"),
            ("guest$ cat /x", Some("guest"), "cat /x"),
            ("db2$ chronyc tracking | grep Leap", Some("db2"), "chronyc tracking | grep Leap"),
            ("host$ date -u", Some("host"), "date -u"),
            ("sh-4.2# cat /x", None, "cat /x"),
            ("root# cat /x", None, "cat /x"),
            ("root@db1:~# ssh db2 cat /x", Some("db2"), "cat /x"),
            ("root@db1:~# sudo ssh -tp 22 -o A=b me@db2 'cat /x'", Some("db2"), "cat /x"),
            ("$ ssh -p22 db2 uname -a", Some("db2"), "uname -a"),
            ("root@db1:~# ssh db2", Some("db1"), "ssh db2"),
            ("root@db1:~# ssh -p 22 db2", Some("db1"), "ssh -p 22 db2"),
            ("root@db1:~# ssh $h cat /x", Some("db1"), "ssh $h cat /x"),
        ] {
            assert_eq!(read(line), Some(Prompt { host, command }), "{line}");
        }
        for other in [
            "# a comment",
            "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP",
            "Linux version 6.1.0 (builder@example) (gcc 12) #1 SMP",
            "Linux web 6.1.0 #1 SMP x86_64 GNU/Linux",
            "~]# a heading",
            "half% cat",
            "38.17%  [kernel]  [k] acpi_pm_read",
            "mail to me@example.org costs 5 $ a year",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
