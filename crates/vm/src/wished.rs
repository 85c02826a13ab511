//! Settings that apply only if the user requests them: in the branch of an option of the script (`--no-kvmclock)`),
//! under a condition on an argument or on a variable that disables something (`$NO_KVMCLOCK`, `ENV["NO_KVMCLOCK"]`),
//! under a condition of a template. They are information only: without the request the machine is a different one.

use crate::certain::is_shell;
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::{Kind, vagrant};
use crate::shell::is_unit;
use crate::text::Text;
use std::ops::Range;

/// The reason why such a setting is left.
const WISH: &str = "it is used only if the user requests it";

/// The reason why an option is left that a function of the script searches for.
const DROPS: &str = "a branch of the script looks for it among the arguments, and may drop it";

/// Prefixes of the name of a variable that disables something.
const TAKES: [&str; 6] = ["NO_", "NO", "WITHOUT_", "DISABLE_", "SKIP_", "HIDE_"];

/// Lowers the severity of findings about settings that apply only if the user requests them.
pub(crate) fn lower(document: &Document, findings: &mut [Finding]) {
    if findings.iter().all(|finding| finding.severity == Severity::Info && finding.edits.is_empty())
    {
        return;
    }
    let text = &document.text;
    let begins = text.as_str().trim_start();
    let ruby = document.kind == Kind::VagrantLibvirt
        || document.kind == Kind::Virtualbox && vagrant::is(text.as_str());
    let wishes = if ruby {
        of_ruby(text)
    } else if begins.starts_with('<') || begins.starts_with("{%") {
        of_template(text.as_str())
    } else if document.kind == Kind::Qemu && is_shell(document) && !is_unit(text.as_str()) {
        of_shell(text)
    } else {
        Vec::new()
    };
    let dropped = if document.kind == Kind::Qemu { labels(text.as_str()) } else { Vec::new() };
    for finding in findings {
        let start = finding.span.start;
        let option = text.slice(finding.span.clone()).trim_start_matches(',');
        if option.len() > 4 && dropped.contains(&option) {
            finding.severity = Severity::Info;
            finding.edits.clear();
            finding.left = Some(DROPS.to_owned());
            continue;
        }
        if wishes.iter().any(|wish| wish.contains(&start)) {
            finding.severity = Severity::Info;
            if !finding.edits.is_empty() {
                finding.edits.clear();
                finding.left = Some(WISH.to_owned());
            }
        }
    }
}

/// Returns whether a name is that of a variable that disables something: `NO_KVMCLOCK`, and not `NODE`.
fn takes(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TAKES.iter().any(|begin| {
        name.strip_prefix(begin).is_some_and(|rest| {
            begin.ends_with('_') && !rest.is_empty()
                || ["KVM", "HPET", "TSC", "INVTSC", "HYPERV", "ACPI"]
                    .iter()
                    .any(|it| rest.starts_with(it))
        })
    })
}

/// Returns whether a condition of a shell depends on an argument of the script, or on such a variable.
fn asks(condition: &str) -> bool {
    condition.split('$').skip(1).any(|rest| {
        let rest = rest.trim_start_matches('{');
        let name =
            rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        takes(name) || !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) && name != "0"
    })
}

/// Returns the options that are labels of a `case` in a loop over the arguments, such as `-no-hpet)` and
/// `*,kvmclock=off)`, without the stars around them. Such a loop changes the arguments of the script.
fn labels(text: &str) -> Vec<&str> {
    if !["in \"$@\"", "in $@", "in $*"].iter().any(|it| text.contains(it)) {
        return Vec::new();
    }
    let label = |line| -> Option<&str> { Some(str::trim(line).split_once(')')?.0) };
    let alone = text.lines().filter_map(label).filter(|label| !label.contains(char::is_whitespace));
    alone
        .flat_map(|label| label.split('|'))
        .map(|one| one.trim_matches(['*', ',', '(', '"']))
        .collect()
}

/// Finds branches of a `case` with an option as the label, branches of an `if` with such a condition, and commands
/// after the `&&` of a test with one.
fn of_shell(text: &Text) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut branch: Option<usize> = None;
    // The starts of branches whose conditions depend on the user, from the outermost one.
    let mut open: Vec<Option<usize>> = Vec::new();
    for (at, line) in text.lines() {
        let bare = line.trim();
        let end = at + line.len();
        if bare.starts_with('-')
            && let Some((label, _)) = bare.split_once(')')
            && label
                .split('|')
                .all(|one| one.trim().starts_with('-') && !one.trim().contains(char::is_whitespace))
        {
            branch = Some(at);
        }
        if bare.contains(";;")
            && let Some(start) = branch.take()
        {
            found.push(start..end);
        }
        let first = bare.split([' ', ';', '\t']).next().unwrap_or_default();
        match first {
            "if" if bare.ends_with(" fi") || bare.ends_with(";fi") => {
                if let Some((condition, _)) = bare.split_once("then")
                    && asks(condition)
                {
                    let stop = bare.find("else").unwrap_or(bare.len());
                    let start = end - line.trim_start().len();
                    found.push(start..start + stop);
                }
            }
            "if" => open.push(asks(bare).then_some(end)),
            "else" | "elif" | "fi" => {
                if let Some(Some(start)) = open.pop() {
                    found.push(start..at);
                }
                if first != "fi" {
                    open.push((first == "elif" && asks(bare)).then_some(end));
                }
            }
            "[" | "[[" | "test" => {
                if let Some((condition, _)) = bare.split_once("&&")
                    && asks(condition)
                {
                    found.push(at..end);
                }
            }
            _ => {}
        }
    }
    found
}

