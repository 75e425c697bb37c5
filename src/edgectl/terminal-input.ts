import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Output } from "../lib/terminal/output.ts";
import type { Input } from "./io.ts";

/** A stream that may be a terminal. `process.stdin` fits. */
type Stdin = Readable & { readonly isTTY?: boolean };

/** Creates the standard input. Prompts go to `output`; typed secrets are not echoed. */
export function createInput(stdin: Stdin, output: Output, interrupt: () => void, interrupted: AbortSignal): Input {
  return {
    isTTY: stdin.isTTY === true,
    readAll: () => text(stdin),
    async ask(question) {
      // The terminal itself echoes, and turns Ctrl-C into the signal.
      const lines = createInterface({ input: stdin, terminal: false });
      const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
      output.write(question);
      try {
        return await Promise.race([lines.question("", { signal: interrupted }), ended]);
      } finally {
        lines.close();
      }
    },
    async readSecret(question) {
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
      // In raw mode Ctrl-C is a key like any other, and Ctrl-D closes the input.
      lines.on("SIGINT", interrupt);
      lines.on("close", interrupt);
      output.write(question);
      try {
        return await lines.question("", { signal: interrupted });
      } finally {
        lines.off("close", interrupt);
        lines.close();
        output.write("\n");
      }
    },
  };
}
