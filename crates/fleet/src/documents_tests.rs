use super::*;
use proptest::prelude::*;

fn lines(text: &[u8]) -> Vec<Document> {
    let mut lines = Lines::new(text);
    std::iter::from_fn(|| lines.next_document().unwrap()).collect()
}

fn texts(documents: &[Document]) -> Vec<(u64, String)> {
    let text = |d: &Document| String::from_utf8(d.text.clone().unwrap()).unwrap();
    documents.iter().map(|d| (d.line, text(d))).collect()
}

#[test]
fn each_line_is_a_document_and_knows_its_number() {
    let found = lines(b"\xef\xbb\xbf{\"a\":1}\r\n\n  \nbroken\n{}");
    assert_eq!(texts(&found), [(1, "{\"a\":1}".into()), (4, "broken".into()), (5, "{}".into())]);
}

/// A line without end, as long as the reader reads: never more than the limit is kept in memory.
#[test]
fn a_line_beyond_all_measure_is_one_bad_document() {
    let endless = io::repeat(b'x').take(200 << 20).chain(&b"\n{}\n"[..]);
    let mut lines = Lines::new(io::BufReader::new(endless));
    let first = lines.next_document().unwrap().unwrap();
    assert_eq!((first.line, first.text), (1, Err(TOO_LONG)));
    let second = lines.next_document().unwrap().unwrap();
    assert_eq!((second.line, second.text), (2, Ok(b"{}".to_vec())));
    assert_eq!(lines.next_document().unwrap(), None);
}

#[test]
fn zeros_without_end_are_not_read_to_their_end() {
    let mut lines = Lines::new(io::BufReader::new(io::repeat(0)));
    assert_eq!(lines.next_document().unwrap(), Some(Document { line: 1, text: Err(NO_TEXT) }));
    assert_eq!(lines.next_document().unwrap(), None);
}

#[test]
fn documents_over_many_lines_and_arrays_are_found() {
    let pretty = b"{\n \"a\": \"}\\\"{\"\n}\n{\n}\n";
    assert_eq!(shape(pretty), Shape::Whole);
    assert_eq!(texts(&whole(pretty)), [(1, "{\n \"a\": \"}\\\"{\"\n}".into()), (4, "{\n}".into())]);
    let array = b" [ {\"a\":[1]},\n{\"b\":2}\n]\n";
    assert_eq!(shape(array), Shape::Whole);
    assert_eq!(texts(&whole(array)), [(1, "{\"a\":[1]}".into()), (2, "{\"b\":2}".into())]);
    assert_eq!(shape(b"{\"a\":1}\n{\n"), Shape::Lines);
    // Broken: the rest is one document, whose reader reports the error.
    assert_eq!(
        texts(&whole(b"[{\"a\":1},{\"b\"")),
        [(1, "{\"a\":1}".into()), (1, "{\"b\"".into())]
    );
}

#[test]
fn shape_is_found_from_beginning() {
    assert_eq!(shape(b"\x1f\x8b\x08"), Shape::Packed);
    assert_eq!(shape(b"PAR1\x15"), Shape::Parquet);
    assert_eq!(shape(b""), Shape::Lines);
    let mut tar = vec![0; 300];
    tar[257..262].copy_from_slice(b"ustar");
    assert_eq!(shape(&tar), Shape::Packed);
}

#[test]
fn nesting_without_end_is_an_error_and_no_overflow() {
    let deep = "[".repeat(1 << 20);
    assert_eq!(whole(deep.as_bytes()).len(), 1);
    let line = format!("{{\"schema\":\"clocksmith.why.v1\",\"x\":{deep}");
    assert!(crate::parse::parse(line.as_bytes()).is_err());
}

proptest! {
    #[test]
    fn any_bytes_end(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = (shape(&text), whole(&text));
        for document in lines(&text) {
            let _ = crate::parse::parse_named(&document.text.unwrap());
        }
    }

    /// All values are found again, in each of the three forms.
    #[test]
    fn every_form_gives_the_same_documents(values in proptest::collection::vec("[a-z{}\\[\\]\", \\n]{0,12}", 1..8)) {
        let values: Vec<serde_json::Value> =
            values.iter().map(|v| serde_json::json!({"v": v, "w": [v, {}]})).collect();
        let join = |f: fn(&serde_json::Value) -> String, by: &str| values.iter().map(f).collect::<Vec<_>>().join(by);
        let compact = join(|v| v.to_string(), "\n");
        let pretty = join(|v| format!("{v:#}"), "\n");
        let array = format!("[{}]", join(|v| format!("{v:#}"), ",\n"));
        let back = |documents: Vec<Document>| -> Vec<serde_json::Value> {
            documents.into_iter().map(|d| serde_json::from_slice(&d.text.unwrap()).unwrap()).collect()
        };
        prop_assert_eq!(back(lines(compact.as_bytes())), values.clone());
        prop_assert_eq!(shape(pretty.as_bytes()), Shape::Whole);
        prop_assert_eq!(back(whole(pretty.as_bytes())), values.clone());
        prop_assert_eq!(back(whole(array.as_bytes())), values);
    }
}
