//! The runtime of a program, from its mappings. Pure.

use super::maps::Mapping;
use serde::Serialize;

/// A kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Compiled code: C, C++, Rust.
    Native,
    /// Compiled by Go.
    Go,
    /// A Java virtual machine.
    Jvm,
    /// Node.js, or V8 otherwise.
    Node,
    /// The Python interpreter.
    Python,
    /// The Ruby interpreter.
    Ruby,
    /// PHP.
    Php,
    /// The Perl interpreter.
    Perl,
    /// Lua, or `LuaJIT`.
    Lua,
}

impl Runtime {
    /// Whether it makes code at run time that only it can name.
    #[must_use]
    pub fn makes_code(self) -> bool {
        matches!(self, Self::Jvm | Self::Node)
    }
}

/// Whether a file is the JVM.
#[must_use]
pub fn is_jvm(mapping: &Mapping) -> bool {
    mapping.base_name() == "libjvm.so"
}

/// Whether a file is the Python interpreter.
#[must_use]
pub fn is_python(mapping: &Mapping) -> bool {
    python_version(mapping).is_some()
}

/// The option that makes Python write a map of its functions, since 3.12.
pub const X_PERF: &str = "python3 -X perf";

/// The version that a file's name states: `python3.11`, `libpython3.11.so.1.0`.
#[must_use]
pub fn python_version(mapping: &Mapping) -> Option<(u32, u32)> {
    version_of(mapping.base_name())
}

/// Whether a file of this name is the Python interpreter.
#[must_use]
pub fn is_python_name(base: &str) -> bool {
    version_of(base).is_some()
}

fn version_of(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("libpython").or_else(|| name.strip_prefix("python"))?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The file of Deno, which runs scripts by V8 as Node does.
pub const DENO: &str = "deno";

/// Whether a file is Node, or another program with V8 that writes the same map.
#[must_use]
pub fn is_node(mapping: &Mapping) -> bool {
    let name = mapping.base_name();
    matches!(name, "node" | "nodejs" | DENO) || name.starts_with("libnode.so")
}

/// Whether a file is an interpreter of this name: `NAME`, `NAME8.2`, `libNAME-3.1.so.3.1`.
fn is_named(base: &str, name: &str) -> bool {
    let base = base.strip_prefix("lib").filter(|base| base.contains(".so")).unwrap_or(base);
    base.strip_prefix(name).is_some_and(|rest| {
        rest.split(".so")
            .next()
            .unwrap_or(rest)
            .chars()
            .all(|c| c.is_ascii_digit() || ".-t".contains(c))
    })
}

/// The interpreter of scripts whose functions are not named, if a file of this name is one.
#[must_use]
pub fn interpreter_name(base: &str) -> Option<Runtime> {
    const NAMES: [(&str, Runtime); 9] = [
        ("ruby", Runtime::Ruby),
        ("php", Runtime::Php),
        ("php-fpm", Runtime::Php),
        ("php-cgi", Runtime::Php),
        ("perl", Runtime::Perl),
        ("lua", Runtime::Lua),
        ("luajit", Runtime::Lua),
        ("luajit-", Runtime::Lua),
        ("php-embed", Runtime::Php),
    ];
    NAMES.iter().find(|(name, _)| is_named(base, name)).map(|(_, runtime)| *runtime)
}

/// Recognises the runtime of a program; `is_go` returns whether a mapped file comes from Go.
#[must_use]
pub fn recognise(maps: &[Mapping], is_go: impl Fn(&Mapping) -> bool) -> Runtime {
    let of_file =
        |mapping: &&Mapping| mapping.executable && (mapping.is_file() || mapping.is_in_memory());
    let mut code = maps.iter().filter(of_file);
    let any = |accept: fn(&Mapping) -> bool| {
        maps.iter().any(|mapping| mapping.executable && mapping.is_file() && accept(mapping))
    };
    if any(is_jvm) {
        Runtime::Jvm
    } else if any(is_python) {
        Runtime::Python
    } else if any(is_node) {
        Runtime::Node
    } else if code.any(is_go) {
        Runtime::Go
    } else {
        let mut code = maps.iter().filter(|mapping| mapping.executable && mapping.is_file());
        code.find_map(|mapping| interpreter_name(mapping.base_name())).unwrap_or(Runtime::Native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::maps::parse;

    #[test]
    fn recognise_by_mapped_file_gives_runtime() {
        let of = |name: &str| {
            recognise(&parse(&format!("1000-2000 r-xp 0 0:0 1 {name}")), |m| m.base_name() == "g")
        };
        assert_eq!(of("/usr/lib/jvm/lib/server/libjvm.so"), Runtime::Jvm);
        assert_eq!(of("/usr/bin/python3.11"), Runtime::Python);
        assert_eq!(of("/usr/lib/libpython3.13.so.1.0"), Runtime::Python);
        assert_eq!(of("/usr/bin/node"), Runtime::Node);
        assert_eq!(of("/usr/local/bin/deno"), Runtime::Node);
        assert_eq!(of("/opt/g"), Runtime::Go);
        assert_eq!(of("/bin/cat"), Runtime::Native);
        assert_eq!(of("/usr/bin/ruby3.1"), Runtime::Ruby);
        assert_eq!(of("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2"), Runtime::Ruby);
        assert_eq!(of("/usr/bin/php8.2"), Runtime::Php);
        assert_eq!(of("/usr/sbin/php-fpm8.2"), Runtime::Php);
        assert_eq!(of("/usr/bin/perl"), Runtime::Perl);
        assert_eq!(of("/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2.1.0"), Runtime::Lua);
        assert_eq!(of("/usr/bin/lua5.4"), Runtime::Lua);
        assert_eq!(of("/usr/bin/perldoc"), Runtime::Native);
        // A program with a similar name is not an interpreter.
        assert_eq!(of("/usr/bin/pythonic"), Runtime::Native);
    }
}
