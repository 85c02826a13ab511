//! The words and the blocks of a text in GRUB's script language.
//!
//! Source: `grub-core/script/yylex.l` and `parser.y`: blanks separate words; `'` quotes everything, `"` everything but
//! `\` and `$`; `\` quotes one character; `#` at the beginning of a word begins a comment; `;`, `&` and `|` end a
//! command; `if`, `while`, `until` and `for` are keywords where a command begins, `{` and `}` where they are whole
//! words.

/// A word, and whether any of it was quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    quoted: bool,
    /// Whether a backslash is in it, outside of quotes.
    escaped: bool,
    /// Whether it begins as an assignment: a plain name and `=`, with nothing quoted up to there.
    assigns: bool,
}

enum Token {
    Word(Word),
    /// The end of a line or of a command, with its character.
    End(char),
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
    /// The line of a quote that is not closed.
    open_quote: Option<usize>,
    /// Whether a backslash is the last character.
    continued: bool,
    /// The line of the last backslash that continues one.
    continues: Option<usize>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            line: 1,
            open_quote: None,
            continued: false,
            continues: None,
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn token(&mut self) -> Option<Token> {
        loop {
            match *self.rest.peek()? {
                '#' => {
                    while self.rest.peek().is_some_and(|next| *next != '\n') {
                        self.next();
                    }
                }
                end @ ('\n' | ';' | '&' | '|') => {
                    self.next();
                    return Some(Token::End(end));
                }
                blank if blank.is_ascii_whitespace() => {
                    self.next();
                }
                _ => return Some(Token::Word(self.word())),
            }
        }
    }

    fn word(&mut self) -> Word {
        let mut word = Word { text: String::new(), quoted: false, escaped: false, assigns: false };
        while let Some(&next) = self.rest.peek() {
            if next.is_ascii_whitespace() || matches!(next, ';' | '&' | '|') {
                break;
            }
            self.next();
            match next {
                // A backslash at the end of a line continues it.
                '\\' => {
                    let line = self.line;
                    let quoted = self.next();
                    self.continued = quoted.is_none();
                    self.continues = if quoted == Some('\n') { Some(line) } else { self.continues };
                    word.escaped = true;
                    word.text.extend(quoted.filter(|it| *it != '\n'));
                }
                '\'' | '"' => {
                    word.quoted = true;
                    self.quoted(next, &mut word.text);
                }
                other => {
                    let plain = !word.quoted && !word.escaped;
                    word.assigns |= other == '=' && plain && is_name(&word.text);
                    word.text.push(other);
                }
            }
        }
        word
    }

    fn quoted(&mut self, quote: char, text: &mut String) {
        let begun = self.line;
        loop {
            match self.next() {
                None => {
                    self.open_quote = Some(begun);
                    return;
                }
                Some(end) if end == quote => return,
                Some('\\') if quote == '"' => match self.next() {
                    Some('\n') => self.continues = Some(self.line.saturating_sub(1)),
                    None => {}
                    Some(special @ ('"' | '\\' | '$')) => text.push(special),
                    Some(other) => text.extend(['\\', other]),
                },
                Some(other) => text.push(other),
            }
        }
    }
}

/// Returns whether a text is the name of a variable, so that `NAME=VALUE` is an assignment and not a command: no GRUB
/// command has `=` in its name, and no function can (`grub-core/script/yylex.l`).
fn is_name(text: &str) -> bool {
    let fits = |it: char| it.is_ascii_alphanumeric() || it == '_';
    !text.is_empty() && text.chars().all(fits) && !text.starts_with(|it: char| it.is_ascii_digit())
}

/// The words of the first command of a text, without quotes and comments.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut lexer = Lexer::new(text);
    let mut words = Vec::new();
    while let Some(Token::Word(word)) = lexer.token() {
        words.push(word.text);
    }
    words
}

