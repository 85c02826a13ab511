//! The processor architectures that the testbed can boot, and their differences.

use serde::{Deserialize, Serialize};

/// An architecture, under the distribution's name for it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// 64-bit x86.
    Amd64,
    /// 32-bit x86.
    I386,
    /// 64-bit Arm.
    Arm64,
    /// 64-bit RISC-V.
    Riscv64,
    /// IBM Z.
    S390x,
    /// 64-bit little-endian POWER.
    Ppc64el,
}

impl Arch {
    /// The name the distribution's packages use.
    pub fn debian(self) -> &'static str {
        match self {
            Arch::Amd64 => "amd64",
            Arch::I386 => "i386",
            Arch::Arm64 => "arm64",
            Arch::Riscv64 => "riscv64",
            Arch::S390x => "s390x",
            Arch::Ppc64el => "ppc64el",
        }
    }

    /// The emulator's program name.
    pub fn qemu(self) -> &'static str {
        match self {
            Arch::Amd64 => "qemu-system-x86_64",
            Arch::I386 => "qemu-system-i386",
            Arch::Arm64 => "qemu-system-aarch64",
            Arch::Riscv64 => "qemu-system-riscv64",
            Arch::S390x => "qemu-system-s390x",
            Arch::Ppc64el => "qemu-system-ppc64",
        }
    }

    /// The Debian package that contains [`Arch::qemu`].
    pub fn qemu_package(self) -> &'static str {
        match self {
            Arch::Amd64 | Arch::I386 => "qemu-system-x86",
            Arch::Arm64 => "qemu-system-arm",
            Arch::Riscv64 | Arch::S390x => "qemu-system-misc",
            Arch::Ppc64el => "qemu-system-ppc",
        }
    }

    /// The kernel's name of the serial line that the testbed listens to.
    pub fn console(self) -> &'static str {
        match self {
            Arch::Amd64 | Arch::I386 | Arch::Riscv64 => "ttyS0",
            Arch::Arm64 => "ttyAMA0",
            Arch::S390x => "ttysclp0",
            Arch::Ppc64el => "hvc0",
        }
    }

    /// The machine type used when a case names none.
    pub fn machine(self) -> &'static str {
        match self {
            Arch::Amd64 | Arch::I386 => "pc",
            Arch::Arm64 | Arch::Riscv64 => "virt",
            Arch::S390x => "s390-ccw-virtio",
            Arch::Ppc64el => "pseries,x-vof=on",
        }
    }

    /// The processor model used when a case names none; `None` leaves it to the emulator.
    pub fn cpu(self) -> Option<&'static str> {
        match self {
            Arch::Amd64 | Arch::I386 | Arch::S390x => Some("max"),
            Arch::Arm64 => Some("cortex-a57"),
            Arch::Riscv64 => None,
            Arch::Ppc64el => Some("power9"),
        }
    }

    /// Compilers that can build a static program for this architecture, best first.
    pub fn compilers(self) -> &'static [&'static str] {
        match self {
            Arch::Amd64 => &["x86_64-linux-gnu-gcc", "cc"],
            Arch::I386 => &["i686-linux-gnu-gcc"],
            Arch::Arm64 => &["aarch64-linux-gnu-gcc"],
            Arch::Riscv64 => &["riscv64-linux-gnu-gcc"],
            Arch::S390x => &["s390x-linux-gnu-gcc"],
            Arch::Ppc64el => &["powerpc64le-linux-gnu-gcc"],
        }
    }

    /// Whether the kernel is an x86 one: HPET, ACPI tables and CPUID exist.
    pub fn is_x86(self) -> bool {
        matches!(self, Arch::Amd64 | Arch::I386)
    }

    /// Seconds a boot may take under software emulation before it counts as hung.
    pub fn deadline_seconds(self) -> u64 {
        match self {
            Arch::Amd64 | Arch::I386 => 40,
            Arch::Arm64 => 120,
            Arch::Riscv64 | Arch::S390x => 180,
            Arch::Ppc64el => 420,
        }
    }
}

impl std::fmt::Display for Arch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.debian())
    }
}
