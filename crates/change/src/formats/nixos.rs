//! NixOS: a module.

use super::{Format, FormatError, SYSFS, Wanted, comment, indented, notes};
use crate::unit::{UNIT, WAIT};
use std::fmt::Write;

/// The module. Inside of `''` only `''` and `${` mean something to Nix; the script has neither.
pub(super) fn render(wanted: &Wanted) -> Result<String, FormatError> {
    if !wanted.remove.is_empty() {
        return Err(FormatError::Unsupported {
            format: Format::Nixos,
            what: "remove kernel parameters",
            instead: "remove them from boot.kernelParams where they are set",
        });
    }
    let undo =
        ["remove this file from imports, and nixos-rebuild switch; or boot an older generation"];
    let mut out = comment(&notes(wanted, &undo));
    out.push_str("{ ... }:\n{\n");
    if !wanted.add.is_empty() {
        let words: Vec<String> = wanted.add.iter().map(|word| format!("\"{word}\"")).collect();
        let _ = writeln!(out, "  boot.kernelParams = [ {} ];", words.join(" "));
    }
    if let Some(name) = &wanted.clocksource {
        let service = UNIT.trim_end_matches(".service");
        let _ = write!(
            out,
            "  systemd.services.{service} = {{
    description = \"Choose the clocksource {name}\";
    wantedBy = [ \"multi-user.target\" ];
    conflicts = [ \"shutdown.target\" ];
    before = [ \"shutdown.target\" ];
    unitConfig = {{
      ConditionPathExists = \"{SYSFS}/current_clocksource\";
      ConditionVirtualization = \"!container\";
      # Nothing waits for it: with the default dependencies multi-user.target would.
      DefaultDependencies = false;
    }};
    serviceConfig = {{
      Type = \"oneshot\";
      RemainAfterExit = true;
      # The script gives up after {WAIT} s.
      TimeoutStartSec = 30;
      NoNewPrivileges = true;
    }};
    script = ''
{}    '';
  }};
",
            indented(name, SYSFS, 6)
        );
    }
    out.push_str("}\n");
    Ok(out)
}
