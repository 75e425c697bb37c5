import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContainerAccess, ContainerAddress } from "../../../src/agent/engine/container-access.ts";
import { createContainerAccess } from "../../../src/agent/engine/docker/container-access.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { ContainerRequest, Engine } from "../../../src/agent/engine/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { succeed } from "../../support/command.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { engineRequest, loadImage, uniqueName, webImage, WEB_PORT } from "../../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { createBridge } from "../../support/private-engine/bridge.ts";
import { rootlessPodmanUnavailableReason, startRootlessPodman } from "../../support/rootless-podman.ts";
import { waitFor } from "../../support/wait-for.ts";
import { plainRequest } from "./harness.ts";
import { unaborted } from "./steps.ts";

interface RunningEngine extends AsyncDisposable {
  readonly socketPath: string;
}

/** Where a port of a container is reached, and what is never reached in its place. */
function addressContract(name: string, start: () => Promise<RunningEngine>, skip?: string): void {
  describe.skipIf(skip !== undefined)(`addresses: ${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`, () => {
    const owned = new AsyncDisposableStack();
    const network = uniqueName("net");
    let engine: Engine;
    let access: ContainerAccess;
    let image = "";
    let socketPath = "";
    let isRootless = false;

    beforeAll(async () => {
      ({ socketPath } = owned.use(await start()));
      engine = createDockerEngine({ socketPath: () => socketPath, clock: systemClock });
      ({ isRootless } = await engine.info(unaborted));
      access = createContainerAccess({ socketPath: () => socketPath, clock: systemClock });
      image = owned.use(await loadImage(socketPath, await webImage(), "addresses")).reference;
      // As apps are. Podmans of one machine share the bridge of their default networks.
      await engine.networks.create({ name: network, labels: {} }, unaborted);
      owned.defer(() => engine.networks.remove(network, unaborted));
    });
    afterAll(() => owned.disposeAsync());

    async function run(
      changes: Partial<ContainerRequest> = {},
    ): Promise<{ readonly id: string; readonly port: number }> {
      const port = await freeHostPort();
      const ports = [{ hostPort: port, targetPort: WEB_PORT }];
      const request = { ports, network: { name: network, aliases: [] }, ...changes };
      const id = await engine.createContainer(plainRequest(uniqueName("web"), image, request), unaborted);
      owned.defer(() => engine.removeContainer(id, unaborted));
      await engine.startContainer(id, unaborted);
      return { id, port };
    }

    test("the app answers at the best address of its port, and has none when it is stopped", async () => {
      const { id } = await run();
      const [address] = await access.addressesOf(id, WEB_PORT, unaborted);
      expect(address?.isOwn).toBe(!isRootless);
      await waitFor("the app's page", async () => expect(await pageAt(address!)).toContain("test app"));
      await engine.stopContainer(id, 0, unaborted);
      expect(await access.addressesOf(id, WEB_PORT, unaborted)).toEqual([]);
    });

    test("an app on the device's network has the device's ports", async () => {
      const { id } = await run({ hostNetwork: true, environment: [`PORT=${await freeHostPort()}`] });
      expect(await access.addressesOf(id, 80, unaborted)).toEqual([{ host: "127.0.0.1", port: 80, isOwn: true }]);
    });

    test("no address leads to another machine that has the container's own", async () => {
      const { id, port } = await run();
      const { body } = await engineRequest(socketPath, "GET", `/containers/${id}/json`);
      const { NetworkSettings: settings } = JSON.parse(body) as { NetworkSettings: { Networks: Networks } };
      const { IPAddress: own = "" } = settings.Networks[network] ?? {};
      await using _other = await (isRootless ? otherMachineAt(own) : routeElsewhere(own));
      const addresses = await access.addressesOf(id, WEB_PORT, unaborted);
      expect(addresses).toEqual([{ host: "127.0.0.1", port, isOwn: false }]);
      // The other engines send what they publish by the same route, which leads to nothing here.
      if (isRootless) expect(await pageAt(addresses[0]!)).toContain("test app");
    });
  });
}

type Networks = Readonly<Record<string, { readonly IPAddress?: string }>>;

async function pageAt({ host, port }: ContainerAddress): Promise<string> {
  return await (await fetch(`http://${host}:${port}/`)).text();
}

/** Something that is no container answers at an address, which this machine has until it is disposed. */
async function otherMachineAt(address: string): Promise<AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  await succeed("ip", ["address", "add", `${address}/32`, "dev", "lo"]);
  undo.defer(async () => void (await succeed("ip", ["address", "delete", `${address}/32`, "dev", "lo"])));
  const server = createServer((_request, response) => response.end("I am another machine"));
  await new Promise<void>((resolve) => server.listen(WEB_PORT, address, resolve));
  undo.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return undo.move();
}

/** Packets to an address go to another network, as with one of the site that has part of the engine's addresses. */
async function routeElsewhere(address: string): Promise<AsyncDisposable> {
  const bridge = await createBridge();
  await succeed("ip", ["route", "add", `${address}/32`, "dev", bridge.name]);
  return bridge;
}

const socketPath = await dockerSocket();
const shared = { socketPath: socketPath ?? "", [Symbol.asyncDispose]: async () => undefined };
const missing = socketPath === undefined ? "no Docker engine answers on this machine" : undefined;

addressContract("Docker", async () => shared, missing);
addressContract("Podman", startPodman, await podmanUnavailableReason());
addressContract("rootless Podman", startRootlessPodman, await rootlessPodmanUnavailableReason());
