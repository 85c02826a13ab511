//! Options of NixOS from which it writes a command line: those of its own test machines
//! (`virtualisation.qemu.options`), and of microvm.nix.
//!
//! Source: nixpkgs nixos/modules/virtualisation/qemu-vm.nix; microvm.nix nixos-modules/microvm/options.nix.

use std::ops::Range;

const OWN: &str = "virtualisation.qemu.options";
const MICROVM: &str = "microvm";
/// Options of microvm.nix that nearly each machine has.
const KEYS: [&str; 3] = ["vcpu", "mem", "hypervisor"];

/// Returns the place of the first option.
pub(super) fn options(text: &str) -> Option<Range<usize>> {
    if !text.contains(OWN) && !text.contains(MICROVM) {
        return None;
    }
    let mut found = None;
    let mut sized = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inside = line.trim_start();
        let begin = at + line.len() - inside.len();
        at += line.len();
        if sets(inside, OWN) {
            return Some(begin..begin + OWN.len());
        }
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

/// Whether a line begins with the setting of an option.
fn sets(line: &str, option: &str) -> bool {
    let value = line.strip_prefix(option).map(str::trim_start).unwrap_or_default();
    value.starts_with('=') && !value.starts_with("==")
}

/// Whether a name is of such an option.
pub(super) fn is_option(name: &str) -> bool {
    matches!(name, OWN | MICROVM)
}

#[cfg(test)]
mod tests {
    use super::options;

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
        for text in [
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
}
