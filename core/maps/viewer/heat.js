// The heat map: rows are queries, columns keys. Cells are drawn once; what is lit lies above them.

const SLOPE = (50 * Math.PI) / 180;
const FIGURE = 46; // pixels that a figure takes

/** Sizes in pixels, of labels and cells, that fit into `width` if cells of a readable size do. */
function measured(map, width, small) {
  const [rows, columns] = [map.queries.length, map.keys.length];
  const type = small ? 11.5 : 13;
  const side = Math.min(longest(map.queries, type) + 18, 280);
  const longestKey = longest(map.keys, type) + 10;
  const cell = Math.floor(cellSize(rows, columns, (width - side - FIGURE - 24) / columns, small));
  const flat = longestKey < cell + 4;
  const above = flat ? 26 : Math.ceil(longestKey * Math.sin(SLOPE) + 18);
  const beyond = flat ? 0 : Math.ceil(longestKey * Math.cos(SLOPE));
  return {
    type, side, cell, flat, above,
    plot: [cell * columns, cell * rows],
    right: Math.max(FIGURE, beyond),
    steps: [Math.ceil((type + 1) / cell), Math.ceil(flat ? 1 : (type + 0.5) / cell / Math.sin(SLOPE))],
    crowded: cell < 13,
  };
}

/** As large as there is room for, between what can be read and what looks coarse; many cells are small and scroll. */
function cellSize(rows, columns, room, small) {
  if (Math.max(rows, columns) > 60) return clamp(room, small ? 2 : 8, 17);
  if (small) return clamp(room, 13, 24);
  const high = Math.max((innerHeight - 340) / rows, 24);
  return clamp(Math.min(room, high), 18, clamp(460 / Math.max(rows, columns), 34, 54));
}

function heat(map, weights, { width, scale, small = false }) {
  const size = measured(map, width, small);
  const source = { map };
  const queries = new Labels(map, "query", { source, step: size.steps[0] });
  const keys = new Labels(map, "key", { source, step: size.steps[1] });
  const plot = make("div", { className: "plot" }, cells(weights, scale), marks(weights, size.cell, scale));
  plot.setAttribute("aria-hidden", "true"); // the labels say the same to those who do not see it
  const bands = ["row", "column"].map((name) => make("div", { className: `band ${name}`, hidden: true }));
  plot.append(...bands);
  listen(plot, map, weights, size.cell, source, queries);
  const right = make("div", { className: "figures right" }, ...queries.figures);
  const below = make("div", { className: `figures below${size.cell < 38 ? " upright" : ""}` }, ...keys.figures);
  const sheet = make(
    "div",
    { className: `heat${size.flat ? " flat" : ""}${size.crowded ? " crowded" : ""}` },
    axis("keys", map, keys.buttons),
    axis("queries", map, queries.buttons),
    plot,
    right,
    below,
  );
  placed(sheet, size, queries, keys);
  follow({
    map, weights, scale, queries, keys, source,
    apart: { query: size.steps[0], key: size.steps[1] },
    draw: (place) => {
      band(bands, place, size.cell);
      if (place?.axis === "query") below.style.transform = `translateY(${(place.at + 1) * size.cell}px)`;
      if (place?.axis === "key") right.style.transform = `translateX(${(place.at + 1) * size.cell}px)`;
    },
  })();
  return make("div", { className: "scroll", tabIndex: -1 }, sheet);
}

/** The labels of one axis, under a name that a screen reader says. */
function axis(side, map, buttons) {
  const group = make("div", { className: `axis ${side}` }, ...buttons);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", side === "queries" ? `${axisNames(map)[0]} (queries)` : `${axisNames(map)[1]} (keys)`);
  return group;
}

const axisNames = (map) => [map.origin.rows ?? "target", map.origin.columns ?? "source"];

