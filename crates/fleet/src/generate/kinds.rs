//! The machines and the faults of a synthetic fleet. Proportions are invented; the combinations are
//! real.

use serde_json::{Value, json};

/// A kind of machine.
pub(super) struct Kind {
    pub(super) weight: u64,
    pub(super) cpu: &'static str,
    pub(super) arch: &'static str,
    pub(super) hypervisor: &'static str,
    pub(super) kernels: &'static [&'static str],
    pub(super) clocksource: &'static str,
    pub(super) available: &'static [&'static str],
    /// Cost of a read through the vDSO.
    pub(super) ns: f64,
    /// Frequency of the TSC.
    pub(super) khz: u32,
    pub(super) hardware: Option<&'static str>,
    pub(super) scaling: bool,
    pub(super) invariant: bool,
}

const DEBIAN: &[&str] =
    &["6.1.0-50-amd64", "6.1.0-44-amd64", "6.12.117+deb13-amd64", "5.10.0-46-amd64"];
const RHEL: &[&str] =
    &["5.14.0-570.12.1.el9_6.x86_64", "4.18.0-553.el8_10.x86_64", "6.12.0-55.el10.x86_64"];
const CLOUD: &[&str] = &["6.8.0-1031-aws", "6.1.141-155.222.amzn2023.x86_64", "5.15.0-1084-aws"];
const AZURE: &[&str] = &["6.8.0-1029-azure", "6.11.0-1015-azure"];
const ARM: &[&str] = &["6.1.141-155.222.amzn2023.aarch64", "6.8.0-1031-aws"];

pub(super) const KINDS: &[Kind] = &[
    metal(2400, "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", DEBIAN, 21.0, 1_995_309, "vmx", true),
    metal(1500, "AMD EPYC 7763 64-Core Processor", DEBIAN, 24.0, 2_445_405, "svm", true),
    metal(1300, "AMD EPYC 9654 96-Core Processor", RHEL, 18.0, 2_396_000, "svm", true),
    metal(900, "Intel(R) Xeon(R) Platinum 8480+", RHEL, 19.0, 2_000_000, "vmx", true),
    metal(500, "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", DEBIAN, 27.0, 2_494_213, "vmx", false),
    metal(300, "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", RHEL, 30.0, 2_593_690, "vmx", false),
    Kind {
        weight: 1600,
        cpu: "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        arch: "x86_64",
        hypervisor: "KVM",
        kernels: CLOUD,
        clocksource: "tsc",
        available: &["tsc", "kvm-clock", "acpi_pm"],
        ns: 23.0,
        khz: 2_499_998,
        hardware: Some("vmx"),
        scaling: false,
        invariant: true,
    },
    Kind {
        weight: 500,
        cpu: "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz",
        arch: "x86_64",
        hypervisor: "Xen HVM",
        kernels: CLOUD,
        clocksource: "tsc",
        available: &["tsc", "xen", "hpet", "acpi_pm"],
        ns: 28.0,
        khz: 2_300_028,
        hardware: Some("vmx"),
        scaling: false,
        invariant: true,
    },
    Kind {
        weight: 600,
        cpu: "AMD EPYC 7763 64-Core Processor",
        arch: "x86_64",
        hypervisor: "Hyper-V",
        kernels: AZURE,
        clocksource: "hyperv_clocksource_tsc_page",
        available: &["hyperv_clocksource_tsc_page", "acpi_pm"],
        ns: 36.0,
        khz: 2_445_430,
        hardware: Some("svm"),
        scaling: false,
        invariant: false,
    },
    Kind {
        weight: 400,
        cpu: "Neoverse-N1",
        arch: "arm64",
        hypervisor: "KVM",
        kernels: ARM,
        clocksource: "arch_sys_counter",
        available: &["arch_sys_counter"],
        ns: 33.0,
        khz: 0,
        hardware: None,
        scaling: false,
        invariant: false,
    },
];

const fn metal(
    weight: u64,
    cpu: &'static str,
    kernels: &'static [&'static str],
    ns: f64,
    khz: u32,
    hardware: &'static str,
    scaling: bool,
) -> Kind {
    Kind {
        weight,
        cpu,
        arch: "x86_64",
        hypervisor: "none",
        kernels,
        clocksource: "tsc",
        available: &["tsc", "hpet", "acpi_pm"],
        ns,
        khz,
        hardware: Some(hardware),
        scaling,
        invariant: true,
    }
}

