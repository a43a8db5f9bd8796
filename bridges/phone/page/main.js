// The one entry: which view is shown, what the title and the lamp say, and the keys.
import { connect, isLive, onLive } from "./live.js";
import { chatKey, closeChat, focusWriter, linkTo, openChat, redraw, refreshChat, seen } from "./chat.js";
import { drawStrips, drawThreads, drawWaiting, press, step } from "./lists.js";
import { MAIN, belongs, cardOf, model, onChange } from "./model.js";
import { flush, reconcile, settled } from "./outbox.js";
import { summary } from "./message.js";
import { newSession } from "./commands.js";
import { announce } from "./dom.js";

const $ = (id) => document.getElementById(id);
const wide = matchMedia("(min-width: 720px)");

const view = () => {
  const [, name = "", thread] = location.hash.split("/");
  if (name === "waiting") return { name };
  if (name === "chat") return { name, key: thread ? decodeURIComponent(thread) : MAIN };
  return { name: "chats" };
};

const route = () => {
  const at = view();
  const waits = at.name === "waiting";
  document.body.className = waits ? "" : at.name === "chat" ? "talking" : "choosing";
  $("chats").hidden = waits;
  $("waiting").hidden = !waits;
  $("skip").href = waits ? "#waiting" : "#main";
  for (const [id, on] of [["nav-chat", !waits], ["nav-waiting", waits]]) {
    if (on) $(id).setAttribute("aria-current", "page");
    else $(id).removeAttribute("aria-current");
  }
  if (at.name === "chat" && chatKey() !== at.key) {
    scrollTo(0, 0);
    openChat(at.key);
  } else if (at.name === "chats") {
    if (wide.matches && model.person) return location.replace(linkTo(MAIN));
    closeChat();
    scrollTo(0, 0);
  }
  if (waits) scrollTo(0, 0);
  draw();
};

const draw = () => {
  if (!model.person) return;
  const waits = drawStrips();
  const at = view();
  drawThreads(at.key ?? null);
  if (at.name === "waiting") drawWaiting();
  const name = at.name === "waiting" ? "Waiting" : at.name === "chats" ? "Chats" : (model.threads.get(at.key)?.session ?? "Main chat");
  document.title = `${waits ? `(${waits}) ` : ""}${name} · Vigie`;
  const lamp = waits ? "/assets/favicon-waiting.svg" : "/assets/favicon.svg";
  if ($("favicon").getAttribute("href") !== lamp) $("favicon").setAttribute("href", lamp);
  $("waiting-count").hidden = waits === 0;
  $("waiting-count").textContent = String(waits);
  $("waiting-count").setAttribute("aria-label", waits === 1 ? "1 waits for you" : `${waits} wait for you`);
  const initials = model.person.name.split(/\s+/).map((word) => word[0] ?? "").join("").slice(0, 2).toUpperCase();
  $("me").textContent = initials;
  $("me").title = `Signed in as ${model.person.name}`;
};

let booted = false;
onChange((what) => {
  if (what.reset) settled();
  reconcile(what.messages);
  if (!booted && model.person) {
    booted = true;
    route();
    return;
  }
  refreshChat(what);
  draw();
  if (!what.reset) for (const message of what.messages) ring(message);
});
onLive(() => {
  flush();
  redraw();
});

// Notifications: only where a person asked for them, only for what needs one, only while nobody looks.
const rung = new Set();
const ring = async (message) => {
  const { what } = message;
  if (what.kind !== "post" || what.level !== "ring" || rung.has(message.id) || message.edited) return;
  rung.add(message.id);
  if (!chatKey() || !belongs(message, chatKey()) || view().name !== "chat") announce(summary(message));
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const options = { body: summary(message), tag: cardOf(message)?.gate ?? message.id, icon: "/assets/icon.svg" };
  const worker = await navigator.serviceWorker?.getRegistration("/phone");
  if (worker) worker.showNotification("Vigie", options);
  else new Notification("Vigie", options);
};
$("new").addEventListener("click", () => newSession(() => { location.hash = linkTo(MAIN); }));
const notify = $("notify");
if ("Notification" in window && Notification.permission === "default" && isSecureContext) {
  notify.hidden = false;
  notify.addEventListener("click", async () => {
    const answer = await Notification.requestPermission();
    notify.hidden = answer !== "default";
  });
}

addEventListener("hashchange", route);
wide.addEventListener("change", route);
document.addEventListener("visibilitychange", seen);
// Links inside of the page that are no views: the skip link.
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $(view().name === "waiting" ? "waiting" : "main").focus();
});

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const name = event.key.toLowerCase();
  if (name === "/") {
    if (view().name === "chat") focusWriter();
    else {
      addEventListener("hashchange", focusWriter, { once: true }); // by then the chat is shown
      location.hash = linkTo(MAIN);
    }
  } else if (view().name !== "waiting") return;
  else if (name === "j") step(1);
  else if (name === "k") step(-1);
  else if (event.repeat) return; // a key that is held answers once
  else if (name === "a") press("approve");
  else if (name === "d") press("deny");
  else if (/^[1-9]$/.test(name)) press(name);
  else return;
  event.preventDefault();
});

if ("serviceWorker" in navigator && isSecureContext) {
  // Without it the page works too; only its own offline page is missing.
  navigator.serviceWorker.register("/phone/worker.js", { scope: "/phone" }).catch(() => {});
}
connect();
setInterval(() => { if (isLive()) flush(); }, 15_000);
