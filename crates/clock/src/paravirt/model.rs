//! Every order in which the steps of a hypervisor, of the kernel and of a reader can be seen, by `loom`:
//! `./test.sh clock`.

use super::*;
use crate::line::Word;
use clocksmith_raw::sync::AtomicU64;
use loom::sync::Arc;

/// Both pages. Each state of the hypervisor's gives `counter + STEP * state`; each state of the kernel's page
/// subtracts the earlier part, so any mixture of states gives a wrong time.
struct Pages {
    host: [AtomicU64; 4],
    word: AtomicU64,
    line: [AtomicU64; 2],
}

const STEP: u64 = 1 << 20;
/// One nanosecond a cycle, stable.
const SCALE: u64 = 1 << 40 | 1 << 32 | 1 << 31;
const COUNTER: u64 = 1_000;

impl Pages {
    fn new(kind: Kind) -> Self {
        let host = match kind {
            Kind::Pvclock => [2, 100, 100, SCALE],
            // Sixteen times too few bits to matter: the counter is below 2^16.
            Kind::HypervPage => [2, 1 << 60, 0, 0],
        };
        let cell = AtomicU64::new;
        Self {
            host: host.map(cell),
            word: cell(Word::new(2, kind.mode()).0),
            line: [0, 7].map(cell),
        }
    }

    /// The hypervisor writes another state: it stops the guest's processors in reality, but need not.
    fn write_host(&self, kind: Kind) {
        let [version, first, second, _] = &self.host;
        version.store(if matches!(kind, Kind::Pvclock) { 3 } else { 0 }, Ordering::Relaxed);
        fence(Ordering::Release);
        match kind {
            Kind::Pvclock => {
                first.store(200, Ordering::Relaxed);
                second.store(STEP + 200, Ordering::Relaxed);
            }
            Kind::HypervPage => {
                first.store(1 << 61, Ordering::Relaxed);
                second.store(STEP, Ordering::Relaxed);
            }
        }
        version.store(4, Ordering::Release);
    }

    /// The kernel writes another state.
    fn write_page(&self, kind: Kind) {
        self.word.store(Word::new(3, kind.mode()).0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.line[0].store(STEP, Ordering::Relaxed);
        self.line[1].store(8, Ordering::Relaxed);
        self.word.store(Word::new(4, kind.mode()).0, Ordering::Release);
    }
}

impl Words for Pages {
    fn word(&self, index: usize) -> u64 {
        self.host[index].load(Ordering::Relaxed)
    }
}

impl Cells for Pages {
    fn word(&self, order: Ordering) -> Word {
        Word(self.word.load(order))
    }

    fn line(&self, _clock: usize) -> Line {
        let [last, sec] = &self.line;
        let (cycle_last, sec) = (last.load(Ordering::Relaxed), sec.load(Ordering::Relaxed));
        Line { cycle_last, mask: u64::MAX, mult: 2, shift: 1, sec, snsec: 0 }
    }
}

/// A read uses one state of each page, or fails.
fn states(kind: Kind, write: fn(&Pages, Kind)) {
    loom::model(move || {
        let pages = Arc::new(Pages::new(kind));
        let writer = {
            let pages = Arc::clone(&pages);
            loom::thread::spawn(move || write(&pages, kind))
        };
        match read(&*pages, kind, &*pages, 1, || COUNTER) {
            Ok((line, cycles)) => {
                let of_host = match kind {
                    Kind::Pvclock => [COUNTER, STEP + COUNTER],
                    Kind::HypervPage => [COUNTER >> 4, STEP + (COUNTER >> 3)],
                };
                assert!(of_host.contains(&cycles.cycles), "{cycles:?}");
                assert!([(0, 7), (STEP, 8)].contains(&(line.cycle_last, line.sec)), "{line:?}");
            }
            Err(NoTime::Changing | NoTime::AskKernel) => {}
            Err(other) => panic!("{other:?}"),
        }
        writer.join().unwrap();
        assert!(read(&*pages, kind, &*pages, 1, || COUNTER).is_ok());
    });
}

#[test]
fn reader_beside_the_hypervisor_sees_one_state_or_none() {
    states(Kind::Pvclock, Pages::write_host);
    states(Kind::HypervPage, Pages::write_host);
}

#[test]
fn reader_beside_the_kernel_sees_one_state_or_none() {
    states(Kind::Pvclock, Pages::write_page);
    states(Kind::HypervPage, Pages::write_page);
}
