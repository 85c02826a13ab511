//! Lists of words that are looked for in every line of a text, all words of a list at once.

use aho_corasick::AhoCorasick;
use std::sync::OnceLock;

/// A list of words, each with what it stands for.
pub(crate) struct WordList<T> {
    list: fn() -> Vec<(&'static str, T)>,
    /// Built by the first question.
    built: OnceLock<Built<T>>,
}

struct Built<T> {
    words: Vec<(&'static str, T)>,
    /// `None` where the library refuses: the words are then looked for one by one.
    searcher: Option<AhoCorasick>,
}

impl<T: Copy> WordList<T> {
    pub(crate) const fn new(list: fn() -> Vec<(&'static str, T)>) -> Self {
        Self { list, built: OnceLock::new() }
    }

    /// Whether one of the words is in a text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let built = self.built();
        match &built.searcher {
            Some(searcher) => searcher.is_match(text),
            None => built.words.iter().any(|(word, _)| text.contains(word)),
        }
    }

    /// Calls a function for each word that is in a text, also for those inside of others; several times if the word is
    /// there several times.
    pub(crate) fn each_in(&self, text: &str, mut found: impl FnMut(T)) {
        let built = self.built();
        match &built.searcher {
            Some(searcher) => {
                for it in searcher.find_overlapping_iter(text) {
                    found(built.words[it.pattern().as_usize()].1);
                }
            }
            None => {
                let all = built.words.iter().filter(|(word, _)| text.contains(word));
                all.for_each(|(_, of)| found(*of));
            }
        }
    }

    fn built(&self) -> &Built<T> {
        self.built.get_or_init(|| {
            let words = (self.list)();
            let searcher = AhoCorasick::new(words.iter().map(|(word, _)| word)).ok();
            Built { words, searcher }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: [&str; 5] = ["ab", "b", "abc", "ca", "xyz"];

    fn words() -> Vec<(&'static str, usize)> {
        WORDS.into_iter().zip(0..).collect()
    }

    proptest! {
        #[test]
        fn the_words_of_a_text_are_those_that_it_has(text in "[abcxyz\u{e9} ]{0,12}") {
            let one_by_one = OnceLock::from(Built { words: words(), searcher: None });
            for built in [OnceLock::new(), one_by_one] {
                let list = WordList { list: words, built };
                let mut found = [false; 5];
                list.each_in(&text, |at| found[at] = true);
                prop_assert_eq!(found, WORDS.map(|word| text.contains(word)));
                prop_assert_eq!(list.is_in(&text), found.contains(&true));
            }
        }
    }
}
