//! Prints a light measurement as JSON: `cargo run --release -p clocksmith-measure --example light`.

use clocksmith_measure::light::{BUDGET, light};

fn main() -> Result<(), serde_json::Error> {
    println!("{}", serde_json::to_string_pretty(&light(BUDGET))?);
    Ok(())
}
