//! Clues that show the kind of a file.

use crate::words::base;
use crate::xml;

/// The certainty of a file's kind. The most certain sign decides, and among equal ones the first kind in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sign {
    /// Keys of a JSON document.
    Json,
    /// The root element of an XML document.
    Root,
    /// An element that other documents also have.
    Element,
    /// A line that declares the kind of the file.
    Declared,
    /// Keys or sections that no other kind has.
    Keys,
    /// Several lines; a file of another kind may have one of them.
    Lines,
    /// Words that a file of another kind may mention.
    Words,
    /// A part of a file, or a file in a script.
    Part,
    /// The name of the file.
    Name,
    /// The extension of its name.
    Ending,
}

/// The name and the text of a file, for the detection of its kind.
pub(crate) struct Clues<'a> {
    /// The name, in lower case.
    pub(crate) name: String,
    /// The text, without a byte order mark.
    pub(crate) text: &'a str,
    /// The lines that are neither empty nor comments.
    pub(crate) lines: Vec<&'a str>,
}

impl<'a> Clues<'a> {
    pub(crate) fn new(name: &str, text: &'a str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let lines = text.lines().filter(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        Self { name: name.to_ascii_lowercase(), text, lines: lines.collect() }
    }

    /// The name without its directories.
    pub(crate) fn base(&self) -> &str {
        base(&self.name)
    }

    /// Returns whether the name has one of these extensions.
    pub(crate) fn ends(&self, endings: &[&str]) -> bool {
        self.base().rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
    }

    /// Returns whether the text begins with this, apart from blanks.
    pub(crate) fn starts(&self, beginning: &str) -> bool {
        self.text.trim_start().starts_with(beginning)
    }

    /// Returns whether the text looks like JSON and has a key or a string of this value.
    pub(crate) fn quotes(&self, text: &str) -> bool {
        (self.starts("{") || self.starts("[")) && self.text.contains(&format!("\"{text}\""))
    }

    /// Returns whether the text may be XML and has an element; `name` begins with `<`. In another text, lines that
    /// begin with `#` are ignored.
    pub(crate) fn element(&self, name: &str) -> bool {
        if self.begins_as_xml() {
            return xml::tags(self.text, name).next().is_some();
        }
        !self.starts("#!") && self.has(|line| xml::tags(line, name).next().is_some())
    }

    /// Whether the first characters are of XML, or of a template that may make XML.
    pub(crate) fn begins_as_xml(&self) -> bool {
        self.starts("<") || self.starts("{%") || self.starts("{{") || self.starts("{#")
    }

    /// Returns whether a line passes the test, without its leading blanks.
    pub(crate) fn has(&self, test: impl Fn(&str) -> bool) -> bool {
        self.lines.iter().any(|line| test(line.trim_start()))
    }

    /// Returns whether most lines are those of a kernel log, which names parameters and files as scripts do.
    pub(crate) fn is_log(&self) -> bool {
        let logged = self.lines.iter().filter(|line| is_logged(line)).count();
        2 * logged > self.lines.len()
    }

    /// Returns whether the text is a document that this program wrote: it quotes the words of what it is about.
    pub(crate) fn is_report(&self) -> bool {
        let begin = self.text.trim_start().strip_prefix('{').unwrap_or_default().trim_start();
        let value = begin.strip_prefix("\"schema\":").unwrap_or_default().trim_start();
        value.starts_with("\"clocksmith.")
    }

    /// Returns how many of these keys begin a line.
    pub(crate) fn keys(&self, keys: &[&str], separator: char) -> usize {
        let is = |line: &str, key: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(separator))
        };
        keys.iter().filter(|key| self.has(|line| is(line, key))).count()
    }
}

