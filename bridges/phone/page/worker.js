// The service worker: an honest page when Vigie cannot be reached, and nothing else. It keeps no
// message and no state, so nothing old can pass for live.
const CACHE = "vigie-offline-1";
const OFFLINE = "/phone/offline";
const KEPT = [OFFLINE, "/assets/look.css", "/assets/icon.svg", "/assets/favicon.svg"];

addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(KEPT)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  const old = async () => {
    for (const name of await caches.keys()) if (name !== CACHE) await caches.delete(name);
    await clients.claim();
  };
  event.waitUntil(old());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.method !== "GET") return;
  if (request.mode === "navigate" && ["/phone", "/phone/"].includes(pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(OFFLINE)));
  } else if (KEPT.includes(pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(pathname)));
  }
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  const show = async () => {
    const pages = await clients.matchAll({ type: "window" });
    const page = pages.find((page) => new URL(page.url).pathname.startsWith("/phone"));
    return page ? page.focus() : clients.openWindow("/phone#/waiting");
  };
  event.waitUntil(show());
});
