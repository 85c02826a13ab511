//! `vdsotest`: `clock-gettime-monotonic: syscall: 127 nsec/call`, then the same for `libc` and `vdso`.

use super::pg_test_timing::nanoseconds;
use super::{Cost, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "vdsotest", words: &["nsec/call"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let Some((test, _, _)) = row(page.line(at)) else { return 0 };
    let test = test.to_owned();
    let (mut syscall, mut vdso, mut end) = (None, None, at);
    let mut number = at;
    while number < page.len().min(at + 12) {
        let line = page.line(number);
        number += 1;
        let Some((_, way, ns)) = row(line).filter(|(same, ..)| *same == test) else {
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        match way {
            "syscall" => syscall = Some(ns),
            "vdso" => vdso = Some(ns),
            "libc" => vdso = vdso.or(Some(ns)),
            _ => {}
        }
        end = number;
    }
    let of_the_clocksource = !test.contains("getcpu") && !test.contains("getres");
    if let Some(ns) = vdso.filter(|_| of_the_clocksource) {
        let cost = Cost { clock: test, ns, syscall_ns: syscall, by_instruction: false };
        page.symptom(at, READER.name, Seen::Cost(cost));
    }
    (end - at).max(1)
}

fn row(line: &str) -> Option<(&str, &str, f64)> {
    let mut parts = line.trim().splitn(3, ':');
    let (test, way, value) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = |name: &str| name.len() < 60 && name.bytes().all(|b| b.is_ascii_graphic());
    let (test, way) = (test.trim(), way.trim());
    (plain(test) && plain(way)).then_some(())?;
    Some((test, way, nanoseconds(value)?))
}
