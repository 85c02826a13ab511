//! The clocks at one moment, and the processes that synchronise them. Everything is read, nothing
//! is set.

use crate::apart;
use crate::given::{self, Kinds};
use crate::patient::Patience;
use crate::tree::{from_io, ways};
use crate::wall::{
    Clocks, HostClock, Keeper, Keepers, Role, Rtc, by_name, is_program, names_the_host,
};
use crate::{Missing, Why};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of processes.
const PROCESSES: usize = 65_536;
/// Bytes of a small file of `/proc` or sysfs.
const SMALL: u64 = 16 << 10;
/// Maximum number of PTP clocks.
const PTP_CLOCKS: usize = 16;
/// Number of readings of the host's clock; the one with the narrowest bounds is used.
const READINGS: usize = 5;
/// The capability that a process needs to set the clock: `CAP_SYS_TIME` of `<linux/capability.h>`.
const CAP_SYS_TIME: u32 = 25;
/// Milliseconds that all processes together may take beyond the usual time.
const PATIENCE_MS: u64 = 2_000;
/// The first id of ordinary users (`UID_MIN` of login.defs(5), and of containers' ids).
const FIRST_PERSON: u32 = 1000;
/// The inode of the initial PID namespace, `PROC_PID_INIT_INO` in `include/linux/proc_ns.h`.
const INITIAL_PID: &str = "pid:[4026531836]";

/// The clocks in the format of [`Clocks`]. `root`: the directory that contains `/sys` and `/etc`.
#[must_use]
pub fn clocks(root: &Path) -> String {
    let clocks = Clocks {
        realtime_ns: now(ClockId::Realtime),
        boottime_ns: now(ClockId::Boottime),
        monotonic_ns: now(ClockId::Monotonic),
        rtc: rtc(&root.join("sys/class/rtc"), &root.join("etc/adjtime")),
        host: host(&root.join("sys/class/ptp"), &devices(root)),
    };
    clocks.to_string()
}

/// The devices of the machine; a container without a mount of them may have its own.
fn devices(root: &Path) -> PathBuf {
    let devices = root.join("dev");
    if devices.is_dir() { devices } else { PathBuf::from("/dev") }
}

fn now(clock: ClockId) -> i64 {
    ns(clock_gettime(clock))
}

fn ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

