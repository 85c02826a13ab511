//! The files of a clocksource in an object of JSON: `"clocksource": {"current": "tsc", "available": ["tsc"]}` and
//! `"current_clocksource": "tsc"`.

use super::value::{File, told};
use crate::names;
use crate::paste::Page;

/// Lines below the key of an object that may belong to it.
const OBJECT: usize = 12;
/// Words in keys of what should be, in small letters.
const OTHERS: [&str; 8] =
    ["expect", "desired", "want", "default", "recommend", "schema", "example", "previous"];

/// Reads such an object; 0 if the line has none.
pub(super) fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.line(at);
    let Some((head, key, rest)) = key(line) else { return 0 };
    let lower = head.to_ascii_lowercase();
    if OTHERS.iter().any(|word| lower.contains(word)) {
        return 0;
    }
    if key == "current_clocksource" {
        return match text(rest).filter(|name| names::is_known(name)) {
            Some(name) => usize::from(told(page, at, File::Current, name)),
            None => 0,
        };
    }
    if !rest.starts_with('{') {
        return 0;
    }
    let lines = page.lines();
    let mut taken = 0;
    for (number, line) in lines.iter().enumerate().take(at + OBJECT).skip(at) {
        let part = if number == at { rest } else { line };
        let own = part.split('}').next().unwrap_or(part);
        if let Some(name) = value_of(own, "\"current\"").and_then(text)
            && names::is_known(name)
            && told(page, number, File::Current, name)
        {
            taken = number + 1 - at;
        }
        if let Some(list) = value_of(own, "\"available\"").and_then(list)
            && told(page, number, File::Available, &list)
        {
            taken = taken.max(number + 1 - at);
        }
        if part.contains('}') {
            break;
        }
    }
    taken
}

/// Why a text with such objects of different clocksources is of no single machine, as the end of a sentence.
pub(in crate::paste) fn several(lines: &[String]) -> Option<String> {
    let mut first: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        let Some((_, key, rest)) = key(line) else { continue };
        let name = match key {
            "current_clocksource" => text(rest),
            _ => {
                rest.strip_prefix('{').and_then(|rest| value_of(rest, "\"current\"")).and_then(text)
            }
        };
        let Some(name) = name.filter(|name| names::is_known(name)) else { continue };
        match first {
            Some((place, known)) if known != name => {
                return Some(format!(
                    "the objects in lines {} and {} have different clocksources, {known} and {name}: they are of several \
                     machines or moments",
                    place + 1,
                    number + 1
                ));
            }
            Some(_) => {}
            None => first = Some((number, name)),
        }
    }
    None
}

/// What is before such a key, the key, and what follows its colon.
fn key(line: &str) -> Option<(&str, &'static str, &str)> {
    ["current_clocksource", "clocksource"].into_iter().find_map(|key| {
        let (head, rest) = line.split_once(&format!("\"{key}\""))?;
        Some((head, key, rest.trim_start().strip_prefix(':')?.trim_start()))
    })
}

/// What follows the colon of a key.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// The text of a string.
fn text(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.split_once('"').map(|(text, _)| text)
}

/// The strings of an array, or the words of one string.
fn list(value: &str) -> Option<String> {
    if let Some(inside) = value.strip_prefix('[') {
        let (inside, _) = inside.split_once(']')?;
        let names: Vec<&str> =
            inside.split(',').map(|name| name.trim().trim_matches('"')).collect();
        return Some(names.join(" "));
    }
    text(value).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::paste::sysfs::tests::told;

    #[test]
    fn object_with_the_files_is_a_reading() {
        let list = ["tsc", "acpi_pm"].map(str::to_owned).to_vec();
        for text in [
            "{\"host\": \"db3\", \"clocksource\": {\"current\": \"acpi_pm\", \"available\": [\"tsc\", \"acpi_pm\"]}}\n",
            "{\n  \"clocksource\": {\n    \"available\": \"tsc acpi_pm\",\n    \"current\": \"acpi_pm\"\n  },\n  \"x\": 1\n}\n",
        ] {
            assert_eq!(told(text), (Some("acpi_pm".to_owned()), list.clone()), "{text}");
        }
        let flat = "{\"kernel\":\"5.10.0\",\"current_clocksource\":\"acpi_pm\"}\n";
        assert_eq!(told(flat).0.as_deref(), Some("acpi_pm"));
        let two = format!("{flat}{}", flat.replace("acpi_pm", "tsc"));
        let lines: Vec<String> = two.lines().map(str::to_owned).collect();
        assert!(super::several(&lines).is_some() && super::several(&lines[..1]).is_none());
        for other in [
            "{\"expected\": {\"current_clocksource\": \"tsc\"}}\n",
            "{\"clocksource\": \"tsc\"}\n",
            "{\"clocksource\": {\"type\": \"string\"}, \"current\": \"tsc\"}\n",
            "{\"current_clocksource\": null}\n",
        ] {
            assert_eq!(told(other).0, None, "{other}");
        }
    }
}
