//! From a query to its explanations: a word, a parameter with a value, a message, a list of words, a
//! command line; otherwise similar entries.

use super::entry::{Explanation, Kind, fold};
use super::knowledge::{CAUSES, CLOCKSOURCES, MESSAGES, PARAMETERS, TERMS};
use super::{
    certificates, clocksources, figures, incidents, messages, parameters, placeholders, policies,
    remarked, spelling, text,
};
use crate::names::{self, NAMES};
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::log::{Event, KernelLog};
use std::collections::BTreeSet;

/// Maximum length of the query that is read, in bytes: a screenful of log lines.
const LIMIT: usize = 64 << 10;
/// Maximum number of words of a query that are looked up one by one.
const WORDS: usize = 8;
/// Maximum number of suggestions.
const OFFERS: usize = 4;

pub(super) fn explain(query: &str) -> Vec<Explanation> {
    let query = cut(query.trim());
    if query.is_empty() {
        return Vec::new();
    }
    if query.contains('\n') {
        return lines(query);
    }
    let found = word(query);
    if !found.is_empty() {
        return found;
    }
    // A plural.
    if let Some(one) = query.strip_suffix(['s', 'S']) {
        let found = word(one);
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(name) = query.rsplit('/').next().filter(|_| query.starts_with('/')) {
        return word(name);
    }
    // `c6g.large`: the name of a family of instances identifies it, whatever the size.
    if let Some((family, size)) = query.split_once('.')
        && (size.ends_with("large")
            || ["nano", "micro", "small", "medium", "metal"].contains(&size))
    {
        let found = word(family);
        if !found.is_empty() {
            return found;
        }
    }
    let found = one_parameter(query);
    if !found.is_empty() {
        return found;
    }
    // A message of the kernel is often quoted without the prefix of its subsystem.
    for line in [query.to_owned(), format!("clocksource: {query}")] {
        let found =
            KernelLog::message(&line).map_or_else(Vec::new, |event| of_event(&event, &line));
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(entry) = by_text(query) {
        return vec![entry];
    }
    let found = several(query);
    if !found.is_empty() {
        return found;
    }
    if let Some(found) = by_phrase(query) {
        return vec![found];
    }
    remarked::page(query).map_or_else(Vec::new, word)
}

/// Returns at most [`LIMIT`] bytes, up to the end of a character.
fn cut(text: &str) -> &str {
    if text.len() <= LIMIT {
        return text;
    }
    let end = (0..=LIMIT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// Looks up an exact word in every table.
fn word(query: &str) -> Vec<Explanation> {
    let folded = fold(query);
    if folded.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    let name = NAMES.iter().find(|name| fold(name.name) == folded);
    if let Some(name) = name {
        all.push(clocksources::named(name));
    } else if let Some(entry) = CLOCKSOURCES.iter().find(|entry| entry.is(&folded)) {
        all.push(entry.explanation(Kind::Clocksource));
    }
    for entry in CAUSES.iter().filter(|entry| entry.is(&folded)) {
        all.push(entry.explanation(Kind::Cause));
    }
    for entry in PARAMETERS.iter().filter(|entry| entry.is(&folded)) {
        all.push(entry.explanation(Kind::Parameter));
    }
    // CLOCK_REALTIME is a clock, and clock_realtime is a field: an entry with the exact spelling of the query comes
    // first.
    let terms = || TERMS.iter().filter(|entry| entry.is(&folded));
    let spelled = |entry: &&super::entry::Entry| entry.words.contains(&query);
    let exact = terms().any(|entry| spelled(&entry));
    for entry in terms().filter(|entry| !exact || spelled(entry)) {
        all.push(entry.explanation(Kind::Term));
    }
    all.extend(policies::named(&folded));
    all.extend(policies::remedy_of(query.trim()));
    if all.is_empty() {
        let message = MESSAGES.iter().find(|e| e.words.iter().any(|w| fold(w) == folded));
        all.extend(message.map(|entry| entry.explanation(Kind::Message)));
    }
    // The entry of this name is before those that have it among their words.
    all.sort_by_key(|found| fold(&found.title) != folded);
    all
}

/// Explains `name=value`, one word.
fn one_parameter(query: &str) -> Vec<Explanation> {
    let line = CommandLine::parse(query);
    match line.words() {
        [only] if only.value.is_some() => parameters::word(only),
        _ => Vec::new(),
    }
}

/// Returns the explanation of an event, and of the names in it.
fn of_event(event: &Event, text: &str) -> Vec<Explanation> {
    let Some(entry) = messages::of_event(event) else { return Vec::new() };
    let mut message = entry.explanation(Kind::Message);
    message.figures = figures::of(event);
    message.figures.extend(text::figures(entry.id, text));
    let mut all = vec![message];
    match event {
        Event::Switched(name)
        | Event::Registered { name, .. }
        | Event::ReadCurrent(name)
        | Event::WroteCurrent(name)
        | Event::Override { name, .. } => all.extend(names::find(name).map(clocksources::named)),
        Event::ReadAvailable(list) => {
            all.extend(list.iter().filter_map(|n| names::find(n)).map(clocksources::named));
        }
        Event::CommandLine(text) => all.extend(parameters::line(text)),
        _ => {}
    }
    all
}

/// Explains a text that contains a known part of a message, or that is a sufficiently long part of one.
fn by_text(query: &str) -> Option<Explanation> {
    let wanted = certificates::one_end(&squeeze(query));
    let hit = MESSAGES
        .iter()
        .flat_map(|entry| entry.words.iter().map(move |words| (entry, squeeze(words))))
        .filter(|(_, part)| part.len() >= 6 && wanted.contains(part.as_str()))
        .max_by_key(|(_, part)| part.len());
    let whole = || {
        let long = wanted.len() >= 12 && wanted.contains(' ');
        MESSAGES
            .iter()
            .filter(|_| long)
            .find(|entry| entry.words.iter().any(|words| squeeze(words).contains(wanted.as_str())))
    };
    let entry = hit.map(|(entry, _)| entry).or_else(|| by_figures(&wanted)).or_else(whole)?;
    let mut message = entry.explanation(Kind::Message);
    message.figures = text::figures(entry.id, query);
    Some(message)
}

/// The message of which a line is a form with figures.
fn by_figures(wanted: &str) -> Option<&'static super::entry::Entry> {
    let line = placeholders::of_line(wanted);
    let words = MESSAGES
        .iter()
        .flat_map(|entry| entry.words.iter().map(move |words| (entry, *words)))
        .filter_map(|(entry, words)| Some((entry, placeholders::of_message(words)?)));
    words
        .filter(|(_, pattern)| line.contains(pattern.as_str()))
        .max_by_key(|(_, pattern)| pattern.len())
        .map(|(entry, _)| entry)
}

/// Fewest words of a message that is a word of a term.
const PHRASE: usize = 3;

/// Explains a line that contains a whole message which a term explains: `ERROR: No monotonic clock was available - ...`.
fn by_phrase(query: &str) -> Option<Explanation> {
    let wanted = certificates::one_end(&squeeze(query));
    TERMS
        .iter()
        .flat_map(|entry| entry.words.iter().map(move |words| (entry, squeeze(words))))
        .filter(|(_, words)| words.split(' ').count() >= PHRASE && wanted.contains(words.as_str()))
        .max_by_key(|(_, words)| words.len())
        .map(|(entry, _)| entry.explanation(Kind::Term))
}

/// Converts to lower case and single blanks, with none before a colon: tables align theirs.
pub(super) fn squeeze(text: &str) -> String {
    let single = text.split_whitespace().collect::<Vec<_>>().join(" ");
    single.replace(" :", ":").to_ascii_lowercase()
}

/// Explains several known words, or a command line with known parameters.
fn several(query: &str) -> Vec<Explanation> {
    let tokens: Vec<&str> = query.split([' ', '\t', ',']).filter(|t| !t.is_empty()).collect();
    if tokens.len() < 2 {
        return Vec::new();
    }
    if tokens.len() <= WORDS {
        let each: Vec<Vec<Explanation>> =
            tokens.iter().map(|token| word(token)).take_while(|found| !found.is_empty()).collect();
        if each.len() == tokens.len() {
            let mut found = unique(each.into_iter().flatten());
            found.sort_by_key(|entry| of_little_use(entry, query));
            return found;
        }
    }
    let line = CommandLine::parse(query);
    let looks = line.words().iter().filter(|word| word.value.is_some()).count();
    if looks * 2 >= tokens.len() || query.contains("BOOT_IMAGE=") {
        return parameters::line(query);
    }
    Vec::new()
}

/// Whether one of several entries is for a word that only describes the other words (`slow`), or for a parameter with a
/// value that is not in the query (`clock`).
fn of_little_use(entry: &Explanation, query: &str) -> bool {
    let general = ["verdict", "layer"].contains(&entry.title.as_str());
    let half = entry.kind == Kind::Parameter && has_value(&entry.title) && !query.contains('=');
    general || half
}

fn has_value(title: &str) -> bool {
    title.split_once('=').is_some_and(|(_, value)| !value.is_empty())
}

/// Explains a paste of several lines.
fn lines(text: &str) -> Vec<Explanation> {
    let Ok(log) = KernelLog::scan(text.as_bytes(), "paste") else { return Vec::new() };
    let mut all: Vec<Explanation> = Vec::new();
    let mut add = |found: Vec<Explanation>| {
        for new in found {
            match all.iter_mut().find(|old| old.title == new.title && old.kind == new.kind) {
                Some(old) => {
                    let fresh: Vec<String> =
                        new.figures.into_iter().filter(|f| !old.figures.contains(f)).collect();
                    old.figures.extend(fresh);
                }
                None => all.push(new),
            }
        }
    };
    for entry in &log.entries {
        // Names in a line are explained only for a single line: here the lines are the subject.
        add(of_event(&entry.event, &entry.text).into_iter().take(1).collect());
    }
    if log.entries.is_empty() {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()).take(200) {
            add(explain(line));
        }
    }
    if let Some(first) = all.first_mut() {
        first.figures.extend(incidents::together(&log));
    }
    all
}

fn unique(found: impl Iterator<Item = Explanation>) -> Vec<Explanation> {
    let mut all: Vec<Explanation> = Vec::new();
    for new in found {
        if !all.iter().any(|old| old.title == new.title && old.kind == new.kind) {
            all.push(new);
        }
    }
    all
}

pub(super) fn all() -> Vec<Explanation> {
    let mut all: Vec<Explanation> = NAMES.iter().map(clocksources::named).collect();
    let of = |kind: Kind| move |entry: &super::entry::Entry| entry.explanation(kind);
    all.extend(CAUSES.iter().map(of(Kind::Cause)));
    all.extend(PARAMETERS.iter().map(of(Kind::Parameter)));
    all.extend(MESSAGES.iter().map(of(Kind::Message)));
    all.extend(TERMS.iter().map(of(Kind::Term)));
    all.extend(policies::all());
    unique(all.into_iter())
}

pub(super) fn words() -> Vec<String> {
    let tables = CLOCKSOURCES
        .iter()
        .chain(CAUSES)
        .chain(PARAMETERS)
        .chain(TERMS)
        .flat_map(|entry| entry.words.iter().copied());
    let all: BTreeSet<&str> =
        NAMES.iter().map(|name| name.name).chain(tables).chain(policies::words()).collect();
    all.into_iter().map(str::to_owned).collect()
}

pub(super) fn close(query: &str) -> Vec<String> {
    let query = cut(query.trim());
    let folded = fold(query.lines().next().unwrap_or(""));
    if folded.is_empty() {
        return Vec::new();
    }
    let mut offers: Vec<(usize, String)> = Vec::new();
    let short = folded.len() <= 64;
    for word in words().into_iter().filter(|_| short) {
        let candidate = fold(&word);
        let distance = strsim::osa_distance(&folded, &candidate);
        let part = folded.len() >= 4 && candidate.contains(&folded);
        if distance <= spelling::allowed(&folded) {
            offers.push((distance, word));
        } else if part {
            offers.push((3 + candidate.len() - folded.len(), word));
        }
    }
    offers.sort();
    let mut out: Vec<String> = Vec::new();
    for (_, word) in offers {
        if out.len() < OFFERS && !out.contains(&word) {
            out.push(word);
        }
    }
    if folded.contains(' ') && out.is_empty() {
        out = close_messages(query);
    }
    out
}

/// For a sentence: messages that share most of its words, then the known words in it.
fn close_messages(query: &str) -> Vec<String> {
    let wanted = long_words(query);
    let mut scored: Vec<(usize, &'static str)> = MESSAGES
        .iter()
        .filter_map(|entry| {
            let own = long_words(entry.title());
            let shared = own.intersection(&wanted).count();
            let enough = shared >= 2 && shared * 2 >= own.len();
            enough.then(|| (usize::MAX - shared, entry.title()))
        })
        .collect();
    scored.sort();
    let mut out: Vec<String> = scored.into_iter().take(2).map(|(_, t)| t.to_owned()).collect();
    for token in query.split([' ', '\t', ',', ':', '\'', '"', '(', ')']).take(200) {
        if out.len() >= OFFERS {
            break;
        }
        let known = token.len() >= 3 && word(token).iter().any(|e| e.kind != Kind::Message);
        if known && !out.iter().any(|old| fold(old) == fold(token)) {
            out.push(token.to_owned());
        }
    }
    out
}

fn long_words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .filter(|word| word.len() >= 4)
        .map(str::to_ascii_lowercase)
        .collect()
}
