//! What to capture, and how. Knows no objects.

/// What to capture, and how.
#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Namespace and name of the pod that it is about; none: every pod that waits for a volume of the driver.
    pub pod: Option<(String, String)>,
    /// The driver; none: that of the pod's claims, or the only one that tracks capacity.
    pub driver: Option<String>,
    /// A publisher is to run: what the capacity objects say becomes the storage behind the driver.
    pub publisher: bool,
    /// How the user calls the program that runs the file, such as `csi-capacity`.
    pub program: &'static str,
    /// Replace names, label values and keys by neutral ones, the same one for the same text everywhere.
    pub scrub: bool,
}
