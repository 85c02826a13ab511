//! Documents of a fleet: any bytes become rows or an error, however they are split; and no row breaks a
//! table.

#![no_main]

use clocksmith_fleet::documents::{Document, Lines, Shape, shape, whole};
use clocksmith_fleet::parse::parse_named;
use clocksmith_fleet::row::{MAX_TEXT, Rows};
use clocksmith_fleet::table::{CAUSES, Column, HOSTS, REMEDIES, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut documents: Vec<Document> = Vec::new();
    if shape(data) == Shape::Whole {
        documents.extend(whole(data));
    }
    let mut lines = Lines::new(data);
    while let Some(document) = lines.next_document().expect("a slice can be read") {
        documents.push(document);
    }
    for document in documents {
        let Ok(text) = document.text else { continue };
        let named = parse_named(&text);
        let place = named.input.unwrap_or_else(|| format!("fuzz:{}", document.line));
        let Ok(why) = named.document else { continue };
        let rows = Rows::of(&why, &place);
        row(HOSTS.columns, &rows.host);
        rows.causes.iter().for_each(|cause| row(CAUSES.columns, cause));
        rows.remedies.iter().for_each(|remedy| row(REMEDIES.columns, remedy));
        let chosen = rows.remedies.iter().filter(|remedy| remedy.chosen && !remedy.refused).count();
        assert_eq!(chosen, usize::from(rows.host.remedy.is_some()));
    }
});

fn row<R>(columns: &[Column<R>], row: &R) {
    for column in columns {
        match (column.of)(row) {
            Value::Text(None) | Value::Integer(None) | Value::Float(None) | Value::Flag(None) => {
                assert!(column.nullable, "{}", column.name);
            }
            Value::Text(Some(text)) => {
                assert!(text.chars().count() <= MAX_TEXT && !text.chars().any(char::is_control));
            }
            Value::Float(Some(value)) => assert!(value.is_finite()),
            _ => {}
        }
    }
}
