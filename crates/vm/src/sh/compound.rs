//! Compound commands: branches, loops, tests and functions.

use super::grammar::Reader;
use super::{Nesting, Obstacle, Word};

impl Reader<'_> {
    pub(super) fn branches(&mut self) -> Result<(), Obstacle> {
        self.at_place(|place| place.condition = true, |it| it.list(&["then"]))?;
        let inside = |place: &mut Nesting| place.branch = true;
        loop {
            match self.at_place(inside, |it| it.list(&["elif", "else", "fi"]))? {
                "elif" => {
                    let change =
                        |place: &mut Nesting| (place.branch, place.condition) = (true, true);
                    self.at_place(change, |it| it.list(&["then"]))?;
                }
                "else" => {
                    self.at_place(inside, |it| it.list(&["fi"]))?;
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    /// Reads the body of a loop, after `do`.
    pub(super) fn body(&mut self, branch: bool) -> Result<(), Obstacle> {
        let change = |place: &mut Nesting| {
            place.looped = true;
            place.branch |= branch;
        };
        self.at_place(change, |it| it.list(&["done"]))?;
        Ok(())
    }

    pub(super) fn for_each(&mut self) -> Result<(), Obstacle> {
        self.blanks();
        if self.eat("((") {
            self.arithmetic()?;
            self.blanks();
            self.eat(";");
        } else {
            let word = self.word(false)?;
            self.script.others.push(word);
            self.lines()?;
            if self.plain() == "in" {
                self.at += 2;
                loop {
                    self.blanks();
                    if matches!(self.peek(), Some(';' | '\n') | None) {
                        break;
                    }
                    let word = self.some_word()?;
                    self.script.others.push(word);
                }
            }
            self.eat(";");
        }
        self.reserved("do")?;
        self.body(false)
    }

    pub(super) fn case(&mut self) -> Result<(), Obstacle> {
        self.blanks();
        let word = self.some_word()?;
        self.script.others.push(word);
        self.reserved("in")?;
        loop {
            self.lines()?;
            if self.plain() == "esac" {
                self.at += 4;
                return Ok(());
            }
            self.eat("(");
            loop {
                self.blanks();
                let word = self.some_word()?;
                self.script.others.push(word);
                self.blanks();
                if self.eat(")") {
                    break;
                }
                if !self.eat("|") {
                    return Err(self.obstacle("a pattern of `case` that is not understood"));
                }
            }
            let ends = [";;&", ";;", ";&", "esac"];
            if self.at_place(|place| place.branch = true, |it| it.list(&ends))? == "esac" {
                return Ok(());
            }
        }
    }

    /// Reads a test, after `[[`.
    pub(super) fn test(&mut self) -> Result<(), Obstacle> {
        let mut regex = false;
        loop {
            self.lines()?;
            if self.plain() == "]]" {
                self.at += 2;
                return Ok(());
            }
            match self.peek() {
                None => return Err(self.obstacle("`[[` without `]]`")),
                Some('(' | ')' | '<' | '>' | '&' | '|') if !regex => self.at += 1,
                Some(';') => return Err(self.obstacle("`;` in `[[`")),
                Some(_) => {
                    let word = if regex { self.word(true)? } else { self.some_word()? };
                    regex = word.text == "=~";
                    self.script.others.push(word);
                }
            }
        }
    }

    pub(super) fn some_word(&mut self) -> Result<Word, Obstacle> {
        let word = self.word(false)?;
        if word.span.is_empty() {
            Err(self.obstacle("something else where a word belongs"))
        } else {
            Ok(word)
        }
    }

    /// The body of a function.
    pub(super) fn define(&mut self, name: String) -> Result<(), Obstacle> {
        self.script.functions.push(name);
        self.lines()?;
        self.deeper()?;
        // It is not known whether it is called, and from where.
        let simple = self.at_place(|place| place.function = true, Self::command)?;
        self.shallower();
        if simple.is_some() { Err(self.obstacle("a function without brackets")) } else { Ok(()) }
    }
}
