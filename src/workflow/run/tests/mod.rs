mod again;
mod agents;
mod build;
mod data;
mod expect;
mod order;
mod stop;
mod waits;
