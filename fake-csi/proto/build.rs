//! Compiles `csi.proto` without any outside program. Knows nothing of what the messages mean.

use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=csi.proto");
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let descriptors = protox::compile([home.join("csi.proto")], [&home])?;
    // Ordered maps: equal messages then have equal bytes, and logs read the same every time.
    tonic_prost_build::configure()
        .btree_map(".")
        .compile_fds(descriptors)?;
    Ok(())
}
