//! Manual pages, made from the one definition of the command line ([`crate::args`]): one for the program, one for each
//! verb. This module has their order and form. The text of each verb's page besides its options (exit codes, files) is
//! in [`words`]. Nothing here prints or writes files.

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
    // NAME begins with the program's name.
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
    /// Returns the errors of `out`.
    pub(crate) fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        // Every page has the program's version, and no date: the same source gives the same page. (The title of `Man`
        // cannot leave out the date.)
        let (title, version) = (self.name.to_uppercase(), env!("CARGO_PKG_VERSION"));
        writeln!(out, ".TH \"{title}\" \"1\" \"\" \"clocksmith {version}\" \"clocksmith\"")?;
        let man = Man::new(self.command.clone());
        let mut text = Vec::new();
        man.render_name_section(&mut text)?;
        self.first_sections().to_writer(&mut text)?;
        man.render_options_section(&mut text)?;
        if self.command.has_subcommands() {
            man.render_subcommands_section(&mut text)?;
        }
        self.last_sections().to_writer(&mut text)?;
        out.write_all(&code_in_bold(&text))
    }

    /// SYNOPSIS as in the help, where the values of options are, and DESCRIPTION with the notes of the help.
    fn first_sections(&self) -> Roff {
        let mut roff = Roff::default();
        roff.control("SH", ["SYNOPSIS"]);
        let usage = self.command.clone().render_usage().to_string();
        let usage =
            usage.trim_start_matches("Usage:").split_whitespace().collect::<Vec<_>>().join(" ");
        roff.text([roman(usage)]);
        roff.control("SH", ["DESCRIPTION"]);
        let about = self.command.get_about().map(|about| format!("{about}."));
        let long = self.command.get_long_about().map(ToString::to_string);
        let notes = self.command.get_after_long_help().or_else(|| self.command.get_after_help());
        let texts = long.or(about).into_iter().chain(notes.map(ToString::to_string));
        let texts = texts.collect::<Vec<_>>().join("\n\n");
        for (index, paragraph) in texts.split("\n\n").enumerate() {
            if index > 0 {
                roff.control("PP", []);
            }
            roff.text([roman(paragraph.replace('\n', " "))]);
        }
        roff
    }

    fn last_sections(&self) -> Roff {
        let mut roff = Roff::default();
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

    /// Returns the related pages: from the program's page all; from a verb's the program's, and its parent and
    /// siblings.
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

/// Returns a page in which text in backticks is bold, as manual pages show words to type.
fn code_in_bold(page: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(page);
    let lines = text.split_inclusive('\n').map(|line| {
        let parts: Vec<&str> = line.split('`').collect();
        // A backtick without its partner is a character of the text.
        if parts.len().is_multiple_of(2) {
            return line.to_owned();
        }
        let parts = parts.iter().enumerate();
        parts
            .map(
                |(at, part)| {
                    if at % 2 == 0 { (*part).to_owned() } else { format!("\\fB{part}\\fR") }
                },
            )
            .collect()
    });
    lines.collect::<String>().into_bytes()
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
    fn synopsis_has_values_and_description_has_the_notes() {
        let all = pages();
        let of = |verb: &str| text(all.iter().find(|page| page.verb == verb).unwrap());
        assert!(
            of("verify").contains(".SH SYNOPSIS\nclocksmith verify [OPTIONS]\n"),
            "{}",
            of("verify")
        );
        assert!(of("completions").contains("clocksmith completions <SHELL>\n"));
        let watch = of("watch");
        let (begin, options) =
            (watch.find("SIGTERM ends").unwrap(), watch.find(".SH OPTIONS").unwrap());
        assert!(begin < options, "{watch}");
        assert!(!watch.contains("NOTES"));
    }

    #[test]
    fn code_is_in_bold_and_not_in_backticks() {
        for page in pages() {
            let text = text(&page);
            assert!(!text.contains('`'), "{}: {text}", page.name);
        }
        assert_eq!(
            code_in_bold(b"see `why -` and `x`\na ` b\n"),
            b"see \\fBwhy -\\fR and \\fBx\\fR\na ` b\n"
        );
    }

    #[test]
    fn a_page_is_the_same_each_time() {
        let twice = || pages().iter().map(text).collect::<String>();
        assert_eq!(twice(), twice());
    }
}
