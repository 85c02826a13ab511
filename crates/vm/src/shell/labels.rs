//! Labels of `case`: `-cpu|--cpu)` is a pattern, not a word of a command.

use super::Lexer;

/// The state inside the `case` of a script.
#[derive(Default)]
pub(super) struct Labels {
    /// The number of open ones.
    open: usize,
    /// Whether a label may begin, or has begun.
    awaited: bool,
    /// Brackets inside the label: `@(a|b)`.
    depth: usize,
}

impl Lexer<'_> {
    /// Called after a word: `case WORD in` opens one, `esac` closes one.
    pub(super) fn labels_behind_word(&mut self) {
        let words = self.now.words.as_slice();
        let is = |back: usize, name: &str| {
            let at = words.len().checked_sub(back);
            at.and_then(|at| words.get(at)).is_some_and(|word| word.literal() == Some(name))
        };
        if is(1, "in") && is(3, "case") {
            self.end(false);
            self.labels.open += 1;
            (self.labels.awaited, self.labels.depth) = (true, 0);
        } else if is(1, "esac") && words.len() == 1 && self.labels.open > 0 {
            self.labels.open -= 1;
            self.labels.awaited = false;
        }
    }

    /// Reads a character that ends a word, if it belongs to a label.
    pub(super) fn label(&mut self, c: char) -> bool {
        let none = self.now.words.is_empty();
        let rest = self.rest();
        if rest.starts_with(";;") || rest.starts_with(";&") {
            (self.labels.awaited, self.labels.depth) = (self.labels.open > 0, 0);
            return false;
        }
        if !self.labels.awaited {
            return false;
        }
        match c {
            '(' => self.labels.depth += usize::from(!none),
            ')' if self.labels.depth > 0 => self.labels.depth -= 1,
            ')' => {
                self.now = super::Statement::default();
                self.labels.awaited = false;
            }
            '|' if !rest.starts_with("||") => {}
            // The text is of another language.
            '\n' | '&' | '|' | ';' | '<' | '>' if !none => {
                self.labels.awaited = false;
                return false;
            }
            _ => return false,
        }
        self.skip(c);
        true
    }
}
