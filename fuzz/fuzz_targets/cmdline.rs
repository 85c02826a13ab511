//! Kernel command lines and hypothetical changes: `LINE`, then one change on each further line.

#![no_main]

use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::{Fact, Facts, Origin};
use clocksmith_kernel::{Machine, predict};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let line = CommandLine::parse(lines.next().unwrap_or_default());
    if let Some(name) = line.clocksource_override() {
        assert!(name.chars().count() <= 31);
    }
    for word in line.words() {
        assert!(line.has(&word.name), "{word:?}");
        assert!(!line.without(&word.name).has(&word.name), "{word:?}");
        let _ = line.number(&word.name);
    }
    // Quotes are taken off once, so only the second writing must be stable.
    let once = CommandLine::parse(&line.text());
    if !text.contains('"') {
        assert_eq!(once, line, "what was written is not what was read");
    }
    let mut facts = Facts::empty(Origin::Stated);
    facts.cmdline = Fact::known(line, "proc/cmdline");
    clocksmith_fuzz::judge(&facts);

    let mut machine = Machine::of(&facts);
    for change in lines {
        match change.split_once('=') {
            Some(("kernel", version)) => drop(machine.set_kernel(version)),
            Some(("cmdline", words)) => machine.set_cmdline(words),
            Some((fact, value)) => drop(machine.set(fact, value)),
            None => machine.set_cmdline(change),
        }
    }
    assert!(machine.effective_possible_cpus() >= 1);
    clocksmith_fuzz::consistent(&predict(&machine));
});