/// Finds `if ENV["X"]` up to its `end`, by their indentation, and lines with such a modifier.
fn of_ruby(text: &Text) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    for (at, line) in text.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if let Some((start, depth)) = open {
            let first = bare.split_whitespace().next().unwrap_or_default();
            if indent <= depth && matches!(first, "end" | "else" | "elsif") {
                found.push(start..at);
                open = None;
            }
        } else if bare.starts_with("if ENV") {
            open = Some((at + line.len(), indent));
        } else if bare.contains(" if ENV") {
            found.push(at..at + line.len());
        }
    }
    found
}

/// Finds the text between the marks of a condition of a template.
fn of_template(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(['<', '{']).map(|n| at + n)) {
        let rest = text.get(next..).unwrap_or_default();
        at = next + 1;
        let Some(inner) = rest.strip_prefix("<%").or_else(|| rest.strip_prefix("{%")) else {
            continue;
        };
        let Some(length) = inner.find("%>").into_iter().chain(inner.find("%}")).min() else {
            continue;
        };
        let words = inner.get(..length).unwrap_or_default();
        let behind = next + 2 + length + 2;
        let word = words.trim_start_matches('-').split_whitespace().next().unwrap_or_default();
        match word {
            // Other blocks also have an `end`.
            "if" | "unless" => open.push(behind),
            "for" | "while" => open.push(usize::MAX),
            _ if words.contains(" do") => open.push(usize::MAX),
            "end" | "endif" | "endfor" => {
                found.extend(open.pop().filter(|start| *start < next).map(|start| start..next));
            }
            _ => {}
        }
        at = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::formats::Kind;
    use crate::testing::{bad, mended};

    #[test]
    fn option_that_a_user_asks_for_is_worth_no_warning() {
        let run =
            "qemu-system-x86_64 -accel kvm -machine q35,hpet=off -cpu \"$CPU\" -hda debian.img\n";
        let of = |lines: &str| format!("#!/bin/bash\nCPU=host\n{lines}\n{run}");
        let branch = |label: &str| {
            format!("case \"$1\" in\n  {label}) CPU=\"$CPU,kvmclock=off\" ;;\n  *) break ;;\nesac")
        };
        for lines in [
            branch("--no-kvmclock"),
            branch("-n|--no-kvmclock"),
            "if [ -n \"$NO_KVMCLOCK\" ]; then\n  CPU=host,kvmclock=off\nfi".to_owned(),
            "if [ \"$1\" = old ]; then CPU=host,kvmclock=off; fi".to_owned(),
            "[ -n \"$NO_KVMCLOCK\" ] && CPU=host,kvmclock=off".to_owned(),
        ] {
            let text = of(&lines);
            assert_eq!(bad(Kind::Qemu, "run.sh", &text), [""; 0], "{text}");
            assert_eq!(mended(Kind::Qemu, "run.sh", &text), text);
        }
        for lines in [
            "if [ -n \"$NODE\" ]; then\n  CPU=host,kvmclock=off\nfi".to_owned(),
            "if [ \"$1\" = new ]; then\n  CPU=host\nelse\n  CPU=host,kvmclock=off\nfi".to_owned(),
        ] {
            assert_ne!(bad(Kind::Qemu, "run.sh", &of(&lines)), [""; 0], "{lines}");
        }
    }

    #[test]
    fn option_that_a_wrapper_drops_is_worth_no_warning() {
        let of = |label: &str| {
            format!(
                "#!/bin/bash\nrun() {{\n  local a out=()\n  for a in \"$@\"; do\n    case \"$a\" in\n      {label}) ;;\n      *) \
                 out+=(\"$a\") ;;\n    esac\n  done\n  qemu-system-x86_64 \"${{out[@]}}\"\n}}\nrun -accel kvm -no-hpet -cpu host -m \
                 1G -hda debian.img\n"
            )
        };
        assert_eq!(bad(Kind::Qemu, "run.sh", &of("-no-hpet")), [""; 0]);
        assert_ne!(bad(Kind::Qemu, "run.sh", &of("-snapshot")), [""; 0]);
    }

    #[test]
    fn condition_of_a_vagrantfile_or_a_template_is_worth_no_warning() {
        let of = |before: &str, behind: &str| {
            let text = format!(
                "Vagrant.configure(\"2\") do |config|\n  config.vm.box = \"debian/bookworm64\"\n  config.vm.provider :libvirt do \
                 |lv|\n    lv.cpu_mode = \"host-passthrough\"\n{before}    lv.clock_timer :name => \"kvmclock\", :present => \
                 \"no\"\n{behind}    lv.clock_timer :name => \"hpet\", :present => \"no\"\n  end\nend\n"
            );
            bad(Kind::VagrantLibvirt, "Vagrantfile", &text)
        };
        assert_ne!(of("", ""), [""; 0]);
        assert_eq!(of("    if ENV[\"NO_KVMCLOCK\"]\n", "    end\n"), [""; 0]);
        let erb = |before: &str, behind: &str| {
            let text = format!(
                "<domain type='kvm'>\n  <name><%= @name %></name>\n  <os><type arch='x86_64'>hvm</type></os>\n  <features>\n{before}    \
                 <kvm><hidden state='on'/></kvm>\n{behind}  </features>\n  <clock offset='utc'/>\n</domain>\n"
            );
            bad(Kind::Libvirt, "a.xml.erb", &text)
        };
        assert_ne!(erb("", ""), [""; 0]);
        assert_eq!(erb("<% if @hidden %>\n", "<% end %>\n"), [""; 0]);
        assert_ne!(erb("<% @a.each do |a| %>\n", "<% end %>\n"), [""; 0]);
    }
}
