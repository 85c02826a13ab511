//! Prints the facts of this machine, of a root directory, or of a bundle as JSON:
//! `cargo run -p clocksmith-facts --example facts [DIR|FILE]`.

use clocksmith_facts::Origin;
use clocksmith_facts::collect::collect;
use clocksmith_facts::tree::{BundleTree, DirTree, LiveTree, Tree};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let (tree, origin): (Box<dyn Tree>, Origin) = match std::env::args().nth(1) {
        None => (Box::new(LiveTree::new()), Origin::Live),
        Some(path) if Path::new(&path).is_dir() => {
            (Box::new(DirTree::new(&path)?), Origin::Root(path))
        }
        Some(path) => (Box::new(BundleTree::open(&path)?), Origin::Bundle(path)),
    };
    let facts = collect(tree.as_ref(), origin);
    eprintln!("collected in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    println!("{}", serde_json::to_string_pretty(&facts)?);
    Ok(())
}
