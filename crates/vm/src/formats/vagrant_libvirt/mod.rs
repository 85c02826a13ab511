//! Vagrantfiles for the libvirt provider. They are translated to a libvirt domain, which is checked.
//!
//! Only lines of settings are read, not Ruby code. A setting inside a condition or a loop is assumed to apply, unless
//! it is a device or the driver. Source: vagrant-libvirt, docs/configuration.markdown and
//! lib/vagrant-libvirt/templates/domain.xml.erb (0.12).

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::libvirt::made::Made;
use crate::formats::{Format, Kind, vagrant};
use crate::guest::Guest;
use crate::inner::written;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::words::{Word, words};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "vagrant-libvirt",
    files: "Vagrantfiles with libvirt",
    sample: (
        "Vagrantfile",
        "c.vm.provider :libvirt do |v|\n  v.cpu_mode = 'host-passthrough'\nend\n",
    ),
    rules: rules!("vagrant_libvirt"),
    detect,
    lint,
    limits: Limits { programs: true, ..Limits::PLAIN },
    qemu: None,
};

fn provides(line: &str) -> bool {
    vagrant::provides(line, "libvirt")
}

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    clues.has(provides).then_some(Sign::Keys)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    // A script of a shell that writes a Vagrantfile; in a Vagrantfile, here-documents are for the guest.
    if is_script(document) {
        let is = |text: &str| text.lines().any(provides);
        if let Some(report) = written(document, Kind::VagrantLibvirt, is) {
            return Ok(report);
        }
    }
    let mut made = Made { kind: None, ..Made::default() };
    let mut block: Option<String> = None;
    // The indentation of the block's first line.
    let mut own: Option<usize> = None;
    let mut hidden = Hidden::None;
    let mut open = false;
    for (base, line) in document.text.lines() {
        if hidden.take(line) {
            continue;
        }
        let trimmed = line.trim();
        if trimmed.starts_with('#') {
            continue;
        }
        if let Some(name) = setting(line, "vm.box") {
            made.name.clone_from(&name);
        }
        if windows(trimmed) {
            made.declared = Some(Guest::Windows);
        }
        if provides(line) {
            // A second parameter, `|v, override|`, is the machine's own configuration.
            let parameters = line.split('|').nth(1).unwrap_or_default();
            let name = parameters.split([',', ';']).next().unwrap_or_default().trim().to_owned();
            let start = base + line.len() - line.trim_start().len();
            made.whole = start..base + line.trim_end().len();
            block = Some(name).filter(|name| !name.is_empty());
            own = None;
            continue;
        }
        let Some(name) = &block else { continue };
        let indent = line.len() - line.trim_start().len();
        if !trimmed.is_empty() {
            own.get_or_insert(indent);
        }
        let Some(rest) =
            trimmed.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('.'))
        else {
            continue;
        };
        let at = base + indent..base + line.trim_end().len();
        // A device that only a condition adds may not be there.
        let under = own.is_some_and(|own| indent > own)
            || [" if ", " unless "].iter().any(|it| rest.contains(it));
        // Nor is the driver that one of several branches chooses.
        if under && setting(rest, "driver").is_some_and(|it| it != "kvm") {
            open = true;
        }
        if !(under && rest.starts_with("pci")) {
            take(&mut made, rest, at);
        }
    }
    if let (true, Some((kind, _))) = (open, &mut made.kind) {
        *kind = "{driver}".to_owned();
    }
    if made.whole.is_empty() {
        return Err(LintError::whole("it contains no block `provider :libvirt do |NAME|`"));
    }
    if made.cpu.is_empty() {
        made.cpu.push(("mode", "host-model".to_owned(), made.whole.clone()));
    }
    let mut report = made.judge(document, say)?;
    vagrant::with(vagrant::VIRTUALBOX, document, &mut report);
    vagrant::with(vagrant::VMWARE, document, &mut report);
    Ok(report)
}

/// Whether the first line names a shell.
fn is_script(document: &Document) -> bool {
    let first = document.text.as_str().lines().next().unwrap_or_default();
    first.starts_with("#!") && first.ends_with("sh")
}

/// Lines of Ruby that are not settings.
enum Hidden {
    None,
    /// Up to `=end`.
    Comment,
    /// Up to the lines of these names: here-documents.
    Until(Vec<String>),
    /// All that follows.
    Data,
}

impl Hidden {
    /// Reads a line; returns whether it is not a setting.
    fn take(&mut self, line: &str) -> bool {
        match self {
            Self::Data => return true,
            Self::Comment => {
                if line.starts_with("=end") {
                    *self = Self::None;
                }
                return true;
            }
            Self::Until(names) => {
                if names.first().is_some_and(|name| line.trim() == name) {
                    names.remove(0);
                }
                if names.is_empty() {
                    *self = Self::None;
                }
                return true;
            }
            Self::None => {}
        }
        if line.starts_with("=begin") {
            *self = Self::Comment;
            return true;
        }
        if line.trim_end() == "__END__" {
            *self = Self::Data;
            return true;
        }
        let names = here_documents(line);
        if !names.is_empty() {
            *self = Self::Until(names);
        }
        false
    }
}

