//! The service manager: `sd_notify(3)`'s protocol, one datagram for each message.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The connection to the service manager, if one started this program.
#[derive(Debug, Default)]
pub struct Notify {
    to: Option<(UnixDatagram, SocketAddr)>,
    /// The interval at which the service manager expects a sign of life.
    pub watchdog: Option<Duration>,
}

impl Notify {
    /// Reads the address from the environment.
    #[must_use]
    pub fn from_environment() -> Self {
        let to = std::env::var_os("NOTIFY_SOCKET").and_then(|path| {
            let address = match path.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(&path),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        });
        let watchdog = std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        Self { to, watchdog: watchdog.map(Duration::from_micros) }
    }

    /// Sends a message. A missing receiver is not an error.
    pub fn say(&self, message: &str) {
        if let Some((socket, address)) = &self.to {
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}
