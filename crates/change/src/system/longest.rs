//! The length of a command line that the kernels of a system read.
//!
//! Sources: `COMMAND_LINE_SIZE` in `arch/*/include/{asm,uapi/asm}/setup.h`: 2048 on x86, arm64 and powerpc, 1024 on
//! arm, 4096 on mips and loongarch; on riscv 512, and 1024 since 6.4; on s390 896, and since 5.17 the value of the
//! configuration (4096 unless it was changed).

use super::root::{Case, Root};

/// Longest configuration of a kernel, in bytes.
const LIMIT: u64 = 4 << 20;
/// Programs; most systems have one of them.
const PROGRAMS: [&str; 4] = ["/bin/sh", "/usr/bin/env", "/bin/busybox", "/sbin/init"];

/// The longest command line that a kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Longest {
    /// In bytes, without its end.
    pub bytes: usize,
    /// Whether no kernel of this processor reads more.
    pub certain: bool,
}

impl Default for Longest {
    fn default() -> Self {
        Self { bytes: 2047, certain: true }
    }
}

impl Longest {
    /// By the processor, as `uname -m` names it.
    fn of_machine(name: &str) -> Self {
        // A 32-bit program on a 64-bit kernel.
        let (size, certain) = match name {
            "armv8l" => (2048, true),
            _ if name.starts_with("arm") => (1024, true),
            _ if name.starts_with("s390") => (896, false),
            _ if name.starts_with("riscv") => (512, false),
            _ if name.starts_with("mips") || name.starts_with("loongarch") => (4096, true),
            _ => (2048, true),
        };
        Self { bytes: size - 1, certain }
    }

    /// By the header of a program. A 32-bit program may run on a 64-bit kernel.
    fn of_program(header: &[u8]) -> Option<Self> {
        if !header.starts_with(b"\x7fELF") {
            return None;
        }
        let (order, machine) = (header.get(5)?, header.get(18..20)?.try_into().ok()?);
        let machine =
            if *order == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
        Some(match machine {
            8 => Self::of_machine("mips"),
            22 => Self::of_machine("s390x"),
            40 => Self { certain: false, ..Self::of_machine("armv7l") },
            243 => Self::of_machine("riscv64"),
            258 => Self::of_machine("loongarch64"),
            _ => Self::default(),
        })
    }

    /// Returns the value of a kernel's configuration, if it sets one.
    fn of_configuration(text: &[u8]) -> Option<Self> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let value = lines.find_map(|line| line.strip_prefix(b"CONFIG_COMMAND_LINE_SIZE="))?;
        let size: usize = str::from_utf8(value).ok()?.trim().parse().ok()?;
        Some(Self { bytes: size.checked_sub(1)?, certain: true })
    }
}

/// Returns the smallest limit of the kernels in `/boot`; `booted`: `/proc` is that of the kernel of this system.
pub(super) fn read(root: &Root<'_>, booted: bool) -> Longest {
    let machine = || {
        let name = root.read("/proc/sys/kernel/arch", LIMIT).filter(|_| booted)?.ok()?;
        Some(Longest::of_machine(str::from_utf8(&name).ok()?.trim()))
    };
    let header = |path: &&str| Longest::of_program(&root.read(path, LIMIT)?.ok()?);
    let usual = machine().or_else(|| PROGRAMS.iter().find_map(header)).unwrap_or_default();
    let names = root.names("/boot", "", Case::Same).unwrap_or_default();
    let configurations = names.iter().filter(|name| name.starts_with("config-"));
    let of = |name: &String| {
        let text = root.read(&format!("/boot/{name}"), LIMIT)?.ok()?;
        Some(Longest::of_configuration(&text).unwrap_or(usual))
    };
    configurations.filter_map(of).min().unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn read_takes_the_shortest_of_the_kernels() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root(dir.path());
        assert_eq!(read(&root, false), Longest::default());
        let mut elf = b"\x7fELF\x02\x02".to_vec();
        elf.resize(18, 0);
        elf.extend([0, 22]);
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        fs::create_dir_all(dir.path().join("boot")).unwrap();
        fs::write(dir.path().join("bin/sh"), &elf).unwrap();
        assert_eq!(read(&root, false), Longest { bytes: 895, certain: false });
        fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
        fs::write(dir.path().join("proc/sys/kernel/arch"), "armv7l\n").unwrap();
        assert_eq!(read(&root, true).bytes, 1023);
        let config = |name: &str, text: &str| {
            fs::write(dir.path().join("boot").join(name), text).unwrap();
        };
        config("config-6.1", "CONFIG_SMP=y\nCONFIG_COMMAND_LINE_SIZE=4096\n");
        assert_eq!(read(&root, false), Longest { bytes: 4095, certain: true });
        config("config-4.18", "CONFIG_SMP=y\n");
        assert_eq!(read(&root, false), Longest { bytes: 895, certain: false });
    }

    #[test]
    fn of_machine_knows_what_reads_less() {
        for (name, bytes, certain) in [
            ("x86_64", 2047, true),
            ("aarch64", 2047, true),
            ("armv7l", 1023, true),
            ("riscv64", 511, false),
        ] {
            assert_eq!(Longest::of_machine(name), Longest { bytes, certain }, "{name}");
        }
        assert_eq!(Longest::of_program(b"#!/bin/sh\n"), None);
        assert_eq!(Longest::of_program(b"\x7fELF"), None);
    }
}
