//! Records of the kernel's ring buffer: bytes in, records out. Pure; a record that is too short or
//! that contradicts itself is dropped.

use std::ops::Range;

/// Registers that samples carry, by their bits (`arch/x86/include/uapi/asm/perf_regs.h`): bx, si, di,
/// bp, sp, ip, r12, r13, r14, r15.
pub const REGISTERS: u64 =
    1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 21 | 1 << 22 | 1 << 23;

/// The set of user registers of a 32-bit process, and of a 64-bit one (`enum perf_sample_regs_abi`).
const ABI_32: u64 = 1;
const ABI_64: u64 = 2;
const CONTEXT_KERNEL: u64 = (-128i64) as u64;
const CONTEXT_USER: u64 = (-512i64) as u64;
/// The first of the markers between addresses (`PERF_CONTEXT_MAX`).
const CONTEXT_MARKERS: u64 = (-4095i64) as u64;
/// Frames at most in a chain, as the kernel's own limit is 127 by default.
const FRAMES: usize = 1024;

/// User registers at a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// First argument.
    pub di: u64,
    /// Second argument.
    pub si: u64,
    /// Frame pointer, if the code keeps one.
    pub bp: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// bx, r12 to r15: the registers that a callee keeps.
    pub kept: [u64; 5],
}

/// One sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The instruction pointer, in the kernel or not.
    pub ip: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds of the kernel's `local_clock`.
    pub time: u64,
    /// Processor.
    pub cpu: u32,
    /// The weight of the sample: nanoseconds for a clock.
    pub period: u64,
    /// Kernel frames, innermost first.
    pub kernel: Vec<u64>,
    /// User frames by frame pointers, innermost first.
    pub user: Vec<u64>,
    /// User registers; `None` for kernel threads and 32-bit processes.
    pub registers: Option<Registers>,
    /// Whether the user's code is 32-bit.
    pub narrow: bool,
    /// The user stack from the stack pointer on.
    pub stack: Vec<u8>,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A sample.
    Sample(Sample),
    /// The number of records that did not fit.
    Lost(u64),
    /// A process or thread begins.
    Fork {
        /// The new one's process.
        pid: u32,
        /// Its parent's process.
        parent: u32,
        /// The new thread.
        tid: u32,
    },
    /// A thread ends.
    Exit {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// A process became another program.
    Exec {
        /// The process.
        pid: u32,
        /// Its short name from now on.
        name: String,
    },
    /// The kernel has given a process its vDSO.
    Vdso {
        /// The process.
        pid: u32,
        /// Its addresses.
        range: Range<u64>,
    },
    /// Any other record.
    Other,
}

