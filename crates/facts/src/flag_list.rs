//! Lists of flags in pasted texts, which may be truncated: whether a list proves that a processor lacks a flag.
//!
//! The kernel prints the flags in the order of its feature words (`x86_cap_flags[]` in arch/x86/kernel/cpu/capflags.c,
//! `show_cpuinfo()`), so a flag of a later word shows that the list contains all earlier words.

use crate::cpu::Flags;

/// Flags of the words up to the fifth are those about the TSC, except `tsc_adjust`; these are of
/// later words.
const LATER: [&str; 53] = [
    "lahf_lm",
    "cmp_legacy",
    "svm",
    "extapic",
    "cr8_legacy",
    "abm",
    "sse4a",
    "misalignsse",
    "3dnowprefetch",
    "osvw",
    "ibs",
    "xop",
    "skinit",
    "wdt",
    "fma4",
    "tce",
    "nodeid_msr",
    "topoext",
    "perfctr_core",
    "perfctr_nb",
    "bpext",
    "perfctr_llc",
    "mwaitx",
    "ida",
    "arat",
    "cpuid_fault",
    "cpb",
    "epb",
    "hw_pstate",
    "invpcid_single",
    "kaiser",
    "pti",
    "ssbd",
    "ibrs",
    "ibpb",
    "stibp",
    "ibrs_enhanced",
    "tpr_shadow",
    "vnmi",
    "flexpriority",
    "ept",
    "vpid",
    "vmmcall",
    "npt",
    "fsgsbase",
    "tsc_adjust",
    "bmi1",
    "avx2",
    "smep",
    "bmi2",
    "erms",
    "smap",
    "xsaveopt",
];

/// Flags at the end of the lists of many processors.
const LAST: [&str; 34] = [
    "xtpr",
    "hypervisor",
    "dts",
    "dtherm",
    "pln",
    "pts",
    "hwp",
    "hwp_notify",
    "hwp_act_window",
    "hwp_epp",
    "hwp_pkg_req",
    "md_clear",
    "flush_l1d",
    "arch_capabilities",
    "serialize",
    "amx_int8",
    "arch_lbr",
    "overflow_recov",
    "succor",
    "smca",
    "sme",
    "sev",
    "sev_es",
    "fsrm",
    "debug_swap",
    "lbrv",
    "svm_lock",
    "nrip_save",
    "pausefilter",
    "pfthreshold",
    "vgif",
    "umip",
    "rdpid",
    "arch_perfmon",
];

/// Characters of `flags\t\t: `; `TABS_TAKE` is the number that a terminal adds for its tabs.
const BEGIN_AT: usize = "flags\t\t: ".len();
/// See `BEGIN_AT`.
const TABS_TAKE: usize = "flags           : ".len() - BEGIN_AT;
/// Widths of terminals, and of lines that programs cut, besides the round ones.
const CUT_AT: [usize; 10] = [96, 128, 132, 158, 211, 237, 255, 256, 511, 512];

/// The extent to which a list of flags proves that a processor lacks a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The list ends too early: flags that it lacks are open.
    Short,
    /// The list has all words about the TSC, and may be truncated after them: a missing `tsc_adjust` is open.
    Decisive,
    /// Nothing suggests that it was cut.
    Whole,
}

/// The reach of a list in a text whose longest other line has `longest_other` characters: if another line is longer,
/// the list was not truncated at this length.
pub(crate) fn reach(list: &str, longest_other: usize) -> Reach {
    let list = list.trim();
    if !Flags::go_past_long_mode(list) {
        return Reach::Short;
    }
    let width = BEGIN_AT + list.len();
    // Also with the tabs of the name as a terminal shows them, and with the blanks of lscpu.
    let at_width =
        |width: usize| CUT_AT.contains(&width) || width <= 200 && width.is_multiple_of(10);
    let at_border = [width, width + TABS_TAKE].into_iter().any(at_width);
    let mut flags: Vec<&str> = list.split_ascii_whitespace().collect();
    let last = flags.pop().unwrap_or_default();
    let is_flag = LAST.contains(&last) || LATER.contains(&last);
    if !at_border && is_flag && longest_other > width + TABS_TAKE {
        return Reach::Whole;
    }
    match flags.iter().any(|flag| LATER.contains(flag)) {
        true => Reach::Decisive,
        false => Reach::Short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse \
                         sse2 ht syscall nx lm";

    #[test]
    fn list_that_may_be_cut_anywhere_does_not_show_what_is_lacking() {
        // At any width, and in the middle of a word or between two.
        for cut in
            ["", " cons", " constant_tsc", " constant_tsc rep_good nopl", " constant_tsc pni xtpr"]
        {
            let list = format!("{FIRST}{cut}");
            assert_eq!(reach(&list, 0), Reach::Short, "{cut}");
        }
        assert_eq!(reach(&format!("{FIRST} constant_tsc nons"), 1000), Reach::Short);
    }

    #[test]
    fn list_that_goes_past_the_words_about_the_tsc_decides_them() {
        let list = format!("{FIRST} constant_tsc rep_good nopl pni cx16 lahf_lm ept vp");
        assert_eq!(reach(&list, 0), Reach::Decisive);
        assert_eq!(reach(&format!("{list}id"), 0), Reach::Decisive);
    }

    #[test]
    fn list_beside_a_longer_line_is_whole() {
        let list = format!("{FIRST} constant_tsc rep_good nopl pni cx16 xtpr");
        assert_eq!(reach(&list, 1000), Reach::Whole);
        assert_eq!(reach(&list, list.len() - 20), Reach::Short);
    }
}
