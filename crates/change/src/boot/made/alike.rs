//! Whether a file that a program made is the previous one with the requested words, and no more.
//!
//! - Every previous section and every line outside of entries is present, in the same order.
//! - Every previous entry is present, in the same order, with the same lines; the line of its kernel has the same
//!   words, except those that were requested. An entry may be lost only if the settings make it (`10_linux`)
//!   and its kernel is no longer in `/boot`.
//! - Entries may be added: of kernels that were installed since the file was made. Each is like a previous entry of its
//!   section except for the version, its kernel is in `/boot`, and the first entry may have the new kernel; without an
//!   initial RAM disk `10_linux` gives it a different `root=`. Entries of other programs (`30_os-prober`) may be added,
//!   but not in front of all previous ones, where GRUB boots them. No entry is added of a kernel that had one before,
//!   in any section, and none outside of the sections.
//!
//! Comments and indentation are ignored, and so are the lines of `00_header` that set the language of messages. A file
//! that was out of date before has more differences, which is not a fault of the program; but these changes were not
//! requested.

use super::lexer::{behind, words as words_of};
use super::{Made, is_bls, is_extlinux, is_grub, kernel_line, keyword, marker, script};
use crate::boot::bls;
use crate::words::{self, Change};
use std::collections::BTreeSet;
use std::path::Path;

/// The longest quotation of a line in a message, in characters.
const LONGEST: usize = 160;

/// Returns the first difference that was not requested, without the beginning of the sentence: `no longer has ...`.
pub(super) fn difference(
    made: &Made,
    change: &Change,
    has_kernel: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let before = made.before.as_deref()?;
    let Some(after) = made.after.as_deref() else {
        let lost = is_bls(&made.path)
            && bls::boots_linux(before)
            && bls_kernel(&made.path, before).is_some_and(|kernel| has_kernel(&kernel));
        return lost.then(|| "is gone, and its kernel is not".to_owned());
    };
    let alike = Alike { change, has_kernel };
    if is_grub(&made.path) {
        alike.menu(&grub(before), &grub(after))
    } else if is_extlinux(&made.path) {
        alike.menu(&extlinux(before), &extlinux(after))
    } else if is_bls(&made.path) {
        alike.keys(before, after)
    } else if made.path.ends_with("grubenv") {
        let line =
            |text: &str| text.lines().find(|line| line.starts_with(SHARED)).map(str::to_owned);
        let (was, is) = (line(before)?, line(after)?);
        (!alike.same_line(&was, &is)).then(|| other(&was, &is))
    } else {
        None
    }
}

/// Keys of an entry file that differ between kernels (Boot Loader Specification, type #1).
const OF_KERNEL: [&str; 8] =
    ["title", "version", "linux", "initrd", "sort-key", "machine-id", "id", "grub_class"];

/// Returns the reason why an added entry file is not one of a kernel that was installed since, like
/// a previous one of its directory.
pub(super) fn added_entry(
    path: &Path,
    text: Option<&str>,
    former: &[Made],
    change: &Change,
    has_kernel: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let Some(text) = text else { return Some("it is not a regular file".to_owned()) };
    let kernel_of = |text: &str| {
        let line = text.lines().find_map(|line| keyword(line.trim(), &["linux"]))?;
        Some(line.trim().to_owned())
    };
    let Some(kernel) = kernel_of(text) else { return Some("it starts no Linux kernel".to_owned()) };
    // By the filesystem of the entries, or by the whole one.
    let there = has_kernel(&kernel) || bls_kernel(path, text).is_some_and(|path| has_kernel(&path));
    if !there {
        return Some(format!("its kernel {} does not exist", short(&kernel)));
    }
    let siblings = || {
        let beside = former.iter().filter(|made| made.path.parent() == path.parent());
        beside.filter(|made| is_bls(&made.path)).filter_map(|made| made.before.as_deref())
    };
    if siblings().any(|text| kernel_of(text).as_ref() == Some(&kernel)) {
        return Some(format!("its kernel {} already has an entry", short(&kernel)));
    }
    let alike = Alike { change, has_kernel };
    let rest = |text: &str| -> Vec<(usize, String)> {
        let kept = |line: &Line<'_>| {
            let key = line.text.split_ascii_whitespace().next().unwrap_or_default();
            !key.starts_with('#') && key != "options" && !OF_KERNEL.contains(&key)
        };
        let lines = counted(text).filter(kept);
        lines.map(|line| (line.number, line.text.to_owned())).collect()
    };
    let words = |text: &str| own(words::all(&bls::all_options(text)));
    let disks = |text: &str| text.lines().any(|line| keyword(line.trim(), &["initrd"]).is_some());
    let like = |was: &str| {
        bls::boots_linux(was)
            && alike.same_words(&words(was), &words(text))
            && (disks(text) || !disks(was))
            && alike.lines(&rest(was), &rest(text)).is_none()
    };
    let found = siblings().any(like);
    (!found).then(|| "it differs from the previous ones".to_owned())
}

