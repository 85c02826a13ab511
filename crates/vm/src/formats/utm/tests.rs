use crate::formats::Kind;
use crate::guest::Guest;
use crate::testing;

fn plist(backend: &str, arguments: &str, hypervisor: bool) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n<key>Backend</key><string>{backend}</string>\n<key>ConfigurationVersion</key><integer>4</integer>\n<key>Information</key><dict><key>Icon</key><string>debian</string><key>Name</key><string>db</string></dict>\n<key>QEMU</key><dict><key>AdditionalArguments</key><array>{arguments}</array><key>Hypervisor</key><{hypervisor}/></dict>\n<key>System</key><dict><key>Architecture</key><string>x86_64</string><key>CPU</key><string>host</string><key>CPUFlagsAdd</key><array/><key>Target</key><string>q35</string></dict>\n</dict>\n</plist>\n"
    )
}

#[test]
fn machine_is_judged_as_the_command_line_that_utm_makes() {
    let bad = |text: &str| {
        assert_eq!(Kind::detect("config.plist", text), Some(Kind::Utm));
        testing::bad(Kind::Utm, "config.plist", text)
    };
    assert_eq!(bad(&plist("QEMU", "", true)), [""; 0]);
    assert_eq!(
        testing::report(Kind::Utm, "config.plist", &plist("QEMU", "", true)).guest,
        Guest::Linux
    );
    assert_eq!(bad(&plist("Apple", "<string>-no-hpet</string>", true)), [""; 0]);
    let text = plist("QEMU", "<string>-machine</string><string>hpet=on</string>", true);
    let all = testing::ids(Kind::Utm, "config.plist", &text);
    assert!(all.iter().any(|(id, _)| *id == "q-hpet-on"), "{all:?}");
    assert!(bad(&plist("QEMU", "<string>-no-hpet</string>", true)).contains(&"q-no-hpet-removed"));
    testing::broken(Kind::Utm, "<plist><dict></plist>");
}

/// The last word of a command line is a value of the file, and the finding is at the whole command.
#[test]
fn finding_at_a_whole_command_has_a_place() {
    let text = plist("QEMU", "", true).replace(
        "<key>CPUFlagsAdd</key><array/>",
        "<key>CPUFlagsRemove</key><array><string>hypervisor</string></array>",
    );
    assert_eq!(testing::bad(Kind::Utm, "config.plist", &text), ["q-hypervisor-hidden"]);
}
