//! What in a file that a shell reads makes it more than a list of assignments: branches, loops, functions,
//! here-documents, an early end. In such a file an assignment may stand where it is never reached, or inside a text,
//! and reading lines does not tell; so it is not edited.
//!
//! The words of the shell are those of POSIX's Shell Command Language, 2.2 (quoting), 2.4 (reserved words), 2.7.4
//! (here-documents) and 2.9 (commands); `[[`, `function`, `select` and arrays are bash's.

use std::fmt;

/// The first thing in a file that keeps it from being edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The line, counted from 1.
    pub line: usize,
    /// What is there.
    pub what: String,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "line {} has {}, so which of its assignments take effect cannot be read off: edit it by hand, \
             then make the boot menu anew",
            self.line, self.what
        )
    }
}

/// Words that begin, divide or end a compound command.
const COMPOUND: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "select", "do",
    "done", "function", "{", "}", "!", "[[", "time", "coproc",
];
/// Commands after which nothing, or something else, is read; `eval` and `alias` make text into commands.
const ENDS: [&str; 5] = ["exit", "return", "exec", "eval", "alias"];

/// What keeps the file from being edited, if anything does.
#[must_use]
pub fn obstacle(text: &str) -> Option<Obstacle> {
    Scan { bytes: text.as_bytes(), at: 0, line: 1 }.file().err()
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

type Scanned = Result<(), Obstacle>;

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn after(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn step(&mut self) {
        if self.peek() == Some(b'\n') {
            self.line += 1;
        }
        self.at += 1;
    }

    fn at_line(line: usize, what: impl Into<String>) -> Scanned {
        Err(Obstacle { line, what: what.into() })
    }

    /// Commands, to the end of the file.
    fn file(&mut self) -> Scanned {
        let mut command = true;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' | b';' | b'|' => {
                    command = true;
                    self.step();
                }
                b'&' => {
                    command = true;
                    self.step();
                    // `&>file`.
                    if self.peek() == Some(b'>') {
                        command = false;
                    }
                }
                b' ' | b'\t' | b'\r' => self.step(),
                b'#' => self.comment(),
                b'<' | b'>' => self.redirection()?,
                b'(' if command => return Self::at_line(self.line, "a subshell"),
                b'(' => return Self::at_line(self.line, "a function or an array"),
                b')' => return Self::at_line(self.line, "a lone `)`"),
                _ => command = self.word(command)?,
            }
        }
        Ok(())
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.step();
        }
    }

    fn redirection(&mut self) -> Scanned {
        if self.peek() == Some(b'<') && self.after(1) == Some(b'<') {
            if self.after(2) != Some(b'<') {
                return Self::at_line(self.line, "a here-document (<<)");
            }
            self.at += 3;
            return Ok(());
        }
        self.step();
        while self.peek().is_some_and(|byte| matches!(byte, b'>' | b'&' | b'|')) {
            self.step();
        }
        if self.peek() == Some(b'(') {
            return Self::at_line(self.line, "a process substitution");
        }
        Ok(())
    }

    /// One word; says whether a command may still follow it, as after an assignment.
    fn word(&mut self, command: bool) -> Result<bool, Obstacle> {
        let (start, line) = (self.at, self.line);
        let mut plain = true;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    break;
                }
                b'\\' => {
                    plain = false;
                    self.step();
                    self.step();
                }
                b'\'' => {
                    plain = false;
                    self.single()?;
                }
                b'"' => {
                    plain = false;
                    self.double()?;
                }
                b'`' => {
                    plain = false;
                    self.backquotes()?;
                }
                b'$' => {
                    plain = false;
                    self.dollar()?;
                }
                _ => self.step(),
            }
        }
        let word = String::from_utf8_lossy(self.bytes.get(start..self.at).unwrap_or_default());
        let assignment = command && is_assignment(&word);
        // A value may go over lines; that of another word looks like lines of its own.
        if self.line != line && !assignment {
            return Err(Obstacle {
                line,
                what: "a command that goes over several lines".to_owned(),
            });
        }
        if command && plain && COMPOUND.contains(&word.as_ref()) {
            return Err(Obstacle { line, what: format!("`{word}`") });
        }
        if command && plain && ENDS.contains(&word.as_ref()) {
            return Err(Obstacle { line, what: format!("the command `{word}`") });
        }
        if self.peek() == Some(b'(') {
            let what = if assignment { "an array" } else { "a function" };
            return Err(Obstacle { line, what: what.to_owned() });
        }
        Ok(assignment || command && word == "export")
    }

    fn single(&mut self) -> Scanned {
        let line = self.line;
        self.step();
        while let Some(byte) = self.peek() {
            self.step();
            if byte == b'\'' {
                return Ok(());
            }
        }
        Self::at_line(line, "a quote that is not closed")
    }

    fn double(&mut self) -> Scanned {
        let line = self.line;
        self.step();
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.step();
                    return Ok(());
                }
                b'\\' => {
                    self.step();
                    self.step();
                }
                b'`' => self.backquotes()?,
                b'$' => self.dollar()?,
                _ => self.step(),
            }
        }
        Self::at_line(line, "a quote that is not closed")
    }

    fn backquotes(&mut self) -> Scanned {
        let line = self.line;
        self.step();
        while let Some(byte) = self.peek() {
            match byte {
                b'`' => {
                    self.step();
                    return self.one_line(line);
                }
                b'\\' => {
                    self.step();
                    self.step();
                }
                _ => self.step(),
            }
        }
        Self::at_line(line, "a backquote that is not closed")
    }

    /// `$(...)` and `${...}`; nothing else has an end to look for.
    fn dollar(&mut self) -> Scanned {
        let line = self.line;
        self.step();
        let (open, close) = match self.peek() {
            Some(b'(') => (b'(', b')'),
            Some(b'{') => (b'{', b'}'),
            _ => return Ok(()),
        };
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => {
                    self.step();
                    self.step();
                }
                b'\'' if open == b'(' => self.single()?,
                b'"' => self.double()?,
                b'`' => self.backquotes()?,
                b'$' if matches!(self.after(1), Some(b'(' | b'{')) => self.dollar()?,
                _ if byte == open => {
                    depth += 1;
                    self.step();
                }
                _ if byte == close => {
                    depth -= 1;
                    self.step();
                    if depth == 0 {
                        return self.one_line(line);
                    }
                }
                _ => self.step(),
            }
        }
        Self::at_line(line, "a `$(` or `${` that is not closed")
    }

    /// Lines inside a substitution look like lines of the file.
    fn one_line(&self, line: usize) -> Scanned {
        if self.line == line {
            return Ok(());
        }
        Self::at_line(line, "a substitution that goes over several lines")
    }
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As distributions install them, in own words.
    const PLAIN: &[&str] = &[
        "GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n",
        "GRUB_DISTRIBUTOR=`( . /etc/os-release && echo ${NAME} )`\n",
        "GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Ubuntu} ) 2>/dev/null || echo Ubuntu`\n",
        "GRUB_DISTRIBUTOR=$(. /etc/os-release; echo ${NAME})\n",
        "GRUB_DISTRIBUTOR=\"$(sed 's, release .*$,,g' /etc/system-release)\"\n",
        "GRUB_DISTRIBUTOR=\"$(echo \"a b\" | tr -d ')')\"\n",
        ". /etc/os-release\nsource /etc/os-release\n[ -f /x ] || true\n",
        "# if this, then that; <<EOF\n#GRUB_BADRAM=\"0x01234567,0xfefefefe\"\n",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT crashkernel=512M-:192M\"\n",
        "GRUB_DISABLE_OS_PROBER=false # if\nexport GRUB_COLOR_NORMAL=\"light-gray\n/black\"\n",
        "GRUB_CMDLINE_LINUX=\"a \\\n  b\nc\"\nGRUB_X='it\nis'\n",
        "GRUB_INIT_TUNE=\"480 440 1\"\r\nA=1 B=2; C=${D:-if}\nE=a\\ if\ncat x <<<if >/dev/null 2>&1\necho if\n",
        "",
    ];

    #[test]
    fn files_of_distributions_have_no_obstacle() {
        for text in PLAIN {
            assert_eq!(obstacle(text), None, "{text}");
        }
    }

    #[test]
    fn obstacles_are_named_with_their_line() {
        for (text, line, what) in [
            ("A=1\nif true; then B=2; fi\n", 2, "`if`"),
            ("A=1\n\n  case x in\n", 3, "`case`"),
            ("true && if x\n", 1, "`if`"),
            ("A=1; for a in b; do\n", 1, "`for`"),
            ("while :\n", 1, "`while`"),
            ("cat <<E\nA=1\nE\n", 1, "a here-document (<<)"),
            ("cat >/dev/null <<-'E'\n", 1, "a here-document (<<)"),
            ("f() {\n", 1, "a function"),
            ("f () {\n", 1, "a function or an array"),
            ("function f {\n", 1, "`function`"),
            ("{ A=1; }\n", 1, "`{`"),
            ("( A=1 )\n", 1, "a subshell"),
            ("A=(1 2)\n", 1, "an array"),
            ("A=1\nexit 0\nB=2\n", 2, "the command `exit`"),
            ("return\n", 1, "the command `return`"),
            ("echo \\\nA=1\n", 1, "a command that goes over several lines"),
            ("echo \"\nA=1\n\"\n", 1, "a command that goes over several lines"),
            ("B=$(\nA=1\n)\n", 1, "a substitution that goes over several lines"),
            ("B=`\nA=1\n`\n", 1, "a substitution that goes over several lines"),
            ("B=\"\nA=1\n", 1, "a quote that is not closed"),
            ("B=$(echo\n", 1, "a `$(` or `${` that is not closed"),
        ] {
            let found = obstacle(text).unwrap_or_else(|| panic!("nothing in {text:?}"));
            assert_eq!((found.line, found.what.as_str()), (line, what), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(\\PC|[\n`\"'$(){};<&]){0,80}") {
            let _ = obstacle(&text);
        }
    }
}
