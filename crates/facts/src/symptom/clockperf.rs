//! `clockperf`: a table with the column `Cost(ns)`.

use super::{Cost, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "clockperf", words: &["Cost(ns)"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let mut end = at + 1;
    let mut number = at + 1;
    while number < page.len().min(at + 60) {
        let line = page.line(number);
        number += 1;
        if line.trim().is_empty() {
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(Ok(ns))) = (words.next(), words.next().map(str::parse::<f64>)) else {
            break;
        };
        let by_instruction = matches!(name, "tsc" | "rdtsc" | "rdtscp" | "cpuid+rdtsc");
        let clock = match name {
            "realtime" | "monotonic" => format!("CLOCK_{}", name.to_ascii_uppercase()),
            "realtime_crs" => "CLOCK_REALTIME_COARSE".to_owned(),
            "monotonic_crs" => "CLOCK_MONOTONIC_COARSE".to_owned(),
            "gettimeofday" => name.to_owned(),
            _ if by_instruction => name.to_owned(),
            // Clocks of processes show nothing about the clocksource.
            _ => {
                end = number;
                continue;
            }
        };
        if ns > 0.0 && ns < 1e9 {
            page.symptom(
                number - 1,
                READER.name,
                Seen::Cost(Cost { clock, ns, by_instruction, ..Cost::default() }),
            );
        }
        end = number;
    }
    end - at
}
