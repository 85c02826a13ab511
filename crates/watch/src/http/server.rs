//! The server: a listener, a thread for each connection while it lasts, limits and ends everywhere.
//!
//! A client has [`PATIENCE`] for its whole request and as long for reading the response, and there are [`AT_ONCE`] of
//! them, or fewer if the process may have few descriptors; the next one takes the place of the least useful
//! ([`super::slots`]). So a client that dribbles bytes, sends endless headers or never reads costs a thread with a
//! small stack for a few seconds at most, and keeps no other client out.

use super::answer::Answer;
use super::auth::{Access, Users};
use super::host;
use super::material::{self, Content};
use super::request::{self, Parsed, Request};
use super::slots::{Phase, Slots};
use super::web_config::{ConfigError, WebConfig};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long a request may take to arrive, and how long its response to be read.
pub const PATIENCE: Duration = Duration::from_secs(5);
pub use super::slots::AT_ONCE;
/// Connections that may wait to be accepted.
const QUEUE: i32 = 1024;
/// Threads of connections for each place: those that lost their place end soon.
const THREADS: usize = 2;
/// Stack of a connection's thread: a TLS handshake needs most of it.
const STACK: usize = 256 << 10;
/// Which clients may send requests and how, by the web configuration.
#[derive(Debug, Default)]
pub struct Gate {
    users: Users,
    headers: Vec<(String, String)>,
    warnings: Vec<String>,
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Gate {
    /// From a configuration whose files are relative to `dir`.
    ///
    /// # Errors
    /// Returns an error if a value or a file cannot be used.
    pub fn new(config: WebConfig, dir: &Path) -> Result<Self, ConfigError> {
        #[cfg(not(feature = "tls"))]
        if config.tls_server_config.is_some() {
            let _ = dir;
            return Err(ConfigError::Tls(
                "this program was built without TLS: `cargo build --profile dist --features full` \
                 makes target/dist/clocksmith, which has it, as the packages do"
                    .to_owned(),
            ));
        }
        #[cfg_attr(not(feature = "tls"), allow(unused_mut))]
        let mut warnings = Vec::new();
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: config
                .tls_server_config
                .map(|tls| super::tls::config(&tls, dir, &mut warnings))
                .transpose()?,
            warnings,
            users: Users::new(config.basic_auth_users),
            headers: config.http_server_config.headers.into_iter().collect(),
        })
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// Returns an error if the file, or one that it names, cannot be read or used.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error: io::Error| {
            ConfigError::Field(format!(
                "cannot read the web configuration {}: {error}",
                path.display()
            ))
        };
        let mut warnings = Vec::new();
        let bytes = material::read(path, Content::Secret, &mut warnings).map_err(failed)?;
        let text =
            String::from_utf8(bytes).map_err(|_| failed(io::Error::other("it is not in UTF-8")))?;
        let config = WebConfig::parse(&text)?;
        let secret = !config.basic_auth_users.is_empty()
            || config.tls_server_config.as_ref().is_some_and(|tls| tls.key.is_some());
        // A file without secrets may be readable by every user.
        warnings.retain(|warning| secret || !warning.ends_with("o-r"));
        let mut gate = Self::new(config, path.parent().unwrap_or(Path::new(".")))?;
        gate.warnings.splice(0..0, warnings);
        Ok(gate)
    }

    /// The loose permissions of the configuration's files, a line each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns whether clients must authenticate.
    #[must_use]
    pub fn asks_who(&self) -> bool {
        self.users.any()
    }

    /// Returns the protection of another configuration that this one lacks: that is rarely intended, and a file looks
    /// so if it was emptied, or is just being written.
    #[must_use]
    pub fn opens(&self, former: &Self) -> Option<&'static str> {
        if former.asks_who() && !self.asks_who() {
            return Some("no longer any basic_auth_users, so every client could read this");
        }
        #[cfg(feature = "tls")]
        if former.tls.is_some() && self.tls.is_none() {
            return Some("no longer any tls_server_config, so all would be sent as plain text");
        }
        None
    }
}

/// Returns the response to a request.
pub type Handler = dyn Fn(&Request, &Server) -> Answer + Send + Sync;

