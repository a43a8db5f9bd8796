// A session's terminal in the browser: shown as it changes, typed into by who may, played back. Rows come
// from Vigie as markup with all that programs printed escaped; on top of desk.js.

// One cell is that much of its letter's height wide; the text grows and shrinks with the room.
const fit = (term, columns) => {
  if (columns) term.style.setProperty("--columns", columns);
};
const paint = (term, { columns, count, rows }) => {
  fit(term, columns);
  const fresh = !term.firstElementChild?.classList.contains("row");
  const low = fresh || term.scrollHeight - term.scrollTop - term.clientHeight < 8;
  if (fresh) term.replaceChildren();
  while (term.childElementCount > count) term.lastElementChild.remove();
  while (term.childElementCount < count) {
    const row = document.createElement("span");
    row.className = "row";
    term.append(row);
  }
  for (const [at, html] of rows) term.children[at].innerHTML = html;
  if (low) term.scrollTop = term.scrollHeight;
};

// Live: one stream a terminal. It comes back by itself: a session that starts has no screen for a moment.
const live = { term: null, stream: null, retry: null, tries: 0 };
const words = (term, text) => {
  const node = term.parentElement?.querySelector("[data-term-says]");
  if (!node) return;
  node.textContent = text ?? "";
  node.hidden = !text;
};
const listen = (term) => {
  clearTimeout(live.retry);
  live.stream?.close();
  const rows = ({ data }) => {
    live.tries = 0;
    words(term, null);
    paint(term, JSON.parse(data));
  };
  const later = () => {
    live.stream.close();
    live.tries++;
    live.retry = setTimeout(() => term.isConnected && listen(term), Math.min(live.tries, 5) * 1_000);
  };
  const over = ({ data }) => {
    later();
    if (live.tries > 2) words(term, JSON.parse(data).words);
  };
  Object.assign(live, { term, stream: follow(() => term.dataset.term, { rows, over }, later) });
};
const look = () => {
  for (const term of document.querySelectorAll(".term[data-columns]")) fit(term, term.dataset.columns);
  const term = document.querySelector("[data-term]");
  if (term === live.term) return;
  clearTimeout(live.retry);
  live.stream?.close();
  Object.assign(live, { term: null, stream: null, tries: 0 });
  if (term) listen(term);
};
document.addEventListener("asleep", () => {
  clearTimeout(live.retry);
  live.stream?.close();
  Object.assign(live, { term: null, stream: null, tries: 0 });
});
document.addEventListener("awake", () => look());
document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-before]");
  if (!button) return;
  const earlier = button.parentElement.querySelector(".earlier");
  const told = await fetch(button.dataset.before).then((answer) => answer.json()).catch(() => null);
  if (!told?.rows) return say(told?.error ?? "Vigie does not answer. Try again once it is live.");
  if (told.rows.length === 0) return say("Nothing was printed before this.");
  earlier.hidden = false;
  paint(earlier, { columns: told.columns, count: told.rows.length, rows: told.rows.map((row, at) => [at, row]) });
  earlier.scrollTop = earlier.scrollHeight;
});

