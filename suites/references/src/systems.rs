//! Starts the references as systems under test, and maps the settings of a case to their options.
//!
//! Compiled in two crates: this one and `mutants`. Each of them defines the modules `publisher` and `scheduler`.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use suites::harness::network::NetworkStream;
use suites::harness::scenario::{KnownBug, Mode, Role, SchedulerSpec};
use suites::harness::system::{BoxError, METRICS_ADDRESS, ProgramInputs, Run, System, Systems};
use tower::ServiceBuilder;

use crate::{publisher, scheduler};

/// Changes to the default options of each reference, applied in order.
#[derive(Clone, Default)]
pub(crate) struct Adjustments {
    pub(crate) publisher: Vec<fn(&mut publisher::Options)>,
    pub(crate) scheduler: Vec<fn(&mut scheduler::Options)>,
    pub(crate) cleaner: Vec<fn(&mut publisher::Options)>,
}

/// The references as systems under test, each for its role.
pub(crate) fn systems() -> Systems {
    adjusted(&Adjustments::default())
}

pub(crate) fn adjusted(adjustments: &Adjustments) -> Systems {
    let (of_publisher, of_scheduler) = (adjustments.publisher.clone(), adjustments.scheduler.clone());
    let run_publisher: Arc<Run> = Arc::new(move |access, stop| {
        let adjust = of_publisher.clone();
        Box::pin(async move {
            let clients = clients(&access).await?;
            let mut options = publisher_options(access);
            adjust.iter().for_each(|adjust| adjust(&mut options));
            publisher::run_with(options, clients, stop.cancelled_owned()).await?;
            Ok(())
        })
    });
    let run_scheduler: Arc<Run> = Arc::new(move |access, stop| {
        let adjust = of_scheduler.clone();
        Box::pin(async move {
            let client = client(&access)?;
            let mut options = scheduler_options(&access)?;
            adjust.iter().for_each(|adjust| adjust(&mut options));
            let metrics = options.metrics.clone();
            let serving = async {
                if let Some(connections) = connections(&access).await? {
                    scheduler::serve_metrics(
                        metrics,
                        connections.map_ok(|socket| Box::new(socket) as _).boxed(),
                    )
                    .await;
                }
                std::future::pending::<Result<(), BoxError>>().await
            };
            tokio::select! {
                biased;
                ended = scheduler::run(options, client, stop.cancelled_owned()) => Ok(ended?),
                failed = serving => failed,
            }
        })
    });
    let of_cleaner = adjustments.cleaner.clone();
    let run_cleaner: Arc<Run> = Arc::new(move |access, stop| {
        let adjust = of_cleaner.clone();
        Box::pin(async move {
            let clients = clients(&access).await?;
            let mut options = cleaner_options(access);
            adjust.iter().for_each(|adjust| adjust(&mut options));
            publisher::run_with(options, clients, stop.cancelled_owned()).await?;
            Ok(())
        })
    });
    let system = |name: &str, run| System {
        name: name.to_owned(),
        run,
        metrics_url: Some(format!("http://{METRICS_ADDRESS}/metrics")),
        is_child: false,
    };
    Systems {
        by_role: [
            (Role::Publisher, system("capacity-publisher", run_publisher)),
            (Role::Scheduler, system("capacity-scheduler", run_scheduler)),
            (
                Role::Cleaner,
                system("capacity-publisher --clean-orphans", run_cleaner),
            ),
        ]
        .into(),
        driver_socket: None,
        objects: Default::default(),
        api_server: None,
    }
}

/// A client without kube's own retries, which would hide the back-off of the references.
fn client(access: &ProgramInputs) -> Result<kube::Client, BoxError> {
    let mut config = kube::Config::new(access.api_url.parse()?);
    config.auth_info.token = Some(access.token.clone().into());
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .map_err(BoxError::from)
        .service(HttpClient::builder(TokioExecutor::new()).build(access.network.http()));
    Ok(kube::Client::new(service, access.namespace.clone()))
}

/// The connections that the metrics listener of a case accepts; `None` if the case reads no metrics.
async fn connections(
    access: &ProgramInputs,
) -> std::io::Result<Option<impl Stream<Item = std::io::Result<NetworkStream>> + Send + use<>>> {
    let Some(address) = &access.metrics_address else {
        return Ok(None);
    };
    let listening = access.network.listen_at(address).await?;
    Ok(Some(stream::unfold(listening, async |mut listening| {
        Some((listening.next().await?, listening))
    })))
}

async fn clients(access: &ProgramInputs) -> Result<publisher::Clients, BoxError> {
    let client = client(access)?;
    let driver = access.csi_socket.clone().unwrap_or_default();
    let metrics = connections(access).await?;
    Ok(publisher::Clients {
        main: client.clone(),
        publishing: client,
        driver: access.network.channel(&driver)?,
        metrics: metrics.map(|connections| connections.map_ok(|socket| Box::new(socket) as _).boxed()),
    })
}

fn rng(access: &ProgramInputs) -> publisher::SharedRng {
    access.seed.map(publisher::SharedRng::seeded).unwrap_or_default()
}

/// The initial back-off is short, so that cases do not take minutes.
const RETRY_START: Duration = Duration::from_millis(10);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Grace period before the objects of an unregistered driver are deleted. A case may unregister a driver for less time without a deletion.
const UNREGISTRATION_GRACE: Duration = Duration::from_secs(2);

