//! Files of settings that a shell reads, read by a grammar so narrow that every shell agrees on it: an edit is made only
//! in such a file, because only there is it certain which assignment takes effect.
//!
//! A line is empty, a comment, or one `NAME=VALUE` or `export NAME=VALUE`, with an optional comment after it. Blanks
//! are the space and the tab. A value is plain, in single quotes or in double quotes, on one line; `$NAME` and
//! `${NAME}` may be in it, and the output of a few commands that give the distribution's name. Anything else,
//! anywhere in the file, prevents all edits of it: it may end the reading, hide an assignment, or add one.
//!
//! Sources: POSIX, Shell Command Language, 2.2 (quoting), 2.6 (expansions), 2.9.1 (assignments); bash(1) and dash(1)
//! where they differ (`+=`, `$[`, `export` of unquoted words, names that are read-only or have a meaning).

use std::fmt;

/// The first construct in a file that prevents an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The line, counted from 1.
    pub line: usize,
    /// The text at this place.
    pub what: String,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "line {} has {}, so it is not certain which of its assignments take effect",
            self.line, self.what
        )
    }
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// The value of a variable.
    Of(String),
    /// The output of commands: not known, and the same before and after an edit.
    Output(String),
}

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The variable.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// Bytes of the value, without its quotes.
    pub span: (usize, usize),
    /// The quote around it, if any.
    pub quote: Option<char>,
    /// The value as it is written.
    pub raw: String,
    /// The parts of the value.
    pub parts: Vec<Part>,
}

/// Words that begin a compound command or a declaration, and commands that change the reading of the rest.
const KNOWN: [&str; 42] = [
    "if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "select", "do",
    "done", "function", "{", "}", "!", "[[", "[", "time", "coproc", "exit", "return", "exec",
    "eval", "alias", "unalias", ".", "source", "unset", "readonly", "set", "trap", "shift",
    "declare", "typeset", "local", "break", "continue", "true", "false", ":",
];

/// Variables with a meaning to a shell, to the loader of programs, or that cannot be assigned in one of the shells.
const SPECIAL: [&str; 44] = [
    "CDPATH",
    "COLUMNS",
    "COPROC",
    "DIRSTACK",
    "ENV",
    "EUID",
    "FCEDIT",
    "FIGNORE",
    "FPATH",
    "FUNCNAME",
    "FUNCNEST",
    "GLOBIGNORE",
    "GROUPS",
    "HOME",
    "HOSTFILE",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "IGNOREEOF",
    "INPUTRC",
    "INSIDE_EMACS",
    "LANG",
    "LANGUAGE",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PATH",
    "PIPESTATUS",
    "POSIXLY_CORRECT",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "SHLVL",
    "SRANDOM",
    "UID",
];
/// Families of such variables.
const FAMILIES: [&str; 16] = [
    "BASH",
    "CHILD_",
    "COMP_",
    "COMPREPLY",
    "EPOCH",
    "EXECIGNORE",
    "HIST",
    "LC_",
    "LD_",
    "MAIL",
    "PROMPT",
    "PS",
    "READLINE",
    "SHELLOPTS",
    "TEXTDOMAIN",
    "TIMEFORMAT",
];

