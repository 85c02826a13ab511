//! The reason why nothing of a file follows the choices, and the text to write by hand. A file that follows them
//! already needs no reason.

use crate::choice::Choices;
use crate::document::Document;
use crate::formats::Kind;
use crate::formats::libvirt::{self, domain::Domain, domain::Driver};
use crate::formats::proxmox::is_confidential;
use crate::formats::qemu::confidential::WHY;
use crate::formats::qemu::line::Line;
use crate::formats::qemu::machine::of_x86;
use crate::formats::qemu::property::Properties;
use crate::formats::qemu::script::Script;
use crate::formats::qemu::{cpu, cpu::frequency, written};
use crate::migrate::{guest, other};
use crate::placed::Placed;

/// The message about a processor that has neither.
const FOREIGN: &str = "its processor is not x86, and no other one has them";

/// The message about a script that a file writes.
const WRITTEN: &str = "other commands write the script with -cpu line by line";

/// Returns why an unchanged file does not follow the choices; `None` if it does.
pub(crate) fn why(document: &Document, choices: &Choices) -> Option<String> {
    let why = match document.kind {
        Kind::Qemu => qemu(document, choices)?,
        Kind::Libvirt => libvirt(document, choices)?,
        Kind::Proxmox => proxmox(document, choices)?,
        _ => return None,
    };
    Some(with_words(document, choices, why))
}

/// Returns the choices that a `-cpu` of a file does not follow yet: what each of them has need not be written.
fn open(document: &Document, choices: &Choices) -> Choices {
    if document.kind != Kind::Qemu || !choices.invtsc || choices.tsc_frequency.is_none() {
        return *choices;
    }
    let asks = |script: &Script| -> Vec<bool> {
        let lines = script.commands.iter().map(|command| Line::of_words(&command.words));
        let on = |cpu: &Properties| cpu.get("invtsc").is_some_and(|it| it.state() == Some(true));
        lines.filter_map(|line| line.cpu().map(on)).collect()
    };
    let mut all = asks(&Script::of(document));
    if all.is_empty() {
        all.extend(written::texts(document).iter().flat_map(|text| asks(&Script::read(text))));
    }
    Choices { invtsc: all.is_empty() || all.contains(&false), ..*choices }
}

/// Returns a reason with the text to write.
pub(crate) fn with_words(document: &Document, choices: &Choices, why: String) -> String {
    let kind = document.kind;
    let no_use =
        ["emulat", "no processor", FOREIGN, "another hypervisor", "saved state", "confidential"];
    if no_use.iter().any(|it| why.contains(it)) || why.contains("; write ") {
        return why;
    }
    let choices = open(document, choices);
    let hertz = choices.tsc_frequency;
    let words = match kind {
        Kind::Libvirt => {
            let invtsc = "<feature policy='require' name='invtsc'/> in <cpu>".to_owned();
            let tsc = hertz.map(|hz| format!("<timer name='tsc' frequency='{hz}'/> in <clock>"));
            let both = choices.invtsc.then_some(invtsc).into_iter().chain(tsc);
            both.collect::<Vec<_>>().join(" and ")
        }
        Kind::Qemu | Kind::Proxmox => {
            let invtsc = choices.invtsc.then(|| ",+invtsc".to_owned());
            let flags = invtsc.into_iter().chain(hertz.map(|hz| format!(",tsc-frequency={hz}")));
            let flags: String = flags.collect();
            match kind {
                Kind::Proxmox => format!("{flags} after the model of -cpu in args:"),
                _ => format!("{flags} after the model of -cpu"),
            }
        }
        _ => return why,
    };
    format!("{why}; write {words}")
}

/// Returns whether a `-cpu` follows the choices.
fn follows(list: &Properties, choices: &Choices) -> bool {
    let hertz = frequency(list).and_then(|it| it.value.as_ref()).map(Placed::as_str);
    (!choices.invtsc || cpu::invtsc(list) == Some(true))
        && choices.tsc_frequency.is_none_or(|hz| hertz == Some(hz.to_string().as_str()))
}

