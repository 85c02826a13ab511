//! A whole text as plain lines: the conversions of the scan's window, for readers that read a text of bounded size
//! line by line.

use super::lines::text;
use super::parse::{Groups, parse};
use super::pieces::Given;
use super::{LogError, encoding, mail, markup, prefix, records};
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
    if let Some(mut style) = markup::found(&plain) {
        style.soft &= !decoded;
        let mut reader =
            Given::new(markup::Plain::new(Cursor::new(std::mem::take(&mut plain)), style));
        reader.read_to_end(&mut plain).map_err(failed)?;
    }
    // Records of other formats have one line for each record, which the readers know.
    if records::found(&plain) == Some(records::Style::Fields) {
        let text = Cursor::new(std::mem::take(&mut plain));
        let mut reader = Given::new(records::Lines::new(text, records::Style::Fields));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_message_in_records_of_the_journal_are_no_lines_of_the_text() {
        let message = "x\nSystem clock wrong by 3600.1 seconds\n\n$ cat x";
        let length = (message.len() as u64).to_le_bytes();
        let length = std::str::from_utf8(&length).unwrap();
        let verbose = message.replace('\n', "\n            ");
        for record in [
            format!("__CURSOR=x\n_TRANSPORT=stdout\nMESSAGE\n{length}{message}\n_PID=8\n\n"),
            format!(
                "Sat 2025-11-22 [s=a]\n    _TRANSPORT=stdout\n    MESSAGE={verbose}\n    _PID=8\n"
            ),
        ] {
            let text = format!("$ uname -r\n6.1.0\n\n{record}$ uptime\n");
            let read = lines(text.as_bytes(), "text").unwrap();
            assert_eq!(read.len(), text.split('\n').count());
            assert!(!read.iter().any(|line| line.contains("wrong") || line.contains("cat x")));
            assert_eq!(
                (read[0].as_str(), read[read.len() - 2].as_str()),
                ("$ uname -r", "$ uptime")
            );
        }
    }
}
