//! Lines below the last record of a kernel after which another clocksource may be in use: a command that writes the
//! file, a restart with other parameters, a sentence that reports either.
//!
//! The scan reads a command that it knows as an event of its own. Here the question is the opposite: a line that names
//! the clocksource, and that is not known only to read it, leaves open what the kernel did. So an unknown tool does not
//! make an old state a present one.

mod boot;
mod command;
mod sentence;

use super::lines::text;
use super::{intended, plain, prefix, refused, transcript};
use crate::names;

/// Lines below the last record that are examined, at most.
const LINES: usize = 4000;
/// Characters of a line that is examined, at most.
const LONGEST: usize = 2000;
/// Number of changes that are kept.
const KEPT: usize = 32;

/// What may have changed the clocksource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A command, or a file that a program applies.
    Command,
    /// A restart of the machine after a change of its boot parameters.
    Restart,
    /// A sentence that reports a change.
    Sentence,
    /// A line like the kernel's that the kernel need not have written.
    Output,
}

/// A line after which another clocksource may be in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// Its number in the input, from 1.
    pub line: u64,
    /// What it is.
    pub by: By,
    /// The clocksource that it requests, if it names one.
    pub wanted: Option<String>,
    /// The command, or the heading, below which the line is.
    pub below: Option<String>,
}

/// Keeps a line; of many, the last ones.
pub(super) fn keep(kept: &mut Vec<Later>, later: Later) {
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(later);
}

/// The first of the changes after a line that may have put a clocksource other than `was` in use. A command that
/// requests `was` again cancels those before it. `also_output`: also after what the kernel need not have written.
pub(super) fn of<'a>(
    changes: &'a [Later],
    line: u64,
    was: &str,
    also_output: bool,
) -> Option<&'a Later> {
    let same = |one: &Later| one.wanted.as_deref() == Some(was);
    let behind = |one: &&Later| one.line > line;
    let restored = changes.iter().filter(behind).filter(|one| one.by == By::Command && same(one));
    let from = restored.map(|one| one.line).max().unwrap_or(line);
    let counts = |one: &Later| also_output || one.by != By::Output;
    changes.iter().find(|one| one.line > from && !same(one) && counts(one))
}

/// The changes below the last record in the end of a text with this number of lines.
pub(super) fn find(tail: &[u8], count: u64) -> Vec<Later> {
    let tail = tail.strip_suffix(b"\n").unwrap_or(tail);
    let mut lines: Vec<String> = tail
        .rsplit(|byte| *byte == b'\n')
        .take(LINES)
        .map(|line| text(line, 0, line.len().min(LONGEST)).into_owned())
        .take_while(|line| !is_record(line))
        .collect();
    if lines.len() == LINES {
        return Vec::new();
    }
    lines.reverse();
    let mut found = Vec::new();
    let mut next_boot = boot::Edits::default();
    for (at, line) in lines.iter().enumerate() {
        let Some(line) = command::Line::of(line) else { continue };
        let change = next_boot
            .take(&line)
            .or_else(|| line.changes().then(|| (By::Command, wanted(line.text))));
        let below = lines.get(at + 1).map_or("", String::as_str);
        if let Some((by, wanted)) = change
            && !(by == By::Command && (refused::is_refusal(below) || is_suggested(&lines, at)))
        {
            found.push((at, by, wanted));
        }
    }
    let told = sentence::reports(&lines).into_iter().map(|(at, name)| (at, By::Sentence, name));
    found.extend(told);
    found.sort_by_key(|(at, ..)| *at);
    found.truncate(KEPT);
    let number =
        |at: usize| (count + 1).saturating_sub(u64::try_from(lines.len() - at).unwrap_or(0));
    let later = |(at, by, wanted)| Later { line: number(at), by, wanted, below: None };
    found.into_iter().map(later).collect()
}

/// Whether a kernel printed a line.
fn is_record(line: &str) -> bool {
    prefix::strip(line).at.is_some() || plain::is_of_the_kernel(line)
}

/// Whether the sentence above a command, or around it, only suggests or plans it.
fn is_suggested(lines: &[String], at: usize) -> bool {
    let above = || lines[..at].iter().rev().map(|line| line.as_str().into());
    transcript::is_suggested(above()) || intended::is_intended(&lines[at], above())
}

/// The clocksource that a text names, if it names one only. Its parts are those of paths and parameters.
fn wanted(text: &str) -> Option<String> {
    let mut names = named(text);
    let first = names.next()?;
    names.all(|name| name == first).then(|| first.to_owned())
}

/// The clocksources that a text names, as words of their own.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@');
    text.split(move |c: char| !is_part(c)).filter(|word| is_clocksource(word))
}

