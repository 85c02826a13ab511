//! Lists, pipelines, compound commands and simple commands.

use super::remark::{does_nothing, finish};
use super::torn::torn;
use super::word::ends;
use super::{Assign, Command, Input, Nesting, Obstacle, Script, Value, Word};
use crate::shell::name_length;
use std::ops::Range;

/// The limit of nesting; a script by a person is not deeper.
const DEEPEST: usize = 60;

/// Commands after whose arguments a bracket may begin an array.
const DECLARES: [&str; 5] = ["local", "declare", "typeset", "export", "readonly"];

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: usize,
    place: Nesting,
    /// Delimiters of here-documents that begin after this line, and whether tabs before them are removed.
    pending: Vec<(String, bool)>,
    pub(super) script: Script,
}

/// An element of a list: its place, and its command if it is a single simple one.
struct Element {
    span: Range<usize>,
    command: Option<usize>,
}

pub(super) fn read(text: &str) -> Result<Script, Obstacle> {
    let odd = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{feff}';
    if let Some(at) = text.find(odd) {
        let what = if text.get(at..).is_some_and(|rest| rest.starts_with('\r')) {
            "a carriage return (line ends of another system)"
        } else {
            "a control character"
        };
        return Err(Obstacle { at, what: what.to_owned() });
    }
    if let Some(at) = torn(text) {
        let what = "an operator or an expansion that a continued line divides";
        return Err(Obstacle { at, what: what.to_owned() });
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        place: Nesting::default(),
        pending: Vec::new(),
        script: Script::default(),
    };
    reader.list(&[""])?;
    let mut script = reader.script;
    script.commands.sort_by_key(|command| (command.span.start, usize::MAX - command.span.end));
    script.documents.sort_by_key(|document| document.start);
    finish(text, &mut script);
    Ok(script)
}

