//! Vagrantfiles: the providers that they configure, and the findings of several kinds in one file. The meaning of a
//! provider's settings is read by its kind, not here.

use super::Kind;
use crate::document::Document;
use crate::lint::{LintError, Report};

/// Returns whether a text has a block `config.vm.provider NAME` of a provider whose name begins with `name`.
pub(super) fn provides(text: &str, name: &str) -> bool {
    let opens = ["\"", "'", ":", "(:", "(\"", "('"];
    text.match_indices(".provider").any(|(at, mark)| {
        let rest = text.get(at + mark.len()..).unwrap_or_default().trim_start_matches(' ');
        opens.iter().any(|open| rest.strip_prefix(open).is_some_and(|rest| rest.starts_with(name)))
    })
}

/// VirtualBox.
pub(super) const VIRTUALBOX: Provider = (Kind::Virtualbox, "virtualbox", super::virtualbox::alone);
/// VMware: Workstation, Fusion, the provider for both.
pub(super) const VMWARE: Provider = (Kind::Vmware, "vmware", super::vmware::lint);

/// Whether it is a Vagrantfile. Ruby also accepts `::` before the name of a method.
pub(crate) fn is(text: &str) -> bool {
    ["Vagrant.configure", "Vagrant::configure"].iter().any(|it| text.contains(it))
}

/// The kind of a provider, the beginning of its name, and the function that checks a file of it.
type Provider = (Kind, &'static str, fn(&Document) -> Result<Report, LintError>);

/// Adds the findings of another provider's kind in the same file.
pub(super) fn with((other, name, lint): Provider, document: &Document, report: &mut Report) {
    let text = document.text.as_str();
    let sets = |line: &str| !line.trim_start().starts_with('#') && provides(line, name);
    if !is(text) || !text.lines().any(sets) {
        return;
    }
    let same = Document { kind: other, ..document.clone() };
    let Ok(more) = lint(&same) else { return };
    for mut finding in more.findings {
        finding.leave_edits("the file has machines of several providers");
        report.findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::lint;

    fn of(text: &str) -> (Kind, Vec<&'static str>) {
        let text =
            format!("Vagrant.configure(\"2\") do |config|\n  config.vm.box = \"x\"\n{text}end\n");
        let document = Document::new("Vagrantfile", text.as_bytes()).unwrap();
        let report = lint(&document).unwrap();
        let loud = report.findings.iter().filter(|it| it.severity != crate::Severity::Info);
        (document.kind, loud.map(|it| it.rule.id).collect())
    }

    const LIBVIRT: &str = "  config.vm.provider :libvirt do |l|\n    l.clock_timer :name => 'tsc', :mode => 'native'\n  end\n";
    const VIRTUALBOX: &str = "  config.vm.provider \"virtualbox\" do |v|\n    v.cpus = 4\n    v.customize [\"setextradata\", \
                              :id, \"VBoxInternal/TM/TSCTiedToExecution\", \"1\"]\n  end\n";
    const VMWARE: &str = "  config.vm.provider :vmware_desktop do |v|\n    v.vmx[\"memsize\"] = \"2048\"\n    \
                          v.vmx[\"tools.syncTime\"] = \"TRUE\"\n  end\n";

    #[test]
    fn each_provider_is_read() {
        assert_eq!(of(LIBVIRT), (Kind::VagrantLibvirt, vec!["lv-tsc-timer-noop"]));
        assert_eq!(of(VIRTUALBOX), (Kind::Virtualbox, vec!["vb-tied-smp"]));
        assert_eq!(of(VMWARE), (Kind::Vmware, vec!["vmx-sync-on"]));
        let all = of(&[VMWARE, VIRTUALBOX, LIBVIRT].concat());
        let ids = vec!["vmx-sync-on", "vb-tied-smp", "lv-tsc-timer-noop"];
        assert_eq!(all, (Kind::VagrantLibvirt, ids));
        assert_eq!(of(&[VIRTUALBOX, VMWARE].concat()).1, ["vb-tied-smp", "vmx-sync-on"]);
    }

    #[test]
    fn processors_of_another_provider_are_not_virtualbox_s() {
        let tied = VIRTUALBOX.replace("    v.cpus = 4\n", "");
        let libvirt = LIBVIRT.replace("  end\n", "    l.cpus = 4\n  end\n");
        assert_eq!(of(&[&tied, libvirt.as_str()].concat()).1, ["vb-tied", "lv-tsc-timer-noop"]);
        assert_eq!(of(&[&libvirt, tied.as_str()].concat()).1, ["lv-tsc-timer-noop", "vb-tied"]);
    }

    #[test]
    fn a_provider_in_a_comment_is_none() {
        let silent = VMWARE.replace("  config", "#  config").replace("    v.", "#    v.");
        let silent = silent.replace("  end", "#  end");
        assert_eq!(of(&[LIBVIRT, &silent].concat()).1, ["lv-tsc-timer-noop"]);
        assert!(Document::new("Vagrantfile", silent.as_bytes()).is_err());
    }

    #[test]
    fn vmware_without_settings_is_no_mistake() {
        let text = "  config.vm.provider \"vmware_desktop\" do |v|\n    v.gui = true\n  end\n";
        assert_eq!(of(text), (Kind::Vmware, vec![]));
    }
}
