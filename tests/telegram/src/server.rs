//! The door: a thread with its own runtime, so that it answers while a test blocks.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, mpsc as blocking},
    thread::JoinHandle,
};

use axum::{body::Body, http::Request};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

use crate::{answer::answer, shared::Shared};

/// Orders that wait; whoever gives one waits until it is carried out.
const ORDERS: usize = 4;

/// What the door is told, with where to say that it is done.
enum Order {
    Close(blocking::Sender<()>),
    Open(blocking::Sender<()>),
}

/// The running door. Dropping it closes it and waits for its thread.
pub(crate) struct Server {
    address: SocketAddr,
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(shared: Arc<Shared>, port: u16) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, inbox) = mpsc::channel(ORDERS);
        let thread = std::thread::Builder::new()
            .name("telegram-emulator".into())
            .spawn(move || runtime.block_on(run(shared, listener, address, inbox)))?;
        Ok(Self { address, orders: Some(orders), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn close(&self) {
        self.order(Order::Close);
    }

    pub(crate) fn open(&self) {
        self.order(Order::Open);
    }

    fn order(&self, order: fn(blocking::Sender<()>) -> Order) {
        let (done, wait) = blocking::channel();
        let orders = self.orders.as_ref().expect("only taken when dropped");
        orders.try_send(order(done)).expect("whoever gives an order waits for it");
        wait.recv().expect("the door's thread carries out its orders");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.orders = None; // the thread ends with its orders
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the emulator's thread panicked, see above");
        }
    }
}

async fn run(
    shared: Arc<Shared>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    mut orders: mpsc::Receiver<Order>,
) {
    let mut listener = Some(TcpListener::from_std(listener).expect("it is set to not block"));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(Order::Close(done)) => {
                    listener = None;
                    connections.shutdown().await;
                    let _ = done.send(()); // nobody has to wait for it
                }
                Some(Order::Open(done)) => {
                    if listener.is_none() {
                        let bound = TcpListener::bind(address).await;
                        listener = Some(bound.expect("nobody else took the port meanwhile"));
                    }
                    let _ = done.send(());
                }
            },
            accepted = next => {
                let (stream, _) = accepted.expect("a listener on loopback accepts");
                connections.spawn(serve(shared.clone(), TokioIo::new(stream)));
            }
            Some(ended) = connections.join_next() => ended.expect("a connection ends by itself"),
        }
    }
}

async fn serve(shared: Arc<Shared>, stream: TokioIo<TcpStream>) {
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let shared = shared.clone();
        async move { answer(&shared, request.map(Body::new)).await }
    });
    // An error here is a broken connection: the caller's doing, or a fault's.
    let _ = http1::Builder::new().serve_connection(stream, service).await;
}
