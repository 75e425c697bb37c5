import { describe, expect, onTestFinished, test } from "vitest";
import type { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { waitFor } from "../../support/wait-for.ts";
import { create, expectKind, run, stateOf, unaborted } from "./steps.ts";
import type { EngineHarness } from "./harness.ts";

/** Networks of one engine of this machine at a time. */
const LABELS = { "io.edge-agent.state-dir": `/nowhere/${uniqueName("networks")}`, "io.edge-agent.network": "" };
const LABEL = `io.edge-agent.state-dir=${LABELS["io.edge-agent.state-dir"]}`;

const on = (name: string, alias: string) => ({ network: { name, aliases: [alias] } });

export function networkContract(harness: () => EngineHarness): void {
  async function network(label = "network"): Promise<string> {
    const name = uniqueName(label);
    const { networks } = harness().engine;
    onTestFinished(() => networks.remove(name, unaborted));
    await networks.create({ name, labels: LABELS }, unaborted);
    return name;
  }

  async function networksOf(id: string): Promise<readonly string[] | undefined> {
    const listed = await harness().engine.listContainers(unaborted);
    return listed.find((container) => container.id === id)?.networks?.toSorted();
  }

  describe("networks", () => {
    test("a network is made once, found by its name and its label, and removed", async () => {
      const { networks } = harness().engine;
      const name = await network();
      expect(await networks.inspect(name, unaborted)).toMatchObject({ name, labels: LABELS, resolvesNames: true });
      expect(await networks.list(LABEL, unaborted)).toContainEqual({ name, labels: LABELS });
      expect(await networks.list(`${LABEL}/other`, unaborted)).toEqual([]);
      await expectKind(networks.create({ name, labels: {} }, unaborted), "conflict");
      await networks.remove(name, unaborted);
      await networks.remove(name, unaborted);
      expect(await networks.inspect(name, unaborted)).toBeUndefined();
      expect(await networks.list(LABEL, unaborted)).not.toContainEqual({ name, labels: LABELS });
    });

    test("a subnet that is in use is refused", async () => {
      const { networks } = harness().engine;
      const subnet = await harness().freeSubnet();
      const [first, second] = [uniqueName("network"), uniqueName("network")];
      for (const name of [first, second]) onTestFinished(() => networks.remove(name, unaborted));
      await networks.create({ name: first, labels: LABELS, subnet }, unaborted);
      await expectKind(networks.create({ name: second, labels: LABELS, subnet }, unaborted), "no_addresses");
      expect(await networks.inspect(second, unaborted)).toBeUndefined();
    });

    test("containers of a network find each other by their aliases, others do not", async () => {
      const { engine, images, finds } = harness();
      const [name, elsewhere] = [await network(), await network("elsewhere")];
      const asks = await run(harness(), images.sleeper, on(name, "asks"));
      const answers = await run(harness(), images.sleeper, on(name, "Answers.by_name"));
      await run(harness(), images.sleeper, on(elsewhere, "apart"));
      await waitFor("the name to be found", () => finds(asks.id, "Answers.by_name"));
      expect(await finds(answers.id, "asks")).toBe(true);
      expect(await finds(asks.id, "apart")).toBe(false);
      expect(await networksOf(asks.id)).toEqual([name]);
      // Under the alias, whatever the container is called meanwhile.
      await engine.renameContainer(answers.id, uniqueName("renamed"), unaborted);
      expect(await finds(asks.id, "Answers.by_name")).toBe(true);
      await engine.stopContainer(answers.id, 0, unaborted);
      expect(await finds(asks.id, "Answers.by_name")).toBe(false);
    });

    test("of two containers with one alias, the one that runs is found", async () => {
      const { engine, images, finds } = harness();
      const name = await network();
      const asks = await run(harness(), images.sleeper, on(name, "asks"));
      const old = await run(harness(), images.sleeper, on(name, "app"));
      const fresh = await create(harness(), images.sleeper, on(name, "app"));
      await waitFor("the old one to be found", () => finds(asks.id, "app"));
      await engine.stopContainer(old.id, 0, unaborted);
      expect(await finds(asks.id, "app")).toBe(false);
      await engine.startContainer(fresh.id, unaborted);
      await waitFor("the new one to be found", () => finds(asks.id, "app"));
    });

    test("a container joins further networks before its start and while it runs, any number of times", async () => {
      const { engine, images, finds } = harness();
      const [first, second] = [await network("first"), await network("second")];
      const app = await create(harness(), images.sleeper, on(first, "app"));
      const join = () => engine.networks.connect(second, { containerId: app.id, aliases: ["app"] }, unaborted);
      await join();
      await join();
      await engine.startContainer(app.id, unaborted);
      await join();
      expect(await networksOf(app.id)).toEqual([first, second].toSorted());
      for (const name of [first, second]) {
        const neighbour = await run(harness(), images.sleeper, on(name, `neighbour-${name}`));
        await waitFor("the app to be found", () => finds(neighbour.id, "app"));
        await waitFor("its neighbour to be found", () => finds(app.id, `neighbour-${name}`));
      }
      await engine.networks.disconnect(second, app.id, unaborted);
      await engine.networks.disconnect(second, app.id, unaborted);
      expect(await networksOf(app.id)).toEqual([first]);
    });

    test("a container has the network of another one, and runs on without when that ends", async () => {
      const { engine, images, finds } = harness();
      const name = await network();
      const owner = await run(harness(), images.sleeper, on(name, "owner"));
      await run(harness(), images.sleeper, on(name, "other"));
      const follower = await run(harness(), images.sleeper, { network: { container: owner.id } });
      await waitFor("the name to be found", () => finds(follower.id, "other"));
      // An update of its app replaces the container. Podman keeps the old one as long as the other one has its network.
      await engine.stopContainer(owner.id, 0, unaborted);
      const refusal: unknown = await engine.removeContainer(owner.id, unaborted).catch((error: unknown) => error);
      expect(refusal === undefined || (refusal as EngineError).kind === "not_removable").toBe(true);
      expect((await stateOf(harness(), follower.id)).status).toBe("running");
      await engine.removeContainer(follower.id, unaborted);
      await engine.removeContainer(owner.id, unaborted);
      expect(await engine.inspectContainer(owner.id, unaborted)).toBeUndefined();
    });

    test("a container that was made without a network joins one while it runs, without a restart", async () => {
      const { engine, images, finds } = harness();
      const name = await network();
      const old = await run(harness(), images.sleeper);
      const before = await engine.inspectContainer(old.id, unaborted);
      const app = await run(harness(), images.sleeper, on(name, "app"));
      expect(await networksOf(old.id)).toHaveLength(1);
      await engine.networks.connect(name, { containerId: old.id, aliases: ["old"] }, unaborted);
      await waitFor("the old one to be found", () => finds(app.id, "old"));
      await waitFor("the other to be found", () => finds(old.id, "app"));
      expect(await networksOf(old.id)).toContain(name);
      expect((await engine.inspectContainer(old.id, unaborted))?.startedAt).toBe(before?.startedAt);
    });

    test("a container without a network, or on the host's, can join none", async () => {
      const { engine, images } = harness();
      const name = await network();
      for (const changes of [{ network: "none" as const }, { hostNetwork: true }]) {
        const { id } = await run(harness(), images.sleeper, changes);
        expect(await networksOf(id)).toBeUndefined();
        await expectKind(engine.networks.connect(name, { containerId: id, aliases: ["app"] }, unaborted), "invalid");
      }
    });

    test("a network that a running container is on is not removed", async () => {
      const { engine, images } = harness();
      const name = await network();
      const { id } = await run(harness(), images.sleeper, on(name, "app"));
      await expectKind(engine.networks.remove(name, unaborted), "conflict");
      await engine.removeContainer(id, unaborted);
      await engine.networks.remove(name, unaborted);
    });

    test("a container whose network was removed and made anew starts once it has joined the new one", async () => {
      const { engine, images, finds, removeNetwork } = harness();
      const name = await network();
      const app = await create(harness(), images.sleeper, on(name, "app"));
      await removeNetwork(name);
      await expectKind(engine.startContainer(app.id, unaborted), "network_missing");
      const other = await run(harness(), images.sleeper);
      const joined = engine.networks.connect(name, { containerId: other.id, aliases: ["app"] }, unaborted);
      await expectKind(joined, "network_missing");
      await engine.networks.disconnect(name, app.id, unaborted);
      await engine.networks.create({ name, labels: LABELS }, unaborted);
      await engine.networks.disconnect(name, app.id, unaborted);
      await engine.networks.connect(name, { containerId: app.id, aliases: ["app"] }, unaborted);
      await engine.startContainer(app.id, unaborted);
      const asks = await run(harness(), images.sleeper, on(name, "asks"));
      await waitFor("the app to be found", () => finds(asks.id, "app"));
    });
  });
}
