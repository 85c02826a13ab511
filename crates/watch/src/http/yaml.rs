//! YAML as the web configuration uses it, parsed by the reader that also parses hostile files of virtual machines:
//! maps, lists and scalars. Aliases, tags, several documents and a key twice are refused. Pure.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// The deepest nesting that is accepted.
const DEEPEST: usize = 16;

/// The one document of a text; `Null` if there is none.
///
/// # Errors
/// Returns the fault and its line.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser::new_from_str(text);
    let mut document = None;
    let mut stack: Vec<(Value, Option<String>)> = Vec::new();
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        let refuse = |what: &str| Err(format!("line {}: {what}", span.start.line()));
        if let Event::MappingStart(_, _, Some(_))
        | Event::SequenceStart(_, _, Some(_))
        | Event::Scalar(_, _, _, Some(_)) = &event
        {
            return refuse("tags are not supported");
        }
        let (value, plain) = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if stack.len() >= DEEPEST => {
                return refuse("too many nested levels");
            }
            Event::MappingStart(..) => {
                stack.push((Value::Object(Map::new()), None));
                continue;
            }
            Event::SequenceStart(..) => {
                stack.push((Value::Array(Vec::new()), None));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match stack.pop() {
                Some((value, _)) => (value, false),
                None => continue,
            },
            Event::Scalar(value, style, ..) => {
                (Value::String(value.into_owned()), style == ScalarStyle::Plain)
            }
            Event::Alias(..) | Event::UnresolvedAlias(..) => {
                return refuse("aliases are not supported");
            }
            _ => continue,
        };
        match stack.last_mut() {
            None if document.is_some() => return refuse("a second document"),
            None => document = Some(typed(value, plain)),
            Some((Value::Array(items), _)) => items.push(typed(value, plain)),
            Some((Value::Object(entries), key)) => match (key.take(), value) {
                (Some(name), value) => {
                    if entries.insert(name.clone(), typed(value, plain)).is_some() {
                        return refuse(&format!("{name:?} occurs twice"));
                    }
                }
                (None, Value::String(name)) => *key = Some(name),
                (None, _) => return refuse("a key that is not a string"),
            },
            Some(_) => {}
        }
    }
    Ok(document.unwrap_or(Value::Null))
}

/// A scalar without quotes may be more than a text; nothing in the configuration is a number.
fn typed(value: Value, plain: bool) -> Value {
    match value {
        Value::String(text) if plain => match text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => Value::String(text),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn maps_lists_and_scalars() {
        let text = "a: [x, 'true', true]\nb:\n  c: ~\n  \"d\": $2y$10$x\n";
        assert_eq!(
            parse(text).unwrap(),
            json!({"a": ["x", "true", true], "b": {"c": null, "d": "$2y$10$x"}})
        );
        assert_eq!(parse("# nothing\n").unwrap(), Value::Null);
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        for (text, what) in [
            ("a: 1\na: 2\n", "twice"),
            ("a: &x b\nc: *x\n", "aliases"),
            ("a: !!str b\n", "tags"),
            ("a: 1\n---\nb: 2\n", "second document"),
            ("? [a]\n: b\n", "not a string"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(what) && error.contains("line "), "{text}: {error}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
        let bomb = "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n";
        assert!(parse(bomb).is_err());
    }

    proptest! {
        #[test]
        fn any_text(text: String) {
            let _ = parse(&text);
        }
    }
}
