// What Python put into the page: labels as [seen, whole], weights as codes of 16 bits, and colours for them.

const DATA = JSON.parse(document.getElementById("data").textContent);
const RAMPS = {
  light: ["#ffffff", "#d2eafd", "#a5d3f9", "#75b8f1", "#4298df", "#1973bc", "#1a518f", "#203763", "#1c223c"],
  dark: ["#171b26", "#1b2a44", "#1f4068", "#235a8f", "#2d78b5", "#4a98d2", "#7db9e8", "#b7d9f6", "#f4faff"],
};
const NOTHING = { light: "#efedea", dark: "#2b2926" };
const MEAN = "mean";
const SHADES = 1024;
const NO_WEIGHT = 32;

/** An element with properties and children; strings become text, never markup. */
function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function theme() {
  return document.documentElement.dataset.theme;
}

const seen = (label) => (typeof label === "string" ? label : label[0]);
const whole = (label) => (typeof label === "string" ? label : label[1]);

/** A label in its own direction of writing. */
const word = (label) => make("bdi", {}, seen(label));

/** Three figures, as the file has them. */
const figure = (code) => ((code >> 6) / 1000).toFixed(3);

/** One head of a map, or its mean, unpacked: weights to colour by, and figures to read. */
class Plane {
  constructor(map, packed) {
    this.rows = map.queries.length;
    this.columns = map.keys.length;
    const bytes = atob(packed);
    this.codes = new Uint16Array(this.rows * this.columns);
    for (let at = 0; at < this.codes.length; at++) {
      this.codes[at] = bytes.charCodeAt(2 * at) | (bytes.charCodeAt(2 * at + 1) << 8);
    }
  }

  get most() {
    this.largest ??= (this.codes.reduce((one, two) => Math.max(one, two), 0) / 64 - 0.5) / 1000;
    return this.largest;
  }

  code(query, key) {
    return this.codes[query * this.columns + key];
  }

  weight(query, key) {
    return (this.code(query, key) / 64 - 0.5) / 1000;
  }

  figure(query, key) {
    return figure(this.code(query, key));
  }

  empty(query) {
    const row = this.codes.subarray(query * this.columns, (query + 1) * this.columns);
    return row.every((code) => code === NO_WEIGHT);
  }

  /** What a query looks at, or what looks at a key: places from the most weight to the least. */
  ranked(axis, at) {
    if (this.last?.axis === axis && this.last.at === at) return this.last.found; // several ask for the same one
    const count = axis === "query" ? this.columns : this.rows;
    const ends = (other) => (axis === "query" ? [at, other] : [other, at]);
    const codes = Uint16Array.from({ length: count }, (_, other) => this.code(...ends(other)));
    const order = Array.from(codes.keys()).sort((one, two) => codes[two] - codes[one] || one - two);
    const found = order.map((other) => ({ other, code: codes[other], weight: (codes[other] / 64 - 0.5) / 1000 }));
    this.last = { axis, at, found };
    return found;
  }
}

const unpacked = new Map();

/** A head by its number, or "mean". A map of one head has that one only. */
function plane(map, head) {
  const last = map.planes.length - 1;
  const at = head === MEAN || Number(head) >= Math.max(last, 1) ? last : Number(head);
  const packed = map.planes[at];
  if (!unpacked.has(packed)) unpacked.set(packed, new Plane(map, packed));
  return unpacked.get(packed);
}

const headCount = (map) => Math.max(map.planes.length - 1, 1);

function headName(map, head) {
  if (headCount(map) === 1) return "one head";
  return head === MEAN ? `mean of ${headCount(map)} heads` : `head ${head}`;
}

/** The weight at which colours end: a round number at or above the largest. */
function scaleOf(planes) {
  const most = Math.max(...planes.map((each) => each.most));
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((each) => each > most - 1e-4) ?? 1;
}

const palettes = {};

/** Red, green, blue of each of SHADES steps of the ramp. */
function palette() {
  palettes[theme()] ??= (() => {
    const stops = RAMPS[theme()].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    const steps = Array.from({ length: SHADES }, (_, step) => {
      const place = (step / (SHADES - 1)) * (stops.length - 1);
      const at = Math.min(Math.floor(place), stops.length - 2);
      return stops[at].map((part, band) => part + (stops[at + 1][band] - part) * (place - at));
    });
    return Uint8ClampedArray.from(steps.flat());
  })();
  return palettes[theme()];
}

/** A canvas of one pixel a cell, to be stretched by style; rows of zeros have a colour of their own. */
function cells(weights, scale) {
  const canvas = make("canvas", { width: weights.columns, height: weights.rows, className: "cells" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(weights.columns, weights.rows);
  const colours = palette();
  const nothing = [1, 3, 5].map((at) => parseInt(NOTHING[theme()].slice(at, at + 2), 16));
  for (let query = 0; query < weights.rows; query++) {
    const blank = weights.empty(query);
    for (let key = 0; key < weights.columns; key++) {
      const share = Math.max(0, Math.min(weights.weight(query, key) / scale, 1));
      const colour = 3 * Math.round(share * (SHADES - 1));
      const pixel = 4 * (query * weights.columns + key);
      for (let band = 0; band < 3; band++) image.data[pixel + band] = blank ? nothing[band] : colours[colour + band];
      image.data[pixel + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