fn small(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    given::open(path, Kinds::Regular)?.take(SMALL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = std::fs::read_dir(dir)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .take(PROCESSES)
        .collect();
    names.sort();
    Ok(names)
}

/// The real-time clock by which the kernel set its time (`hctosys`), otherwise the first one.
fn rtc(class: &Path, adjtime: &Path) -> Option<Rtc> {
    let clocks = names(class).ok()?;
    let sets = |name: &&String| {
        small(&class.join(name).join("hctosys")).is_ok_and(|text| text.trim() == "1")
    };
    let name = clocks.iter().find(sets).or_else(|| clocks.first())?;
    let dir = class.join(name);
    let seconds: i64 = small(&dir.join("since_epoch")).ok()?.trim().parse().ok()?;
    // It counts whole seconds: half a second is its mean error.
    let read = seconds.saturating_mul(1_000_000_000).saturating_add(500_000_000);
    let driver = small(&dir.join("name")).unwrap_or_default();
    let local = small(adjtime)
        .is_ok_and(|text| text.lines().nth(2).is_some_and(|line| line.trim() == "LOCAL"));
    Some(Rtc {
        name: driver.split_ascii_whitespace().next().unwrap_or(name).to_owned(),
        ahead_ns: read.saturating_sub(now(ClockId::Realtime)),
        local,
    })
}

/// The host's clock, if a PTP clock that hypervisors provide to guests shows it. Reading it changes nothing.
fn host(class: &Path, dev: &Path) -> Option<HostClock> {
    names(class).ok()?.into_iter().take(PTP_CLOCKS).find_map(|device| {
        let dir = class.join(&device);
        let name = small(&dir.join("clock_name")).ok()?;
        if !names_the_host(&name) {
            return None;
        }
        let number = small(&dir.join("dev")).ok()?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let place = dev.join(&device);
        let kind = rustix::fs::lstat(&place).ok()?;
        let shown =
            format!("{}:{}", rustix::fs::major(kind.st_rdev), rustix::fs::minor(kind.st_rdev));
        let is_it = FileType::from_raw_mode(kind.st_mode) == FileType::CharacterDevice
            && shown == number.trim();
        if !is_it {
            return None;
        }
        let file = rustix::fs::open(&place, flags, Mode::empty()).ok()?;
        let reading = || {
            let before = now(ClockId::Realtime);
            let host = clock_gettime_dynamic(DynamicClockId::Dynamic(file.as_fd())).ok()?;
            let after = now(ClockId::Realtime);
            let window_ns = after.saturating_sub(before).max(0);
            let middle = before.saturating_add(window_ns / 2);
            Some((window_ns, ns(host).saturating_sub(middle)))
        };
        let (window_ns, ahead_ns) = (0..READINGS).filter_map(|_| reading()).min()?;
        Some(HostClock { device, ahead_ns, window_ns })
    })
}

/// The programs that keep the time, in the format of [`Keepers`]. `root`: the directory that contains `/proc` and
/// `/sys`.
///
/// # Errors
/// Returns the reason if `/proc` does not show processes.
pub fn keepers(root: &Path) -> Result<String, Missing> {
    let mut found = processes(&root.join("proc"))?;
    if sets_by_hyperv(&root.join("sys/bus/vmbus")) {
        found.add(Keeper { name: crate::wall::HV_UTILS.to_owned(), role: Role::Sets });
    }
    Ok(found.to_string())
}

/// The processes that keep the time. All are seen only from the machine's initial PID namespace, with a `/proc` that
/// hides none: the namespace of PID 1 shows that.
fn processes(proc: &Path) -> Result<Keepers, Missing> {
    let at = || proc.display().to_string();
    let names = names(proc).map_err(|error| from_io(&error, at()))?;
    let pids: Vec<&String> =
        names.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect();
    if pids.is_empty() {
        return Err(Missing::new(Why::Absent, at()).how(ways::MOUNT_PROC));
    }
    let initial = std::fs::read_link(proc.join("self/ns/pid"))
        .is_ok_and(|target| target.as_os_str() == INITIAL_PID);
    let first = small(&proc.join("1/comm")).is_ok();
    let own = std::fs::read_link(proc.join("self/ns/user")).ok();
    let mut found = Keepers { all: initial && first, ..Keepers::default() };
    // Any user can make a read of their process block for ever.
    let pids: Vec<u32> = pids.into_iter().filter_map(|pid| pid.parse().ok()).collect();
    let answers = apart::each(&Patience::new(PATIENCE_MS), &pids, |pid| {
        let seen = keeper(&proc.join(pid.to_string()), own.as_deref()).into_iter().collect();
        Keepers { all: true, seen }.to_string().into_bytes()
    });
    for answer in answers {
        let keepers = answer.as_deref().map(String::from_utf8_lossy);
        match keepers.and_then(|text| Keepers::parse(&text).ok()) {
            Some(keepers) => keepers.seen.into_iter().for_each(|keeper| found.add(keeper)),
            // It may be one that keeps the time.
            None => found.all = false,
        }
    }
    Ok(found)
}

/// The role of a process in timekeeping. `own`: the user namespace of this program.
fn keeper(dir: &Path, own: Option<&Path>) -> Option<Keeper> {
    // A process that has ended does not keep the time, and neither does a thread of the kernel.
    let comm = small(&dir.join("comm")).ok()?;
    let status = small(&dir.join("status")).unwrap_or_default();
    let kernel = status.lines().any(|line| line.strip_prefix("Kthread:\t") == Some("1"));
    let named = by_name(comm.trim_end_matches('\n'), &[]).is_some();
    if kernel || !named && allowed(Role::Sets, &status) == Role::Watches {
        return None;
    }
    // Capabilities in another user namespace do not apply to the clock (`do_adjtimex()`: `capable(CAP_SYS_TIME)`).
    let its = std::fs::read_link(dir.join("ns/user")).ok();
    let foreign = its.as_deref().zip(own).is_some_and(|(its, own)| its != own);
    // Arguments are read only of a process that can set the clock: in this user namespace, or, if this user may not
    // see the namespace, of the system's users.
    let system = || std::fs::metadata(dir).is_ok_and(|meta| meta.uid() < FIRST_PERSON);
    let here = !foreign && (its.is_some() || system());
    let able = here && allowed(Role::Sets, &status) != Role::Watches;
    let line = if able { small(&dir.join("cmdline")).unwrap_or_default() } else { String::new() };
    let arguments: Vec<&str> = line.split('\0').filter(|word| !word.is_empty()).collect();
    // A process with this name and without such a program is ignored here: its claims are
    // shown as seen, never obeyed.
    let comm = comm.trim_end_matches('\n');
    let program = std::fs::read_link(dir.join("exe")).ok();
    let file = program.as_ref().and_then(|program| program.file_name()?.to_str());
    let keeper =
        by_name(comm, &arguments).filter(|_| file.is_none_or(|file| is_program(comm, file)))?;
    let role = if foreign { Role::Watches } else { allowed(keeper.role, &status) };
    Some(Keeper { role, ..keeper })
}

/// The abilities of a process according to its `/proc/PID/status`: without the capability it cannot change the clock;
/// and in another PID namespace, a container, its capabilities may be those of a user namespace, which do not apply.
fn allowed(role: Role, status: &str) -> Role {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let able = field("CapEff:")
        .and_then(|text| u64::from_str_radix(text, 16).ok())
        .is_none_or(|set| set >> CAP_SYS_TIME & 1 == 1);
    let inside = field("NSpid:").is_some_and(|pids| pids.split_ascii_whitespace().count() > 1);
    match role {
        Role::Watches => Role::Watches,
        _ if !able => Role::Watches,
        _ if inside => Role::Open,
        role => role,
    }
}

/// The class of the channel with which Hyper-V transfers the time: `HV_TS_GUID` in `include/linux/hyperv.h`.
const TIME_SYNC: &str = "{9527e630-d0ae-497b-adce-e80ab0175caf}";

fn sets_by_hyperv(bus: &Path) -> bool {
    let devices = bus.join("devices");
    names(&devices).unwrap_or_default().iter().any(|name| {
        let dir = devices.join(name);
        let class = small(&dir.join("class_id")).unwrap_or_default();
        let driver = std::fs::read_link(dir.join("driver")).unwrap_or_default();
        class.trim() == TIME_SYNC && driver.file_name().is_some_and(|name| name == "hv_utils")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn clocks_of_this_machine_are_read() {
        let clocks = Clocks::parse(&clocks(Path::new("/"))).unwrap();
        assert!(clocks.boottime_ns >= clocks.monotonic_ns - 1_000_000_000 && clocks.up_s() > 0.0);
    }

    #[test]
    fn keepers_of_this_machine_are_read() {
        Keepers::parse(&keepers(Path::new("/")).unwrap()).unwrap();
    }

    #[test]
    fn processes_are_seen_by_name_and_capability() {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path();
        put(proc, "1/comm", "systemd\n");
        put(proc, "700/comm", "chronyd\n");
        put(proc, "700/cmdline", "/usr/sbin/chronyd\0-F\x001\0");
        put(proc, "700/status", "Name:\tchronyd\nCapEff:\t0000000002000400\nNSpid:\t700\n");
        put(proc, "701/comm", "systemd-timesyn\n");
        put(proc, "701/status", "CapEff:\t0000000000000000\nNSpid:\t701\n");
        put(proc, "702/comm", "ntpd\n");
        put(proc, "702/status", "CapEff:\t000001ffffffffff\nNSpid:\t702 1\n");
        // A link to a program that runs as root has the name of the link.
        put(proc, "703/comm", "ntpd\n");
        put(proc, "703/status", "CapEff:\t000001ffffffffff\nNSpid:\t703\n");
        std::os::unix::fs::symlink("/usr/bin/su", proc.join("703/exe")).unwrap();
        std::os::unix::fs::symlink("/usr/sbin/chronyd", proc.join("700/exe")).unwrap();
        put(proc, "version", "Linux\n");
        let found = processes(proc).unwrap();
        let roles: Vec<(&str, Role)> =
            found.seen.iter().map(|keeper| (keeper.name.as_str(), keeper.role)).collect();
        let expected =
            [("chronyd", Role::Steers), ("ntpd", Role::Open), ("systemd-timesyncd", Role::Watches)];
        assert_eq!(roles, expected);
        // This /proc has no namespaces: other processes may be hidden.
        assert!(!found.all);
        assert_eq!(processes(&proc.join("700")).unwrap_err().why, Why::Absent);
    }

    #[test]
    fn rtc_is_the_one_that_set_the_clock() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "rtc0/name", "other\n");
        put(dir.path(), "rtc0/hctosys", "0\n");
        put(dir.path(), "rtc0/since_epoch", "5\n");
        put(dir.path(), "rtc1/name", "rtc_cmos 00:03\n");
        put(dir.path(), "rtc1/hctosys", "1\n");
        let ahead = now(ClockId::Realtime) / 1_000_000_000 + 60;
        put(dir.path(), "rtc1/since_epoch", &format!("{ahead}\n"));
        let rtc = rtc(dir.path(), &dir.path().join("adjtime")).unwrap();
        assert_eq!(rtc.name, "rtc_cmos");
        assert!((50_000_000_000..61_000_000_000).contains(&rtc.ahead_ns), "{rtc:?}");
    }

    #[test]
    fn host_clock_is_not_another_file() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "class/ptp0/clock_name", "KVM virtual PTP\n");
        put(dir.path(), "class/ptp0/dev", "248:0\n");
        put(dir.path(), "dev/ptp0", "x");
        assert_eq!(host(&dir.path().join("class"), &dir.path().join("dev")), None);
    }

    #[test]
    fn hyperv_sets_the_clock_where_its_channel_has_a_driver() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "devices/a/class_id", &format!("{TIME_SYNC}\n"));
        assert!(!sets_by_hyperv(dir.path()));
        let link = dir.path().join("devices/a/driver");
        std::os::unix::fs::symlink("../../drivers/hv_utils", link).unwrap();
        assert!(sets_by_hyperv(dir.path()));
    }
}
