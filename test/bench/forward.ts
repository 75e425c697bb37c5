import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAgent, stateDirectory, waitUntilOnline } from "../../scripts/system/agent.ts";
import { startControlPlane } from "../../scripts/system/control-plane.ts";
import { removeApps } from "../../scripts/system/remove-apps.ts";
import { StreamConnection } from "../../src/edgectl/streams/connection.ts";
import { startForward } from "../../src/edgectl/streams/forward.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { SlowLink } from "../support/slow-link.ts";
import { tempDir } from "../support/temp-dir.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { residentBytes } from "./process-usage.ts";
import { type Bench, atMost, inMegabytes, inMilliseconds } from "./result.ts";
import { deployed } from "./system.ts";

/** Rate of the link in each direction, in bytes per second. */
const LINK = 50_000;
const MEGABYTE = 1_000_000;
const SAMPLE_MS = 50;

/**
 * A forwarded port of an app, over a link of 50 kB/s and on loopback, compared with a connection to the app itself: share
 * of the link, added time of a request, memory of the agent, and what a deployment beside it loses.
 */
export const forward: Bench = {
  name: "forward",
  async run({ quick }) {
    await using owned = new AsyncDisposableStack();
    const image = owned.use(await loadImage(await engineSocket(), await sleeperImage(), "bench"));
    const source = owned.use(await startSource());
    const app = { name: uniqueName("source"), image: image.reference, host_network: true };

    const slow = owned.use(await Rig.start(LINK));
    await deployed(slow.target, app);
    const share = await slow.rate(app.name, source.port, quick ? 5_000 : 30_000);
    await using direct = await SlowLink.to(source.port, LINK);
    const reference = await received(Number(direct.host.split(":")[1]), quick ? 5_000 : 30_000);
    const beside = await slow.besideDeployments(app.name, source.port, image.reference, quick ? 2 : 10);
    await slow[Symbol.asyncDispose]();

    const fast = owned.use(await Rig.start(undefined));
    const other = { ...app, name: uniqueName("echo") };
    await deployed(fast.target, other);
    const added = await fast.addedTime(other.name, source.port, quick ? 20 : 300);
    const memory = await fast.memory(other.name, source.port, (quick ? 10 : 100) * MEGABYTE);

    const [ours, theirs] = [median(beside.ours), median(beside.reference)];
    return {
      data: { share, reference, beside, added, memory },
      rows: [
        {
          what: "forward, link of 50 kB/s: bytes per second",
          value: `${(share / 1000).toFixed(1)} kB/s`,
          reference: `TCP over the same link: ${(reference / 1000).toFixed(1)} kB/s`,
          ratio: share / reference,
          target: { text: "at least 0.8 x", met: share >= 0.8 * reference },
        },
        {
          what: "deployment beside a forward that fills the link, median",
          value: inMilliseconds(ours),
          reference: `without it: ${inMilliseconds(theirs)}`,
          ratio: beside.ratio,
          target: atMost(1.1, "x", beside.ratio),
        },
        {
          what: "forward on loopback: added time of a request, median",
          value: `${added.toFixed(1)} ms`,
          target: atMost(5, "ms", added),
        },
        {
          what: "forward: memory of the agent while it carries data, more than when open",
          value: inMegabytes(memory.carrying),
          target: atMost(1, "MB", memory.carrying / MEGABYTE),
        },
        { what: "the same, more than before its first stream", value: inMegabytes(memory.sinceStart) },
      ],
    };
  },
};

/** A control plane and an agent, connected by a link. */
class Rig implements AsyncDisposable {
  readonly target: { readonly url: string; readonly apiKey: string; readonly asset: string };
  readonly #agentPid: number;
  readonly #owned: AsyncDisposableStack;

  private constructor(target: Rig["target"], agentPid: number, owned: AsyncDisposableStack) {
    this.target = target;
    this.#agentPid = agentPid;
    this.#owned = owned;
  }

  static async start(bytesPerSecond: number | undefined): Promise<Rig> {
    await using owned = new AsyncDisposableStack();
    const folder = owned.use(await tempDir()).path;
    const control = owned.use(await startControlPlane(folder));
    const { deviceToken, apiKey, serialNumber } = await control.register("bench", "BENCH-1", ["--allow", "forward"]);
    const port = Number(new URL(control.url).port);
    const link = bytesPerSecond === undefined ? undefined : owned.use(await SlowLink.to(port, bytesPerSecond, "both"));
    const controlPlaneUrl = link ? `ws://${link.host}/v1/agent` : control.agentUrl;
    const config = { policy: { remote_access: "forward" }, deploy: { settle_window_s: 0 } };
    const device = join(folder, "device");
    owned.defer(() => removeApps(stateDirectory(device)));
    const agent = owned.use(await startAgent(device, { controlPlaneUrl, deviceToken, config }));
    await waitUntilOnline(agent);
    const target = { url: control.url, apiKey, asset: serialNumber };
    return new Rig(target, agent.pid, owned.move());
  }

