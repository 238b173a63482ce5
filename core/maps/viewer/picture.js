// Where keys are places of a picture: the picture, darker where a query looks less, and a small one for each query.

const VEIL = [10, 14, 28, 0.88]; // a night's blue, and how much of it lies where nothing is looked at

function picture(map, weights, { width, scale, small = false }) {
  const { source: address, grid: [rows, columns] } = DATA.media[map.shown];
  const source = { map };
  const queries = new Labels(map, "query", { source });
  const keys = new Labels(map, "key", { source, stride: columns });
  const veil = veiled(weights, 0, rows, columns);
  const says = make("p", { className: "says" });
  const places = make("div", { className: "places" }, ...keys.buttons);
  places.setAttribute("role", "group");
  places.setAttribute("aria-label", "places of the picture (keys)");
  places.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
  const large = make("div", { className: "large" }, make("img", { src: address, alt: "" }), veil, places);
  large.style.width = `${Math.min(width - 8, small ? 250 : 460)}px`;
  places.addEventListener("pointermove", (event) => {
    const at = event.target.closest(".label")?.dataset.at;
    if (at !== undefined) tip(event, map, weights, { query: shownQuery(weights), key: Number(at) });
  });
  places.addEventListener("pointerleave", () => tip(null));
  const thumbs = map.queries.map((_, at) => thumb(address, weights, at, rows, columns, queries));
  const strip = make("div", { className: `thumbs${small ? " small" : ""}` }, ...thumbs);
  strip.setAttribute("role", "group");
  strip.setAttribute("aria-label", `${axisNames(map)[0]} (queries)`);
  const draw = () => {
    const query = shownQuery(weights);
    paintVeil(veil, weights, query);
    says.replaceChildren(word(map.queries[query]), ...brightest(weights, query));
  };
  follow({ map, weights, scale, queries, keys, source, apart: { query: 1, key: 1 }, draw })();
  return make("div", { className: "picture" }, make("div", {}, large, says), strip);
}

/** The query that a picture or a sound shows: the one that is pointed at, else the one that was chosen last. */
function shownQuery(weights) {
  const places = [lit.now, lit.chosen];
  const at = places.map((place) => (place?.axis === "query" ? place.at : place?.query)).find((each) => each !== undefined);
  return at !== undefined && at < weights.rows ? at : 0;
}

function brightest(weights, query) {
  if (weights.empty(query)) return [make("span", {}, "nothing attended")];
  return [make("span", {}, `brightest place: ${figure(weights.ranked("query", query)[0].code)}`)];
}

function thumb(address, weights, at, rows, columns, queries) {
  const button = queries.buttons[at];
  const small = make("div", { className: "small" }, make("img", { src: address, alt: "" }), veiled(weights, at, rows, columns));
  const place = { axis: "query", at, source: queries.source };
  small.addEventListener("pointerenter", () => lit.point("hovered", place));
  small.addEventListener("pointerleave", () => lit.point("hovered", null));
  small.addEventListener("click", () => button.focus({ preventScroll: true }));
  return make("div", { className: "thumb" }, small, make("div", { className: "caption" }, button, queries.figures[at]));
}

function veiled(weights, query, rows, columns) {
  const canvas = make("canvas", { className: "veil", width: columns, height: rows });
  paintVeil(canvas, weights, query);
  return canvas;
}

function paintVeil(canvas, weights, query) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const most = Math.max(weights.ranked("query", query)[0].weight, 1e-9);
  const [red, green, blue, full] = VEIL;
  for (let key = 0; key < weights.columns; key++) {
    const share = weights.weight(query, key) / most;
    image.data.set([red, green, blue, 255 * full * (1 - clamp(share, 0, 1))], 4 * key);
  }
  context.putImageData(image, 0, 0);
}
