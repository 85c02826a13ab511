//! Code that a program has copied to other memory at its own address: large pages hold it, and the kernel's map no longer shows a file
//! for it.

use super::super::mapped::{Files, Mapped};
use super::super::maps::Mapping;
use super::Process;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Places of such code that are compared with the file, and bytes of each.
const PLACES: u64 = 16;
const BYTES: usize = 64;

impl Process {
    /// Gives code that is not in a file the file of the mapping next to it, if that file has the same bytes for these
    /// addresses.
    pub(super) fn find_copied(&mut self, files: &mut Files) {
        let beside = |one: &Mapping, other: &Mapping| {
            one.range.end == other.range.start && one.name.is_empty() && one.executable
                || other.range.end == one.range.start && one.name.is_empty() && one.executable
        };
        let pairs: Vec<(Mapping, Mapping)> = self
            .maps
            .windows(2)
            .filter_map(|pair| {
                let [one, other] = pair else { return None };
                let (copy, file) = if beside(one, other) { (one, other) } else { (other, one) };
                (beside(copy, file) && file.is_file()).then(|| (copy.clone(), file.clone()))
            })
            .collect();
        for (copy, beside) in pairs {
            let range = (copy.range.start, copy.range.end);
            let known = match self.copied.get(&range) {
                Some(known) => *known,
                None => {
                    let found = self.same_code(&copy, &beside, files);
                    self.copied.insert(range, found);
                    found
                }
            };
            let of_copy = |mapping: &&mut Mapping| mapping.range == copy.range;
            if let Some(offset) = known
                && let Some(mapping) = self.maps.iter_mut().find(of_copy)
            {
                *mapping = Mapping { range: copy.range, executable: true, offset, ..beside };
            }
        }
    }

    /// The offset in the file of the mapping next to it at which the code begins, if the file has this code.
    fn same_code(&self, copy: &Mapping, beside: &Mapping, files: &mut Files) -> Option<u64> {
        if self.mounts.is_served(beside.device) {
            return None;
        }
        let file: Arc<Mapped> = files.get(self.at, beside, false, &mut Vec::new())?;
        let begin = file.offset(copy.range.start.wrapping_sub(file.bias(beside)?))?;
        let length = copy.range.end - copy.range.start;
        let step = (length / PLACES).max(BYTES as u64);
        let mut any = false;
        for at in (0..length).step_by(usize::try_from(step).ok()?) {
            let mut of_file = [0; BYTES];
            // The end of the file's part may be before the end of the last page.
            let read = file.file.read_at(&mut of_file, begin.checked_add(at)?).ok()?;
            let memory = self.read(copy.range.start.checked_add(at)?, BYTES)?;
            if memory.get(..read) != of_file.get(..read) {
                return None;
            }
            any |= of_file.iter().any(|byte| *byte != 0);
        }
        any.then_some(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSegment, SegmentFlags};
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect};
    use std::fs::File;

    const PAGE: u64 = 4096;

    /// As a loader maps a program, but with the code in anonymous memory.
    #[test]
    fn code_that_was_copied_to_memory_without_a_file_is_that_of_the_file_beside_it() {
        let path = std::fs::canonicalize("/bin/sleep").unwrap();
        let (file, bytes) = (File::open(&path).unwrap(), std::fs::read(&path).unwrap());
        let elf = object::File::parse(&*bytes).unwrap();
        let executes =
            |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 == 1);
        let Some(code) = elf.segments().find(|segment| executes(segment.flags())) else { return };
        let first = elf.segments().next().unwrap();
        let (end, size) = (code.address() & !(PAGE - 1), code.file_range().1);
        // Another linker may put the code first.
        if first.address() != 0 || first.file_range().1.next_multiple_of(PAGE) != end {
            return;
        }
        let length = size.next_multiple_of(PAGE);
        let bytes_of = |n: u64| usize::try_from(n).unwrap();
        let (none, read) = (std::ptr::null_mut(), ProtFlags::READ);
        let write = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory where the kernel chooses; what replaces it lies inside, and nothing else refers to it.
        let begin = unsafe {
            let all = bytes_of(end + length);
            let begin = mmap_anonymous(none, all, ProtFlags::empty(), MapFlags::PRIVATE).unwrap();
            let fixed = MapFlags::PRIVATE | MapFlags::FIXED;
            mmap(begin, bytes_of(end), read, fixed, &file, 0).unwrap();
            let place = begin.cast::<u8>().add(bytes_of(end)).cast();
            let place = mmap_anonymous(place, bytes_of(length), write, fixed).unwrap();
            let text = &bytes[bytes_of(code.file_range().0)..][..bytes_of(size)];
            std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len());
            mprotect(place, bytes_of(length), MprotectFlags::READ | MprotectFlags::EXEC).unwrap();
            begin as u64
        };
        let process = Process::new(std::process::id(), &mut Files::default()).unwrap();
        let (mapping, _, offset) = process.file(begin + end + 16).unwrap();
        assert_eq!((mapping.name.as_str(), offset), (path.to_str().unwrap(), end + 16));
        // Memory of other content next to the same file.
        // SAFETY: as above.
        unsafe {
            let place = (begin + end) as *mut std::ffi::c_void;
            mprotect(place, bytes_of(length), MprotectFlags::READ | MprotectFlags::WRITE).unwrap();
            std::ptr::write_bytes(place.cast::<u8>(), 0x90, bytes_of(length));
            mprotect(place, bytes_of(length), MprotectFlags::READ | MprotectFlags::EXEC).unwrap();
        }
        let process = Process::new(std::process::id(), &mut Files::default()).unwrap();
        assert!(process.file(begin + end + 16).is_none());
    }
}
