//! Rows of the tables that such commands print, by the heading of the table or by the form of one row.

use crate::word_list::WordList;

/// A table, by its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Processes: the number of the process is in this column (`ps`, `top`, `lsof`).
    Processes(usize),
    /// Filesystems: `df`.
    Filesystems,
    /// Mounts: `findmnt`.
    Mounts,
    /// Connections: `ss`, `netstat`.
    Connections,
    /// Containers: `docker ps`.
    Containers,
    /// Sessions: `w`.
    Sessions,
}

/// Columns before the number of a process, at most.
const COLUMNS: usize = 5;
/// Beginnings of other headings.
const HEADINGS: [(&str, Table); 9] = [
    ("Filesystem ", Table::Filesystems),
    ("TARGET ", Table::Mounts),
    ("Netid ", Table::Connections),
    ("State ", Table::Connections),
    ("Proto ", Table::Connections),
    ("CONTAINER ID ", Table::Containers),
    ("CONTAINER ", Table::Containers),
    ("USER TTY ", Table::Sessions),
    ("NAME LINE ", Table::Sessions),
];
/// Further words of those headings.
const BEHIND: [&str; 8] =
    ["Mounted", "FSTYPE", "Recv-Q", "Foreign", "IMAGE", "WHAT", "COMMENT", "LOGIN@"];

/// The table of which a line is the heading.
pub(super) fn heading(line: &str) -> Option<Table> {
    static WORDS: WordList<()> =
        WordList::new(|| BEHIND.iter().chain(&["PID"]).map(|word| (*word, ())).collect());
    if !WORDS.is_in(line) {
        return None;
    }
    let words = || line.split_ascii_whitespace();
    let at = words().take(COLUMNS).position(|word| word == "PID");
    if let Some(at) = at {
        let heads = |word: &str| {
            word.bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"%+/-".contains(&b))
        };
        // A sentence that begins with the word has small letters behind it.
        return words().take(COLUMNS).all(heads).then_some(Table::Processes(at));
    }
    if !BEHIND.iter().any(|word| words().any(|it| it.starts_with(word))) {
        return None;
    }
    let line: String = words().collect::<Vec<_>>().join(" ");
    HEADINGS.iter().find(|(begins, _)| line.starts_with(begins)).map(|(_, table)| *table)
}

impl Table {
    /// Whether a line is a row of the table.
    pub(super) fn has(self, line: &str) -> bool {
        let mut words = line.split_ascii_whitespace();
        match self {
            Self::Processes(at) => words.nth(at).is_some_and(is_number),
            Self::Filesystems => {
                let is_share = |word: &str| word.strip_suffix('%').is_some_and(is_number);
                words.any(|word| is_share(word) || word == "-")
            }
            Self::Mounts => line.contains('/'),
            Self::Connections => is_connection(line) || line.starts_with("users:(("),
            Self::Containers => words.next().is_some_and(|word| {
                word.len() >= 12 && word.bytes().all(|b| b.is_ascii_hexdigit())
            }),
            Self::Sessions => is_session(line),
        }
    }
}

