//! systemd-tmpfiles: one line. The unit is [`crate::unit`].

use super::{SYSFS, Wanted, comment, notes};

/// Returns the line: `w!` writes at boot only, and only into an existing file (tmpfiles.d(5), systemd 219 to 258). It
/// neither waits nor reads back, as its comment states.
pub(super) fn tmpfiles(name: &str) -> String {
    let wanted = Wanted { clocksource: Some(name.to_owned()), ..Wanted::default() };
    let undo = [
        "remove this file and reboot, or write the original name into",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ];
    let mut lines = notes(&wanted, &undo);
    // A unit can do this, a line cannot.
    if let Some(acts) = lines.iter().position(|line| line.starts_with("a reboot.")) {
        lines.splice(
            acts..acts + 2,
            [
                "a reboot. The kernel ignores a name that is not available, and reports success:"
                    .to_owned(),
                "look afterwards. tsc is registered about a second after the boot, which may be too"
                    .to_owned(),
                "late for this line; the systemd unit waits for it, and reads back.".to_owned(),
            ],
        );
    }
    format!("{}w! {SYSFS}/current_clocksource - - - - {name}\n", comment(&lines))
}
