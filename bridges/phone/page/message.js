// One message as nodes. A node shows one state; a newer state is a new node.
import { clock, el, icon, key, mayMiss, said, since, time } from "./dom.js";
import { blocks } from "./rich.js";
import { card } from "./card.js";
import { model, newId, post, MAIN, keyOf } from "./model.js";

/** `act`: reply(message), edit(message), retry(client), drop(client), again(message), open(id).
    `view` is the chat it is shown in: the main chat says whose thread each message is of. */
export const message = (message, act, view) => {
  const { what } = message;
  const session = view === MAIN ? sessionOf(message) : null;
  if (what.kind === "notice") return el("p", { class: "note", id: message.id }, icon("i-warn"), " ", session ? thread(message, session) : null, session ? " " : null, said(what.text));
  if (what.kind === "text") return text(message, act, view);
  const { body, level, from } = what;
  if (body.body === "card") return card(message, act);
  if (body.body === "progress" && body.ended != null && !from && body.lines.length > 1) return over(message, body);
  if (body.body === "progress" && body.ended != null) {
    return el("p", { class: "note", id: message.id, dir: "auto" }, from ? (session === from ? thread(message, from) : key(from)) : null, from ? " " : null, said(body.ended));
  }
  if (level === "log" && body.body === "text" && body.buttons.length === 0) {
    const about = from ?? session;
    return el("div", { class: "note", id: message.id }, about ? (session === about ? thread(message, session) : key(about)) : null, about ? " " : null, ...blocks(body.text));
  }
  const wide = body.body !== "text" || body.buttons.length > 0 || body.text.some((node) => node.node === "styled" && node.style.pre);
  const node = el("article", { class: `msg ${wide ? "wide" : ""}`.trim(), id: message.id, "aria-label": `From ${from ?? "Vigie"}` },
    el("p", { class: "from" }, ...sender(message, from, session), time(message.at, clock(message.at)),
      message.edited && body.body === "text" ? "edited" : null,
      body.part ? `part ${body.part.number} of ${body.part.of}` : null),
    bubble(message, body, act));
  tools(node, message, act);
  return node;
};

const sessionOf = (it) => model.threads.get(keyOf(it.thread))?.session ?? null;
/** A session's key in the main chat, which leads to its thread. */
const thread = (it, session) => el("a", { class: "way", href: `#/chat/${encodeURIComponent(it.thread)}` }, key(session));
const sender = (it, from, session) => {
  const by = from ? (from === session ? thread(it, from) : key(from)) : el("b", {}, "Vigie");
  return session && from !== session ? [by, thread(it, session)] : [by];
};

const bubble = (message, body, act) => {
  if (body.body === "progress") return progress(message, body);
  if (body.body === "document") {
    return el("div", { class: "bubble" },
      body.about ? el("p", { dir: "auto" }, said(body.about)) : null,
      el("a", { class: "file", href: `/phone/api/document/${encodeURIComponent(message.id)}`, download: "" },
        icon("i-file", ""), el("span", {}, el("b", {}, said(body.name)), el("span", {}, size(body.bytes)))));
  }
  return el("div", { class: "bubble" }, quoted(message, act), ...blocks(body.text), buttons(message, body.buttons, "chip"));
};

