// Labels that can be reached by mouse and keyboard, and what is lit: a query with its keys, or a key with its queries.

const MARKED = 8; // figures beside the labels of a long axis, where not all have room

/** What the reader points at. A panel that is shown listens through `onLit`. */
const lit = {
  chosen: { axis: "query", at: 0 }, // stays when nothing is pointed at
  hovered: null,
  focused: null,
  listeners: new Set(),

  get now() {
    return this.hovered ?? this.focused;
  },

  point(how, place) {
    const [now, chosen] = [this.now, this.chosen];
    this[how] = place;
    if (how === "focused" && place) this.chosen = { axis: place.axis, at: place.at };
    if (this.now !== now || this.chosen !== chosen) this.tell();
  },

  tell() {
    for (const listener of this.listeners) listener();
  },

  /** A new page of maps: what was pointed at is gone, what was chosen stays where it still exists. */
  clear(map) {
    this.hovered = this.focused = null;
    this.listeners.clear();
    const count = map[this.chosen.axis === "query" ? "queries" : "keys"].length;
    if (this.chosen.at >= count) this.chosen = { axis: "query", at: 0 };
  },
};

/** The labels of one axis as buttons: one stop of the Tab key, arrows within. `source` tells panels' labels apart. */
class Labels {
  constructor(map, axis, { source, step = 1, stride = 1 }) {
    this.axis = axis;
    this.source = source;
    this.stride = stride; // labels from one to the one below it
    this.words = axis === "query" ? map.queries : map.keys;
    this.special = new Set(axis === "key" ? map.special : []);
    this.buttons = this.words.map((label, at) => this.button(label, at, step));
    this.figures = this.words.map(() => make("span", { className: "figure" }));
    this.marked = [];
  }

  button(label, at, step) {
    const kind = this.special.has(at) ? " special" : "";
    const button = make("button", { type: "button", className: `label ${this.axis}${kind}`, tabIndex: -1 }, word(label));
    button.title = whole(label) + (kind ? " (special)" : "");
    button.dataset.at = at;
    if (at % step) button.classList.add("thinned");
    if (at === (lit.chosen.axis === this.axis ? lit.chosen.at : 0)) button.tabIndex = 0;
    const place = { axis: this.axis, at, source: this.source };
    button.addEventListener("pointerenter", () => lit.point("hovered", place));
    button.addEventListener("pointerleave", () => lit.point("hovered", null));
    button.addEventListener("focus", () => this.focused(button, place));
    button.addEventListener("blur", () => lit.point("focused", null));
    button.addEventListener("keydown", (event) => this.move(event, at));
    return button;
  }

  focused(button, place) {
    for (const each of this.buttons) if (each.tabIndex === 0) each.tabIndex = -1;
    button.tabIndex = 0;
    lit.point("focused", place);
  }

  move(event, at) {
    const last = this.buttons.length - 1;
    const { stride } = this;
    const moves = { ArrowUp: at - stride, ArrowLeft: at - 1, ArrowDown: at + stride, ArrowRight: at + 1, Home: 0, End: last };
    if (event.key === "Escape") event.target.blur();
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.buttons[Math.max(0, Math.min(moves[event.key], last))].focus();
  }

  /** Take back what `light` and `mark` did. */
  clear() {
    for (const at of this.marked) {
      const button = this.buttons[at];
      button.classList.remove("lit", "reached", "chosen");
      button.style.removeProperty("--share");
      delete button.dataset.weight;
      this.figures[at].textContent = "";
    }
    this.marked = [];
  }

  mark(at, name) {
    this.buttons[at].classList.add(name);
    this.marked.push(at);
  }

  /** The other ends of what is lit, each with its weight; where labels overlap, the largest that have room. */
  reach(ranked, scale, apart) {
    const shown = [];
    for (const { other, code, weight } of ranked) {
      if (apart > 1 && code <= NO_WEIGHT) break;
      if (apart > 1 && shown.length >= MARKED) break;
      if (shown.some((one) => Math.abs(one - other) < apart)) continue;
      shown.push(other);
      this.marked.push(other);
      const button = this.buttons[other];
      button.dataset.weight = figure(code);
      button.style.setProperty("--share", clamp(weight / scale, 0, 1).toFixed(3));
      this.figures[other].textContent = figure(code);
      if (code >> 6) button.classList.add("reached");
    }
  }
}

/**
 * Both axes of a panel follow what is lit; `draw(place)` does what else the panel does, null where it is not lit.
 * `apart` says for each axis how many places there must be between two labels that are to be read.
 */
function follow({ map, weights, scale, queries, keys, apart, source, draw }) {
  const axes = { query: queries, key: keys };
  const ours = (place) => place && (place.source === source || alike(place.source.map, map, place.axis));
  const update = () => {
    queries.clear();
    keys.clear();
    const place = ours(lit.now) ? lit.now : null;
    if (lit.chosen.at < axes[lit.chosen.axis].words.length) axes[lit.chosen.axis].mark(lit.chosen.at, "chosen");
    if (place?.axis === "cell") {
      queries.mark(place.query, "lit");
      keys.mark(place.key, "lit");
    } else if (place) {
      axes[place.axis].mark(place.at, "lit");
      const other = place.axis === "query" ? "key" : "query";
      axes[other].reach(weights.ranked(place.axis, place.at), scale, apart[other]);
    }
    draw(place);
  };
  lit.listeners.add(update);
  return update;
}

/** Whether two maps have the same labels, so that panels side by side light up together. */
function alike(one, two, axis) {
  const sides = axis === "cell" ? ["queries", "keys"] : [axis === "query" ? "queries" : "keys"];
  return sides.every((side) => one[side].length === two[side].length && one[side].every((each, at) => whole(each) === whole(two[side][at])));
}

const ruler = make("canvas").getContext("2d");

/** The width of the longest label, in pixels. */
function longest(labels, size) {
  ruler.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(...labels.map((label) => ruler.measureText(seen(label)).width)));
}

const clamp = (value, least, most) => Math.max(least, Math.min(value, most));
