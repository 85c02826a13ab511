//! Log lines by the real subscriber.
#![cfg(feature = "tracing-subscriber")]

use clocksmith::Instant;
use clocksmith::tracing::{Precision, Rfc3339, Uptime};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// Counts the allocations of each thread.
struct Counting;

std::thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A writer that discards its input.
struct Length(usize);

impl std::fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

#[test]
fn nothing_is_allocated() {
    let (stamp, uptime) = (Rfc3339::new(Precision::Nanoseconds), Uptime::new());
    let mut length = Length(0);
    let before = ALLOCATIONS.with(Cell::get);
    stamp.format_time(&mut Writer::new(&mut length)).unwrap();
    uptime.format_time(&mut Writer::new(&mut length)).unwrap();
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
    assert_eq!(length.0, 30 + 12);
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().map_err(|_| std::io::ErrorKind::Other)?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn logged(timer: impl FormatTime + Send + Sync + 'static) -> String {
    let lines = Lines::default();
    let to = lines.clone();
    let subscriber =
        tracing_subscriber::fmt().with_timer(timer).with_writer(move || to.clone()).finish();
    tracing::subscriber::with_default(subscriber, || tracing::info!("hello"));
    let bytes = lines.0.lock().map(|bytes| bytes.clone()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn lines_begin_with_the_time_of_day() {
    let stamps = [Rfc3339::new(Precision::Seconds), Rfc3339::default(), Rfc3339::default()];
    for (stamp, length) in stamps.into_iter().zip([20, 27, 27]) {
        let line = logged(stamp);
        let (time, rest) = line.split_once(' ').unwrap();
        assert_eq!(time.len(), length, "{line}");
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        assert!(rest.contains("INFO") && rest.ends_with("hello\n"), "{line}");
    }
    let line = logged(Rfc3339::new(Precision::Nanoseconds));
    assert_eq!(line.split_once('Z').unwrap().0.len(), 29, "{line}");
    // Between two stamps of the subscriber's own clock, which is a UTC one too.
    let own = tracing_subscriber::fmt::time::SystemTime;
    let lines = [logged(own), logged(Rfc3339::default()), logged(own)];
    assert!(lines.is_sorted_by_key(|line| line[..26].to_owned()), "{lines:?}");
}

#[test]
fn lines_begin_with_the_uptime() {
    let line = logged(Uptime::new());
    assert!(line.starts_with("   0.0"), "{line}");
    assert_eq!(line.split_once("s ").unwrap().0.len(), 11, "{line}");
    let line = logged(Uptime::since(Instant::ZERO, Precision::Milliseconds));
    let uptime: f64 = line.trim_start().split_once('s').unwrap().0.parse().unwrap();
    let now = clocksmith::monotonic_ns() as f64 / 1e9;
    assert!((now - 60.0..=now).contains(&uptime), "{line}");
    let line = logged(Uptime::since(Instant::MAX, Precision::Seconds));
    assert!(line.starts_with("   0s "), "{line}");
    assert!(logged(Uptime::default()).contains("hello"));
}
