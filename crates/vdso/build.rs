//! Builds the image: compiles `image/main.rs` without a standard library, and links it by
//! `image/image.lds`. Both by the tools that build everything else: the compiler, and the C compiler
//! as assembler and linker.
//!
//! By way of assembly, because then calls of functions that compilers call by themselves (a division of
//! 128 bits) are linked directly; the compiler's own objects leave a table of addresses to relocate.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Under these names the kernel exports its functions, too.
const ALIASES: [&str; 6] =
    ["clock_gettime", "gettimeofday", "time", "getcpu", "clock_getres", "getrandom"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(image)");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    for path in ["build.rs", "image", "src"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    if var("CARGO_CFG_TARGET_OS") != "linux"
        || var("CARGO_CFG_TARGET_ARCH") != "x86_64"
        || var("CARGO_CFG_TARGET_POINTER_WIDTH") != "64"
    {
        return;
    }
    let out = PathBuf::from(var("OUT_DIR"));
    let assembly = out.join("image.s");
    let mut compile = Command::new(var("RUSTC"));
    compile
        .args(["--edition", "2024", "--crate-name", "image", "--crate-type", "lib"])
        .args(["--emit", "asm"])
        .args(["--target", &var("TARGET")])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1"])
        .args(["-C", "relocation-model=pic", "-C", "overflow-checks=no", "-C", "debuginfo=0"])
        // Unwinders go through it; Go wants its vector registers as they are.
        .args(["-C", "force-unwind-tables=yes", "-C", "no-vectorize-loops"])
        .args(["-C", "no-vectorize-slp", "--cap-lints", "allow", "-o"])
        .arg(&assembly)
        .arg("image/main.rs");
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
    link.arg(&assembly);
    run(&mut link, "linking the replacement vDSO");
    println!("cargo::rustc-cfg=image");
}

/// The script, where a path with unusual characters cannot be in the way.
fn script(out: &Path) -> PathBuf {
    let path = out.join("image.lds");
    if let Err(error) = std::fs::copy("image/image.lds", &path) {
        fail(&format!("copying image/image.lds to {}: {error}", path.display()));
    }
    path
}

/// What cargo links with, or `cc`.
fn linker() -> String {
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    match std::env::var("RUSTC_LINKER") {
        // Those that are linkers themselves take other arguments.
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
