//! Commands that see an edit of the script without its text among their words: tests of its time (`[ "$0" -nt stamp ]`,
//! `date -r start.sh`), and checks of a signature, whose name alone implies that of the script (`gpg --verify
//! start.sh.sig`). Sources: test(1), bash(1), date(1), touch(1), find(1), gpg(1), ssh-keygen(1), cosign's documentation.

use super::itself::OWN_NAMES;
use super::tree::{Around, matches};
use crate::sh::{Command, Script, Word};
use crate::words::{base, listed};
use std::collections::HashSet;

/// Programs that check signatures.
const VERIFIERS: &str = "gpg gpg2 gpgv gpgv2 gpgsm minisign signify signify-openbsd rnp sq sqv cosign ssh-keygen openssl \
    codesign keybase bsign gitsign notation slsa-verifier";
/// File name extensions of detached signatures.
const SIGNATURES: [&str; 6] = [".sig", ".asc", ".sign", ".minisig", ".gpg", ".p7s"];
/// Operators of tests that compare the times of files; the last one has one operand.
const TIMES: &str = "-nt -ot -N";

/// Whether a command compares or takes the time of a file that it names.
pub(super) fn is_timed(command: &Command) -> bool {
    let Some(name) = command.words.first().and_then(Word::literal) else { return false };
    let has = |is: &dyn Fn(&str) -> bool| command.words.iter().any(|word| is(&word.text));
    let short = |letter: char| {
        move |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
    };
    match base(name) {
        "[" | "test" => has(&|word| listed(TIMES, word)),
        "date" | "touch" => has(&short('r')) || has(&|word| word.starts_with("--ref")),
        "find" => has(&|word| word.contains("newer") && word.starts_with('-')),
        _ => false,
    }
}

/// Whether the sign of a redirection gives a command a file as its input.
pub(super) fn is_input(sign: &str) -> bool {
    matches!(sign.trim_start_matches(|c: char| c.is_ascii_digit()), "<" | "<>")
}

/// Whether a command runs a program that checks signatures.
pub(super) fn is_verifier(command: &Command) -> bool {
    let mut names = command.words.iter().filter_map(Word::literal);
    names.any(|name| listed(VERIFIERS, base(name)))
}

/// Whether a command checks the signature of a file of this name.
pub(super) fn verifies(command: &Command, own: &str) -> bool {
    let names = |word: &Word| {
        let file = base(&word.text);
        file == own
            || file.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'))
            || file.contains('*')
                && SIGNATURES.iter().any(|it| matches(file, &format!("{own}{it}")))
    };
    is_verifier(command) && command.words.iter().any(names)
}

/// Returns the place of a test in `[[` that compares the time of the script: `[[ $0 -nt stamp ]]`.
pub(super) fn timed(
    text: &str,
    script: &Script,
    names: &HashSet<&str>,
    own: &str,
) -> Option<usize> {
    operands(script).find_map(|word| {
        let written = text.get(word.span.clone()).unwrap_or_default();
        let is = OWN_NAMES.iter().any(|mark| written.contains(mark))
            || word.uses.iter().any(|it| names.contains(it.name.as_str()))
            || word.literal().is_some_and(|it| base(it) == own);
        is.then_some(word.span.start)
    })
}

/// The operands of tests in `[[` that compare the times of files.
fn operands(script: &Script) -> impl Iterator<Item = &Word> {
    let words = &script.others;
    words.iter().enumerate().filter(|(_, word)| listed(TIMES, &word.text)).flat_map(|(at, word)| {
        let before = at.checked_sub(1).filter(|_| word.text != "-N").and_then(|at| words.get(at));
        before.into_iter().chain(words.get(at + 1))
    })
}

impl Around<'_> {
    /// Returns the place of a test in `[[` that compares the time of each file of the script's directory.
    pub(super) fn timed_each(&self) -> Option<usize> {
        let each = |word: &&Word| word.uses.iter().any(|it| self.each.contains(it.name.as_str()));
        operands(self.script).find(each).map(|word| word.span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_programs::edited;

    #[test]
    fn script_that_compares_its_own_time_is_left() {
        for lines in [
            "[ \"$0\" -nt stamp ] && X=-S\nRUN $X",
            "[ stamp -ot \"${BASH_SOURCE[0]}\" ] && X=-S\nRUN $X",
            "[ -N \"$0\" ] && X=-S\nRUN $X",
            "[[ $0 -nt stamp ]] && X=-S\nRUN $X",
            "F=$0; [ \"$F\" -nt stamp ] && X=-S\nRUN $X",
            "F=$0; [[ stamp -ot $F ]] && X=-S\nRUN $X",
            "test vm.sh -nt stamp && X=-S\nRUN $X",
            "[[ ./vm.sh -nt stamp ]] && X=-S\nRUN $X",
            "for f in *; do [ \"$f\" -nt stamp ] && X=-S; done\nRUN $X",
            "for f in *.sh; do [[ $f -nt stamp ]] && X=-S; done\nRUN $X",
            "T=$(date -r vm.sh +%s)\nRUN -name vm-$T",
            "T=$(date -u --reference=vm.sh -r vm.sh +%s)\nRUN -name vm-$T",
            "touch -r vm.sh stamp\nRUN",
            "find /srv -newer vm.sh | grep -q . || exit 1\nRUN",
        ] {
            assert!(!edited(lines), "{lines}");
        }
    }

    #[test]
    fn script_that_checks_its_own_signature_is_left() {
        for lines in [
            "ssh-keygen -Y verify -f allowed -I me -n file -s vm.sh.sig < vm.sh || exit 1\nRUN",
            "gpg --verify vm.sh.sig || exit 1\nRUN",
            "gpg --verify vm.sh.asc 2>/dev/null || exit 1\nRUN",
            "gpg2 --verify *.asc || exit 1\nRUN",
            "rnp --verify vm.sh.sig || exit 1\nRUN",
            "cosign verify-blob --key k.pub --signature vm.sig vm.sh || exit 1\nRUN",
            "S=$0.sig; sqv --keyring k \"$S\" || exit 1\nRUN",
            "look < ./vm.sh || exit 1\nRUN",
        ] {
            assert!(!edited(lines), "{lines}");
        }
    }

    #[test]
    fn script_that_checks_other_files_is_edited() {
        for lines in [
            "[ base.img -nt d.img ] && exit 1\nRUN",
            "[[ base.img -nt d.img ]] && exit 1\nRUN",
            "[[ $0 == vm.sh ]] && X=-S\nRUN $X",
            "for f in *.img; do [ \"$f\" -nt stamp ] && X=-S; done\nRUN $X",
            "T=$(date -r d.img +%s)\nRUN -name vm-$T",
            "T=$(date -d yesterday +%F)\nRUN -name vm-$T",
            "touch d.img\nRUN",
            "gpg --verify d.iso.sig d.iso || exit 1\nRUN",
            "ssh-keygen -t ed25519 -N '' -f key\nRUN",
            "ssh-keygen -Y verify -f allowed -I me -n file -s d.sig < d.img || exit 1\nRUN",
        ] {
            assert!(edited(lines), "{lines}");
        }
    }
}