  /** Bytes per second of a forwarded download, after it has begun. */
  async rate(app: string, port: number, ms: number): Promise<number> {
    await using local = await this.#forward(app, port);
    return await received(local.address.port, ms);
  }

  /** Time of a deployment while a forwarded download fills the link, and without one. */
  async besideDeployments(app: string, port: number, image: string, rounds: number) {
    const deployOne = (label: string) =>
      milliseconds(() => deployed(this.target, { name: uniqueName(label), image, host_network: true }));
    return await paired(
      rounds,
      async () => {
        await using local = await this.#forward(app, port);
        const download = connect(local.address.port, "127.0.0.1");
        download.on("error", () => undefined);
        download.resume();
        await sleep(2_000);
        const ms = await deployOne("beside");
        download.destroy();
        return ms;
      },
      () => deployOne("alone"),
    );
  }

  /** Median time of an exchange through the forward, less that of one with the app itself, in milliseconds. */
  async addedTime(app: string, port: number, exchanges: number): Promise<number> {
    await using local = await this.#forward(app, port);
    const { ours, reference } = await paired(
      3,
      () => exchangeTime(local.address.port, exchanges),
      () => exchangeTime(port, exchanges),
    );
    return median(ours) - median(reference);
  }

  /** Growth of the agent's memory while it carries data. */
  async memory(app: string, port: number, bytes: number): Promise<{ carrying: number; sinceStart: number }> {
    const start = residentBytes(this.#agentPid);
    await using local = await this.#forward(app, port);
    // The first bytes load and compile what streams need.
    await download(local.address.port, 5 * MEGABYTE, () => undefined);
    const before = residentBytes(this.#agentPid);
    const samples: number[] = [];
    await download(local.address.port, bytes, () => samples.push(residentBytes(this.#agentPid)));
    const during = median(samples);
    return { carrying: during - before, sinceStart: during - start };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  async #forward(app: string, port: number) {
    const { url: baseUrl, apiKey, asset } = this.target;
    const signal = new AbortController().signal;
    const connection = await StreamConnection.open({ baseUrl, apiKey, asset, app, clock: systemClock, signal });
    const local = await startForward({
      port,
      addresses: ["127.0.0.1"],
      localPort: 0,
      connection: async () => connection,
      onBytes: () => undefined,
      onFailure: (failure) => console.error(failure.message),
    });
    return {
      address: local.address,
      async [Symbol.asyncDispose]() {
        await local[Symbol.asyncDispose]();
        connection[Symbol.dispose]();
      },
    };
  }
}

/** An app on loopback: sends without end, or returns each byte it gets. */
async function startSource(): Promise<{ readonly port: number } & AsyncDisposable> {
  const block = new Uint8Array(16 * 1024);
  const server: Server = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => undefined);
    const pour = (): void => {
      // The client wants an echo.
      if (socket.bytesRead > 0) return;
      while (socket.write(block));
    };
    socket.on("drain", pour);
    socket.on("data", (bytes) => socket.write(bytes));
    // A client that wants an echo sends at once.
    setTimeout(pour, 200);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Bytes per second that a connection brings, from its third second on. */
async function received(port: number, ms: number): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  let bytes = 0;
  socket.on("data", (chunk) => (bytes += chunk.length));
  await sleep(3_000);
  const [before, start] = [bytes, performance.now()];
  await sleep(ms);
  const rate = ((bytes - before) / (performance.now() - start)) * 1000;
  socket.destroy();
  return rate;
}

async function exchangeTime(port: number, exchanges: number): Promise<number> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const times: number[] = [];
  for (let i = 0; i < exchanges; i++) {
    times.push(
      await milliseconds(async () => {
        socket.write("x".repeat(400));
        for (let left = 400; left > 0;) left -= ((await once(socket, "data")) as [Buffer])[0].length;
      }),
    );
  }
  socket.destroy();
  return median(times);
}

async function download(port: number, bytes: number, onSample: () => void): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  const timer = setInterval(onSample, SAMPLE_MS);
  let left = bytes;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left <= 0) break;
  }
  clearInterval(timer);
  socket.destroy();
}
