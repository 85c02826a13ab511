//! Remedies for the wall clock, by time daemon and by hypervisor: the advice, and the condition of each.

use super::offer::Offer;
use super::table::Advice;
use super::{Layer, Plan};
use crate::CauseId as C;
use crate::wall::wrong_rate;
use clocksmith_facts::Fact;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::wall::{PtpClock, Role, TimeSource, What};

/// Set the wall clock once.
pub(crate) const STEP_NOW: Advice = Advice {
    id: "wall-step-now",
    layer: Layer::Runtime,
    summary: "let the time daemon set the wall clock at once",
    risk: "the time jumps: programs that measure with CLOCK_REALTIME, leases and databases notice it",
    source: "chronyc(1), makestep; systemd-timesyncd.service(8); ntpd(8), -g",
    offer: step_now,
};

/// Allow steps at any time.
pub(crate) const STEP_ALWAYS: Advice = Advice {
    id: "wall-step-always",
    layer: Layer::Runtime,
    summary: "allow chrony to set the clock at any time, not only in its first updates: otherwise \
              the clock of a guest that is restored later is slewed, which takes hours",
    risk: "a wrong time source moves the clock at once; keep the default for databases that do not tolerate steps",
    source: "chrony.conf(5), makestep: a negative limit allows it in all updates \
             (github.com/mlichvar/chrony, 2026-06)",
    offer: step_always,
};

/// Follow the host's clock by KVM's PTP clock.
pub(crate) const HOST_CLOCK: Advice = Advice {
    id: "wall-host-clock",
    layer: Layer::Runtime,
    summary: "let chrony follow the host's clock (ptp_kvm): it needs no network and is correct \
              within seconds after each resume",
    risk: "the guest is as accurate as its host: keep the host synchronised",
    source: "Firecracker FAQ.md, \"My guest wall-clock is drifting\" \
             (github.com/firecracker-microvm/firecracker, 2026-08); \
             drivers/ptp/ptp_kvm_common.c (x86 4.11, arm64 5.13)",
    offer: host_clock,
};

/// Follow the host's clock on Hyper-V and Azure.
pub(crate) const HYPERV_CLOCK: Advice = Advice {
    id: "wall-hyperv-clock",
    layer: Layer::Runtime,
    summary: "let chrony follow the host's clock (/dev/ptp_hyperv), which Hyper-V and Azure give to their guests",
    risk: "the guest is as accurate as its host; do not prefer another time source to it",
    source: "Microsoft, Time sync for Linux VMs in Azure \
             (learn.microsoft.com/azure/virtual-machines/linux/time-sync, read 2026); drivers/hv/hv_util.c",
    offer: hyperv_clock,
};

/// VMware Tools.
pub(crate) const VMWARE_TOOLS: Advice = Advice {
    id: "wall-vmware-tools",
    layer: Layer::Hypervisor,
    summary: "VMware Tools set the clock after a resume and after a snapshot is reverted: run \
              vmtoolsd, and leave time.synchronize.continue, .restore, .resume.disk on in the .vmx \
              file; for everything else use only NTP",
    risk: "the clock is set forward in one step",
    source: "VMware Tools 12.4.0, Configuring Time Synchronization (read 2026); Broadcom KB 310053, Timekeeping best practices for \
             Linux guests (knowledge.broadcom.com/external/article/310053, read 2026)",
    offer: vmware_tools,
};

/// Firecracker's load request.
pub(crate) const FIRECRACKER_LOAD: Advice = Advice {
    id: "wall-firecracker-load",
    layer: Layer::Hypervisor,
    summary: "Firecracker 1.16 and later on hosts with Linux 5.16 and later: load the snapshot with \
              clock_realtime, which advances the clock of a guest on kvm-clock by the time that has \
              passed",
    risk: "the guest's clocks, including CLOCK_MONOTONIC, appear to jump; a guest on tsc gains nothing by it",
    source: "Firecracker CHANGELOG, 1.16.0, and docs/snapshotting/snapshot-support.md \
             (github.com/firecracker-microvm/firecracker, 2026-08)",
    offer: firecracker_load,
};

