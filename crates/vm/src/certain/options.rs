//! The assignment of words of a command line to options, as far as an edit needs it.

use super::super::sh::Word;
use crate::words::{base, listed};

/// QEMU options without a value (qemu-options.hx, entries without `HAS_ARG`, and those of older versions).
const ALONE: &str = "-h -help -version -enable-kvm -enable-hax -no-kvm -no-kvm-irqchip -no-kvm-pit -no-acpi -no-hpet \
    -no-reboot -no-shutdown -no-fd-bootchk -no-quit -no-frame -no-user-config -nodefaults -nodefconfig -nographic \
    -daemonize -snapshot -full-screen -alt-grab -ctrl-grab -curses -sdl -usb -win2k-hack -rtc-td-hack -localtime -S -s \
    -singlestep -preconfig -only-migratable -portrait -mem-prealloc -enable-fips -semihosting -old-param -xen-attach \
    -xen-create -xen-domid-restrict -enable-sync-profile -balloon-none -startdate-none -nouserconfig \
    -no-kvm-pit-reinjection -tdf";

/// Whether an option with one dash has no value.
pub(super) fn is_alone(name: &str) -> bool {
    listed(ALONE, name)
}

/// Returns whether the name of a program is that of a QEMU for a PC, whose default machine is a PC.
pub(super) fn is_pc_program(word: &str) -> bool {
    let target = base(word).strip_prefix("qemu-system-");
    target.is_some_and(|it| it.starts_with("x86_64") || it.starts_with("i386"))
}

/// Options whose values are edited.
const EDITED: &str = "-machine -M -cpu -append";

/// Commands before another one that run it with its arguments unchanged.
const WRAPPERS: &str =
    "exec sudo doas nohup command time setsid nice ionice taskset chrt numactl env timeout unshare";

/// Returns whether a command runs the one after it with its arguments unchanged.
pub(super) fn wraps(word: &str) -> bool {
    listed(WRAPPERS, word)
}

/// Returns an option with one dash instead of two.
fn option(word: &Word) -> Option<&str> {
    let text = word.literal()?;
    if text.starts_with("--") { text.get(1..) } else { Some(text) }
}

/// Returns whether a word is the value of an option that is edited: the option is the word before it, and is not itself
/// a value. An expansion before the option is assumed to be whole options.
pub(super) fn is_value(words: &[Word], index: usize, first: usize) -> bool {
    let at = |back: usize| {
        index.checked_sub(back).filter(|at| *at >= first).and_then(|at| words.get(at))
    };
    if !at(1).and_then(option).is_some_and(|name| listed(EDITED, name)) {
        return false;
    }
    is_option(words, index - 1, first)
}

/// Returns whether a word that looks like an option is one: the word before it takes no value, or is itself a value.
pub(super) fn is_option(words: &[Word], index: usize, first: usize) -> bool {
    let Some(before) = index.checked_sub(1).filter(|at| *at >= first).and_then(|at| words.get(at))
    else {
        return true;
    };
    match before.literal() {
        Some(text) if text.starts_with('-') && text.len() > 1 => {
            option(before).is_some_and(|name| listed(ALONE, name))
        }
        _ => true,
    }
}

/// Returns the place of the program in the words of a command: the first, or after words that run it unchanged.
pub(super) fn program(words: &[Word], is: impl Fn(&str) -> bool) -> Option<usize> {
    for (index, word) in words.iter().enumerate() {
        let text = word.literal()?;
        if is(text) {
            return Some(index);
        }
        let wraps = match index {
            0 => listed(WRAPPERS, text),
            _ => {
                let number = text.starts_with(|c: char| c.is_ascii_digit())
                    && text.bytes().all(|b| b.is_ascii_alphanumeric() || b",-.".contains(&b));
                let option = text.starts_with('-') && !text.contains([' ', ';']);
                let assigns = text.split_once('=').is_some_and(|(name, _)| {
                    crate::shell::name_length(name) == name.len() && !name.is_empty()
                });
                listed(WRAPPERS, text) || number || option || assigns
            }
        };
        if !wraps {
            return None;
        }
    }
    None
}

/// Whether a word names a QEMU that emulates a PC.
pub(super) fn is_qemu(word: &str) -> bool {
    is_pc_program(word)
        || matches!(base(word), "qemu-kvm" | "kvm" | "qemu" | "qemu-x86" | "qemu-system-x86")
}

/// Whether a word names VirtualBox's tool.
pub(super) fn is_vboxmanage(word: &str) -> bool {
    base(word).eq_ignore_ascii_case("VBoxManage")
}

/// Whether a word names a command that prints its words.
pub(super) fn prints(word: &str) -> bool {
    matches!(word, "echo" | "printf")
}

/// Returns the words of `set` that may be options. All words after `--` or `-`, and after the first one that is not an
/// option, are positional parameters, whatever they are (POSIX, "set").
pub(super) fn options_of_set(words: &[Word]) -> &[Word] {
    let words = words.get(1..).unwrap_or_default();
    let mut named = false;
    let ends = |word: &Word| {
        let text = word.literal();
        let option = text.is_none_or(|text| text.len() > 1 && text.starts_with(['-', '+']));
        // `-o pipefail`
        let value = std::mem::take(&mut named);
        named = text.is_some_and(|text| option && text.ends_with('o'));
        text == Some("--") || !option && !value
    };
    let count = words.iter().map(ends).position(|ends| ends).unwrap_or(words.len());
    words.get(..count).unwrap_or_default()
}

/// Returns whether options of `set` make the shell print its input.
pub(super) fn prints_script(options: &[Word]) -> bool {
    options
        .iter()
        .any(|word| word.text == "verbose" || word.text.starts_with('-') && word.text.contains('v'))
}
