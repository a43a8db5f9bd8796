//! A connection whose other end has to read: who takes nothing for a while is hung up on.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// Nothing taken for so long, with the system's own buffers full: nobody reads there any more.
pub(super) const READ_DEADLINE: Duration = Duration::from_secs(30);

pub(super) struct Hurried<S> {
    stream: S,
    /// Until when something has to be taken, while something waits to be.
    late: Option<Pin<Box<Sleep>>>,
}

impl<S> Hurried<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, late: None }
    }

    /// What became of a try to write, or the end of patience.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        tried: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.late = None;
            return tried;
        }
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(READ_DEADLINE)));
        match late.as_mut().poll(context) {
            Poll::Ready(()) => {
                late.as_mut().reset(Instant::now() + READ_DEADLINE);
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Hurried<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Hurried<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, tried)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, tried)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_hung_up_on_and_who_reads_slowly_is_not() {
        let (ours, mut theirs) = duplex(16);
        let mut ours = Hurried::new(ours);
        let slow = async {
            let mut part = [0; 8];
            for _ in 0..8 {
                tokio::time::sleep(READ_DEADLINE.mul_f32(0.9)).await;
                theirs.read_exact(&mut part).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(ours.write_all(&[0; 64]), slow);
        written.unwrap();
        let failed = ours.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }
}
