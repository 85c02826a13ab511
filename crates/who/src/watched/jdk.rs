//! Whether a Java virtual machine has mapped no code but that of its JDK and of the system's own libraries.
//!
//! Any other code (an agent, a library for JNI or of `LD_PRELOAD`) may have set a different action for SIGQUIT, which
//! may end the program, and the kernel does not show another process which action is set. HotSpot protects its own
//! action from Java code (`JVM_RegisterSignal`, `src/hotspot/os/posix/jvm_posix.cpp`, refuses SIGQUIT unless `-Xrs`).
//! Java code that calls `sigaction` through the interface to foreign functions leaves no trace here, except in a JVM
//! that looks functions up in the C library by `Linker.defaultLookup`, which maps `libsyslookup.so`.
//!
//! Names and owners of the files decide. Pure.

use super::maps::Mapping;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Libraries of OpenJDK 17 to 25 (`make/modules/*/Lib.gmk`), without `lib` and `.so`. A runtime image may have others
/// besides them, from its application. `syslookup` is left out on purpose.
const JDK: [&str; 40] = [
    "attach",
    "awt",
    "awt_headless",
    "awt_xawt",
    "dt_socket",
    "extnet",
    "fallbackLinker",
    "fontmanager",
    "freetype",
    "instrument",
    "j2gss",
    "j2pcsc",
    "j2pkcs11",
    "jaas",
    "java",
    "javajpeg",
    "jawt",
    "jdwp",
    "jimage",
    "jli",
    "jsig",
    "jsound",
    "jsvml",
    "jvm",
    "lcms",
    "le",
    "management",
    "management_agent",
    "management_ext",
    "mlib_image",
    "net",
    "nio",
    "prefs",
    "rmi",
    "saproc",
    "sctp",
    "simdsort",
    "sleef",
    "verify",
    "zip",
];
/// Libraries of the system that a JDK needs, without `lib`, `.so` and versions: none sets an action for a signal.
const SYSTEM: [&str; 42] = [
    "anl",
    "brotlicommon",
    "brotlidec",
    "bz2",
    "c",
    "cap",
    "crypt",
    "dl",
    "expat",
    "fontconfig",
    "freetype",
    "gcc_s",
    "gif",
    "glib-2.0",
    "graphite2",
    "harfbuzz",
    "jpeg",
    "lcms2",
    "m",
    "md",
    "nsl",
    "nss_compat",
    "nss_dns",
    "nss_files",
    "nss_hesiod",
    "nss_myhostname",
    "nss_mymachines",
    "nss_resolve",
    "nss_sss",
    "nss_systemd",
    "pcre",
    "pcre2-8",
    "png16",
    "pthread",
    "resolv",
    "rt",
    "stdc++",
    "thread_db",
    "turbojpeg",
    "util",
    "uuid",
    "z",
];
/// Where those are, directly or in one directory below (`x86_64-linux-gnu`).
const DIRECTORIES: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// The users who may have written a mapped file: its owner, and whether group or others may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The owner.
    pub(super) user: u32,
    /// Whether others than the owner may write it.
    pub(super) loose: bool,
}

/// Data about a Java virtual machine besides its map.
pub(super) struct About<'a> {
    /// The range of its compiled code.
    pub(super) code: Range<u64>,
    /// Its effective user, whose JDK it may be.
    pub(super) user: u32,
    /// Returns the users who may have written the file of a mapping; `None` if that is not known.
    pub(super) written: &'a dyn Fn(&Mapping) -> Option<Written>,
    /// Whether an address is in the clock of `clocksmith run`.
    pub(super) ours: &'a dyn Fn(u64) -> bool,
}

/// Returns the code in a JVM's map that is neither its JDK's nor the system's, by readable names, each once.
pub(super) fn strangers(maps: &[Mapping], about: &About<'_>) -> Vec<String> {
    let Some(home) = maps.iter().find_map(home) else {
        return vec!["a JVM whose JDK is not known".to_owned()];
    };
    let mut found: Vec<String> = Vec::new();
    for mapping in maps.iter().filter(|mapping| mapping.executable) {
        if let Some(name) = stranger(mapping, &home, about)
            && !found.contains(&name)
        {
            found.push(name);
        }
    }
    found
}

/// The directory of the JDK: `HOME/lib/server/libjvm.so`.
fn home(mapping: &Mapping) -> Option<PathBuf> {
    let library = Path::new(&mapping.name);
    let named = mapping.executable && library.file_name().is_some_and(|it| it == "libjvm.so");
    let lib = named.then(|| library.parent()?.parent()).flatten()?;
    lib.ends_with("lib").then(|| lib.parent()).flatten().map(Path::to_owned)
}

fn stranger(mapping: &Mapping, home: &Path, about: &About<'_>) -> Option<String> {
    let range = &mapping.range;
    if matches!(mapping.name.as_str(), "[vdso]" | "[vsyscall]") || (about.ours)(range.start) {
        return None;
    }
    if mapping.name.is_empty() || mapping.name.starts_with("[anon:") {
        let own = about.code.start <= range.start && range.end <= about.code.end;
        return (!own).then(|| "code that is in no file".to_owned());
    }
    let path = Path::new(&mapping.name);
    let (of_jdk, of_system) = (is_jdks(path, home), is_systems(path));
    let written = (about.written)(mapping);
    let good = written.is_some_and(|by| {
        !by.loose && (by.user == 0 && (of_jdk || of_system) || by.user == about.user && of_jdk)
    });
    (!good).then(|| mapping.base_name().to_owned())
}

/// Whether a file has the name of a library of the JDK.
pub(crate) fn is_library_name(file: &str) -> bool {
    let name = file.strip_prefix("lib").and_then(|name| name.strip_suffix(".so"));
    name.is_some_and(|name| JDK.contains(&name) || name == "syslookup")
}