/// The guest agent.
pub(crate) const GUEST_AGENT: Advice = Advice {
    id: "wall-guest-agent",
    layer: Layer::Hypervisor,
    summary: "let the host set the guest's clock after each resume, through QEMU's guest agent",
    risk: "the time jumps once; between two resumes nothing corrects the clock",
    source: "virsh(1), domtime --sync; QEMU Guest Agent Protocol Reference, guest-set-time (9.2, 2025)",
    offer: guest_agent,
};

/// WSL.
pub(crate) const WSL_CLOCK: Advice = Advice {
    id: "wall-wsl",
    layer: Layer::Runtime,
    summary: "WSL: set the clock from the emulated real-time clock, and run a time daemon in the \
              distribution",
    risk: "systemd-timesyncd does not start in virtual machines of this kind unless its unit's ConditionVirtualization= is \
           cleared; wsl --shutdown ends all distributions",
    source: "github.com/microsoft/WSL/issues/8204 (2023) and 10006 (2023 to 2026)",
    offer: wsl_clock,
};

/// Docker Desktop and other machines on a desktop.
pub(crate) const DESKTOP_VM: Advice = Advice {
    id: "wall-desktop-vm",
    layer: Layer::Hypervisor,
    summary: "Docker Desktop and similar: the virtual machine was stopped while the computer slept; restart it, or set its \
              clock",
    risk: "a restart ends all containers",
    source: "github.com/docker/for-mac/issues/17 (2016) and 2076 (2017); github.com/docker/for-win/issues/5131 \
             (2019)",
    offer: desktop_vm,
};

/// Ask the daemon why.
pub(crate) const ASK_THE_DAEMON: Advice = Advice {
    id: "wall-ask-the-daemon",
    layer: Layer::Runtime,
    summary: "query the time daemon for the reason why it does not synchronise: usually none of its servers \
              answers",
    risk: "none: this only queries it",
    source: "chronyc(1), sources and tracking; ntpq(1); timedatectl(1)",
    offer: ask_the_daemon,
};

/// A rate that no time daemon can correct.
pub(crate) const COUNTER_RATE: Advice = Advice {
    id: "wall-counter-rate",
    layer: Layer::Runtime,
    summary: "find out whether the kernel uses a wrong frequency for the counter: if so, the offset stops growing with \
              another clocksource. Time servers that answer are not at fault",
    risk: "hpet and acpi_pm are read by system calls, many times slower, until the next boot or until tsc is written back",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, clocksource= and tsc_early_khz= (5.8 and later); \
             arch/x86/kernel/tsc.c, tsc_refine_calibration_work() (6.12, 2024)",
    offer: counter_rate,
};

/// Start a time daemon.
pub(crate) const START_A_DAEMON: Advice = Advice {
    id: "wall-start-a-daemon",
    layer: Layer::Runtime,
    summary: "run one time daemon",
    risk: "at its start it may set the clock by a step",
    source: "timedatectl(1), set-ntp",
    offer: start_a_daemon,
};

/// Stop all time daemons but one.
pub(crate) const ONE_MASTER: Advice = Advice {
    id: "wall-one-master",
    layer: Layer::Runtime,
    summary: "keep one master, and stop the others",
    risk: "the clock is set in one step when the remaining master corrects the offset that the \
           other one left",
    source: "VMware Tools 12.4.0, Configuring Time Synchronization: only one form of periodic time synchronization \
             (docs.vmware.com/en/VMware-Tools/12.4.0, read 2026)",
    offer: one_master,
};

fn keeps(plan: &Plan<'_>, name: &str) -> bool {
    let keepers = plan.case.facts.wall.keepers.value();
    keepers.is_some_and(|keepers| {
        keepers.seen.iter().any(|keeper| keeper.name == name && keeper.role != Role::Watches)
    }) || plan.case.facts.wall.source.value().is_some_and(|told| told.daemon == name)
}

fn stale(plan: &Plan<'_>) -> bool {
    plan.has(C::WallClockStaleAfterRestore)
}