/// Whether a word can only be the name of a clocksource: some others are words of every language.
fn is_clocksource(word: &str) -> bool {
    const OTHERS: [&str; 12] = [
        "timer", "tick", "stick", "rtc", "tod", "itc", "stc", "MIPS", "GIC", "META", "Constant",
        "qemu",
    ];
    names::is_known(word) && !OTHERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "[    1.900000] clocksource: Switched to clocksource tsc\n[    9.000000] usb 1-1: new device\n";
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    fn changes(more: &str) -> bool {
        let text = format!("{LOG}{more}");
        let found = find(text.as_bytes(), text.lines().count() as u64);
        of(&found, 0, "tsc", false).is_some()
    }

    #[test]
    fn writes_in_every_form_may_change_the_clocksource() {
        for more in [
            format!("$ sudo tee {FILE} <<< acpi_pm\nacpi_pm\n"),
            "# cd /sys/devices/system/clocksource/clocksource0; echo hpet > current_clocksource\n"
                .to_owned(),
            format!("# printf hpet > {FILE}\n"),
            format!("printf '%s' hpet >{FILE}\n"),
            format!(">>> open('{FILE}','w').write('hpet')\n4\n"),
            format!("$ sudo python3 -c \"open('{FILE}', 'w').write('hpet')\"\n"),
            format!("$ ssh root@lulu \"echo hpet > {FILE}\"\n"),
            format!("# echo hpet | dd of={FILE}\n"),
            format!("box:~ # cp /tmp/hpet {FILE}\n"),
            format!("# perl -e 'open(F, \">\", \"{FILE}\"); print F \"hpet\"'\n"),
            format!("[a@b ~]$ ./write-it {FILE} hpet\n"),
            "a@b:~$ sudo systemctl start set-clocksource-hpet.service\n".to_owned(),
            format!("ExecStart=/bin/sh -c 'echo hpet > {FILE}'\n"),
            format!("$ ansible all -b -m shell -a 'echo hpet > {FILE}'\n"),
            format!("a@b:~$ ansible all -b -m copy -a 'content=hpet dest={FILE}'\n"),
            format!("# F={FILE}\n# echo hpet > $F\n"),
            format!("w {FILE} - - - - hpet\n"),
            "devices/system/clocksource/clocksource0/current_clocksource = hpet\n".to_owned(),
            format!(
                "Nov 29 10:00:00 web sudo: a : PWD=/ ; USER=root ; COMMAND=/usr/bin/tee {FILE}\n"
            ),
            format!("/ # busybox echo hpet >{FILE}\n"),
        ] {
            assert!(changes(&more), "{more}");
            assert!(!changes(&format!("{more}{LOG}")), "above a record: {more}");
        }
    }

    #[test]
    fn reads_and_writes_of_the_same_name_change_nothing() {
        for more in [
            format!("a@b:~$ cat {FILE}\ntsc\n"),
            format!("a@b:~$ x=$(<{FILE}); echo $x\n"),
            format!("a@b:~$ cat {FILE} > /tmp/before\n"),
            format!("a@b:~$ cp {FILE} /tmp/before\n"),
            format!("a@b:~$ watch -n1 cat {FILE} 2>/dev/null\n"),
            format!("a@b:~$ ssh lulu cat {FILE}\n"),
            format!("a@b:~$ python3 -c \"print(open('{FILE}').read())\"\n"),
            "a@b:~$ grep -r . /sys/devices/system/clocksource/\n".to_owned(),
            format!("{FILE}:tsc\n"),
            format!("cat: {FILE}: No such file or directory\n"),
            "a@b:~$ cd /sys/devices/system/clocksource/clocksource0\n".to_owned(),
            "a@b:~$ dmesg | grep -i clocksource > log.txt\n".to_owned(),
            "a@b:~$ git clone https://example.org/clocksource-tools\n".to_owned(),
            "a@b:~$ systemctl status set-clocksource.service\n".to_owned(),
            format!("# printf tsc > {FILE}\n"),
            format!("# printf hpet > {FILE}\n# printf tsc > {FILE}\n"),
            format!("a@b:~$ echo hpet > {FILE}\nbash: {FILE}: Permission denied\n"),
            format!("You could try:\n\n# printf hpet > {FILE}\n"),
            "a@b:~$ cat /etc/default/grub\nGRUB_CMDLINE_LINUX=\"clocksource=hpet\"\n".to_owned(),
            "a@b:~$ sudo reboot\n".to_owned(),
        ] {
            assert!(!changes(&more), "{more}");
        }
    }

    #[test]
    fn restarts_with_other_parameters_may_change_the_clocksource() {
        for more in [
            "a@b:~# sed -i s/quiet/clocksource=hpet/ /etc/default/grub && update-grub && reboot\n",
            "# kexec -l /boot/vmlinuz --append=\"clocksource=acpi_pm\" && kexec -e\n",
            "# kexec -l /boot/vmlinuz --append=\"ro notsc\"\n# kexec -e\n",
            "a@b:~$ sudo vi /boot/firmware/cmdline.txt\na@b:~$ sudo shutdown -r now\n",
            "a@b:~$ sudo kernelstub -a tsc=unstable\na@b:~$ sudo systemctl reboot\n",
            "# echo 'hpet=force' >> /boot/loader/entries/x.conf; reboot\n",
        ] {
            assert!(changes(more), "{more}");
        }
        for more in [
            "a@b:~# sed -i s/quiet/clocksource=hpet/ /etc/default/grub && update-grub\n",
            "# kexec -l /boot/vmlinuz --append=\"clocksource=acpi_pm\"\n",
            "a@b:~# sed -i s/quiet/clocksource=tsc/ /etc/default/grub && update-grub && reboot\n",
            "a@b:~$ grep tsc= /proc/cmdline\na@b:~$ sudo reboot\n",
        ] {
            assert!(!changes(more), "{more}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_whole_text() {
        let text = format!("{LOG}# printf hpet > {FILE}\nok\n");
        let one = Later { line: 3, by: By::Command, wanted: Some("hpet".to_owned()), below: None };
        assert_eq!(find(text.as_bytes(), 4), [one]);
    }
}
