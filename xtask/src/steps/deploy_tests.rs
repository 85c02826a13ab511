//! How `packaging/test-deploy.sh` becomes root.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Runs the script with parts that say who runs them, as a user who may call sudo.
fn run(strict: &str) -> String {
    let name = format!("xtask-deploy-{}-{strict}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    let part = "#!/bin/sh\necho \"$(basename \"$0\") by ${BY-user} with ${PYTHON_TOOLS-none}\"\n";
    for (name, text) in [
        ("test-image.sh", part),
        ("ansible/test.sh", part),
        ("helm/test.py", part),
        ("bin/id", "#!/bin/sh\necho 1000\n"),
        ("bin/sudo", "#!/bin/sh\n[ \"$1\" = -n ] && shift\nBY=sudo exec \"$@\"\n"),
    ] {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/test-deploy.sh");
    std::fs::copy(source, dir.join("test-deploy.sh")).unwrap();
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap());
    let mut script = Command::new("bash");
    script.arg(dir.join("test-deploy.sh")).arg("program").env("PATH", path).env("STRICT", strict);
    script.env("XDG_CACHE_HOME", dir.join("cache")).env_remove("PYTHON_TOOLS");
    let done = script.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).replace(&*dir.to_string_lossy(), "DIR");
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    said
}

#[test]
fn parts_of_deploy_that_need_root_get_it_by_sudo_with_the_tools_of_the_user() {
    let said = run("1");
    for line in [
        "test-image.sh by sudo with DIR/cache/clocksmith-python-tools\n",
        "test.sh by sudo with DIR/cache/clocksmith-python-tools\n",
        "test.py by user with none\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!run("0").contains("sudo"));
}
