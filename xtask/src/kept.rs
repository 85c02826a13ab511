//! What a program printed, in memory: all of it, unless it is so much that it would fill the memory.

/// Bytes that are kept at most: cargo's lists of the workspace are a few megabytes.
const MOST: usize = 64 << 20;

/// The longest piece of a line that is read at once.
pub(crate) const PIECE: u64 = 64 << 10;

/// The output of a program so far. Of a very long one the middle is left out.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The begin, and from there on the end if something was left out.
    bytes: Vec<u8>,
    left_out: usize,
}

impl Kept {
    pub(crate) fn add(&mut self, more: &[u8]) {
        self.add_within(more, MOST);
    }

    fn add_within(&mut self, more: &[u8], most: usize) {
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > most {
            // Half of what is kept is the begin; seldom, because the end moves.
            let (begin, end) = (most / 2, self.bytes.len() - most / 4);
            self.bytes.drain(begin..end);
            self.left_out += end - begin;
        }
    }

    /// The text, with a line in place of what was left out.
    pub(crate) fn text(&self) -> String {
        self.text_within(MOST)
    }

    fn text_within(&self, most: usize) -> String {
        if self.left_out == 0 {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        let (begin, end) = self.bytes.split_at((most / 2).min(self.bytes.len()));
        format!(
            "{}\n[{} bytes left out]\n{}",
            String::from_utf8_lossy(begin),
            self.left_out,
            String::from_utf8_lossy(end)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_of_a_long_output_are_its_begin_and_its_end() {
        let mut kept = Kept::default();
        for number in 0..10_000 {
            kept.add_within(format!("{number}\n").as_bytes(), 1000);
            assert!(kept.bytes.len() <= 1000);
        }
        let text = kept.text_within(1000);
        assert!(text.starts_with("0\n1\n") && text.ends_with("9998\n9999\n"), "{text}");
        assert!(text.contains(" bytes left out]\n"), "{text}");
        let mut short = Kept::default();
        short.add(b"a\nb");
        assert_eq!(short.text(), "a\nb");
    }
}
