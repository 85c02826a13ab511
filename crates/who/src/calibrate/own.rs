//! The cost of a read through the vDSO that `clocksmith run` gives a program: measured with the same image and the
//! settings of that program, in this process.

use super::span::Span;
use crate::recording::Own;
use crate::watched::Ours;
use crate::watched::ours::Settings;
use clocksmith_measure::loops::{self, Function};
use clocksmith_measure::sampler::Sampler;
use clocksmith_raw::IMAGE;
use clocksmith_raw::layout::{
    BY_CALL, Config, FRONT, FSGSBASE, MAGIC, Mode, ORDERED, Original, PAGE,
};
use clocksmith_raw::vdso_elf;
use std::ptr::NonNull;
use std::time::Duration;

/// How long one measurement takes.
const BUDGET: Duration = Duration::from_millis(30);
/// A longer read is not tried: its cost is taken from the settings.
const LONG_NS: f64 = 200_000.0;

/// The costs, measured once for each kind of settings.
#[derive(Debug, Default)]
pub struct OwnCosts {
    known: Vec<(Settings, Own)>,
}

impl OwnCosts {
    /// The clock of a program, with its costs.
    pub fn of(&mut self, ours: Option<&Ours>) -> Option<Own> {
        let settings = ours?.settings;
        let clock = settings.clock()?;
        // Programs that were started at different times have slightly different rates.
        let alike = |known: &Settings| Settings { rate: settings.rate, ..*known } == settings;
        if let Some((_, own)) = self.known.iter().find(|(known, _)| alike(known)) {
            return Some(*own);
        }
        let stated = settings.ns(settings.least).max(settings.ns(settings.extra));
        let [clock_gettime, gettimeofday] = if stated > LONG_NS {
            [Some(Span::around(stated)); 2]
        } else {
            let measured = std::thread::Builder::new().spawn(move || measure(settings));
            measured.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
        };
        let own = Own { clock, clock_gettime, gettimeofday };
        self.known.push((settings, own));
        Some(own)
    }
}

fn measure(settings: Settings) -> [Option<Span>; 2] {
    let Some(loaded) = Loaded::new(settings) else { return [None; 2] };
    let clock = Some(libc::CLOCK_MONOTONIC);
    let mut subjects = Vec::new();
    // SAFETY: these are functions of the image with these names and signatures; it stays loaded until the loops have
    // run.
    unsafe {
        subjects.extend(loops::of_function("clock_gettime", loaded.clock_gettime, clock));
        subjects.extend(loops::of_function("gettimeofday", loaded.gettimeofday, None));
    }
    subjects.push(loops::empty());
    let sampled = Sampler { budget: BUDGET, ..Sampler::default() }.run(&mut subjects).samples;
    let cost = |name: &str| {
        let samples = sampled.iter().find(|samples| samples.name == name)?;
        samples.median().filter(|_| samples.is_measured())
    };
    let empty = cost("empty").unwrap_or(0.0);
    ["clock_gettime", "gettimeofday"].map(|name| {
        Some(Span::of_loops(cost(&loops::apart(name))?, empty, cost(&loops::chained(name))?))
    })
}

/// The image in this process.
struct Loaded {
    base: NonNull<u8>,
    length: usize,
    clock_gettime: Function,
    gettimeofday: Function,
}

