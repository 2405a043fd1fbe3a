//! The file format of a manifest. Errors contain positions in the file.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_saphyr::Location;

use super::child::{CommandTemplate, Metrics, Process, Program};
use super::known::{KnownFailure, KnownFile};
use super::objects::{ChangeFile, Objects, ObjectsFile};
use super::template::Template;
use super::{DriverUnderTest, Manifest, ManifestError};
use crate::alike::did_you_mean;
use crate::plan;
use crate::renamed;
use crate::scenario::{ExternalDriver, Role, ScenarioError, Spanned, parse_yaml};
use crate::settings::of_role;
use crate::system::{DriverSocket, METRICS_ADDRESS};
use crate::text::read_text_file;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    version: String,
    refresh: Option<Spanned<String>>,
    /// Maximum back-off of the programs after an error.
    retry_interval_max: Option<Spanned<String>>,
    features: Vec<Spanned<String>>,
    roles: BTreeMap<Role, Spanned<RoleFile>>,
    #[serde(default)]
    known_failures: Vec<KnownFile>,
}

/// Arguments for each value of a setting; the key `any` applies to every value.
type ArgumentsByValue = BTreeMap<String, Vec<Spanned<String>>>;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RoleFile {
    argv: Vec<Spanned<String>>,
    /// Only for the role `driver`: socket of a driver that is already running, instead of `argv`.
    socket: Option<Spanned<String>>,
    /// Only for the role `driver`: names (of the driver, topology keys and so on) that cases must use.
    names: Option<Spanned<ExternalDriver>>,
    env: BTreeMap<String, Spanned<String>>,
    /// Arguments that are added for a setting of the case: setting → value (or `any`) → arguments.
    settings: BTreeMap<String, Spanned<ArgumentsByValue>>,
    /// Files that the harness writes: name → content. `{files.name}` in an argument is the path of the file.
    files: BTreeMap<String, Spanned<String>>,
    /// Metrics URL of the program, and the arguments that enable its metrics.
    metrics: Option<Spanned<MetricsFile>>,
    /// Grace period between SIGTERM and SIGKILL, such as `5s`.
    grace: Option<Spanned<String>>,
    /// Sidecars: processes that run beside the program, started before it.
    processes: Vec<Spanned<ProcessFile>>,
    /// Names of ports that the harness chooses; used as `{ports.name}`.
    ports: Vec<String>,
    /// Whether the program supports only the in-cluster configuration of pods, in `/var/run/secrets/kubernetes.io/serviceaccount`.
    in_cluster: bool,
    /// API objects that must exist when the program starts.
    objects: Vec<Spanned<ObjectsFile>>,
    /// Only for the role `driver`: patches of API objects that set the storage of a case.
    backend: Vec<Spanned<ChangeFile>>,
    /// Only for the role `driver`: whether the driver, as started by this manifest, provisions volumes.
    volumes: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProcessFile {
    argv: Vec<Spanned<String>>,
    /// Address or socket path on which the process listens. The next process is started once the process listens.
    listens: Option<Spanned<String>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
}

impl RoleFile {
    /// The first key that is set although only the role `driver` may have it, with its position; `None` if there is no such key.
    fn key_of_driver(&self) -> Option<(&'static str, Location)> {
        [
            ("socket", self.socket.as_ref().map(|it| it.defined)),
            ("names", self.names.as_ref().map(|it| it.defined)),
            ("backend", self.backend.first().map(|it| it.defined)),
            ("volumes", self.volumes.as_ref().map(|it| it.defined)),
        ]
        .into_iter()
        .find_map(|(key, position)| Some((key, position?)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MetricsFile {
    /// URL of the metrics. `{metrics_address}` is an address that the harness chooses.
    url: Spanned<String>,
    /// Arguments that are added if a case reads metrics. They may contain `{metrics_address}` and `{metrics_port}`.
    argv: Vec<Spanned<String>>,
}

/// Default grace period between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

impl Manifest {
    /// Reads and validates a manifest.
    ///
    /// Errors contain file, line and column. A program that does not exist is an error.
    pub fn load(path: &Path) -> Result<Self, ManifestError> {
        let unreadable = |source| ManifestError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let text = read_text_file(path).map_err(unreadable)?;
        parse(path, &text)
    }

    /// Validates the text of a manifest. `path` is used in messages and to resolve relative paths of programs.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ManifestError> {
        parse(path, text)
    }
}

fn parse(path: &Path, text: &str) -> Result<Manifest, ManifestError> {
    let source = path.display().to_string();
    let mut file: File = parse_yaml(&source, text)?;
    let reader = Reader { source, text, path };
    if file.roles.is_empty() {
        let message = "`roles` is empty; add a publisher, a scheduler, a cleaner or a driver";
        return Err(ScenarioError::whole(path, message).into());
    }
    for name in &mut file.features {
        let feature = plan::feature(&name.value).map_err(|message| reader.error(name, message))?;
        name.value = feature.name.to_owned();
    }
    let mut programs = Vec::new();
    let reports_maximum = file.features.iter().any(|name| name.value == "driver.maximum");
    let driver = reader.driver(&file.roles, reports_maximum)?;
    for (role, spec) in &file.roles {
        if spec.value.socket.is_some() {
            continue;
        }
        let program = reader.program(*role, spec)?;
        for setting in of_role(*role) {
            let claimed = file
                .features
                .iter()
                .find(|name| setting.feature() == Some(name.value.as_str()));
            if let Some(name) = claimed
                && !program.settings.contains_key(setting.name)
            {
                let message = format!(
                    "{} is claimed, but the manifest has no setting for it; add `settings: {{{}: …}}` to the {}",
                    name.value,
                    setting.name,
                    role.as_str()
                );
                return Err(reader.error(name, message).into());
            }
        }
        let claim = format!("{}.metrics", role.as_str());
        let claimed = file.features.iter().find(|name| name.value == claim);
        if let (Some(name), None) = (claimed, &program.metrics) {
            let message = format!(
                "{claim} is claimed, but the metrics have no URL; add `metrics: {{url: …, argv: […]}}` to the {}",
                role.as_str()
            );
            return Err(reader.error(name, message).into());
        }
        programs.push((*role, Arc::new(program)));
    }
    let known = file.known_failures.into_iter();
    let known = known.map(|known| reader.parse_known_failure(known, &file.version));
    let known = known.collect::<Result<_, _>>()?;
    let duration = |text: Option<Spanned<String>>| text.map(|text| reader.duration(&text)).transpose();
    Ok(Manifest {
        name: file.name,
        version: file.version,
        refresh: duration(file.refresh)?,
        retry_interval_max: duration(file.retry_interval_max)?,
        features: file.features.into_iter().map(|name| name.value).collect(),
        known,
        driver,
        programs,
        source: reader.source,
        text: text.to_owned(),
    })
}

struct Reader<'a> {
    source: String,
    text: &'a str,
    path: &'a Path,
}

impl Reader<'_> {
    fn error<T>(&self, value: &Spanned<T>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.source, self.text, value.defined, message)
    }

    fn duration(&self, text: &Spanned<String>) -> Result<Duration, ScenarioError> {
        plan::duration(&text.value).map_err(|message| self.error(text, message))
    }

    fn parse_known_failure(&self, known: KnownFile, version: &str) -> Result<KnownFailure, ScenarioError> {
        let position = |at: Location| format!("{}:{}:{}", self.source, at.line(), at.column());
        let checked = known.check(version, position);
        checked.map_err(|(at, message)| ScenarioError::at(&self.source, self.text, at, message))
    }

    /// The driver-specific settings: the names that cases must use, and the socket of a running driver.
    fn driver(
        &self,
        roles: &BTreeMap<Role, Spanned<RoleFile>>,
        reports_maximum: bool,
    ) -> Result<Option<DriverUnderTest>, ScenarioError> {
        for (role, spec) in roles {
            let file = &spec.value;
            if *role != Role::Driver
                && let Some((key, position)) = file.key_of_driver()
            {
                let message = format!(
                    "`{key}` is a key of the driver; remove it from the {}",
                    role.as_str()
                );
                return Err(ScenarioError::at(&self.source, self.text, position, message));
            }
        }
        let Some(spec) = roles.get(&Role::Driver) else {
            return Ok(None);
        };
        let file = &spec.value;
        let Some(names) = &file.names else {
            let message = "the driver needs `names: {name: …, topologyKeys: […]}`, as in the responses of GetPluginInfo and NodeGetInfo";
            return Err(self.error(spec, message));
        };
        if let Some(message) = names.value.topology_error() {
            return Err(self.error(names, message));
        }
        if file.socket.is_some() != file.argv.is_empty() {
            let message = "the driver needs either `argv`, or the `socket` of a running driver";
            return Err(self.error(spec, message));
        }
        if names.value.accepts_backend || names.value.reports_maximum {
            let message =
                "`takesBackend` and `tellsMaximum` follow from `backend` and `features`; remove them here";
            return Err(self.error(names, message));
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let objects = self.objects(file)?;
        let socket = file.socket.as_ref().map(|path| {
            let path = folder.join(&path.value);
            DriverSocket::new(std::path::absolute(&path).unwrap_or(path))
        });
        if socket.is_some() && !objects.is_empty() {
            let message = "a driver with a `socket` uses another API server than the cases, so it does not observe `objects`; name its program (`argv`)";
            return Err(self.error(spec, message));
        }
        Ok(Some(DriverUnderTest {
            names: ExternalDriver {
                accepts_backend: objects.can_set_storage(),
                reports_maximum: objects.can_set_storage() && reports_maximum,
                ..names.value.clone()
            },
            socket,
            can_set_maximum: objects.can_set_maximum(),
            provisions_volumes: file.volumes.as_ref().is_none_or(|volumes| volumes.value),
        }))
    }

    /// The API objects of a program. Only the objects of a driver can be patched during a case.
    fn objects(&self, file: &RoleFile) -> Result<Objects, ScenarioError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let error_at = |position: Location, message: String| {
            ScenarioError::at(&self.source, self.text, position, message)
        };
        Objects::read(folder, (&file.objects, &file.backend), &error_at)
    }

    fn program(&self, role: Role, spec: &Spanned<RoleFile>) -> Result<Program, ManifestError> {
        let file = &spec.value;
        let known: Vec<&str> = of_role(role).map(|setting| setting.name).collect();
        let names = placeholder_names(file, &known);
        let template = |text: &Spanned<String>, with_value: bool| {
            Template::parse(&text.value, &names, with_value).map_err(|message| self.error(text, message))
        };
        let plain = |text: &Spanned<String>| template(text, false);
        let start = self.start(role, spec.defined, (&file.argv, &file.env), &plain)?;
        let mut settings = BTreeMap::new();
        for (written, values) in &file.settings {
            let name = renamed::current_setting(written);
            if !known.contains(&name) {
                let message = format!(
                    "`{name}` is not a setting of the {}{}; settings: {}",
                    role.as_str(),
                    did_you_mean(name, known.iter().copied()),
                    known.join(", ")
                );
                return Err(self.error(values, message).into());
            }
            let arguments = |(value, texts): (&String, &Vec<Spanned<String>>)| {
                let texts = texts.iter().map(|text| template(text, true));
                Ok::<_, ScenarioError>((value.clone(), texts.collect::<Result<Vec<_>, _>>()?))
            };
            let by_value = values.value.iter().map(arguments);
            let by_value = by_value.collect::<Result<_, _>>()?;
            if settings.insert(name.to_owned(), by_value).is_some() {
                let message = format!(
                    "the setting `{name}` is given twice, once in its old spelling; remove one of them"
                );
                return Err(self.error(values, message).into());
            }
        }
        let sidecars = file.processes.iter().map(|spec| {
            let process = &spec.value;
            Ok::<_, ManifestError>(Process {
                start: self.start(role, spec.defined, (&process.argv, &process.env), &plain)?,
                listens: process.listens.as_ref().map(plain).transpose()?,
            })
        });
        Ok(Program {
            role,
            start,
            sidecars: sidecars.collect::<Result<_, _>>()?,
            ports: file.ports.clone(),
            in_cluster: file.in_cluster,
            objects: Arc::new(self.objects(file)?),
            files: parse_texts(&file.files, plain)?,
            settings,
            metrics: file
                .metrics
                .as_ref()
                .map(|metrics| self.metrics(&metrics.value))
                .transpose()?,
            grace: file
                .grace
                .as_ref()
                .map_or(Ok(GRACE), |text| self.duration(text))?,
        })
    }

    fn start(
        &self,
        role: Role,
        position: Location,
        (argv, env): (&[Spanned<String>], &BTreeMap<String, Spanned<String>>),
        template: &dyn Fn(&Spanned<String>) -> Result<Template, ScenarioError>,
    ) -> Result<CommandTemplate, ManifestError> {
        let Some((program, arguments)) = argv.split_first() else {
            let message = format!("`argv` of the {} is empty; name its program", role.as_str());
            return Err(ScenarioError::at(&self.source, self.text, position, message).into());
        };
        Ok(CommandTemplate {
            path: self.executable(role, &program.value)?,
            arguments: arguments.iter().map(template).collect::<Result<_, _>>()?,
            env: parse_texts(env, template)?,
        })
    }

    fn metrics(&self, file: &MetricsFile) -> Result<Metrics, ScenarioError> {
        let url = &file.url.value;
        let is_url = url.starts_with("http://") || url.starts_with("https://");
        if !is_url || !url.contains(METRICS_ADDRESS) {
            let message = format!(
                "`{url}` is not a URL with the placeholder {METRICS_ADDRESS}; write one such as `http://{METRICS_ADDRESS}/metrics`"
            );
            return Err(self.error(&file.url, message));
        }
        let names = ["metrics_address", "metrics_port"].map(str::to_owned);
        let template = |text: &Spanned<String>| {
            Template::parse(&text.value, &names, false).map_err(|message| self.error(text, message))
        };
        Ok(Metrics {
            url: url.clone(),
            arguments: file.argv.iter().map(template).collect::<Result<_, _>>()?,
        })
    }

    /// Resolves the executable of a program: a path with a `/` is relative to the manifest's folder; any other name is looked up in `PATH`.
    fn executable(&self, role: Role, program: &str) -> Result<PathBuf, ManifestError> {
        let program_error = |why: String| ManifestError::Program {
            path: self.path.to_owned(),
            role: role.as_str(),
            program: program.to_owned(),
            why,
        };
        if program.contains('/') {
            let folder = self.path.parent().unwrap_or(Path::new(""));
            let path = folder.join(program);
            let path = std::path::absolute(&path).unwrap_or(path);
            return match exec_problem(&path) {
                None => Ok(path),
                Some(why) => Err(program_error(why)),
            };
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let paths: Vec<PathBuf> = std::env::split_paths(&folders)
            .map(|folder| folder.join(program))
            .collect();
        match paths.iter().find(|path| exec_problem(path).is_none()) {
            Some(path) => Ok(path.clone()),
            // If PATH contains a file of this name that cannot be executed, the error explains why.
            None => Err(program_error(match paths.iter().find(|path| path.exists()) {
                Some(path) => exec_problem(path).unwrap_or_default(),
                None => "not found in PATH; correct `argv`, or build the program first".to_owned(),
            })),
        }
    }
}

/// Why the operating system cannot execute a file, and what the user must change; `None` if no problem is found.
fn exec_problem(path: &Path) -> Option<String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(format!(
            "no program at {shown}; correct `argv`, or build the program first"
        )),
        Err(error) => Some(format!(
            "the metadata of {shown} cannot be read: {error}; correct the permissions, or `argv`"
        )),
        Ok(file) if file.is_dir() => Some(format!("{shown} is a folder; name the program in it")),
        Ok(file) if !file.is_file() => Some(format!("{shown} is not a regular file; correct `argv`")),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => Some(format!(
            "the file {shown} is not executable; run `chmod +x`, or correct `argv`"
        )),
        Ok(_) => None,
    }
}

/// Names of placeholders for the files, settings and ports of a program. Omits placeholders that every program has.
fn placeholder_names(file: &RoleFile, settings: &[&str]) -> Vec<String> {
    let files = file.files.keys().map(|name| format!("files.{name}"));
    let settings = settings.iter().map(|name| format!("settings.{name}"));
    let ports = file.ports.iter().map(|name| format!("ports.{name}"));
    files.chain(settings).chain(ports).collect()
}

fn parse_texts<T>(
    texts: &BTreeMap<String, Spanned<String>>,
    mut each: impl FnMut(&Spanned<String>) -> Result<T, ScenarioError>,
) -> Result<BTreeMap<String, T>, ScenarioError> {
    texts
        .iter()
        .map(|(name, text)| Ok((name.clone(), each(text)?)))
        .collect()
}
