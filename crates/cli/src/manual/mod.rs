//! Manual pages, made from the one definition of the command line ([`crate::args`]): one for the
//! program, one for each verb. What lives here: their order and form. What each verb's page says
//! beyond its options (exit codes, files) is in [`words`]. Nothing here prints or writes files.

mod words;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io::{self, Write};

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The verb with its words, such as `vm lint`; empty for the program's own page.
    pub(crate) verb: String,
    /// The name without the section, such as `clocksmith-vm-lint`.
    pub(crate) name: String,
    command: Command,
    /// Names of all pages, for SEE ALSO.
    others: Vec<String>,
}

/// All pages: the program's own first, then those of its verbs, without hidden ones.
pub(crate) fn pages() -> Vec<Page> {
    let mut program = crate::args::visible().disable_help_subcommand(true);
    // In NAME the program's name stands before it already.
    if let Some(about) = program.get_about().map(ToString::to_string) {
        program = program.about(about.trim_start_matches("clocksmith: ").to_owned());
    }
    program.build();
    let mut pages = Vec::new();
    gather(&program, "", &mut pages);
    let names: Vec<String> = pages.iter().map(|page| page.name.clone()).collect();
    for page in &mut pages {
        page.others.clone_from(&names);
    }
    pages
}

fn gather(command: &Command, verb: &str, pages: &mut Vec<Page>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    pages.push(Page { verb: verb.to_owned(), name, command: command.clone(), others: Vec::new() });
    for below in command.get_subcommands() {
        let verb = format!("{verb} {}", below.get_name());
        gather(below, verb.trim_start(), pages);
    }
}

impl Page {
    /// The page's file name: section 1, programs that users run.
    pub(crate) fn file(&self) -> String {
        format!("{}.1", self.name)
    }

    /// The page as `man` reads it (roff).
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        // Every page has the program's version, and no date: the same source gives the same page. (The
        // title of `Man` has no place for a date that is not there.)
        let (title, version) = (self.name.to_uppercase(), env!("CARGO_PKG_VERSION"));
        writeln!(out, ".TH \"{title}\" \"1\" \"\" \"clocksmith {version}\" \"clocksmith\"")?;
        let man = Man::new(self.command.clone());
        man.render_name_section(out)?;
        man.render_synopsis_section(out)?;
        man.render_description_section(out)?;
        man.render_options_section(out)?;
        if self.command.has_subcommands() {
            man.render_subcommands_section(out)?;
        }
        self.own_sections().to_writer(out)
    }

    fn own_sections(&self) -> Roff {
        let mut roff = Roff::default();
        let notes = self.command.get_after_long_help().or_else(|| self.command.get_after_help());
        if let Some(notes) = notes {
            roff.control("SH", ["NOTES"]);
            for (index, paragraph) in notes.to_string().split("\n\n").enumerate() {
                if index > 0 {
                    roff.control("PP", []);
                }
                roff.text([roman(paragraph.replace('\n', " "))]);
            }
        }
        let examples = crate::args::help::examples(&self.verb);
        list(&mut roff, "EXAMPLES", examples);
        let words = words::of(&self.verb);
        list(&mut roff, "EXIT STATUS", words.exit);
        list(&mut roff, "FILES", words.files);
        list(&mut roff, "ENVIRONMENT", words.environment);
        roff.control("SH", ["SEE ALSO"]);
        let mut line = Vec::new();
        for other in self.see_also() {
            if !line.is_empty() {
                line.push(roman(", "));
            }
            line.push(bold(other));
            line.push(roman("(1)"));
        }
        roff.text(line);
        roff
    }

    /// From the program's page all; from a verb's the program's, and those above and beside it.
    fn see_also(&self) -> Vec<&str> {
        let near = |other: &&String| {
            let family = |name: &str| name.split('-').nth(1).map(str::to_owned);
            **other != self.name
                && (self.verb.is_empty()
                    || **other == "clocksmith"
                    || family(other) == family(&self.name)
                    || words::of(&self.verb).see.iter().any(|verb| {
                        other.strip_prefix("clocksmith-").is_some_and(|name| name == *verb)
                    }))
        };
        self.others.iter().filter(near).map(String::as_str).collect()
    }
}

fn list(roff: &mut Roff, heading: &str, items: &[(&str, &str)]) {
    if items.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    for (term, meaning) in items {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn text(page: &Page) -> String {
        let mut out = Vec::new();
        page.render(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_verb_has_a_page_and_words_of_its_own() {
        let pages = pages();
        let visible = crate::args::Args::command();
        for verb in visible.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(pages.iter().any(|page| page.verb == verb.get_name()), "{}", verb.get_name());
        }
        for page in &pages {
            assert!(words::known(&page.verb), "words.rs says nothing of {:?}", page.verb);
            let text = text(page);
            for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"] {
                let line = format!(".SH {heading}");
                let quoted = format!(".SH \"{heading}\"");
                assert!(text.contains(&line) || text.contains(&quoted), "{heading}: {text}");
            }
            assert!(text.contains("EXIT STATUS"), "{text}");
            assert!(!text.contains("guard\\-clocksource"), "a hidden verb is shown");
        }
    }

    #[test]
    fn words_name_only_verbs_that_exist() {
        let pages = pages();
        for verb in words::verbs() {
            assert!(pages.iter().any(|page| page.verb == verb), "there is no verb {verb:?}");
            for see in words::of(verb).see {
                let name = format!("clocksmith-{see}");
                assert!(pages.iter().any(|page| page.name == name), "there is no page {name}");
            }
        }
    }

    #[test]
    fn a_page_is_the_same_each_time() {
        let twice = || pages().iter().map(text).collect::<String>();
        assert_eq!(twice(), twice());
    }
}