/// Whether the hypervisor is VirtualBox, whose interfaces lack the hypercall and the channel that transfer the host's
/// time.
fn is_virtualbox(plan: &Plan<'_>) -> bool {
    let hypervisor = plan.case.facts.hypervisor.value().and_then(Option::as_ref);
    hypervisor.is_some_and(|it| it.virtualbox)
}

fn is_kvm(plan: &Plan<'_>) -> bool {
    let kvm = matches!(plan.case.hypervisor(), Some(HypervisorKind::Kvm | HypervisorKind::Tcg));
    kvm && !is_virtualbox(plan)
}

fn is_hyperv(plan: &Plan<'_>) -> bool {
    plan.case.hypervisor() == Some(HypervisorKind::Hyperv) && !is_virtualbox(plan)
}

fn is_wsl(plan: &Plan<'_>) -> bool {
    plan.case.facts.environment.wsl.value() == Some(&true)
}

/// Whether the kernel is of LinuxKit, which Docker Desktop's virtual machine uses.
fn is_linuxkit(plan: &Plan<'_>) -> bool {
    plan.case.facts.kernel.value().is_some_and(|kernel| kernel.release.contains("linuxkit"))
}

/// The path of chrony's configuration, in words.
const CHRONY_CONF: &str = "/etc/chrony.conf, or /etc/chrony/chrony.conf on Debian and Ubuntu";

/// An offset from which on a correction by the rate alone takes hours, in seconds.
const LONG_S: f64 = 1.0;

/// Whether a daemon follows its source and is far from it: it changes the rate of the clock instead of setting it.
fn slews(plan: &Plan<'_>) -> bool {
    let Fact::Known { value: told, source } = &plan.case.facts.wall.source else { return false };
    told.follows != Some(false)
        && told.ahead_s.is_some_and(|by| by.abs() >= LONG_S)
        && wrong_rate(told, source).is_none()
}

fn step_now(plan: &Plan<'_>) -> Option<Offer> {
    if plan.warns(C::WallClockUnsynchronised) && slews(plan) && keeps(plan, "chronyd") {
        let offer = Offer::saying(
            "set the wall clock at once: chronyd follows its source, but only changes the rate of the clock, which takes \
             hours for minutes of error",
        );
        return Some(offer.command("sudo chronyc makestep").setting(CHRONY_CONF, "makestep 1 -1"));
    }
    if !plan.warns(C::WallClockStaleAfterRestore) {
        return None;
    }
    if keeps(plan, "chronyd") {
        return Some(Offer::default().command("sudo chronyc makestep"));
    }
    if keeps(plan, "systemd-timesyncd") {
        return Some(Offer::default().command("sudo systemctl restart systemd-timesyncd"));
    }
    if keeps(plan, "ntpd") {
        let instruction =
            "restart ntpd: it sets the clock at its start (with -g, however far it is off)";
        return Some(Offer::default().instruction(instruction));
    }
    None
}

fn step_always(plan: &Plan<'_>) -> Option<Offer> {
    let config = plan.case.facts.wall.chrony.value();
    let steps = config.is_some_and(|config| config.steps_always() || config.includes);
    let offered = stale(plan) && keeps(plan, "chronyd") && !steps;
    offered.then(|| Offer::default().setting(CHRONY_CONF, "makestep 1 -1"))
}

/// The device of a PTP clock with this name.
fn ptp<'a>(plan: &Plan<'a>, name: &str) -> Option<&'a PtpClock> {
    plan.case.facts.wall.ptp.value()?.iter().find(|clock| clock.name == name)
}

/// Whether chrony already follows a PTP clock.
fn follows_phc(plan: &Plan<'_>) -> bool {
    plan.case.facts.wall.chrony.value().is_some_and(|config| !config.phc.is_empty())
}

fn host_clock(plan: &Plan<'_>) -> Option<Offer> {
    let wanted = stale(plan) || plan.warns(C::WallClockUnsynchronised);
    if !wanted || !is_kvm(plan) || follows_phc(plan) || is_wsl(plan) {
        return None;
    }
    let found = ptp(plan, "KVM virtual PTP");
    let device = found.map_or("ptp0", |clock| &clock.device);
    let offer = Offer::default()
        .setting(CHRONY_CONF, format!("refclock PHC /dev/{device} poll 2\nmakestep 1 -1"));
    Some(match found {
        Some(_) => offer.instruction("then restart chronyd"),
        None => offer.command("sudo modprobe ptp_kvm").instruction(
            "the kernel needs CONFIG_PTP_1588_CLOCK_KVM; the device is then /dev/ptp0, or has \
             another number; restart chronyd",
        ),
    })
}

