//! The functions that a vDSO exports, from the bytes of its image.

use alloc::vec::Vec;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// A name that an image defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export<'a> {
    /// The name.
    pub name: &'a str,
    /// Bytes from the beginning of the image.
    pub offset: u64,
    /// Its length in bytes, as its symbol states it.
    pub size: u64,
    /// Whether it is code (the name of the version is also exported).
    pub is_function: bool,
}

/// The exports of the image, in the order of its table.
///
/// # Errors
/// Returns an error if the image is not an ELF file of a known form.
pub fn exports(image: &[u8]) -> Result<Vec<Export<'_>>, object::Error> {
    let file = object::File::parse(image)?;
    // The kernel links the image for address 0 since 3.16; before, its first segment has the address.
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let export = defined.filter_map(|symbol| {
        Some(Export {
            name: symbol.name().ok()?,
            offset: symbol.address().checked_sub(base)?,
            size: symbol.size(),
            is_function: symbol.kind() == SymbolKind::Text,
        })
    });
    Ok(export.collect())
}

/// Where a function is, by its name without prefix: `__vdso_` on x86, arm, riscv and others, `__kernel_` on
/// arm64, powerpc and s390.
#[must_use]
pub fn function(exports: &[Export<'_>], name: &str) -> Option<u64> {
    let is = |export: &&Export<'_>| {
        let prefixed =
            export.name.strip_prefix("__vdso_").or(export.name.strip_prefix("__kernel_"));
        export.is_function && prefixed == Some(name)
    };
    exports.iter().find(is).map(|export| export.offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[cfg(image)]
    #[test]
    fn exports_of_our_own_image_are_those_of_the_kernels() {
        let image = crate::IMAGE.unwrap();
        let exports = exports(image).unwrap();
        for name in ["clock_gettime", "gettimeofday", "time", "getcpu", "clock_getres", "getrandom"]
        {
            let offset = function(&exports, name).unwrap();
            assert!(offset > 0 && offset < image.len() as u64, "{name}");
        }
        assert_eq!(function(&exports, "__vdso_time"), None);
    }

    proptest! {
        #[test]
        fn exports_of_damaged_images_are_some_or_an_error(
            at in 0usize..4096, value in any::<u8>(), cut in 0usize..8192
        ) {
            let image = std::fs::read("/proc/self/exe").unwrap();
            let mut image = image[..image.len().min(cut)].to_vec();
            if let Some(byte) = image.get_mut(at) { *byte = value; }
            let _ = exports(&image);
        }
    }
}