impl Loaded {
    fn new(settings: Settings) -> Option<Self> {
        let image = IMAGE?;
        let exports = vdso_elf::exports(image).ok()?;
        let offset = |name| usize::try_from(vdso_elf::function(&exports, name)?).ok();
        let offsets = (offset("clock_gettime")?, offset("gettimeofday")?);
        let config = config(settings)?;
        let length = FRONT + image.len().next_multiple_of(PAGE);
        // SAFETY: new memory at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = NonNull::new(base.cast::<u8>())?;
        // SAFETY: the settings fit into the first page, and the image into the pages after the front, by the length
        // above; the memory is new, so nothing else refers to it. Both offsets are of functions of the image, which
        // it exports as the kernel's vDSO does, with at most two words as arguments.
        let loaded = unsafe {
            base.cast::<Config>().write(config);
            let code = base.add(FRONT);
            std::ptr::copy_nonoverlapping(image.as_ptr(), code.as_ptr(), image.len());
            Self {
                base,
                length,
                clock_gettime: std::mem::transmute::<*const u8, Function>(
                    code.add(offsets.0).as_ptr(),
                ),
                gettimeofday: std::mem::transmute::<*const u8, Function>(
                    code.add(offsets.1).as_ptr(),
                ),
            }
        };
        // SAFETY: the pages of the image in the memory above.
        let protected = unsafe {
            libc::mprotect(
                base.add(FRONT).as_ptr().cast(),
                length - FRONT,
                libc::PROT_READ | libc::PROT_EXEC,
            )
        };
        (protected == 0).then_some(loaded)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped in `new` with this length, and its functions are no longer
        // called.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The settings for this process: the numbers of the program, and the functions of this process's kernel vDSO.
fn config(settings: Settings) -> Option<Config> {
    let text = crate::watched::guard::text("/proc/self/maps", u64::MAX)?;
    let maps = crate::watched::maps::parse(&text);
    let begin = maps.iter().find(|mapping| mapping.name == "[vdso]")?.range.start;
    let image = crate::watched::vdso::own_image()?;
    let exports = vdso_elf::exports(&image).ok()?;
    let address = |name| vdso_elf::function(&exports, name).map_or(0, |at| begin.wrapping_add(at));
    let flag = |set: bool, flag| if set { flag } else { 0 };
    let flags = flag(settings.ordered, ORDERED) | flag(settings.by_call, BY_CALL);
    let ns_in_cycles = |ns: u128| u64::try_from((ns << 48) / u128::from(settings.rate)).ok();
    Some(Config {
        magic: MAGIC,
        mode: match settings.mode {
            // These would count into memory that is not there.
            Mode::Count | Mode::Pass => Mode::Pass as u32,
            mode => mode as u32,
        },
        flags: flags & !FSGSBASE,
        original: Original {
            clock_gettime: address("clock_gettime"),
            gettimeofday: address("gettimeofday"),
            time: address("time"),
            getcpu: address("getcpu"),
            clock_getres: address("clock_getres"),
            getrandom: address("getrandom"),
        },
        rate: settings.rate,
        slack: ns_in_cycles(5_000)?,
        least: settings.least,
        extra: settings.extra,
        counts: 0,
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::watched::OwnClock;
    use crate::watched::vdso::Vdso;

    fn ours(mode: Mode, least_ns: f64) -> Ours {
        // 1 ns a cycle: as good as any for a cost.
        let rate = 1 << 48;
        let settings =
            Settings { mode, ordered: true, by_call: true, rate, least: least_ns as u64, extra: 0 };
        Ours { vdso: Vdso::new(0..4096, &[]), settings }
    }

    #[test]
    fn of_each_clock_gives_its_cost() {
        let mut costs = OwnCosts::default();
        let Some(line) = costs.of(Some(&ours(Mode::Line, 0.0))) else { return };
        assert_eq!(line.clock, OwnClock::Disciplined);
        let slow = costs.of(Some(&ours(Mode::Slow, 50_000.0))).unwrap();
        let (line, slow) = (line.clock_gettime.unwrap(), slow.clock_gettime.unwrap());
        assert!(slow.low > 5.0 * line.high, "{line:?} {slow:?}");
        assert!(slow.high < 1.4 * slow.low, "{slow:?}");
        assert_eq!(costs.of(Some(&ours(Mode::Count, 0.0))), None);
        // Not tried: a second for each read.
        let long = costs.of(Some(&ours(Mode::Slow, 1e9))).unwrap();
        assert_eq!(long.clock_gettime, Some(Span::around(1e9)));
        assert_eq!(costs.known.len(), 3);
    }
}
