import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const MODULE = JSON.stringify(resolve("scripts/test/run-child.ts"));

/** Starts a runner of a program that prints its process id. */
function startRunner(program: string) {
  const script = `
    import(${MODULE}).then(async ({ runChild }) => {
      const ended = await runChild(process.execPath, ["-e", ${JSON.stringify(program)}], { stdio: "inherit" });
      process.exitCode = ended.exitCode ?? 99;
    });`;
  return spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
}

test("a runner that is asked to end ends what it runs first", async () => {
  const runner = startRunner("console.log(process.pid); setInterval(() => {}, 1000);");
  const [printed] = (await once(runner.stdout, "data")) as [Buffer];
  const pid = Number(printed.toString());
  expect(process.kill(pid, 0)).toBe(true);
  const ended = once(runner, "exit");
  runner.kill("SIGTERM");
  expect(await ended).toEqual([143, null]);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("a runner has the exit code of what it runs", async () => {
  const runner = startRunner("process.exitCode = 3;");
  expect(await once(runner, "exit")).toEqual([3, null]);
});
