import { expect, test, describe } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { dockerSocket } from "../support/docker-socket.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, engineRequest, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { execIn, resolvesHost } from "../support/images/exec.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import type { SystemOptions } from "../support/system.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const docker = await dockerSocket();
const noDocker = docker === undefined ? "no Docker engine answers on this machine" : undefined;

function suite(
  engine: string,
  skip: string | undefined,
  setUp: (owned: AsyncDisposableStack) => Promise<SystemOptions & { readonly announceBridges?: () => Promise<void> }>,
) {
  describe.skipIf(skip !== undefined)(`names with ${engine}${skip === undefined ? "" : ` (skipped: ${skip})`}`, () => {
    let announceBridges: (() => Promise<void>) | undefined;
    const system = sharedSystem(async (owned) => {
      const { announceBridges: announce, ...options } = await setUp(owned);
      announceBridges = announce;
      return options;
    });

    async function change(method: string, app: string, action?: string, body?: unknown): Promise<DeploymentEvent> {
      return (await system().finish(await system().change(method, app, action, body))).final;
    }

    async function deploy(label: string, image: string, fields: object = {}): Promise<string> {
      const name = system().name(label);
      expect((await system().deploy({ name, image, ...fields })).final).toMatchObject({ status: "Success" });
      return name;
    }

    const reads = (from: string, name: string, text: string) => readsPage(system().engineSocket, from, name, text);

    const untilReads = async (from: string, name: string, text: string): Promise<void> => {
      await announceBridges?.();
      await waitFor(`${from} to read "${text}" from ${name}`, () => reads(from, name, text));
    };

    test("an app reaches another by name: the version in force, after an update, a rollback and a stop", async () => {
      const [first, second] = [await system().load(await webImage()), await system().load(await webImage("2"))];
      const asks = await deploy("asks", await system().load(await sleeperImage()));
      const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
      const web = await deploy("Web_1.x", first, { ports });
      await untilReads(asks, web, "version 1");
      expect(await page(ports[0]!.host_port)).toContain("version 1");
      expect(await change("PATCH", web, undefined, { image: second })).toMatchObject({ status: "Success" });
      await untilReads(asks, web, "version 2");
      const broken = await system().load(await crashLoopImage(3));
      expect(await change("PATCH", web, undefined, { image: broken })).toMatchObject({ status: "Fail" });
      await untilReads(asks, web, "version 2");
      await change("POST", web, "stop");
      expect(await reads(asks, web, "version")).toBe(false);
      await change("POST", web, "start");
      await untilReads(asks, web, "version 2");
      expect(await page(ports[0]!.host_port)).toContain("version 2");
    });

    test("apps on different networks do not reach each other, and no network is left", async () => {
      const [image, sleeper] = [await system().load(await webImage()), await system().load(await sleeperImage())];
      const back = await deploy("back", image, { networks: ["back"] });
      const front = await deploy("front", sleeper, { networks: ["front"] });
      const both = await deploy("both", sleeper, { networks: ["front", "back"] });
      const alone = await deploy("alone", sleeper, { network: "none" });
      await untilReads(both, back, "version 1");
      expect(await reads(front, back, "version")).toBe(false);
      expect(await reads(alone, back, "version")).toBe(false);
      for (const app of [back, front, both, alone]) await change("DELETE", app);
      const { body } = await engineRequest(system().engineSocket, "GET", "/networks");
      const own = (JSON.parse(body) as { Name: string; Labels?: Record<string, string> }[]).filter(({ Labels }) => {
        return Labels?.["io.edge-agent.state-dir"] === system().agent.stateDir;
      });
      expect(own.map(({ Name }) => Name)).not.toContainEqual(expect.stringMatching(/\.(?:back|front)$/));
    });

    test("an app whose container is on no network of the agent is found, and finds others, without a restart", async () => {
      const old = await deploy("old", await system().load(await webImage()));
      const asks = await deploy("asks", await system().load(await sleeperImage()));
      await system().agent.stop();
      const id = await recreateAsBefore(system().engineSocket, old);
      const before = await inspect(system().engineSocket, id);
      expect(await reads(asks, old, "version 1")).toBe(false);
      await system().agent.start();
      await untilReads(asks, old, "version 1");
      await untilReads(old, old, "version 1");
      expect((await inspect(system().engineSocket, id)).State).toEqual(before.State);
    });
  });
}

/** Whether an app gets a page of another one that contains the text. */
async function readsPage(socket: string, from: string, name: string, text: string): Promise<boolean> {
  const request = String.raw`printf 'GET / HTTP/1.0\r\n\r\n'`;
  const script = `${request} | /bin/busybox nc -w 2 ${name} ${WEB_PORT} | /bin/busybox grep -q '${text}'`;
  return (await execIn(socket, from, ["/bin/sh", "-c", script])) === 0;
}

interface Inspected {
  readonly Config: { readonly Image: string; readonly Labels: object; readonly Env: readonly string[] };
  readonly State: { readonly StartedAt: string; readonly Pid: number };
}

async function inspect(socket: string, container: string): Promise<Inspected> {
  const { State, Config } = JSON.parse(
    (await engineRequest(socket, "GET", `/containers/${container}/json`)).body,
  ) as Inspected;
  return { Config, State: { StartedAt: State.StartedAt, Pid: State.Pid } };
}

/** Replaces an app's container by one that is on no network of the agent, such as one that was recreated by hand. */
async function recreateAsBefore(socket: string, app: string): Promise<string> {
  const { Config } = await inspect(socket, app);
  await engineRequest(socket, "DELETE", `/containers/${app}?force=1`);
  const { status, body } = await engineRequest(socket, "POST", `/containers/create?name=${app}`, {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...Config, HostConfig: { RestartPolicy: { Name: "unless-stopped" } } }),
  });
  expect([status, body]).toEqual([201, expect.anything()]);
  const { Id } = JSON.parse(body) as { readonly Id: string };
  await engineRequest(socket, "POST", `/containers/${Id}/start`);
  return Id;
}

suite("Docker", noDocker, async () => ({ engine: { socketPath: docker! } }));
suite("Podman", await podmanUnavailableReason(), async (owned) => {
  const podman = owned.use(await startPodman());
  return { engine: podman, announceBridges: () => podman.announceBridges() };
});

const noEngine = await privateEngineUnavailableReason();

describe.skipIf(noEngine !== undefined)(
  `names after a power cut${noEngine === undefined ? "" : ` (skipped: ${noEngine})`}`,
  () => {
    let engine: PrivateEngine;
    const system = sharedSystem(async (owned) => {
      engine = owned.use(await PrivateEngine.start());
      return { engine };
    });

    test("lead to the same apps, without a network to the service", async () => {
      const [asks, web] = [system().name("asks"), system().name("web")];
      const image = await system().load(await sleeperImage());
      expect((await system().deploy({ name: asks, image })).final).toMatchObject({ status: "Success" });
      const spec = { name: web, image: await system().load(await webImage()), networks: ["a", "b"] };
      expect((await system().deploy(spec)).final).toMatchObject({ status: "Success" });
      expect(
        (await system().finish(await system().change("PATCH", asks, undefined, { networks: ["b"] }))).final,
      ).toMatchObject({
        status: "Success",
      });
      const resolves = () => resolvesHost(engine.socketPath, asks, web);
      await waitFor("the name to be found", resolves);
      await system().agent.stop();
      await engine.powerOff();
      system().link.sever();
      await engine.start();
      system().agent.launch();
      await waitFor("the name to be found again", resolves);
    });
  },
);
