//! Determines whether this target has the engine: a Linux with a counter that user space can read.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(engine)");
    println!("cargo::rustc-check-cfg=cfg(clocksmith_loom)");
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let arch = var("CARGO_CFG_TARGET_ARCH");
    if var("CARGO_CFG_TARGET_OS") == "linux"
        && ["x86_64", "x86", "aarch64"].contains(&arch.as_str())
        && var("CARGO_CFG_TARGET_ENDIAN") == "little"
    {
        println!("cargo::rustc-cfg=engine");
    }
}
