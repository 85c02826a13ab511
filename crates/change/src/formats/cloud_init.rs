//! cloud-init: `bootcmd`, which runs at each boot. `write_files` cannot write to sysfs, because it makes a new file and
//! renames it.

use super::{SYSFS, Wanted, comment, indented, notes};

/// User data. The script runs in a subshell, so that a refusal does not count as a failed boot of
/// the instance; the refusal goes to the log of cloud-init.
pub(super) fn render(name: &str) -> String {
    let wanted = Wanted { clocksource: Some(name.to_owned()), ..Wanted::default() };
    let undo = [
        "remove it from the user data. On a running machine: remove the clocksource's",
        "script from /var/lib/cloud/instance/user-data.txt, or write the original name into",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource until the reboot",
    ];
    format!(
        "#cloud-config\n{}bootcmd:\n  - - /bin/sh\n    - -c\n    - |\n      (\n{}      ) || echo \
         \"clocksmith: the kernel's own clocksource stays\" >&2\n",
        comment(&notes(&wanted, &undo)),
        indented(name, SYSFS, 6),
    )
}
