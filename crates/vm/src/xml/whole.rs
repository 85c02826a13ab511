//! Checks that a whole text is one XML document.

use super::{kind, position, resolve};
use crate::lint::LintError;
use crate::text::{Text, offset};
use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesStart, Event};

/// Checks that a whole text is one XML document that every parser accepts, without declarations of entities.
///
/// # Errors
/// Returns the first place with an error.
pub(crate) fn well_formed(text: &Text) -> Result<(), LintError> {
    let source = text.as_str().trim_start_matches('\u{feff}');
    let from = text.as_str().len() - source.len();
    let fail = |at: usize, what: &str| {
        Err(LintError::within(text, from + at, format!("not valid XML: {what}")))
    };
    if let Some(at) = source.find(|c| !is_character(c)) {
        return fail(at, "a character that XML does not have");
    }
    let mut reader = Reader::from_str(source);
    reader.config_mut().enable_all_checks(true);
    let mut depth = 0usize;
    let mut roots = 0usize;
    let mut domains = true;
    let mut declared: Option<String> = None;
    loop {
        let at = position(&reader);
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return fail(at, &kind(&error)),
        };
        let empty = matches!(event, Event::Empty(_));
        match event {
            Event::Decl(_) if at > 0 => return fail(at, "`<?xml` that does not begin the file"),
            Event::Decl(words) => match declaration(&words) {
                Ok(said) => declared = said,
                Err(what) => return fail(at, &what),
            },
            Event::PI(words)
                if words.target().eq_ignore_ascii_case("xml") || !is_name(words.target()) =>
            {
                return fail(at, "a processing instruction without a name of its own");
            }
            Event::Comment(words) if words.contains("--") || words.ends_with('-') => {
                return fail(at, "`--` in a comment");
            }
            Event::Text(words) if words.contains("]]>") => return fail(at, "`]]>` in a text"),
            Event::Start(tag) | Event::Empty(tag) => {
                if !is_name(tag.name().as_ref()) {
                    return fail(at, "an element whose name is not one of XML");
                }
                if depth == 0 {
                    roots += 1;
                    // `virt-install --print-xml` prints one domain for each step of an installation.
                    domains &= tag.name().as_ref() == "domain";
                    if roots > 1 && !domains {
                        return fail(
                            at,
                            "a second element after the first; give each one in a separate file",
                        );
                    }
                }
                attributes(&tag).or_else(|what| fail(at, &what))?;
                depth += usize::from(!empty);
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(words) if depth == 0 && !words.trim().is_empty() => {
                return fail(at, "words outside of the element");
            }
            Event::CData(_) if depth == 0 => return fail(at, "words outside of the element"),
            Event::GeneralRef(name)
                if depth == 0 || !resolve(&name).is_some_and(|it| it.chars().all(is_character)) =>
            {
                return fail(at, "a reference that stands for nothing");
            }
            Event::DocType(words) if words.contains('[') => {
                return fail(
                    at,
                    "a DOCTYPE with definitions of its own; resolve them first (xmllint --noent --dropdtd)",
                );
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if !text.encoding().fits(declared.as_deref()) {
        return fail(0, "its bytes are not in the encoding that it has, or says");
    }
    if depth > 0 || roots == 0 {
        return fail(source.len(), "it ends before its element is closed");
    }
    Ok(())
}

/// Checks attributes by the rules of XML.
fn attributes(tag: &BytesStart<'_>) -> Result<(), String> {
    let mut after = 0;
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| kind(&error.into()))?;
        if !is_name(attribute.key.as_ref()) {
            return Err("an attribute whose name is not one of XML".to_owned());
        }
        let key = offset(tag, attribute.key.as_ref());
        if after > 0 && !tag.get(after..key).is_some_and(|it| it.starts_with(char::is_whitespace)) {
            return Err("no blank between two attributes".to_owned());
        }
        // After the quote.
        after = offset(tag, &attribute.value) + attribute.value.len() + 1;
        if attribute.value.contains('<') {
            return Err("`<` in the value of an attribute".to_owned());
        }
        let value =
            quick_xml::escape::unescape(&attribute.value).map_err(|error| kind(&error.into()))?;
        if !value.chars().all(is_character) {
            return Err("a reference to a character that XML does not have".to_owned());
        }
    }
    Ok(())
}

/// Checks the declaration: a version, then an encoding, then `standalone`, each with a permitted value.
fn declaration(words: &BytesDecl<'_>) -> Result<Option<String>, String> {
    let wrong = || "a declaration `<?xml ... ?>` that says something else than XML has".to_owned();
    let rest = words.strip_prefix("xml").ok_or_else(wrong)?;
    let mut known = ["version", "encoding", "standalone"].into_iter();
    let mut first = true;
    let mut encoding = None;
    let mut rest = rest;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if trimmed.is_empty() {
            return if first { Err(wrong()) } else { Ok(encoding) };
        }
        if trimmed.len() == rest.len() {
            return Err(wrong());
        }
        let (name, value) = trimmed.split_once('=').ok_or_else(wrong)?;
        let name = name.trim_end();
        if !known.any(|it| it == name) || first && name != "version" {
            return Err(wrong());
        }
        first = false;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|it| ['"', '\''].contains(it)).ok_or_else(wrong)?;
        let (value, behind) =
            value.get(1..).and_then(|it| it.split_once(quote)).ok_or_else(wrong)?;
        let fits = match name {
            "version" => value
                .strip_prefix("1.")
                .is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit())),
            "encoding" => {
                encoding = Some(value.to_ascii_lowercase());
                let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                value.starts_with(|c: char| c.is_ascii_alphabetic()) && value.chars().all(letter)
            }
            _ => ["yes", "no"].contains(&value),
        };
        if !fits {
            return Err(wrong());
        }
        rest = behind;
    }
}

/// `Name` of XML 1.0, fifth edition.
fn is_name(name: &str) -> bool {
    let begins = |c: char| {
        matches!(c, ':' | '_' | 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
            | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
            | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
            | '\u{10000}'..='\u{effff}')
    };
    let goes_on = |c: char| {
        begins(c)
            || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
    };
    name.starts_with(begins) && name.chars().all(goes_on)
}

/// `Char` of XML 1.0.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
