//! Boots of real kernels, each of which chooses as predicted.

use crate::context::Context;
use crate::needs::{CC, DPKG, LIBC, Need, QEMU};
use crate::step::{Done, Step, Stop, Tier};
use crate::steps::guest_parts::{STATIC_PROGRAM, TESTBED, error_of, unfetched};
use crate::steps::rust::PROGRAM;

/// Boots of the short form: one for each architecture and each verdict.
const FEW_BOOTS: &str =
    "smp2@6.1,no-hpet@7.x,smp1@7.x,want-jiffies@7.x,arm-want-jiffies,i386,plain@6.1-s390x";

pub(crate) static BOOTS: Step = Step {
    name: "boots",
    what: "what real kernels choose is what is predicted, and what is said inside is right",
    tier: Tier::All,
    emulated: true,
    beside: false,
    seconds: 120,
    budget: 600,
    short: Some(40),
    needs: &[
        QEMU,
        Need::Tool("qemu-system-aarch64", "qemu-system-arm"),
        Need::Tool("qemu-system-s390x", "qemu-system-misc"),
        CC,
        LIBC,
        DPKG,
        Need::Network,
    ],
    uses: &[&PROGRAM, &TESTBED, &STATIC_PROGRAM],
    run: boots,
};

/// The second try boots only the cases that disagreed in the first.
fn boots(context: &Context) -> Done {
    let again = context.again.take();
    let subset = match (again.as_str(), context.short.get()) {
        ("", true) => FEW_BOOTS,
        ("", false) => "ci",
        (some, _) => some,
    };
    let answer = context
        .testbed("run --clocksmith")
        .arg(context.program())
        .arg("--guest-clocksmith")
        .arg(context.static_program())
        .arg("--out")
        .arg(context.dir.join(if again.is_empty() { "boots" } else { "boots-again" }))
        .args("--subset")
        .arg(subset)
        .limit(1500)
        .answer(context)?;
    if answer.good() {
        return Ok(());
    }
    if !answer.text.contains("compared agree") {
        // It did not get to the end.
        let why = unfetched(error_of(&answer.text), "the kernels could not be fetched");
        return Err(why.unwrap_or_else(|| Stop::fail(format!("testbed run: {}", answer.how()))));
    }
    let complaints = complaints(&answer.text);
    if complaints.is_empty() && answer.code == Some(1) {
        // A kernel of a suite that moves may choose a clocksource other than the one in its case file, if that was
        // predicted.
        say!("-- boots: as predicted, and not as the case file expects; see above");
        return Ok(());
    }
    let missing: Option<Vec<&Stop>> =
        complaints.iter().map(|complaint| complaint.unfetched.as_ref()).collect();
    if let Some(stop) = missing.and_then(|stops| stops.first().copied().cloned()) {
        return Err(stop);
    }
    let names: Vec<&str> = complaints.iter().map(|complaint| complaint.boot.as_str()).collect();
    if names.is_empty() {
        return Err(Stop::fail(format!("testbed run: {}, and it names no boot", answer.how())));
    }
    context.again.replace(names.join(","));
    Err(Stop::fail(format!("not as predicted, or not up: {}", names.join(", "))))
}

/// A boot that `testbed run` complains about.
#[derive(Debug, Eq, PartialEq)]
struct Complaint {
    boot: String,
    /// Why its kernel could not be fetched, so that it was not booted.
    unfetched: Option<Stop>,
}

fn complaints(text: &str) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = Vec::new();
    let mut boot = "";
    for line in text.lines() {
        if !line.starts_with(' ') {
            boot = boot_of(line).unwrap_or("");
        }
        let inner = line.strip_prefix("    ").unwrap_or_default();
        let failed = line.contains("FAILED: ");
        let wrong = line.contains("NO PREDICTION: ")
            || ["PREDICTED ", "DISAGREES "].iter().any(|word| inner.starts_with(word));
        if boot.is_empty()
            || !(failed || wrong)
            || found.iter().any(|complaint| complaint.boot == boot)
        {
            continue;
        }
        let what = "a kernel could not be fetched; the others choose as predicted";
        // The error begins behind the name of the boot: a guest's last words are within one.
        let said = said_of(text, line);
        let error = said.split_once("FAILED: ").map_or("", |(_, error)| error);
        let unfetched = failed.then(|| unfetched(error, what)).flatten();
        found.push(Complaint { boot: boot.to_owned(), unfetched });
    }
    found
}

/// The boot that a line begins with.
fn boot_of(line: &str) -> Option<&str> {
    line.split(' ').next().filter(|word| word.contains('@'))
}

/// A line, and those up to the next boot: the errors of apt have several lines.
fn said_of(text: &str, line: &str) -> String {
    let lines = text.lines().skip_while(|found| *found != line);
    let more = lines.skip(1).take_while(|line| boot_of(line).is_none());
    std::iter::once(line).chain(more).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_each_boot_is_named_once() {
        let text = "\
smp1@7.x    [tsc]  agrees
    inside: ok  (why 0.4 s, collect 0.2 s, 11 KiB)
smp2@6.1    [hpet]
    PREDICTED [tsc]
    DISAGREES verdict ok
no-hpet@6.1    [acpi_pm]  agrees
    DISAGREES verdict ok
q35@6.1     FAILED: the guest said nothing for 60 s
i386@6.1-pae  FAILED: getting the kernel `6.1-pae` (x): fetching package lists left none
smp1@6.1    FAILED: getting the kernel `6.1` (x): downloading linux failed (exit status: 100): W: slow
E: Failed to fetch http://d/pool/linux.deb  Could not connect to d:80
none@6.1    FAILED: getting the kernel `6.1` (x): downloading linux failed (exit status: 100): E: Failed to fetch http://d/l.deb  404  Not Found
dead@7.x    FAILED: waiting for the guest to say `ready`; its last words: getting the kernel: Connection refused
old@5.10    FAILED: getting the kernel `5.10` (x): no package matches `x`; the archive may have moved on
pit@6.1     [tsc]  agrees
    THE CASE FILE EXPECTS [hpet]
8 boots; 3 of 4 compared agree in 9 s; 4 boots failed
";
        let found = complaints(text);
        let names: Vec<&str> = found.iter().map(|complaint| complaint.boot.as_str()).collect();
        assert_eq!(
            names,
            [
                "smp2@6.1",
                "no-hpet@6.1",
                "q35@6.1",
                "i386@6.1-pae",
                "smp1@6.1",
                "none@6.1",
                "dead@7.x",
                "old@5.10"
            ]
        );
        let unfetched: Vec<bool> =
            found.iter().map(|complaint| complaint.unfetched.is_some()).collect();
        assert_eq!(unfetched, [false, false, false, true, true, false, false, false]);
    }
}
