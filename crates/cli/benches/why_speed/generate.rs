//! Large kernel logs of our own making, the same ones on every run.

use std::io::{self, BufWriter, Write};

/// The kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One long boot; about one line in 200 concerns clocks.
    Mixed,
    /// Boot after boot.
    Boots,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "one long boot",
            Self::Boots => "many boots",
        }
    }
}

/// A small generator (xorshift64*): the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Writes a log of about `size` bytes; returns the number of lines.
pub(crate) fn log(out: &mut impl Write, kind: Kind, size: u64) -> io::Result<u64> {
    let mut log = Log {
        out: BufWriter::with_capacity(1 << 18, out),
        random: Random(0x9e37_79b9_7f4a_7c15),
        micros: 0,
        written: 0,
        lines: 0,
        line: String::new(),
    };
    while log.written < size {
        log.boot()?;
        let idle = match kind {
            Kind::Mixed => u64::MAX,
            Kind::Boots => 400,
        };
        let mut left = idle;
        while log.written < size && left > 0 {
            let concerns_clocks = log.random.below(200) == 0;
            log.line(if concerns_clocks { CLOCKS } else { DAILY })?;
            left -= 1;
        }
        log.micros = 0;
    }
    log.out.flush()?;
    Ok(log.lines)
}

struct Log<W: Write> {
    out: W,
    random: Random,
    micros: u64,
    written: u64,
    lines: u64,
    line: String,
}

