//! Boots of real kernels, each of which chooses as predicted.

use crate::context::Context;
use crate::needs::{CC, DPKG, LIBC, Need, QEMU};
use crate::step::{Done, Step, Stop, Tier};
use crate::steps::guest_parts::{STATIC_PROGRAM, TESTBED};
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
        return Err(Stop::no_network("the kernels could not be fetched, or no guest came up"));
    }
    let complaints = complaints(&answer.text);
    if complaints.is_empty() && answer.code == Some(1) {
        // A kernel of a suite that moves may choose a clocksource other than the one in its case file, if that was
        // predicted.
        say!("-- boots: as predicted, and not as the case file expects; see above");
        return Ok(());
    }
    if !complaints.is_empty() && complaints.iter().all(|complaint| complaint.unfetched) {
        return Err(Stop::no_network(
            "a kernel could not be fetched; the others choose as predicted",
        ));
    }
    let names: Vec<&str> = complaints.iter().map(|complaint| complaint.boot.as_str()).collect();
    if names.is_empty() {
        return Err(Stop::fail(format!(
            "testbed run ended with {:?}, and names no boot",
            answer.code
        )));
    }
    context.again.replace(names.join(","));
    Err(Stop::fail(format!("not as predicted, or not up: {}", names.join(", "))))
}

/// A boot that `testbed run` complains about.
#[derive(Debug, Eq, PartialEq)]
struct Complaint {
    boot: String,
    /// It was not booted, because its kernel could not be fetched.
    unfetched: bool,
}

fn complaints(text: &str) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = Vec::new();
    let mut boot = "";
    for line in text.lines() {
        if !line.starts_with(' ') {
            boot = line.split_whitespace().next().filter(|word| word.contains('@')).unwrap_or("");
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
        let unfetched =
            failed && ["apt", "fetch", "archive"].iter().any(|word| line.contains(word));
        found.push(Complaint { boot: boot.to_owned(), unfetched });
    }
    found
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
i386@6.1-pae  FAILED: fetching package lists left none
pit@6.1     [tsc]  agrees
    THE CASE FILE EXPECTS [hpet]
6 boots; 3 of 4 compared agree in 9 s; 2 boots failed
";
        let found = complaints(text);
        let names: Vec<&str> = found.iter().map(|complaint| complaint.boot.as_str()).collect();
        assert_eq!(names, ["smp2@6.1", "no-hpet@6.1", "q35@6.1", "i386@6.1-pae"]);
        let unfetched: Vec<bool> = found.iter().map(|complaint| complaint.unfetched).collect();
        assert_eq!(unfetched, [false, false, false, true]);
    }
}