/// The names of the here-documents that begin on a line: `<<~NAME`, `<<-"NAME"`, `<<NAME` in capitals.
fn here_documents(line: &str) -> Vec<String> {
    if line.trim_start().starts_with('#') {
        return Vec::new();
    }
    let name = |rest: &str| {
        let after = rest.strip_prefix(['~', '-']);
        let rest = after.unwrap_or(rest);
        let quote = rest.chars().next().filter(|it| ['"', '\'', '`'].contains(it));
        if let Some(quote) = quote {
            return rest.get(1..)?.split_once(quote).map(|(name, _)| name.to_owned());
        }
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name: String = rest.chars().take_while(|c| letter(*c)).collect();
        // `list <<name` adds to a list.
        let first = name.chars().next()?;
        (first.is_ascii_uppercase() || after.is_some() && !first.is_ascii_digit()).then_some(name)
    };
    line.split("<<").skip(1).filter_map(name).collect()
}

/// Returns whether a line shows a Windows guest: only a Windows guest is reached through WinRM or WinSSH, or has drive
/// letters in the destination of a file.
fn windows(line: &str) -> bool {
    if let Some(to) = destination(line) {
        let drive = to.starts_with(|c: char| c.is_ascii_alphabetic());
        return drive
            && to.get(1..).is_some_and(|rest| rest.starts_with(":\\") || rest.starts_with(":/"));
    }
    let Some((key, value)) = line.split_once('=') else { return false };
    let value = value.trim().trim_start_matches(['"', '\'', ':']);
    let is = |name: &str| value.starts_with(name);
    let key = key.trim_end();
    key.ends_with(".vm.communicator") && (is("winssh") || is("winrm"))
        || key.ends_with(".vm.guest") && is("windows")
}

/// Returns where in the guest a file is put: `destination: "PATH"`, `:destination => "PATH"`.
fn destination(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("destination")?;
    let rest = rest.trim_start_matches([':', '=', '>', ' ']);
    let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
    rest.get(1..)?.split(quote).next()
}

/// Returns the quoted value of a setting.
fn setting(line: &str, name: &str) -> Option<String> {
    let (before, value) = line.split_once('=')?;
    if !before.trim_end().ends_with(name) {
        return None;
    }
    let value = value.trim().trim_start_matches(['"', '\'']);
    Some(value.split(['"', '\'', ' ', '#']).next().unwrap_or_default().to_owned())
}

/// `:name => 'hpet', :present => 'no'` and `name: 'hpet', present: 'no'`.
fn pairs(line: &str) -> Vec<(String, String)> {
    let all: Vec<Word<'_>> = words(line, 0).into_iter().filter(|word| word.text != "=>").collect();
    let key = |word: &Word<'_>| {
        let text = word.text;
        let name =
            text.strip_prefix(':').or_else(|| text.strip_suffix(':')).filter(|_| !word.quoted)?;
        Some(name.to_owned())
    };
    all.windows(2)
        .filter_map(|two| Some((key(two.first()?)?, two.get(1)?.text.to_owned())))
        .collect()
}

fn take(made: &mut Made, rest: &str, at: Range<usize>) {
    let name: &str = rest.split([' ', '=', '(']).next().unwrap_or_default();
    let value = || setting(rest, name).unwrap_or_default();
    let all = || pairs(rest);
    let of = |key: &str| all().into_iter().find(|(name, _)| name == key).map(|(_, value)| value);
    match name {
        "driver" => made.kind = Some((value(), at)),
        // The last one applies.
        "cpu_mode" => {
            made.cpu.retain(|(name, ..)| *name != "mode");
            made.cpu.push(("mode", value(), at));
        }
        "machine_type" => made.machine = Some(value()),
        "machine_arch" => made.arch = Some(value()),
        "kvm_hidden" if value() == "true" => made.hidden = Some(("on".to_owned(), at)),
        "clock_timer" => made.timers.push((all(), at)),
        "cpu_feature" => {
            if let (Some(name), Some(policy)) = (of("name"), of("policy")) {
                made.features.push((name, policy, at));
            }
        }
        "hyperv_feature" => {
            if let (Some(name), Some(state)) = (of("name"), of("state"))
                && name.bytes().all(|b| b.is_ascii_lowercase())
            {
                made.hyperv.push((name, state, at));
            }
        }
        "qemuargs" => {
            if let Some(value) = of("value") {
                // A variable of Ruby in it is known only at run time.
                let whole = value.replace("#{", "${");
                if whole.contains("hv_") || whole.contains("hv-") {
                    made.declared = made.declared.or(Some(Guest::Windows));
                }
                made.arguments.push((whole, at));
            }
        }
        "pci" => made.hostdev = Some(at),
        "kernel" => made.declared = made.declared.or(Some(Guest::Linux)),
        _ => {}
    }
}

/// Returns the remedy for a rule, in the terms of the Vagrantfile.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "lv-hpet-on" | "lv-hpet-default-on" => "NAME.clock_timer :name => 'hpet', :present => 'no'",
        "lv-hypervclock-missing" => "NAME.clock_timer :name => 'hypervclock', :present => 'yes'",
        "lv-invtsc-no-freq" => {
            "NAME.clock_timer :name => 'tsc', :frequency => 'HERTZ'. Leave it if the machine never migrates and is \
             never saved"
        }
        "lv-emulated" => "NAME.driver = 'kvm', if the host has KVM",
        _ => return None,
    })
}
