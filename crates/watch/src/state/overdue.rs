//! A look that does not end: the previous judgement is no longer valid.

use super::Watch;
use crate::event::{Event, Kind};
use crate::judge::{Judgement, State};

/// Seconds that a look at a busy machine may take.
const LONGEST: f64 = 30.0;

/// The present examination, by a clock that does not advance while the machine is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Look {
    #[default]
    None,
    Since(f64),
    Overdue,
}

impl Watch {
    /// A look begins, at `awake` seconds of a clock that does not count suspension.
    pub fn look_begins(&mut self, awake: f64) {
        self.look = Look::Since(awake);
    }

    /// Records that the look has ended, with or without a report.
    pub fn look_ended(&mut self) {
        self.look = Look::None;
    }

    /// Checks whether the present look takes too long: then the state is unknown from now on, until a look has ended.
    /// `time`: now, in seconds since 1970.
    pub fn notice_overdue(&mut self, time: f64, awake: f64) {
        let Look::Since(begun) = self.look else { return };
        if awake - begun < LONGEST {
            return;
        }
        self.look = Look::Overdue;
        let Some(latest) = &mut self.latest else { return };
        let before = latest.judgement.state;
        latest.judgement = Judgement::unknown(&format!(
            "the examination of the machine has not ended for {LONGEST} s"
        ));
        let (state, line) = (latest.judgement.state, latest.judgement.line.clone());
        if before != State::Unknown {
            let text = format!("{line} (before: {})", before.word());
            let mut event = Event::new(time, Kind::StateChange, state, text);
            event.from = Some(before.name().to_owned());
            event.to = Some(state.name().to_owned());
            self.tell(event);
        }
    }
}
