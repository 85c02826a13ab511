//! Cloud Hypervisor: the configuration of a machine (`vm.create`), and scripts that start it.
//!
//! Kernel parameters are judged by [`crate::parameters`].

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::firecracker::{boot_args, script};
use crate::formats::qemu::confidential::Trust;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::guest::Known;
use crate::inner::{given, together, written};
use crate::json;
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::shell::{self, Programs, Statement, Word, statements};
use crate::words::{base, here_documents, listed, only_named};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "cloud-hypervisor",
    files: "Cloud Hypervisor",
    sample: ("vm.json", "{\"cpus\": {\"boot_vcpus\": 2}, \"payload\": {\"cmdline\": \"notsc\"}}"),
    rules: rules!("cloud_hypervisor"),
    detect,
    lint,
    limits: Limits { script: true, doubtful: limits::json, ..Limits::PLAIN },
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = ["boot_vcpus", "max_vcpus"].iter().any(|key| clues.quotes(key));
    if keys || (clues.quotes("payload") && clues.quotes("cpus")) {
        return Some(Sign::Json);
    }
    let text = clues.text;
    let starts = text.contains(PROGRAM) && !commands(text).is_empty();
    let written = || here_documents(text).into_iter().any(|it| text.get(it).is_some_and(is_json));
    if starts || text.contains("boot_vcpus") && written() {
        return Some(Sign::Words);
    }
    (!requests(text).is_empty()).then_some(Sign::Part)
}

/// The path of the request that creates a machine.
const CREATE: &str = "/api/v1/vm.create";

/// The configurations in single quotes that a script sends by `curl`.
fn requests(text: &str) -> Vec<Range<usize>> {
    if !text.contains(CREATE) {
        return Vec::new();
    }
    let body = |word: &Word| {
        let inside = text.get(word.span.clone())?.strip_prefix('\'')?.strip_suffix('\'')?;
        is_json(inside).then(|| word.span.start + 1..word.span.end - 1)
    };
    statements(text).iter().flat_map(|it| &it.words).filter_map(body).collect()
}

/// Whether a text is the configuration of a machine.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"boot_vcpus\"")
}

/// The program, and the beginning of the name of its static build.
const PROGRAM: &str = "cloud-hypervisor";
/// The limit of strings that are read as command lines.
const MOST_STRINGS: usize = 16;
/// Options of a start.
const OPTIONS: &str =
    "--kernel --firmware --cpus --memory --disk --cmdline --initramfs --restore --api-socket --net";

fn is_program(word: &str) -> bool {
    // `nix run nixpkgs#cloud-hypervisor -- --kernel ...`
    let name = base(word);
    let name = name.rsplit('#').next().unwrap_or(name);
    matches!(name, PROGRAM | "cloud-hypervisor-static")
}

/// Returns a command line in quotes, `sh -c "..."` or a string of Nix, with blanks before it, so that places do not
/// change.
fn quoted(text: &str, word: &Word) -> Option<String> {
    let source = text.get(word.span.clone())?;
    let quote = source.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = source.strip_prefix(quote)?.strip_suffix(quote)?;
    let may = inner.contains(PROGRAM) && inner.contains(' ');
    may.then(|| format!("{}{inner}", " ".repeat(word.span.start + 1)))
}

/// The statements that start it.
fn commands(text: &str) -> Vec<Statement> {
    let mut statements = statements(text);
    let inside = statements.iter().flat_map(|it| &it.words).filter_map(|word| quoted(text, word));
    let inside: Vec<_> =
        inside.take(MOST_STRINGS).flat_map(|string| shell::statements(&string)).collect();
    statements.extend(inside);
    let programs = Programs::of(&statements, is_program);
    let starts = |statement: &Statement| {
        let names: Vec<&str> =
            statement.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
        let program = statement.words.iter().position(|word| programs.named(word));
        program.is_some_and(|first| {
            let (before, options) = names.split_at(first);
            let option = |word: &&str| listed(OPTIONS, word.split('=').next().unwrap_or(word));
            !only_named(before.iter().copied()) && options.iter().any(option)
        })
    };
    statements.iter().filter(|statement| starts(statement)).cloned().collect()
}

