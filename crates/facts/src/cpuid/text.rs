//! The text that `cpuid -r` prints: parsed, and written.

use super::{CpuidDump, Regs};
use crate::cpu::CpuList;
use std::fmt;

impl CpuidDump {
    /// Parses the output of `cpuid -r` (`CPU 0:` and a line for each leaf), or of `cpuid -r -1` (`CPU:`).
    /// Lines of any other form are skipped.
    ///
    /// # Errors
    /// Returns an error if the text contains no leaf.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut dump = Self::default();
        let mut cpu = 0u32;
        for line in text.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("CPU") {
                if let Some((number, note)) = rest.split_once(':') {
                    // A bare `CPU:` is the next CPU; the first of them is CPU 0.
                    cpu = match number.trim() {
                        "" => dump.cpus.keys().next_back().map_or(0, |last| last.saturating_add(1)),
                        number => number.parse().unwrap_or(cpu),
                    }
                    .min(CpuList::MAX);
                    if !note.trim().is_empty() {
                        dump.unasked.insert(cpu, note.trim().to_owned());
                    }
                }
            } else if let Some((leaf, regs)) = parse_leaf(line) {
                dump.cpus.entry(cpu).or_default().entry(leaf).or_insert(regs);
            }
        }
        if dump.cpus.is_empty() { Err("no CPUID leaf in the text".to_owned()) } else { Ok(dump) }
    }
}

/// `0x80000007 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000100`
fn parse_leaf(line: &str) -> Option<((u32, u32), Regs)> {
    let (place, values) = line.split_once(':')?;
    let mut place = place.split_ascii_whitespace().map(hex);
    let (leaf, subleaf) = (place.next()??, place.next().unwrap_or(Some(0))?);
    let mut registers = values.split_ascii_whitespace();
    let mut register = |name: &str| hex(registers.next()?.strip_prefix(name)?.strip_prefix('=')?);
    let regs = Regs {
        eax: register("eax")?,
        ebx: register("ebx")?,
        ecx: register("ecx")?,
        edx: register("edx")?,
    };
    Some(((leaf, subleaf), regs))
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The text that `cpuid -r` prints.
impl fmt::Display for CpuidDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (cpu, leaves) in &self.cpus {
            writeln!(f, "CPU {cpu}:")?;
            for ((leaf, subleaf), r) in leaves {
                writeln!(
                    f,
                    "   0x{leaf:08x} 0x{subleaf:02x}: eax=0x{:08x} ebx=0x{:08x} ecx=0x{:08x} \
                     edx=0x{:08x}",
                    r.eax, r.ebx, r.ecx, r.edx
                )?;
            }
        }
        for (cpu, reason) in &self.unasked {
            writeln!(f, "CPU {cpu}: {}", reason.replace('\n', " ").trim())?;
        }
        Ok(())
    }
}
