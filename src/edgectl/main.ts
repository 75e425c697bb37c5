import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { foregroundClock as clock } from "../lib/clock.ts";
import { createInput, type Io } from "./io.ts";
import { run } from "./run.ts";

const interruption = new AbortController();
const interrupt = (): void => interruption.abort(new Error("interrupted"));
// Once: a second Ctrl-C ends the process immediately.
process.once("SIGINT", interrupt);
process.once("SIGTERM", interrupt);

// The reader closed the pipe, as `head` does: nothing more can be printed.
const SIGPIPE_EXIT_CODE = 141;
for (const output of [process.stdout, process.stderr]) {
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(SIGPIPE_EXIT_CODE);
    throw error;
  });
}

const io: Io = {
  stdin: createInput(process.stdin, process.stderr, interrupt, interruption.signal),
  stdout: process.stdout,
  stderr: process.stderr,
  raw: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  env: process.env,
  homeDirectory: homedir(),
  fetch: globalThis.fetch,
  clock,
  random: Math.random,
  randomId: randomUUID,
  interrupted: interruption.signal,
};

process.exitCode = await run(process.argv.slice(2), io);
