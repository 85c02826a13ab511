//! Work of this program before `main`.

/// `DT_INIT_ARRAYSZ` of `elf(5)`.
const INIT_ARRAY_SIZE: i64 = 27;

/// An entry of the dynamic section, `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// The number of functions that the loader calls in this program before `main`; `None` if it has no
/// dynamic section.
pub(crate) fn constructors() -> Option<u64> {
    // SAFETY: reads values that the kernel gave this program at its start.
    let (headers, number) = unsafe {
        (libc::getauxval(libc::AT_PHDR) as *const libc::Elf64_Phdr, libc::getauxval(libc::AT_PHNUM))
    };
    if headers.is_null() {
        return None;
    }
    // SAFETY: the program's own headers, which stay where they are.
    let headers = unsafe { std::slice::from_raw_parts(headers, usize::try_from(number).ok()?) };
    let find = |kind| headers.iter().find(|header| header.p_type == kind);
    let moved = (headers.as_ptr() as u64).wrapping_sub(find(libc::PT_PHDR)?.p_vaddr);
    let section = find(libc::PT_DYNAMIC)?;
    let entries = moved.wrapping_add(section.p_vaddr) as *const Dynamic;
    let number = usize::try_from(section.p_memsz).ok()? / size_of::<Dynamic>();
    // SAFETY: the dynamic section of this program, where the loader has put it.
    let entries = unsafe { std::slice::from_raw_parts(entries, number) };
    let size = entries.iter().find(|entry| entry.tag == INIT_ARRAY_SIZE);
    Some(size.map_or(0, |entry| entry.value / 8))
}