/// Words that entries share.
const SHARED: &str = "kernelopts=";

fn other(was: &str, is: &str) -> String {
    format!("has `{}` where it had `{}`", short(is), short(was))
}

fn short(line: &str) -> String {
    let mut text: String = line.chars().take(LONGEST).collect();
    if text.len() < line.len() {
        text.push_str("...");
    }
    text
}

/// Returns the path of the kernel of an entry file, in which paths start at the root of the entries' filesystem.
fn bls_kernel(path: &Path, text: &str) -> Option<String> {
    let kernel = text.lines().find_map(|line| keyword(line.trim(), &["linux"]))?.trim();
    let top = path.parent()?.parent()?.parent()?;
    Some(top.join(kernel.trim_start_matches('/')).to_string_lossy().into_owned())
}

/// A line that is compared, without its indentation.
#[derive(Debug)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

#[derive(Debug, Default)]
struct Entry<'a> {
    /// The key by which it is found again.
    key: String,
    title: String,
    section: Option<&'a str>,
    number: usize,
    kernel: Option<String>,
    lines: Vec<Line<'a>>,
}

#[derive(Debug, Default)]
struct Menu<'a> {
    sections: Vec<&'a str>,
    /// With the section of each.
    outside: Vec<(Option<&'a str>, Line<'a>)>,
    entries: Vec<Entry<'a>>,
}

fn counted(text: &str) -> impl Iterator<Item = Line<'_>> {
    let lines = text.lines().map(str::trim_ascii).enumerate();
    lines.map(|(index, text)| Line { number: index + 1, text }).filter(|line| !line.text.is_empty())
}

fn grub(text: &str) -> Menu<'_> {
    let mut menu = Menu::default();
    let mut section = None;
    let mut open: Option<(Entry<'_>, usize)> = None;
    for line in counted(text) {
        let body = line.text;
        let ends = marker(body, "END").is_some();
        if let Some(name) = marker(body, "BEGIN") {
            section = Some(name);
            menu.sections.push(name);
        }
        if ends || section.is_some() && marker(body, "BEGIN").is_some() {
            menu.entries.extend(open.take().map(|(entry, _)| entry));
        }
        if body.starts_with('#') {
            section = section.filter(|_| !ends);
            continue;
        }
        if let Some((entry, depth)) = &mut open {
            let ours = is_made(section) || section.is_some_and(|name| script(name).contains("xen"));
            if entry.kernel.is_none() {
                entry.kernel = kernel_line(body, ours).and_then(kernel);
            }
            if body.starts_with('}') {
                *depth = depth.saturating_sub(1);
            } else {
                *depth += usize::from(body.ends_with('{'));
            }
            let done = body.starts_with('}') && *depth == 0;
            entry.lines.push(line);
            if done {
                menu.entries.extend(open.take().map(|(entry, _)| entry));
            }
        } else if let Some(rest) = keyword(body, &["menuentry"]) {
            let entry = Entry {
                key: body.to_owned(),
                title: super::title(rest),
                section,
                number: line.number,
                ..Entry::default()
            };
            if body.ends_with('}') {
                menu.entries.push(entry);
            } else {
                open = Some((entry, usize::from(body.ends_with('{'))));
            }
        } else if !section.is_some_and(|name| is_of_language(name, body)) {
            menu.outside.push((section, line));
        }
    }
    menu.entries.extend(open.map(|(entry, _)| entry));
    menu
}

