//! Recordings in the formats of tools that people have already: folded stacks, pprof, the Firefox
//! Profiler. Pure: bytes out, no files.

mod firefox;
mod folded;
mod pprof;

pub use firefox::firefox;
pub use folded::folded;
pub use pprof::pprof;

use crate::classify::Path;
use crate::recording::{Recording, Stack};

/// The functions of a stack, outermost first, with the process at the bottom and the path on top.
fn names<'a>(recording: &'a Recording, stack: &'a Stack) -> impl Iterator<Item = &'a str> {
    let process = recording.processes.get(stack.process).map_or("?", |seen| seen.name.as_str());
    let functions = stack.frames.iter().rev().map(|frame| &*frame.name);
    let top = (stack.path != Path::Vdso).then(|| stack.path.name());
    [process].into_iter().chain(functions).chain(top)
}

#[cfg(test)]
pub(crate) mod made {
    //! A recording for tests.
    use super::*;
    use crate::aggregate::Tally;
    use crate::clock::Api;
    use crate::recording::{Moment, Seen};
    use crate::symbols::{Frame, FrameKind};
    use std::sync::Arc;

    pub(crate) fn recording() -> Recording {
        let frame = |name: &str| Frame {
            name: name.into(),
            module: "app".into(),
            kind: FrameKind::Native,
            place: None,
        };
        let tally = |samples| Tally { samples, ns: samples * 1_000_000 };
        let stack = |path, names: &[&str], samples| Stack {
            process: 0,
            path,
            api: Some(Api::ClockGettime),
            frames: names.iter().map(|name| frame(name)).collect(),
            callers: Arc::new([]),
            tally: tally(samples),
        };
        Recording {
            processes: vec![Seen {
                pid: 7,
                name: "a;pp".to_owned(),
                runtime: None,
                tally: tally(10),
                own: None,
            }],
            stacks: vec![
                stack(Path::Vdso, &["clock_gettime", "hot", "main"], 3),
                stack(Path::VdsoFallback, &["clock_gettime", "cold", "main"], 2),
            ],
            moments: (0..5)
                .map(|n| Moment { time: n * 500, tid: 7, stack: usize::from(n > 2), ns: 1_000_000 })
                .collect(),
            all: tally(10),
            seconds: 1.0,
            frequency: 1000,
            ..Recording::default()
        }
    }
}
