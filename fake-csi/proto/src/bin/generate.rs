//! Writes `src/csi.v1.rs` from `csi.proto`, without any outside program. Knows nothing of what the messages mean.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let descriptors = protox::compile([home.join("csi.proto")], [home])?;
    let folder = home.join("src");
    // Ordered maps: equal messages then have equal bytes, and logs read the same every time.
    tonic_prost_build::configure()
        .btree_map(".")
        .out_dir(&folder)
        .compile_fds(descriptors)?;
    let file = folder.join("csi.v1.rs");
    let (source, code) = (
        std::fs::read_to_string(home.join("csi.proto"))?,
        std::fs::read_to_string(&file)?,
    );
    std::fs::write(&file, format!("{}\n{code}", csi_proto::stamp(&source, &code)))?;
    Ok(())
}
