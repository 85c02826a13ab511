//! Warnings that servers print about the clocksource when they start, and the rule behind each.

use super::{Judged, MEASURE, SHOW_CURRENT, Weight};
use clocksmith_facts::symptom::{Rule, Symptom, Warning};

pub(super) fn judge(symptom: &Symptom, warning: &Warning) -> Judged {
    let product = warning.product;
    let named =
        warning.current.as_deref().map_or_else(String::new, |name| format!(" (current: {name})"));
    match warning.rule {
        Rule::Passed => Judged::new(symptom, format!("{product}: [slow-clocksource] OK"))
            .proves(
                "less than a tenth of the CPU time of its loop of reads was spent in the kernel",
                "whether that is also true at other times",
                MEASURE,
            )
            .weighs(Weight::Fast, format!("{product} found that reads of the time stay in user space.")),
        Rule::KernelTime => Judged::new(symptom, format!("{product} warns of a slow clocksource{named}"))
            .proves(
                "more than a tenth of the CPU time of its loop of reads was spent in the kernel",
                "whether the reads caused that: on a busy machine interrupts can, and the warning \
                 is then false",
                MEASURE,
            )
            .weighs(
                Weight::PerhapsSlow,
                format!("{product} warns that reads of the time enter the kernel. On a busy machine the warning \
                         may be false."),
            ),
        Rule::Name => Judged::new(symptom, format!("{product} warns of the clocksource's name{named}"))
            .proves(
                "the clocksource was not tsc when the server started. ClickHouse before 22.10 also warns of kvm-clock, \
                 although its reads are fast on most hosts",
                "which clocksource it is, and whether its reads are slow: the rule looks only at \
                 the name",
                SHOW_CURRENT,
            )
            .weighs(
                Weight::Nothing,
                format!("{product} warns because the clocksource was not called tsc, which by \
                         itself does not prove that reads are slow."),
            ),
        Rule::NotFast => Judged::new(symptom, format!("{product} warns of the clocksource's name{named}"))
            .proves(
                "the clocksource was none of tsc, kvm-clock and arch_sys_counter when the server started. Of the others \
                 hpet and acpi_pm are slow, hyperv_clocksource_tsc_page is fast, and xen depends on the host",
                "which clocksource it is, and whether its reads are slow: the rule looks only at \
                 the name",
                SHOW_CURRENT,
            )
            .weighs(
                Weight::Nothing,
                format!(
                    "{product} warns because the clocksource was none of tsc, kvm-clock and arch_sys_counter; not all \
                     others are slow."
                ),
            ),
        Rule::Xen => Judged::new(symptom, format!("{product} warns of the clocksource xen"))
            .proves(
                "xen is in use. Its reads are system calls before 4.15 and on hosts without the stable bit, as on EC2",
                "whether they are system calls here",
                MEASURE,
            )
            .weighs(Weight::PerhapsSlow, format!("{product} warns of the clocksource xen, whose reads may enter the kernel.")),
    }
}
