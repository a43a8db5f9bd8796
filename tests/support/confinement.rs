//! What closes sessions on the machine that tests run on.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;
use tokio::sync::OnceCell;
use vigie::confine::{self, Confinement, Protection};

/// Everything this machine offers, found out once.
pub(crate) async fn offered() -> &'static [Protection] {
    static OFFERED: OnceCell<Vec<Protection>> = OnceCell::const_new();
    let find = || async {
        let binary = Path::new(env!("CARGO_BIN_EXE_vigie"));
        let lacking = confine::probe(binary, &std::env::temp_dir()).await;
        let offered = Protection::ALL.into_iter();
        offered.filter(|one| !lacking.iter().any(|each| each.protection == *one)).collect()
    };
    OFFERED.get_or_init(find).await
}

/// A session whose run's folder is `folder`, confined by everything there is.
pub(crate) async fn of(folder: &Path) -> Option<Confinement> {
    let hide = vec![folder.to_owned()];
    let offered = offered().await.iter().filter(|one| Protection::OF_A_SESSION.contains(one));
    let by: Vec<_> = offered.copied().collect();
    (!by.is_empty()).then(|| Confinement { by, hide, ..Confinement::default() })
}
