//! From a text to the document of `clocksmith why --json`, which is the report itself, or to the reason for
//! refusing the text.

pub use clocksmith_diagnose::report::SCHEMA as WHY;

use clocksmith_diagnose::Report;
use clocksmith_facts::visible;
use serde::Deserialize;
use thiserror::Error;

/// The schema of the documents that `clocksmith fleet` passes on: a document with the name of its input,
/// or the reason why the input has none.
pub const INPUT: &str = "clocksmith.fleet-input.v1";

/// Why a text gives no row.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// Not JSON, or JSON without the fields that every report has.
    #[error("{0}")]
    Broken(String),
    /// Another document of this program.
    #[error("it is a document of kind {0}; give documents of `clocksmith why --json`")]
    OtherDocument(String),
    /// One of a later version of this program.
    #[error("it is a document of kind {0}, which is newer than this program")]
    Newer(String),
    /// JSON of another kind.
    #[error("it is JSON, but not a document of `clocksmith why --json` (\"schema\" is missing)")]
    NoSchema,
    /// The inputs that `clocksmith fleet` could not use.
    #[error("{0}")]
    Unusable(String),
}

/// The document of `clocksmith why --json`, of this version of the program or of another one: ids of causes
/// are text, since later versions have more of them.
pub type Document = Report<String>;

/// The part that every document has.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Option<String>,
}

/// The document that `clocksmith fleet` passes on.
#[derive(Deserialize)]
struct Input {
    input: String,
    #[serde(default)]
    document: Option<Document>,
    #[serde(default)]
    error: Option<String>,
}

/// A document, and the input that it came from, if that is known.
#[derive(Debug)]
pub struct Named {
    /// The name of the input.
    pub input: Option<String>,
    /// The document, or why there is none.
    pub document: Result<Document, DocumentError>,
}

/// Reads a document.
///
/// # Errors
/// Returns an error if the text is not a document, or not a known one.
pub fn parse(text: &[u8]) -> Result<Document, DocumentError> {
    match schema(text)?.as_str() {
        WHY => serde_json::from_slice(text).map_err(|error| broken(&error)),
        other => Err(foreign(other)),
    }
}

/// Reads a document, or one that `clocksmith fleet` passes on.
#[must_use]
pub fn parse_named(text: &[u8]) -> Named {
    if !matches!(schema(text).as_deref(), Ok(INPUT)) {
        return Named { input: None, document: parse(text) };
    }
    match serde_json::from_slice::<Input>(text) {
        Ok(Input { input, document: Some(why), .. }) => {
            Named { input: Some(input), document: Ok(why) }
        }
        Ok(Input { input, error, .. }) => {
            let why = error.unwrap_or_else(|| "it contains no document".to_owned());
            Named { input: Some(input), document: Err(DocumentError::Unusable(why)) }
        }
        Err(error) => Named { input: None, document: Err(broken(&error)) },
    }
}

/// The document's schema. If it is the first field, as in every document of this program, the text
/// is not read twice.
fn schema(text: &[u8]) -> Result<String, DocumentError> {
    for known in [WHY, INPUT] {
        if begins(text, known) {
            return Ok(known.to_owned());
        }
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| broken(&error))?;
    head.schema.ok_or(DocumentError::NoSchema)
}

fn begins(text: &[u8], schema: &str) -> bool {
    let mut rest = text;
    for part in ["{", "\"schema\"", ":", "\"", schema, "\""] {
        if part != schema {
            rest = rest.trim_ascii_start();
        }
        let Some(after) = rest.strip_prefix(part.as_bytes()) else { return false };
        rest = after;
    }
    true
}

fn foreign(schema: &str) -> DocumentError {
    let shown: String = visible::line(schema).chars().take(40).collect();
    let version = schema.strip_prefix("clocksmith.why.v").and_then(|v| v.parse::<u32>().ok());
    if version.is_some_and(|version| version > 1) {
        DocumentError::Newer(shown)
    } else {
        DocumentError::OtherDocument(shown)
    }
}

fn broken(error: &serde_json::Error) -> DocumentError {
    let text = error.to_string();
    // The place within a line is the column alone.
    let text = text.replace(" at line 1 column ", " at column ");
    DocumentError::Broken(match error.classify() {
        serde_json::error::Category::Data => {
            // The value that does not fit may be of a file that the caller may not read; the expected type is not.
            let text = match text.find(", expected ") {
                Some(at) => {
                    format!("an unexpected value or name{}", text.get(at..).unwrap_or_default())
                }
                None => text,
            };
            format!("it is JSON, but not as `clocksmith why --json` writes it: {text}")
        }
        serde_json::error::Category::Eof => format!("it is cut off: {text}"),
        _ => format!("it is not JSON: {text}"),
    })
}
