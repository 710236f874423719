// The text of a log: bytes in, lines with colours out, and no more of them than a page can hold.
//
//   const log = new LogText();
//   log.push(bytes);          // in pieces of any size
//   log.lines                 // {plain, parts: [{text, style}]}, oldest first
//
// Colours of ANSI sequences become styles, all other sequences are left out. A carriage return within a line starts the
// line anew, as on a terminal. The last line may be open: it grows with the next push().

const MOST = 4_000_000; // characters kept
const LONGEST = 10_000; // characters of a line; the rest goes on in the next one
const ESCAPE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_a-z]|[()][0-9A-Za-z])/g;
const UNFINISHED = /\x1b(?:\[[0-9;:?<=>]*[ -/]*|\][^\x07\x1b]{0,200}|[()])?$/;

export class LogText {
  lines = [];
  dropped = 0; // lines that are no longer kept
  bytes = 0; // taken so far: where to go on after a break
  #size = 0;
  #open = false;
  #returned = false;
  #rest = "";
  #style = "";
  #decoder = new TextDecoder("utf-8");

  push(chunk) {
    this.bytes += chunk.length;
    let text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    const unfinished = UNFINISHED.exec(text);
    this.#rest = unfinished ? unfinished[0] : "";
    if (unfinished) text = text.slice(0, unfinished.index);
    const pieces = text.split("\n");
    const last = pieces.pop();
    for (const piece of pieces) {
      this.#add(piece);
      this.#open = false;
    }
    if (last) this.#add(last);
    this.#forget();
  }

  #add(piece) {
    if (!this.#open) this.#start();
    let from = 0;
    for (const found of piece.matchAll(ESCAPE)) {
      this.#text(piece.slice(from, found.index));
      from = found.index + found[0].length;
      if (found[2] === "m") this.#style = nextStyle(this.#style, found[1]);
    }
    this.#text(piece.slice(from));
  }

  #start() {
    this.lines.push({ plain: "", parts: [] });
    this.#open = true;
    this.#returned = false;
  }

  #text(text) {
    if (text === "") return;
    // A return at the end may belong to "\r\n"; what comes next tells.
    const shown = text.replace(/\r+$/, "");
    const restart = shown.lastIndexOf("\r");
    let line = this.lines.at(-1);
    if (restart >= 0 || (this.#returned && shown)) {
      this.#size -= line.plain.length;
      Object.assign(line, { plain: "", parts: [] });
    }
    this.#returned = shown !== text;
    let left = clean(shown.slice(restart + 1));
    while (left) {
      const room = LONGEST - line.plain.length;
      const now = left.slice(0, room);
      if (now) {
        line.plain += now;
        line.parts.push({ text: now, style: this.#style });
        this.#size += now.length;
      }
      left = left.slice(room);
      if (left) {
        this.#start();
        line = this.lines.at(-1);
      }
    }
  }

  #forget() {
    let gone = 0;
    for (; this.#size > MOST && gone < this.lines.length - 1; gone += 1) this.#size -= this.lines[gone].plain.length;
    this.lines.splice(0, gone);
    this.dropped += gone;
  }
}

// Control characters, and marks that turn the direction of text, are shown as signs rather than obeyed.
function clean(text) {
  return text
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) =>
      c === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)),
    )
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

// Styles are sets of class names: "a31 bold".
function nextStyle(style, codes) {
  const set = new Set(style.split(" ").filter(Boolean));
  const colour = (prefix, value) => {
    for (const one of set) if (new RegExp(`^${prefix}\\d`).test(one)) set.delete(one);
    if (value !== null) set.add(`${prefix}${value}`);
  };
  const all = (codes || "0").split(/[;:]/).map(Number);
  for (let i = 0; i < all.length; i += 1) {
    const code = all[i];
    if (code === 0) set.clear();
    else if (code === 1) set.add("bold");
    else if (code === 2) set.add("faint");
    else if (code === 4) set.add("under");
    else if (code === 22) ["bold", "faint"].forEach((one) => set.delete(one));
    else if (code === 24) set.delete("under");
    else if (code >= 30 && code <= 37) colour("a", code - 30);
    else if (code >= 90 && code <= 97) colour("a", code - 90);
    else if (code === 39) colour("a", null);
    else if (code === 38 || code === 48) {
      // 38;5;N is one of 256 colours, 38;2;R;G;B any: the first 16 are shown, the rest is plain.
      if (all[i + 1] === 5) {
        if (code === 38) colour("a", all[i + 2] < 16 ? all[i + 2] % 8 : null);
        i += 2;
      } else {
        i += all[i + 1] === 2 ? 4 : 0;
      }
    }
  }
  return [...set].sort().join(" ");
}
