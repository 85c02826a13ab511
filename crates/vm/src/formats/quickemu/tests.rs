use crate::formats::Kind;
use crate::testing;

fn bad(inside: &str) -> Vec<&'static str> {
    let text = format!(
        "#!/usr/bin/quickemu --vm\nguest_os=\"windows\"\ndisk_img=\"w/disk.qcow2\"\niso=\"w/w.iso\"\n{inside}\n"
    );
    assert_eq!(Kind::detect("w.conf", &text), Some(Kind::Quickemu));
    testing::bad(Kind::Quickemu, "w.conf", &text)
}

#[test]
fn machine_of_quickemu_is_judged_by_what_it_adds() {
    assert_eq!(bad(""), [""; 0]);
    assert_eq!(bad("extra_args=\"-machine hpet=on\""), ["q-hpet-on"]);
    assert_eq!(bad("extra_args=\"-cpu host\""), ["q-hv-time-missing"]);
    assert_eq!(bad("extra_args=\"-cpu host,hv-passthrough\""), [""; 0]);
    testing::broken(Kind::Quickemu, "disk_img=x\n");
}

#[test]
fn file_with_an_open_quote_is_not_edited() {
    let text = |end: &str| {
        format!(
            "guest_os=\"linux\"\ndisk_img=\"w/disk.qcow2\"\nextra_args=\"-cpu EPYC-Rome,-kvmclock{end}\n"
        )
    };
    assert_ne!(testing::mended(Kind::Quickemu, "w.conf", &text("\"")), text("\""));
    for end in ["", "\nram=\"4G\"", "\" \"", "'\" 'a"] {
        let text = text(end);
        assert_eq!(testing::mended(Kind::Quickemu, "w.conf", &text), text);
        let report = testing::report(Kind::Quickemu, "w.conf", &text);
        let left: Vec<_> = report.findings.iter().filter_map(|it| it.left.as_deref()).collect();
        assert!(left.iter().all(|why| why.contains("is not understood")), "{left:?}");
    }
}
