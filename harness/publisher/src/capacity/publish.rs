//! Makes the objects of one key agree with the driver: ask, compare, create, update, delete or adopt. Also turns everything that may
//! change the answer into keys to look at. Provisions nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::StreamExt;
use k8s_openapi::{
    api::storage::v1::{CSIStorageCapacity, StorageClass},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    ResourceExt,
    api::{DeleteParams, Preconditions},
};
use parking_lot::Mutex;
use prometheus_client::metrics::{family::Family, gauge::Gauge};
use tokio::time::{Instant, sleep};

use super::{
    desired::{self, Key, ManagedBy, Place, Values, is_publishable, parameters_for_driver},
    ledger::{Ledger, View},
    served::Capacities,
};
use crate::{
    Defect, OnCapacityError, Options, Profile,
    csi::{Driver, DriverError},
    metrics::{Metrics, Objects, Place as Labels},
    quantity,
    queue::Queue,
    status::{brief, is_conflict, is_not_found},
    throttle::Throttle,
    topology::{self, Segment, contains},
    watch::Change,
};

/// Publishes the objects of one driver.
pub(crate) struct Publisher {
    options: Options,
    by: ManagedBy,
    owner: Option<OwnerReference>,
    driver: Arc<Driver>,
    capacities: Arc<Capacities>,
    /// How often the driver is asked.
    asks: Throttle,
    ledger: Mutex<Ledger>,
    queue: Queue<Key>,
    /// For the defect that stops there.
    met_immediate: AtomicBool,
}

