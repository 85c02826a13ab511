//! A command line in its parts: pipelines, the commands in them, and their words. Quotation marks hide the signs
//! that divide, and a comment is left out.

/// A command with its words, without quotation marks and redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// The file from which it reads its input.
    pub(super) input: Option<String>,
    /// Whether its output goes into a file.
    pub(super) is_written: bool,
}

impl Command {
    /// Its name, with the path as it was typed.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The words behind its name.
    pub(super) fn rest(&self) -> impl Iterator<Item = &str> + Clone {
        self.words.iter().skip(1).map(String::as_str)
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.input.is_none()
    }
}

/// Maximum number of commands in a line.
const MOST: usize = 32;

/// The pipelines of a command line, each with its commands.
pub(super) fn pipelines(line: &str) -> Vec<Vec<Command>> {
    let mut reader = Reader::default();
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(sign) = quote {
            match c {
                _ if c == sign => quote = None,
                '\\' if sign == '"' => reader.word.extend(chars.next()),
                _ => reader.word.push(c),
            }
            continue;
        }
        match c {
            '\'' | '"' => (quote, reader.is_open) = (Some(c), true),
            '\\' => reader.word.extend(chars.next()),
            '#' if reader.word.is_empty() && !reader.is_open => break,
            ' ' | '\t' => reader.end_word(),
            '|' if chars.next_if_eq(&'|').is_some() => reader.end_pipeline(),
            '|' => {
                chars.next_if_eq(&'&');
                reader.end_command();
            }
            // `2>&1`, `&>x`.
            '&' if reader.word.ends_with('>') => reader.word.push(c),
            '&' if chars.peek() == Some(&'>') => reader.word.push(c),
            ';' | '&' | '\n' => reader.end_pipeline(),
            '<' if !reader.word.ends_with('>') => {
                reader.end_word();
                reader.word.push(c);
            }
            _ => reader.word.push(c),
        }
        if reader.lines.len() > MOST {
            break;
        }
    }
    reader.end_pipeline();
    reader.lines
}

#[derive(Default)]
struct Reader {
    lines: Vec<Vec<Command>>,
    pipeline: Vec<Command>,
    command: Command,
    word: String,
    /// Whether the word has quotation marks.
    is_open: bool,
    /// The redirection whose file is the next word.
    waits: Option<char>,
}

impl Reader {
    fn end_word(&mut self) {
        let is_open = std::mem::take(&mut self.is_open);
        let word = std::mem::take(&mut self.word);
        if word.is_empty() && !is_open {
            return;
        }
        match self.waits.take() {
            Some('<') => return self.command.input = Some(word),
            Some(_) => return,
            None => {}
        }
        if let Some(file) = word.strip_prefix('<') {
            match file.trim_start_matches('<') {
                "" => self.waits = Some('<'),
                file => self.command.input = Some(file.to_owned()),
            }
            return;
        }
        // `> x`, `2>/dev/null`, `>&2`, `2>&1`.
        let bare = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if let Some(file) = bare.strip_prefix('>') {
            let is_of_errors = word.starts_with('2');
            let file = file.trim_start_matches('>');
            self.command.is_written |= !is_of_errors && !file.starts_with('&');
            self.waits = file.is_empty().then_some('>');
            return;
        }
        self.command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.waits = None;
        let command = std::mem::take(&mut self.command);
        if !command.is_empty() {
            self.pipeline.push(command);
        }
    }

    fn end_pipeline(&mut self) {
        self.end_command();
        let pipeline = std::mem::take(&mut self.pipeline);
        if !pipeline.is_empty() {
            self.lines.push(pipeline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let shown = |command: &Command| {
            let input = command.input.as_deref().map_or(String::new(), |file| format!("<{file}"));
            format!(
                "{}{input}{}",
                command.words.join(","),
                if command.is_written { ">" } else { "" }
            )
        };
        let pipeline =
            |commands: &Vec<Command>| commands.iter().map(shown).collect::<Vec<String>>().join("|");
        pipelines(line).iter().map(pipeline).collect::<Vec<String>>().join(";")
    }

    #[test]
    fn command_line_is_divided_outside_of_quotation_marks() {
        for (line, want) in [
            ("cat x", "cat,x"),
            ("cat x # dmesg", "cat,x"),
            ("dmesg | grep -i 'tsc|hpet'", "dmesg|grep,-i,tsc|hpet"),
            ("echo a; cat b && dmesg || true", "echo,a;cat,b;dmesg;true"),
            ("bash -c 'cat /tmp/x; dmesg' y", "bash,-c,cat /tmp/x; dmesg,y"),
            ("dmesg 2>&1 | tail", "dmesg|tail"),
            ("dmesg 2>/dev/null", "dmesg"),
            ("dmesg > x", "dmesg>"),
            ("echo hpet >/sys/x", "echo,hpet>"),
            ("tee < /tmp/x", "tee</tmp/x"),
            ("grep \"a\\\"b\" c", "grep,a\"b,c"),
            ("", ""),
        ] {
            assert_eq!(shown(line), want, "{line}");
        }
    }
}
