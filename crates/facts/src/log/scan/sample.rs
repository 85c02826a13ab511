//! Properties of unparsed lines: whether a text looks like a log of the kernel, and whether enough
//! lines of a shape were parsed.

use super::Scanner;
use crate::log::journal;
use crate::log::lines::{is_comment, is_source, text};
use crate::log::prefix::{stamp_and_message, strip};

impl Scanner {
    /// Notes from the first lines whether the text looks like a kernel log at all.
    pub(super) fn sample(&mut self, region: &[u8]) {
        if self.sampled > 400 || self.log.looks_like_kernel {
            return;
        }
        for line in region.split(|b| *b == b'\n') {
            self.sampled += 1;
            if self.sampled > 400 {
                return;
            }
            let line = text(line, 0, line.len());
            if is_source(&line) {
                continue;
            }
            let stripped = strip(&line);
            if journal::message(&line).is_some_and(|record| record.kernel && record.sure) {
                self.log.looks_like_kernel = true;
                return;
            }
            if stripped.kernel == Some(true) || stripped.is_message() && !is_comment(&line) {
                self.log.looks_like_kernel = true;
                return;
            }
        }
    }

    /// Whether enough lines like this one were parsed; then it is counted, and its time stamp is followed.
    pub(super) fn is_repetition(&mut self, raw: &[u8]) -> bool {
        let at = stamp_and_message(raw).map(|(at, _)| at);
        // The line may begin a boot.
        if at.is_some_and(|at| at < 0.5) || !self.repeated.is_enough(raw, self.line) {
            return false;
        }
        if let Some(at) = at {
            self.last_at = Some(at);
            self.log.last_at = Some(at);
        }
        true
    }
}
