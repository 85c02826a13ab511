//! A whole text as plain lines: the conversions of the scan's window, for readers that read a text of bounded size
//! line by line.

use super::lines::text;
use super::parse::{Groups, parse};
use super::pieces::Given;
use super::{LogError, encoding, mail, markup, prefix};
use std::io::{Cursor, Read};

/// The lines of a text, without the additions of mailers, web pages and terminals. Their numbers are those of the scan
/// of the same text.
///
/// # Errors
/// Returns an error if the input is not text.
pub(crate) fn lines(bytes: &[u8], name: &str) -> Result<Vec<String>, LogError> {
    let mut plain = Vec::with_capacity(bytes.len());
    let failed = |error| LogError::Read { name: name.to_owned(), error };
    encoding::utf8(bytes).and_then(|mut text| text.read_to_end(&mut plain)).map_err(failed)?;
    encoding::check(&plain, name)?;
    let decoded = mail::found(&plain);
    if decoded {
        let mut reader = Given::new(mail::Parts::new(Cursor::new(std::mem::take(&mut plain))));
        reader.read_to_end(&mut plain).map_err(failed)?;
    }
    if let Some(soft) = markup::found(&plain) {
        let soft = soft && !decoded;
        let mut reader =
            Given::new(markup::Plain::new(Cursor::new(std::mem::take(&mut plain)), soft));
        reader.read_to_end(&mut plain).map_err(failed)?;
    }
    if encoding::ends_lines_with_returns(&plain) {
        plain.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
    }
    let length = encoding::plain_blanks(&mut plain, 0);
    plain.truncate(length);
    if encoding::escapes_signs(&plain) {
        let length = encoding::without_backslashes(&mut plain, 0);
        plain.truncate(length);
    }
    Ok(plain
        .split(|byte| *byte == b'\n')
        .map(|line| text(line, 0, line.len()).into_owned())
        .collect())
}

/// Whether the kernel printed a line: it has the kernel's time stamp, or begins like a message about clocks.
pub(crate) fn is_of_the_kernel(line: &str) -> bool {
    let line = prefix::strip(line);
    match line.kernel {
        Some(kernel) => kernel,
        None => parse(line.message, Groups::of(line.message)).is_some(),
    }
}