/// Whether a line has the stamp of a kernel message, or the name that syslog gives to the kernel.
fn is_logged(line: &str) -> bool {
    let stamp = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let is_stamp = |text: &str| {
        let has = |sign: char| text.contains(sign);
        let seconds = |c: char| c.is_ascii_digit() || c == '.' || c == ' ';
        (has('.') && text.chars().all(seconds)) || text.matches(':').count() == 2
    };
    let stamped = stamp
        .is_some_and(|(text, _)| text.contains(|c: char| c.is_ascii_digit()) && is_stamp(text));
    stamped || line.contains(" kernel: ")
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::document::Document;
    use crate::lint::lint;
    use proptest::prelude::*;

    #[test]
    fn detect_content_decides() {
        let cases = [
            ("a.txt", "<!-- x -->\n<domain type='kvm'>", Some(Kind::Libvirt)),
            ("a", "  <clock offset='utc'/>", Some(Kind::Libvirt)),
            ("a", "{% if x %}<domain type='{{ t }}'>", Some(Kind::Libvirt)),
            ("a.xml", "<?xml version='1.0'?><VirtualBox version='1'>", Some(Kind::Virtualbox)),
            ("vm.sh", "#!/bin/sh\nexec qemu-system-x86_64 -cpu host\n", Some(Kind::Qemu)),
            (
                "vm.args",
                "LC_ALL=C \\\n/usr/bin/kvm \\\n-machine pc \\\n-cpu host\n",
                Some(Kind::Qemu),
            ),
            (
                "Vagrantfile",
                "Vagrant.configure(\"2\") do |c|\n c.vm.provider :virtualbox do |v|\n v.cpus = 4\n",
                Some(Kind::Virtualbox),
            ),
            ("vm.sh", "VBoxManage modifyvm x --hpet on\n", Some(Kind::Virtualbox)),
            (
                "a",
                "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
                Some(Kind::Persistence),
            ),
            ("a", "guestOS = \"other-64\"\nvirtualHW.version = \"12\"\n", Some(Kind::Vmware)),
            ("a", "name = \"x\"\nbuilder = \"hvm\"\nvcpus = 2\ndisk = [ 'a' ]\n", Some(Kind::Xen)),
            ("a", "type = \"pvh\"\nkernel = \"k\"\nmemory = 5\n", Some(Kind::Xen)),
            ("a", "bios: ovmf\ncores: 4\nostype: l26\n", Some(Kind::Proxmox)),
            ("a", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n", Some(Kind::Kubevirt)),
            ("a", "{\"boot-source\": {\"boot_args\": \"\"}}", Some(Kind::Firecracker)),
            ("a", "{\"cpus\": {\"boot_vcpus\": 1}}", Some(Kind::CloudHypervisor)),
            ("a", "[main]\nsummary=x\n[sysfs]\n/sys/a=b\n", Some(Kind::Tuned)),
            ("a", "#cloud-config\nbootcmd:\n", Some(Kind::Persistence)),
            ("old.vmx", "x = 1", Some(Kind::Vmware)),
            ("a.txt", "to be or not to be", None),
            (
                "dmesg.txt",
                "[    0.000000] Command line: root=/dev/vda1 clocksource=hpet\n\
                 [    1.500000] clocksource: Switched to clocksource hpet\n",
                None,
            ),
            (
                "messages",
                "Nov  1 10:00:00 db1 kernel: Command line: root=/dev/vda1 notsc\n\
                 Nov  1 10:00:01 db1 kernel: clocksource: Switched to clocksource hpet\n",
                None,
            ),
            (
                "dmesg-t.txt",
                "[Sa Nov 28 17:02:11 2026] Kernel command line: clocksource=hpet\n",
                None,
            ),
            ("a.json", "{\n  \"schema\": \"clocksmith.why.v1\",\n \"a\": \"notsc\"\n}\n", None),
            // One line of a log in a script does not make a log of it.
            (
                "a.sh",
                "# [    1.500000] clocksource: Switched to clocksource hpet\nset -e\n\
                 echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource\n",
                Some(Kind::Persistence),
            ),
        ];
        for (name, text, kind) in cases {
            assert_eq!(Kind::detect(name, text), kind, "{text}");
        }
    }

    #[test]
    fn kind_every_one_knows_its_name_and_its_sample() {
        for kind in Kind::all() {
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            let (name, text) = kind.sample();
            let document = Document::new(name, text.as_bytes()).unwrap();
            assert_eq!(document.kind, kind, "{text}");
            assert!(lint(&document).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn detect_any_text_never_panics(text in "(?s).{0,200}", name in ".{0,20}") {
            let _ = Kind::detect(&name, &text);
        }
    }
}