/// The state that all connections share.
pub struct Server {
    gate: RwLock<Arc<Gate>>,
    handler: Box<Handler>,
    /// Names of this server besides `localhost`.
    names: Vec<String>,
    slots: Slots,
    busy: Mutex<usize>,
    free: Condvar,
    counts: Mutex<BTreeMap<u16, u64>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl Server {
    /// A server that does not listen yet. At a loopback address it serves `localhost`, addresses, and `names`.
    #[must_use]
    pub fn new(gate: Gate, names: Vec<String>, handler: Box<Handler>) -> Arc<Self> {
        Arc::new(Self {
            gate: RwLock::new(Arc::new(gate)),
            handler,
            names,
            slots: Slots::new(places(descriptors())),
            busy: Mutex::new(0),
            free: Condvar::new(),
            counts: Mutex::default(),
        })
    }

    /// Replaces the access rules. A client that was authenticated before and still would be need
    /// not authenticate again.
    ///
    /// # Errors
    /// Returns the reason if the present configuration protects more than the new one; the present one then stays.
    pub fn replace(&self, gate: Gate) -> Result<(), &'static str> {
        let mut present = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = gate.opens(&present) {
            return Err(why);
        }
        *present = Arc::new(Gate { users: gate.users.after(&present.users), ..gate });
        Ok(())
    }