const size = (bytes) => (bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** A run that is over: how, and behind it its graph. */
const over = (message, body) =>
  el("details", { class: "note run", id: message.id, dir: "auto" }, el("summary", {}, said(body.ended)), graph(body.lines.slice(1)));

/** The steps of a run, a line each with a mark of its own. */
const graph = (lines) => el("ul", { class: "run-lines" }, ...lines.map((line) => el("li", { dir: "auto" }, said(line))));

const progress = (message, body) => {
  const of = message.what.from;
  const steps = !of ? [] : body.lines.map((line, index) => {
    const current = index === body.lines.length - 1;
    return el("li", current ? { "aria-current": "step" } : {}, icon(current ? "i-disk" : "i-tick", ""), el("span", { dir: "auto" }, said(line)));
  });
  const stops = body.buttons.map((button) => {
    const stop = el("button", { type: "button", class: "btn quiet" }, button.action.action === "interrupt" ? icon("i-stop") : null, said(button.label));
    stop.addEventListener("click", (event) => tap(message, button.action, [stop], event));
    return stop;
  });
  const lines = of ? [el("ul", { class: "steps" }, ...steps)] : [el("p", {}, el("b", {}, said(body.lines[0] ?? ""))), graph(body.lines.slice(1))];
  return el("div", { class: "bubble progress" }, ...lines,
    el("div", { class: "foot" }, of ? since(body.since) : el("span"), ...stops));
};

const buttons = (message, list, look) => {
  if (list.length === 0) return null;
  const group = el("div", { class: "chips", role: "group" });
  for (const button of list) {
    const node = el("button", { type: "button", class: look }, said(button.label), button.detail ? el("span", { class: "faint" }, said(button.detail)) : null);
    node.addEventListener("click", (event) => tap(message, button.action, [...group.querySelectorAll("button")], event));
    group.append(node);
  }
  return group;
};

const RECONSIDER = 4000; // ms

/** Sends a tap. Meanwhile nothing beside it can be tapped; what Vigie says to it stands below. */
export const tap = async (message, action, others, event) => {
  const say = line(others[0].closest(".gate, .bubble"));
  if (mayMiss(event)) return say("The page moved just now. Tap again if you meant this.", true);
  const box = event?.currentTarget;
  const quiet = box?.ariaPressed != null;
  const free = () => {
    for (const button of others) {
      button.disabled = false;
      button.removeAttribute("aria-busy");
    }
  };
  // A box can be ticked while another one is on its way.
  if (quiet) box.setAttribute("aria-busy", "true");
  else for (const button of others) button.disabled = true;
  if (!quiet) say("Sending…");
  try {
    const { taken, notice } = await post("tap", { client: newId(), message: message.id, action });
    const says = notice ?? (taken ? "Sent." : "Stored; Vigie takes it in a moment.");
    // A box that is ticked shows that itself, in a new card; a line would move the next one from
    // under the thumb.
    if (quiet) setTimeout(() => { if (box.isConnected) say(says); }, RECONSIDER);
    else say(says);
    // What can still be done, the next state of the message says; without one it was not this.
    if (action.action === "choose") free();
    else setTimeout(free, RECONSIDER);
  } catch (failed) {
    // A decision is about what is seen now, so it is not kept for later.
    say(failed.status === 0 ? "Not sent: no connection. Tap again once it is live." : `Not sent: ${failed.message}.`, true);
    free();
  }
};

/** The place in a card or a bubble where the answer to a tap stands. */
export const line = (home) => (text, bad = false) => {
  const found = home.querySelector(":scope > .said") ?? home.appendChild(el("p", { class: "said", role: "status" }));
  found.textContent = text;
  found.classList.toggle("bad", bad);
};

const quoted = (message, act) => {
  const to = message.reply_to;
  if (!to) return null;
  const jump = el("button", { type: "button", class: "quoted" }, el("b", {}, said(to.who)), " ", said(to.excerpt));
  jump.addEventListener("click", () => act.open(to.id));
  return jump;
};

const ADDRESS = /^\s*[[［]([^\]］\n]{1,200})[\]］]\s*/u;

const text = (message, act, view) => {
  const { what } = message;
  const { to, words } = addressed(message, what.text, view, what.mark?.targets);
  const node = el("article", { class: `msg ${what.mine ? "mine" : ""}`.trim(), id: message.id, "aria-label": `From ${what.mine ? "you" : what.name}` },
    what.mine ? null : el("p", { class: "from" }, el("b", {}, said(what.name)), time(message.at, clock(message.at))),
    el("div", { class: "bubble" }, quoted(message, act),
      el("p", { class: "lines", dir: "auto" }, ...to, said(words))),
    what.mine ? receipt(message, act) : null);
  tools(node, message, act);
  return node;
};

/** Whom a text is for: its prefix, or in the main chat what its thread and its receipt say. */
const addressed = (it, text, view, targets = []) => {
  const prefix = ADDRESS.exec(text);
  // A command names its session itself.
  const known = text.startsWith("/") ? [] : targets;
  const to = prefix?.[1] ?? (view === MAIN ? (sessionOf(it) ?? known.join(", ")) : "");
  return { to: to ? [el("span", { class: "to" }, said(to)), " "] : [], words: prefix ? text.slice(prefix[0].length) : text };
};

const row = (look, mark, ...words) => el("p", { class: `receipt ${look}`.trim() }, icon(mark, ""), " ", el("span", {}, ...words));
const small = (label, run) => el("button", { type: "button", class: "link", on: { click: run } }, label);

