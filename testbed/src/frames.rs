//! A guest's output on its serial line: frames of lines that begin with bars, as `guest/init.sh`
//! writes them, between the output of firmware and kernel.

use std::collections::BTreeMap;

/// Reads a serial line as it arrives.
#[derive(Debug, Default)]
pub struct Reader {
    open: Option<(String, Vec<String>)>,
    frames: BTreeMap<String, String>,
    done: bool,
}

impl Reader {
    /// A reader that has seen nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Takes one line, with or without its end.
    pub fn line(&mut self, line: &str) {
        let line = line.trim_end_matches(['\r', '\n']);
        // An unfinished line of the kernel may precede a beginning.
        let begins = match &self.open {
            None => line.split_once("@@BEGIN ").map(|(_, name)| name),
            Some(_) => line.strip_prefix("@@BEGIN "),
        };
        if let Some(name) = begins {
            self.open = Some((name.to_string(), Vec::new()));
        } else if let Some(name) = line.strip_prefix("@@END ") {
            if let Some((open, lines)) = self.open.take()
                && open == name
            {
                self.frames.insert(open, lines.concat());
            }
        } else if line == "@@DONE" {
            self.done = true;
        } else if let Some(text) = line.strip_prefix('|')
            && let Some((_, lines)) = &mut self.open
        {
            lines.push(format!("{text}\n"));
        }
    }

    /// Whether the guest has said everything.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The name of a frame that was begun and not ended.
    pub fn unfinished(&self) -> Option<&str> {
        self.open.as_ref().map(|(name, _)| name.as_str())
    }

    /// The frames, by name.
    pub fn into_frames(self) -> BTreeMap<String, String> {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Reader {
        let mut reader = Reader::new();
        text.lines().for_each(|line| reader.line(line));
        reader
    }

    #[test]
    fn reads_frames_and_ignores_what_the_kernel_puts_between() {
        let reader = read(
            "SeaBIOS\r\n@@BEGIN a\r\n|one\r\n[    1.0] kernel speaks\r\n|\r\n|three\r\n\r\n\
             @@END a\r\n@@BEGIN b\r\n\r\n@@END b\r\n@@DONE\r\n",
        );
        assert!(reader.is_done());
        let frames = reader.into_frames();
        assert_eq!(frames["a"], "one\n\nthree\n");
        assert_eq!(frames["b"], "");
    }

    #[test]
    fn a_frame_begins_behind_unfinished_words_of_the_kernel() {
        let frames = read("#1 SMP PREEMPT D@@BEGIN a\n|one\n@@END a\n").into_frames();
        assert_eq!(frames["a"], "one\n");
    }

    #[test]
    fn a_frame_without_its_end_is_not_a_frame() {
        let reader = read("@@BEGIN a\n|one\n@@END b\n@@BEGIN c\n|x");
        assert_eq!(reader.unfinished(), Some("c"));
        assert!(!reader.is_done());
        assert!(reader.into_frames().is_empty());
    }
}
