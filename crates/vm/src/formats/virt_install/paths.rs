//! `--xml`: places of the domain by XPath, which virt-install sets after all other options.
//!
//! Source: virt-install(1), `--xml`; virtinst/xmlapi.py (the steps of XPath for which it creates elements).

use crate::formats::libvirt::made::Made;
use std::ops::Range;

/// Applies one `--xml`. Returns `false` if it may change clocks, features or the processor in a way that is not
/// understood.
pub(super) fn take(made: &mut Made, value: &str, at: &Range<usize>) -> bool {
    let (mut path, mut given, mut delete) = (None, None, None);
    if value.starts_with("./") || value.starts_with('/') {
        let Some((of, value)) = outside(value, '=') else { return !concerns(value) };
        (path, given) = (Some(of), Some(value));
    } else {
        for part in split(value, ',') {
            match part.split_once('=') {
                Some(("xpath.set", of)) => path = Some(of),
                Some(("xpath.value", value)) => given = Some(value),
                Some(("xpath.delete", of)) => delete = Some(of),
                _ => {}
            }
        }
    }
    if let Some(path) = delete {
        return deleted(made, path);
    }
    match (path, given) {
        (Some(path), Some(value)) => set(made, path, value, at),
        (Some(path), None) => !concerns(path),
        _ => !concerns(value),
    }
}

/// Returns whether a path may concern the settings that are judged.
fn concerns(path: &str) -> bool {
    let path = path.strip_prefix("./").or_else(|| path.strip_prefix("/domain/")).unwrap_or("clock");
    ["clock", "cpu", "features", "@type", "os/type", "*", "/", "qemu:", "name"]
        .iter()
        .any(|begin| path.starts_with(begin))
}

/// Splits a text at the first mark outside of brackets and quotes.
fn outside(text: &str, mark: char) -> Option<(&str, &str)> {
    let (mut depth, mut quote) = (0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, c) if c == mark && depth == 0 => {
                return Some((text.get(..at)?, text.get(at + mark.len_utf8()..)?));
            }
            _ => {}
        }
    }
    None
}

fn split(text: &str, mark: char) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((part, behind)) = outside(rest, mark) {
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}

/// A step of a path: the element, and the name in `[@name='...']`.
fn step(text: &str) -> Option<(&str, Option<&str>)> {
    let Some((element, rest)) = text.split_once('[') else { return Some((text, None)) };
    let name = rest.strip_suffix(']')?.strip_prefix("@name=")?;
    let name = name.strip_prefix(['\'', '"'])?.strip_suffix(['\'', '"'])?;
    (!name.contains(['\'', '"', '[', '$'])).then_some((element, Some(name)))
}

/// The steps of a path.
fn steps(path: &str) -> Option<Vec<(&str, Option<&str>)>> {
    let path = path.strip_prefix("./").or_else(|| path.strip_prefix("/domain/"))?;
    split(path, '/').into_iter().map(step).collect()
}

fn set(made: &mut Made, path: &str, value: &str, at: &Range<usize>) -> bool {
    if !concerns(path) {
        return true;
    }
    let Some(steps) = steps(path) else { return false };
    let value = value.to_owned();
    match steps.as_slice() {
        [("clock", None), ("timer", Some(name)), (attribute, None)] => {
            let Some(attribute) = attribute.strip_prefix('@') else { return false };
            let is = |pair: &(String, String)| pair.0 == "name" && pair.1 == *name;
            let pair = (attribute.to_owned(), value);
            match made.timers.iter_mut().find(|(timer, _)| timer.iter().any(is)) {
                Some((timer, place)) => {
                    timer.retain(|(key, _)| *key != pair.0);
                    timer.push(pair);
                    *place = at.clone();
                }
                None => {
                    let named = ("name".to_owned(), (*name).to_owned());
                    made.timers.push((vec![named, pair], at.clone()));
                }
            }
            true
        }
        [("clock", None), ("@offset", None)] => true,
        [("features", None), ("kvm", None), ("hidden", None), ("@state", None)] => {
            made.hidden = Some((value, at.clone()));
            true
        }
        [("features", None), ("hyperv", None), (name, None), ("@state", None)] => {
            made.hyperv.retain(|(known, _, _)| known != name);
            if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
                made.hyperv.push(((*name).to_owned(), value, at.clone()));
            }
            true
        }
        [("features", None), ("hyperv", None), ("@mode", None)] => value == "custom",
        [("features", None), ("hyperv", None), (_, None), ..] => true,
        [("cpu", None), (attribute @ ("@mode" | "@migratable"), None)] => {
            let name = if *attribute == "@mode" { "mode" } else { "migratable" };
            made.cpu.retain(|(known, _, _)| *known != name);
            made.cpu.push((name, value, at.clone()));
            true
        }
        [("cpu", None), ("feature", Some(name)), ("@policy", None)] => {
            made.features.retain(|(known, _, _)| known != name);
            made.features.push(((*name).to_owned(), value, at.clone()));
            true
        }
        [("features", None), (name, None), ..] => !matches!(*name, "kvm" | "hyperv"),
        [("cpu", None), ("topology" | "cache" | "numa" | "vendor", None), ..] => true,
        [("name", None)] => {
            made.name = value;
            true
        }
        _ => false,
    }
}

fn deleted(made: &mut Made, path: &str) -> bool {
    if !concerns(path) {
        return true;
    }
    match steps(path).as_deref() {
        Some([("clock", None), ("timer", Some(name))]) => {
            made.timers.retain(|(timer, _)| !timer.iter().any(|(k, v)| k == "name" && v == name));
            true
        }
        Some([("features", None), ("hyperv", None)]) => {
            made.hyperv.clear();
            true
        }
        Some([("features", None), ("kvm", None)]) => {
            made.hidden = None;
            true
        }
        Some([("cpu", None), ("feature", Some(name))]) => {
            made.features.retain(|(known, _, _)| known != name);
            true
        }
        _ => false,
    }
}
