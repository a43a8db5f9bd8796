// Styled text and diffs as nodes.
import { el, hidden, said, icon } from "./dom.js";

const styleName = (style) => (typeof style === "string" ? style : Object.keys(style)[0]);
const BLOCKS = new Set(["pre", "quote", "heading"]);

export const plain = (nodes) => nodes.map((node) => (node.node === "text" ? node.text : plain(node.children))).join("");

export const hasBlocks = (nodes) => nodes.some((node) => node.node === "styled" && BLOCKS.has(styleName(node.style)));

/** Inline: blocks inside of other styles lose their block, not their text. */
export const inline = (nodes) =>
  nodes.map((node) => {
    if (node.node === "text") return said(node.text);
    const children = inline(node.children);
    switch (styleName(node.style)) {
      case "bold": case "heading": return el("b", {}, ...children);
      case "italic": return el("i", {}, ...children);
      case "strike": return el("s", {}, ...children);
      case "code": case "pre": return el("code", {}, ...children);
      case "hidden": return hidden(plain(node.children));
      case "look_alike": return el("span", { class: "odd", title: "a letter that looks like another" }, ...children);
      case "link": return link(node, children);
      default: return el("span", {}, ...children);
    }
  });

const link = (node, children) => {
  const { url } = node.style.link;
  const label = plain(node.children);
  let target = null;
  try {
    target = new URL(url);
  } catch { /* shown as text below */ }
  const safe = target && ["https:", "http:", "mailto:"].includes(target.protocol);
  if (!safe) return el("span", {}, ...children, ...(label === url ? [] : [" (", said(url), ")"]));
  const a = el("a", { href: target.href, rel: "noreferrer noopener", target: "_blank" }, ...children);
  // Where it leads stands beside it whenever the words alone do not say so.
  const leads = target.host || target.pathname;
  return label === url || label === target.href ? a : el("span", {}, a, el("span", { class: "faint small" }, " (", said(leads), ")"));
};

/** Paragraphs, listings, quotations and headings. `heads` is the level of a heading. */
export const blocks = (nodes, { paragraph = "p", heads = "h3", code = listing } = {}) => {
  const out = [];
  let line = [];
  const flush = () => {
    trim(line);
    if (line.some((node) => node.textContent.trim() !== "")) {
      out.push(el("p", { class: `lines ${paragraph === "p" ? "" : paragraph}`.trim(), dir: "auto" }, ...line));
    }
    line = [];
  };
  for (const node of nodes) {
    const style = node.node === "styled" ? styleName(node.style) : null;
    if (node.node === "text") {
      node.text.split(/\n{2,}/).forEach((part, index) => {
        if (index > 0) flush();
        line.push(el("span", {}, said(part)));
      });
    } else if (!BLOCKS.has(style)) {
      line.push(...inline([node]));
    } else {
      flush();
      if (style === "pre") out.push(code(node));
      else if (style === "quote") out.push(el("blockquote", { dir: "auto" }, ...blocks(node.children, { heads })));
      else out.push(el(heads, { dir: "auto" }, ...inline(node.children)));
    }
  }
  flush();
  return out;
};

/** A paragraph does not begin or end with empty lines. */
const trim = (line) => {
  const first = line[0]?.firstChild, last = line.at(-1)?.lastChild;
  if (first?.nodeType === Node.TEXT_NODE) first.data = first.data.replace(/^\n+/, "");
  if (last?.nodeType === Node.TEXT_NODE) last.data = last.data.replace(/\n+$/, "");
};

export const codeBlock = (nodes) => el("pre", { class: "code-block", tabindex: "0" }, ...inline(strip(nodes)));

/** The line break before the end of a fence is not part of the code. */
const strip = (nodes) => {
  const last = nodes.at(-1);
  return last?.node === "text" ? [...nodes.slice(0, -1), { ...last, text: last.text.replace(/\n$/, "") }] : nodes;
};

export const listing = (node) => {
  const language = node.style.pre.language;
  return el("figure", { class: "listing" },
    el("figcaption", {}, said(language ?? "text"), copyButton(() => plain(node.children))),
    codeBlock(node.children));
};

/** `null` where the browser has no clipboard for us. */
export const copyButton = (text) => {
  if (!navigator.clipboard) return null;
  const button = el("button", { type: "button", class: "btn quiet" }, icon("i-copy"), "Copy");
  button.addEventListener("click", async () => {
    const done = await navigator.clipboard.writeText(text()).then(() => "Copied", () => "Not copied");
    button.lastChild.data = done;
    setTimeout(() => { button.lastChild.data = "Copy"; }, 2000);
  });
  return button;
};

/** A unified diff, whole: sign and line number stand beside the colour. */
export const diff = (text) => {
  const out = el("div", { class: "diff", role: "group", "aria-label": "Change" });
  let old = 0, now = 0, oldLeft = 0, nowLeft = 0, name = null;
  const counts = { add: 0, del: 0 };
  const finish = () => {
    name?.append(el("span", {}, el("span", { class: "good" }, `+${counts.add}`), " ", el("span", { class: "bad" }, `−${counts.del}`)));
    counts.add = counts.del = 0;
    name = null;
  };
  const row = (kind, number, sign, code) =>
    out.append(el("p", { class: `ln ${kind}`.trim() }, el("i", {}, number), el("b", {}, sign), el("code", {}, said(code))));
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(line);
    const inside = oldLeft > 0 || nowLeft > 0;
    if (inside && line[0] === "+") { row("add", now++, "+", line.slice(1)); counts.add++; nowLeft--; }
    else if (inside && line[0] === "-") { row("del", old++, "−", line.slice(1)); counts.del++; oldLeft--; }
    else if (inside && (line[0] === " " || line === "")) { row("", now++, "", line.slice(1)); old++; oldLeft--; nowLeft--; }
    else if (hunk) {
      [old, now] = [Number(hunk[1]), Number(hunk[3])];
      [oldLeft, nowLeft] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      out.append(el("p", { class: "at" }, hunk[5] ? said(hunk[5]) : `line ${now}`));
    } else if (line.startsWith("--- ")) {
      finish();
      name = el("p", { class: "name" }, said(line.slice(4).replace(/^a\//, "")));
      out.append(name);
    } else if (line.startsWith("+++ ") && name) {
      if (line.slice(4) !== "/dev/null") name.replaceChildren(said(line.slice(4).replace(/^b\//, "")));
      else name.prepend("deletes ");
    } else out.append(el("p", { class: "at" }, said(line)));
  }
  finish();
  return out;
};
