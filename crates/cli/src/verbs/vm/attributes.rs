//! The extended attributes of a file: access control lists, labels, and notes of users.

use anyhow::{Context, Result, bail};
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;

/// Bytes of a list of names and of a value at most: the kernel's limits (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 65536;
/// Attributes that the kernel makes from the content (IMA, EVM).
const MADE: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Names and values, in order.
pub(super) type Attributes = Vec<(CString, Vec<u8>)>;

/// Returns the attributes of a file that can be read; none if its filesystem has none.
pub(super) fn of(file: &File, shown: &str) -> Result<Attributes> {
    let cannot = || format!("cannot read the extended attributes of {shown}");
    let mut list = vec![0; LONGEST];
    let length = match rustix::fs::flistxattr(file, &mut list[..]) {
        Err(Errno::OPNOTSUPP) => 0,
        other => other.with_context(cannot)?,
    };
    let mut value = vec![0; LONGEST];
    let mut found = Attributes::new();
    let names = list.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    for name in names.filter(|name| !name.is_empty() && !MADE.contains(name)) {
        let name = CString::new(name)?;
        match rustix::fs::fgetxattr(file, &name, &mut value[..]) {
            Ok(length) => found.push((name, value.get(..length).unwrap_or_default().to_vec())),
            // Gone meanwhile.
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    found.sort();
    Ok(found)
}

/// Copies the attributes of another file to a new one. Default attributes of the directory, such as an access control
/// list, are removed.
///
/// # Errors
/// Returns an error if the attributes would differ, because other users could then read the file.
pub(super) fn give(file: &File, wanted: &Attributes, shown: &str) -> Result<()> {
    let there = of(file, shown)?;
    for (name, value) in wanted.iter().filter(|it| !there.contains(it)) {
        rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()).with_context(|| {
            format!(
                "not written: {shown} has the extended attribute {}, and the new file cannot get it",
                name.to_string_lossy()
            )
        })?;
    }
    // A security module's label cannot be removed.
    let label = |name: &CString| name.as_bytes().starts_with(b"security.");
    for (name, _) in there.iter().filter(|(name, _)| !label(name)) {
        if !wanted.iter().any(|(other, _)| other == name) {
            rustix::fs::fremovexattr(file, name).with_context(|| {
                format!(
                    "not written: the new {shown} would get different \
                                          permissions"
                )
            })?;
        }
    }
    let now = of(file, shown)?;
    let ours = |all: &Attributes| -> Attributes {
        all.iter().filter(|(name, _)| !label(name)).cloned().collect()
    };
    if ours(&now) != ours(wanted) {
        bail!(
            "not written: the new {shown} would have different extended attributes from the \
             original"
        );
    }
    Ok(())
}
