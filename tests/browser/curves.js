// Run in the page: what the store of live curves must hold. Hands a list of what does not hold to the last argument.
const done = arguments[arguments.length - 1];
import("/js/curves.js").then(({ Curves, decode }) => {
  const wrong = [];
  const claim = (holds, what) => holds || wrong.push(what);
  const message = (kind, number, times, value) => {
    const count = times.length, bytes = new ArrayBuffer(24 + 16 * count), view = new DataView(bytes);
    view.setUint8(0, kind);
    view.setUint8(1, 1);
    view.setUint16(2, 1, true);
    view.setUint32(4, count, true);
    view.setBigUint64(8, BigInt(number), true);
    times.forEach((time, i) => {
      view.setFloat64(24 + 8 * i, time, true);
      view.setFloat32(24 + 8 * count + 8 * i, -value(time), true);
      view.setFloat32(28 + 8 * count + 8 * i, value(time), true);
    });
    return bytes;
  };
  const steps = (from, count, step = 0.005) => Array.from({ length: count }, (_, i) => from + i * step);
  const rising = (curves) => [...curves.begin.subarray(0, curves.count)].every((time, i, all) => i === 0 || time > all[i - 1]);
  const channel = [{ name: "a", unit: "m" }];

  // One peak of one bucket among ten thousand, in a store of a hundred.
  const few = new Curves(channel, 100);
  for (let i = 0; i < 1000; i++) few.add(decode(message(1, i, steps(i * 0.05, 10), (time) => (Math.abs(time - 12.345) < 0.002 ? 9 : 1))));
  claim(few.count <= 100, `a full store grows to ${few.count} buckets`);
  claim(few.range("a", 0, 100)[1] === 9, "a peak is hidden where buckets are joined");
  claim(rising(few) && few.start === 0, "joined buckets are out of order");

  // The stream breaks, and its history comes after it is there again.
  const broken = new Curves(channel);
  broken.add(decode(message(1, 0, steps(0, 100), () => 1)));
  broken.add(decode(message(2, 0, steps(0, 50, 0.1), () => 7)));
  broken.add(decode(message(1, 90, steps(5, 10), () => 2)));
  claim(rising(broken) && broken.count === 60, `history and stream make ${broken.count} buckets`);
  claim(broken.range("a", 3, 3.1)[1] === 7, "what was missed is not taken from the history");

  // What the stream has brought beyond the history stays.
  const ahead = new Curves(channel);
  ahead.add(decode(message(1, 0, steps(0, 40, 0.25), () => 1)));
  ahead.add(decode(message(2, 0, steps(0, 10, 0.5), () => 7)));
  claim(rising(ahead) && ahead.count === 31 && ahead.end === 10, `stream beyond the history makes ${ahead.count} buckets to ${ahead.end}`);

  claim(decode(new ArrayBuffer(10)) === null && decode(message(3, 0, [0], () => 0)) === null, "nonsense is taken for a message");
  const short = message(1, 0, steps(0, 4), () => 1);
  claim(decode(short.slice(0, short.byteLength - 4)) === null, "a message that was cut off is taken");
  broken.add({ ...decode(short), channels: 2 });
  claim(broken.count === 60, "a message of other channels is taken");
  done(wrong);
}, (problem) => done([String(problem)]));
