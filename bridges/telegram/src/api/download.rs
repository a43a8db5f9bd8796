use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{Api, CallError, files::FilePath};

/// Why a file is not here.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the file is longer than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("the file could not be written: {0}")]
    Disk(#[from] io::Error),
}

impl Api {
    /// Writes a file's bytes to `into`, as they come, and says how many; never more than `limit`,
    /// whatever the server says its size is. After an error `into` holds a part of it.
    ///
    /// # Errors
    /// [`CallError::InDoubt`] and [`CallError::NotSent`] mean that it may simply be fetched again.
    pub async fn download(
        &self,
        file: &FilePath,
        into: &mut (impl AsyncWrite + Unpin),
        limit: u64,
    ) -> Result<u64, DownloadError> {
        let too_long = DownloadError::TooLong { limit };
        let mut response = self.open(self.base().file(self.token(), file)).await?;
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(too_long);
        }
        let mut written = 0;
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| CallError::of_transport(error, self.token()))?;
            let Some(chunk) = chunk else { break };
            written += chunk.len() as u64;
            if written > limit {
                return Err(too_long);
            }
            into.write_all(&chunk).await?;
        }
        into.flush().await?;
        Ok(written)
    }
}