    /// The number of responses by status code.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<u16, u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Listens; returns the address, which matters for port 0.
    ///
    /// # Errors
    /// Returns an error if the server cannot listen on the address, or if no thread can be started.
    pub fn listen(self: &Arc<Self>, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address)?;
        // The standard library's queue of 128 fills at once when many connections arrive together, and then the kernel
        // lets them wait for a second.
        rustix::net::listen(&listener, QUEUE)?;
        let bound = listener.local_addr()?;
        let server = Arc::clone(self);
        std::thread::Builder::new()
            .name("listen".to_owned())
            .stack_size(STACK)
            .spawn(move || server.accept(&listener))?;
        Ok(bound)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            self.enter();
            let accepted = listener.accept().and_then(|(stream, client)| {
                match self.slots.take(&stream, client.ip()) {
                    Ok(slot) => Ok(Some((stream, client.ip(), slot))),
                    Err(error) if error.raw_os_error().is_some() => Err(error),
                    // Refused, and others wait behind it.
                    Err(_) => Ok(None),
                }
            });
            let (stream, from, slot) = match accepted {
                Ok(Some(accepted)) => accepted,
                Ok(None) => {
                    self.leave();
                    continue;
                }
                Err(error) => {
                    // A client that went away at once, or no descriptor is left: others of this process have them.
                    let none =
                        [Some(libc::EMFILE), Some(libc::ENFILE)].contains(&error.raw_os_error());
                    let waits = if none && self.slots.make_room() { 5 } else { 50 };
                    self.leave();
                    std::thread::sleep(Duration::from_millis(waits));
                    continue;
                }
            };
            let server = Arc::clone(self);
            let started = std::thread::Builder::new()
                .name("connection".to_owned())
                .stack_size(STACK)
                .spawn(move || {
                    // A client may close the connection at any time.
                    let _ = server.serve(stream, from, slot);
                    server.slots.leave(slot);
                    server.leave();
                });
            if started.is_err() {
                self.slots.leave(slot);
                self.leave();
            }
        }
    }

    fn enter(&self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        while *busy >= THREADS * self.slots.most() {
            busy = self.free.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        *busy += 1;
    }

    fn leave(&self) {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.free.notify_one();
    }

    fn serve(&self, stream: TcpStream, from: IpAddr, slot: u64) -> io::Result<()> {
        let gate = Arc::clone(&self.gate.read().unwrap_or_else(PoisonError::into_inner));
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?.ip().to_canonical().is_loopback();
        let client = Client { from, slot, local };
        let mut timed = Timed { stream, end: Instant::now() + PATIENCE };
        #[cfg(feature = "tls")]
        if let Some(config) = &gate.tls {
            let connection =
                rustls::ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            let mut tls = rustls::StreamOwned::new(connection, timed);
            // If the handshake fails, so does the read of a request.
            let _ = self.greet(&mut tls, slot);
            let (out, good) = self.answer(&mut tls, &gate, &client);
            tls.sock.end = Instant::now() + PATIENCE;
            tls.write_all(&out)?;
            tls.conn.send_close_notify();
            tls.flush()?;
            self.ended(slot, good);
            return tls.sock.finish();
        }
        let (out, good) = self.answer(&mut timed, &gate, &client);
        timed.end = Instant::now() + PATIENCE;
        timed.write_all(&out)?;
        self.ended(slot, good);
        timed.finish()
    }

    /// Records that a response was written, and whether it was the one that the client wanted.
    fn ended(&self, slot: u64, good: bool) {
        if good {
            self.slots.served(slot);
        }
        self.slots.set(slot, Phase::Ending);
    }

    /// Makes a TLS handshake. A client that has sent its whole greeting does not count as one that sends it slowly.
    #[cfg(feature = "tls")]
    fn greet(
        &self,
        tls: &mut rustls::StreamOwned<rustls::ServerConnection, Timed>,
        slot: u64,
    ) -> io::Result<()> {
        while tls.conn.is_handshaking() {
            while tls.conn.wants_write() {
                tls.conn.write_tls(&mut tls.sock)?;
                self.slots.set(slot, Phase::Greeted);
            }
            if !tls.conn.is_handshaking() || tls.conn.read_tls(&mut tls.sock)? == 0 {
                break;
            }
            tls.conn.process_new_packets().map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Reads a request, and makes its response; returns whether it is the requested one.
    fn answer(&self, stream: &mut impl Read, gate: &Gate, client: &Client) -> (Vec<u8>, bool) {
        let (answer, head) = match read(stream) {
            Ok(request) => {
                self.slots.set(client.slot, Phase::Working);
                (self.admitted(&request, gate, client), request.head)
            }
            Err(status) => (Answer::status(status), false),
        };
        let good = answer.status < 400;
        let known = gate.asks_who() && good;
        if known {
            self.slots.served(client.slot);
        }
        self.slots.set(client.slot, if known { Phase::Answered } else { Phase::Unproven });
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(answer.status).or_default() += 1;
        (answer.bytes(head, &gate.headers), good)
    }

    fn admitted(&self, request: &Request, gate: &Gate, client: &Client) -> Answer {
        if client.local && !host::allowed(request.host.as_deref(), &self.names) {
            return Answer::status(421);
        }
        let said = request.authorization.as_deref();
        match gate.users.admit(guesser(client.from, request), said, Instant::now()) {
            Access::Granted => (self.handler)(request, self),
            Access::Denied => Answer::status(401),
            Access::Later => Answer::status(429),
        }
    }
}

/// Descriptors that this process needs for other things: files, the kernel log, signals, children.
const RESERVE: u64 = 24;
/// Descriptors of a place: the connection, its copy among the places, and that of one that lost its place and has not ended.
const EACH: u64 = 3;

/// Places without which a client that is idle would keep the next one out.
const LEAST: usize = 2;
/// Descriptors that are open besides those of connections while the machine is looked at: the kernel log, signals, a
/// clock that reports steps, a wake-up, the history, and four of files on the way.
const OWN: usize = 9;

/// Makes sure that this process can open enough descriptors to listen on this number of addresses and to answer
/// requests: with fewer, it would accept connections and answer none.
///
/// # Errors
/// Returns the limit and the number of descriptors that would suffice.
pub fn enough_descriptors(addresses: usize) -> Result<(), (u64, u64)> {
    let limit = descriptors();
    let serving = if addresses == 0 { 0 } else { addresses + 1 + (EACH as usize + 1) * LEAST };
    let needed = OWN + serving;
    let mut taken = Vec::with_capacity(needed);
    while taken.len() < needed {
        match rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC) {
            Ok(descriptor) => taken.push(descriptor),
            Err(rustix::io::Errno::MFILE) => {
                return Err((limit, limit_with(needed - taken.len(), limit)));
            }
            // Not for want of a limit, and it may pass.
            Err(_) => break,
        }
    }
    Ok(())
}

/// Returns the limit that allows this many more descriptors: inherited ones may have larger numbers than this limit
/// allows.
fn limit_with(mut more: usize, mut limit: u64) -> u64 {
    while more > 0 {
        let number = libc::c_int::try_from(limit).unwrap_or(-1);
        // SAFETY: queries the flags of a number, which need not be open.
        more -= usize::from(unsafe { libc::fcntl(number, libc::F_GETFD) } < 0);
        limit += 1;
    }
    limit
}

/// Returns how many connections this many descriptors allow.
fn places(descriptors: u64) -> usize {
    let most = descriptors.saturating_sub(RESERVE) / EACH;
    usize::try_from(most).unwrap_or(AT_ONCE).clamp(LEAST, AT_ONCE)
}

/// Returns how many descriptors this process may have, after its limit was raised to the need of all places, as far as
/// that is allowed.
fn descriptors() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = RESERVE + EACH * AT_ONCE as u64;
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return u64::MAX };
    let more = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if current < more {
        let raised = Rlimit { current: Some(more), maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return more;
        }
    }
    current
}

