// Prints the trace hash and the name of each scenario file given, by the WebAssembly module that is the first argument.
import { readFileSync } from "node:fs";

const [module, ...files] = process.argv.slice(2);
for (const file of files) {
	const { instance } = await WebAssembly.instantiate(readFileSync(module));
	const { memory, text_of, hash_of } = instance.exports;
	const text = readFileSync(file);
	const at = text_of(text.length);
	new Uint8Array(memory.buffer, at, text.length).set(text);
	const hash = BigInt.asUintN(64, hash_of(at, text.length));
	console.log(`${hash.toString(16).padStart(16, "0")}  ${file}`);
}
