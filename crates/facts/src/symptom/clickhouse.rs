//! Warnings of servers that go by the name of the clocksource: ClickHouse (`programs/server/Server.cpp`), Elastic's
//! agent for Java.

use super::{Rule, Seen, Warning};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "warning of a server",
    words: &[
        "fast TSC clock source",
        "fast clock source",
        "slow clock source",
        "slow clocksource",
        "clocksource is slow",
    ],
    read,
};

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    let product = if line.contains("not using a fast") {
        "ClickHouse"
    } else if line.contains("assandra") {
        "Cassandra"
    } else {
        "a server"
    };
    let warns = product == "ClickHouse" || line.contains("WARN") || line.contains("warning");
    if !warns {
        return 0;
    }
    page.symptom(
        at,
        READER.name,
        Seen::Warning(Warning { product, rule: Rule::Name, ..Warning::default() }),
    );
    1
}