/// Why a key does not agree yet; it is tried again.
#[derive(Debug, thiserror::Error)]
enum Unfinished {
    #[error("the driver did not tell the capacity: {0}; the published value stays")]
    Driver(#[from] DriverError),
    #[error("the driver answered {what} = {bytes}; negative values are not published, fix the driver")]
    Negative { what: &'static str, bytes: i64 },
    #[error("cannot {verb}: {}; it is tried again", brief(.source))]
    Api { verb: &'static str, source: kube::Error },
    #[error("there are several objects; all but one are removed next")]
    Several,
}

impl Publisher {
    pub(crate) fn new(
        options: Options,
        by: ManagedBy,
        owner: Option<OwnerReference>,
        driver: Arc<Driver>,
        capacities: Arc<Capacities>,
        metrics: &Arc<Metrics>,
    ) -> Arc<Publisher> {
        let queue = Queue::new(options.pace(), metrics.queue("csistoragecapacity"));
        let asks = Throttle::new(options.get_capacity_qps(), options.get_capacity_burst);
        let publisher = Arc::new(Publisher {
            options,
            by,
            owner,
            driver,
            capacities,
            asks,
            ledger: Mutex::default(),
            queue,
            met_immediate: AtomicBool::new(false),
        });
        let (measured, figures) = (Arc::downgrade(&publisher), metrics.objects.clone());
        metrics.before_reading(move || {
            if let Some(publisher) = measured.upgrade() {
                publisher.measure(&figures);
            }
        });
        publisher
    }

    /// Brings the figures up to date.
    fn measure(&self, figures: &Objects) {
        self.queue.measure();
        let labels = self.labels();
        let (counts, ages) = {
            let ledger = self.ledger.lock();
            (ledger.counts(), ledger.ages(Instant::now()))
        };
        let set = |family: &Family<Labels, Gauge>, count: usize| {
            family
                .get_or_create(&labels)
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set(&figures.goal, counts.goal);
        set(&figures.current, counts.current);
        set(&figures.obsolete, counts.obsolete);
        figures.age.clear();
        for (key, age) in ages {
            let mut labels = labels.clone();
            labels.push(("storage_class", key.class.to_string()));
            labels.push(("topology", key.place.to_string()));
            figures.age.get_or_create(&labels).set(age.as_secs_f64());
        }
    }

    /// The driver, and the node in distributed mode (KEP-1472, "monitoring requirements"); upstream has neither.
    fn labels(&self) -> Labels {
        if self.options.profile == Profile::Upstream {
            return Labels::new();
        }
        let node = self.options.own_node().map(|node| ("node", node.to_owned()));
        [("driver_name", self.by.driver.clone())]
            .into_iter()
            .chain(node)
            .collect()
    }

    /// Works on keys as they need it, without end. Only call it when everything was listed: what is not known yet counts as not wanted.
    pub(crate) async fn work(&self) {
        let threads = self.options.capacity_threads;
        self.queue
            .ready()
            .for_each_concurrent(threads, |key| async move { self.attempt(&key).await })
            .await;
    }

    /// Asks for a refresh of every wanted key in each interval, without end. Each comes somewhat early, so that publishers that were
    /// started together do not ask together for long.
    pub(crate) async fn poll(&self) {
        let interval = self.options.capacity_poll_interval;
        while !self.options.has(Defect::NeverRefreshes) {
            let early = self.options.capacity_poll_jitter * rand::random::<f64>();
            sleep(interval.mul_f64(1.0 - early)).await;
            let wanted = self.ledger.lock().wanted();
            wanted
                .into_iter()
                .for_each(|key| self.queue.add_unless_waiting(key));
        }
    }

    /// A class came, changed, or went.
    pub(crate) fn class_changed(&self, change: &Change<StorageClass>) {
        let (class, exists) = match change {
            Change::Set(class) => (class, true),
            Change::Gone(class) => (class, false),
            Change::Listed => return,
        };
        let wanted = exists
            && is_publishable(
                class,
                &self.by.driver,
                self.options.capacity_for_immediate_binding != self.options.has(Defect::SwapsImmediate),
            );
        if exists && !wanted && class.provisioner == self.by.driver {
            self.met_immediate.store(true, Ordering::Relaxed);
        }
        let parameters = || match self.options.has(Defect::PassesReservedParameters) {
            true => class.parameters.clone().unwrap_or_default(),
            false => parameters_for_driver(class),
        };
        let parameters = wanted.then(|| Arc::new(parameters()));
        let keys = self.ledger.lock().set_class(&class.name_any(), parameters);
        self.look_at(keys);
    }

    /// Segments came or went.
    pub(crate) fn segments_changed(&self, change: topology::Change) {
        if self.options.has(Defect::MergesTopologyNil) {
            let keys = self.ledger.lock().add_segment(&Segment::new());
            return self.look_at(keys);
        }
        if self.options.has(Defect::StopsAtImmediate) && self.met_immediate.load(Ordering::Relaxed) {
            return;
        }
        let mut ledger = self.ledger.lock();
        let mut keys = change
            .added
            .map(|segment| ledger.add_segment(&segment))
            .unwrap_or_default();
        keys.extend(
            change
                .removed
                .map(|segment| ledger.remove_segment(&segment))
                .unwrap_or_default(),
        );
        drop(ledger);
        self.look_at(keys);
    }

    /// An object came, changed, or went.
    pub(crate) fn object_changed(&self, change: Change<CSIStorageCapacity>) {
        let mut ledger = self.ledger.lock();
        let keys: Vec<Key> = match change {
            Change::Set(object) if self.is_frozen(&ledger, &object) => Vec::new(),
            Change::Set(object) if self.by.owns(&object) => ledger.seen(object).into_iter().collect(),
            Change::Set(object) if self.is_unmanaged_prey(&object) => {
                ledger.seen_unwanted(object).into_iter().collect()
            }
            Change::Set(object) | Change::Gone(object) => object
                .metadata
                .uid
                .as_deref()
                .and_then(|uid| ledger.gone(uid))
                .into_iter()
                .collect(),
            Change::Listed => ledger.listed(),
        };
        drop(ledger);
        self.look_at(keys);
    }

    /// The objects, for whoever watches them.
    pub(crate) fn capacities(&self) -> Arc<Capacities> {
        Arc::clone(&self.capacities)
    }

    /// Selects the objects to watch, on the server; none where it cannot.
    pub(crate) fn selector(&self) -> Option<String> {
        let everything = [
            Defect::DeletesManual,
            Defect::TakesOthers,
            Defect::WatchesEverything,
        ];
        let selects = !everything.into_iter().any(|defect| self.options.has(defect));
        self.by.selector().filter(|_| selects)
    }

    /// Volumes came or went in these segments (none: anywhere), or could not be created for this class (`None`: any class): what is
    /// published of them may be wrong now. A term that is coarser or finer than a segment touches it too.
    pub(crate) fn refresh(&self, class: Option<&str>, terms: &[Segment]) {
        if self.options.has(Defect::NeverRefreshes) {
            return;
        }
        let touched = |segment: &Segment| {
            terms.is_empty()
                || terms
                    .iter()
                    .any(|term| contains(segment, term) || contains(term, segment))
        };
        let keys = self
            .ledger
            .lock()
            .wanted_where(|known| class.is_none_or(|class| class == known), touched);
        self.look_at(keys);
    }

    /// With the defects, objects that nobody or somebody else manages are obsolete objects.
    fn is_unmanaged_prey(&self, object: &CSIStorageCapacity) -> bool {
        let is_managed = object.labels().contains_key(desired::MANAGED_BY_LABEL);
        let is_of_driver = object.labels().get(desired::DRIVER_LABEL) == Some(&self.by.driver);
        (self.options.has(Defect::DeletesManual) && !is_managed)
            || (self.options.has(Defect::TakesOthers) && is_managed && is_of_driver)
    }

    /// With the defect, what was seen once of an object is all that is ever seen.
    fn is_frozen(&self, ledger: &Ledger, object: &CSIStorageCapacity) -> bool {
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        self.options.has(Defect::KeepsFirstVersion) && ledger.knows(uid)
    }

    fn look_at(&self, keys: Vec<Key>) {
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    async fn attempt(&self, key: &Key) {
        match self.sync(key).await {
            Ok(()) => self.queue.done(key),
            Err(error) => {
                let ends = self.options.has(Defect::EndsAtRefusal) && matches!(error, Unfinished::Api { .. });
                assert!(!ends, "{error}");
                tracing::warn!(class = %key.class, place = %key.place, %error, "capacity not published");
                self.queue.failed(key);
            }
        }
    }

    async fn sync(&self, key: &Key) -> Result<(), Unfinished> {
        let view = self.view(key);
        let (Some(parameters), Place::Segment(segment)) = (view.wanted, &key.place) else {
            return self.delete_all(&view.objects).await;
        };
        if let Some((_, duplicates)) = view.objects.split_first() {
            self.delete_all(duplicates).await?;
        }
        let values = match self.ask(segment, &parameters).await {
            Ok(values) => values,
            Err(_) if self.options.has(Defect::TakesErrorForZero) => Values {
                capacity: 0,
                maximum: None,
            },
            Err(error) => {
                self.withdraw(key).await?;
                return Err(error);
            }
        };
        let told = Instant::now();
        // The answer took its time: look again before acting on it.
        let View {
            wanted: Some(_),
            objects,
            doubtful,
        } = self.view(key)
        else {
            return Ok(());
        };
        let published = match objects.first() {
            Some(object) if segment.is_empty() && self.options.has(Defect::FlapsWithoutTopology) => {
                self.delete(object).await
            }
            Some(object) if doubtful => self.verify(object).await,
            Some(object) if !self.is_published(values) => self.delete(object).await,
            Some(object) => self.update(object, values).await,
            None if self.is_published(values) => self.create(key, segment, values).await,
            None => Ok(()),
        };
        if published.is_ok() {
            self.ledger.lock().told(key, told);
        }
        published
    }

    /// The driver does not tell the figures of a key: what to do about its object is a choice.
    async fn withdraw(&self, key: &Key) -> Result<(), Unfinished> {
        match self.options.on_capacity_error {
            _ if self.options.has(Defect::KeepsUntold) => Ok(()),
            OnCapacityError::Keep => Ok(()),
            OnCapacityError::Withdraw => self.delete_all(&self.view(key).objects).await,
        }
    }

    fn view(&self, key: &Key) -> View {
        self.ledger.lock().view(key)
    }

    /// KEP-1472: no object means the same as an object with zero.
    fn is_published(&self, values: Values) -> bool {
        let shows_zero = self.options.publishes_zero() && !self.options.has(Defect::HidesZero);
        values.capacity > 0 || shows_zero
    }

    async fn ask(
        &self,
        segment: &Segment,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Values, Unfinished> {
        self.asks.turn().await;
        let repeats = if self.options.has(Defect::AsksThrice) {
            2
        } else {
            0
        };
        for _ in 0..repeats {
            self.driver.get_capacity(segment, parameters.clone()).await?;
        }
        let answer = self.driver.get_capacity(segment, parameters.clone()).await?;
        let bytes = |what, bytes: i64| match u64::try_from(bytes) {
            Ok(bytes) if self.options.has(Defect::RoundsUp) => Ok(bytes.next_multiple_of(1 << 30)),
            Ok(bytes) => Ok(bytes),
            Err(_) if self.options.has(Defect::TakesNegativeForZero) => Ok(0),
            Err(_) => Err(Unfinished::Negative { what, bytes }),
        };
        let maximum = answer
            .maximum_volume_size
            .filter(|_| self.capacities.keeps_maximum() && !self.options.has(Defect::IgnoresMaximum));
        Ok(Values {
            capacity: bytes("available_capacity", answer.available_capacity)?,
            maximum: maximum
                .map(|maximum| bytes("maximum_volume_size", maximum))
                .transpose()?,
        })
    }

    async fn create(&self, key: &Key, segment: &Segment, values: Values) -> Result<(), Unfinished> {
        let object = desired::object(&self.by, &key.class, segment, values, self.owner.as_ref());
        self.ledger.lock().begin_create(key);
        let created = self.capacities.create(&object).await;
        if self.options.has(Defect::MakesDuplicates) && created.is_ok() {
            // Seen by the watch as well, which is enough.
            drop(self.capacities.create(&object).await);
        }
        let several = self.ledger.lock().end_create(key, created.as_ref().ok().cloned());
        created.map_err(|source| Unfinished::Api {
            verb: "create the object",
            source,
        })?;
        if several { Err(Unfinished::Several) } else { Ok(()) }
    }

    async fn update(&self, object: &CSIStorageCapacity, values: Values) -> Result<(), Unfinished> {
        assert!(
            !self.options.has(Defect::CrashesOnUnset) || object.capacity.is_some(),
            "the capacity of {} is unset",
            object.name_any()
        );
        let mut current = desired::is_current(object, values, self.owner.as_ref());
        if self.options.has(Defect::IgnoresMaximumChanges) {
            let mut same = object.clone();
            same.maximum_volume_size = values.maximum.map(quantity::from_bytes);
            current = desired::is_current(&same, values, self.owner.as_ref());
        }
        if current && !self.options.has(Defect::RewritesUnchanged) {
            return Ok(());
        }
        let wanted = desired::updated(object, values, self.owner.as_ref());
        match self.capacities.replace(&wanted).await {
            Ok(_) if self.options.has(Defect::KeepsFirstVersion) => Ok(()),
            Ok(written) => {
                self.ledger.lock().wrote(written);
                Ok(())
            }
            Err(source) => {
                if is_not_found(&source) {
                    self.forget(object);
                }
                Err(Unfinished::Api {
                    verb: "update the object",
                    source,
                })
            }
        }
    }

    /// Makes sure that an object still exists, of which the watch never told.
    async fn verify(&self, object: &CSIStorageCapacity) -> Result<(), Unfinished> {
        self.look_up(object).await?;
        // What to do is decided anew, from what is known now.
        self.queue.add(Key::of(object));
        Ok(())
    }

    /// Learns from the server whether this very object still exists.
    async fn look_up(&self, object: &CSIStorageCapacity) -> Result<(), Unfinished> {
        let found = match self.capacities.get(&object.name_any()).await {
            Ok(found) => Some(found),
            Err(source) if is_not_found(&source) => None,
            Err(source) => {
                return Err(Unfinished::Api {
                    verb: "get the object",
                    source,
                });
            }
        };
        match found.filter(|found| found.metadata.uid == object.metadata.uid) {
            Some(found) => self.ledger.lock().wrote(found),
            None => self.forget(object),
        }
        Ok(())
    }

    async fn delete_all(&self, objects: &[Arc<CSIStorageCapacity>]) -> Result<(), Unfinished> {
        if self.options.has(Defect::KeepsObsolete) {
            return Ok(());
        }
        for object in objects {
            self.delete(object).await?;
        }
        Ok(())
    }

    /// Deletes this very object, never one that took its name meanwhile.
    async fn delete(&self, object: &CSIStorageCapacity) -> Result<(), Unfinished> {
        let Some(uid) = object.metadata.uid.as_deref() else {
            return Ok(());
        };
        let preconditions = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        self.ledger.lock().begin_delete(uid);
        match self.capacities.delete(&object.name_any(), &parameters).await {
            Ok(_) => Ok(()),
            Err(source) if is_not_found(&source) => {
                self.forget(object);
                Ok(())
            }
            // Another object has the name, or the server was in trouble: only a look tells which.
            Err(source) if is_conflict(&source) => {
                self.ledger.lock().undo_delete(uid);
                self.look_up(object).await?;
                Err(Unfinished::Api {
                    verb: "delete the object",
                    source,
                })
            }
            Err(source) => {
                self.ledger.lock().undo_delete(uid);
                Err(Unfinished::Api {
                    verb: "delete the object",
                    source,
                })
            }
        }
    }

    fn forget(&self, object: &CSIStorageCapacity) {
        if let Some(uid) = object.metadata.uid.as_deref() {
            self.ledger.lock().forget_object(uid);
        }
    }
}
