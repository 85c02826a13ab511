//! Finds the words of an extlinux.conf's entries, if their places are certain.
//!
//! SYSLINUX and U-Boot read the same file by rules that differ: a global `APPEND`, text between `TEXT HELP` and
//! `ENDTEXT`, `APPEND -`. Lines that they read differently are refused.
//!
//! Sources: the syslinux wiki (`KERNEL` by its extension, `LINUX`, `APPEND`, `COM32`, `CONFIG`, `INCLUDE`, `TEXT HELP`,
//! `DEFAULT`); `boot/pxe_utils.c` of U-Boot (`parse_label`).

/// The fault: the line, and why, as in `line 3 has ...`.
type Refused = (usize, String);

/// A label.
#[derive(Default)]
struct Label {
    name: String,
    line: usize,
    /// Lines that name the started program, and whether it is Linux.
    starts: Vec<(usize, Starts)>,
    /// Lines of `APPEND`, and the bytes of their values.
    append: Vec<(usize, (usize, usize))>,
}

/// The kind of program that a line starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Starts {
    Linux,
    Other,
    /// A module that may start Linux with words in a different syntax.
    Unknown,
}

/// Modules and programs that start no Linux kernel with the words of `APPEND`.
const OTHERS: [&str; 16] = [
    "menu.c32",
    "vesamenu.c32",
    "chain.c32",
    "reboot.c32",
    "poweroff.c32",
    "poweroff.com",
    "hdt.c32",
    "memdisk",
    "ls.c32",
    "cat.c32",
    "config.c32",
    "whichsys.c32",
    "pxechn.c32",
    "lua.c32",
    "meminfo.c32",
    "cpuid.c32",
];

/// The bytes of the values of `APPEND` of every label that boots Linux.
pub(super) fn places(text: &str) -> Result<Vec<(usize, usize)>, Refused> {
    let labels = labels(text)?;
    let mut places = Vec::new();
    for label in labels {
        let Some((line, starts)) = label.starts.first().copied() else { continue };
        if let Some((other, _)) = label.starts.iter().find(|(_, it)| *it != starts) {
            let why = format!("starts something different from line {line} of the same label");
            return Err((*other, why));
        }
        if starts == Starts::Other {
            continue;
        }
        if starts == Starts::Unknown {
            let why =
                "starts a program that may boot Linux, with words in a form that is not known";
            return Err((line, why.to_owned()));
        }
        match label.append[..] {
            [] => {
                let why = format!(
                    "begins the label {}, which boots Linux and has no APPEND: write one below it",
                    label.name
                );
                return Err((label.line, why));
            }
            [(line, (start, end))] => {
                let value = text.get(start..end).unwrap_or_default();
                if value.is_empty() || value == "-" {
                    let why = format!("gives the label {} no words: write them there", label.name);
                    return Err((line, why));
                }
                places.push((start, end));
            }
            [_, (line, _), ..] => {
                return Err((line, format!("is the second APPEND of the label {}", label.name)));
            }
        }
    }
    if places.is_empty() {
        return Err((1, "and those after it have no label that boots Linux".to_owned()));
    }
    Ok(places)
}

fn labels(text: &str) -> Result<Vec<Label>, Refused> {
    let mut labels: Vec<Label> = Vec::new();
    let mut defaults = Vec::new();
    let mut help: Option<usize> = None;
    let mut at = 0;
    for (index, line) in text.split('\n').enumerate() {
        let (number, start) = (index + 1, at);
        at += line.len() + 1;
        let body = line.trim_matches([' ', '\t']);
        if body.starts_with('#') {
            generated(body).map_err(|why| (number, why))?;
            continue;
        }
        let (key, value) = body.split_once([' ', '\t']).unwrap_or((body, ""));
        let (key, value) = (key.to_ascii_lowercase(), value.trim_matches([' ', '\t']));
        if help.is_some() {
            match key.as_str() {
                "endtext" => help = None,
                "append" | "label" | "linux" | "kernel" | "include" | "menu" | "default"
                | "initrd" => {
                    let why = format!("begins with {key} inside a TEXT HELP: U-Boot reads it");
                    return Err((number, why));
                }
                _ => {}
            }
            continue;
        }
        let from = start + line.trim_end_matches([' ', '\t']).len() - value.len();
        let second = value.split([' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        match key.as_str() {
            "include" => {
                return Err((number, "includes a file, which is not read here".to_owned()));
            }
            "menu" if second == "include" => {
                return Err((number, "includes a file, which is not read here".to_owned()));
            }
            "text" if second == "help" => help = Some(number),
            "default" | "ontimeout" | "onerror" => defaults.push((number, value.to_owned())),
            "label" => {
                labels.push(Label { name: value.to_owned(), line: number, ..Label::default() });
            }
            _ => {
                // Before any label: SYSLINUX's words for labels without own ones, which are refused.
                let Some(label) = labels.last_mut() else { continue };
                match key.as_str() {
                    "append" => label.append.push((number, (from, from + value.len()))),
                    "linux" | "kernel" => label.starts.push((number, starts(&key, value))),
                    "com32" | "boot" | "bss" | "pxe" | "fdimage" | "comboot" | "config"
                    | "localboot" => {
                        label.starts.push((number, module(value)));
                    }
                    _ => {}
                }
            }
        }
    }
    if let Some(line) = help {
        return Err((line, "begins a TEXT HELP without its ENDTEXT".to_owned()));
    }
    for (line, value) in defaults {
        let mut words = value.split([' ', '\t']).filter(|word| !word.is_empty());
        let name = words.next().unwrap_or_default();
        let known = labels.iter().any(|label| label.name.eq_ignore_ascii_case(name))
            || OTHERS.contains(&file_name(name));
        if words.next().is_some() {
            return Err((line, format!("starts {name} with words of its own")));
        }
        if !known {
            return Err((line, format!("starts {name}, and there is no such label")));
        }
    }
    Ok(labels)
}

/// Refuses a file whose comment states that a program generates it.
fn generated(comment: &str) -> Result<(), String> {
    let lower = comment.to_ascii_lowercase();
    let says = [
        "do not edit",
        "don't edit",
        "generated by",
        "generated automatically",
        "automatically generated",
        "autogenerated",
    ];
    if says.iter().any(|it| lower.contains(it)) {
        return Err(
            "says that a program makes this file, and an edit is lost at its next run".to_owned()
        );
    }
    Ok(())
}

fn file_name(value: &str) -> &str {
    let path = value.split([' ', '\t']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

fn starts(key: &str, value: &str) -> Starts {
    let name = file_name(value);
    if name.starts_with("memtest") || OTHERS.contains(&name) {
        return Starts::Other;
    }
    if key == "linux" {
        return Starts::Linux;
    }
    if name.ends_with(".c32") {
        return Starts::Unknown;
    }
    let ends = [".0", ".bin", ".bs", ".bss", ".cbt", ".com", ".img"];
    if ends.iter().any(|end| name.ends_with(end)) { Starts::Other } else { Starts::Linux }
}

/// The kind of program that a module starts.
fn module(value: &str) -> Starts {
    let name = file_name(value);
    if name.ends_with(".c32") && !OTHERS.contains(&name) { Starts::Unknown } else { Starts::Other }
}