/// Whether a line is of such an output, whatever is above it.
pub(super) fn is_row(line: &str) -> bool {
    is_file(line)
        || is_mount(line)
        || is_branch(line)
        || is_of_a_unit(line)
        || is_packet(line)
        || is_session(line)
        || line.contains("users:((\"")
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// `-rw-r--r-- 1 eve eve 0 Nov 2 10:00 x`; with the number and the blocks of the inode before it (`ls -lis`, `find -ls`).
fn is_file(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().skip_while(|word| is_number(word));
    words.next().is_some_and(|word| {
        let mode = word.trim_end_matches(['.', '+', '@']).as_bytes();
        mode.len() == 10
            && b"-dlbcpsDC".contains(&mode[0])
            && mode[1..].iter().all(|b| b"-rwxsStT".contains(b))
    })
}

/// `X on /home type ext4 (rw)`; a row of `/proc/mounts` cannot be distinguished from other text.
fn is_mount(line: &str) -> bool {
    line.ends_with(')')
        && line.split_once(" on /").is_some_and(|(_, rest)| {
            rest.rsplit_once(" type ").is_some_and(|(_, rest)| rest.contains(" ("))
        })
}

/// `├─812 x`, `|-x(812)`: the trees of `systemctl status`, `systemd-cgls`, `ps f` and `pstree`.
fn is_branch(line: &str) -> bool {
    let begins_with_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let drawn = ["\u{251c}\u{2500}", "\u{2514}\u{2500}"].iter().any(|sign| {
        line.split_once(sign).is_some_and(|(_, rest)| begins_with_number(rest.trim_start()))
    });
    let has_number = || line.split('(').skip(1).any(begins_with_number);
    drawn
        || line.contains(" \\_ ")
        || line.starts_with(['|', '`']) && line[1..].starts_with('-') && has_number()
}

/// Fields of `systemctl status` with names that the author of a unit, or a process, chose.
fn is_of_a_unit(line: &str) -> bool {
    const FIELDS: [&str; 8] = [
        "CGroup: ",
        "Main PID: ",
        "Process: ",
        "Status: \"",
        "Docs: ",
        "Loaded: ",
        "Drop-In: ",
        "Device: ",
    ];
    let is_heading = ["● ", "○ ", "× ", "↻ ", "* "].iter().any(|sign| {
        line.strip_prefix(sign).is_some_and(|rest| {
            rest.split_once(" - ").is_some_and(|(unit, _)| {
                let kinds = [".service", ".scope", ".slice", ".timer", ".socket", ".mount"];
                !unit.contains(' ') && kinds.iter().any(|kind| unit.ends_with(kind))
            })
        })
    });
    is_heading || FIELDS.iter().any(|field| line.starts_with(field))
}

/// `10:00:00.000001 IP a > b: ...`: tcpdump, possibly with the date.
fn is_packet(line: &str) -> bool {
    const PROTOCOLS: [&str; 10] =
        ["IP", "IP6", "ARP,", "STP", "LLDP,", "UDP,", "TCP,", "In", "Out", "eth0"];
    let mut words = line.split_ascii_whitespace().skip_while(|word| {
        let date = word.len() == 10 && word.bytes().filter(|b| *b == b'-').count() == 2;
        date && word.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    });
    let (time, protocol) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_time = time.len() >= 15
        && time.bytes().filter(|b| *b == b':').count() == 2
        && time.bytes().all(|b| b.is_ascii_digit() || b":.".contains(&b));
    is_time && PROTOCOLS.contains(&protocol)
}

/// `eve pts/0 10.0.0.1 Mon Nov 2 10:00`: `who`, `w`, `last`.
fn is_session(line: &str) -> bool {
    let terminal = line.split_ascii_whitespace().nth(1).unwrap_or_default();
    let numbered = ["pts/", "tty"].iter().find_map(|begins| terminal.strip_prefix(begins));
    numbered.is_some_and(|rest| rest.len() <= 6 && rest.ends_with(|c: char| c.is_ascii_digit()))
}

/// `tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:*`, `unix 2 [ ACC ] STREAM LISTENING 123 @x`.
fn is_connection(line: &str) -> bool {
    const FIRST: [&str; 22] = [
        "tcp", "tcp6", "udp", "udp6", "udplite", "raw", "raw6", "unix", "u_str", "u_dgr", "u_seq",
        "p_raw", "p_dgr", "nl", "v_str", "v_dgr", "icmp6", "sctp", "mptcp", "LISTEN", "ESTAB",
        "UNCONN",
    ];
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    (FIRST.contains(&first) || first.contains("-WAIT")) && words.take(4).any(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_tables_and_their_rows() {
        for (head, row) in [
            ("USER         PID %CPU %MEM    VSZ", "root           1  0.0  0.1 167744"),
            ("UID          PID    PPID  C STIME", "eve 812 1 0 10:00"),
            ("    PID TTY          TIME CMD", "812 pts/0 00:00:00 x"),
            ("PID COMMAND", "812 x"),
            ("COMMAND PID USER FD TYPE", "x 812 eve 3r"),
            ("Filesystem     1K-blocks    Used Available Use% Mounted on", "x y 1 1 1 50% /"),
            ("Netid State Recv-Q Send-Q", "u_str LISTEN 0 1 @x 1 * 0"),
            ("Proto Recv-Q Send-Q Local Address Foreign Address State", "tcp 0 0 a b"),
            ("CONTAINER ID   IMAGE     COMMAND", "0123456789ab x \"y\""),
            ("USER     TTY      FROM             LOGIN@   IDLE WHAT", "eve pts/0 x 10:00 x"),
        ] {
            let table = heading(head);
            assert!(table.is_some_and(|table| table.has(row)), "{head}");
            assert!(!table.is_some_and(|table| table.has("current_clocksource: hpet")), "{head}");
        }
        for other in ["PID is the number", "State of the clock", "Filesystem", "clocksource tsc"] {
            assert_eq!(heading(other), None, "{other}");
        }
    }

    #[test]
    fn rows_are_recognised_alone() {
        for row in [
            "-rw-r--r-- 1 eve eve 0 Nov  2 10:00 x",
            "131 4 drwxr-xr-x. 2 eve eve 4096 Nov  2 10:00 x",
            "x on /home/eve type fuse (rw)",
            "├─812 x",
            "|-x(812)",
            "eve 812 \\_ x",
            "Main PID: 812 (x)",
            "● x.service - y",
            "10:00:00.000001 IP a > b: x",
            "eve      pts/0        x Mon Nov  2 10:00",
            "tcp LISTEN 0 1 a b users:((\"x\",pid=1))",
        ] {
            assert!(is_row(row), "{row}");
        }
        for other in [
            "[    1.900000] clocksource: Switched to clocksource hpet",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource:hpet",
            "current_clocksource=hpet",
            "- clocksource: tsc",
            "4 tsc hpet",
            // `less -N`; a list of processes without its command looks the same.
            "812 clocksource: Switched to clocksource hpet",
            "12 [    1.900000] x",
            "Nov  2 10:00:00 db1 kernel: x",
            "10:00:00.000001 clocksource: x",
        ] {
            assert!(!is_row(other), "{other}");
        }
    }
}
