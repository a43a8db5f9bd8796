// What this page knows, and how it asks. Nothing here touches the document.

export const MAIN = "main";
export const model = {
  person: null,
  limit: 64000,
  cursor: null,
  health: null, // why Vigie cannot write just now
  threads: new Map(), // by thread key
  messages: new Map(), // by id: whatever was shown or waits
  logs: new Map(), // by thread key: { ids, older }, for chats that were opened
  opening: new Set(), // thread keys: their page is asked for
};

const listeners = new Set();
/** `listener({ messages, reset })` after each change. */
export const onChange = (listener) => listeners.add(listener);
export const changed = (what = {}) => listeners.forEach((listener) => listener({ messages: [], reset: false, ...what }));

export const keyOf = (thread) => thread ?? MAIN;
export const threadOf = (key) => (key === MAIN ? null : key);
/** The main chat shows everything; a session's thread its own, and what the session was told elsewhere. */
export const belongs = (it, key) => key === MAIN || keyOf(it.thread) === key || Boolean(it.also?.includes(key));
const wanted = (message) => [...model.logs.keys(), ...model.opening].some((key) => belongs(message, key));
/** Order within the log. */
export const number = (id) => Number(id.slice(id.lastIndexOf("-") + 1));

/** A request that was answered with a sentence, or not at all (`status` 0). */
export class Refused extends Error {
  constructor(status, says) {
    super(says);
    this.status = status;
  }
  /** Worth trying again without a change. */
  get passing() {
    return this.status === 0 || this.status === 401 || this.status === 429 || this.status >= 500;
  }
}

const left = new Set();
/** `listener(refused)` when an answer says that nobody is signed in here. */
export const onSignedOut = (listener) => left.add(listener);
const out = (refused) => {
  left.forEach((listener) => listener(refused));
  return refused;
};

const WAIT = 20_000;

const ask = async (path, options = {}) => {
  let response;
  try {
    response = await fetch(`/phone/api/${path}`, { ...options, signal: AbortSignal.timeout(WAIT), credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new Refused(0, "Vigie cannot be reached just now");
  }
  // A login page instead of an answer.
  if (response.redirected) throw out(new Refused(401, "you are signed out here"));
  if (response.ok) return response.status === 204 ? null : response.json();
  const says = await response.json().then((body) => body.error, () => null);
  const refused = new Refused(response.status, says ?? `Vigie answered with status ${response.status}`);
  throw response.status === 401 ? out(refused) : refused;
};
export const get = (path, query = {}) => {
  const filled = Object.entries(query).filter(([, value]) => value != null);
  return ask(`${path}?${new URLSearchParams(filled)}`);
};
// Kept when this browser signed in; pages of other ports cannot read it.
const pass = () => {
  try {
    return localStorage.getItem("vigie.pass") ?? "";
  } catch {
    return "";
  }
};
export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json", "x-vigie": "1", "x-vigie-pass": pass() }, body: JSON.stringify(body) });

/** Unlike `randomUUID` there over plain HTTP too. */
export const newId = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Everything anew; open chats are asked for again. */
export const load = async () => {
  const state = await get("state");
  const opened = [...model.logs.keys()];
  Object.assign(model, { person: state.person, limit: state.text_limit, cursor: state.cursor, health: state.health });
  model.threads = new Map(state.threads.map((thread) => [keyOf(thread.id), thread]));
  model.messages = new Map();
  model.logs = new Map();
  keep([...state.open, ...state.decided]);
  // A chat that cannot be had now is asked for again when it is shown.
  for (const key of opened) if (model.threads.has(key)) await openLog(key).catch(() => {});
  changed({ reset: true });
};

/** What happened since. Older states of what is known already are passed over. */
export const apply = (changes) => {
  const fresh = keep(changes.messages);
  for (const message of fresh) for (const [key, log] of model.logs) place(message, key, log);
  for (const thread of changes.threads) model.threads.set(keyOf(thread.id), thread);
  model.cursor = changes.cursor;
  model.health = changes.health;
  if (fresh.length || changes.threads.length) changed({ messages: fresh });
};

/** Puts a message where it belongs in a log. A session may be told an older one, or not any more;
    what lies before a log's beginning is had with the earlier ones. */
const place = (message, key, log) => {
  const at = log.ids.indexOf(message.id);
  const here = belongs(message, key);
  if (at >= 0 && !here) log.ids.splice(at, 1);
  if (at >= 0 || !here) return;
  const after = log.ids.findIndex((id) => number(id) > number(message.id));
  if (after < 0) log.ids.push(message.id);
  else if (after > 0 || !log.older) log.ids.splice(after, 0, message.id);
};

const keep = (messages) => {
  const fresh = messages.filter((message) => !(model.messages.get(message.id)?.seq >= message.seq));
  for (const message of fresh) {
    // Of chats that nobody opened, only what waits or waited is of use.
    if (card(message) || wanted(message)) model.messages.set(message.id, message);
  }
  return fresh.sort((a, b) => number(a.id) - number(b.id));
};

export const openLog = async (key) => {
  if (model.logs.has(key)) return;
  model.opening.add(key);
  const page = await get("messages", { thread: threadOf(key) }).finally(() => setTimeout(() => model.opening.delete(key)));
  keep(page.messages);
  // What arrived while this was asked for is in the store, but not yet in the page.
  const ids = new Set(page.messages.map((message) => message.id));
  const begins = page.older ? number(page.messages[0].id) : -1;
  for (const message of model.messages.values()) {
    if (belongs(message, key) && number(message.id) > begins) ids.add(message.id);
  }
  model.logs.set(key, { ids: [...ids].sort((a, b) => number(a) - number(b)), older: page.older });
};

export const older = async (key) => {
  const log = model.logs.get(key);
  const page = await get("messages", { thread: threadOf(key), before: log.ids[0] });
  keep(page.messages);
  log.ids.unshift(...page.messages.map((message) => message.id).filter((id) => !log.ids.includes(id)));
  log.older = page.older;
};

/** Keeps the last `count` messages of a chat that nobody scrolls in; the rest can be had again. */
export const trim = (key, count) => {
  const log = model.logs.get(key);
  if (!log || log.ids.length <= count) return false;
  log.older = true;
  const gone = log.ids.splice(0, log.ids.length - count);
  const shown = new Set([...model.logs.values()].flatMap(({ ids }) => ids)); // the other view may hold them
  for (const id of gone) if (!shown.has(id) && !card(model.messages.get(id))) model.messages.delete(id);
  return true;
};

const card = (message) => (message.what.kind === "post" && message.what.body.body === "card" ? message.what.body : null);
export const cardOf = card;

/** Open cards, oldest first, each gate once though it may be shown in two chats. */
export const waiting = () => {
  const open = new Map();
  const all = [...model.messages.values()].filter((message) => card(message)?.state.state === "open");
  for (const message of all.sort((a, b) => card(a).opened - card(b).opened || number(a.id) - number(b.id))) {
    if (!open.has(card(message).gate)) open.set(card(message).gate, message);
  }
  return [...open.values()];
};

/** Sessions that only somebody at the desk can help. */
export const atDesk = () => [...model.threads.values()].filter((thread) => thread.state === "needs_desk").sort((a, b) => a.since - b.since);

export const decided = () => {
  const seen = new Map();
  const all = [...model.messages.values()].filter((message) => card(message) && card(message).state.state !== "open");
  for (const message of all.sort((a, b) => (b.edited ?? b.at) - (a.edited ?? a.at))) {
    if (!seen.has(card(message).gate)) seen.set(card(message).gate, message);
  }
  return [...seen.values()].slice(0, 20);
};
