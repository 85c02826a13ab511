//! Texts about a wrong date inside a 32-bit container whose host refuses the call for it: a page about clocks that are wrong
//! at each start would mislead.

/// The page of that call.
pub(super) const PAGE: &str = "clock_gettime64: Operation not permitted";

/// What programs print when they cannot read a clock.
const CANNOT_READ: [&str; 5] = [
    "cannot read realtime clock: operation not permitted",
    "clock_gettime(monotonic) failed",
    "clock_gettime(clock_monotonic) failed",
    "clock_gettime(clock_realtime) failed",
    "no monotonic clock was available",
];
/// The year that is then shown.
const YEAR: &str = "1970";
/// Names of 32-bit systems.
const NARROW: [&str; 8] =
    ["armhf", "arm32", "armv6", "armv7", "arm/v6", "arm/v7", "raspbian", "32-bit"];
/// Names of containers.
const CONTAINERS: [&str; 4] = ["docker", "container", "podman", "containerd"];

/// Whether a text in small letters is about that.
pub(super) fn tells(small: &str) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let in_container = any(&CONTAINERS);
    in_container && any(&CANNOT_READ)
        || in_container && any(&NARROW) && (small.contains(YEAR) || small.contains("libseccomp"))
}

#[cfg(test)]
mod tests {
    use super::super::of_wall_clock;
    use super::{PAGE, tells};

    #[test]
    fn a_container_that_cannot_ask_for_the_time() {
        for text in [
            "In my container on the Pi 3 (arm32v7) `date` says Sat Feb 28 08:07:23 UTC 1970",
            "docker: sleep: cannot read realtime clock: Operation not permitted",
            "Container on armhf: the clock is wrong until libseccomp2 is updated",
        ] {
            assert_eq!(of_wall_clock(text), [PAGE], "{text}");
        }
    }

    #[test]
    fn other_dates_of_1970() {
        for text in [
            "the raspberry pi (armv7) boots in 1970 until ntp answers",
            "the container runs on amd64 and shows 1970",
            "docker on armv7: the date is two hours behind",
        ] {
            assert!(!tells(text), "{text}");
        }
    }
}
