//! Options of NixOS from which it writes a command line: those of its own test machines
//! (`virtualisation.qemu.options`), and of microvm.nix (`microvm.qemu.extraArgs`).
//!
//! Source: nixpkgs nixos/modules/virtualisation/qemu-vm.nix; microvm.nix nixos-modules/microvm/options.nix.

use crate::placed::{Placed, UNKNOWN};
use crate::text::offset;
use std::ops::Range;

/// Lists of options, and the set in which each may be written.
const LISTS: [(&str, &str); 2] =
    [("virtualisation.qemu.options", "virtualisation"), ("microvm.qemu.extraArgs", MICROVM)];
const MICROVM: &str = "microvm";
/// The machine that `nixos-rebuild build-vm` makes of a system, and options that describe it.
const VARIANT: &str = "virtualisation.vmVariant";
const OF_VARIANT: [&str; 4] = ["memorySize", "cores", "diskSize", "qemu."];
/// Options of microvm.nix that nearly each machine has.
const KEYS: [&str; 3] = ["vcpu", "mem", "hypervisor"];

/// Returns the place of the first option.
pub(super) fn options(text: &str) -> Option<Range<usize>> {
    if !LISTS.iter().any(|(_, set)| text.contains(set)) {
        return None;
    }
    if let Some(at) = own(text).into_iter().next() {
        return Some(at);
    }
    if let Some(at) = variant(text) {
        return Some(at);
    }
    let mut found = None;
    let mut sized = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inside = line.trim_start();
        let begin = at + line.len() - inside.len();
        at += line.len();
        let below = inside.strip_prefix("microvm.").unwrap_or(inside);
        // Inputs of a flake have the same name.
        let input = below.starts_with("url") || below.starts_with("inputs");
        let part = below.len() < inside.len() && !input;
        if found.is_none() && (part || sets(inside, MICROVM)) {
            found = Some(begin..begin + MICROVM.len());
        }
        sized |= found.is_some() && KEYS.iter().any(|key| sets(below, key));
    }
    found.filter(|_| sized)
}

/// Returns the place of the options of such a machine.
fn variant(text: &str) -> Option<Range<usize>> {
    let set = |at: usize| {
        let (front, rest) = text.split_at_checked(at).unwrap_or_default();
        let line = front.rsplit('\n').next().unwrap_or_default();
        let rest = rest.strip_prefix(VARIANT).unwrap_or_default();
        let rest = rest.strip_prefix("WithBootLoader").unwrap_or(rest).trim_start();
        let begins = line.trim().is_empty() || line.trim_end().ends_with(['{', ';']);
        begins
            && !line.contains('#')
            && (rest.starts_with('.') || rest.starts_with('=') && !rest.starts_with("=="))
            && OF_VARIANT.iter().any(|key| rest.contains(key))
    };
    let mut all = text.match_indices(VARIANT).take(MOST_LISTS).map(|(at, _)| at);
    all.find(|at| set(*at)).map(|at| at..at + VARIANT.len())
}

/// The places where those lists are set, on a line of their own or in a set on one line.
fn own(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    for (name, set) in LISTS {
        all.extend(places(text, name));
        let inside = name.strip_prefix(set).and_then(|rest| rest.strip_prefix('.'));
        // `virtualisation = { qemu.options = [ ... ]; }`.
        let Some(inside) = inside.filter(|_| opens(text, set)) else { continue };
        all.extend(places(text, inside).filter(|at| {
            let front = text.get(..at.start).unwrap_or_default();
            !front.ends_with('.')
        }));
    }
    all.sort_by_key(|at| at.start);
    all
}

/// Whether a text has a set of this name.
fn opens(text: &str, set: &str) -> bool {
    text.match_indices(set).take(MOST_LISTS).any(|(at, _)| {
        let rest = text.get(at + set.len()..).unwrap_or_default().trim_start();
        rest.strip_prefix('=').is_some_and(|rest| rest.trim_start().starts_with('{'))
    })
}

fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    text.match_indices(name).take(MOST_LISTS).map(|(at, _)| at..at + name.len()).filter(move |at| {
        let front = text.get(..at.start).unwrap_or_default();
        let line = front.rsplit('\n').next().unwrap_or_default();
        let begins = line.trim_start().is_empty()
            || line.ends_with(['{', ';', '.'])
            || line.trim_end().ends_with(['{', ';']);
        begins && !line.contains('#') && sets(text.get(at.start..).unwrap_or_default(), name)
    })
}

/// The limit of lists that are read.
const MOST_LISTS: usize = 64;
/// The limit of words that are read.
const MOST: usize = 1024;

/// Returns the words of the strings in those lists, which NixOS appends to its own command line. A string whose value only
/// Nix knows is a word that is not known.
pub(super) fn words(text: &str) -> Vec<Placed> {
    let mut out = Vec::new();
    for at in own(text) {
        let rest = text.get(at.end..).unwrap_or_default();
        let value = rest.trim_start().strip_prefix('=').map(str::trim_start).unwrap_or_default();
        let Some(list) = value.strip_prefix('[') else { continue };
        strings(list, offset(text, list), &mut out);
    }
    out.truncate(MOST);
    out
}

fn unknown(at: usize) -> Placed {
    let mut word = Placed::default();
    word.push(UNKNOWN, at);
    word
}