/// A fault, and its report.
pub(super) struct Fault {
    /// The number among 10 000 machines; the first kind has no fault.
    pub(super) weight: u64,
    pub(super) verdict: &'static str,
    pub(super) clocksource: &'static str,
    pub(super) vdso: bool,
    pub(super) ns: f64,
    /// The hypervisors on which it occurs.
    on: &'static [&'static str],
    /// Id and severity.
    causes: &'static [(&'static str, &'static str)],
    /// Id, layer, whether it is refused, how many of the causes it removes (from the first).
    remedies: &'static [(&'static str, &'static str, bool, usize)],
    /// The change that is advised first.
    pub(super) chosen: Option<&'static str>,
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        weight: 9300,
        verdict: "ok",
        clocksource: "",
        vdso: true,
        ns: 0.0,
        on: &[],
        causes: &[],
        remedies: &[],
        chosen: None,
    },
    Fault {
        weight: 260,
        verdict: "slow",
        clocksource: "hpet",
        vdso: false,
        ns: 1350.0,
        on: &["none"],
        causes: &[("watchdog-at-fault", "warning")],
        remedies: &[
            ("switch-to-tsc-now", "runtime", false, 1),
            ("keep-tsc-at-boot", "boot", false, 1),
            ("cheaper-reads", "program", false, 1),
        ],
        chosen: Some("switch-to-tsc-now"),
    },
    Fault {
        weight: 90,
        verdict: "slow",
        clocksource: "hpet",
        vdso: false,
        ns: 1420.0,
        on: &["none"],
        causes: &[("tsc-warp", "warning"), ("cmdline-parameter-ignored", "warning")],
        remedies: &[
            ("switch-to-tsc-now", "runtime", true, 1),
            ("cheaper-reads", "program", false, 1),
            ("update-firmware", "firmware", false, 1),
        ],
        chosen: Some("update-firmware"),
    },
    Fault {
        weight: 150,
        verdict: "slow",
        clocksource: "acpi_pm",
        vdso: false,
        ns: 2900.0,
        on: &["none", "KVM", "Hyper-V"],
        causes: &[("cmdline-clocksource-override", "warning")],
        remedies: &[("remove-parameter", "boot", false, 1)],
        chosen: Some("remove-parameter"),
    },
    Fault {
        weight: 120,
        verdict: "slow",
        clocksource: "xen",
        vdso: false,
        ns: 640.0,
        on: &["Xen HVM"],
        causes: &[("paravirt-clock-preferred", "warning")],
        remedies: &[
            ("switch-to-tsc-now", "runtime", false, 1),
            ("xen-native-tsc", "hypervisor", false, 1),
        ],
        chosen: Some("switch-to-tsc-now"),
    },
    Fault {
        weight: 30,
        verdict: "untrustworthy",
        clocksource: "tsc",
        vdso: true,
        ns: 24.0,
        on: &["none", "KVM"],
        causes: &[("verify-found-fault", "critical"), ("tsc-adjust-changed", "warning")],
        remedies: &[("update-firmware", "firmware", false, 2), ("tsc-reliable", "boot", true, 1)],
        chosen: Some("update-firmware"),
    },
    Fault {
        weight: 50,
        verdict: "slow",
        clocksource: "jiffies",
        vdso: false,
        ns: 190.0,
        on: &["none", "KVM"],
        causes: &[("no-tsc", "warning")],
        remedies: &[("tsc-reliable", "boot", true, 1)],
        chosen: None,
    },
];

impl Fault {
    pub(super) fn fits(&self, kind: &Kind) -> bool {
        kind.arch == "x86_64" && self.on.contains(&kind.hypervisor)
    }

    pub(super) fn causes(&self) -> Vec<Value> {
        self.causes
            .iter()
            .map(|(id, severity)| {
                json!({"id": id, "severity": severity, "confidence": "high",
                    "summary": format!("synthetic: {id}"),
                    "evidence": [{"source": "dmesg:1", "text": "synthetic"}]})
            })
            .collect()
    }

    pub(super) fn remedies(&self) -> Vec<Value> {
        self.remedies
            .iter()
            .map(|(id, layer, refused, answers)| {
                let answered: Vec<&str> = self.causes.iter().take(*answers).map(|c| c.0).collect();
                json!({"id": id, "layer": layer, "summary": format!("synthetic: {id}"),
                    "risk": "none, it is synthetic", "commands": ["true"], "settings": [],
                    "instructions": [], "parameters": {"add": [], "remove": []},
                    "refused_because": refused.then_some("it is synthetic"), "for": answered,
                    "source": "synthetic"})
            })
            .collect()
    }
}
