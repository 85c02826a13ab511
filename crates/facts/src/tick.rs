//! Whether the tick is one-shot or periodic, from `/proc/timer_list`.

use std::io::{BufRead, BufReader, Read};

/// Bytes of the list that are read: the first CPU's modes are in its first pages.
const LIMIT: u64 = 4 << 20;

/// Whether a line of `/proc/timer_list` shows the mode of the tick (only these lines are stored in
/// a bundle).
#[must_use]
pub(crate) fn is_mode_line(line: &str) -> bool {
    mode(line).is_some() || per_cpu(line)
}

/// `true` for a one-shot tick (high resolution timers, or NOHZ), `false` for a periodic one.
///
/// # Errors
/// Returns an error if the list does not show the mode, or cannot be read.
pub fn oneshot(list: impl Read) -> Result<bool, String> {
    let mut periodic = false;
    let mut device = None;
    let mut reader = BufReader::new(list.take(LIMIT));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(|error| error.to_string())? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        match mode(&text) {
            Some(Mode::Cpu(true)) => return Ok(true),
            Some(Mode::Cpu(false)) => periodic = true,
            Some(Mode::Device(oneshot)) => device = Some(oneshot),
            // The mode before this line was the mode of a CPU's own device, not of the broadcast
            // device, which may be one-shot by itself.
            None if per_cpu(&text) => match device.take() {
                Some(true) => return Ok(true),
                Some(false) => periodic = true,
                None => {}
            },
            None => {}
        }
    }
    if periodic { Ok(false) } else { Err("it names no tick mode".to_owned()) }
}

enum Mode {
    Cpu(bool),
    Device(bool),
}

/// `  .hres_active    : 1`, `  .nohz_mode      : 2` (to 6.8), `  .nohz           : 1`,
/// `  .highres        : 1` (6.9 on), `Tick Device: mode:     1`.
fn mode(line: &str) -> Option<Mode> {
    let (name, value) = line.rsplit_once(':')?;
    let on = value.trim().parse::<u32>().ok()? != 0;
    match name.trim() {
        ".hres_active" | ".nohz_mode" | ".nohz" | ".highres" => Some(Mode::Cpu(on)),
        "Tick Device: mode" => Some(Mode::Device(on)),
        _ => None,
    }
}

fn per_cpu(line: &str) -> bool {
    line.starts_with("Per CPU device:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn modes_of_every_era() {
        let hres = "Timer List Version: v0.8\ncpu: 0\n clock 0:\n  .hres_active    : 1\n";
        assert_eq!(oneshot(hres.as_bytes()), Ok(true));
        let nohz = "  .hres_active    : 0\n  .nohz_mode      : 1\n";
        assert_eq!(oneshot(nohz.as_bytes()), Ok(true));
        let new = "  .nohz           : 0\n  .highres        : 1\n";
        assert_eq!(oneshot(new.as_bytes()), Ok(true));
        let off = "  .hres_active    : 0\n  .nohz_mode      : 0\n";
        assert_eq!(oneshot(off.as_bytes()), Ok(false));
    }

    #[test]
    fn the_broadcast_device_does_not_count() {
        let list = "Tick Device: mode:     1\nBroadcast device\nClock Event Device: hpet\n\
                    Tick Device: mode:     0\nPer CPU device: 0\nClock Event Device: lapic\n";
        assert_eq!(oneshot(list.as_bytes()), Ok(false));
        let list = list.replace("mode:     0", "mode:     1");
        assert_eq!(oneshot(list.as_bytes()), Ok(true));
        assert!(oneshot(&b"Tick Device: mode:     1\nBroadcast device\n"[..]).is_err());
        assert!(oneshot(&b""[..]).is_err());
    }

    proptest! {
        #[test]
        fn the_kept_lines_say_the_same(lines in proptest::collection::vec(
            "( \\.(hres_active|nohz|nohz_mode|highres) *: [01x])|(Tick Device: mode: [01])|(Per CPU device: 0)|[a-z:]{0,8}",
            0..12
        )) {
            let whole = lines.join("\n");
            let kept: Vec<&str> = lines.iter().map(String::as_str).filter(|l| is_mode_line(l)).collect();
            prop_assert_eq!(oneshot(whole.as_bytes()), oneshot(kept.join("\n").as_bytes()));
        }
    }
}
