//! Samples of an exporter that name their machine: `node_time_clocksource_current_info{clocksource="tsc",instance="db1"} 1`.

use super::sysfs;
use crate::names;

/// Metrics with the clocksource in use.
const METRICS: [&str; 2] =
    ["node_time_clocksource_current_info{", "clocksmith_clocksource_current_info{"];
/// Labels that name the machine of a sample.
const MACHINES: [&str; 6] = ["instance", "host", "hostname", "node", "nodename", "machine"];

/// Why samples of different clocksources are of no single machine, as the end of a sentence.
pub(super) fn several(lines: &[String]) -> Option<String> {
    let mut first: Option<(usize, &str, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        let Some((machine, name)) = sample(line) else { continue };
        match first {
            Some((place, known, other)) if known != machine && other != name => {
                return Some(format!(
                    "the samples in lines {} and {} are of two machines, {known} and {machine}, with different clocksources, \
                     {other} and {name}: give those of one",
                    place + 1,
                    number + 1
                ));
            }
            Some(_) => {}
            None => first = Some((number, machine, name)),
        }
    }
    None
}

/// The machine and the clocksource of a sample.
fn sample(line: &str) -> Option<(&str, &str)> {
    let labels = METRICS.iter().find_map(|metric| line.trim().strip_prefix(metric))?;
    if !sysfs::is_sample(labels) {
        return None;
    }
    let value = |label: &str| {
        let mut fields = labels.split(',').filter_map(|field| field.trim().split_once("=\""));
        fields.find(|(name, _)| *name == label).and_then(|(_, value)| value.split('"').next())
    };
    let name = value("clocksource").filter(|name| names::is_known(name))?;
    Some((MACHINES.iter().find_map(|label| value(label))?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_several(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        several(&lines).is_some()
    }

    #[test]
    fn samples_of_different_instances_are_of_several_machines() {
        let of = |label: &str, machine: &str, name: &str| {
            format!(
                "node_time_clocksource_current_info{{clocksource=\"{name}\",device=\"0\",{label}=\"{machine}\"}} 1\n"
            )
        };
        for label in ["instance", "nodename", "host"] {
            let both = of(label, "web7", "tsc") + &of(label, "web8", "hpet");
            assert!(are_several(&both), "{both}");
            assert!(!are_several(&both.replace("hpet", "tsc")), "{both}");
            // Two moments of one machine.
            assert!(!are_several(&both.replace("web8", "web7")), "{both}");
            assert!(!are_several(&both.replace("} 1\n", "} 0\n")), "{both}");
        }
        assert!(!are_several(&(of("job", "a", "tsc") + &of("job", "b", "hpet"))));
    }
}
