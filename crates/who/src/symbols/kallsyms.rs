//! The kernel's functions: `/proc/kallsyms`. Pure.

use crate::classify::KernelCall;
use crate::clock::{Api, syscall_of};

/// Functions in order of addresses.
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    names: String,
    /// Address, and the place of the name in `names`.
    at: Vec<(u64, u32, u32)>,
}

impl KernelSymbols {
    /// Reads the file's text. If the kernel hides addresses (`kptr_restrict`), all are 0 and no
    /// symbol is known.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut symbols = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Some(address) = u64::from_str_radix(address, 16).ok().filter(|a| *a != 0) else {
                continue;
            };
            let (Ok(from), Ok(length)) =
                (u32::try_from(symbols.names.len()), u32::try_from(name.len()))
            else {
                break;
            };
            if matches!(kind, "t" | "T" | "w" | "W") {
                symbols.names.push_str(name);
                symbols.at.push((address, from, length));
            }
        }
        symbols.at.sort_unstable();
        symbols
    }

    /// Returns whether no symbol is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The names at the function around an address: several if functions begin at one place.
    fn names(&self, address: u64) -> impl Iterator<Item = &str> {
        let after = self.at.partition_point(|(begin, ..)| *begin <= address);
        let begin = after.checked_sub(1).and_then(|last| self.at.get(last)).map(|(at, ..)| *at);
        self.at
            .get(..after)
            .unwrap_or_default()
            .iter()
            .rev()
            .take_while(move |(at, ..)| Some(*at) == begin)
            .filter_map(|(_, from, length)| {
                let from = *from as usize;
                self.names.get(from..from + *length as usize)
            })
    }

    /// The function around an address.
    #[must_use]
    pub fn name(&self, address: u64) -> Option<&str> {
        self.names(address).next()
    }

    /// Returns the system call that kernel frames show, innermost first.
    #[must_use]
    pub fn call(&self, frames: &[u64]) -> KernelCall {
        let mut call = KernelCall::None;
        for frame in frames {
            for name in self.names(*frame) {
                if let Some(api) = Api::of_kernel_symbol(name) {
                    return KernelCall::Clock(api);
                }
                if syscall_of(name).is_some() {
                    call = KernelCall::Other;
                }
            }
        }
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81001000 t acpi_pm_read\t[a_module]
ffffffff81002000 T __x64_sys_clock_gettime
ffffffff81002000 T __ia32_sys_clock_gettime
ffffffff81003000 T __x64_sys_read
ffffffff81004000 D data
";

    #[test]
    fn frames() {
        let symbols = KernelSymbols::parse(TEXT);
        assert_eq!(symbols.name(0xffff_ffff_8100_1010), Some("acpi_pm_read"));
        assert_eq!(symbols.name(5), None);
        let clock = KernelCall::Clock(Api::ClockGettime);
        assert_eq!(symbols.call(&[0xffff_ffff_8100_1010, 0xffff_ffff_8100_2abc]), clock);
        assert_eq!(symbols.call(&[0xffff_ffff_8100_3abc]), KernelCall::Other);
        assert_eq!(symbols.call(&[0xffff_ffff_8100_0001]), KernelCall::None);
    }

    #[test]
    fn hidden_addresses_are_not_knowledge() {
        assert!(KernelSymbols::parse("0000000000000000 T _stext\n").is_empty());
    }

    proptest! {
        #[test]
        fn any_text(text: String, address: u64) {
            let symbols = KernelSymbols::parse(&text);
            let _ = symbols.call(&[address]);
        }
    }
}
