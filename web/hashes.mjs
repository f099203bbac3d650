// Prints the trace hash of scenarios by the engine of `fullpipe explore`, as JSON by file:
// node hashes.mjs ENGINE.wasm.gz INTERVAL_NS SCENARIO...
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [engine, interval, ...files] = process.argv.slice(2);
const module = await WebAssembly.compile(gunzipSync(readFileSync(engine)));
const said = {};
const none = () => 0; // no scenario has an algorithm in JavaScript
for (const file of files) {
  const { exports } = await WebAssembly.instantiate(module, { own: { make: none, call: none, observe: none } });
  const text = readFileSync(file);
  const room = exports.text(text.length); // before a look at the memory, which it may move
  new Uint8Array(exports.memory.buffer, room, text.length).set(text);
  const reply = () => {
    const [at, length] = [exports.reply_at(), exports.reply_length()];
    return JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, length)));
  };
  if (!exports.open(BigInt(interval))) {
    said[file] = reply().error;
    continue;
  }
  // With pictures on the way, as the page asks for them.
  while (!exports.advance(500_000n)) exports.so_far();
  exports.finish();
  said[file] = reply().hash;
}
console.log(JSON.stringify(said));