/// Returns whether `00_header` makes a line for the language of the session, which does not affect booting.
fn is_of_language(section: &str, line: &str) -> bool {
    script(section) == "header"
        && (["set locale_dir=$prefix/locale", "insmod gettext"].contains(&line)
            || line.strip_prefix("set lang=").is_some_and(crate::journal::is_plain_language))
}

/// The path of the kernel at the beginning of its line.
fn kernel(words: &str) -> Option<String> {
    words_of(words).into_iter().next()
}

fn extlinux(text: &str) -> Menu<'_> {
    let mut menu = Menu::default();
    for line in counted(text).filter(|line| !line.text.starts_with('#')) {
        if let Some(name) = keyword(line.text, &["label"]) {
            let title = name.trim().to_owned();
            menu.entries.push(Entry { title, number: line.number, ..Entry::default() });
        } else if let Some(entry) = menu.entries.last_mut() {
            // u-boot-update counts its labels, so that an added kernel changes the later ones.
            if let Some(path) = keyword(line.text, &["linux", "kernel"]) {
                entry.kernel = Some(path.trim().to_owned());
                entry.key += &format!("\n{}", path.trim());
            } else if keyword(line.text, &["menu"])
                .is_some_and(|it| keyword(it, &["label"]).is_some())
            {
                entry.key += &format!("\n{}", line.text);
            }
            entry.lines.push(line);
        } else {
            menu.outside.push((None, line));
        }
    }
    menu
}

struct Alike<'a> {
    change: &'a Change,
    has_kernel: &'a dyn Fn(&str) -> bool,
}

