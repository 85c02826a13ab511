//! Text that is made piece by piece, as a reader.

use std::io::{self, Read};

/// Makes text, a piece at a time.
pub(super) trait Pieces {
    /// Appends the next piece, which may be empty; `false` at the end of the text.
    fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool>;
}

/// Reads what [`Pieces`] makes.
pub(super) struct Given<P> {
    pieces: P,
    out: Vec<u8>,
    given: usize,
    end: bool,
}

impl<P: Pieces> Given<P> {
    pub(super) fn new(pieces: P) -> Self {
        Self { pieces, out: Vec::new(), given: 0, end: false }
    }
}

impl<P: Pieces> Read for Given<P> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() {
            if self.end {
                return Ok(0);
            }
            self.out.clear();
            self.given = 0;
            self.end = !self.pieces.piece(&mut self.out)?;
        }
        let count = to.len().min(self.out.len() - self.given);
        to[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// Returns a few bytes at a time, for tests of borders.
#[cfg(test)]
pub(super) struct Slow<'a>(pub(super) &'a [u8]);

#[cfg(test)]
impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = to.len().min(self.0.len()).min(3);
        to[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_are_given_whole() {
        struct Count(usize);
        impl Pieces for Count {
            fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
                self.0 += 1;
                out.extend(vec![b'x'; self.0 % 3]);
                Ok(self.0 < 9)
            }
        }
        for size in 1..5 {
            let (mut reader, mut buffer, mut sum) = (Given::new(Count(0)), vec![0; size], 0);
            while let count @ 1.. = reader.read(&mut buffer).unwrap() {
                sum += count;
            }
            assert_eq!(sum, 9);
        }
    }
}