impl<'a> Reader<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn obstacle(&self, what: &str) -> Obstacle {
        Obstacle { at: self.at.min(self.text.len()), what: what.to_owned() }
    }

    pub(super) fn deeper(&mut self) -> Result<(), Obstacle> {
        self.depth += 1;
        if self.depth > DEEPEST {
            Err(self.obstacle("something that is nested too deeply"))
        } else {
            Ok(())
        }
    }

    pub(super) fn shallower(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        self.at += if there { text.len() } else { 0 };
        there
    }

    /// Skips blanks, line continuations and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some('#') if self.begins() => {
                    let start = self.at;
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                    self.script.comments.push(start..self.at);
                }
                _ => return,
            }
        }
    }

    /// Whether a word would begin here.
    fn begins(&self) -> bool {
        self.text.get(..self.at).and_then(|before| before.chars().next_back()).is_none_or(ends)
    }

    /// Skips blanks, comments, ends of lines and the here-documents after them.
    pub(super) fn lines(&mut self) -> Result<(), Obstacle> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn newline(&mut self) -> Result<(), Obstacle> {
        self.at += 1;
        for (name, tabs) in std::mem::take(&mut self.pending) {
            let start = self.at;
            let mut continued = false;
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    return Err(self.obstacle("a here-document without its end"));
                }
                let line = rest.split('\n').next().unwrap_or_default();
                let last = line.len() == rest.len();
                self.at += line.len() + usize::from(!last);
                let line = if tabs { line.trim_start_matches('\t') } else { line };
                // Lines are joined before the end is searched, unless the delimiter is quoted.
                let joined = line.strip_suffix('\\');
                let end = line == name;
                if (end && continued) || joined.is_some_and(|part| name.starts_with(part)) {
                    return Err(self.obstacle("a here-document whose end may be a continued line"));
                }
                continued = joined.is_some();
                if end {
                    break;
                }
                if last {
                    return Err(self.obstacle("a here-document without its end"));
                }
            }
            self.script.documents.push(start..self.at);
        }
        Ok(())
    }

    /// Returns the word here, if it is plain, as a reserved word is.
    pub(super) fn plain(&self) -> &'a str {
        let rest = self.rest();
        rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default()
    }

    /// Reads a reserved word.
    pub(super) fn reserved(&mut self, word: &str) -> Result<(), Obstacle> {
        self.lines()?;
        if self.plain() != word {
            return Err(self.obstacle(&format!("something else where `{word}` belongs")));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads commands up to and including one of these ends.
    pub(super) fn list(&mut self, until: &[&'static str]) -> Result<&'static str, Obstacle> {
        self.deeper()?;
        let mut elements: Vec<Element> = Vec::new();
        let end = loop {
            self.lines()?;
            if self.peek().is_none() {
                let fits = until.contains(&"") && self.pending.is_empty();
                break if fits {
                    ""
                } else {
                    return Err(self.obstacle("an end in the middle of a command"));
                };
            }
            let here = self.plain();
            let operator =
                [")", ";;&", ";;", ";&"].into_iter().find(|it| self.rest().starts_with(it));
            let found = until.iter().find(|end| {
                !end.is_empty()
                    && (operator == Some(**end) || (operator.is_none() && here == **end))
            });
            if let Some(end) = found {
                self.at += end.len();
                break end;
            }
            let element = self.and_or()?;
            elements.push(element);
            self.blanks();
            match self.peek() {
                Some('&') if !self.rest().starts_with("&&") => {
                    self.at += 1;
                    if let Some(last) = elements.last_mut() {
                        last.command = None;
                    }
                }
                Some(';') if !self.rest().starts_with(";;") && !self.rest().starts_with(";&") => {
                    self.at += 1
                }
                Some('\n' | ')' | ';') | None => {}
                _ => return Err(self.obstacle("something that is not understood")),
            }
        };
        for (index, element) in elements.iter().enumerate() {
            let next = elements.get(index + 1).map(|next| next.span.clone());
            if let (Some(command), Some(next)) = (element.command, next)
                && let Some(command) = self.script.commands.get_mut(command)
            {
                command.next = Some(next);
            }
        }
        self.shallower();
        Ok(end)
    }

    fn and_or(&mut self) -> Result<Element, Obstacle> {
        let start = self.at;
        let place = self.place;
        let mut command = self.pipeline()?;
        loop {
            self.blanks();
            if !(self.eat("&&") || self.eat("||")) {
                break;
            }
            command = None;
            self.lines()?;
            self.place.branch = true;
            self.pipeline()?;
        }
        self.place = place;
        Ok(Element { span: start..self.at, command })
    }

    fn pipeline(&mut self) -> Result<Option<usize>, Obstacle> {
        let mut alone = true;
        while matches!(self.plain(), "!" | "time") {
            alone = false;
            self.at += self.plain().len();
            self.blanks();
        }
        let first = self.script.commands.len();
        let place = self.place;
        let start = self.at;
        let mut command = self.command()?;
        loop {
            self.blanks();
            let end = self.at;
            if self.rest().starts_with("||") || !(self.eat("|&") || self.eat("|")) {
                break;
            }
            alone = false;
            self.lines()?;
            let fed = self.script.commands.len();
            self.command()?;
            self.feed(fed, &Input::Pipe(start..end));
        }
        if !alone {
            command = None;
            let all = self.script.commands.get_mut(first..).unwrap_or_default();
            all.iter_mut().for_each(|command| command.place.apart = true);
        }
        self.place = place;
        Ok(command)
    }

    /// Sets the input of all commands, from this one on, that have none.
    fn feed(&mut self, first: usize, input: &Input) {
        let fed = self.script.commands.get_mut(first..).unwrap_or_default();
        for command in fed.iter_mut().filter(|command| command.input.is_none()) {
            command.input = Some(input.clone());
        }
    }

    /// Reads with another value of `place`.
    pub(super) fn at_place<T>(
        &mut self,
        change: impl FnOnce(&mut Nesting),
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.place;
        change(&mut self.place);
        let out = read(self);
        self.place = before;
        out
    }

    /// Reads a command; returns its index if it is a simple one.
    pub(super) fn command(&mut self) -> Result<Option<usize>, Obstacle> {
        let word = self.plain();
        let first = self.script.commands.len();
        match word {
            "" if self.rest().starts_with("((") => {
                self.at += 2;
                self.arithmetic()?;
            }
            "" if self.rest().starts_with('(') => {
                self.at += 1;
                self.at_place(|place| place.apart = true, |it| it.list(&[")"]))?;
            }
            "{" => {
                self.at += 1;
                self.list(&["}"])?;
            }
            "if" => {
                self.at += 2;
                self.branches()?;
            }
            "while" | "until" => {
                self.at += word.len();
                self.at_place(|place| place.condition = true, |it| it.list(&["do"]))?;
                self.body(true)?;
            }
            "for" | "select" => {
                self.at += word.len();
                self.for_each()?;
            }
            "case" => {
                self.at += 4;
                self.case()?;
            }
            "[[" => {
                self.at += 2;
                self.test()?;
            }
            "function" => {
                self.at += 8;
                self.blanks();
                let name = self.plain().to_owned();
                self.at += name.len();
                self.blanks();
                if self.eat("(") {
                    self.blanks();
                    if !self.eat(")") {
                        return Err(self.obstacle("a function with parameters"));
                    }
                }
                self.define(name)?;
                return Ok(None);
            }
            "coproc" => return Err(self.obstacle("`coproc`")),
            "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}" | "in" | "]]" => {
                return Err(self.obstacle(&format!("`{word}` where no such word belongs")));
            }
            _ => return self.simple(),
        }
        // Redirections of the whole command.
        while let Some((operator, word)) = self.redirection()? {
            if let Some(input) = input(&operator, word) {
                self.feed(first, &input);
            }
        }
        Ok(None)
    }

    /// `$(` was read except for its bracket.
    pub(super) fn substitution(&mut self) -> Result<(), Obstacle> {
        self.at += 1;
        let pending = std::mem::take(&mut self.pending);
        self.at_place(|place| place.substitution = true, |it| it.list(&[")"]))?;
        if !self.pending.is_empty() {
            return Err(self.obstacle("a here-document in a command substitution"));
        }
        self.pending = pending;
        Ok(())
    }

    /// A redirection, if there is one.
    fn redirection(&mut self) -> Result<Option<(String, Word)>, Obstacle> {
        self.blanks();
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        let process = self.rest().starts_with("<(") || self.rest().starts_with(">(");
        let named = self.rest().starts_with("&>");
        if process || !(self.rest().starts_with(['<', '>']) || (named && digits == 0)) {
            self.at = start;
            return Ok(None);
        }
        let here = self.rest().starts_with("<<") && !self.rest().starts_with("<<<");
        for operator in ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "&>>", "&>"] {
            if self.eat(operator) {
                break;
            }
        }
        let operator = self.slice(start).to_owned();
        self.blanks();
        let word = self.some_word()?;
        if here {
            if word.expands || word.lines {
                return Err(self.obstacle("a here-document with an odd delimiter"));
            }
            self.pending.push((word.text.clone(), operator.ends_with('-')));
        }
        Ok(Some((operator, word)))
    }

    fn simple(&mut self) -> Result<Option<usize>, Obstacle> {
        let start = self.at;
        let mut command = Command { place: self.place, ..Command::default() };
        let mut end = start;
        loop {
            if let Some((operator, word)) = self.redirection()? {
                command.input = input(&operator, word.clone()).or(command.input);
                command.redirects.push((operator, word));
                end = self.at;
                continue;
            }
            let Some(c) = self.peek() else { break };
            let process = self.rest().starts_with("<(") || self.rest().starts_with(">(");
            if c == '(' {
                let function = command.assigns.is_empty() && command.redirects.is_empty();
                if let ([name], true) = (command.words.as_slice(), function) {
                    let name = name.literal().unwrap_or_default().to_owned();
                    self.at += 1;
                    self.blanks();
                    if name.is_empty() || !self.eat(")") {
                        return Err(self.obstacle("a bracket that is not understood"));
                    }
                    self.define(name)?;
                    return Ok(None);
                }
                return Err(self.obstacle("a bracket that is not understood"));
            }
            if ends(c) && !process {
                break;
            }
            if let Some(assign) = self.assignment(&command)? {
                command.assigns.push(assign);
            } else {
                let word = self.some_word()?;
                let source = self.text.get(word.span.clone()).unwrap_or_default();
                // After joining it may be a reserved word or an assignment.
                if command.words.is_empty() && source.contains("\\\n") {
                    return Err(self.obstacle("a command's name that a continued line divides"));
                }
                command.words.push(word);
            }
            end = self.at;
        }
        if end == start {
            return Err(self.obstacle("something that is not understood"));
        }
        command.span = start..end;
        if does_nothing(&command) {
            self.script.comments.push(start..end);
        }
        self.script.commands.push(command);
        Ok(Some(self.script.commands.len() - 1))
    }

    /// `NAME=value`, `NAME+=value`, `NAME=(words)` and `NAME+=(words)`.
    fn assignment(&mut self, command: &Command) -> Result<Option<Assign>, Obstacle> {
        let declares = command
            .words
            .first()
            .and_then(Word::literal)
            .is_some_and(|name| DECLARES.contains(&name));
        if !command.words.is_empty() && !declares {
            return Ok(None);
        }
        let rest = self.rest();
        let length = name_length(rest);
        let tail = rest.get(length..).unwrap_or_default();
        let append = tail.starts_with("+=");
        if length == 0 || !(append || tail.starts_with('=')) {
            return Ok(None);
        }
        let name = rest.get(..length).unwrap_or_default().to_owned();
        self.at += length + 1 + usize::from(append);
        if !self.eat("(") {
            let word = self.word(false)?;
            return Ok(Some(Assign { name, append, value: Value::One(word) }));
        }
        let mut words = Vec::new();
        loop {
            self.lines()?;
            if self.eat(")") {
                return Ok(Some(Assign { name, append, value: Value::Array(words) }));
            }
            words.push(self.some_word()?);
        }
    }
}

/// Returns the input that a redirection sets.
fn input(operator: &str, word: Word) -> Option<Input> {
    match operator.trim_start_matches('0') {
        "<" | "<>" => Some(Input::File(word)),
        "<<<" => Some(Input::Text(word)),
        _ => None,
    }
}
