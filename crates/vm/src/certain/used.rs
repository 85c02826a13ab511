//! The one use of a variable: in a word of the command that starts the machine, or in a word of an array that this command
//! gets whole.

use super::own::is_ordinary;
use super::script::Guard;
use super::understood::words;
use crate::sh::{Assign, Command, Value, Word};

/// The reason why an array is not edited.
pub(super) const NOT_WHOLE: &str = "which is used other than as \"${NAME[@]}\" after the program";

/// The use of a variable.
pub(super) struct Used<'s> {
    /// The command that starts the machine.
    pub(super) user: &'s Command,
    /// The words of this command, or of an array that it gets, with the one that uses the variable.
    pub(super) words: &'s [Word],
    pub(super) index: usize,
    /// The word of the command: the same, or the array.
    pub(super) at: usize,
}

impl Used<'_> {
    /// Returns the first of the words that may be an option. `program` is the place of the program in the command.
    pub(super) fn from(&self, program: usize) -> usize {
        match std::ptr::eq(self.words, self.user.words.as_slice()) {
            true => program + 1,
            false => 0,
        }
    }
}

/// Returns whether a word is all elements of an array, each as one word, and nothing but arrays are assigned to it.
pub(super) fn is_whole_array(word: &Word, assigned: &[&Assign], name: &str) -> bool {
    word.uses.len() == 1
        && word.text == format!("\u{1}${{{name}[@]}}\u{1}")
        && !word.splits
        && assigned.iter().all(|it| matches!(it.value, Value::Array(_)))
}

impl Guard<'_> {
    /// Returns the words that contain a variable.
    fn uses(&self, name: &str) -> Vec<(&Command, usize)> {
        let mut found = Vec::new();
        for command in &self.script.commands {
            for (index, word) in command.words.iter().enumerate() {
                found.extend(
                    word.uses.iter().filter(|it| it.name == name).map(|_| (command, index)),
                );
            }
        }
        found
    }

    /// Returns the one word that uses a variable: that of a command, or of an array that one command gets.
    pub(super) fn used_once(&self, command: &Command, assign: &Assign) -> Result<Used<'_>, String> {
        const MANY: &str = "which is also used in another place";
        let name = assign.name.as_str();
        let mut inside = Vec::new();
        for holder in &self.script.commands {
            for other in &holder.assigns {
                let uses = words(other).iter().enumerate().flat_map(|(index, word)| {
                    word.uses.iter().filter(|it| it.name == name).map(move |_| index)
                });
                inside.extend(uses.map(|index| (holder, other, index)));
            }
        }
        match (self.uses(name).as_slice(), inside.as_slice()) {
            ([(user, index)], []) => {
                if user.span.start < command.span.end {
                    return Err("which is used before it is assigned".to_owned());
                }
                Ok(Used { user, words: &user.words, index: *index, at: *index })
            }
            ([], [(holder, Assign { name: array, value: Value::Array(list), .. }, index)])
                if matches!(assign.value, Value::One(_)) =>
            {
                if holder.span.start < command.span.end {
                    return Err("which is used before it is assigned".to_owned());
                }
                let (user, at) = self
                    .user_of_array(holder, array)
                    .map_err(|why| format!("which is used in the array {array}, {why}"))?;
                Ok(Used { user, words: list, index: *index, at })
            }
            ([], [(_, other, _)]) if other.name != name => {
                Err(format!("which is a part of the value of {}", other.name))
            }
            _ => Err(MANY.to_owned()),
        }
    }

    /// Returns the one command that gets an array whole, and which of its words this is. `holder` assigns the array.
    fn user_of_array(&self, holder: &Command, name: &str) -> Result<(&Command, usize), String> {
        let plain = holder.words.is_empty() && holder.redirects.is_empty();
        if !plain || !holder.place.is_outermost() || !is_ordinary(name) {
            return Err("which is not assigned in a plain sequence of commands".to_owned());
        }
        let assigns = self.script.commands.iter().flat_map(|it| &it.assigns);
        let assigned: Vec<&Assign> = assigns.filter(|it| it.name == name).collect();
        let used = self.uses(name);
        let [(user, index)] = used.as_slice() else {
            return Err("which is not used exactly once".to_owned());
        };
        if self.names.get(name).copied() != Some(assigned.len() + 1)
            || user.span.start < holder.span.end
        {
            return Err("which is not used exactly once".to_owned());
        }
        match user.words.get(*index).is_some_and(|it| is_whole_array(it, &assigned, name)) {
            true => Ok((user, *index)),
            false => Err(NOT_WHOLE.to_owned()),
        }
    }
}
