//! Object stores, opened when they are first asked for, with what the environment of the process
//! holds.
//!
//! Client, scheduler and executors each look into their own environment, so no credential is ever
//! sent or written.

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::ObjectStore;
use std::sync::Arc;
use url::Url;

/// The file system, and whatever `s3://`, `gs://` or `az://` names.
#[derive(Debug, Default)]
pub struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.0.get_store(url) {
            return Ok(store);
        }
        let refuse = |e: object_store::Error| DataFusionError::ObjectStore(Box::new(e));
        let (store, _) = object_store::parse_url_opts(url, settings()).map_err(refuse)?;
        let store: Arc<dyn ObjectStore> = Arc::from(store);
        self.0.register_store(url, store.clone());
        Ok(store)
    }
}

/// What the environment says of object stores, and nothing else: `REGION` or `TOKEN` may mean
/// something of another program, and the bucket is told by the address.
fn settings() -> Vec<(String, String)> {
    let of_stores =
        |name: &str| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix));
    let of_bucket = |name: &str| {
        name.contains("_BUCKET") && !name.contains("_BUCKET_KEY")
            || name.contains("_CONTAINER_NAME")
    };
    let variables = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    variables.filter(|(name, _)| of_stores(name) && !of_bucket(name)).collect()
}
