//! Figures in the text of a message that the parser's event does not contain.

use super::figures::{ppm, seconds};

/// The meaning of the figures in the text of a message.
pub(super) fn figures(id: &str, text: &str) -> Vec<String> {
    match id {
        "adjust-restored" => pair(text, "differs: CPU", "-->").map(|(from, to)| {
            format!("The register moved by {}.", cycles(to.saturating_sub(from)))
        }),
        "adjust-forced" => {
            number_after(text, "CPU0:").map(|value| format!("Firmware had left {}.", cycles(value)))
        }
        "watchdog-cpu-order" => pair(text, "CPU", "< CPU")
            .map(|(first, second)| format!("The counters are {} apart.", cycles(second - first))),
        "tsc-mismatch" => mismatch(text),
        _ => None,
    }
    .into_iter()
    .collect()
}

#[allow(clippy::cast_precision_loss)]
fn cycles(n: i64) -> String {
    format!("{n} cycles (about {} at 3 GHz)", seconds(n as f64 / 3e9))
}

/// `CPU3 123 SEP 456` or `CPU3 123 < CPU0 456`: the two values after the CPU's number.
fn pair(text: &str, head: &str, separator: &str) -> Option<(i64, i64)> {
    let at = text.find(separator)?;
    let start = text[..at].rfind(head)? + head.len();
    let first = text[start..at].split_whitespace().nth(1)?.parse().ok()?;
    let mut rest = text[at + separator.len()..].split_whitespace();
    if separator.ends_with("CPU") {
        rest.next()?;
    }
    let second = rest.next()?.trim_end_matches('.').parse().ok()?;
    let (first, second): (i64, i64) = (first, second);
    second.checked_sub(first)?;
    Some((first, second))
}

fn number_after(text: &str, key: &str) -> Option<i64> {
    let at = text.find(key)? + key.len();
    text[at..].split_whitespace().next()?.parse().ok()
}

/// `between VM (N kHz) and host (M kHz)`.
#[allow(clippy::cast_precision_loss)]
fn mismatch(text: &str) -> Option<String> {
    let khz = |key: &str| -> Option<u32> {
        let at = text.find(key)? + key.len();
        text[at..].split_whitespace().next()?.parse().ok().filter(|khz| *khz > 0)
    };
    let (guest, host) = (f64::from(khz("VM (")?), f64::from(khz("host (")?));
    let difference = (host / guest - 1.0) * 1e6;
    let side = if difference < 0.0 { "slow" } else { "fast" };
    Some(format!("A guest on tsc would run {} {side}.", ppm(difference.abs())))
}

#[cfg(test)]
mod tests {
    use super::figures;

    #[test]
    fn figures_in_texts() {
        let restored = "[Firmware Bug]: TSC ADJUST differs: CPU15 45960750 --> 78394770. Restoring";
        assert!(
            figures("adjust-restored", restored)[0].contains("32434020 cycles (about 10.81 ms")
        );
        let forced = "[Firmware Bug]: TSC ADJUST: CPU0: -7309500619 force to 0";
        assert!(figures("adjust-forced", forced)[0].contains("-2.44 s"));
        let order = "clocksource: CPU3 1000 < CPU0 1333 (cycles)";
        assert!(figures("watchdog-cpu-order", order)[0].contains("333 cycles"));
        let mismatch =
            "TSC frequency mismatch between VM (2893199 kHz) and host (2099998 kHz), and";
        assert!(figures("tsc-mismatch", mismatch)[0].contains("27.4 % slow"));
    }

    #[test]
    fn garbled_texts() {
        for id in ["adjust-restored", "adjust-forced", "watchdog-cpu-order", "tsc-mismatch"] {
            for text in
                ["", "CPU", "CPU < CPU", "differs: CPU --> ", "VM ( host (", "CPU3 é < CPU0"]
            {
                assert!(figures(id, text).is_empty(), "{id} {text}");
            }
        }
        let far = format!("CPU1 {} < CPU0 {} (cycles)", i64::MIN, i64::MAX);
        assert!(figures("watchdog-cpu-order", &far).is_empty());
    }
}
