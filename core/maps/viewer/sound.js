// Where keys are stretches of a sound: something to play, its wave, the weights under it, and a row for each query.

const ROW = 22;
const WAVE = 84;
const WEIGHTS = 60;

function sound(map, weights, { width, scale, small = false }) {
  const medium = DATA.media[map.shown];
  const source = { map };
  const queries = new Labels(map, "query", { source });
  const keys = new Labels(map, "key", { source });
  const side = Math.min(longest(map.queries, 13) + 20, 200);
  const across = Math.max(width - side - FIGURE - 16, 160);
  const x = (seconds) => (seconds / medium.seconds) * across;
  const audio = make("audio", { src: medium.source, controls: true, preload: "metadata" });
  const [bars, head] = [sharp(across, WEIGHTS), make("div", { className: "playhead" })];
  const tracks = make(
    "div",
    { className: "tracks" },
    wave(medium, across),
    stretches(keys, medium, x, bars),
    seconds(medium, across, x),
    rows(medium, weights, across, scale, x),
    head,
  );
  const names = make("div", { className: "axis queries" }, ...queries.buttons);
  names.setAttribute("role", "group");
  names.setAttribute("aria-label", `${axisNames(map)[0]} (queries)`);
  const figures = make("div", { className: "figures right" }, ...queries.figures);
  for (const each of [queries.buttons, queries.figures]) {
    each.forEach((one, at) => one.style.setProperty("--place", `${at * ROW}px`));
  }
  const sheet = make("div", { className: `sound${small ? " small" : ""}` }, audio, names, tracks, figures);
  for (const [name, pixels] of Object.entries({ side, across, cell: ROW, height: ROW * weights.rows, type: small ? 11.5 : 13 })) {
    sheet.style.setProperty(`--${name}`, `${pixels}px`);
  }
  play(audio, head, x);
  point(tracks, { map, weights, medium, across, source, audio });
  const draw = (place) => drawBars(bars, medium, weights, across, x, place);
  follow({ map, weights, scale, queries, keys, source, apart: { query: 1, key: 1 }, draw })();
  return sheet;
}

function sharp(width, height) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = make("canvas", { width: width * ratio, height: height * ratio });
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.getContext("2d").scale(ratio, ratio);
  return canvas;
}

function wave({ peaks }, across) {
  const canvas = sharp(across, WAVE);
  canvas.className = "wave";
  const context = canvas.getContext("2d");
  context.fillStyle = colourOf("--wave");
  const loudest = Math.max(...peaks, 1);
  peaks.forEach((peak, at) => {
    const height = Math.max(1, (peak / loudest) * (WAVE - 8));
    context.fillRect((at / peaks.length) * across, (WAVE - height) / 2, Math.max(across / peaks.length, 0.8), height);
  });
  return canvas;
}

/** The keys, each as wide as it lasts, above the bars of their weights. */
function stretches(keys, { edges }, x, bars) {
  keys.buttons.forEach((button, at) => {
    button.style.left = `${x(edges[at])}px`;
    button.style.width = `${x(edges[at + 1]) - x(edges[at])}px`;
  });
  const group = make("div", { className: "stretches" }, bars, ...keys.buttons);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "stretches of the sound (keys)");
  return group;
}

function seconds({ seconds: length }, across, x) {
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 300].find((each) => x(each) > 56) ?? 600;
  const marked = make("div", { className: "seconds" });
  for (let at = 0; at * step <= length && x(at * step) < across - 14; at++) {
    const mark = make("span", {}, `${+(at * step).toFixed(2)} s`);
    mark.style.left = `${x(at * step)}px`;
    marked.append(mark);
  }
  return marked;
}

function rows({ edges }, weights, across, scale, x) {
  const canvas = sharp(across, ROW * weights.rows);
  canvas.className = "rows";
  const context = canvas.getContext("2d");
  const colours = palette();
  for (let query = 0; query < weights.rows; query++) {
    const blank = weights.empty(query);
    for (let key = 0; key < weights.columns; key++) {
      const at = 3 * Math.round(clamp(weights.weight(query, key) / scale, 0, 1) * (SHADES - 1));
      context.fillStyle = blank ? NOTHING[theme()] : `rgb(${colours.slice(at, at + 3).join(",")})`;
      context.fillRect(x(edges[key]), query * ROW + 1, x(edges[key + 1]) - x(edges[key]) + 0.5, ROW - 2);
    }
  }
  return canvas;
}

/** The weights of the query that is shown over time, the largest as high as there is room; a lit stretch is framed. */
function drawBars(bars, { edges }, weights, across, x, place) {
  const context = bars.getContext("2d");
  const query = shownQuery(weights);
  const key = place?.axis === "key" ? place.at : place?.key;
  const most = Math.max(weights.ranked("query", query)[0].weight, 1e-9);
  context.clearRect(0, 0, across, WEIGHTS);
  for (let at = 0; at < weights.columns; at++) {
    const height = (weights.weight(query, at) / most) * (WEIGHTS - 14);
    context.fillStyle = colourOf(at === key ? "--ink" : "--accent");
    context.fillRect(x(edges[at]), WEIGHTS - height, Math.max(x(edges[at + 1]) - x(edges[at]) - 0.6, 0.6), height);
  }
  context.fillStyle = colourOf("--quiet");
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  context.fillText(weights.empty(query) ? "nothing attended" : `${figure(weights.ranked("query", query)[0].code)} at most`, 6, 10);
}

function play(audio, head, x) {
  const follow = () => {
    head.style.transform = `translateX(${x(audio.currentTime)}px)`;
    if (!audio.paused) requestAnimationFrame(follow);
  };
  audio.addEventListener("play", follow);
  audio.addEventListener("seeked", follow);
}

/** Over the rows a cell is pointed at, above them a stretch; a click plays from there. */
function point(tracks, { map, weights, medium, across, source, audio }) {
  const under = (event) => {
    const box = tracks.getBoundingClientRect();
    const at = (clamp(event.clientX - box.left, 0, across) / across) * medium.seconds;
    const after = medium.edges.findIndex((edge) => edge > at);
    const key = clamp((after < 0 ? medium.edges.length : after) - 1, 0, weights.columns - 1);
    const down = event.clientY - tracks.querySelector(".rows").getBoundingClientRect().top;
    return { at, key, query: Math.floor(down / ROW) };
  };
  tracks.addEventListener("pointermove", (event) => {
    const { key, query } = under(event);
    const inside = query >= 0 && query < weights.rows;
    lit.point("hovered", inside ? { axis: "cell", query, key, source } : { axis: "key", at: key, source });
    tip(event, map, weights, { query: inside ? query : shownQuery(weights), key });
  });
  tracks.addEventListener("pointerleave", () => {
    tip(null);
    lit.point("hovered", null);
  });
  tracks.addEventListener("click", (event) => {
    audio.currentTime = under(event).at;
  });
}
