use crate::formats::Kind;
use crate::testing;

fn bad(text: &str) -> Vec<&'static str> {
    assert_eq!(Kind::detect("a.yaml", text), Some(Kind::Lima), "{text}");
    testing::bad(Kind::Lima, "a.yaml", text)
}

#[test]
fn instance_is_judged_by_its_processor_and_its_kernel() {
    assert_eq!(bad("vmType: vz\narch: x86_64\ncpuType:\n  x86_64: host,-kvmclock\n"), [""; 0]);
    assert_eq!(
        bad("vmType: qemu\narch: x86_64\ncpuType:\n  x86_64: host,-kvmclock\n"),
        ["q-kvmclock-off-no-invtsc"]
    );
    assert_eq!(
        bad("cpu: 4\narch: x86_64\nruntime: docker\nvmType: qemu\ncpuType: host\n"),
        [""; 0]
    );
    assert_eq!(bad("arch: aarch64\nvmType: qemu\ncpuType:\n  x86_64: host,-kvmclock\n"), [""; 0]);
    assert_eq!(
        bad(
            "plain: true\narch: x86_64\nimages:\n  - location: a.ext4\n    kernel:\n      location: k\n      cmdline: \"root=/dev/vda notsc\"\n"
        ),
        ["q-guest-notsc"]
    );
    testing::broken(Kind::Lima, "vmType: [");
}

#[test]
fn instance_of_images_or_of_another_template_is_one() {
    for text in [
        "images:\n- location: \"a.img\"\n  arch: \"x86_64\"\n",
        "images:\n- {location: a.img, arch: x86_64}\n",
        "images:\n- location: a.img\nvideo:\n  display: vnc\nmountType: 9p\n",
        "base:\n- template:_images/debian\n- template:_default/mounts\n",
    ] {
        assert_eq!(bad(text), [""; 0]);
    }
    let options = "images:\n- location: a.img\n  arch: x86_64\nvmOpts:\n  qemu:\n    cpuType:\n      x86_64: host,-kvmclock\n";
    assert_eq!(bad(options), ["q-kvmclock-off-no-invtsc"]);
    for text in ["images:\n- a.png\n- b.png\n", "images:\n- location: a.png\n  alt: b\n"] {
        assert_eq!(Kind::detect("a.yaml", text), None);
    }
}