/// Returns the text after the first command of a line that GRUB reads as more commands or as a part of it: the text
/// from `;`, `&` or `|` on, a backslash at the end, which adds the next line, or a quote that is not closed on it.
pub(super) fn behind(line: &str) -> Option<String> {
    let mut lexer = Lexer::new(line);
    while let Some(token) = lexer.token() {
        if let Token::End(end) = token {
            let rest: String = lexer.rest.collect();
            return Some(format!("{end}{rest}"));
        }
    }
    if lexer.open_quote.is_some() {
        return Some("a quote that is not closed".to_owned());
    }
    lexer.continued.then(|| "\\".to_owned())
}

/// The words as a kernel gets them: those with blanks in double quotes.
pub(super) fn line(text: &str) -> String {
    words(text).into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: String) -> String {
    if word.contains(|c: char| c.is_ascii_whitespace()) { format!("\"{word}\"") } else { word }
}

/// A command of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    words: Vec<String>,
    /// The line on which it begins.
    pub(super) line: usize,
    /// Whether it is the first on that line.
    pub(super) first: bool,
    /// Whether its name is quoted in any way, or has a variable; not set for an assignment, whose value may.
    pub(super) odd: bool,
    /// The line that a backslash in it continues.
    pub(super) continued: Option<usize>,
    /// Blocks that begin (`{`) and end (`}`) directly after it.
    pub(super) braces: Vec<bool>,
}

impl Command {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Returns the other words, without options before them.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        let rest = self.words.iter().skip(1).map(String::as_str);
        rest.skip_while(|word| word.starts_with("--"))
    }

    /// As [`line`].
    pub(super) fn line(&self) -> String {
        self.arguments().map(str::to_owned).map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// The beginning, for a message.
    pub(super) fn shown(&self) -> String {
        self.words.join(" ").chars().take(80).collect()
    }
}

/// Returns all commands of a script. The delimiters of a block are not commands; a command after `if`, `then` and
/// similar words is.
pub(super) fn commands(text: &str) -> Vec<Command> {
    let mut lexer = Lexer::new(text);
    let mut all: Vec<Command> = Vec::new();
    let mut open: Option<Command> = None;
    // The line of the last word, to see which is the first one on its line.
    let mut last = 0;
    loop {
        let before = lexer.continues;
        let token = lexer.token();
        let Some(Token::Word(word)) = token else {
            all.extend(open.take());
            if token.is_none() {
                return all;
            }
            continue;
        };
        let plain = !word.quoted && !word.escaped;
        // Where the word begins: it may have line breaks.
        let line = lexer.line - word.text.matches('\n').count();
        let continued = lexer.continues.filter(|_| lexer.continues != before);
        let first = last < line && continued.is_none_or(|at| at > last);
        last = lexer.line;
        match word.text.as_str() {
            brace @ ("{" | "}") if plain => {
                let mut command = open.take().unwrap_or_default();
                command.braces.push(brace == "{");
                if command.words.is_empty() {
                    command.line = line;
                }
                all.push(command);
            }
            "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "fi" | "done" | "!"
                if plain && open.is_none() => {}
            _ => match &mut open {
                Some(command) => {
                    command.continued = command.continued.or(continued);
                    command.words.push(word.text);
                }
                None => {
                    open = Some(Command {
                        odd: !word.assigns
                            && (word.quoted || word.escaped || word.text.contains('$')),
                        words: vec![word.text],
                        line,
                        first,
                        continued,
                        braces: Vec::new(),
                    });
                }
            },
        }
    }
}

