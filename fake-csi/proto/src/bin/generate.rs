//! Generates `src/csi.v1.rs` from `csi.proto` without external programs such as protoc.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let descriptors = protox::compile([home.join("csi.proto")], [home])?;
    let folder = home.join("src");
    // Maps are `BTreeMap`s, so that equal messages encode to equal bytes and log output is deterministic.
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
