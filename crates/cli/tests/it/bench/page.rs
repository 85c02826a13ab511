//! The page, by itself and in a real browser.

use std::path::Path;
use std::process::Command;

/// Checks a page: its size, that it loads nothing from outside, and that a browser accepts it.
pub(super) fn check(html: &str) {
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    for outside in ["http:", "https:", "src=", "href=", "<script", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let Some(browser) =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success())
        })
    else {
        println!("no browser here: the page was not opened (apt-get install chromium)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let shot = dir.path().join("page.png");
    let out = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg("--hide-scrollbars")
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .arg("--window-size=1000,1600")
        .arg(format!("--screenshot={}", shot.display()))
        .arg(format!("file://{}", Path::new(html).display()))
        .output()
        .unwrap();
    let png = std::fs::read(&shot).unwrap_or_else(|error| {
        panic!("{browser} made no picture: {error}\n{}", String::from_utf8_lossy(&out.stderr))
    });
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (1000, 1600));
    // A blank page of this size takes a few kilobytes.
    assert!(png.len() > 60_000, "{} bytes: the page looks empty", png.len());
    if let Some(keep) = std::env::var_os("CLOCKSMITH_KEEP_SCREENSHOT") {
        std::fs::copy(&shot, keep).unwrap();
    }
}