fn qemu(document: &Document, choices: &Choices) -> Option<String> {
    let script = Script::of(document);
    if script.commands.is_empty() {
        return Some("it contains no QEMU command line that can be read".to_owned());
    }
    for command in &script.commands {
        let line = Line::of_words(&command.words);
        let at = command.program.as_ref().or(command.words.first()).map_or(0, |it| it.span().start);
        let say =
            |at: usize, why: &str| Some(format!("line {}: {why}", document.text.place(at).line));
        if !of_x86(command, &line) {
            return say(at, FOREIGN);
        }
        let invtsc = line.cpu().and_then(cpu::invtsc);
        match line.cpu() {
            Some(cpu) if follows(cpu, choices) => {}
            // TDX fixes it to on.
            Some(_)
                if choices.tsc_frequency.is_none()
                    && line.confidential().is_some_and(|it| it.invtsc(invtsc) == Some(true)) => {}
            Some(cpu) if cpu.end().is_none() || cpu.whole.unknown() => {
                return say(cpu.whole.span().start, "only a run shows what -cpu contains");
            }
            Some(cpu) => {
                return say(
                    cpu.whole.span().start,
                    "it is not certain what else a change would do",
                );
            }
            None => {
                let lines = written::texts(document);
                let other = lines.iter().any(|it| it.contains("-cpu "));
                return say(
                    at,
                    if other { WRITTEN } else { "the command line has no -cpu that can be read" },
                );
            }
        }
    }
    None
}

fn libvirt(document: &Document, choices: &Choices) -> Option<String> {
    if document.name.ends_with(".nix") && libvirt::nix::any(document.text.as_str()) {
        return Some("the file is Nix, whose sets are not edited".to_owned());
    }
    let Ok(tree) = libvirt::read(&document.text) else {
        return Some("it contains no domain that can be read".to_owned());
    };
    let domains = Domain::all(&tree, document);
    if domains.is_empty() {
        return Some("it contains no domain".to_owned());
    }
    for domain in &domains {
        let name = domain.child("name").map(|it| format!("domain {}: ", it.text().trim()));
        let say = |why: &str| Some(format!("{}{why}", name.as_deref().unwrap_or_default()));
        if domain.driver() != Driver::Qemu {
            return say("a hypervisor other than QEMU runs it");
        }
        if domain.emulated() {
            return say("it is emulated, and the emulator offers neither");
        }
        if !domain.x86() {
            return say(FOREIGN);
        }
        let hertz = choices.tsc_frequency.map(|hz| hz.to_string());
        let has = match domain.line.cpu() {
            Some(cpu) => follows(cpu, choices),
            None => {
                (!choices.invtsc || domain.invtsc() == Some(true))
                    && hertz.is_none_or(|hz| domain.frequency() == Some(hz.as_str()))
            }
        };
        if !has {
            return match (domain.line.cpu(), domain.element) {
                (Some(_), _) => say("the -cpu in <qemu:commandline> cannot be changed in place"),
                (None, None) => say("the file is a part of a domain"),
                (None, Some(_)) => say("it is not certain what else a change would do"),
            };
        }
    }
    None
}

fn proxmox(document: &Document, choices: &Choices) -> Option<String> {
    let text = document.text.as_str();
    let Ok(guest) = other::of_proxmox(text) else {
        return Some("it contains no Proxmox VE machine that can be read".to_owned());
    };
    if guest.emulated {
        return Some("the processor is emulated, and the emulator offers neither".to_owned());
    }
    let set = |hz| guest.frequency == guest::Frequency::Set(hz);
    let has =
        (!choices.invtsc || guest.invtsc == Some(true)) && choices.tsc_frequency.is_none_or(set);
    if has {
        return None;
    }
    if is_confidential(document) {
        return Some(WHY.to_owned());
    }
    let args = text.lines().any(|line| line.starts_with("args:") && line.contains("-cpu"));
    Some(match args {
        true => "args: cannot be changed in place".to_owned(),
        false => "it has no args: with a -cpu, and cpu: accepts neither".to_owned(),
    })
}
