//! Lines that a terminal, a console or an editor wrapped inside words, at any width, or truncated: a part of a figure
//! or of a name is never read as the whole one.

#![allow(clippy::unwrap_used)]

use clocksmith_facts::log::{Event, KernelLog};

/// The beginning of a boot, its clocks, and the watchdog's messages.
const LOG: &str = "\
[    0.000000] Linux version 6.1.0-18-amd64 (build@example.org) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils) 2.40) #1 SMP
[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/mapper/vg-root ro quiet splash nomodeset
[    0.000000] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable, and as much again of what the firmware keeps
[    0.000000] tsc: Detected 2893.202 MHz processor
[    0.004213] smpboot: CPU0: Intel(R) Core(TM) i5-1000 CPU @ 2.90GHz (family: 0x6, model: 0x9e, stepping: 0x9)
[    0.031774] ACPI: HPET 0x000000007FE2F3B8 000038 (v01 BOCHS  BXPC     00000001 BXPC 00000001), with some more words behind it
[    0.062231] clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645519600211568 ns
[    0.093341] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns
[    0.124452] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x29b42a1a3c1, max_idle_ns: 440795218922 ns
[    0.310021] clocksource: Switched to clocksource tsc-early
[    0.433320] pci 0000:00:1f.0: [8086:a0c0] type 00 class 0x060100 conventional PCI endpoint with a long description
[    1.432211] tsc: Refined TSC clocksource calibration: 2893.298 MHz
[    1.432240] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x29b48449c0f, max_idle_ns: 440795233412 ns
[    1.432311] clocksource: Switched to clocksource tsc
[   93.100002] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:
[   93.100011] clocksource:                       'hpet' wd_nsec: 503845123 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff
[   93.100015] clocksource:                       'tsc' cs_nsec: 499115281 cs_now: 3f2a8b71c992 cs_last: 3f2a58ab1204 mask: ffffffffffffffff
[   93.100021] clocksource:                       'tsc' is current clocksource.
[   93.100027] tsc: Marking TSC unstable due to clocksource watchdog
[   93.100088] clocksource: Switched to clocksource hpet
";

fn events(text: &str) -> Vec<Event> {
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    log.entries.into_iter().map(|entry| entry.event).collect()
}

fn parts(line: &str, columns: usize) -> Vec<&str> {
    line.as_bytes().chunks(columns).map(|part| std::str::from_utf8(part).unwrap()).collect()
}

/// The events about clocks that have figures.
fn of_clocks(events: Vec<Event>) -> Vec<Event> {
    events
        .into_iter()
        .filter(|event| {
            matches!(
                event,
                Event::Registered { .. }
                    | Event::Switched(_)
                    | Event::Detected { .. }
                    | Event::Refined { .. }
                    | Event::WatchdogDetail { .. }
            )
        })
        .collect()
}

#[test]
fn wrapped_inside_words_at_any_width_a_log_says_the_same() {
    let whole = of_clocks(events(LOG));
    assert_eq!(whole.len(), 11);
    for columns in (52..140).step_by(3).chain([80, 81]) {
        let wrapped: Vec<&str> = LOG.lines().flat_map(|line| parts(line, columns)).collect();
        let read = of_clocks(events(&(wrapped.join("\n") + "\n")));
        assert_eq!(read, whole, "{columns}: {wrapped:#?}");
    }
}

/// A mailer wraps at blanks, and a reply quotes the parts.
#[test]
fn wrapped_and_quoted_by_mailers_the_watchdogs_lines_say_the_same() {
    let lines = LOG.lines().filter(|line| line.contains("_now:"));
    // Counts of jiffies begin with a letter.
    let jiffies = "[    1.520010] clocksource:                       'refined-jiffies' wd_now: fffb7210 wd_last: \
                   fffb7018 mask: ffffffff";
    for line in lines.chain([jiffies]) {
        let whole = of_clocks(events(&format!("{line}\n")));
        assert_eq!(whole.len(), 1, "{line}");
        for at in line.match_indices(": ").map(|(at, _)| at).filter(|at| *at > 40) {
            let (head, rest) = (&line[..=at], &line[at + 2..]);
            for quote in ["", "> ", "> >> "] {
                let text = format!("{quote}{head}\n{quote}{rest}\n");
                assert_eq!(of_clocks(events(&text)), whole, "{text}");
            }
        }
    }
}

/// Excerpts are too short to show the width, and numbers may precede the parts.
#[test]
fn few_wrapped_lines_never_show_another_figure_or_name() {
    let clean = of_clocks(events(LOG));
    let known = |event: &Event| {
        match event {
        Event::Registered { name, max_cycles: 0, .. } => clean
            .iter()
            .any(|event| matches!(event, Event::Registered { name: other, .. } if other == name)),
        Event::WatchdogDetail { name, nsec, now, last, mask, .. } => clean.iter().any(|event| {
            matches!(event, Event::WatchdogDetail { name: other, nsec: ns, now: n, last: l, mask: m, .. }
                if other == name
                    && (nsec.is_none() || nsec == ns)
                    && (*mask == 0 || [now, last, mask] == [n, l, m]))
        }),
        event => clean.contains(event),
    }
    };
    for line in LOG.lines().filter(|line| !of_clocks(events(&format!("{line}\n"))).is_empty()) {
        let end = "[   99.000000] random: crng init done";
        for columns in (40..line.len()).step_by(3) {
            let wrapped = parts(line, columns);
            let numbered = |sign: &str| -> String {
                let rows = wrapped.iter().copied().chain([end]).enumerate();
                rows.map(|(n, part)| format!("{:6}{sign}{part}\n", 1406 + n)).collect()
            };
            let file: String = wrapped
                .iter()
                .enumerate()
                .map(|(n, part)| format!("dmesg.txt:{}:{part}\n", n + 98))
                .collect();
            let plain = wrapped.join("\n") + "\n";
            let forms = [
                plain.clone() + end + "\n",
                plain.replace('\n', "\n\n"),
                numbered("\t"),
                numbered("\t> "),
                file,
                wrapped.join(" ") + "\n",
                plain.lines().next().unwrap().to_owned() + "\n" + end + "\n",
            ];
            for form in forms {
                for event in of_clocks(events(&form)) {
                    assert!(known(&event), "{event:?} in\n{form}");
                }
            }
        }
    }
}

#[test]
fn figures_that_the_kernel_cannot_have_made_are_not_used() {
    let registered = |text: &str| {
        events(text).into_iter().find_map(|event| match event {
            Event::Registered { name, max_cycles, .. } if name == "tsc" => Some(max_cycles),
            _ => None,
        })
    };
    let line = |cycles: &str| {
        format!(
            "[    1.4] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: {cycles}, max_idle_ns: 440795233412 ns\n"
        )
    };
    assert_eq!(registered(&line("0x29b48449c0f")), Some(0x029b_4844_9c0f));
    // Too few digits for any rate; without the prefix of a hexadecimal figure; with a blank in it.
    for cycles in ["0x29b48449", "29b48449c0f", "0x29b48 449c0f"] {
        assert_eq!(registered(&line(cycles)), Some(0), "{cycles}");
    }
    // One digit is missing: the measured rate is sixteen times as high.
    let refined = "[    1.3] tsc: Refined TSC clocksource calibration: 2893.298 MHz\n";
    assert_eq!(registered(&line("0x29b48449c0")), Some(0x29_b484_49c0));
    assert_eq!(registered(&format!("{refined}{}", line("0x29b48449c0"))), Some(0));
}

#[test]
fn name_that_a_wrap_or_a_column_limit_cut_is_not_another_clocksource() {
    let switches = |text: &str| -> Vec<String> {
        let name = |event| match event {
            Event::Switched(name) => Some(name),
            _ => None,
        };
        events(text).into_iter().filter_map(name).collect()
    };
    let switch = "[    0.310021] clocksource: Switched to clocksource";
    for (first, rest) in [("hyperv_clocksource", "_tsc_page"), ("x", "en"), ("r", "efined-jiffies")]
    {
        let name = format!("{first}{rest}");
        assert_eq!(
            switches(&format!("{switch} {first}\n{rest}\n[    0.4] x\n")),
            std::slice::from_ref(&name)
        );
        let numbered = format!(
            "dmesg.txt:9:{switch} {first}\ndmesg.txt:10:{rest}\ndmesg.txt:11:[    0.4] x\n"
        );
        assert_eq!(switches(&numbered), [name]);
    }
    for part in ["x", "r", "kvm", "ref", "hyperv_c", "arch_sys", "32k_coun"] {
        assert_eq!(switches(&format!("{switch} {part}\n[    0.4] x\n")), [""; 0], "{part}");
    }
    // A name that ends at the truncation column of other lines may be longer.
    let cut = |columns: usize| -> String {
        let others = LOG.lines().take(8).map(str::to_owned);
        let lines = others
            .chain([format!("{switch} hyperv_clocksource_tsc_page"), "[    0.4] x".to_owned()]);
        lines.map(|line| line[..line.len().min(columns)].to_owned() + "\n").collect()
    };
    assert_eq!(switches(&cut(switch.len() + 19)), [""; 0]);
    assert_eq!(switches(&cut(switch.len() + 28)), ["hyperv_clocksource_tsc_page"]);
    // After a complete name, a line of another program is not part of it.
    for (next, name) in [("systemd", "tsc"), ("x", "timer"), ("# end", "hpet")] {
        assert_eq!(switches(&format!("{switch} {name}\n{next}\n[    0.4] x\n")), [name]);
    }
}

#[test]
fn encoded_mail_is_read_as_its_text() {
    let head = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: ";
    let log = "> [    0.000000] Linux version 6.15.0-rc2-1.1-mainline-dirty (me@build) #1 SMP\n\
               > [    0.000000] Command line: root=UUID=6f0e a=1 b=2 c=3 d=4 e=5 f=6 clocksource=hpet last=7\n\
               > [    0.700000] clocksource: Switched to clocksource hpet\n";
    let told = |text: &str| {
        let log = KernelLog::scan(text.as_bytes(), "mail").unwrap();
        let events = log.entries.iter().filter_map(|entry| match &entry.event {
            Event::Banner(text) | Event::CommandLine(text) => {
                Some((entry.line, text.trim().to_owned()))
            }
            Event::Switched(name) => Some((entry.line, name.clone())),
            _ => None,
        });
        events.collect::<Vec<_>>()
    };
    let plain: Vec<String> = told(log).into_iter().map(|(_, text)| text).collect();
    // Each line is broken in four, also inside of words.
    let mut broken = String::new();
    for line in log.lines() {
        let line = line.replace('=', "=3D");
        let parts: Vec<&[u8]> = line.as_bytes().chunks(24).collect();
        let parts: Vec<_> = parts.into_iter().map(String::from_utf8_lossy).collect();
        broken += &parts.join("=\n");
        broken.push('\n');
    }
    let broken =
        broken.replace("=\n3D", "=3D=\n").replace("==\n3D", "=3D=\n").replace("=3=\nD", "=3D=\n");
    for head in ["", &format!("{head}quoted-printable\n\n")] {
        let text = format!("{head}{broken}");
        let told = told(&text);
        assert_eq!(told.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>(), plain, "{text}");
        let is_there = |(line, _): &(u64, String)| {
            text.lines().nth(*line as usize - 1).unwrap().starts_with("> [")
        };
        assert!(told.iter().all(is_there), "{told:?}");
    }
    let base64 = "WyAgICAwLjAwMDAwMF0gTGludXggdmVyc2lvbiA2LjE1LjAtcmMyICh4QHkpICMxIFNNUApbICAg\n\
                  IDAuNzAwMDAwXSBjbG9ja3NvdXJjZTogU3dpdGNoZWQgdG8gY2xvY2tzb3VyY2UgaHBldAo=\n";
    assert!(told(&format!("{head}base64\n\n{base64}")).iter().any(|(_, name)| name == "hpet"));
}
