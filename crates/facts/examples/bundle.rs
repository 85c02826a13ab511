//! Writes a bundle of this machine: `cargo run -p clocksmith-facts --example bundle FILE`.

use clocksmith_facts::collect::write_bundle;
use clocksmith_facts::tree::LiveTree;
use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: bundle FILE")?;
    let summary = write_bundle(&LiveTree::new(), File::create(path)?)?;
    println!("{}", serde_json::to_string_pretty(&summary)?);
    Ok(())
}