/// Adds the words of the strings up to the end of a list, which begins at `base`.
fn strings(list: &str, base: usize, out: &mut Vec<Placed>) {
    let mut at = 0;
    while let Some(c) = list.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = list.get(at..).unwrap_or_default();
        match c {
            ']' => return,
            '#' => at += rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let inside = rest.get(1..).unwrap_or_default();
                let Some(length) = inside.find('"') else { return };
                let string = inside.get(..length).unwrap_or_default();
                let from = base + at + 1;
                // What is put into it, or escaped, is not read.
                match string.contains(['$', '\\']) {
                    true => out.push(unknown(from)),
                    false => out.extend(Placed::new(string, from).words()),
                }
                at += length + 2;
            }
            // A variable or a function: its value is not known.
            _ if c.is_alphanumeric() => {
                let name = |c: char| !(c.is_alphanumeric() || "._-'".contains(c));
                let length = rest.find(name).unwrap_or(rest.len());
                out.push(unknown(base + at));
                at += length;
            }
            _ => at += c.len_utf8(),
        }
        if out.len() >= MOST {
            return;
        }
    }
}

/// Whether a line begins with the setting of an option.
fn sets(line: &str, option: &str) -> bool {
    let value = line.strip_prefix(option).map(str::trim_start).unwrap_or_default();
    value.starts_with('=') && !value.starts_with("==")
}

/// Whether a name is of such an option.
pub(super) fn is_option(name: &str) -> bool {
    name == MICROVM || name == VARIANT || LISTS.iter().any(|(list, _)| list.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::{options, words};

    fn of(text: &str) -> Option<&str> {
        options(text).and_then(|at| text.get(at))
    }

    #[test]
    fn options_of_nixos() {
        let own = "{\n  virtualisation.qemu.options = [ \"-device\" \"virtio-rng-pci\" ];\n}\n";
        assert_eq!(of(own), Some("virtualisation.qemu.options"));
        let micro = "{\n  microvm = {\n    vcpu = 2;\n    mem = 512;\n  };\n}\n";
        assert_eq!(of(micro), Some("microvm"));
        assert_eq!(of("{ }: {\n  microvm.hypervisor = \"qemu\";\n}\n"), Some("microvm"));
        for own in [
            "{ ... }: { virtualisation.vmVariant.virtualisation.qemu.options = [ \"-snapshot\" ]; }\n",
            "{ virtualisation.qemu.options = [ ]; }\n",
            "{ a = 1; virtualisation.qemu.options = [ ]; }\n",
        ] {
            assert_eq!(of(own), Some("virtualisation.qemu.options"), "{own}");
        }
        for variant in [
            "{\n  virtualisation.vmVariant = {\n    virtualisation.memorySize = 2048;\n  };\n}\n",
            "{\n  virtualisation.vmVariant.virtualisation.cores = 2;\n}\n",
            "{ virtualisation.vmVariantWithBootLoader = { virtualisation.diskSize = 9; }; }\n",
        ] {
            assert_eq!(of(variant), Some("virtualisation.vmVariant"), "{variant}");
        }
        for text in [
            "{\n  # virtualisation.vmVariant = { memorySize = 1; };\n}\n",
            "{\n  virtualisation.vmVariant = { services.a.enable = true; };\n}\n",
            "{\n  a = config.virtualisation.vmVariant.virtualisation.cores;\n}\n",
            "{ # virtualisation.qemu.options = [ ];\n}\n",
            "microvm.url = \"github:a/microvm.nix\";\n mem = 1;\n",
            "inputs.microvm.url = \"github:a/microvm.nix\";\n mem = 1;\n",
            "microvm = true\n",
            "# virtualisation.qemu.options = [ ];\n",
            "mem = 1;\n microvm = { };\n",
            "",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn options_in_a_set_are_those_of_the_set() {
        let own = "{ ... }: {\n  virtualisation = {\n    cores = 2;\n    qemu.options = [ \"-cpu host,-kvmclock\" ];\n  };\n}\n";
        assert_eq!(of(own), Some("qemu.options"));
        assert_eq!(
            words(own).iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            ["-cpu", "host,-kvmclock"]
        );
        let micro = "{\n  microvm = {\n    mem = 512;\n    qemu.extraArgs = [ \"-cpu\" \"max\" ];\n  };\n}\n";
        assert_eq!(of(micro), Some("qemu.extraArgs"));
        assert_eq!(words(micro).len(), 2);
        let flat = "{\n  microvm.qemu.extraArgs = [ \"-no-hpet\" ];\n}\n";
        assert_eq!(words(flat).len(), 1);
        let other = "{\n  services = {\n    qemu.options = [ \"-cpu host\" ];\n  };\n}\n";
        assert_eq!((of(other), words(other).len()), (None, 0));
    }

    #[test]
    fn words_of_a_list_have_their_places() {
        let text = "{ virtualisation.qemu.options = [ \"-cpu host,kvm=off\" # \"-a\"\n \"-m\" \"${m}\" x ]; }";
        let words = words(text);
        let known: Vec<_> = words.iter().filter(|it| !it.unknown()).collect();
        let read: Vec<_> = known.iter().map(|it| it.as_str()).collect();
        assert_eq!(read, ["-cpu", "host,kvm=off", "-m"]);
        assert!(known.iter().all(|it| text.get(it.span()) == Some(it.as_str())));
        assert_eq!(words.len(), 5);
    }
}
