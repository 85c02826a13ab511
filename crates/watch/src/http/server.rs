//! The server: a listener, a thread for each connection while it lasts, limits and ends everywhere.
//!
//! A client has [`PATIENCE`] for its whole request and as long for reading the answer, and there are
//! [`AT_ONCE`] of them; the next one waits. So whoever dribbles bytes, sends endless headers or never
//! reads costs a thread with a small stack for some seconds, and nothing else.

use super::answer::Answer;
use super::auth::{Access, Users};
use super::request::{self, Parsed, Request};
use super::web_config::{ConfigError, WebConfig};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long a request may take to come, and how long its answer to be taken.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at the same time.
pub const AT_ONCE: usize = 32;
/// Stack of a connection's thread: a TLS handshake needs most of it.
const STACK: usize = 256 << 10;
/// Longest web configuration, in bytes.
const CONFIG: u64 = 1 << 20;

/// Who may ask and how, as the web configuration says.
#[derive(Debug, Default)]
pub struct Gate {
    users: Users,
    headers: Vec<(String, String)>,
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Gate {
    /// From a configuration whose files are relative to `dir`.
    ///
    /// # Errors
    /// What cannot be used.
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
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: config.tls_server_config.map(|tls| super::tls::config(&tls, dir)).transpose()?,
            users: Users::new(config.basic_auth_users),
            headers: config.http_server_config.headers.into_iter().collect(),
        })
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// What cannot be read or used.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error: io::Error| {
            ConfigError::Field(format!(
                "cannot read the web configuration {}: {error}",
                path.display()
            ))
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut text = String::new();
        file.take(CONFIG).read_to_string(&mut text).map_err(failed)?;
        Self::new(WebConfig::parse(&text)?, path.parent().unwrap_or(Path::new(".")))
    }

    /// Whether clients must say who they are.
    #[must_use]
    pub fn asks_who(&self) -> bool {
        self.users.any()
    }
}

/// What answers.
pub type Handler = dyn Fn(&Request, &Server) -> Answer + Send + Sync;

/// What is shared by all connections.
pub struct Server {
    gate: RwLock<Arc<Gate>>,
    handler: Box<Handler>,
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
    /// A server that listens nowhere yet.
    #[must_use]
    pub fn new(gate: Gate, handler: Box<Handler>) -> Arc<Self> {
        Arc::new(Self {
            gate: RwLock::new(Arc::new(gate)),
            handler,
            busy: Mutex::new(0),
            free: Condvar::new(),
            counts: Mutex::default(),
        })
    }

    /// From now on this is who may ask.
    pub fn replace(&self, gate: Gate) {
        *self.gate.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(gate);
    }

    /// Answers by status code.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<u16, u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Listens; says where, which matters for port 0.
    ///
    /// # Errors
    /// The address cannot be listened on, or no thread can be started.
    pub fn listen(self: &Arc<Self>, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address)?;
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
            let Ok((stream, _)) = listener.accept() else {
                // Out of file descriptors, or a client that went away at once.
                self.leave();
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let server = Arc::clone(self);
            let started = std::thread::Builder::new()
                .name("connection".to_owned())
                .stack_size(STACK)
                .spawn(move || {
                    // A client that goes away in the middle is no concern of ours.
                    let _ = server.serve(stream);
                    server.leave();
                });
            if started.is_err() {
                self.leave();
            }
        }
    }

    fn enter(&self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        while *busy >= AT_ONCE {
            busy = self.free.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        *busy += 1;
    }

    fn leave(&self) {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.free.notify_one();
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let gate = Arc::clone(&self.gate.read().unwrap_or_else(PoisonError::into_inner));
        stream.set_nodelay(true)?;
        let mut timed = Timed { stream, end: Instant::now() + PATIENCE };
        #[cfg(feature = "tls")]
        if let Some(config) = &gate.tls {
            let connection =
                rustls::ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            let mut tls = rustls::StreamOwned::new(connection, timed);
            let out = self.answer(&mut tls, &gate);
            tls.sock.end = Instant::now() + PATIENCE;
            tls.write_all(&out)?;
            tls.conn.send_close_notify();
            tls.flush()?;
            return tls.sock.finish();
        }
        let out = self.answer(&mut timed, &gate);
        timed.end = Instant::now() + PATIENCE;
        timed.write_all(&out)?;
        timed.finish()
    }

    /// Reads a request, and makes its answer.
    fn answer(&self, from: &mut impl Read, gate: &Gate) -> Vec<u8> {
        let (answer, head) = match read(from) {
            Ok(request) => (self.admitted(&request, gate), request.head),
            Err(status) => (Answer::status(status), false),
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(answer.status).or_default() += 1;
        answer.bytes(head, &gate.headers)
    }

    fn admitted(&self, request: &Request, gate: &Gate) -> Answer {
        match gate.users.admit(request.authorization.as_deref(), Instant::now()) {
            Access::Granted => (self.handler)(request, self),
            Access::Denied => Answer::status(401),
            Access::Later => Answer::status(429),
        }
    }
}

/// One request head; the status of the refusal if it is none, or does not come in time.
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

/// A connection on which everything must be over at `end`: a limit for each read alone would let a
/// client that sends a byte now and then stay for ever.
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

    /// Says that nothing follows, and takes what the client still sends for a moment: closing with
    /// unread bytes would reset the connection before the answer is read.
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
