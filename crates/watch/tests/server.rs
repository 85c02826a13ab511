//! The server against good and bad clients: limits, passwords, TLS.
#![allow(clippy::unwrap_used, clippy::panic)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clocksmith_watch::http::answer::{Answer, PLAIN};
use clocksmith_watch::http::server::{Gate, PATIENCE, Server};
use clocksmith_watch::http::web_config::WebConfig;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn gate(config: &str) -> Result<Gate, String> {
    WebConfig::parse(config)
        .and_then(|config| Gate::new(config, &fixtures()))
        .map_err(|error| error.to_string())
}

fn serve(config: &str) -> (Arc<Server>, SocketAddr) {
    let handler = |request: &clocksmith_watch::http::request::Request, _: &Server| match request
        .path
        .as_str()
    {
        "/" => Answer::new(PLAIN, "hello\n".to_owned()),
        "/large" => Answer::new(PLAIN, "x".repeat(4 << 20)),
        _ => Answer::status(404),
    };
    let server = Server::new(gate(config).unwrap(), vec!["x".to_owned()], Box::new(handler));
    let address = server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    (server, address)
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that has heard enough may close before the last byte is sent.
    let _ = stream.write_all(request);
    let mut out = Vec::new();
    let _ = stream.read_to_end(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn answers_and_refusals() {
    let (server, address) = serve("");
    let answer = ask(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.ends_with("\r\n\r\nhello\n") && answer.contains("Connection: close"));
    assert!(ask(address, b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n").ends_with("\r\n\r\n"));
    let endless =
        [b"GET / HTTP/1.1\r\nHost: localhost\r\nA: ".to_vec(), vec![b'x'; 1 << 20]].concat();
    for (request, expected) in [
        (&b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"[..], "404"),
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        (b"\x00\x01\x02\r\n\r\n", "400"),
        (&endless, "431"),
    ] {
        assert_eq!(status(&ask(address, request)), expected);
    }
    assert_eq!(server.counts().get(&200), Some(&2));
}

/// Sends requests again and again while others misbehave; returns the time of the slowest response.
fn slowest(address: SocketAddr, times: u32) -> Duration {
    let times = (0..times).map(|_| {
        let begun = Instant::now();
        assert_eq!(status(&ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")), "200");
        begun.elapsed()
    });
    times.max().unwrap()
}

#[test]
fn clients_that_dribble_never_read_or_say_nothing_do_not_keep_others_out() {
    let (_, address) = serve("");
    let over = Arc::new(AtomicBool::new(false));
    // Alone, for comparison: a busy machine is slow for everybody.
    let alone = slowest(address, 5);
    let bad = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            let open = |number: usize| {
                let mut stream = TcpStream::connect(address).unwrap();
                let begin: &[u8] = match number % 3 {
                    0 => b"",
                    1 => b"GET / HTTP/1.1\r\nHost: localhost\r\nA: ",
                    _ => b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
                };
                let _ = stream.write_all(begin);
                stream.set_nonblocking(true).unwrap();
                stream
            };
            let mut bad: Vec<TcpStream> = (0..200).map(open).collect();
            while !over.load(Ordering::Relaxed) {
                // Single bytes with pauses, for ever; some of the ended connections come back.
                let mut back = 0;
                for (number, stream) in bad.iter_mut().enumerate() {
                    match stream.write(b"x") {
                        Err(error) if error.kind() != ErrorKind::WouldBlock && back < 50 => {
                            *stream = open(number);
                            back += 1;
                        }
                        _ => {}
                    }
                }
                std::thread::sleep(Duration::from_millis(300));
            }
        })
    };
    std::thread::sleep(Duration::from_secs(1));
    let took = slowest(address, 20);
    over.store(true, Ordering::Relaxed);
    bad.join().unwrap();
    // Kept out, it would be the patience that others have.
    assert!(took < PATIENCE / 5 + 4 * alone, "{took:?}, alone {alone:?}");
}

/// A connection from an address of loopback.
fn connect_from(from: [u8; 4], address: SocketAddr) -> std::io::Result<TcpStream> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::from((from, 0)))?;
    connect(&socket, &address)?;
    Ok(TcpStream::from(socket))
}

#[test]
fn addresses_that_hold_a_connection_each_do_not_keep_slow_clients_out() {
    let (_, address) = serve("");
    let over = Arc::new(AtomicBool::new(false));
    // In parts, so slowly that many connections of others come meanwhile.
    let asks = |from| {
        let mut stream = connect_from(from, address).unwrap();
        for part in ["", "GET / HTTP/1.1\r\n", "Host: localhost\r\n", "\r\n"] {
            let _ = stream.write_all(part.as_bytes());
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut out = String::new();
        let _ = stream.read_to_string(&mut out);
        status(&out).to_owned()
    };
    let (served, new) = ([127, 0, 9, 1], [127, 0, 9, 2]);
    assert_eq!(asks(served), "200");
    let bad = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut held = std::collections::VecDeque::new();
            for last in (1..=150).cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                if held.len() >= 150 {
                    held.pop_front();
                }
                if let Ok(mut stream) = connect_from([127, 0, 4, last], address) {
                    let _ = stream.write_all(b"GET / HT");
                    held.push_back(stream);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    std::thread::sleep(Duration::from_secs(2));
    let got: Vec<String> = (0..5).map(|_| asks(served)).chain((0..5).map(|_| asks(new))).collect();
    over.store(true, Ordering::Relaxed);
    bad.join().unwrap();
    assert!(got.iter().all(|status| status == "200"), "{got:?}");
}

#[test]
fn at_a_loopback_address_other_names_get_no_answer() {
    let (_, address) = serve("");
    let with = |host: &str| {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        status(&ask(address, request.as_bytes())).to_owned()
    };
    assert_eq!(with("evil.example"), "421");
    assert_eq!(with(&format!("127.0.0.1:{}", address.port())), "200");
    assert_eq!(with("localhost"), "200");
}

const USERS: &str = "basic_auth_users:\n  prometheus: $2y$05$vwJcJEtHnXq8/hK6ABHJ8OSCj0vi9nh/WHFRP9iOjxm8CHu3mbOce\n";

#[test]
fn passwords() {
    let (server, address) = serve(USERS);
    let with = |pair: &str| {
        let request =
            format!("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {pair}\r\n\r\n");
        status(&ask(address, request.as_bytes())).to_owned()
    };
    let answer = ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(status(&answer) == "401" && answer.contains("WWW-Authenticate: Basic"));
    assert_eq!(with("cHJvbWV0aGV1czpzZWNyZXQ="), "200");
    assert_eq!(with("cHJvbWV0aGV1czp3cm9uZw=="), "401");
    // After wrong ones, and after the configuration was reloaded, a client that was right comes in.
    server.replace(gate(USERS).unwrap()).unwrap();
    for guess in 0..200 {
        let pair = format!("cHJvbWV0aGV1czp3cm9uZ{guess:03}");
        with(&pair);
    }
    assert_eq!(with("cHJvbWV0aGV1czpzZWNyZXQ="), "200");
    // A file that was emptied opens nothing.
    assert!(server.replace(gate("").unwrap()).is_err());
    assert_eq!(status(&ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")), "401");
}

/// CPU time of the comparison of one password with that of [`USERS`].
fn cost_of_a_guess() -> Duration {
    let now = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let hash = USERS.split_whitespace().find(|word| word.starts_with("$2")).unwrap();
    let begun = now();
    assert!(!bcrypt::verify("none", hash).unwrap());
    Duration::try_from(now() - begun).unwrap()
}

#[test]
fn guesses_through_a_proxy_keep_no_other_client_of_it_out() {
    let (_server, address) = serve(USERS);
    let with = |client: &str, pair: &str| {
        let pair = STANDARD.encode(pair);
        let from = if client.is_empty() {
            String::new()
        } else {
            // The client's own header precedes the one that the proxy adds.
            format!("X-Forwarded-For: 203.0.113.9, {client}\r\n")
        };
        let head = format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\n{from}Authorization: Basic {pair}\r\n\r\n"
        );
        status(&ask(address, head.as_bytes())).to_owned()
    };
    let begun = Instant::now();
    let mut guesses = 0;
    let limited = loop {
        guesses += 1;
        if with("192.0.2.1", &format!("prometheus:{guesses}")) == "429" {
            break true;
        }
        if guesses == 20_000 || begun.elapsed() > Duration::from_secs(40) {
            break false;
        }
    };
    // The limit is a share of a CPU, which a crowded machine may not have for this process.
    let used = f64::from(guesses) * cost_of_a_guess().as_secs_f64();
    let share = used / begun.elapsed().as_secs_f64();
    assert!(limited || share < 0.3, "no limit at {share:.2} of a CPU");
    assert_eq!(with("192.0.2.2", "prometheus:secret"), "200");
    assert_eq!(with("", "prometheus:none"), "401");
}

#[cfg(feature = "tls")]
mod tls {
    use super::*;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

    const CERTIFICATE: &str =
        "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";

    fn secret(address: SocketAddr, certificate: bool) -> std::io::Result<String> {
        let file = |name: &str| fixtures().join(name);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(file("ca.crt")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = if certificate {
            let chain = vec![CertificateDer::from_pem_file(file("server.crt")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut out = String::new();
        stream.read_to_string(&mut out)?;
        Ok(out)
    }

    #[test]
    fn the_certificate_of_the_configuration_serves() {
        let (_, address) = serve(CERTIFICATE);
        assert!(secret(address, false).unwrap().ends_with("hello\n"));
        // A client of plain HTTP gets no response that it could read.
        assert!(!ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("hello"));
    }

    #[test]
    fn clients_without_a_certificate_stay_out_where_one_is_asked_for() {
        let config = format!(
            "{CERTIFICATE}  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"
        );
        let (_, address) = serve(&config);
        assert!(secret(address, true).unwrap().ends_with("hello\n"));
        assert!(secret(address, false).is_err());
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        for (more, what) in [
            ("  client_ca_file: ca.crt\n", "client_auth_type"),
            ("  client_auth_type: RequireAndVerifyClientCert\n", "client_ca_file"),
            ("  client_auth_type: RequireAnyClientCert\n", "not supported"),
            ("  min_version: TLS13\n  max_version: TLS12\n", "above"),
            ("  max_version: TLS11\n", "TLS12"),
            ("  curve_preferences: [CurveP521]\n", "curve_preferences"),
            ("  curve_preferences: [X25519, CurveX]\n", "no curve \"CurveX\""),
            ("  cipher_suites: [X]\n", "no suite \"X\""),
            (
                "  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, unknown]\n",
                "no suite \"unknown\"",
            ),
            ("  max_version: TLS12\n  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n", "suites"),
            ("  cert: x\n", "one is enough"),
        ] {
            let error = gate(&format!("{CERTIFICATE}{more}")).unwrap_err();
            assert!(error.contains(what), "{more}: {error}");
        }
        let good = "  min_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]\n  \
                    curve_preferences: [X25519, CurveP256]\n";
        assert!(gate(&format!("{CERTIFICATE}{good}")).is_ok());
        assert!(
            gate("tls_server_config:\n  cert_file: nothing.crt\n  key_file: server.key\n").is_err()
        );
    }
}
