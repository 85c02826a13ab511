//! The chosen change in the languages of tools that manage many machines: text for these tools.
//!
//! This module has one file for each language. All of it is pure, from a [`Wanted`] to a text. Every text acts only if
//! the clocksource is available, reads back the written value where its tool can, lets the machine boot when it fails,
//! may be applied repeatedly, and states its purpose, its risk and how to revert it.
//!
//! It must not decide what to change and why ([`crate::plan`], and the code that makes plans), and must not write
//! files.

mod ansible;
mod cloud_init;
mod daemonset;
mod ignition;
mod nixos;
mod systemd;
mod tuned;

use crate::unit::{SYSFS, is_name, script};
use std::str::FromStr;
use thiserror::Error;

/// The wanted settings of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The clocksource to choose at each boot; [`is_name`] defines the valid names.
    pub clocksource: Option<String>,
    /// Kernel parameters that must be present, such as `tsc=nowatchdog`; see [`is_parameter`].
    pub add: Vec<String>,
    /// Kernel parameters that must be absent.
    pub remove: Vec<String>,
}

/// The languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A file of Ansible tasks.
    Ansible,
    /// User data of cloud-init.
    CloudInit,
    /// A profile of tuned.
    Tuned,
    /// A configuration of Ignition (Fedora CoreOS, Flatcar), 3.4.
    Ignition,
    /// The same for Butane.
    Butane,
    /// A module of NixOS.
    Nixos,
    /// A DaemonSet of Kubernetes.
    Daemonset,
    /// A systemd unit.
    Systemd,
    /// A line for systemd-tmpfiles.
    Tmpfiles,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Ansible,
        Self::CloudInit,
        Self::Tuned,
        Self::Ignition,
        Self::Butane,
        Self::Nixos,
        Self::Daemonset,
        Self::Systemd,
        Self::Tmpfiles,
    ];

    /// Its name on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ansible => "ansible",
            Self::CloudInit => "cloud-init",
            Self::Tuned => "tuned",
            Self::Ignition => "ignition",
            Self::Butane => "butane",
            Self::Nixos => "nixos",
            Self::Daemonset => "daemonset",
            Self::Systemd => "systemd",
            Self::Tmpfiles => "tmpfiles",
        }
    }

    /// Returns the destination of its text.
    #[must_use]
    pub fn place(self) -> &'static str {
        match self {
            Self::Ansible => "a file of tasks: ansible.builtin.import_tasks: clocksource.yml",
            Self::CloudInit => "the user data of new machines",
            Self::Tuned => "/etc/tuned/clocksmith/tuned.conf, then: tuned-adm profile clocksmith",
            Self::Ignition => "the Ignition configuration of new machines",
            Self::Butane => "input of butane, which makes an Ignition configuration",
            Self::Nixos => "a file in `imports` of /etc/nixos/configuration.nix",
            Self::Daemonset => "kubectl apply -f",
            Self::Systemd => "/etc/systemd/system/clocksmith-clocksource.service",
            Self::Tmpfiles => "/etc/tmpfiles.d/clocksmith.conf",
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| FormatError::Unknown(shown(text)))
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why there is no text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// The language does not exist.
    #[error(
        "there is no format \"{0}\"; the formats are ansible, cloud-init, tuned, ignition, butane, \
         nixos, daemonset, systemd, tmpfiles"
    )]
    Unknown(String),
    /// Not a name.
    #[error("\"{0}\" is not a name of a clocksource: 1 to 31 of a-z, 0-9, _ and -")]
    Name(String),
    /// Not a parameter.
    #[error(
        "\"{0}\" is not a kernel parameter that can be written here: letters, digits and _.,:=/@+- only, \
         a letter or digit first, at most 200"
    )]
    Parameter(String),
    /// Nothing to write.
    #[error("neither a clocksource nor kernel parameters are wanted, so there is nothing to write")]
    Nothing,
    /// The language cannot express it.
    #[error("{format} cannot {what}; {instead}")]
    Unsupported {
        /// The language.
        format: Format,
        /// The unsupported function.
        what: &'static str,
        /// The language or tool that supports it.
        instead: &'static str,
    },
}