fn hyperv_clock(plan: &Plan<'_>) -> Option<Offer> {
    let wanted = stale(plan) || plan.warns(C::WallClockUnsynchronised);
    if !wanted || !is_hyperv(plan) || follows_phc(plan) || is_wsl(plan) {
        return None;
    }
    let text = "refclock PHC /dev/ptp_hyperv poll 3 dpoll -2 offset 0 stratum 2\nmakestep 1.0 -1";
    Some(Offer::default().setting(CHRONY_CONF, text).instruction(
        "if udev makes no such link, the device is the one whose /sys/class/ptp/ptp*/clock_name is hyperv",
    ))
}

fn vmware_tools(plan: &Plan<'_>) -> Option<Offer> {
    let vmware = plan.case.hypervisor() == Some(HypervisorKind::Vmware);
    (stale(plan) && vmware).then(Offer::default)
}

fn firecracker_load(plan: &Plan<'_>) -> Option<Offer> {
    // Firecracker presents itself only as KVM; a change of the generation id, and firmware that does not name QEMU,
    // indicate it.
    let qemu = plan.case.facts.dmi.is_known();
    let offered =
        stale(plan) && is_kvm(plan) && !qemu && plan.case.current_name() == Some("kvm-clock");
    offered.then(|| {
        Offer::default().setting("PUT /snapshot/load, in the body", "\"clock_realtime\": true")
    })
}

fn guest_agent(plan: &Plan<'_>) -> Option<Offer> {
    (stale(plan) && is_kvm(plan) && keeps(plan, "qemu-ga"))
        .then(|| Offer::default().instruction("on the host: virsh domtime DOMAIN --sync"))
}

fn wsl_clock(plan: &Plan<'_>) -> Option<Offer> {
    (stale(plan) && is_wsl(plan)).then(|| {
        Offer::default()
            .command("sudo hwclock -s")
            .instruction("or, in Windows: wsl --shutdown; it starts with the correct time")
    })
}

fn desktop_vm(plan: &Plan<'_>) -> Option<Offer> {
    (stale(plan) && is_linuxkit(plan)).then(Offer::default)
}

/// Whether a daemon's figures show a rate that no daemon can correct, or an unstable one.
fn may_have_wrong_rate(plan: &Plan<'_>) -> bool {
    let Fact::Known { value: told, source } = &plan.case.facts.wall.source else { return false };
    wrong_rate(told, source).is_some() || told.unsteady_s.is_some() && told.follows != Some(true)
}

/// Whether sources of the daemon answer, according to its table, the source that it follows, or its findings.
fn sources_answer(told: &TimeSource) -> bool {
    match told.sources {
        Some((_, answering)) => answering > 0,
        None => {
            told.answering > 0
                || told.follows == Some(true)
                || !told.corrections.is_empty() && told.logged != Some(false)
        }
    }
}

fn counter_rate(plan: &Plan<'_>) -> Option<Offer> {
    if !plan.warns(C::WallClockUnsynchronised) || !may_have_wrong_rate(plan) {
        return None;
    }
    let listed = plan.case.facts.available_clocksources().unwrap_or_default();
    let other = ["hpet", "acpi_pm"].into_iter().find(|name| listed.iter().any(|one| one == name));
    let mut offer = Offer::default();
    if plan.case.current_name().is_none() {
        offer =
            offer.command("cat /sys/devices/system/clocksource/clocksource0/current_clocksource");
    }
    offer = offer.command("sudo dmesg | grep -i 'tsc.*MHz'");
    let test = "then compare the offset again, minutes later; if it no longer grows, keep that \
                clocksource with clocksource= on the kernel command line until the TSC's rate is \
                correct";
    match other {
        Some(name) => {
            offer = offer
                .command(format!(
                    "echo {name} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
                ))
                .instruction(test);
        }
        None => {
            offer = offer.instruction(format!(
                "write another name of available_clocksource into current_clocksource, {test}"
            ));
        }
    }
    if plan.case.in_guest() {
        offer = offer.instruction(
            "in a virtual machine the hypervisor states the frequency or provides a clock page: compare the \
             frequency with that in the host's own log, and ask the operator of the host",
        );
    }
    Some(offer.instruction(
        "a newer kernel may measure the TSC differently: boot one and look at \"Refined TSC\". \
         tsc_early_khz=KHZ (5.8 and later) states the frequency by hand; a wrong figure makes the \
         clock wrong by as much",
    ))
}

