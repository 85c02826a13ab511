//! The language in which a program makes `grub.cfg`: that of the file which it replaces.
//!
//! `util/grub.d/00_header.in` writes `set lang=` from `LANG`, and titles are translated by `LANGUAGE` and `LC_MESSAGES`. In
//! a different language, the file would differ by more than the words of the change.

use super::Place;
use super::capture::capture;
use super::tree::End;
use std::path::Path;

/// The paths of the file, if the command does not name it.
const FILES: [&str; 2] = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"];
/// The language of the system (locale.conf(5)).
const SYSTEM: [&str; 2] = ["/etc/default/locale", "/etc/locale.conf"];
/// Variables that set the language of messages, besides `LANG`.
const BESIDE: [&str; 2] = ["LANGUAGE", "LC_MESSAGES"];

/// Returns whether a word is one language or several: not a path, and not more than one word to a shell.
pub(crate) fn is_plain(word: &str) -> bool {
    let fits = |it: char| it.is_ascii_alphanumeric() || "_@.:-".contains(it);
    !word.is_empty() && word.len() <= 64 && word.chars().all(fits) && !word.contains("..")
}

/// The variables for a command, if its program makes a `grub.cfg` that was made in a language.
pub(super) fn of(place: &Place, command: &[String]) -> Vec<(&'static str, String)> {
    // Its script may be given to a shell.
    let makes = |word: &String| word.rsplit('/').next().unwrap_or_default().contains("grub");
    if !command.iter().take(2).any(makes) {
        return Vec::new();
    }
    let path = |word: &String| word.strip_prefix("--output=").unwrap_or(word).to_owned();
    let output = command.iter().skip(1).map(path);
    let mut output = output.filter(|it| it.starts_with('/') && it.ends_with(".cfg"));
    let output = output.next();
    let text = output.as_deref().into_iter().chain(FILES).find_map(|path| read(place, path));
    let made_in = text.as_deref().and_then(lang);
    let Some(made_in) = made_in else { return Vec::new() };
    let own = |name: &str| std::env::var(name).ok();
    let caller = variables(made_in, &|name| match name {
        "LC_MESSAGES" => own("LC_ALL").filter(|it| !it.is_empty()).or_else(|| own(name)),
        _ => own(name),
    });
    let system = || {
        SYSTEM.into_iter().find_map(|path| {
            let text = read(place, path)?;
            variables(made_in, &|name| assigned(&text, name))
        })
    };
    caller.or_else(system).unwrap_or_else(|| {
        let codeset = if made_in.contains('@') { "" } else { ".UTF-8" };
        vec![("LANG", format!("{made_in}{codeset}"))]
    })
}

/// The language in which a `grub.cfg` was made.
fn lang(text: &str) -> Option<&str> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("set lang="))?;
    Some(value).filter(|it| is_plain(it))
}

/// The variables of an environment with this language.
fn variables(
    made_in: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<(&'static str, String)>> {
    let lang = value("LANG").filter(|it| is_plain(it))?;
    if lang.split('.').next() != Some(made_in) {
        return None;
    }
    let beside = BESIDE.into_iter().filter_map(|name| Some((name, value(name)?)));
    let beside = beside.filter(|(_, value)| is_plain(value));
    Some(std::iter::once(("LANG", lang)).chain(beside).collect())
}

fn assigned(text: &str, name: &str) -> Option<String> {
    let value = |line: &str| line.trim().strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    let value = text.lines().rev().find_map(value)?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

fn read(place: &Place, path: &str) -> Option<String> {
    let located = place.tree().locate(Path::new(path), End::Follow).ok()?;
    let spot = place.tree().spot(&located.path).ok()??;
    Some(String::from_utf8_lossy(&capture(&spot).ok()?.1?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sysfs;

    #[test]
    fn of_is_the_language_of_the_former_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("boot/grub")).unwrap();
        std::fs::create_dir_all(dir.path().join("etc")).unwrap();
        let place = Place::at(dir.path(), Sysfs::at(dir.path())).unwrap();
        let command = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let found = |lang: &str, words: &[&str]| {
            let text = format!("if x; then\n  {lang}\n  insmod gettext\nfi\n");
            std::fs::write(dir.path().join("boot/grub/grub.cfg"), text).unwrap();
            of(&place, &command(words))
        };
        let update = ["update-grub"];
        let only = |lang: &str| vec![("LANG", lang.to_owned())];
        assert_eq!(found("set lang=sq_AL", &update), only("sq_AL.UTF-8"));
        assert_eq!(
            found("set lang=sq_AL", &["grub-mkconfig", "-o", "/boot/grub/grub.cfg"]),
            only("sq_AL.UTF-8")
        );
        assert_eq!(found("set lang=sq_AL@euro", &update), only("sq_AL@euro"));
        for none in ["set lang=../../x", "set lang=a;b", "set lang=", "set x=sq_AL"] {
            assert_eq!(found(none, &update), [], "{none}");
        }
        assert_eq!(found("set lang=sq_AL", &["zipl"]), []);
        let conf = "LANG=\"sq_AL.ISO-8859-1\"\nLANGUAGE=sq:de\nLC_MESSAGES=/tmp/x\n";
        std::fs::write(dir.path().join("etc/locale.conf"), conf).unwrap();
        let with = [("LANG", "sq_AL.ISO-8859-1".to_owned()), ("LANGUAGE", "sq:de".to_owned())];
        assert_eq!(found("set lang=sq_AL", &update), with);
        assert_eq!(found("set lang=sq_XX", &update), only("sq_XX.UTF-8"));
    }
}
