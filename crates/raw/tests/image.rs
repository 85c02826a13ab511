//! The properties that the image needs: it is copied into memory unchanged, without relocation.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_raw::IMAGE;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, elf};

const E: Endianness = Endianness::Little;

fn header() -> (&'static [u8], &'static elf::FileHeader64<Endianness>) {
    let image = IMAGE.unwrap();
    (image, elf::FileHeader64::parse(image).unwrap())
}

#[test]
fn one_segment_that_cannot_be_written_to() {
    let (image, header) = header();
    assert_eq!(header.e_type(E), elf::ET_DYN);
    let segments = header.program_headers(E, image).unwrap();
    let loaded: Vec<_> = segments.iter().filter(|s| s.p_type(E) == elf::PT_LOAD).collect();
    let [segment] = loaded[..] else { panic!("{} segments", loaded.len()) };
    // musl uses the difference of the two as the base.
    assert_eq!((segment.p_offset(E), segment.p_vaddr(E)), (0, 0));
    assert_eq!(segment.p_flags(E), elf::PF_R | elf::PF_X);
    assert_eq!(segment.p_filesz(E), segment.p_memsz(E));
    assert!(segment.p_filesz(E) <= image.len() as u64);
    assert!(!segments.iter().any(|s| s.p_type(E) == elf::PT_TLS));
    // Unwinders find their tables.
    assert!(segments.iter().any(|s| s.p_type(E) == elf::PT_GNU_EH_FRAME));
}

#[test]
fn nothing_to_relocate_and_nothing_to_write_to() {
    let (image, header) = header();
    let sections = header.sections(E, image).unwrap();
    for section in sections.iter() {
        let kind = section.sh_type(E);
        assert!(kind != elf::SHT_RELA && kind != elf::SHT_REL, "relocations");
        let name = String::from_utf8_lossy(sections.section_name(E, section).unwrap());
        let written = section.sh_flags(E) & elf::SHF_WRITE == elf::SHF_WRITE;
        assert!(!written || name == ".dynamic", "{name}");
    }
    let (dynamic, _) = sections.dynamic(E, image).unwrap().unwrap();
    for entry in dynamic {
        let tag = entry.d_tag(E);
        assert!(tag != elf::DT_RELA && tag != elf::DT_JMPREL && tag != elf::DT_NEEDED);
    }
    let symbols = sections.symbols(E, image, elf::SHT_DYNSYM).unwrap();
    for symbol in symbols.iter().skip(1) {
        assert_ne!(symbol.st_shndx(E), elf::SHN_UNDEF, "a symbol from elsewhere");
    }
}

#[test]
fn the_names_and_the_version_of_the_kernels() {
    let (image, header) = header();
    let sections = header.sections(E, image).unwrap();
    let symbols = sections.symbols(E, image, elf::SHT_DYNSYM).unwrap();
    let versions = sections.versions(E, image).unwrap().unwrap();
    let names: Vec<_> = symbols
        .enumerate()
        .filter(|(_, symbol)| symbol.st_type() == elf::STT_FUNC)
        .map(|(index, symbol)| {
            let version = versions.version_index(E, index);
            let version = versions.version(version.into()).unwrap().unwrap();
            assert_eq!(version.name(), b"LINUX_2.6");
            String::from_utf8_lossy(symbol.name(E, symbols.strings()).unwrap()).into_owned()
        })
        .collect();
    for name in ["clock_gettime", "gettimeofday", "time", "getcpu", "clock_getres", "getrandom"] {
        for prefix in ["", "__vdso_"] {
            assert!(names.contains(&format!("{prefix}{name}")), "{prefix}{name} in {names:?}");
        }
    }
    assert_eq!(names.len(), 12, "{names:?}");
    // Both: glibc has looked only at the second since 2.36, Go and musl at the first.
    let has = |kind| sections.iter().any(|section| section.sh_type(E) == kind);
    assert!(has(elf::SHT_HASH) && has(elf::SHT_GNU_HASH));
}

/// Go calls the vDSO with a vector register that must stay zero (X15); the first eight are enough
/// for every caller.
#[test]
fn upper_vector_registers_are_left_alone() {
    let file = std::env::temp_dir().join(format!("clocksmith-image-{}.so", std::process::id()));
    let mut new = std::fs::OpenOptions::new().write(true).create_new(true).open(&file).unwrap();
    std::io::Write::write_all(&mut new, IMAGE.unwrap()).unwrap();
    let listing = std::process::Command::new("objdump").arg("-d").arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    let Ok(listing) = listing else {
        eprintln!("skipped: no objdump");
        return;
    };
    let text = String::from_utf8_lossy(&listing.stdout);
    assert!(text.contains("rdtsc") && text.contains("lfence"), "no listing");
    for register in
        ["xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "ymm", "zmm"]
    {
        assert!(!text.contains(register), "{register}");
    }
}