/// What is next where systemd-timesyncd has no server, or has one that does not answer.
fn of_timesyncd(told: Option<&TimeSource>) -> Offer {
    let log = "journalctl -u systemd-timesyncd";
    let nobody = told.is_some_and(|told| told.asks_nobody);
    if nobody && told.is_some_and(|told| told.has_servers) {
        return Offer::saying(
            "make sure that systemd-timesyncd detects the network: it has servers and asks none",
        )
        .command("networkctl")
        .command(log)
        .command("sudo systemctl restart systemd-timesyncd");
    }
    if nobody {
        return Offer::saying(
            "give systemd-timesyncd a server (NTP= in /etc/systemd/timesyncd.conf), and make sure \
                              that it detects the network",
        )
        .command("networkctl")
        .command(log)
        .command("sudo systemctl restart systemd-timesyncd");
    }
    Offer::saying("find out why the server of systemd-timesyncd does not answer: UDP port 123 out, and the answers in")
        .command(log)
        .command("sudo tcpdump -n udp port 123")
}

fn ask_the_daemon(plan: &Plan<'_>) -> Option<Offer> {
    let told = plan.case.facts.wall.source.value();
    let rate = matches!(&plan.case.facts.wall.source,
        Fact::Known { value, source } if wrong_rate(value, source).is_some());
    // The servers are not at fault.
    if !plan.warns(C::WallClockUnsynchronised) || rate {
        return None;
    }
    let commands = [
        ("chronyd", "chronyc sources -v"),
        ("ntpd", "ntpq -pn"),
        ("systemd-timesyncd", "timedatectl timesync-status"),
    ];
    let disagree = told.is_some_and(|told| told.sources_disagree() && told.follows != Some(true));
    let answer = told.is_some_and(sources_answer);
    let own_clock = told.is_some_and(|told| told.own_clock && told.follows == Some(true));
    let mut offer = match (disagree, answer) {
        _ if own_clock => Offer::saying(
            "give the time daemon a source of time: a server, the host's clock (ptp_kvm) or a \
             receiver. Following its own clock (local in chrony.conf) is only for the server of an \
             isolated network",
        )
        .risking("the wall clock moves to the time of the source")
        .citing("chrony.conf(5), local"),
        (true, _) => Offer::saying(
            "compare the time sources with a correct clock, and remove the wrong ones: they answer, \
             but disagree; with four or more, the daemon finds a wrong one by itself",
        )
        .risking("if the wrong source is left, the clock is set to its time")
        .citing("chronyc(1), sources: x; RFC 8633, 3.2, Use enough time sources (2019)"),
        (false, true) => Offer::saying(
            "query the time daemon for its state of each source: the sources answer, so no firewall blocks them",
        ),
        (false, false) => Offer::default(),
    };
    // A tool that could not reach its daemon says no more the second time.
    let is_down = |name: &str| {
        let down = |what: &What| matches!(what, What::NotRunning { .. } | What::Ended);
        told.is_some_and(|told| {
            told.remarks.iter().any(|one| one.program == name && down(&one.what))
        })
    };
    for (name, command) in commands.into_iter().filter(|(name, _)| keeps(plan, name)) {
        if is_down(name) {
            let says = "find out why the time daemon does not run, or why its tool cannot reach it, and start it";
            offer = Offer::saying(says)
                .command(format!("systemctl status {name}"))
                .command(format!("sudo journalctl -u {name}"));
            break;
        }
        // Its output is in the text: the log and the network show more.
        if name == "systemd-timesyncd" && told.is_some_and(|told| told.asks_nobody || told.asks_one)
        {
            offer = of_timesyncd(told);
            break;
        }
        offer = offer.command(command);
    }
    // A daemon that synchronises has nothing to say about why it does not.
    let fine = plan.case.facts.ntp.value().is_some_and(|kernel| kernel.synchronized);
    let unnamed = plan.case.facts.wall.ntp_service.value() == Some(&true) && !fine;
    if offer.commands.is_empty() && unnamed {
        offer = offer.command("timedatectl timesync-status").command("chronyc sources -v");
    }
    (!offer.commands.is_empty()).then_some(offer)
}

