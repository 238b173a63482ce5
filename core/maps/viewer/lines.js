// The line view: queries on the left, keys on the right, and a line for each weight, the fainter the smaller.

const FAINTEST = 0.004; // less than one shade of grey
const LIFT = 0.12; // lit lines can all be seen
const MOST = 1500; // lines at once, the strongest; more would be a grey area, and slow
const MOST_LIT = 60;

function lines(map, weights, { width, scale, small = false }) {
  const type = small ? 11.5 : 13;
  const many = Math.max(weights.rows, weights.columns) > 60;
  const pitch = many ? (small ? 4 : 9) : small ? 19 : 24;
  const sides = [map.queries, map.keys].map((labels) => Math.min(longest(labels, type) + 20, 280));
  const between = clamp(width - sides[0] - sides[1] - 2 * FIGURE - 24, small ? 70 : 120, small ? 160 : 420);
  const height = pitch * Math.max(weights.rows, weights.columns);
  const starts = [weights.rows, weights.columns].map((count) => (height - count * pitch) / 2);
  const source = { map };
  const step = Math.ceil((type + 3) / pitch);
  const queries = new Labels(map, "query", { source, step });
  const keys = new Labels(map, "key", { source, step });
  const all = threads(between, height, "all");
  const some = threads(between, height, "some");
  const ends = (query, key) => [starts[0] + (query + 0.5) * pitch, starts[1] + (key + 0.5) * pitch];
  const shape = { width: between, ends, scale, straight: many }; // curves by the thousand are slow
  drawAll(all, weights, shape);
  const sheet = make(
    "div",
    { className: `lines${many ? " crowded" : ""}` },
    make("div", { className: "figures left" }, ...queries.figures),
    axis("queries", map, queries.buttons),
    make("div", { className: "threads" }, all, some),
    axis("keys", map, keys.buttons),
    make("div", { className: "figures right" }, ...keys.figures),
  );
  strung(sheet, { type, pitch, sides, between, height, starts }, queries, keys);
  follow({
    map, weights, scale, queries, keys, source,
    apart: { query: step, key: step },
    draw: (place) => drawSome(all, some, weights, shape, place),
  })();
  return make("div", { className: "scroll", tabIndex: -1 }, sheet);
}

function strung(sheet, { type, pitch, sides, between, height, starts }, queries, keys) {
  const sizes = { "left-side": sides[0], "right-side": sides[1], between, height, cell: pitch, type };
  for (const [name, pixels] of Object.entries(sizes)) sheet.style.setProperty(`--${name}`, `${pixels}px`);
  [queries, keys].forEach((labels, side) => {
    for (const each of [labels.buttons, labels.figures]) {
      each.forEach((one, at) => one.style.setProperty("--place", `${starts[side] + at * pitch}px`));
    }
  });
}

/** A canvas as sharp as the screen, as far as browsers allow high ones. */
function threads(width, height, name) {
  const ratio = Math.min(window.devicePixelRatio || 1, 16000 / height);
  const canvas = make("canvas", { className: name, width: width * ratio, height: height * ratio });
  canvas.getContext("2d").scale(ratio, ratio);
  return canvas;
}

function stroke(context, { width, straight }, [from, to], strength) {
  context.globalAlpha = clamp(strength, 0, 1);
  context.lineWidth = 1 + 1.6 * clamp(strength, 0, 1);
  context.beginPath();
  context.moveTo(0, from);
  if (straight) context.lineTo(width, to);
  else context.bezierCurveTo(width * 0.4, from, width * 0.6, to, width, to);
  context.stroke();
}

const named = {};

/** A colour of the style by its name, looked up once for each theme. */
function colourOf(name) {
  return (named[theme() + name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim());
}

function drawAll(canvas, weights, shape) {
  const { ends, scale } = shape;
  const context = canvas.getContext("2d");
  context.strokeStyle = colourOf("--line");
  const codes = weights.codes.length > MOST ? Uint16Array.from(weights.codes).sort() : [0];
  const least = codes[codes.length - MOST] ?? 0;
  let left = MOST;
  for (let query = 0; query < weights.rows; query++) {
    for (let key = 0; key < weights.columns; key++) {
      const strength = weights.weight(query, key) / scale;
      if (strength < FAINTEST || weights.code(query, key) < least || !left) continue;
      left -= 1;
      stroke(context, shape, ends(query, key), strength);
    }
  }
}

function drawSome(all, some, weights, shape, place) {
  const { width, ends, scale } = shape;
  const context = some.getContext("2d");
  context.clearRect(0, 0, width, some.height);
  all.classList.toggle("dim", place !== null);
  if (!place) return;
  context.strokeStyle = colourOf("--accent");
  const pairs = place.axis === "cell"
    ? [[place.query, place.key]]
    : weights.ranked(place.axis, place.at).map(({ other }) => (place.axis === "query" ? [place.at, other] : [other, place.at]));
  for (const [query, key] of pairs.slice(0, MOST_LIT)) {
    const strength = weights.weight(query, key) / scale;
    if (strength >= FAINTEST) stroke(context, shape, ends(query, key), LIFT + (1 - LIFT) * strength);
  }
}