const receipt = (message, act) => {
  const { mark, aside } = message.what;
  const edited = message.edited ? "edited, " : "";
  const at = time(message.at, clock(message.at));
  if (aside) return row("failed", "i-warn", "set aside, Vigie did not take it: ", said(aside), ". ", small("Send again", () => act.again(message)));
  if (!mark) return row("", "i-tick", `${edited}stored `, at);
  const who = (mark.targets ?? []).join(", ");
  switch (mark.mark) {
    // What it did says it is stored.
    case "stored": return mark.words ? row("", "i-tick", edited, said(mark.words), " ", at) : row("", "i-tick", edited, "stored", who ? " for " : " ", said(who), who ? " " : "", at);
    case "taken": return row("taken", "i-ticks", edited, "taken by ", said(who || "Vigie"), " ", time(Date.parse(mark.at), clock(Date.parse(mark.at))));
    case "kept": return row("held", "i-clock", edited, "kept, not sent: ", said(mark.why));
    case "not_taken": return row("failed", "i-warn", edited, "not taken: ", said(mark.why));
    default: return row("", "i-tick", `${edited}stored `, at);
  }
};

/** A message that is not on Vigie's disk yet. */
export const unsent = (entry, act, live, view) => {
  const { to, words } = addressed(entry, entry.text, view);
  const state = entry.failed
    ? row("failed", "i-warn", "not sent: ", said(entry.failed), ". ", small("Try again", () => act.retry(entry.client)), " ", small("Take back", () => act.drop(entry)))
    : entry.state === "stored" ? row("", "i-tick", "stored ", time(entry.at, clock(entry.at)))
    : row("", "i-clock", !live ? "kept on this phone, no connection" : model.health ? "kept on this phone until Vigie can write" : "sending");
  return el("article", { class: "msg mine", "aria-label": "From you, not sent yet" },
    el("div", { class: "bubble" }, el("p", { class: "lines", dir: "auto" }, ...to, said(words))), state);
};

const unpick = (node) => {
  node.classList.remove("picked");
  node.querySelector(".more").setAttribute("aria-expanded", "false");
};

/** Reply, copy, edit: under a mouse at once, on a phone after a tap; by Tab always. */
const tools = (node, message, act) => {
  const { what } = message;
  const button = (mark, label, run) => el("button", { type: "button", class: "btn quiet icon", "aria-label": label, title: label, on: { click: () => { unpick(node); run(); } } }, icon(mark));
  const body = what.kind === "text" ? what.text : null;
  node.append(el("div", { class: "tools" },
    button("i-reply", "Reply", () => act.reply(message)),
    body && navigator.clipboard ? button("i-copy", "Copy", () => navigator.clipboard.writeText(body).catch(() => {})) : null,
    what.mine ? button("i-edit", "Edit", () => act.edit(message)) : null));
  const bubble = node.querySelector(".bubble");
  const more = el("button", { type: "button", class: "more", "aria-label": "Reply, copy or edit", title: "Reply, copy or edit", "aria-expanded": "false" }, icon("i-more"));
  const pick = () => {
    const on = !node.classList.contains("picked");
    node.parentNode.querySelectorAll(".picked").forEach(unpick);
    node.classList.toggle("picked", on);
    more.setAttribute("aria-expanded", String(on));
    if (on) node.querySelector(".tools").scrollIntoView({ block: "nearest" }); // not under the dock
  };
  more.addEventListener("click", pick);
  bubble.addEventListener("click", (event) => {
    if (event.target.closest("a, button, summary, pre") || String(getSelection())) return;
    pick();
  });
  node.querySelector(".tools").before(more);
  swipe(bubble, () => act.reply(message));
};

const SWIPE = 60; // px to the right, and clearly more along than across

const swipe = (node, run) => {
  let from = null;
  node.addEventListener("touchstart", ({ touches: [touch], target }) => {
    from = target.closest("pre") ? null : { x: touch.clientX, y: touch.clientY };
  }, { passive: true });
  node.addEventListener("touchend", ({ changedTouches: [touch] }) => {
    if (from && touch.clientX - from.x > SWIPE && Math.abs(touch.clientY - from.y) < SWIPE / 2) run();
    from = null;
  }, { passive: true });
};

/** A message's one line, for a screen reader and a notification. */
export const summary = ({ what }) => {
  if (what.kind !== "post") return what.text;
  const { body, from } = what;
  const who = from ?? "Vigie";
  switch (body.body) {
    case "card": return from ? `${from} ${body.title}` : body.title;
    case "document": return `${who}: ${body.name}`;
    case "progress": return `${who}: ${body.ended ?? (from ? body.lines.at(-1) : body.lines[0]) ?? ""}`;
    default: return `${who}: ${flat(body.text)}`;
  }
};
const flat = (nodes) => nodes.map((node) => (node.node === "text" ? node.text : flat(node.children))).join("");

export const byMe = (human) => (human === model.person?.id ? "you" : human);