/// Kinds of records (`enum perf_event_type`).
const MMAP: u32 = 1;
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_COMM_EXEC`, since 3.16.
const MISC_EXEC: u16 = 1 << 13;

/// Reads numbers off the front of a body.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*head))
    }

    /// A text until its end or a zero byte.
    fn text(&self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(self.0.get(..end).unwrap_or_default()).into_owned()
    }

    fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*head))
    }
}

/// Reads one record: its kind and flags from the header, and the bytes after the header. Samples
/// have the fields IP, TID, TIME, CPU, PERIOD, CALLCHAIN, `REGS_USER` ([`REGISTERS`]) and `STACK_USER`.
#[must_use]
pub fn parse(kind: u32, misc: u16, body: &[u8]) -> Option<Record> {
    let mut body = Cursor(body);
    match kind {
        SAMPLE => sample(&mut body).map(Record::Sample),
        LOST => {
            body.u64()?;
            Some(Record::Lost(body.u64()?))
        }
        COMM => {
            let pid = body.u32()?;
            if misc & MISC_EXEC == 0 {
                return Some(Record::Other);
            }
            body.u32()?;
            Some(Record::Exec { pid, name: body.text() })
        }
        MMAP => {
            let (pid, _tid) = (body.u32()?, body.u32()?);
            let (start, length, _offset) = (body.u64()?, body.u64()?, body.u64()?);
            Some(match body.text() == "[vdso]" {
                true => Record::Vdso { pid, range: start..start.checked_add(length)? },
                false => Record::Other,
            })
        }
        FORK | EXIT => {
            let (pid, parent, tid) = (body.u32()?, body.u32()?, body.u32()?);
            Some(if kind == FORK {
                Record::Fork { pid, parent, tid }
            } else {
                Record::Exit { pid, tid }
            })
        }
        _ => Some(Record::Other),
    }
}

fn sample(body: &mut Cursor<'_>) -> Option<Sample> {
    let mut sample = Sample { ip: body.u64()?, ..Sample::default() };
    sample.pid = body.u32()?;
    sample.tid = body.u32()?;
    sample.time = body.u64()?;
    sample.cpu = body.u32()?;
    body.u32()?;
    sample.period = body.u64()?;
    chain(body, &mut sample)?;
    let abi = body.u64()?;
    if abi != 0 {
        let mut values = [0; REGISTERS.count_ones() as usize];
        for value in &mut values {
            *value = body.u64()?;
        }
        let [bx, si, di, bp, sp, ip, r12, r13, r14, r15] = values;
        let kept = [bx, r12, r13, r14, r15];
        sample.narrow = abi == ABI_32;
        sample.registers = (abi == ABI_64).then_some(Registers { di, si, bp, sp, ip, kept });
    }
    let size = usize::try_from(body.u64()?).ok()?;
    if size > 0 {
        let (stack, rest) = body.0.split_at_checked(size)?;
        body.0 = rest;
        let filled = usize::try_from(body.u64()?).ok()?;
        sample.stack = stack.get(..filled)?.to_vec();
    }
    Some(sample)
}

fn chain(body: &mut Cursor<'_>, sample: &mut Sample) -> Option<()> {
    let count = usize::try_from(body.u64()?).ok().filter(|count| *count <= FRAMES)?;
    let mut user = false;
    for _ in 0..count {
        match body.u64()? {
            CONTEXT_USER => user = true,
            CONTEXT_KERNEL => user = false,
            marker if marker >= CONTEXT_MARKERS => {}
            address if user => sample.user.push(address),
            address => sample.kernel.push(address),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn halves(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    /// A sample as the kernel writes it: one kernel frame, two user frames, 16 bytes of stack of which
    /// 8 are filled.
    fn whole() -> Vec<u8> {
        let mut words = vec![0x1000, halves(7, 8), 99, halves(3, 0), 1_000_000];
        words.extend([5, CONTEXT_KERNEL, 0xffff_ffff_8100_0000, CONTEXT_USER, 0x1000, 0x2000]);
        words.extend([ABI_64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        words.extend([16, 0xaa, 0xbb, 8]);
        body(&words)
    }

    #[test]
    fn a_sample() {
        let Some(Record::Sample(sample)) = parse(SAMPLE, 2, &whole()) else {
            unreachable!("no sample")
        };
        assert_eq!((sample.pid, sample.tid, sample.cpu, sample.time), (7, 8, 3, 99));
        assert_eq!(sample.kernel, [0xffff_ffff_8100_0000]);
        assert_eq!(sample.user, [0x1000, 0x2000]);
        let registers = sample.registers.unwrap();
        assert_eq!((registers.si, registers.di, registers.bp), (2, 3, 4));
        assert_eq!((registers.sp, registers.ip, registers.kept), (5, 6, [1, 7, 8, 9, 10]));
        assert_eq!(sample.stack, 0xaau64.to_ne_bytes());
    }

    #[test]
    fn sample_of_a_32_bit_program_says_so() {
        let mut words = whole();
        let at = words.chunks(8).position(|word| word == ABI_64.to_ne_bytes()).unwrap();
        words[8 * at..8 * at + 8].copy_from_slice(&ABI_32.to_ne_bytes());
        let Some(Record::Sample(sample)) = parse(SAMPLE, 2, &words) else {
            unreachable!("no sample")
        };
        assert!(sample.narrow && sample.registers.is_none());
        assert_eq!(sample.stack, 0xaau64.to_ne_bytes());
    }

    #[test]
    fn truncated_record_is_not_a_sample() {
        let whole = whole();
        for end in 0..whole.len() {
            assert_eq!(parse(SAMPLE, 2, whole.get(..end).unwrap()), None, "{end}");
        }
    }

    #[test]
    fn other_records() {
        let fork = body(&[halves(7, 6), halves(8, 6), 0]);
        assert_eq!(parse(FORK, 0, &fork), Some(Record::Fork { pid: 7, parent: 6, tid: 8 }));
        assert_eq!(parse(EXIT, 0, &fork), Some(Record::Exit { pid: 7, tid: 8 }));
        assert_eq!(parse(COMM, MISC_EXEC, &[]), None);
        let mut comm = body(&[halves(7, 7)]);
        comm.extend(*b"sleep\0\0\0");
        let exec = Record::Exec { pid: 7, name: "sleep".to_owned() };
        assert_eq!(parse(COMM, MISC_EXEC, &comm), Some(exec));
        let mut map = body(&[halves(7, 7), 0x7000, 0x2000, 0]);
        map.extend(*b"[vdso]\0\0");
        assert_eq!(parse(MMAP, 0, &map), Some(Record::Vdso { pid: 7, range: 0x7000..0x9000 }));
        map.truncate(32);
        map.extend(*b"/bin/true\0");
        assert_eq!(parse(MMAP, 0, &map), Some(Record::Other));
        assert_eq!(parse(COMM, 0, &fork), Some(Record::Other));
        assert_eq!(parse(LOST, 0, &body(&[1, 5])), Some(Record::Lost(5)));
        assert_eq!(parse(99, 0, &[]), Some(Record::Other));
    }

    proptest! {
        #[test]
        fn any_bytes(kind in 0u32..12, misc: u16, body: Vec<u8>) {
            let _ = parse(kind, misc, &body);
        }

        #[test]
        fn damaged_samples(at in 0usize..200, value: u8) {
            let mut bytes = whole();
            let at = at % bytes.len();
            bytes[at] = value;
            if let Some(Record::Sample(sample)) = parse(SAMPLE, 0, &bytes) {
                prop_assert!(sample.stack.len() <= 16);
            }
        }
    }
}