/// Reports Hyper-V's interface, which a command line requests.
fn hyperv(text: &str) -> Vec<Finding> {
    let of = |statement: &Statement| {
        let said = |word: &Word, what: &str| {
            word.literal().is_some_and(|text| text.split([',', '=']).any(|part| part == what))
        };
        let asks = |word: &&Word| {
            word.literal().is_some_and(|text| {
                let list = text.strip_prefix("--cpus=").unwrap_or(text);
                list.split(',').any(|part| part == "kvm_hyperv=on")
            })
        };
        let at = statement.words.iter().find(asks)?.span.clone();
        // `--cmdline` is used only with a Linux kernel.
        let linux = statement.words.iter().any(|word| said(word, "--cmdline"));
        Some(if linux {
            Finding::new(rule!("ch-kvm-hyperv-linux"), at).fix("leave kvm_hyperv=on out")
        } else {
            Finding::new(rule!("ch-kvm-hyperv-ok"), at)
        })
    };
    commands(text).iter().filter_map(of).collect()
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut findings = Vec::new();
    if !json::begins(text) {
        // A script that starts it, or uses its socket.
        findings.extend(script(document));
        findings.extend(restore(document));
        findings.extend(hyperv(text));
        let made = written(document, Kind::CloudHypervisor, is_json);
        let sent = given(document, Kind::CloudHypervisor, requests(text).into_iter());
        let made = together(made.into_iter().chain(sent));
        let guest = made.as_ref().map_or(Guest::Unknown, |made| made.guest);
        let known = |it: &Finding| {
            findings.iter().any(|one| one.rule.id == it.rule.id && one.span.start == it.span.start)
        };
        let mut made = made.map_or_else(Vec::new, |made| made.findings);
        made.retain(|it| !known(it));
        findings.extend(made);
        trusted(trust_of_commands(text), &mut findings);
        return Ok(Report::of(Known::declared(guest), true, findings));
    }
    let json = json::read(document)?;
    for leaf in
        json.leaves.iter().filter(|leaf| leaf.ends(&["cmdline"]) || leaf.ends(&["cmdline", "args"]))
    {
        boot_args(&json, leaf, &mut findings);
    }
    let said = |path: &[&str]| json.at(path).and_then(|leaf| json.text.get(leaf.span.clone()));
    // A kernel command line is used only with a Linux kernel that is started without firmware.
    let linux = json.leaves.iter().any(|leaf| {
        (leaf.ends(&["payload", "cmdline"]) || leaf.ends(&["cmdline", "args"]))
            && json.plain(leaf).is_none_or(|(text, _)| !text.is_empty())
    });
    let guest = if linux { Guest::Linux } else { Guest::Unknown };
    if let Some(leaf) = json.at(&["cpus", "kvm_hyperv"])
        && said(&["cpus", "kvm_hyperv"]) == Some("true")
    {
        findings.push(if linux {
            Finding::new(rule!("ch-kvm-hyperv-linux"), leaf.span.clone())
                .fix("\"kvm_hyperv\": false")
                .edit(leaf.span.clone(), "false")
        } else {
            Finding::new(rule!("ch-kvm-hyperv-ok"), leaf.span.clone())
        });
    }
    let on = |key: &str| said(&["platform", key]) == Some("true");
    trusted(trust(on("tdx"), on("sev_snp")), &mut findings);
    let number = |path: &[&str]| said(path).and_then(|text| text.parse::<u64>().ok());
    if let (Some(boot), Some(most)) =
        (number(&["cpus", "boot_vcpus"]), number(&["cpus", "max_vcpus"]))
        && most > boot
        && let Some(leaf) = json.at(&["cpus", "max_vcpus"])
    {
        findings.push(Finding::new(rule!("ch-vcpu-hotplug"), leaf.span.clone()));
    }
    Ok(Report::of(Known::declared(guest), json.value.get("payload").is_none(), findings))
}

/// Returns what is known of the TSC of a guest (`--platform tdx=on`, `sev_snp=on`; vmm/src/vm_config.rs, PlatformConfig).
fn trust(tdx: bool, snp: bool) -> Trust {
    match (tdx, snp) {
        (true, _) => Trust::Given,
        (false, true) => Trust::Open,
        (false, false) => Trust::Tested,
    }
}

/// Returns the same for all starts of a script.
fn trust_of_commands(text: &str) -> Trust {
    let all = commands(text);
    let has = |statement: &Statement, wanted: &str| {
        let mut lists = statement.words.iter().filter_map(Word::literal);
        lists.any(|list| {
            list.strip_prefix("--platform=").unwrap_or(list).split(',').any(|it| it == wanted)
        })
    };
    let every = |wanted: &str| !all.is_empty() && all.iter().all(|it| has(it, wanted));
    trust(every("tdx=on"), every("sev_snp=on"))
}

/// Omits what is said of parameters that are right where the host cannot change the guest's TSC.
fn trusted(trust: Trust, findings: &mut Vec<Finding>) {
    let about =
        |it: &Finding| matches!(it.rule.id, "cmdline-no-kvmclock" | "persist-tsc-reliable-blanket");
    match trust {
        Trust::Tested => {}
        Trust::Open => findings.iter_mut().filter(|it| about(it)).for_each(|finding| {
            finding.severity = Severity::Info;
        }),
        Trust::Given => findings.retain(|it| !about(it)),
    }
}

/// A start from a snapshot, in a script.
fn restore(document: &Document) -> Option<Finding> {
    let mut statements = crate::words::statements(document.text.as_str()).into_iter();
    statements.find_map(|(base, line)| {
        let of_it = line.contains("cloud-hypervisor") || line.contains("ch-remote");
        let place = ["--restore", " restore source_url="]
            .iter()
            .find_map(|word| Some(line.find(word)?..line.find(word)? + word.len()))?;
        let written = of_it && !line.trim_start().starts_with('#');
        let span = base + place.start..base + place.end;
        written.then(|| Finding::new(rule!("ch-restore-wall-clock"), span))
    })
}
