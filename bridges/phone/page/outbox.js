// What was written and is not yet on Vigie's disk. It survives a reload and goes out in order, each
// with its own id, so that a second try is never a second message.
import { model, post, changed, newId, belongs } from "./model.js";

let memory = [];
let kept = true;
const name = () => `vigie.outbox.${model.person.id}`;

export const outbox = () => {
  try {
    memory = JSON.parse(localStorage.getItem(name()) ?? "[]");
  } catch {
    kept = false; // no storage here: it lives as long as this page
  }
  return memory;
};
/** Whether a reload keeps it. */
export const survives = () => kept;

const write = (entries) => {
  memory = entries;
  try {
    localStorage.setItem(name(), JSON.stringify(entries));
  } catch {
    kept = false;
  }
  changed();
};
const change = (client, edit) => write(outbox().map((entry) => (entry.client === client ? { ...entry, ...edit } : entry)));

export const pending = (key) => outbox().filter((entry) => belongs(entry, key));
export const drop = (client) => write(outbox().filter((entry) => entry.client !== client));

export const send = (thread, text, replyTo) => {
  write([...outbox(), { client: newId(), thread, text, reply_to: replyTo, at: Date.now(), state: "kept" }]);
  flush();
};
export const retry = (client) => {
  change(client, { state: "kept", failed: null });
  flush();
};

let busy = false;
let later = null;
export const flush = async () => {
  clearTimeout(later);
  if (busy || !model.person) return;
  busy = true;
  try {
    for (;;) {
      const entry = outbox().find((entry) => entry.state === "kept");
      if (!entry) return;
      const { client, thread, text, reply_to, at } = entry;
      // A word typed without a network an hour ago is not about what is asked now. (u32 on the server)
      const kept_ms = Math.min(Math.max(0, Date.now() - at), 4294967295);
      try {
        const { message } = await post("send", { client, thread, text, reply_to, kept_ms });
        // It stays visible from here until the log itself shows it.
        if (model.messages.has(message)) drop(client);
        else change(client, { state: "stored", message });
      } catch (failed) {
        if (failed.passing) {
          later = setTimeout(flush, 5000);
          return;
        }
        change(client, { state: "failed", failed: failed.message });
      }
    }
  } finally {
    busy = false;
  }
};

/** Forgets what the log shows by now. */
export const reconcile = (messages) => {
  const shown = new Set(messages.filter((message) => message.what.mine).map((message) => message.what.client));
  const entries = outbox();
  const left = entries.filter((entry) => !shown.has(entry.client));
  if (left.length !== entries.length) write(left);
};
/** After a full load the log shows all that is stored. */
export const settled = () => {
  const entries = outbox();
  const left = entries.filter((entry) => entry.state !== "stored");
  if (left.length !== entries.length) write(left);
};
addEventListener("storage", (event) => { if (model.person && event.key === name()) changed(); });