function placed(sheet, size, queries, keys) {
  const sizes = { side: size.side, above: size.above, cell: size.cell, right: size.right, across: size.plot[0], down: size.plot[1] };
  for (const [name, pixels] of Object.entries(sizes)) sheet.style.setProperty(`--${name}`, `${pixels}px`);
  sheet.style.setProperty("--type", `${size.type}px`);
  for (const labels of [queries.buttons, queries.figures, keys.buttons, keys.figures]) {
    labels.forEach((each, at) => each.style.setProperty("--place", `${at * size.cell}px`));
  }
}

/** Rules between cells, and a dot on the largest weight of each row that has one; none where cells are tiny. */
function marks(weights, cell, scale) {
  const ratio = window.devicePixelRatio || 1;
  if (cell < 12) return make("span");
  const [width, height] = [weights.columns * cell, weights.rows * cell];
  const canvas = make("canvas", { className: "marks", width: width * ratio, height: height * ratio });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = theme() === "light" ? "rgba(40, 60, 110, .10)" : "rgba(190, 210, 255, .09)";
  for (let at = 1; at < weights.columns; at++) context.fillRect(at * cell - 0.5, 0, 1, height);
  for (let at = 1; at < weights.rows; at++) context.fillRect(0, at * cell - 0.5, width, 1);
  for (let query = 0; query < weights.rows; query++) {
    const [first, second] = weights.ranked("query", query);
    if (first.code <= NO_WEIGHT || second?.code === first.code) continue;
    const strong = first.weight / scale > 0.4;
    context.fillStyle = (theme() === "light") === strong ? "#fff" : RAMPS.light[8];
    context.beginPath();
    context.arc((first.other + 0.5) * cell, (query + 0.5) * cell, Math.max(1.6, cell * 0.085), 0, 7);
    context.fill();
  }
  return canvas;
}

function listen(plot, map, weights, cell, source, queries) {
  const under = (event) => {
    const box = plot.getBoundingClientRect();
    return {
      axis: "cell",
      source,
      query: clamp(Math.floor((event.clientY - box.top) / cell), 0, weights.rows - 1),
      key: clamp(Math.floor((event.clientX - box.left) / cell), 0, weights.columns - 1),
    };
  };
  plot.addEventListener("pointermove", (event) => {
    const place = under(event);
    const before = lit.hovered;
    if (before?.source !== source || before.query !== place.query || before.key !== place.key) lit.point("hovered", place);
    tip(event, map, weights, place);
  });
  plot.addEventListener("pointerleave", () => {
    tip(null);
    lit.point("hovered", null);
  });
  plot.addEventListener("click", (event) => queries.buttons[under(event).query].focus({ preventScroll: true }));
}

/** Lay a frame over the lit row or column, and over both for a cell. */
function band(bands, place, cell) {
  const [row, column] = bands;
  const query = place?.axis === "query" ? place.at : place?.query;
  const key = place?.axis === "key" ? place.at : place?.key;
  row.hidden = query === undefined;
  column.hidden = key === undefined;
  for (const each of bands) each.classList.toggle("alone", place !== null && place.axis !== "cell");
  if (!row.hidden) row.style.transform = `translateY(${query * cell}px)`;
  if (!column.hidden) column.style.transform = `translateX(${key * cell}px)`;
}

const floating = document.getElementById("tip");

/** Query, key and weight beside the pointer. */
function tip(event, map, weights, place) {
  floating.hidden = event === null;
  if (event === null) return;
  const says = weights.empty(place.query) ? "nothing attended" : weights.figure(place.query, place.key);
  floating.replaceChildren(word(map.queries[place.query]), " → ", word(map.keys[place.key]), make("b", {}, says));
  const left = Math.min(event.clientX + 14, innerWidth - floating.offsetWidth - 8);
  const below = event.clientY + 18 + floating.offsetHeight < innerHeight;
  floating.style.transform = `translate(${left}px, ${below ? event.clientY + 16 : event.clientY - floating.offsetHeight - 10}px)`;
}
