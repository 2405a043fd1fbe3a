//! Proxies between one program under test and its API server, its driver and the readers of its metrics. Rules change the traffic.
//!
//! In the journal, a correct program with changed traffic looks like a program with a bug. Therefore changed traffic can test whether the
//! cases detect the bug. Does not know the names of injected defects.

mod api;
mod edit;
mod metrics;
mod relevance;
mod rule;
mod traffic;

use std::path::PathBuf;
use std::sync::Arc;

use fake_csi::{CsiDefect, DefectProxy, Running};

pub use self::relevance::rules_apply;
pub use self::rule::{AdditionalRequest, EventKind, MetricsRule, ObjectRule, RequestRule, WireRule};
use self::traffic::TrafficRules;
use crate::listening::HttpListener;
use crate::network::{Folder, Network};
use crate::system::{BoxError, ChildAccess, ProgramInputs, System};

/// The proxies of one program instance. Dropping the value closes the proxies.
struct Proxies {
    _api: Option<HttpListener>,
    _csi: Option<Running>,
    _metrics: Option<HttpListener>,
    _folder: Folder,
}

/// Wraps a program under test so that these rules change its API, CSI and metrics traffic. Each started instance gets its own proxies.
pub fn interpose(system: &System, rules: &[WireRule]) -> System {
    let inner = Arc::clone(&system.run);
    let rules: Arc<[WireRule]> = rules.into();
    System {
        run: Arc::new(move |access, stop| {
            let (inner, rules) = (Arc::clone(&inner), Arc::clone(&rules));
            Box::pin(async move {
                let (_proxies, access) = start_proxies(access, &rules).await?;
                inner(access, stop).await
            })
        }),
        ..system.clone()
    }
}

async fn start_proxies(
    mut access: ProgramInputs,
    rules: &[WireRule],
) -> Result<(Proxies, ProgramInputs), BoxError> {
    let folder = access.network.folder()?;
    let traffic = TrafficRules::of(rules);
    let api = match traffic.has_rules() {
        true => {
            let proxy = api::open(&access.network, &access.api_url, traffic, access.child.is_some()).await?;
            redirect(&mut access, &proxy, folder.path().join("kubeconfig"))?;
            Some(proxy)
        }
        false => None,
    };
    let csi_defects: Vec<CsiDefect> = rules.iter().filter_map(WireRule::csi_defect).collect();
    let csi = match &access.csi_socket {
        Some(driver) if !csi_defects.is_empty() => {
            let socket = folder.path().join("csi.sock");
            let channel = match csi_defects.contains(&CsiDefect::ConnectionNotRestored) {
                true => access.network.channel_once(driver),
                false => access.network.channel(driver)?,
            };
            let csi_proxy = DefectProxy::new(channel, csi_defects);
            let running = match &access.network {
                Network::Host => csi_proxy.listen(&socket)?,
                Network::Memory(memory) => csi_proxy.serve(memory.listen(&socket)),
            };
            access.csi_socket = Some(socket);
            Some(running)
        }
        _ => None,
    };
    let proxies = Proxies {
        _api: api,
        _csi: csi,
        _metrics: metrics::open(&mut access, rules).await?,
        _folder: folder,
    };
    Ok((proxies, access))
}

/// Makes a program connect to the proxy instead of the API server.
fn redirect(access: &mut ProgramInputs, proxy: &HttpListener, kubeconfig: PathBuf) -> std::io::Result<()> {
    let Some(child) = access.child.take() else {
        access.api_url = proxy.url();
        return Ok(());
    };
    proxy.write_kubeconfig(&kubeconfig, &access.token)?;
    access.child = Some(ChildAccess {
        kubeconfig,
        api_url: proxy.url(),
        authority_pem: proxy.authority_pem().to_owned(),
        ..child
    });
    Ok(())
}
