//! Log lines by the real subscriber.
#![cfg(feature = "tracing-subscriber")]

use clocksmith::Instant;
use clocksmith::tracing::{Precision, Rfc3339, Uptime};
use std::io::Write;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::time::FormatTime;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
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
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
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
    // The same second as the subscriber's own clock, or one of its neighbours.
    let (own, ours) = (logged(tracing_subscriber::fmt::time::SystemTime), logged(stamps[0]));
    assert_eq!(own[..16].cmp(&ours[..16]).is_le(), own[..19] <= ours[..19]);
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