/// The first fault of a whole script: a quote or a block that is open at its end, an end without a beginning.
pub(super) fn fault(text: &str) -> Option<String> {
    let mut lexer = Lexer::new(text);
    let mut open: Vec<(&str, &str, usize)> = Vec::new();
    // Whether a command may begin.
    let mut begins = true;
    while let Some(token) = lexer.token() {
        let Token::Word(word) = token else {
            begins = true;
            continue;
        };
        let first = std::mem::replace(&mut begins, false);
        if word.quoted {
            continue;
        }
        let at = lexer.line;
        match word.text.as_str() {
            "{" => {
                open.push(("{", "}", at));
                begins = true;
            }
            "if" if first => {
                open.push(("if", "fi", at));
                begins = true;
            }
            "while" | "until" if first => {
                open.push(("while", "done", at));
                begins = true;
            }
            "for" if first => open.push(("for", "done", at)),
            "then" | "else" | "elif" | "do" if first => begins = true,
            end @ ("}" | "fi" | "done") if first || end == "}" => {
                match open.pop() {
                    Some((_, wanted, _)) if wanted == end => {}
                    Some((what, wanted, line)) => {
                        return Some(format!(
                            "has `{end}` (line {at}) where `{what}` (line {line}) needs `{wanted}`"
                        ));
                    }
                    None => return Some(format!("has `{end}` (line {at}) without a beginning")),
                }
                begins = true;
            }
            _ => {}
        }
    }
    if let Some(line) = lexer.open_quote {
        return Some(format!("has a quote that is not closed (line {line})"));
    }
    let (what, wanted, line) = open.pop()?;
    Some(format!("has no `{wanted}` for `{what}` (line {line})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_grub_hands_over() {
        assert_eq!(
            words("/vmlinuz root=/dev/sda1 ro # quirk=1"),
            ["/vmlinuz", "root=/dev/sda1", "ro"]
        );
        assert_eq!(words("a\"b c\"'d e' x#y \"\" f\\ g; quirk=1"), ["ab cd e", "x#y", "", "f g"]);
        assert_eq!(words("\"a\\\"b\\$c\\d\" ${x}"), ["a\"b$c\\d", "${x}"]);
        assert_eq!(line("a 'b c' \"quirk=1\""), "a \"b c\" quirk=1");
    }

    #[test]
    fn behind_is_what_grub_reads_as_more_than_one_command() {
        for plain in ["/v quiet", "/v a\\;b 'c;d' \"e & f\" # ; halt", "/v a\\\\", ""] {
            assert_eq!(behind(plain), None, "{plain}");
        }
        for (line, more) in [
            ("/v quiet; halt", "; halt"),
            ("/v quiet;", ";"),
            ("/v && reboot", "&& reboot"),
            ("/v a|| true", "|| true"),
            ("/v quiet \\", "\\"),
            ("/v quiet\"", "a quote that is not closed"),
        ] {
            assert_eq!(behind(line).as_deref(), Some(more), "{line}");
        }
    }

    #[test]
    fn commands_assignment_with_a_quoted_value_is_not_odd() {
        for plain in
            ["xen_rm_opts=\"no-real-mode edd=off\"", "a_1='x y'", "font=$prefix/x", "a=b\\ c"]
        {
            assert!(!commands(plain)[0].odd, "{plain}");
        }
        for odd in
            ["\"linux\" /v", "li'nux' /v a=b", "$x /v", "\"a=b\"", "$a=b", "1a=\"b\"", "a\\=b"]
        {
            assert!(commands(odd)[0].odd, "{odd}");
        }
    }

    #[test]
    fn fault_open_quote_or_block_is_named_with_its_line() {
        let good = "if [ x = x ]; then\n  set a='it\nis'\nelif true; then\n echo if fi\nelse\n function f {\n  b; }\nfi\n\
                    for x in a b; do\necho \"}\" # it's {\ndone\nwhile true; do true; done\nmenuentry 'a' { true }\n";
        assert_eq!(fault(good), None);
        for (text, why) in [
            ("set x='a\n", "has a quote that is not closed (line 1)"),
            ("\nset x=\"a\n", "has a quote that is not closed (line 2)"),
            ("if true; then\necho\n", "has no `fi` for `if` (line 1)"),
            ("menuentry 'x' {\nlinux /x\n", "has no `}` for `{` (line 1)"),
            ("fi\n", "has `fi` (line 1) without a beginning"),
            ("if true; then {\nfi\n}\n", "has `fi` (line 2) where `{` (line 1) needs `}`"),
        ] {
            assert_eq!(fault(text).as_deref(), Some(why));
        }
    }
}
