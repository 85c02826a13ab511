//! Commands that compute a sum of a directory, or copy or list its files by their text, size or time: `nix-hash .`,
//! `mtree -p .`, `rsync -n ./ copy`, `ls | cpio -o`. They complete those of [`super::tree`].

use super::signed::is_timed;
use super::tree::{Around, is_used};
use crate::sh::{Command, Word};

impl Around<'_> {
    /// Returns a description of what a command computes from the files of the script's directory.
    pub(super) fn summed(
        &self,
        command: &Command,
        name: &str,
        arguments: &[Word],
        here: &dyn Fn() -> bool,
    ) -> Option<String> {
        let short = |letters: &[char]| {
            let option = |word: &&Word| word.text.starts_with('-') && !word.text.starts_with("--");
            arguments.iter().filter(option).any(|word| word.text.contains(letters))
        };
        let asks = |names: &[&str]| arguments.iter().any(|it| names.contains(&it.text.as_str()));
        let plain = |word: &&Word| !word.text.starts_with('-');
        let seen = match name {
            "nix-hash" | "hashdeep" | "md5deep" | "sha1deep" | "sha256deep" | "rhash"
            | "dirhash" => self.taken(arguments),
            "nix" => asks(&["hash", "hash-path"]) && self.taken(arguments),
            "mtree" => !asks(&["-p"]) || self.taken(arguments),
            // All words but the last one are what is copied.
            "rsync" => {
                let words: Vec<Word> = arguments.iter().filter(plain).cloned().collect();
                let copied = words.split_last().map_or(&[][..], |(_, copied)| copied);
                is_used(command) && self.taken(copied)
            }
            "cpio" => (short(&['o', 'p']) || asks(&["--create"])) && self.is_fed(command),
            "pax" => short(&['w']) && (self.taken(arguments) || self.is_fed(command)),
            "tree" => {
                is_used(command)
                    && (short(&['s', 'h', 'D']) || asks(&["--du"]))
                    && self.reached(arguments)
            }
            "[" | "test" | "date" | "touch" => is_timed(command) && self.named(arguments),
            _ => false,
        };
        (seen && here()).then(|| format!("{name} looks at the files of a directory"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_programs::edited;

    #[test]
    fn script_whose_directory_is_summed_is_left() {
        for lines in [
            "N=$(nix-hash .)\nRUN -name vm-$N",
            "mtree -p . -f spec || exit 1\nRUN",
            "mtree -f spec || exit 1\nRUN",
            "[ -z \"$(rsync -rcn --out-format=%n ./ /usr/share/vm/)\" ] || exit 1\nRUN",
            "ls | cpio -o > out.cpio\nRUN",
            "pax -w . > out.pax\nRUN",
            "N=$(tree -sD .)\nRUN",
        ] {
            assert!(!edited(lines), "{lines}");
        }
    }

    #[test]
    fn script_whose_other_directories_are_summed_is_edited() {
        for lines in [
            "N=$(nix-hash images)\nRUN",
            "mtree -p /usr/share -f spec || exit 1\nRUN",
            "rsync -a ./ host:/srv/vm/\nRUN",
            "rsync -a host:/srv/vm/ . | tee log\nRUN",
            "(cd root && find . | cpio -o -H newc > ../initrd)\nRUN",
            "cd root\nfind . | cpio -o -H newc > ../initrd\ncd ..\nRUN",
            "tree -s .\nRUN",
        ] {
            assert!(edited(lines), "{lines}");
        }
    }
}
