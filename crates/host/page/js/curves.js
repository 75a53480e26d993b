// @ts-check
/**
 * What came over the stream, bucket by bucket: begin, and minimum and maximum of every channel.
 * When the store is full its older half is joined in pairs: nothing that was a peak is lost.
 */

const MOST = 1 << 16;

/** A message of the stream. @typedef {{kind: number, number: number, lost: number, times: Float64Array, values: Float32Array, channels: number}} Message */

/**
 * Reads a binary message; null where it is not one.
 * @param {ArrayBuffer} buffer @returns {Message | null}
 */
export function decode(buffer) {
  if (buffer.byteLength < 24) return null;
  const view = new DataView(buffer);
  const kind = view.getUint8(0), channels = view.getUint16(2, true), buckets = view.getUint32(4, true);
  if (view.getUint8(1) !== 1 || (kind !== 1 && kind !== 2)) return null;
  if (buffer.byteLength !== 24 + 8 * buckets + 8 * buckets * channels) return null;
  return { kind, channels, number: Number(view.getBigUint64(8, true)), lost: Number(view.getBigUint64(16, true)),
    times: new Float64Array(buffer, 24, buckets), values: new Float32Array(buffer, 24 + 8 * buckets, 2 * buckets * channels) };
}

export class Curves {
  /** @param {{name: string, unit: string}[]} channels @param {number} [most] buckets kept */
  constructor(channels, most = MOST) {
    this.channels = channels;
    this.most = most;
    this.index = new Map(channels.map((channel, i) => [channel.name, i]));
    this.room = 1024;
    this.count = 0;
    /** Counts how often older buckets changed: a picture made before is worthless then. */
    this.version = 0;
    this.begin = new Float64Array(this.room);
    this.long = new Float32Array(this.room);
    /** @type {Float32Array[]} minimum and maximum of each bucket, beside each other */
    this.values = channels.map(() => new Float32Array(2 * this.room));
  }

  /** The end of the newest bucket. */
  get end() { return this.count ? this.begin[this.count - 1] + this.long[this.count - 1] : 0; }
  get start() { return this.count ? this.begin[0] : 0; }

  /** @param {Message} message */
  add(message) {
    if (message.channels !== this.channels.length || !message.times.length) return;
    if (message.kind === 2) return this.#replaceOlder(message);
    const last = this.count ? this.begin[this.count - 1] : -Infinity;
    let from = 0;
    while (from < message.times.length && message.times[from] <= last) from++;
    this.#append(message, from);
  }

  /** Its history takes the place of what is older than its last bucket. */
  #replaceOlder(message) {
    const until = message.times[message.times.length - 1];
    const kept = this.#first(until);
    const begin = this.begin.slice(kept, this.count), long = this.long.slice(kept, this.count);
    const values = this.values.map((own) => own.slice(2 * kept, 2 * this.count));
    this.count = 0;
    this.version++;
    this.#append(message, 0);
    // A bucket that begins with the last of the history is in it already.
    const skip = begin.length && begin[0] <= until ? 1 : 0;
    this.#grow(begin.length);
    this.begin.set(begin.subarray(skip), this.count);
    this.long.set(long.subarray(skip), this.count);
    values.forEach((own, c) => this.values[c].set(own.subarray(2 * skip), 2 * this.count));
    this.count += begin.length - skip;
  }

  #append({ times, values }, from) {
    const added = times.length - from;
    if (added <= 0) return;
    this.#grow(added);
    const typical = times.length > 1 ? (times[times.length - 1] - times[0]) / (times.length - 1) : this.long[Math.max(0, this.count - 1)] || 0.005;
    for (let i = from; i < times.length; i++) {
      const own = this.count + i - from;
      this.begin[own] = times[i];
      this.long[own] = i + 1 < times.length ? times[i + 1] - times[i] : typical;
    }
    for (let c = 0; c < this.values.length; c++)
      this.values[c].set(values.subarray(2 * (c * times.length + from), 2 * (c + 1) * times.length), 2 * this.count);
    this.count += added;
    if (this.count > this.most) this.#join();
  }

  #grow(added) {
    if (this.count + added <= this.room) return;
    while (this.room < this.count + added) this.room *= 2;
    const larger = (old, size, Kind) => { const made = new Kind(size); made.set(old); return made; };
    this.begin = larger(this.begin, this.room, Float64Array);
    this.long = larger(this.long, this.room, Float32Array);
    this.values = this.values.map((own) => larger(own, 2 * this.room, Float32Array));
  }

  /** Joins the older half in pairs. */
  #join() {
    const half = (this.count >> 2) << 1, rest = this.count - half;
    for (let i = 0; i < half; i += 2) {
      this.begin[i / 2] = this.begin[i];
      this.long[i / 2] = this.begin[i + 1] + this.long[i + 1] - this.begin[i];
      for (const own of this.values) {
        // NaN loses against a number: what has a value is shown.
        const lows = [own[2 * i], own[2 * i + 2]], highs = [own[2 * i + 1], own[2 * i + 3]];
        own[i] = lows[1] < lows[0] || Number.isNaN(lows[0]) ? lows[1] : lows[0];
        own[i + 1] = highs[1] > highs[0] || Number.isNaN(highs[0]) ? highs[1] : highs[0];
      }
    }
    this.begin.copyWithin(half / 2, half, this.count);
    this.long.copyWithin(half / 2, half, this.count);
    for (const own of this.values) own.copyWithin(half, 2 * half, 2 * this.count);
    this.count = half / 2 + rest;
    this.version++;
  }

  /** The number of the first bucket that begins at `time` or later. */
  #first(time) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The bucket in which a time lies, or that before it; −1 before the first. */
  at(time) {
    const next = this.#first(time);
    return next < this.count && this.begin[next] === time ? next : next - 1;
  }

  /** @param {string} name @returns {[number, number]} the newest minimum and maximum */
  newest(name) {
    const own = this.values[this.index.get(name) ?? -1];
    return own && this.count ? [own[2 * this.count - 2], own[2 * this.count - 1]] : [NaN, NaN];
  }

  /** Minimum and maximum of a channel between two times. @returns {[number, number]} */
  range(name, from, to) {
    const own = this.values[this.index.get(name) ?? -1];
    let [low, high] = [Infinity, -Infinity];
    if (own) {
      for (let i = Math.max(0, this.at(from)); i < this.count && this.begin[i] <= to; i++) {
        if (own[2 * i] < low) low = own[2 * i];
        if (own[2 * i + 1] > high && own[2 * i + 1] < Infinity) high = own[2 * i + 1];
      }
    }
    return [low, high];
  }
}
