//! Tests of case files: inheritance, exceptions, refusals.

use super::*;

fn catalogue() -> Catalogue {
    Catalogue::parse(
        r#"
        [[kernel]]
        name = "6.1"
        arch = "amd64"
        suites = ["stable"]
        package = "linux-image-6.1-*"
        [[kernel]]
        name = "7.x"
        arch = "amd64"
        suites = ["unstable"]
        package = "linux-binary-7.*"
        "#,
    )
    .unwrap()
}

#[test]
fn a_case_inherits_from_another_and_from_the_defaults() {
    let boots = parse(
        r#"
        [defaults]
        kernels = ["6.1", "7.x"]
        machine = "pc"
        [[case]]
        name = "two"
        smp = 2
        expect = { "6.1" = "[hpet] acpi_pm", "7.x" = "[tsc] hpet acpi_pm" }
        ci = ["7.x"]
        [[case]]
        name = "two-no-hpet"
        like = "two"
        hpet = false
        [case.on."7.x"]
        cmdline = "nosmp"
        "#,
        &catalogue(),
    )
    .unwrap();
    let ids: Vec<_> = boots.iter().map(|boot| boot.id.as_str()).collect();
    assert_eq!(ids, ["two@6.1", "two@7.x", "two-no-hpet@6.1", "two-no-hpet@7.x"]);
    assert_eq!(boots[0].expect.as_ref().unwrap().current, "hpet");
    assert_eq!(boots[1].expect.as_ref().unwrap().current, "tsc");
    assert!(!boots[0].ci && boots[1].ci);
    let child = &boots[2];
    assert!(!child.machine.steady);
    assert_eq!((child.machine.smp.as_str(), child.machine.hpet), ("2", Some(false)));
    assert_eq!((child.expect.as_ref(), child.ci), (None, false));
    assert_eq!((boots[2].cmdline.as_str(), boots[3].cmdline.as_str()), ("", "nosmp"));
}

#[test]
fn unset_fields_come_from_architecture() {
    let boots = parse("[[case]]\nname = 'a'\nkernels = ['6.1']", &catalogue()).unwrap();
    assert_eq!(boots[0].machine.cpu.as_deref(), Some("max"));
    assert_eq!(boots[0].machine.machine, "pc");
    assert_eq!(boots[0].deadline, 40);
    assert!(boots[0].machine.steady);
}

#[test]
fn mistakes_are_named() {
    let says = |text: &str| format!("{:#}", parse(text, &catalogue()).unwrap_err());
    assert!(says("[[case]]\nname = 'a'").contains("names no kernels"));
    assert!(says("[[case]]\nname = 'a'\nkernels = ['5.0']").contains("`5.0`"));
    assert!(says("[[case]]\nname = 'a'\nkernels = ['6.1']\nlike = 'b'").contains("like `b`"));
    assert!(says("[[case]]\nname = 'a'\nkernels = ['6.1']\ncmdlin = ''").contains("cmdlin"));
    assert!(says("[[case]]\nname = 'a'\nkernels = ['6.1']\nci = ['7.x']").contains("7.x"));
    assert!(
        says("[[case]]\nname = 'a'\nkernels = ['6.1']\nexpect = 'tsc hpet'").contains("brackets")
    );
}
