//! What models cost, as the person's own file says now: it is looked at now and then, and what it says
//! counts from then on. One that does not read changes nothing.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use vigie_core::{Timestamp, decide::Event};

use crate::{
    config::{PRICES_FILE, PriceList},
    hub::Hub,
    tasks::Tasks,
};

/// Between two looks. Whoever has changed a price waits no longer for it.
const LOOK: Duration = Duration::from_secs(5);

/// By which it is seen that the file is another.
type Stamp = Option<(u64, Timestamp)>;

/// Starts looking. `list`: what was read when Vigie started.
pub(super) fn follow(
    tasks: &Tasks,
    hub: &Hub,
    config: PathBuf,
    list: PriceList,
) -> watch::Receiver<Arc<PriceList>> {
    let (tell, now) = watch::channel(Arc::new(list));
    let hub = hub.clone();
    tasks.start("prices", move |stop| look(config, tell, hub, stop));
    now
}

async fn look(
    config: PathBuf,
    tell: watch::Sender<Arc<PriceList>>,
    hub: Hub,
    stop: CancellationToken,
) {
    // What is there now may be newer than what was read, so it is read once more.
    let mut before: Option<Stamp> = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let file = config.clone();
        let known = before;
        let read = tokio::task::spawn_blocking(move || {
            let now = stamp(&file);
            (known != Some(now)).then(|| (now, PriceList::load(&file)))
        });
        // It panics or it is there: no work that was begun is taken back.
        let Ok(Some((now, read))) = read.await else { continue };
        before = Some(now);
        let same = read.as_ref().is_ok_and(|list| *list == **tell.borrow());
        match read {
            Ok(_) if same => {}
            Ok(list) => {
                info!("prices have changed");
                hub.tell(Event::Prices(list.prices.clone())).await;
                tell.send_replace(Arc::new(list));
            }
            Err(error) => warn!(reason = %error, "prices do not read; those of before hold"),
        }
    }
}

fn stamp(config: &std::path::Path) -> Stamp {
    let about = fs::metadata(config.with_file_name(PRICES_FILE)).ok()?;
    Some((about.len(), about.modified().ok()?.into()))
}
