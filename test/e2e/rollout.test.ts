import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../src/agent/core/app/container.ts";
import { SimulatedDevice } from "../support/fleets/simulated-device.ts";
import { crashLoopImage, engineRequest, type Image, sleeperImage, uniqueName } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";
import { AgentProcess } from "../support/system/agent.ts";
import { type Account, ControlProcess } from "../support/system/control.ts";
import { type ContainerInspection, listContainers } from "../support/system/engine-containers.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const REAL = 8;
const SIMULATED = 40;
const FLEET = "kiosks";
/** A whole rollout on a busy machine. */
const ROLLOUT_MS = 180_000;
/** Longer than the waiting in it, which says what was missing. */
const TEST_MS = ROLLOUT_MS + 60_000;

interface Device {
  readonly uuid: string;
  readonly agent: AgentProcess;
  readonly engine: PrivateEngine;
}

interface RolloutBody {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly wave: number;
  readonly counts: Readonly<Record<string, number>>;
}

const missing = await privateEngineUnavailableReason();

// Each agent has an engine of its own: the same app has the same name on all of them.
describe.skipIf(missing !== undefined)(
  `a rollout to ${REAL} agents and ${SIMULATED} simulated devices${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const owned = new AsyncDisposableStack();
    const real: Device[] = [];
    const simulated: SimulatedDevice[] = [];
    const transcript: string[] = [];
    let control: ControlProcess;
    let account: Account;
    let registry: Registry;
    let images: Readonly<Record<"one" | "bad" | "two", string>>;

    async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await fetch(control.url + path, {
        method,
        headers: { "X-API-Key": account.apiKey, ...(body !== undefined && { "Content-Type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text) as T;
    }

    async function push(image: Image, tag: string): Promise<string> {
      await registry.push(image, `team/kiosk:${tag}`);
      return `${registry.host}/team/kiosk@${await registry.digest(`team/kiosk:${tag}`)}`;
    }

    /** Makes a revision of this image and rolls it out. Returns the id of the rollout. */
    async function rollOut(image: string, environments: readonly object[] = []): Promise<string> {
      const app = { name: "kiosk-ui", image, environments };
      await call("POST", `/v1/fleets/${FLEET}/revisions`, { apps: [{ app }] });
      return (await call<{ id: string }>("POST", `/v1/fleets/${FLEET}/rollouts`, {})).id;
    }

    const read = (id: string) => call<RolloutBody>("GET", `/v1/fleets/${FLEET}/rollouts/${id}`);

    /** Resolves when the rollout is in this state, and notes how it got there. */
    async function reach(id: string, state: string): Promise<RolloutBody> {
      let last = "";
      return waitFor(
        `rollout ${id} to be ${state}`,
        async () => {
          const rollout = await read(id);
          const line = `${rollout.state}, wave ${rollout.wave}: ${JSON.stringify(rollout.counts)} ${rollout.reason ?? ""}`;
          if (line !== last) transcript.push(line);
          last = line;
          return rollout.state === state ? rollout : Promise.reject(new Error(line));
        },
        { timeoutMs: ROLLOUT_MS, intervalMs: 250 },
      ).catch(async (error: unknown) => {
        const { targets } = await call<{ targets: readonly { readonly state: string }[] }>(
          "GET",
          `/v1/fleets/${FLEET}/rollouts/${id}/targets?limit=${REAL + SIMULATED}`,
        );
        const open = targets.filter(({ state }) => state !== "skipped");
        const connected = simulated.filter(({ isConnected }) => isConnected).length;
        throw new Error(
          `${String(error)}; ${connected} of ${SIMULATED} simulated devices are connected; targets: ${JSON.stringify(open)}`,
          { cause: error },
        );
      });
    }

    /** Returns the container of the app on a device. */
    async function containerOf({ engine }: Device): Promise<ContainerInspection | undefined> {
      const found = (await listContainers(engine.socketPath)).find(({ Labels }) => Labels[LABELS.app] === "kiosk-ui");
      if (!found) return undefined;
      const { body } = await engineRequest(engine.socketPath, "GET", `/containers/${found.Id}/json`);
      return JSON.parse(body) as ContainerInspection;
    }

    const versionOf = async (device: Device) =>
      (await containerOf(device))?.Config.Env.find((entry) => entry.startsWith("VERSION="));

    beforeAll(async () => {
      const { path: directory } = owned.use(await tempDir());
      registry = owned.use(await Registry.start());
      control = owned.use(new ControlProcess(directory, []));
      await control.start();
      account = await control.createAccount(uniqueName(""));
      const addAsset = async (name: string) => {
        const asset = await control.addAsset(account.accountId, uniqueName(name));
        await call("PUT", `/v1/assets/${asset.uuid}/tags`, { role: "kiosk" });
        await call("PUT", `/v1/assets/${asset.uuid}/variables`, { SITE: { value: name } });
        return asset;
      };
      for (let index = 0; index < REAL; index++) {
        const { uuid, deviceToken } = await addAsset(`real${index}`);
        const engine = owned.use(await PrivateEngine.start());
        const own = join(directory, `agent${index}`);
        mkdirSync(own);
        const agent = owned.use(
          new AgentProcess({
            directory: own,
            deviceToken,
            controlPlaneUrl: () => `ws://127.0.0.1:${control.port}/v1/agent`,
            engineSocket: engine.socketPath,
            config: {},
          }),
        );
        await agent.start();
        real.push({ uuid, agent, engine });
      }
      for (let index = 0; index < SIMULATED; index++) {
        const { deviceToken } = await addAsset(`sim${index}`);
        const device = owned.use(new SimulatedDevice(`ws://127.0.0.1:${control.port}/v1/agent`, deviceToken));
        // The image of the bad version is bad for all.
        device.behave = ({ images: got }) => (got.includes(images.bad) ? { fail: "CrashLoopBackOff" } : "succeed");
        await device.connect();
        simulated.push(device);
      }
      images = {
        one: await push(await sleeperImage("one"), "1"),
        bad: await push(await crashLoopImage(3), "bad"),
        two: await push(await sleeperImage("two"), "2"),
      };
      await call("POST", "/v1/fleets", {
        name: FLEET,
        selector: "role=kiosk",
        apps: ["kiosk-ui"],
        strategy: {
          waves: [{ limit: 4, soak_s: 2 }],
          soak_s: 2,
          stop_when: { failed: 2, min_attempted: 2 },
          on_stop: "rollback",
          attempts: 1,
          offline_after_s: 60,
        },
      });
    });
    afterAll(async () => {
      if (process.env["ROLLOUT_TRANSCRIPT"]) console.info(transcript.join("\n"));
      await owned.disposeAsync();
    });

    test(
      "brings a good version to all, with the variables of each asset",
      async () => {
        transcript.push("== version one");
        const id = await rollOut(images.one, [{ key: "VERSION", value: "one at ${SITE}" }]);
        expect(await reach(id, "succeeded")).toMatchObject({ counts: { succeeded: REAL + SIMULATED } });
        for (const [index, device] of real.entries())
          expect(await versionOf(device)).toBe(`VERSION=one at real${index}`);
      },
      TEST_MS,
    );

    test(
      "stops a bad version by itself in the first wave, and goes back",
      async () => {
        transcript.push("== a bad version");
        const before = await Promise.all(real.map(containerOf));
        const id = await rollOut(images.bad, [{ key: "VERSION", value: "bad" }]);
        const done = await reach(id, "rolled_back");
        expect(done).toMatchObject({ wave: 1, reason: expect.stringMatching(/failed/) });
        expect(done.counts["rolled_back"]).toBeGreaterThanOrEqual(1);
        expect(done.counts["rolled_back"]).toBeLessThanOrEqual(4);
        const touched = simulated.filter(({ received }) =>
          received.some(({ images: got }) => got.includes(images.bad)),
        );
        expect(touched.length).toBeLessThanOrEqual(4);
        for (const [index, device] of real.entries()) {
          expect(await versionOf(device)).toBe(`VERSION=one at real${index}`);
          expect((await containerOf(device))?.State.Status).toBe("running");
        }
        // The second wave was not touched: the same containers run.
        const after = await Promise.all(real.map(containerOf));
        expect(after.filter((container, index) => container?.Id === before[index]?.Id).length).toBeGreaterThanOrEqual(
          REAL - 4,
        );
      },
      TEST_MS,
    );

    test(
      "brings the next good version to all, also to one that was off meanwhile",
      async () => {
        transcript.push("== version two, with one device off");
        const [away] = real as [Device];
        await away.agent.stop();
        const id = await rollOut(images.two, [{ key: "VERSION", value: "two at ${SITE}" }]);
        await waitFor(
          "the device that is off to be all that is missing",
          async () => {
            const { counts } = await read(id);
            return counts["succeeded"] === REAL + SIMULATED - 1;
          },
          { timeoutMs: ROLLOUT_MS },
        );
        expect(await versionOf(away)).toBe("VERSION=one at real0");
        await away.agent.start();
        await waitFor("it to have the right version", async () => (await versionOf(away)) === "VERSION=two at real0", {
          timeoutMs: ROLLOUT_MS,
        });
        await reach(id, "succeeded");
        for (const [index, device] of real.entries())
          expect(await versionOf(device)).toBe(`VERSION=two at real${index}`);
      },
      2 * TEST_MS,
    );
  },
);