impl Alike<'_> {
    fn menu(&self, was: &Menu<'_>, is: &Menu<'_>) -> Option<String> {
        if let Some(lost) = was.sections.iter().find(|name| !is.sections.contains(name)) {
            return Some(format!("no longer has its section {lost}"));
        }
        let known =
            |section: &Option<&str>| section.is_none_or(|name| was.sections.contains(&name));
        let mut lines = is.outside.iter().filter(|(section, _)| known(section));
        for (_, line) in &was.outside {
            match lines.next() {
                None => return Some(format!("no longer has its line `{}`", short(line.text))),
                Some((_, new)) if !self.same_line(line.text, new.text) => {
                    let other = other(line.text, new.text);
                    return Some(format!("{other} (line {})", new.number));
                }
                Some(_) => {}
            }
        }
        if let Some((_, line)) = lines.next() {
            return Some(format!("has a new line `{}` (line {})", short(line.text), line.number));
        }
        let sections = !was.sections.is_empty() || !is.sections.is_empty();
        self.entries(&was.entries, &is.entries, sections)
    }

    fn entries(&self, was: &[Entry<'_>], is: &[Entry<'_>], sections: bool) -> Option<String> {
        let mut at = 0;
        let mut former = vec![false; is.len()];
        for entry in was {
            let found = is
                .iter()
                .skip(at)
                .position(|new| entry.key == new.key && entry.section == new.section);
            let Some(found) = found else {
                if self.may_go(entry) {
                    continue;
                }
                let again =
                    is.iter().any(|new| entry.key == new.key && entry.section == new.section);
                let how = if again { "has at another place" } else { "no longer has" };
                let of = entry.section.map_or(String::new(), |name| format!(" of {name}"));
                return Some(format!("{how} its entry '{}'{of}", short(&entry.title)));
            };
            let new = is.get(at + found)?;
            at += found + 1;
            if let Some(known) = former.get_mut(at - 1) {
                *known = true;
            }
            if let Some(how) = self.entry(entry, new) {
                return Some(format!(
                    "{how}, in its entry '{}' (line {})",
                    short(&entry.title),
                    new.number
                ));
            }
        }
        let first = former.iter().position(|known| *known).unwrap_or(0);
        let mut added = is.iter().zip(&former).enumerate().filter(|(_, (_, known))| !**known);
        let kernels: BTreeSet<&str> =
            was.iter().filter_map(|old| old.kernel.as_deref().map(base)).collect();
        added.find_map(|(index, (new, _))| {
            let outside = sections && new.section.is_none();
            let why = match had_before(&kernels, new) {
                Some(kernel) => format!("for the kernel {}, which had one before", short(kernel)),
                None if outside => "outside of the sections".to_owned(),
                None => self.added(was, new, index < first)?,
            };
            let title = short(&new.title);
            Some(format!("has a new entry '{title}' (line {}), {why}", new.number))
        })
    }

    /// Returns the reason why an added entry is not one of a new kernel, or of another program
    /// after the previous ones.
    fn added(&self, was: &[Entry<'_>], new: &Entry<'_>, leads: bool) -> Option<String> {
        if !is_made(new.section) {
            return leads.then(|| "before the previous ones".to_owned());
        }
        let Some(kernel) = &new.kernel else {
            return Some("without a kernel".to_owned());
        };
        if !(self.has_kernel)(base(kernel)) {
            return Some(format!("whose kernel {} does not exist", short(kernel)));
        }
        if let Some(why) = self.disks(new, kernel) {
            return Some(why);
        }
        let mut former = was.iter().filter(|old| old.section == new.section).peekable();
        let compared = former.peek().is_some();
        let alike = former.any(|old| old.kernel.is_some() && self.entry(old, new).is_none());
        (compared && !alike).then(|| "which differs from the previous ones".to_owned())
    }

    /// Returns the reason why an entry does not have the initial RAM disk of its kernel, or has one that does not
    /// exist.
    fn disks(&self, new: &Entry<'_>, kernel: &str) -> Option<String> {
        let lines = || new.lines.iter().filter_map(|line| keyword(line.text, &DISK));
        let lost = lines().flat_map(words_of).find(|path| !(self.has_kernel)(base(path)));
        if let Some(path) = lost {
            return Some(format!("whose initial RAM disk {} does not exist", short(&path)));
        }
        if lines().next().is_some() {
            return None;
        }
        let version = version(kernel);
        let names = ["initrd.img-V", "initrd-V", "initrd-V.img", "initramfs-V.img", "initramfs-V"];
        let own = names.map(|name| name.replace('V', version));
        let own = own.iter().find(|name| (self.has_kernel)(name))?;
        Some(format!("without its initial RAM disk {}", short(own)))
    }

    /// Returns whether an entry is generated from the settings, and its kernel was removed.
    fn may_go(&self, entry: &Entry<'_>) -> bool {
        is_made(entry.section)
            && entry.kernel.as_deref().is_some_and(|kernel| !(self.has_kernel)(base(kernel)))
    }

    fn entry(&self, was: &Entry<'_>, is: &Entry<'_>) -> Option<String> {
        let all = |entry: &Entry<'_>| -> Vec<(usize, String)> {
            entry.lines.iter().map(|line| (line.number, line.text.to_owned())).collect()
        };
        let (Some(old), Some(new)) = (&was.kernel, &is.kernel) else {
            return self.lines(&all(was), &all(is));
        };
        if old == new {
            return self.lines(&all(was), &all(is));
        }
        if !is_made(was.section) || !(self.has_kernel)(base(new)) {
            return Some(format!("has the kernel {} where it had {}", short(new), short(old)));
        }
        // The same lines, except for the version and the initial RAM disk.
        let disk = |line: &Line<'_>| keyword(line.text, &DISK).is_some();
        let rooted = is.lines.iter().any(disk) || !was.lines.iter().any(disk);
        let plain = |text: &str, kernel: &str| {
            let text = text.replace(version(kernel), "VERSION");
            let kept = |word: &&str| rooted || !word.starts_with("root=");
            text.split_ascii_whitespace().filter(kept).collect::<Vec<_>>().join(" ")
        };
        let rest = |entry: &Entry<'_>, kernel: &str| -> Vec<(usize, String)> {
            let kept = |line: &&Line<'_>| !disk(line) && keyword(line.text, &["echo"]).is_none();
            let lines = entry.lines.iter().filter(kept);
            lines.map(|line| (line.number, plain(line.text, kernel))).collect()
        };
        self.lines(&rest(was, old), &rest(is, new))
    }

    fn lines(&self, was: &[(usize, String)], is: &[(usize, String)]) -> Option<String> {
        let mut new = is.iter();
        for (_, old) in was {
            match new.next() {
                None => return Some(format!("no longer has `{}`", short(old))),
                Some((number, new)) if !self.same_line(old, new) => {
                    // In place of a removed previous line the next one follows.
                    let lost = !is.iter().any(|(_, line)| self.same_line(old, line));
                    return Some(match keyword(new, &KERNEL) {
                        None if lost && keyword(old, &KERNEL).is_none() => {
                            format!("no longer has `{}`", short(old))
                        }
                        _ => format!("{} (line {number})", other(old, new)),
                    });
                }
                Some(_) => {}
            }
        }
        new.next().map(|(_, line)| format!("has a new line `{}`", short(line)))
    }

    /// Returns whether two lines are the same, or have the same words on a kernel's command line except for those of
    /// the change.
    fn same_line(&self, was: &str, is: &str) -> bool {
        if was == is {
            return true;
        }
        // With the text that follows the command on its line.
        let of = |line: &str| -> Option<(String, Vec<String>, Option<String>)> {
            let line = line.strip_prefix("set ").unwrap_or(line);
            if let Some(value) = line.strip_prefix(SHARED) {
                let words = words_of(value).join(" ");
                return Some((SHARED.to_owned(), own(words::all(&words)), behind(value)));
            }
            if let Some(rest) = keyword(line, &["append"]) {
                return Some(("append".to_owned(), own(words::all(rest)), None));
            }
            let rest = keyword(line, &KERNEL)?;
            let name = line.strip_suffix(rest).unwrap_or(line).trim().to_ascii_lowercase();
            Some((name, words_of(rest), behind(rest)))
        };
        let (Some((name, old, more)), Some((its, new, also))) = (of(was), of(is)) else {
            return false;
        };
        name == its && more == also && self.same_words(&old, &new)
    }

    fn same_words(&self, old: &[String], new: &[String]) -> bool {
        let asked =
            |word: &&String| self.change.add.contains(word) || self.change.remove.contains(word);
        let rest = |line: &[String]| -> Vec<String> {
            line.iter().filter(|word| !asked(word)).cloned().collect()
        };
        let count = |line: &[String], word: &String| line.iter().filter(|it| *it == word).count();
        rest(old) == rest(new)
            && self.change.add.iter().all(|word| count(new, word) <= count(old, word).max(1))
    }

    /// Two entry files; their options may be on several lines.
    fn keys(&self, was: &str, is: &str) -> Option<String> {
        let rest = |text: &str| -> Vec<(usize, String)> {
            let kept = |line: &Line<'_>| {
                !line.text.starts_with('#') && keyword(line.text, &["options"]).is_none()
            };
            let lines = counted(text).filter(kept);
            lines.map(|line| (line.number, line.text.to_owned())).collect()
        };
        let (old, new) = (bls::all_options(was), bls::all_options(is));
        if !self.same_words(&own(words::all(&old)), &own(words::all(&new))) {
            return Some(format!(
                "has the options `{}` where it had `{}`",
                short(&new),
                short(&old)
            ));
        }
        self.lines(&rest(was), &rest(is))
    }
}

