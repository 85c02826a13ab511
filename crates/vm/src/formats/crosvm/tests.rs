use crate::formats::Kind;
use crate::testing;

#[test]
fn parameters_of_the_kernel_are_judged() {
    for (name, text) in [
        (
            "vm.sh",
            "#!/bin/sh\n./crosvm run --cpus 4 \\\n  --params=\"root=/dev/vda notsc\" vmlinux\n",
        ),
        (
            "vm.json",
            "{\"cpus\": {\"num-cores\": 2}, \"mem\": {\"size\": 512}, \"kernel\": \"k\", \"params\": [\"root=/dev/vda\", \"notsc\"]}",
        ),
    ] {
        assert_eq!(Kind::detect(name, text), Some(Kind::Crosvm), "{text}");
        assert_eq!(testing::bad(Kind::Crosvm, name, text).len(), 1, "{text}");
        assert_eq!(
            testing::bad(
                Kind::Crosvm,
                name,
                &text.replace(" notsc", "").replace(", \"notsc\"", "")
            ),
            [""; 0]
        );
    }
    let nix = "{ pkgs, ... }: {\n  run = ''\n    crosvm run --params \"root=/dev/vda notsc\" vmlinux\n  '';\n}\n";
    assert_eq!(testing::bad(Kind::Crosvm, "flake.nix", nix).len(), 1);
    assert_eq!(Kind::detect("a.md", "crosvm is a monitor"), None);
    testing::broken(Kind::Crosvm, "{");
}

#[test]
fn a_crosvm_that_cargo_runs_is_one() {
    let text =
        "#!/bin/sh\ncargo run -p crosvm -- \\\n    run \\\n    -p \"init=/bin/sh notsc\" bzImage\n";
    assert_eq!(Kind::detect("run.sh", text), Some(Kind::Crosvm));
    assert_eq!(testing::bad(Kind::Crosvm, "run.sh", text).len(), 1);
    for text in [
        "cargo build -p crosvm --\nrun it\n",
        "cargo test -p crosvm -- run\n",
        "# cargo run -p crosvm -- run\n",
    ] {
        assert_eq!(Kind::detect("a.sh", text), None, "{text}");
    }
}

#[test]
fn command_in_a_variable_is_seen_by_its_options() {
    let text =
        "#!/bin/sh\nLD_LIBRARY_PATH=$L $BIN/crosvm $VERB --cpus 4 -p \"notsc\" $DIR/vmlinux\n";
    assert_eq!(Kind::detect("run.sh", text), Some(Kind::Crosvm));
    assert_eq!(testing::bad(Kind::Crosvm, "run.sh", text), ["cmdline-notsc"]);
    let other = "#!/bin/sh\nchmod +x $BIN/crosvm $BIN/vmlinux\n";
    assert_eq!(Kind::detect("run.sh", other), None);
}

#[test]
fn options_before_the_command_and_a_program_in_a_variable() {
    for command in [
        "crosvm --log-level=debug run",
        "crosvm --no-syslog --log-level info run",
        "${CROSVM:-crosvm} run",
        "\"$CROSVM\" run",
        "sudo $CROSVM_BIN --log-level=debug run",
    ] {
        let text = format!("#!/bin/sh\n{command} --cpus 2 --params \"root=/dev/vda notsc\" k\n");
        assert_eq!(Kind::detect("run.sh", &text), Some(Kind::Crosvm), "{text}");
        assert_eq!(testing::bad(Kind::Crosvm, "run.sh", &text), ["cmdline-notsc"], "{text}");
    }
    for text in [
        "#!/bin/sh\n$CROSVM stop /run/a.sock\n",
        "#!/bin/sh\n$CROSVM_TESTS run all\n",
        "#!/bin/sh\ncrosvm --log-level=debug stop run.sock\n",
    ] {
        assert_eq!(Kind::detect("run.sh", text), None, "{text}");
    }
}
