import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { extract, pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ContainerAccess, ExecRequest, RunningExec } from "../../../src/agent/engine/container-access.ts";
import { createContainerAccess } from "../../../src/agent/engine/docker/container-access.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { ContainerRequest, Engine } from "../../../src/agent/engine/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { loadImage, uniqueName, webImage } from "../../support/images.ts";
import { waitFor } from "../../support/wait-for.ts";
import { plainRequest } from "./harness.ts";
import { expectKind, unaborted } from "./steps.ts";

interface RunningEngine extends AsyncDisposable {
  readonly socketPath: string;
}

/** What the inside of containers is reached by: commands, ports and files. */
export function execContract(name: string, start: () => Promise<RunningEngine>, skip?: string): void {
  describe.skipIf(skip !== undefined)(`${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`, () => {
    const owned = new AsyncDisposableStack();
    let engine: Engine;
    let access: ContainerAccess;
    let id = "";
    let image = "";

    beforeAll(async () => {
      const { socketPath } = owned.use(await start());
      engine = createDockerEngine({ socketPath: () => socketPath, clock: systemClock });
      access = createContainerAccess({ socketPath: () => socketPath, clock: systemClock });
      image = owned.use(await loadImage(socketPath, await webImage(), "exec")).reference;
      id = await create({ environment: ["OF_THE_APP=yes"] });
    });
    afterAll(() => owned.disposeAsync());

    async function create(changes: Partial<ContainerRequest> = {}): Promise<string> {
      const created = await engine.createContainer(plainRequest(uniqueName("exec"), image, changes), unaborted);
      owned.defer(() => engine.removeContainer(created, unaborted));
      await engine.startContainer(created, unaborted);
      return created;
    }

    async function exec(command: readonly string[], more: Partial<ExecRequest> = {}): Promise<RunningExec> {
      const running = await access.exec(id, { command, tty: false, ...more });
      onTestFinished(() => running.close());
      return running;
    }

    const run = async (command: readonly string[], more?: Partial<ExecRequest>) => outcome(await exec(command, more));
    const processes = async (): Promise<string> => (await run(["busybox", "ps", "-o", "args"])).stdout;

    test("both outputs and the exit code arrive", async () => {
      const found = await run(["sh", "-c", "echo out; echo err >&2; exit 42"]);
      expect(found).toEqual({ stdout: "out\n", stderr: "err\n", code: 42 });
    });

    test("a command has the app's environment, the user and the directory that are asked for", async () => {
      const script = "echo $OF_THE_APP; busybox id -u; pwd";
      expect((await run(["sh", "-c", script])).stdout).toMatch(/^yes\n0\n/);
      const other = await run(["sh", "-c", script], { user: "1234:1234", workingDir: "/tmp" });
      expect(other.stdout).toBe("yes\n1234\n/tmp\n");
    });

    test("binary data passes both ways unchanged, and the end of the input is seen", async () => {
      const running = await exec(["busybox", "cat"]);
      const bytes = Uint8Array.from({ length: 200_000 }, (_, i) => (i * 7) % 256);
      void running.write(bytes).then(() => running.end());
      const { stdout, code } = await outcome(running);
      expect(Buffer.from(stdout, "latin1").equals(Buffer.from(bytes))).toBe(true);
      expect(code).toBe(0);
    });

    test("what does not exist ends with a code or an error that says so", async () => {
      const found = await run(["/no/such/program"]).catch((error: unknown) => error as Error);
      const text = found instanceof Error ? found.message : `${found.code} ${found.stdout}${found.stderr}`;
      expect(text).toMatch(/no such file|not found/i);
      if (!(found instanceof Error)) expect([126, 127]).toContain(found.code);
    });

    test("a command in a container that does not run, or is not there, is an error", async () => {
      await expectKind(access.exec(uniqueName("nobody"), { command: ["true"], tty: false }), "not_found");
      const stopped = await engine.createContainer(plainRequest(uniqueName("exec"), image), unaborted);
      owned.defer(() => engine.removeContainer(stopped, unaborted));
      await expect(access.exec(stopped, { command: ["true"], tty: false })).rejects.toThrow(
        /not running|running containers/,
      );
    });

    test("a terminal has the size that is asked for, also later, and passes Ctrl-C", async () => {
      const script =
        "stty size; trap 'stty size' WINCH; trap 'echo interrupted; exit 9' INT; echo on; while :; do sleep 0.1; done";
      const running = await exec(
        ["busybox", "sh", "-c", script.replaceAll("stty", "busybox stty").replaceAll("sleep", "busybox sleep")],
        {
          tty: true,
          columns: 91,
          rows: 37,
        },
      );
      let text = "";
      const reading = (async () => {
        for await (const { source, bytes } of running.output) {
          expect(source).toBe("stdout");
          text += Buffer.from(bytes).toString();
        }
      })();
      await waitFor("the start", () => text.includes("on\r\n"));
      await running.resize(132, 43, unaborted);
      await waitFor("the size", () => text.includes("43 132"));
      await running.write(Uint8Array.of(3));
      await waitFor("the signal", () => text.includes("interrupted"));
      await reading;
      expect(await waitFor("the exit code", () => running.exitCode(unaborted))).toBe(9);
    });

    test.each([
      ["that never ends", ["busybox", "sleep", "76543"]],
      [
        "that ignores signals and the end of its input",
        ["sh", "-c", "trap '' INT TERM HUP; busybox sleep 76543 & wait; busybox sleep 76543"],
      ],
      [
        "whose children left its session",
        ["sh", "-c", "busybox setsid busybox sleep 76543 & exec busybox sleep 76543"],
      ],
      ["of another user", ["busybox", "sleep", "76543"], { user: "4321" }],
      ["that floods", ["busybox", "yes", "76543"]],
      ["with a terminal", ["busybox", "sleep", "76543"], { tty: true }],
    ] as const)(
      "a command %s is killed with all it has started",
      async (_what, command, more: Partial<ExecRequest> = {}) => {
        const running = await exec(command, more);
        await waitFor("the command", async () => (await processes()).includes("76543"));
        expect(await running.kill(unaborted)).toEqual({ isGone: true, left: [] });
        expect(await processes()).not.toContain("76543");
      },
    );

    const SLEEP = "busybox sleep 76543";
    const sleepers = async (): Promise<number> => (await processes()).split(/^busybox sleep 76543$/m).length - 1;

    test.each([
      ["in each way", "exec busybox sleep 76543"],
      ["while the command hides itself", `exec busybox env -i busybox sh -c '${SLEEP} & exec ${SLEEP}'`],
      ["while the command claims to be another", `EDGE_AGENT_EXEC=1 exec busybox sh -c '${SLEEP} & exec ${SLEEP}'`],
    ])("processes that hide %s are killed with their command", async (_what, last) => {
      const hiding = [
        `busybox env -i ${SLEEP} &`,
        `busybox env -i busybox setsid ${SLEEP} &`,
        `(busybox env -i ${SLEEP} &)`,
        `(busybox setsid ${SLEEP} &)`,
        // By its name.
        `sh -c "printf 'a) S 1 1 1\\n(b) Z 1' > /proc/self/comm; ${SLEEP} & wait" &`,
        // As another user.
        `busybox su -s /bin/sh nobody -c '${SLEEP}' &`,
      ];
      const users = "echo nobody:x:65534:65534::/:/bin/sh > /etc/passwd";
      const running = await exec(["sh", "-c", [users, ...hiding, last].join("\n")]);
      await waitFor("the processes", async () => (await sleepers()) >= hiding.length);
      expect(await running.kill(unaborted)).toEqual({ isGone: true, left: [] });
      expect(await sleepers()).toBe(0);
    });

    test("what a command has left behind is killed when it is over", async () => {
      const running = await exec(["sh", "-c", `(busybox setsid ${SLEEP} > /dev/null 2>&1 &)`]);
      expect(await outcome(running)).toMatchObject({ code: 0 });
      expect(await processes()).toContain("sleep 76543");
      expect(await running.kill(unaborted)).toEqual({ isGone: true, left: [] });
      expect(await processes()).not.toContain("76543");
    });

    test("a process that nothing tells from the app's own is named, and the app's own are neither killed nor named", async () => {
      const own = `while :; do busybox sleep 0.05; [ -e /tmp/go ] && busybox sleep 54321 & done`;
      const app = await create({ command: ["sh", "-c", own.replace("done", "[ -e /tmp/go ] && break; done; wait")] });
      const hiding = `touch /tmp/go; (busybox env -i busybox setsid ${SLEEP} &); exec busybox sleep 76544`;
      const running = await access.exec(app, {
        command: ["sh", "-c", hiding.replace("touch", "busybox touch")],
        tty: false,
      });
      onTestFinished(() => running.close());
      const seen = async (): Promise<string> => {
        return (await outcome(await access.exec(app, { command: ["busybox", "ps", "-o", "args"], tty: false }))).stdout;
      };
      await waitFor(
        "both processes",
        async () => /sleep 76543[^]*/.test(await seen()) && (await seen()).includes("54321"),
      );
      const { isGone, left } = await running.kill(unaborted);
      expect({ isGone, left }).toEqual({ isGone: true, left: [expect.stringMatching(/^busybox \(\d+\)$/)] });
      const after = await seen();
      expect(after).toContain("54321");
      expect(after).not.toContain("76544");
    });

    test("without a shell in the image it is said that a command may have left something", async () => {
      const bare = await create();
      await outcome(await access.exec(bare, { command: ["busybox", "rm", "/bin/sh"], tty: false }));
      // It ends with its input.
      const running = await access.exec(bare, { command: ["busybox", "cat"], tty: false });
      expect(await running.kill(unaborted)).toEqual({ isGone: true, left: undefined });
    });

    test("commands that begin at the same time are told apart", async () => {
      const started = await Promise.all(["65431", "65432", "65433"].map((n) => exec(["busybox", "sleep", n])));
      await started[1]?.kill(unaborted);
      const left = await processes();
      for (const [n, isThere] of [
        ["65431", true],
        ["65432", false],
        ["65433", true],
      ] as const)
        expect([n, left.includes(n)]).toEqual([n, isThere]);
      for (const each of started) await each.kill(unaborted);
    });

    test("killing a command leaves others alone", async () => {
      const kept = await exec(["busybox", "sleep", "65432"]);
      const killed = await exec(["busybox", "sleep", "76543"]);
      await killed.kill(unaborted);
      expect(await processes()).toContain("65432");
      expect(await kept.exitCode(unaborted)).toBeUndefined();
      await kept.kill(unaborted);
    });

    test("a command that floods is read no faster than its output is taken", async () => {
      const running = await exec(["busybox", "yes", "76543"]);
      const output = running.output[Symbol.asyncIterator]();
      await output.next();
      const before = process.memoryUsage().arrayBuffers;
      // Enough turns for a reader that does not wait to have read on.
      for (let i = 0; i < 5; i++) await processes();
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16_000_000);
      expect(await running.kill(unaborted)).toMatchObject({ isGone: true });
    });

    test("a container that is removed under a command ends it", async () => {
      const other = await create();
      const running = await access.exec(other, { command: ["busybox", "sleep", "76543"], tty: false });
      const ended = (async () => {
        for await (const _part of running.output);
      })();
      await engine.removeContainer(other, unaborted);
      await ended.catch(() => undefined);
      const code = await running.exitCode(unaborted).catch((error: unknown) => (error as { kind?: string }).kind);
      expect(code === "not_found" || code === "conflict" || typeof code === "number").toBe(true);
      expect(await running.kill(unaborted)).toEqual({ isGone: true, left: [] });
    });

    test("a container that is started again has nothing left of a command", async () => {
      const own = "busybox setsid busybox sleep 54321 & exec busybox sleep 65432";
      const other = await create({ command: ["sh", "-c", own] });
      const running = await access.exec(other, { command: ["busybox", "sleep", "76543"], tty: false });
      await engine.stopContainer(other, 0, unaborted);
      await engine.startContainer(other, unaborted);
      expect(await running.kill(unaborted)).toEqual({ isGone: true, left: [] });
      const seen = await outcome(await access.exec(other, { command: ["busybox", "ps", "-o", "args"], tty: false }));
      expect(seen.stdout).toContain("54321");
    });

    test("a file and a directory come out as an archive, and go in as one", async () => {
      const archive = pack();
      archive.entry({ name: "tree", type: "directory", mode: 0o750 });
      archive.entry({ name: "tree/file", mode: 0o640 }, "content");
      archive.finalize();
      const body = await buffer(archive);
      expect(await access.statPath(id, "/tmp", unaborted)).toEqual({ isDirectory: true });
      await access.writeArchive(id, "/tmp", Readable.from([body]), unaborted);
      expect((await run(["busybox", "stat", "-c", "%a %u %g", "/tmp/tree/file"])).stdout).toBe("640 0 0\n");
      expect(await access.statPath(id, "/tmp/tree/file", unaborted)).toEqual({ isDirectory: false });
      const names: string[] = [];
      const reader = extract();
      (await access.readArchive(id, "/tmp/tree", unaborted)).pipe(reader);
      for await (const entry of reader) {
        names.push(entry.header.name.replace(/\/$/, ""));
        entry.resume();
      }
      expect(names).toEqual(["tree", "tree/file"]);
    });

    test("nothing at a path is nothing, and reading it an error", async () => {
      expect(await access.statPath(id, "/no/such", unaborted)).toBeUndefined();
      await expectKind(access.readArchive(id, "/no/such", unaborted), "not_found");
    });
  });
}

/** Reads a command's output to its end. */
async function outcome(running: RunningExec) {
  const found = { stdout: "", stderr: "" };
  for await (const { source, bytes } of running.output) found[source] += Buffer.from(bytes).toString("latin1");
  const code = await waitFor("the exit code", () => running.exitCode(unaborted));
  return { ...found, code };
}
