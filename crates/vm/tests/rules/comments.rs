//! Commands that are comments in languages other than a shell.

use super::*;

#[test]
fn comment_is_no_command() {
    const OLD: &str = "qemu-system-x86_64 -no-hpet -m 1G";
    const RUN: &str = "qemu-system-x86_64 -enable-kvm -cpu host -m 1G";
    let whpx = RUN.replace("-enable-kvm -cpu host", "-accel whpx");
    for (name, text) in [
        ("a.bat", format!("@echo off\r\nrem {OLD}\r\n{whpx}\r\n")),
        ("a.bat", format!("cd C:\\vm\\\r\nREM\t{OLD}\r\n  @rem {OLD}\r\n{whpx}\r\n")),
        ("a.cmd", format!(":: {OLD}\n{whpx}\n")),
        ("a.ps1", format!("<#\n{OLD}\n#>\n# {OLD}\n& {whpx}\n")),
        ("a.rb", format!("=begin\n{OLD}\n=end\n# {OLD}\nsystem('{RUN}')\n")),
        ("a.nix", format!("{{ /* {OLD} */\n # {OLD}\n a = ''{RUN}''; }}\n")),
        ("a.js", format!("// {OLD}\n/*\n {OLD}\n*/\nexec(\"{RUN}\")\n")),
    ] {
        let of = |text: &str| {
            let document = Document::new(name, text.as_bytes()).unwrap();
            assert_eq!(document.kind, Kind::Qemu);
            lint(&document).unwrap().findings
        };
        let severe = |text: &str| of(text).iter().any(|it| it.severity == Severity::Error);
        assert!(!severe(&text), "{:?}\n{text}", of(&text));
        // The command itself is read, at its place.
        let text = text.replace(" -m 1G", " -no-hpet").replace("-no-hpet -no-hpet", "-no-hpet");
        let found = of(&text);
        let gone = found.iter().find(|it| it.severity == Severity::Error);
        let place = gone.unwrap_or_else(|| panic!("{found:?}\n{text}")).span.start;
        assert_eq!(text.get(place..place + 8), Some("-no-hpet"), "{text}");
        assert_eq!(place, text.rfind("-no-hpet").unwrap(), "{text}");
    }
}
