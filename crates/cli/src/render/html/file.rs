//! The destination of a page: a new file, an earlier page of clocksmith, or standard output.

use crate::render;
use crate::ui::file;
use anyhow::{Context, Result, bail};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The program's name in the pages that it makes.
pub(super) const GENERATOR: &str = "clocksmith";
/// The bytes at the beginning of a page that contain that name.
const HEAD: u64 = 1024;

/// Writes a page as a whole: a reader of the file sees the previous page or this one. Overwrites
/// only a page that clocksmith wrote.
pub(crate) fn put(path: &Path, page: &str) -> Result<()> {
    if path == Path::new("-") {
        return render::text(page);
    }
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            bail!("{shown} exists and is not a regular file: name a new file for the page, or `-`")
        }
        Ok(_) if !is_ours(path).with_context(|| format!("cannot read what {shown} is now"))? => {
            bail!(
                "{shown} exists and clocksmith did not write it: it is not overwritten. Name another file, or remove \
                 it first"
            )
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot write {shown}"));
        }
        _ => {}
    }
    file::replace(path, page.as_bytes())
}

/// Returns whether a file begins as this program's pages do.
fn is_ours(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    // The file that was examined may be a pipe now.
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    file.take(HEAD).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    Ok(head.starts_with("<!doctype html>")
        && head.contains(&format!("<meta name=\"generator\" content=\"{GENERATOR} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_ours_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("why.html");
        let page = |words: &str| {
            let mut page = super::super::Page::new("why", "title");
            page.section(words, words);
            page.out
        };
        put(&path, &page("one")).unwrap();
        put(&path, &page("two")).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("two"));

        for other in [
            "",
            "<!doctype html>\n<title>notes</title>",
            "<meta name=\"generator\" content=\"clocksmith ",
        ] {
            std::fs::write(&path, other).unwrap();
            let error = put(&path, &page("three")).unwrap_err().to_string();
            assert!(error.contains("not overwritten"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
        let link = dir.path().join("link.html");
        std::fs::write(&path, page("four")).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for not_a_file in [link.as_path(), dir.path(), Path::new("/dev/full")] {
            assert!(put(not_a_file, "x").unwrap_err().to_string().contains("not a regular file"));
        }
        assert!(put(&dir.path().join("none/why.html"), "x").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
    }
}