fn cleaner_options(access: ProgramInputs) -> publisher::Options {
    publisher::Options {
        clock: access.clock,
        rng: rng(&access),
        namespace: Some(access.namespace),
        kube_api_capacity_qps: 0.0,
        retry_interval_start: RETRY_START,
        retry_interval_max: RETRY_MAX,
        cleaner: publisher::CleanerOptions {
            clean_orphans: true,
            driver_name: Some(access.settings.driver),
            orphan_after: access.settings.orphan_after,
        },
        ..publisher::Options::default()
    }
}

/// Leader election with short periods, so that cases take seconds, but long enough for a host under load.
fn election(access: &ProgramInputs) -> publisher::LeaderElectionOptions {
    publisher::LeaderElectionOptions {
        enabled: access.settings.publisher.has_election(),
        namespace: Some(access.namespace.clone()),
        lease_duration: Duration::from_secs(4),
        renew_deadline: Duration::from_secs(3),
        retry_period: Duration::from_millis(100),
        ..publisher::LeaderElectionOptions::default()
    }
}

fn publisher_options(access: ProgramInputs) -> publisher::Options {
    let election = election(&access);
    let on_capacity_error = match access.settings.publisher.delete_unknown_capacity {
        true => publisher::OnCapacityError::Withdraw,
        false => publisher::OnCapacityError::Keep,
    };
    let (clock, rng) = (access.clock, rng(&access));
    let settings = access.settings;
    publisher::Options {
        clock,
        rng,
        enable_capacity: settings.publisher.publish,
        capacity_poll_interval: settings.refresh,
        capacity_ownerref_level: settings.publisher.owner_level.map_or(-1, i32::from),
        recognize_by: match settings.publisher.identify_by_owner {
            true => publisher::RecognizeBy::Owner,
            false => publisher::RecognizeBy::Labels,
        },
        extra_create_metadata: settings.publisher.extra_create_metadata,
        capacity_for_immediate_binding: settings.publisher.immediate,
        publish_zero: Some(settings.publisher.zero_capacity_objects),
        capacity_threads: 4,
        // A client-side rate limit would only slow down the cases.
        kube_api_capacity_qps: 0.0,
        get_capacity_qps: Some(settings.publisher.get_capacity_qps.map_or(0.0, f64::from)),
        get_capacity_burst: settings.publisher.get_capacity_qps.unwrap_or(1),
        unregistration_grace: Some(UNREGISTRATION_GRACE),
        node_deployment_base_delay: Duration::from_millis(20),
        node_deployment_max_delay: Duration::from_millis(200),
        node_deployment: settings.mode == Mode::Distributed,
        strict_topology: settings.publisher.strict_topology,
        retry_interval_start: RETRY_START,
        retry_interval_max: RETRY_MAX,
        timeout: Duration::from_secs(2),
        // An empty namespace counts as unset, as for a program that reads an environment variable.
        namespace: Some(access.namespace).filter(|it| !it.is_empty()),
        pod_name: access.pod,
        node_name: access.node,
        election,
        on_capacity_error,
        ..publisher::Options::default()
    }
}

fn scheduler_options(access: &ProgramInputs) -> Result<scheduler::Options, BoxError> {
    let settings = &access.settings.scheduler;
    let release = match settings.release {
        Some(release) => release.to_string().parse()?,
        None => scheduler::Release::DEFAULT,
    };
    let gates = release.gates(gates(settings).iter().map(String::as_str))?;
    let deviation = |deviation: &KnownBug| deviation.as_str().parse::<scheduler::Deviation>();
    let point = |point: &suites::harness::scenario::ShapePoint| scheduler::ShapePoint {
        utilization: point.utilization.into(),
        score: point.score.into(),
    };
    let extenders = match &access.settings.extenders {
        Some(list) => scheduler::configuration::Extender::parse_list(list)?,
        None => Vec::new(),
    };
    Ok(scheduler::Options {
        extenders,
        transport: Some(Arc::new(scheduler::Http::with_connector(access.network.http()))),
        clock: access.clock,
        seed: access.seed,
        initial_backoff: RETRY_START,
        max_backoff: RETRY_MAX,
        capacity: gates.capacity,
        priority: gates.priority,
        scoring: gates.scoring,
        shape: settings
            .shape
            .as_ref()
            .map(|points| points.iter().map(point).collect()),
        release,
        deviations: settings
            .bug_compatible
            .iter()
            .map(deviation)
            .collect::<Result<_, _>>()?,
        pooling: if settings.kep4049_sum {
            scheduler::rules::Pooling::Each
        } else {
            scheduler::rules::Pooling::Once
        },
        ..scheduler::Options::default()
    })
}

/// Feature gates of a case, in command-line form.
fn gates(settings: &SchedulerSpec) -> Vec<String> {
    let configured = [
        ("CSIStorageCapacity", settings.capacity_gate),
        ("VolumeCapacityPriority", settings.volume_capacity_priority),
        ("StorageCapacityScoring", settings.scoring),
    ];
    configured
        .into_iter()
        .filter_map(|(gate, on)| Some(format!("{gate}={}", on?)))
        .collect()
}
