import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:net";
import { succeed } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { loadImage, uniqueName } from "../support/images.ts";
import { NGINX_PORT, nginxImage } from "../support/images/nginx.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, paired } from "./measure.ts";
import { type Bench, atMost, inMilliseconds } from "./result.ts";
import { change } from "../../scripts/system/client.ts";
import { deployed, startSystem, succeeded } from "./system.ts";

const PROBE_INTERVAL_MS = 5;

/**
 * Downtime of the app's port during an update with the image present, compared with docker stop, rm and run. And during
 * the rollback of an update that crashes: from the decision until the previous version responds.
 */
export const updateGap: Bench = {
  name: "update-gap",
  async run({ quick }) {
    const socket = await engineSocket();
    await using first = await loadImage(socket, await nginxImage("1"), "bench");
    await using second = await loadImage(socket, await nginxImage("2"), "bench");
    await using broken = await loadImage(socket, await nginxImage("3", "no_such_directive on;"), "bench");
    await using system = await startSystem({ deploy: { settle_window_s: 0.5 } });
    const [ours, theirs] = [await freeHostPort(), await freeHostPort()];
    const name = uniqueName("updated");
    const ports = [{ host_port: ours, target_port: NGINX_PORT }];
    await deployed(system.target, { name, image: first.reference, ports });
    const other = uniqueName("scripted");
    const run = (image: string) => ["run", "-d", "-p", `${theirs}:${NGINX_PORT}`, "--name", other, image];
    await succeed("docker", run(first.reference));
    let turn = 0;
    const next = (): string => (turn++ % 4 < 2 ? second : first).reference;

    const result = await paired(
      quick ? 2 : 10,
      async () => {
        using watch = new Watch(ours);
        await succeeded(change(system.target, "PATCH", name, { image: next() }), ({ step }) => watch.note(step));
        // The agent may report success before the new version answers.
        await watch.untilAnswered();
        return watch.longestGap();
      },
      async () => {
        using watch = new Watch(theirs);
        await succeed("docker", ["stop", other]);
        await succeed("docker", ["rm", other]);
        await succeed("docker", run(next()));
        await watch.untilAnswered();
        return watch.longestGap();
      },
    );
    const rollbacks: number[] = [];
    for (let round = 0; round < (quick ? 2 : 10); round++) {
      using watch = new Watch(ours);
      let end = "";
      for await (const event of change(system.target, "PATCH", name, { image: broken.reference })) {
        watch.note(event.step);
        end = event.message;
      }
      if (!end.includes("runs again")) throw new Error(`no rollback: ${end}`);
      rollbacks.push(await watch.answeredAfter("rolling_back"));
    }
    const [gap, back] = [median(result.ours), median(rollbacks)];
    return {
      data: { ...result, rollbacks },
      rows: [
        {
          what: "update, image present: the port does not respond, median",
          value: inMilliseconds(gap),
          reference: `docker stop, rm, run: ${inMilliseconds(median(result.reference))}`,
          ratio: result.ratio,
          target: atMost(600, "ms", gap),
        },
        {
          what: "update that crashes: from the decision until the previous version answers, median",
          value: inMilliseconds(back),
          target: atMost(2_000, "ms", back),
        },
      ],
    };
  },
};

/** Probes a port continuously and records the times of responses. */
class Watch implements Disposable {
  readonly #port: number;
  readonly #probes: { readonly at: number; readonly answered: boolean }[] = [];
  readonly #noted = new Map<string, number>();
  #isOver = false;

  constructor(port: number) {
    this.#port = port;
    void this.#probe();
  }

  /** Records when a step was first reported. */
  note(step: string): void {
    if (!this.#noted.has(step)) this.#noted.set(step, performance.now());
  }

  /** The longest time in milliseconds between two consecutive responses. */
  longestGap(): number {
    let [longest, lastAnswer] = [0, Number.NaN];
    for (const { at, answered } of this.#probes) {
      if (!answered) continue;
      if (!Number.isNaN(lastAnswer)) longest = Math.max(longest, at - lastAnswer);
      lastAnswer = at;
    }
    return longest;
  }

  /** Resolves once the port responds from now on. */
  async untilAnswered(): Promise<void> {
    const from = performance.now();
    while (!this.#probes.some(({ at, answered }) => answered && at > from)) await sleep(PROBE_INTERVAL_MS);
  }

  /** Milliseconds from a step until the next response. */
  async answeredAfter(step: string): Promise<number> {
    await this.untilAnswered();
    const from = this.#noted.get(step) ?? Number.NaN;
    return (this.#probes.find(({ at, answered }) => answered && at > from)?.at ?? Number.NaN) - from;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }

  async #probe(): Promise<void> {
    while (!this.#isOver) {
      // Concurrent, since a probe during the gap may stay without a response for a while.
      void answers(this.#port).then((answered) => this.#probes.push({ at: performance.now(), answered }));
      await sleep(PROBE_INTERVAL_MS);
    }
  }
}

/** Whether an HTTP server responds. An accepted connection is not enough: it may be the engine's proxy alone. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
    socket.setTimeout(200, () => socket.destroy());
    socket.once("data", () => {
      resolve(true);
      socket.destroy();
    });
    socket.once("error", () => {});
    socket.once("close", () => resolve(false));
  });
}