/// Whether this is a kernel parameter that all of these languages allow without quotes: at most 200 characters out of
/// letters, digits and `_.,:=/@+-`, of which the first is a letter or a digit.
#[must_use]
pub fn is_parameter(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.len() <= 200
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || b"_.,:=/@+-".contains(&byte))
}

/// Writes the wanted change in a language. The text ends with a line end.
///
/// # Errors
/// Returns an error for a bad name, a parameter that would need quotes, an empty change, or a change that the language
/// cannot express.
pub fn render(format: Format, wanted: &Wanted) -> Result<String, FormatError> {
    if let Some(name) = wanted.clocksource.as_ref().filter(|name| !is_name(name)) {
        return Err(FormatError::Name(shown(name)));
    }
    if let Some(bad) = wanted.add.iter().chain(&wanted.remove).find(|text| !is_parameter(text)) {
        return Err(FormatError::Parameter(shown(bad)));
    }
    if wanted.clocksource.is_none() && wanted.add.is_empty() && wanted.remove.is_empty() {
        return Err(FormatError::Nothing);
    }
    match format {
        Format::Ansible => Ok(ansible::render(wanted)),
        Format::CloudInit => runtime_only(format, wanted).map(cloud_init::render),
        Format::Tuned => tuned::render(wanted),
        Format::Ignition => Ok(ignition::render(wanted)),
        Format::Butane => Ok(ignition::butane(wanted)),
        Format::Nixos => nixos::render(wanted),
        Format::Daemonset => runtime_only(format, wanted).map(daemonset::render),
        Format::Systemd => runtime_only(format, wanted).map(crate::unit::unit),
        Format::Tmpfiles => runtime_only(format, wanted).map(systemd::tmpfiles),
    }
}

/// The clocksource, for languages that cannot change the kernel command line.
fn runtime_only(format: Format, wanted: &Wanted) -> Result<&str, FormatError> {
    match &wanted.clocksource {
        Some(name) if wanted.add.is_empty() && wanted.remove.is_empty() => Ok(name),
        _ => Err(FormatError::Unsupported {
            format,
            what: "change kernel parameters",
            instead: "ansible, ignition and butane can",
        }),
    }
}

/// Returns a text in a form that is safe in a message.
fn shown(text: &str) -> String {
    clocksmith_facts::visible::line(text).chars().take(60).collect()
}

/// The reason, the risk, and how to revert the change, as lines of a comment without its sign.
fn notes(wanted: &Wanted, undo: &[&str]) -> Vec<String> {
    let mut lines = vec!["Made by clocksmith.".to_owned()];
    if let Some(name) = &wanted.clocksource {
        lines.extend([
            format!(
                "Chooses the clocksource {name}, because a choice made through sysfs is lost at"
            ),
            "a reboot. It acts only where that is available, and reads back what it wrote,"
                .to_owned(),
            "because the kernel reports success for a name that it does not accept.".to_owned(),
            format!(
                "Risk: if the hardware behind {name} is wrong, time is wrong. `clocksmith verify`"
            ),
            "tests it; try it on one machine first.".to_owned(),
        ]);
    }
    if !(wanted.add.is_empty() && wanted.remove.is_empty()) {
        lines.extend([
            "Changes the kernel command line, because this is not possible at run time.".to_owned(),
            "Risk: it takes effect at the next boot; a wrong parameter can keep a machine from"
                .to_owned(),
            "booting. Try it on one machine first.".to_owned(),
        ]);
    }
    lines.extend(undo.iter().enumerate().map(|(index, line)| {
        if index == 0 { format!("Undo: {line}") } else { (*line).to_owned() }
    }));
    lines
}

/// Returns the lines, each after a comment mark.
fn comment(lines: &[String]) -> String {
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

/// The script, indented for a block of YAML or Nix.
fn indented(name: &str, directory: &str, indent: usize) -> String {
    indent_lines(&script(name, directory).join("\n"), indent)
}

fn indent_lines(text: &str, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{blanks}{line}\n") })
        .collect()
}

#[cfg(test)]
mod tests;
