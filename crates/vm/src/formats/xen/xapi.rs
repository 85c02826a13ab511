//! Scripts that give options to a machine of XenServer or XCP-ng by `xe`. Nothing is changed in them.
//!
//! Source: xapi, ocaml/xapi/vm_platform.ml (tsc_mode: 0 to 3, as in xl.cfg); xe(1), vm-param-set, vm-param-add.

use crate::document::Document;
use crate::finding::Finding;
use crate::formats::qemu::script::expanded;
use crate::lint::Report;
use crate::parameters;
use crate::placed::Placed;
use crate::shell::{Statement, Word};
use crate::words::{base, listed};

/// Whether a statement sets parameters of a machine.
fn sets(statement: &Statement) -> bool {
    let names: Vec<&str> = statement.words.iter().filter_map(Word::literal).collect();
    let at = names.iter().position(|name| base(name) == "xe");
    at.is_some_and(|at| {
        let (before, after) = names.split_at(at);
        !before.iter().any(|name| listed("echo printf", name))
            && after.iter().any(|name| {
                listed("vm-param-set vm-param-add template-param-set template-param-add", name)
            })
    })
}

/// The options that one command gives.
#[derive(Default)]
struct Given {
    platform: Vec<(String, Placed)>,
    arguments: Option<Placed>,
}

impl Given {
    fn of(words: &[Placed]) -> Self {
        let mut given = Self::default();
        // `vm-param-add param-name=platform tsc_mode=1`.
        let map = words.iter().any(|word| word.as_str() == "param-name=platform");
        for word in words {
            let text = word.as_str();
            let Some((name, value)) = text.split_once('=') else { continue };
            let value = word.slice(text.len() - value.len()..text.len());
            match name.strip_prefix("platform:") {
                Some(name) => given.platform.push((name.to_owned(), value)),
                None if map => given.platform.push((name.to_owned(), value)),
                None if name == "PV-args" => given.arguments = Some(value),
                None => {}
            }
        }
        given
    }

    fn get(&self, name: &str) -> Option<&Placed> {
        self.platform.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

fn all(text: &str) -> Vec<Given> {
    if !text.contains("xe ") || !["tsc_mode", "PV-args"].iter().any(|name| text.contains(name)) {
        return Vec::new();
    }
    let all = expanded(text, sets).into_iter().map(|(_, words)| Given::of(&words));
    all.filter(|it| it.get("tsc_mode").is_some() || it.arguments.is_some()).collect()
}

/// Whether a text is a script that sets what affects a clock.
pub(super) fn any(text: &str) -> bool {
    !all(text).is_empty()
}

/// Judges what a script gives; `None` where it gives nothing of this.
pub(super) fn lint(document: &Document) -> Option<Report> {
    let all = all(document.text.as_str());
    if all.is_empty() {
        return None;
    }
    let mut findings = Vec::new();
    // Several commands may be about one machine.
    let stays = all.iter().any(|it| it.get("nomigrate").is_some_and(|it| it.as_str() == "true"));
    for given in &all {
        if let Some(mode) = given.get("tsc_mode") {
            let native = if stays {
                rule!("xen-invtsc-native-ok")
            } else {
                rule!("xen-native-no-nomigrate")
            };
            findings.extend(match mode.as_str() {
                "0" => Some(Finding::new(rule!("xen-tsc-default"), mode.span())),
                "1" => Some(
                    Finding::new(rule!("xen-tsc-always-emulate"), mode.span())
                        .fix("platform:tsc_mode=0"),
                ),
                "2" => Some(Finding::new(native, mode.span()).fix(
                    "platform:nomigrate=true if the machine never migrates, otherwise platform:tsc_mode=0",
                )),
                _ => None,
            });
        }
        if let Some((words, at)) = given.arguments.as_ref().and_then(|it| Some((it, it.exact()?))) {
            findings.extend(parameters::lint(words.as_str(), at.start, true));
        }
    }
    findings.iter_mut().for_each(|finding| finding.leave_edits("a script gives it to the machine"));
    let known = document.system(None, None, []);
    Some(Report::of(known, true, findings))
}