impl<W: Write> Log<W> {
    /// The beginning of a boot: its messages in order, others in between.
    fn boot(&mut self) -> io::Result<()> {
        for template in BOOT {
            self.put(template)?;
            for _ in 0..self.random.below(24) {
                self.line(EARLY)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, templates: &[&str]) -> io::Result<()> {
        let index = self.random.below(templates.len() as u64);
        let template = usize::try_from(index).ok().and_then(|index| templates.get(index));
        self.put(template.copied().unwrap_or_default())
    }

    /// Writes one line; `#` is a number, `@` a hexadecimal one, `~` a word.
    fn put(&mut self, template: &str) -> io::Result<()> {
        use std::fmt::Write as _;
        self.line.clear();
        let (seconds, micros) = (self.micros / 1_000_000, self.micros % 1_000_000);
        let _ = write!(self.line, "[{seconds:5}.{micros:06}] ");
        self.micros += self.random.below(9000);
        for c in template.chars() {
            // Writing to a String cannot fail.
            let _ = match c {
                '#' => write!(self.line, "{}", self.random.below(10_000)),
                '@' => write!(self.line, "{:08x}", self.random.below(1 << 32)),
                '~' => {
                    let index = usize::try_from(self.random.below(WORDS.len() as u64)).unwrap_or(0);
                    self.line.write_str(WORDS.get(index).copied().unwrap_or_default())
                }
                c => self.line.write_char(c),
            };
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())?;
        self.written += self.line.len() as u64;
        self.lines += 1;
        Ok(())
    }
}

const WORDS: &[&str] = &[
    "nvme0n1",
    "sda1",
    "eth0",
    "enp3s0",
    "wlan0",
    "docker0",
    "vethc1a2",
    "usb 1-4",
    "usb 2-1.3",
    "pci 0000:00:1f.2",
    "ata3.00",
    "i915",
    "amdgpu",
    "snd_hda_intel",
    "xhci_hcd",
    "mlx5_core",
    "postgres",
    "java",
    "nginx",
    "kworker/u8:3",
    "md127",
    "dm-2",
    "br-lan",
    "tun0",
];

/// The messages of a boot that concern clocks or name the machine, in order.
const BOOT: &[&str] = &[
    "Linux version 6.1.0-18-example (builder@example) (gcc 12.2.0, GNU ld 2.40) #1 SMP PREEMPT_DYNAMIC",
    "Command line: BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-example root=/dev/sda1 ro quiet",
    "BIOS-provided physical RAM map:",
    "DMI: Example Board X/Example Board X, BIOS 1.20 03/14/2022",
    "tsc: Fast TSC calibration using PIT",
    "tsc: Detected 3600.000 MHz processor",
    "ACPI: PM-Timer IO Port: 0x1808",
    "ACPI: HPET id: 0x8086a201 base: 0xfed00000",
    "TSC deadline timer available",
    "smpboot: Allowing 16 CPUs, 0 hotplug CPUs",
    "Booting paravirtualized kernel on bare hardware",
    "clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645519600211568 ns",
    "clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 79635855245 ns",
    "clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x33e452fbb2f, max_idle_ns: 440795236593 ns",
    "Calibrating delay loop (skipped), value calculated using timer frequency.. 7200.00 BogoMIPS (lpj=14400000)",
    "smpboot: CPU0: Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz (family: 0x6, model: 0x9e, stepping: 0xa)",
    "smpboot: Max logical packages: 1",
    "clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645041785100000 ns",
    "hpet0: at MMIO 0xfed00000, IRQs 2, 8, 0, 0, 0, 0, 0, 0",
    "hpet0: 8 comparators, 64-bit 24.000000 MHz counter",
    "clocksource: Switched to clocksource tsc-early",
    "clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns",
    "tsc: Refined TSC clocksource calibration: 3599.998 MHz",
    "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x33e44efb8d5, max_idle_ns: 440795244572 ns",
    "clocksource: Switched to clocksource tsc",
];

/// Messages that a kernel prints while it boots.
const EARLY: &[&str] = &[
    "BIOS-e820: [mem 0x00000000@-0x00000000@] usable",
    "ACPI: SSDT 0x00000000@ 00#7A (v02 EXAMPL ~ 00003000 INTL 20180427)",
    "pci 0000:00:#.0: [8086:@] type 00 class 0x060000",
    "pci 0000:00:#.0: BAR 2 [mem 0x@-0x@ 64bit pref]",
    "pci_bus 0000:0#: resource 1 [mem 0x@-0x@]",
    "ACPI: \\_SB_.PCI0.LNK#: Enabled at IRQ #",
    "Memory: #K/16#K available (14#K kernel code, 2#K rwdata, 9#K rodata)",
    "SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=#, Nodes=1",
    "rcu: RCU event tracing is enabled, batch #",
    "~: registered new interface driver, version 1.#",
    "~: Spectre V2 mitigation: Enhanced IBRS, sequence #",
    "TCP established hash table entries: 131072 (order: #, 1048576 bytes, linear)",
    "xhci_hcd 0000:00:14.0: xHCI Host Controller, assigned bus number #",
    "input: Example Keyboard # as /devices/pci0000:00/0000:00:14.0/usb1/1-#/input/input#",
];

/// Messages that a running kernel prints in daily use.
const DAILY: &[&str] = &[
    "usb 1-#: new high-speed USB device number # using xhci_hcd",
    "usb 1-#: New USB device found, idVendor=0#, idProduct=0#, bcdDevice= 1.#",
    "audit: type=1400 audit(17#.#:#): apparmor=\"ALLOWED\" operation=\"open\" profile=\"~\" pid=# comm=\"~\" requested_mask=\"r\"",
    "EXT4-fs (~): mounted filesystem with ordered data mode. Quota mode: none. Serial @",
    "IPv6: ADDRCONF(NETDEV_CHANGE): ~: link becomes ready",
    "~: entered promiscuous mode",
    "br-@: port #(~) entered forwarding state",
    "[UFW BLOCK] IN=~ OUT= MAC=@@ SRC=10.#.0.1 DST=10.0.#.2 LEN=40 TOS=0x00 TTL=244 ID=# PROTO=TCP SPT=# DPT=22 WINDOW=1024 SYN",
    "TCP: request_sock_TCP: Possible SYN flooding on port #. Sending cookies.",
    "Out of memory: Killed process # (~) total-vm:#kB, anon-rss:#kB, file-rss:0kB, shmem-rss:#kB, UID:1000",
    "~: Link is Up - 1Gbps/Full - flow control rx/tx, attempt #",
    "~: page allocation failure: order:#, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=/,mems_allowed=0",
    "Call Trace: frame #",
    " ? __alloc_pages_slowpath.constprop.0+0x@/0x@",
    " entry_SYSCALL_64_after_hwframe+0x@/0x@",
    "RIP: 0033:0x7f@ Code: 00 f7 d8 64 89 01 48 RSP: 002b:00007ffd@ EFLAGS: 00000246 ORIG_RAX: #",
    "nvme nvme0: I/O # QID # timeout, completion polled",
    "sd #:0:0:0: [~] tag## FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=#s",
    "blk_update_request: I/O error, dev ~, sector #@ op 0x0:(READ) flags 0x80700 phys_seg # prio class 2",
    "mce: [Hardware Error]: Machine check events logged, bank #",
    "perf: interrupt took too long (# > #), lowering kernel.perf_event_max_sample_rate to #000",
    "hrtimer: interrupt took # ns",
    "INFO: task ~:# blocked for more than # seconds.",
    "CPU: # PID: # Comm: ~ Tainted: G        W  OE      6.1.0-18-example #1 Example Board",
    "systemd[1]: Started session-#.scope - Session # of User worker.",
    "nfs: server 10.0.#.9 not responding, still trying since # s",
    "ata3.00: exception Emask 0x0 SAct 0x@ SErr 0x0 action 0x6 frozen",
    "md/raid1:~: redirecting sector # to other mirror: ~",
];

/// Messages about clocks that a running kernel prints in daily use.
const CLOCKS: &[&str] = &[
    "clocksource: timekeeping watchdog on CPU#: hpet wd-wd read-back delay of #0ns",
    "clocksource: wd-tsc-wd read-back delay of #0ns, clock-skew test skipped!",
    "clocksource: timekeeping watchdog on CPU#: hpet retried # times before success",
    "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 10#0000 wd_nsec: 10#0100",
    "kvm [#]: user requested TSC rate below hardware speed, vcpu #",
    "PM: suspend entry (deep) number #",
    "PM: suspend exit number #",
    "x86/split lock detection: #AC: ~/# took a trap; watchdog on CPU# is fine",
    "TSC ADJUST differs: CPU# 0 --> #. Restoring",
];
