//! Options of a capture. Does not know objects.

/// Options of a capture.
#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Namespace and name of the pod to capture. `None`: all pods that wait for a volume of the driver.
    pub pod: Option<(String, String)>,
    /// Name of the driver. `None`: the driver of the pod's PVCs, or the only driver that tracks capacity.
    pub driver: Option<String>,
    /// Whether a publisher runs in the case. If so, the driver of the case gets the capacities of the CSIStorageCapacity objects.
    pub publisher: bool,
    /// The command with which the user runs the case file, such as `csi-capacity`.
    pub program: &'static str,
    /// Whether to replace names, label keys and label values by neutral strings; equal strings get equal replacements.
    pub scrub: bool,
}
