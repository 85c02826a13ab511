//! Decides whether a comment above a whole statement, or around it, may give a reason for one of its options. It may if
//! it has a word of reason or of order, or is in a language that is not recognised.

use super::attached::{HEADING, MACHINE, TITLE, may_give};
use crate::words::listed;

/// Words of reason and of order: English.
const ENGLISH: &str = "must mustn't need needs needed needing require requires required requirement because since bug bugs \
    buggy workaround workarounds work-around around not don't dont doesn't won't can't cannot no never keep keeps kept stay \
    stays leave without fix fixes fixed issue issues ticket case only otherwise else hang hangs hung freeze freezes frozen \
    lockup lockups crash crashes panic panics slow slower slows fast faster speed jump jumps jumped drift drifts drifting time \
    timing clock clocks clock's clocksource tick ticks timer timers latency jitter remove removed removing change changed \
    changes touch edit modify avoid avoids disable disabled disables disabling off purpose intentional intentionally deliberate \
    deliberately break breaks broken fail fails failed failure error errors problem problems wrong work works test tests \
    regression instead unless until careful caution warning warn beware note important please wanted reason hack todo fixme xxx \
    legacy compatible compatibility compat vendor vendor's licence license licensed check checks checked measure measured \
    measures measurement benchmark bench replay calibration tsc kvm-clock kvmclock hpet pvclock paravirtual migrate migration \
    resume suspend certified supported unsupported approved audit compliance policy \
    requested request requests ask asks asked agreed agreement alone hands ordered decided decision chosen choice prefer \
    preferred want wants intended intent meant expected expects assumes";

/// The same in German.
const GERMAN: &str = "muss müssen muessen nicht kein keine keinen nie niemals weil wegen sonst ansonsten damit fehler absicht \
    absichtlich bewusst ohne nur lassen bleibt bleiben bleib hängt haengt hangt springt langsam uhr uhren zeit takt braucht \
    benötigt benoetigt nötig noetig umgehung ändern aendern geändert entfernen löschen achtung vorsicht wichtig hinweis bitte \
    stürzt stuerzt absturz siehe gewollt aus abgeschaltet ausgeschaltet vorgabe lizenz prüft prueft messung gemessen falls statt";

/// The same in French.
const FRENCH: &str = "doit doivent faut ne pas jamais parce sinon bogue sans seulement uniquement garder laisser volontaire \
    volontairement exprès expres lent lente saute dérive derive horloge temps nécessaire necessaire requis attention \
    contournement erreur problème probleme modifier supprimer toucher changer voir bloque plante afin désactivé desactive licence \
    mesure évite évité evite";

/// The same in Spanish.
const SPANISH: &str = "debe deben nunca porque sino fallo falla sin solo sólo solamente únicamente unicamente mantener dejar \
    propósito proposito lento lenta salta deriva reloj hora tiempo necesario necesaria requiere requerido cuidado importante \
    atención atencion problema cambiar quitar tocar borrar modificar ver cuelga bloquea apagado desactivado licencia evita";

/// Words by which a language is recognised: those of the four languages that are in most sentences.
const PLAIN: &str = "a an the and or of for in on with to this that is are was it its my our all each both every by from at as \
    one two be has have we i you if when then here \
    der die das den dem des und ein eine einen für fuer mit von vom zum zur im am auf beide alle ist sind wird hier \
    le la les du un une pour avec est sont et dans sur au ici tous \
    el los las y una para con es son en del al todos aquí aqui";

/// Letters of these languages that are not in ASCII.
const LETTERS: &str = "äöüßéèêëàâçîïôûùœñáíóú";

/// Whether the words of a comment may give a reason.
pub(super) fn weighs(comment: &str) -> bool {
    let prose: Vec<&str> = comment.lines().filter(|line| may_give(line)).collect();
    if prose.is_empty() {
        return false;
    }
    let lower = prose.join("\n").to_lowercase();
    let foreign = |c: char| c.is_alphabetic() && !c.is_ascii() && !LETTERS.contains(c);
    if lower.contains(foreign) || lower.contains("://") || lower.contains("www.") {
        return true;
    }
    if prose.iter().any(|line| is_ticket(line)) || !lower.contains(char::is_alphabetic) {
        return true;
    }
    let apart = |c: char| !c.is_alphabetic() && !matches!(c, '\'' | '-' | '\u{2019}');
    let words: Vec<String> = lower
        .split(apart)
        .flat_map(|word| [word.to_owned()].into_iter().chain(word.split('-').map(str::to_owned)))
        .map(|word| word.trim_matches(['\'', '-', '\u{2019}']).replace('\u{2019}', "'"))
        .filter(|word| !word.is_empty())
        .collect();
    let any = |list: &str| words.iter().any(|word| listed(list, word));
    if [ENGLISH, GERMAN, FRENCH, SPANISH].iter().any(|list| any(list)) {
        return true;
    }
    // Is the language one of them?
    let plain: Vec<&str> =
        lower.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1).collect();
    let heading = |word: &&&str| [HEADING, TITLE, MACHINE].iter().any(|list| listed(list, word));
    let headings = plain.iter().filter(heading).count();
    match plain.len() {
        0 | 1 => false,
        2 => headings == 0 && !any(PLAIN),
        all => headings * 2 <= all && !any(PLAIN),
    }
}

/// Returns whether a line has a ticket number: `#123`, `ABC-123`.
fn is_ticket(line: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let number = line.match_indices('#').any(|(at, _)| line[at + 1..].starts_with(digit));
    let keyed = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| {
        word.split_once('-').is_some_and(|(key, rest)| {
            key.len() > 1
                && key.bytes().all(|b| b.is_ascii_uppercase())
                && !rest.is_empty()
                && rest.bytes().all(|b| b.is_ascii_digit())
        })
    });
    number || keyed
}

#[cfg(test)]
mod tests {
    use super::weighs;

    #[test]
    fn reason_or_order_in_a_known_language_and_any_words_in_another_one_weigh() {
        for comment in [
            "# the guest hangs after resume",
            "# see #123",
            "# LAB-17",
            "# 4711",
            "# https://example.org/a",
            "# nicht anfassen",
            "# Absicht",
            "# ne pas toucher",
            "# a propósito",
            "# не менять",
            "# 変更禁止",
            "# 勿动",
            "# nie zmieniać",
            "# niet wijzigen zonder overleg",
            "# don\u{2019}t ask",
            "# spento apposta",
            "# avviato senza orologio dal collega",
            "# as agreed with the owner",
        ] {
            assert!(weighs(comment), "{comment}");
        }
        for comment in [
            "# starts both routers",
            "# UTC, as all servers",
            "# br1 is made by ifupdown",
            "# Mail machine of the office",
            "# startet die beiden Router",
            "# lance les deux routeurs",
            "# CPU",
            "# web server, bridged",
            "# bridged",
            "#!/bin/sh",
            "# qemu-system-x86_64 -cpu host,kvmclock=off",
        ] {
            assert!(!weighs(comment), "{comment}");
        }
    }
}
