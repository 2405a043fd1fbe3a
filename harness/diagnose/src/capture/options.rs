//! Options of a capture. Does not know objects.

/// Options of a capture.
#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Namespace and name of the pod to capture. `None`: all pods that wait for a volume of the driver.
    pub pod: Option<(String, String)>,
    /// The driver. `None`: that of the pod's PVCs, or the only one that tracks capacity.
    pub driver: Option<String>,
    /// Whether a publisher runs: the values of the capacity objects become the storage behind the driver.
    pub publisher: bool,
    /// The command with which the user runs the file, such as `csi-capacity`.
    pub program: &'static str,
    /// Replace names, label values and keys by neutral ones, consistently.
    pub scrub: bool,
}
