//! Builds the image: compiles this crate once more, with its module `image` and without a standard library, and links
//! it by `image.lds`. Both use the tools of the normal build: the compiler, and the C compiler as linker.
//!
//! The image must have no relocations: `relro-level=off` makes the compiler directly call the functions that
//! it inserts by itself (a division of 128 bits). Otherwise it takes their addresses from a table, which
//! would have to be relocated.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernel also exports its functions under these names.
const ALIASES: [&str; 6] =
    ["clock_gettime", "gettimeofday", "time", "getcpu", "clock_getres", "getrandom"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(image)");
    println!("cargo::rustc-check-cfg=cfg(in_image)");
    println!("cargo::rustc-check-cfg=cfg(clocksmith_loom)");
    for path in ["build.rs", "image.lds", "src"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    if std::env::var_os("CARGO_FEATURE_IMAGE").is_none()
        || var("CARGO_CFG_TARGET_OS") != "linux"
        || var("CARGO_CFG_TARGET_ARCH") != "x86_64"
        || var("CARGO_CFG_TARGET_POINTER_WIDTH") != "64"
        // Miri does not execute it.
        || std::env::var_os("CARGO_CFG_MIRI").is_some()
    {
        return;
    }
    let out = PathBuf::from(var("OUT_DIR"));
    let object = out.join("image.o");
    let mut compile = Command::new(var("RUSTC"));
    compile
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "image",
            "--cfg",
            "in_image",
            "--crate-type",
            "lib",
        ])
        .args(["--emit", "obj", "-C", "relro-level=off"])
        .args(["--target", &var("TARGET")])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1"])
        .args(["-C", "relocation-model=pic", "-C", "overflow-checks=no", "-C", "debuginfo=0"])
        // Unwinders go through it; Go needs its vector registers unchanged.
        .args(["-C", "force-unwind-tables=yes", "-C", "no-vectorize-loops"])
        .args(["-C", "no-vectorize-slp", "--cap-lints", "allow", "-o"])
        .arg(&object)
        .arg("src/lib.rs");
    run(&mut compile, "compiling the replacement vDSO");
    let image = out.join("image.so");
    let mut link = Command::new(linker());
    link.args(["-shared", "-nostdlib", "-nostartfiles", "-o"]).arg(&image);
    link.arg(format!("-Wl,-T,{}", script(&out).display()));
    link.args([
        "-Wl,-soname,linux-vdso.so.1",
        "-Wl,--hash-style=both",
        "-Wl,--build-id=sha1",
        "-Wl,-Bsymbolic",
        "-Wl,--gc-sections",
        "-Wl,--eh-frame-hdr",
        "-Wl,-z,defs",
        "-Wl,-z,noexecstack",
        "-Wl,-z,max-page-size=4096",
        "-Wl,--strip-all",
    ]);
    for name in ALIASES {
        link.arg(format!("-Wl,--defsym={name}=__vdso_{name}"));
        link.arg(format!("-Wl,-u,__vdso_{name}"));
    }
    link.arg(&object);
    run(&mut link, "linking the replacement vDSO");
    let bytes = std::fs::read(&image).unwrap_or_default();
    if relocations(&bytes) != Some(false) {
        fail(
            "the replacement vDSO has relocations, and no loader applies them: the linker did not resolve \
             everything (GNU ld does)",
        );
    }
    println!("cargo::rustc-cfg=image");
}

/// Whether a 64-bit ELF file has sections with relocations; `None` if it is not an ELF file.
fn relocations(image: &[u8]) -> Option<bool> {
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = image.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    let (table, size, count) = (number(40, 8)?, number(58, 2)?, number(60, 2)?);
    if count == 0 {
        return None;
    }
    let (rela, rel) = (4, 9);
    for index in 0..count {
        let kind = number(table.checked_add(index * size)?.checked_add(4)?, 4)?;
        if kind == rela || kind == rel {
            return Some(true);
        }
    }
    Some(false)
}

/// The script, at a path without unusual characters.
fn script(out: &Path) -> PathBuf {
    let path = out.join("image.lds");
    if let Err(error) = std::fs::copy("image.lds", &path) {
        fail(&format!("copying image.lds to {}: {error}", path.display()));
    }
    path
}

/// The linker of cargo, or `cc`.
fn linker() -> String {
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    match std::env::var("RUSTC_LINKER") {
        // Programs that are linkers themselves take other arguments.
        Ok(linker) if !linker.contains("lld") && !linker.ends_with("ld") => linker,
        _ => "cc".to_owned(),
    }
}

fn run(command: &mut Command, what: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{what}: {status}: {command:?}")),
        Err(error) => fail(&format!("{what}: {error}: {command:?}")),
    }
}

fn fail(why: &str) -> ! {
    println!("cargo::error={why}");
    std::process::exit(1);
}