/// Whether a name is an ordinary variable in capitals, without a meaning to any shell.
#[must_use]
pub fn ordinary(name: &str) -> bool {
    let capitals = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(capitals)
        && !SPECIAL.contains(&name)
        && !["TMOUT", "TMPDIR", "TZ", "TERM"].contains(&name)
        && !FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Reads a file. `known` decides which names may be assigned in it.
///
/// # Errors
/// Returns the first construct that is not understood.
pub fn read(text: &str, known: fn(&str) -> bool) -> Result<Vec<Setting>, Obstacle> {
    let mut settings = Vec::new();
    let mut at = 0;
    for (index, line) in text.split('\n').enumerate() {
        let cursor = Cursor { text: line, at: 0 };
        let found = cursor.line(known).map_err(|what| Obstacle { line: index + 1, what })?;
        if let Some(mut setting) = found {
            setting.line = index + 1;
            setting.span = (setting.span.0 + at, setting.span.1 + at);
            settings.push(setting);
        }
        at += line.len() + 1;
    }
    Ok(settings)
}

/// The part of a text that a file of settings must not have: its line, and a description.
#[must_use]
pub fn foreign(text: &str) -> Option<(usize, String)> {
    text.split('\n').enumerate().find_map(|(index, line)| {
        let found = line.chars().find(|&it| it.is_control() && it != '\t' || it == '\u{feff}')?;
        let what = match found {
            '\0' => "a NUL byte".to_owned(),
            '\r' => "a carriage return (line ends of another system)".to_owned(),
            '\u{feff}' => "a byte order mark".to_owned(),
            other => format!("the control character U+{:04X}", u32::from(other)),
        };
        Some((index + 1, what))
    })
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    fn blanks(&mut self) -> bool {
        let before = self.at;
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        self.at > before
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.bytes().take_while(letter).count();
        let name = rest.get(..length)?;
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        self.at += length;
        Some(name)
    }

    /// Reads a line; returns `None` if it assigns nothing.
    fn line(mut self, known: fn(&str) -> bool) -> Result<Option<Setting>, String> {
        if let Some((_, what)) = foreign(self.text) {
            return Err(what);
        }
        self.blanks();
        if matches!(self.peek(), None | Some('#')) {
            return Ok(None);
        }
        let start = self.at;
        let export = self.eat("export") && self.blanks();
        if !export {
            self.at = start;
        }
        let Some(name) = self.name() else { return Err(self.other(start)) };
        if self.rest().starts_with("+=") {
            return Err("`+=`, which sh does not know".to_owned());
        }
        if !self.eat("=") {
            return Err(self.other(start));
        }
        if !known(name) {
            return Err(format!("an assignment of {name}, which is not a setting of this file"));
        }
        let setting = self.value(name, export)?;
        let blank = self.blanks();
        match self.peek() {
            None => Ok(Some(setting)),
            Some('#') if blank => Ok(Some(setting)),
            Some(_) if blank => Err("more than one word".to_owned()),
            Some(_) => Err("a value of several parts".to_owned()),
        }
    }

    /// The text in place of an expected assignment, in words.
    fn other(&self, start: usize) -> String {
        let rest = self.text.get(start..).unwrap_or_default();
        let word = rest.split([' ', '\t', ';', '&', '|', '(']).next().unwrap_or_default();
        if KNOWN.contains(&word) {
            return format!("`{word}`");
        }
        "something other than NAME=VALUE".to_owned()
    }

    fn value(&mut self, name: &str, export: bool) -> Result<Setting, String> {
        let quote = self.peek().filter(|first| ['\'', '"'].contains(first));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        let parts = match quote {
            Some('\'') => {
                let length = self.rest().find('\'').ok_or("a quote that is not closed")?;
                self.at += length;
                vec![Part::Text(self.text.get(start..self.at).unwrap_or_default().to_owned())]
            }
            Some(_) => self.double()?,
            None => {
                let parts = self.plain()?;
                // dash splits it into words.
                if export && parts.iter().any(|part| !matches!(part, Part::Text(_))) {
                    return Err("an `export` of a value without quotes".to_owned());
                }
                parts
            }
        };
        let end = self.at;
        self.at += usize::from(quote.is_some());
        Ok(Setting {
            name: name.to_owned(),
            line: 0,
            span: (start, end),
            quote,
            raw: self.text.get(start..end).unwrap_or_default().to_owned(),
            parts,
        })
    }

    fn plain(&mut self) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            match self.peek() {
                None | Some(' ' | '\t') => break,
                Some(it) if is_plain(it) => {
                    text.push(it);
                    self.at += 1;
                }
                Some('$' | '`') => {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(self.expansion()?);
                }
                Some('"' | '\'') => return Err("a value of several parts".to_owned()),
                Some('(') => return Err("a function or an array".to_owned()),
                Some(other) => {
                    return Err(format!("`{}` outside of quotes", other.escape_default()));
                }
            }
        }
        parts.push(Part::Text(text));
        Ok(parts)
    }

    /// Reads up to the closing quote, which is left.
    fn double(&mut self) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            match self.peek().ok_or("a quote that is not closed on its line")? {
                '"' => break,
                '\\' => {
                    self.at += 1;
                    let next = self.take().ok_or("a value that spans several lines")?;
                    if !['"', '\\', '$', '`'].contains(&next) {
                        text.push('\\');
                    }
                    text.push(next);
                }
                '$' | '`' => {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(self.expansion()?);
                }
                other => {
                    text.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
        parts.push(Part::Text(text));
        Ok(parts)
    }

    /// An expansion, which begins with `$` or a backquote.
    fn expansion(&mut self) -> Result<Part, String> {
        let unknown = || "an expansion other than $NAME, ${NAME} and a known command".to_owned();
        if self.eat("`") {
            let length = self.rest().find('`').ok_or("a backquote that is not closed")?;
            let body = self.rest().get(..length).unwrap_or_default();
            self.at += length + 1;
            // Quotes and backslashes have another meaning there.
            let mut commands = Cursor { text: body, at: 0 };
            if body.contains(['"', '\\'])
                || commands.commands().is_none()
                || commands.peek().is_some()
            {
                return Err(unknown());
            }
            return Ok(Part::Output(body.to_owned()));
        }
        self.at += 1;
        if self.eat("(") {
            let start = self.at;
            if self.peek() == Some('(') || self.commands().is_none() || self.peek() != Some(')') {
                return Err(unknown());
            }
            let body = self.text.get(start..self.at).unwrap_or_default().to_owned();
            self.at += 1;
            return Ok(Part::Output(body));
        }
        let brace = self.eat("{");
        let name = self.name().ok_or_else(unknown)?;
        if brace && !self.eat("}") {
            return Err(unknown());
        }
        Ok(Part::Of(name.to_owned()))
    }

    /// Reads commands whose output is a name of the distribution, up to their terminator. In a subshell they assign
    /// nothing.
    fn commands(&mut self) -> Option<()> {
        loop {
            self.blanks();
            if self.eat("(") {
                self.commands()?;
                if !self.eat(")") {
                    return None;
                }
            } else {
                self.command()?;
            }
            self.blanks();
            while self.eat("2>") || self.eat(">") {
                self.blanks();
                if !self.eat("/dev/null") {
                    return None;
                }
                self.blanks();
            }
            if !(self.eat("&&") || self.eat("||") || self.eat("|") || self.eat(";")) {
                return Some(());
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        let rest = self.rest();
        let name = rest.split([' ', '\t']).next()?;
        if name == "." {
            self.at += 1;
            self.blanks();
            let files = ["/etc/os-release", "/usr/lib/os-release", "/etc/lsb-release"];
            return files.iter().any(|file| self.eat(file)).then_some(());
        }
        if !["lsb_release", "echo", "sed", "cat", "uname", "tr", "cut", "head"].contains(&name) {
            return None;
        }
        self.at += name.len();
        while self.blanks() {
            match self.peek() {
                // `2>` is a redirection; a word may begin with a digit.
                Some('2') if self.rest().starts_with("2>") => return Some(()),
                Some('\'') => {
                    self.at += 1;
                    let length = self.rest().find('\'')?;
                    self.at += length + 1;
                }
                Some('"') => {
                    self.at += 1;
                    while self.peek()? != '"' {
                        self.piece()?;
                        while self.peek() == Some(' ') {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                }
                Some(it) if is_plain(it) || it == '$' => {
                    while self.peek().is_some_and(|it| is_plain(it) || it == '$') {
                        self.piece()?;
                    }
                }
                _ => return Some(()),
            }
        }
        Some(())
    }

    /// Reads a plain character, or a name of os-release, with a default or without.
    fn piece(&mut self) -> Option<()> {
        if !self.eat("$") {
            return self.take().filter(|it| is_plain(*it)).map(drop);
        }
        let brace = self.eat("{");
        let names = ["NAME", "ID", "PRETTY_NAME", "VERSION", "VERSION_ID", "VERSION_CODENAME"];
        if !names.contains(&self.name()?) {
            return None;
        }
        if brace {
            if self.eat(":-") {
                while self.peek().is_some_and(is_plain) {
                    self.at += 1;
                }
            }
            return self.eat("}").then_some(());
        }
        Some(())
    }
}

/// Returns whether a character is literal outside of quotes, in every shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_./:,@%+=-".contains(letter)
}

#[cfg(test)]
mod tests;