/// Whether a path is that of a library or of the launcher of a JDK.
fn is_jdks(path: &Path, home: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(home) else { return false };
    if inside == Path::new("bin/java") {
        return true;
    }
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A shared archive of classes has code in some versions.
    let archive = name.strip_prefix("classes").is_some_and(|rest| rest.ends_with(".jsa"));
    let library = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".so"));
    inside.starts_with("lib") && (archive || library.is_some_and(|name| JDK.contains(&name)))
}

/// Whether a path is that of one of the system's libraries.
fn is_systems(path: &Path) -> bool {
    let Some(directory) = path.parent() else { return false };
    let is_one = |directory: &Path| DIRECTORIES.iter().any(|one| Path::new(one) == directory);
    if !is_one(directory) && !directory.parent().is_some_and(is_one) {
        return false;
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((stem, _)) = name.split_once(".so") else { return false };
    // The loader is the C library of musl.
    if stem == "ld" || stem.starts_with("ld-") {
        return true;
    }
    let Some(stem) = stem.strip_prefix("lib") else { return false };
    // `libc-2.31.so`, as glibc named its files until 2.33.
    let plain = stem.rsplit_once('-').filter(|(_, rest)| is_version(rest)).map(|(name, _)| name);
    SYSTEM.contains(&stem) || plain.is_some_and(|name| SYSTEM.contains(&name))
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::super::maps::parse;
    use super::*;

    const HOME: &str = "/usr/lib/jvm/java-17";

    /// The strangers of a map with the usual code, and a line more.
    fn with(line: &str, written: &dyn Fn(&Mapping) -> Option<Written>) -> Vec<String> {
        let text = format!(
            "1000-2000 r-xp 0 0:1 1 {HOME}/bin/java\n\
             100000-200000 rwxp 0 0:0 0 \n\
             300000-310000 r-xp 0 0:1 2 {HOME}/lib/server/libjvm.so\n\
             310000-320000 r-xp 0 0:1 3 {HOME}/lib/libnio.so\n\
             320000-330000 r-xp 0 0:1 4 /usr/lib/x86_64-linux-gnu/libc.so.6\n\
             330000-340000 r-xp 0 0:1 5 /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n\
             340000-350000 r--p 0 0:1 6 /srv/app/data\n\
             350000-360000 r-xp 0 0:0 0 [vdso]\n\
             {line}\n"
        );
        let about = About { code: 0x100000..0x200000, user: 1000, written, ours: &|_| false };
        strangers(&parse(&text), &about)
    }

    const ROOT: Option<Written> = Some(Written { user: 0, loose: false });

    #[test]
    fn code_of_jdk_and_system_is_not_foreign() {
        assert_eq!(with("", &|_| ROOT), [""; 0]);
        for name in [
            "/usr/lib/x86_64-linux-gnu/libnss_systemd.so.2",
            "/lib/x86_64-linux-gnu/libpthread-2.31.so",
            "/usr/lib64/libstdc++.so.6.0.30",
            "/usr/lib/libz.so.1.3",
            "/lib/ld-musl-x86_64.so.1",
            "/usr/lib/jvm/java-17/lib/server/classes_nocoops.jsa",
        ] {
            assert_eq!(with(&format!("400000-410000 r-xp 0 0:1 9 {name}"), &|_| ROOT), [""; 0]);
        }
    }

    #[test]
    fn strangers_library_of_another_is_named() {
        for (name, shown) in [
            ("/home/u/q.so", "q.so"),
            ("/tmp/libnetty_transport_native_epoll.so", "libnetty_transport_native_epoll.so"),
            ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "libjemalloc.so.2"),
            // The name of the C library in another directory; a library of the application in its own runtime image.
            ("/srv/app/libc.so.6", "libc.so.6"),
            ("/usr/lib/x86_64-linux-gnu/app/libc.so.6", "libc.so.6"),
            ("/usr/lib/jvm/java-17/lib/libapp.so", "libapp.so"),
            ("/usr/lib/jvm/java-17/lib/libsyslookup.so", "libsyslookup.so"),
            ("/usr/lib/jvm/java-17/../evil/libnio.so", "libnio.so"),
            ("/memfd:x (deleted)", "memfd:x"),
            ("", "code that is in no file"),
            ("[anon:jit]", "code that is in no file"),
            ("[heap]", "[heap]"),
        ] {
            let found = with(&format!("400000-410000 r-xp 0 0:1 9 {name}"), &|_| ROOT);
            assert_eq!(found, [shown], "{name}");
        }
    }

    #[test]
    fn strangers_jdk_of_its_user_is_none_and_of_another_is() {
        let by = |user, loose| move |_: &Mapping| Some(Written { user, loose });
        let own = |mapping: &Mapping| {
            let user = if mapping.name.starts_with(HOME) { 1000 } else { 0 };
            Some(Written { user, loose: false })
        };
        assert_eq!(with("", &own), [""; 0]);
        // A system's library of the user, files that others can write, files that cannot be looked at.
        assert_eq!(with("", &by(1000, false)), ["libc.so.6", "ld-linux-x86-64.so.2"]);
        assert_eq!(with("", &by(1001, false)).len(), 5);
        assert_eq!(with("", &by(0, true)).len(), 5);
        assert_eq!(with("", &|_| None).len(), 5);
        assert_eq!(
            strangers(
                &parse("1000-2000 r-xp 0 0:1 1 /usr/bin/x"),
                &About { code: 0..0, user: 0, written: &|_| ROOT, ours: &|_| false }
            ),
            ["a JVM whose JDK is not known"]
        );
    }
}
