//! Names as bytes, from the child to its parent. The child's bytes come from a file of another user.

use crate::symbols::{Named, Names, Place};

/// Names as bytes: each with its length before it, then the file and the line of its source.
pub(super) fn write(names: Option<&[Named]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let add = |bytes: &mut Vec<u8>, text: &str| {
        // A name may have any length. A character that is cut off at the end is shown as such.
        let text = text.as_bytes().get(..NAME).unwrap_or(text.as_bytes());
        bytes.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
        bytes.extend_from_slice(text);
    };
    for named in names.unwrap_or_default().iter().take(INLINED) {
        add(&mut bytes, &named.name);
        let place = named.place.as_ref();
        add(&mut bytes, place.map_or("", |place| &place.file));
        bytes.extend(place.map_or(u32::MAX, |place| place.line).to_le_bytes());
    }
    bytes
}

/// Bytes of a name, and of the name of a file, at most.
const NAME: usize = 1 << 10;
/// Functions at one address at most: a reply has room for them.
const INLINED: usize = 24;

pub(super) fn parse(bytes: &[u8]) -> Option<Names> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let name = text(&mut rest)?.into();
        let file = text(&mut rest)?;
        let line = number(&mut rest)?;
        let place = (line != u32::MAX).then(|| Place { file: file.into(), line });
        found.push(Named { name, place });
    }
    (!found.is_empty()).then(|| found.into())
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*first))
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn any_answer(bytes: Vec<u8>) {
            parse(&bytes);
        }

        #[test]
        fn answers_are_read_as_they_were_written(
            all in proptest::collection::vec((".{0,20}", proptest::option::of((".{0,20}", 0..u32::MAX))), 0..5)
        ) {
            let named: Vec<Named> = all
                .into_iter()
                .map(|(name, place)| Named {
                    name: name.into(),
                    place: place.map(|(file, line)| Place { file: Arc::from(file), line }),
                })
                .collect();
            let read = parse(&write(Some(&named)));
            prop_assert_eq!(read.as_deref().unwrap_or_default(), &named[..]);
        }
    }
}