// Keys: in the order in which they were pressed, one request at a time, and only once unlocked.
const NAMES = {
  Escape: "esc", Enter: "enter", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Backspace: "backspace", Delete: "delete",
  Tab: "tab", PageUp: "page-up", PageDown: "page-down", Home: "home", End: "end",
};
const AHEAD = 64;
const typing = { line: [], busy: false, interrupted: 0 };
const form = () => document.querySelector("[data-type]");
const unlocked = () => byId("unlock")?.checked === true;
const lock = () => {
  const open = unlocked();
  for (const node of form()?.querySelectorAll(".keys button, .write textarea, .write button") ?? []) node.disabled = !open;
  const term = document.querySelector("[data-term]");
  term?.toggleAttribute("data-keys", open);
  if (!open) typing.line = [];
};
const off = () => {
  if (unlocked()) byId("unlock").checked = false;
  lock();
};
const flush = async () => {
  if (typing.busy) return;
  typing.busy = true;
  while (typing.line.length > 0 && form()) {
    const body = typing.line.shift();
    const place = form().querySelector("[role=alert]");
    try {
      await request(form().dataset.type, body);
      place.hidden = true;
    } catch (failed) {
      typing.line = [];
      Object.assign(place, { hidden: false, textContent: failed.message });
    }
  }
  typing.busy = false;
};
const type = (body) => {
  if (!unlocked() || typing.line.length >= AHEAD) return;
  const last = typing.line.at(-1);
  if (body.text && last?.text && last.text.length < 1_000) last.text += body.text;
  else typing.line.push(body);
  flush();
};
const press = (key) => {
  if (key === "ctrl-c") {
    const again = Date.now() - typing.interrupted < 3_000;
    if (again && !window.confirm("Ctrl-C a second time ends the agent. End it?")) return;
    typing.interrupted = Date.now();
  }
  type({ keys: [key] });
};
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-press]");
  if (button) press(button.dataset.press);
});
document.addEventListener("change", ({ target }) => { if (target.id === "unlock") lock(); });
document.addEventListener("submit", (event) => {
  if (event.target !== form()) return;
  event.preventDefault();
  const field = event.target.elements.text;
  if (field.value !== "") type({ text: field.value.replace(/\s*\n\s*/g, " ") });
  field.value = "";
});
// The third level of a keyboard: AltGr, Option of a Mac, both keys of Windows. With letters and digits
// as they are, Alt is the browser's.
const third = (event) => event.getModifierState("AltGraph") || (event.altKey && [...event.key].length === 1 && !/^[a-z0-9 ]$/i.test(event.key));
document.addEventListener("keydown", (event) => {
  const term = event.target.closest?.("[data-term]");
  if (!unlocked() || !term || event.isComposing || event.metaKey) return;
  const plain = third(event) || !(event.altKey || event.ctrlKey);
  if (event.key === "F2") document.querySelector(".keys button")?.focus(); // Tab is typed: this is the way out
  else if (event.ctrlKey && !event.altKey && event.key.toLowerCase() === "c" && !String(getSelection())) press("ctrl-c");
  else if (!plain) return;
  else if (NAMES[event.key]) press(event.key === "Tab" && event.shiftKey ? "shift-tab" : NAMES[event.key]);
  else if ([...event.key].length === 1) type({ text: event.key });
  else return;
  event.preventDefault();
});
document.addEventListener("visibilitychange", () => { if (document.hidden) off(); });
addEventListener("pagehide", off);

// Playing back: frames come in parts, and the next part before this one is shown.
const LONGEST_PAUSE = 2; // s
const player = { box: null, frames: [], at: 0, next: 0, timer: null, asked: 0 };
const stamp = (seconds) => {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
};
const shownAt = (seconds) => {
  player.at = seconds;
  player.box.querySelector("[data-at]").textContent = stamp(seconds);
  player.box.querySelector("[type=range]").value = String(Math.floor(seconds));
};
const halt = () => {
  clearTimeout(player.timer);
  player.timer = null;
  const button = player.box?.querySelector("[data-play]");
  if (button) button.textContent = "Play";
};
const more = async (from) => {
  const asked = ++player.asked;
  const told = await fetch(`${player.box.dataset.player}?from=${from}`).then((answer) => answer.json()).catch(() => null);
  if (asked !== player.asked) return false;
  const place = player.box.querySelector("[role=alert]");
  place.hidden = Boolean(told?.frames);
  if (!told?.frames) {
    place.textContent = told?.error ?? "Vigie does not answer. Try again once it is live.";
    return false;
  }
  player.frames.push(...told.frames);
  player.next = told.next;
  return true;
};
const step = async () => {
  if (player.frames.length === 0 && (player.next == null || !(await more(player.next)))) return halt();
  if (player.timer === null || player.frames.length === 0) return halt();
  const frame = player.frames.shift();
  paint(player.box.querySelector(".term"), frame);
  shownAt(frame.at);
  const pause = player.frames.length > 0 ? player.frames[0].at - frame.at : 0.1;
  player.timer = setTimeout(step, Math.min(pause, LONGEST_PAUSE) * 1_000);
};
const play = () => {
  player.box.querySelector("[data-play]").textContent = "Pause";
  player.timer = setTimeout(step, 0);
};
const seek = async (seconds) => {
  const playing = player.timer !== null;
  halt();
  player.frames = [];
  if (!(await more(seconds))) return;
  const frame = player.frames.shift();
  if (frame) paint(player.box.querySelector(".term"), frame);
  shownAt(seconds);
  if (playing) play();
};
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-play]");
  if (!button) return;
  const box = button.closest("[data-player]");
  if (player.box !== box) Object.assign(player, { box, frames: [], at: 0, next: 0 });
  if (player.timer !== null) return halt();
  if (player.next == null && player.frames.length === 0) player.next = 0;
  play();
});
document.addEventListener("change", async ({ target }) => {
  const box = target.closest?.("[data-player]");
  if (!box || target.type !== "range") return;
  player.box = box;
  await seek(Number(target.value));
});

main.addEventListener("fresh", () => { look(); lock(); });
look();
lock();