/// Whether a program ran into a wall clock that is wrong, and the text shows no time daemon.
fn is_wrong_by_programs(plan: &Plan<'_>) -> bool {
    let ran_into = |what: &What| {
        matches!(
            what,
            What::BehindAtLeast { .. }
                | What::Refused { .. }
                | What::NotYetValid { .. }
                | What::FilesOfTheFuture { .. }
        )
    };
    let facts = plan.case.facts;
    plan.has(C::WallClockUnsynchronised)
        && !facts.wall.keepers.is_known()
        && facts
            .wall
            .source
            .value()
            .is_some_and(|told| told.daemon.is_empty() && told.remarks_of(ran_into).count() > 0)
}

fn start_a_daemon(plan: &Plan<'_>) -> Option<Offer> {
    if is_wrong_by_programs(plan) {
        let offer = Offer::saying(
            "if date -u shows that this clock is wrong, set it, and let one time daemon synchronise it",
        );
        return Some(offer.command("sudo timedatectl set-ntp true").instruction(
            "chronyd sets it at once with: sudo chronyc makestep. A container has the clock of its \
             host, or of the virtual machine below it: set it there (Docker Desktop: restart it; \
             WSL: sudo hwclock -s)",
        ));
    }
    if plan.warns(C::WallClockUnsynchronised)
        && plan.case.facts.wall.ntp_service.value() == Some(&false)
        && !plan.case.facts.wall.keepers.is_known()
    {
        // It has no network, and takes its time from a qube.
        let is_dom0 = plan.case.facts.recognised.as_ref().is_some_and(|read| read.is_qubes_dom0);
        if is_dom0 {
            return None;
        }
        return Some(Offer::default().command("sudo timedatectl set-ntp true"));
    }
    let keepers = plan.case.facts.wall.keepers.value()?;
    let none = !keepers.seen.iter().any(|keeper| keeper.role == Role::Steers);
    (plan.warns(C::WallClockUnsynchronised) && keepers.all && none).then(|| {
        Offer::default().command("sudo timedatectl set-ntp true").instruction(
            "that starts the daemon that is installed: chrony or systemd-timesyncd; \
                          otherwise install chrony",
        )
    })
}

fn one_master(plan: &Plan<'_>) -> Option<Offer> {
    if !plan.warns(C::TwoMasters) {
        return None;
    }
    let offer = Offer::default();
    let tools = plan.case.facts.wall.tools.value().is_some_and(|tools| tools.steer);
    Some(if !tools && keeps(plan, "systemd-timesyncd") {
        offer.command("sudo systemctl disable --now systemd-timesyncd")
    } else if let Some(tools) = plan.case.facts.wall.tools.value().filter(|tools| tools.steer) {
        match tools.name {
            "VMware Tools" => offer.command("sudo vmware-toolbox-cmd timesync disable").instruction(
                "NTP remains; after a resume or a reverted snapshot, VMware Tools still set the \
                 clock",
            ),
            _ => offer.instruction("start VBoxService with --disable-timesync"),
        }
    } else if keeps(plan, "VBoxService") {
        offer.instruction("start VBoxService with --disable-timesync")
    } else {
        offer.instruction(
            "keep the one that the documentation of the others recommends: chronyd or \
                           ntpd with its own servers; phc2sys -E ntpshm passes a PTP clock to \
                           chronyd instead of steering the wall clock itself",
        )
    })
}
