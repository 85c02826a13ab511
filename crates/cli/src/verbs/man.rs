//! `man`: the manual pages, on standard output or into a directory.

use crate::args::{Common, ManPages};
use crate::exit::Code;
use crate::manual::{Page, pages};
use crate::ui::{file, out};
use anyhow::{Context, Result, bail};
use std::path::Path;

pub(crate) fn run(common: &Common, args: &ManPages) -> Result<Code> {
    if common.json {
        bail!("a manual page has no JSON form; leave out --json");
    }
    let pages = pages();
    if let Some(dir) = &args.out {
        for page in &pages {
            write(page, dir)?;
        }
        return Ok(Code::Done);
    }
    let verb = args.verb.join(" ");
    let Some(page) = pages.iter().find(|page| page.verb == verb) else {
        bail!("there is no page for {verb:?}; `clocksmith --help` lists the verbs");
    };
    let mut text = Vec::new();
    page.render(&mut text)?;
    out::bytes(out::Bytes::Manual(&text))?;
    Ok(Code::Done)
}

fn write(page: &Page, dir: &Path) -> Result<()> {
    let path = dir.join(page.file());
    let mut text = Vec::new();
    page.render(&mut text)?;
    file::replace(&path, &text).with_context(|| {
        format!("cannot write {}; --out takes a directory that exists", path.display())
    })
}
