//! Proxies between one system under test and its API server, its driver and its metrics readers; rules change the traffic.
//!
//! The result is a program with an injected bug: the harness's own servers, and so the journal, see only the forwarded traffic. This works
//! with any program, so it shows whether the gate detects the bug. Does not know the names of injected defects.

mod api;
mod edit;
mod metrics;
mod reach;
mod rule;
mod traffic;

use std::path::PathBuf;
use std::sync::Arc;

use fake_csi::{CsiDefect, DefectProxy, Running};

pub use self::reach::are_met;
pub use self::rule::{Besides, EventKind, MetricsRule, ObjectRule, RequestRule, WireRule};
use self::traffic::Traffic;
use crate::listening::Listening;
use crate::network::{Folder, Network};
use crate::system::{Access, BoxError, ChildAccess, System};

/// The proxies of one instance; dropping it closes them.
struct Interposed {
    _api: Option<Listening>,
    _csi: Option<Running>,
    _metrics: Option<Listening>,
    _folder: Folder,
}

/// The same system with traffic that these rules change. Each start of each instance has its own proxies.
pub fn interpose(system: &System, rules: &[WireRule]) -> System {
    let inner = Arc::clone(&system.run);
    let rules: Arc<[WireRule]> = rules.into();
    System {
        run: Arc::new(move |access, stop| {
            let (inner, rules) = (Arc::clone(&inner), Arc::clone(&rules));
            Box::pin(async move {
                let (_interposed, access) = begin(access, &rules).await?;
                inner(access, stop).await
            })
        }),
        ..system.clone()
    }
}

async fn begin(mut access: Access, rules: &[WireRule]) -> Result<(Interposed, Access), BoxError> {
    let folder = access.network.folder()?;
    let traffic = Traffic::of(rules);
    let api = match traffic.is_spoilt() {
        true => {
            let proxy = api::open(&access.network, &access.api_url, traffic, access.child.is_some()).await?;
            lead(&mut access, &proxy, folder.path().join("kubeconfig"))?;
            Some(proxy)
        }
        false => None,
    };
    let defects: Vec<CsiDefect> = rules.iter().filter_map(WireRule::csi_defect).collect();
    let csi = match &access.csi_socket {
        Some(driver) if !defects.is_empty() => {
            let socket = folder.path().join("csi.sock");
            let channel = match defects.contains(&CsiDefect::ConnectionNotRestored) {
                true => access.network.channel_once(driver),
                false => access.network.channel(driver)?,
            };
            let proxy = DefectProxy::new(channel, defects);
            let running = match &access.network {
                Network::Machine => proxy.listen(&socket)?,
                Network::Memory(memory) => proxy.serve(memory.listen(&socket)),
            };
            access.csi_socket = Some(socket);
            Some(running)
        }
        _ => None,
    };
    let interposed = Interposed {
        _api: api,
        _csi: csi,
        _metrics: metrics::open(&mut access, rules).await?,
        _folder: folder,
    };
    Ok((interposed, access))
}

/// Redirects a system to the proxy.
fn lead(access: &mut Access, proxy: &Listening, kubeconfig: PathBuf) -> std::io::Result<()> {
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