/// Returns the address whose guesses at a password count together. A reverse proxy on this machine forwards for many
/// clients, and names them; from any other address that name is not proven. A proxy that does not name them is one
/// client.
fn guesser(peer: IpAddr, request: &Request) -> IpAddr {
    match request.forwarded {
        Some(client) if peer.to_canonical().is_loopback() => client,
        _ => peer,
    }
}

/// The sender of a request.
struct Client {
    from: IpAddr,
    slot: u64,
    /// Whether it came to a loopback address.
    local: bool,
}

/// Reads one request head; returns the status of the refusal if it is not one, or does not arrive in time.
fn read(from: &mut impl Read) -> Result<Request, u16> {
    let mut head = Vec::with_capacity(1024);
    let mut buffer = [0u8; 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Err(400),
            Ok(length) => head.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(408),
        }
        match request::parse(&head) {
            Parsed::More => {}
            Parsed::Whole(request) => return Ok(request),
            Parsed::Refused(status) => return Err(status),
        }
    }
}

/// A connection with a single deadline `end`: a limit for each read alone would let a client that sends single bytes
/// with pauses stay for ever.
#[derive(Debug)]
struct Timed {
    stream: TcpStream,
    end: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    /// Shuts down writing, and reads for a moment the rest that the client still sends: closing with unread bytes would
    /// reset the connection before the response is read.
    fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)?;
        self.end = Instant::now() + Duration::from_millis(500);
        let mut buffer = [0u8; 1024];
        let mut taken = 0;
        while taken < 64 << 10 {
            match self.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(length) => taken += length,
            }
        }
        Ok(())
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_limit_of_descriptors() {
        let all =
            [(0, 2), (32, 2), (48, 8), (64, 13), (128, 34), (1024, AT_ONCE), (u64::MAX, AT_ONCE)];
        for (limit, most) in all {
            assert_eq!(places(limit), most, "{limit}");
        }
    }

    #[test]
    fn configuration_without_users_does_not_replace_one_with_some() {
        let hash = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";
        let gate = |text: &str| Gate::new(WebConfig::parse(text).unwrap(), Path::new(".")).unwrap();
        let users = format!("basic_auth_users:\n  alice: {hash}\n");
        let server = Server::new(gate(&users), Vec::new(), Box::new(|_, _| Answer::status(404)));
        let asks = || server.gate.read().unwrap().asks_who();
        for text in ["", "# none\n", "http_server_config:\n"] {
            let why = server.replace(gate(text)).unwrap_err();
            assert!(why.contains("basic_auth_users") && asks(), "{text}: {why}");
        }
        assert_eq!(server.replace(gate(&users.replace("alice", "bob"))), Ok(()));
        assert!(asks());
        // A server without a password may get one, and loses it only by a restart.
        let open = Server::new(gate(""), Vec::new(), Box::new(|_, _| Answer::status(404)));
        assert_eq!(open.replace(gate("")), Ok(()));
        assert_eq!(open.replace(gate(&users)), Ok(()));
        assert!(open.replace(gate("")).is_err());
    }
}
