//! Prints the facts of this machine, of a root directory, or of a bundle as JSON:
//! `cargo run -p clocksmith-facts --example facts [DIR|FILE]`.

use clocksmith_facts::Origin;
use clocksmith_facts::collect::collect;
use clocksmith_facts::tree::{DirTree, LiveTree, Tree};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let (tree, origin): (Box<dyn Tree>, Origin) = match std::env::args().nth(1) {
        None => (Box::new(LiveTree::new()), Origin::Live),
        Some(path) => (Box::new(DirTree::new(&path)?), Origin::Root(path)),
    };
    let facts = collect(tree.as_ref(), origin);
    eprintln!("collected in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    println!("{}", serde_json::to_string_pretty(&facts)?);
    Ok(())
}