/// The first of these kernels that an entry names, on any of its lines.
fn had_before<'a>(kernels: &BTreeSet<&'a str>, new: &Entry<'_>) -> Option<&'a str> {
    let apart = |it: char| it.is_whitespace() || ";{}\"'&|=,".contains(it);
    let lines = new.lines.iter().map(|line| line.text).chain([new.key.as_str()]);
    let mut named = lines.flat_map(|line| {
        let quoted = words_of(line).into_iter().map(|word| base(&word).to_owned());
        let plain = line.split(apart).map(|word| base(word).to_owned());
        quoted.chain(plain).collect::<Vec<_>>()
    });
    named.find_map(|name| kernels.get(name.as_str()).copied())
}

/// Returns whether the entries of a section are generated from the settings (`10_linux`), or there are no sections.
fn is_made(section: Option<&str>) -> bool {
    section.is_none_or(|name| script(name).starts_with("linux"))
}

/// Commands that load initial RAM disks.
const DISK: [&str; 3] = ["initrd", "initrd16", "initrdefi"];
/// Commands with a kernel's command line; under Xen it is a module.
const KERNEL: [&str; 6] = ["linux", "linux16", "linuxefi", "module", "module2", "xen_module"];

fn own(words: Vec<&str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `6.1.0-13` of `/boot/vmlinuz-6.1.0-13`.
fn version(kernel: &str) -> &str {
    let name = base(kernel);
    name.split_once('-').map_or(name, |(_, version)| version)
}
