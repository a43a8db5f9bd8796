// Building nodes. Whatever comes from outside passes through `said`, and becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** `el("p", { class: "note", on: { click } }, "text", node)`; `null` children are left out. */
export const el = (tag, options = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
};

export const icon = (name, size = "s") => {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `i ${size}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${name}`);
  svg.append(use);
  return svg;
};

/** The shape before a state's word. */
export const shape = (name) => {
  const svg = icon(name);
  svg.removeAttribute("class");
  svg.setAttribute("viewBox", "0 0 12 12");
  return svg;
};

// Control, bidirectional, zero-width and filler characters: nobody sees them, and they can make a
// text read as what it is not.
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
// Alternatives, not one class: a class before `$` misses pairs of surrogates in Chromium 156.
const EMOJI_BEFORE = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|[\ufe0f#*0-9])$/u;

/** Text from outside, its unseen characters as boxes. */
export const said = (text) => {
  const out = document.createDocumentFragment();
  let from = 0;
  for (const { 0: char, index } of text.matchAll(UNSEEN)) {
    const joins = (char === "\u200d" || char === "\ufe0f") && EMOJI_BEFORE.test(text.slice(Math.max(0, index - 2), index));
    if (joins || (char === "\r" && text[index + 1] === "\n")) continue;
    out.append(text.slice(from, index), hidden(`U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
    from = index + char.length;
  }
  out.append(text.slice(from));
  return out;
};

export const hidden = (name) => el("span", { class: "hid", title: "a character that would not be seen" }, name);

export const key = (name) => el("b", { class: "key" }, said(name));

const pad = (n) => String(n).padStart(2, "0");
export const clock = (ms) => {
  const at = new Date(ms);
  return `${pad(at.getHours())}:${pad(at.getMinutes())}`;
};
const DAY = 24 * 3600_000;
export const dayOf = (ms) => new Date(ms).setHours(0, 0, 0, 0);
export const dayName = (ms) =>
  new Date(ms).toLocaleDateString("en-GB", {
    weekday: "long", day: "numeric", month: "long",
    year: Date.now() - ms > 300 * DAY ? "numeric" : undefined,
  });

/** A clock time today, a weekday this week, a date before. */
export const when = (ms) => {
  const days = Math.round((dayOf(Date.now()) - dayOf(ms)) / DAY);
  if (days <= 0) return clock(ms);
  return new Date(ms).toLocaleDateString("en-GB", days < 7 ? { weekday: "short" } : { day: "numeric", month: "short" });
};

/** A clock time ahead, with its day when that is not today. */
export const ahead = (ms) => {
  if (dayOf(ms) === dayOf(Date.now())) return clock(ms);
  return `${new Date(ms).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })}, ${clock(ms)}`;
};

export const time = (ms, text = when(ms)) =>
  el("time", { datetime: new Date(ms).toISOString(), title: new Date(ms).toLocaleString("en-GB") }, text);

/** An age up to an hour; later a clock time tells more. */
export const age = (ms) => {
  const minutes = Math.floor((Date.now() - ms) / 60_000);
  if (minutes < 1) return "under 1 min";
  return minutes < 60 ? `${minutes} min` : `since ${when(ms)}`;
};

/** Shows an age that stays true: `tick` writes it again. */
export const since = (ms, words) => {
  const node = el("span", { class: "num", "data-since": ms, "data-words": words });
  write(node);
  return node;
};
const write = (node) => {
  const text = age(Number(node.dataset.since));
  node.textContent = node.dataset.words === "for" && !text.startsWith("since") ? `for ${text}` : text;
};
export const tick = () => document.querySelectorAll("[data-since]").forEach(write);

/** Brings the children of `parent` to `wanted` and touches nothing that stays, so that no field
    loses its focus or its text. */
export const settle = (parent, wanted) => {
  const keep = new Set(wanted);
  for (const child of [...parent.childNodes]) if (!keep.has(child)) child.remove();
  let at = parent.firstChild;
  for (const node of wanted) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
};

const SETTLE = 500; // ms a thumb needs to see that something else lies under it
let moved = -SETTLE;
/** Something new came between: what lies under a finger now may not be what it aimed at. */
export const pageMoved = () => { moved = performance.now(); };
/** Keys press what has the focus, which does not move; they click with `detail` 0. */
export const mayMiss = (event) => event?.detail > 0 && performance.now() - moved < SETTLE;

const announcer = document.getElementById("announce");
/** Tells a screen reader, and only what is new. */
export const announce = (text) => {
  announcer.textContent = text;
};
