import { describe, expect, onTestFinished, test } from "vitest";
import { isSameImage } from "../../../src/agent/core/app/app-changes.ts";
import type { ContainerState } from "../../../src/agent/engine/engine.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";
import { create, expectKind, run, stateOf, unaborted, waitForState } from "./steps.ts";
import type { EngineHarness } from "./harness.ts";
import { IMAGE_LABELS, plainRequest } from "./harness.ts";

const hasRestartedTwice = ({ status, restartCount }: ContainerState) => status === "exited" && restartCount >= 2;

export function containerContract(harness: () => EngineHarness): void {
  describe("containers", () => {
    test("a created container is found by id and by name, stopped, with its labels", async () => {
      const { engine, images } = harness();
      const labels = { "io.example.app": "a", "io.example.text": "with = and\ttab" };
      const { id, name } = await create(harness(), images.sleeper, { labels });
      for (const key of [id, name]) {
        const state = await engine.inspectContainer(key, unaborted);
        expect(state).toMatchObject({ id, name, status: "created", restartCount: 0, oomKilled: false, health: "none" });
        expect(state?.labels).toMatchObject(labels);
      }
      const listed = (await engine.listContainers(unaborted)).find((container) => container.id === id);
      expect(listed).toMatchObject({ name, status: "created", hostPorts: [] });
      expect(listed?.labels).toMatchObject(labels);
    });

    test("a started container runs, and starting it again is no error", async () => {
      const { id } = await run(harness(), harness().images.sleeper);
      const { status, startedAt } = await stateOf(harness(), id);
      expect(status).toBe("running");
      expect(Date.parse(startedAt)).toBeGreaterThan(0);
      await harness().engine.startContainer(id, unaborted);
      expect((await stateOf(harness(), id)).startedAt).toBe(startedAt);
    });

    test("the usage of a running container is measured, and none of one that does not run", async () => {
      const { engine, images } = harness();
      const { id: stopped } = await create(harness(), images.sleeper);
      const { id } = await run(harness(), images.sleeper);
      const usage = await engine.containerUsage(id, unaborted);
      expect(usage !== undefined).toBe(await harness().countsUse(id));
      if (usage) {
        expect(usage.cpuNs).toBeGreaterThan(0);
        expect(usage.memoryLimitBytes).toBeGreaterThan(usage.memoryBytes);
      }
      expect(await engine.containerUsage(stopped, unaborted)).toBeUndefined();
      expect(await engine.containerUsage(uniqueName("nobody"), unaborted)).toBeUndefined();
    });

    test("the size of what a container changed is measured, running or not", async () => {
      const { engine, images } = harness();
      const { id: stopped } = await create(harness(), images.sleeper);
      const { id } = await run(harness(), images.sleeper);
      expect(await engine.writableBytes(id, unaborted)).toBeGreaterThanOrEqual(0);
      expect(await engine.writableBytes(stopped, unaborted)).toBeGreaterThanOrEqual(0);
      expect(await engine.writableBytes(uniqueName("nobody"), unaborted)).toBeUndefined();
    });

    test("a missing container is undefined to inspect, not_found to start, and no error to remove", async () => {
      const { engine } = harness();
      const name = uniqueName("nobody");
      expect(await engine.inspectContainer(name, unaborted)).toBeUndefined();
      expect(await engine.inspectImage(`localhost/${name}:1`, unaborted)).toBeUndefined();
      await expectKind(engine.startContainer(name, unaborted), "not_found");
      await expectKind(engine.tailLogs(name, 10, unaborted), "not_found");
      await engine.removeContainer(name, unaborted);
    });

    test("a prefix of an id is not a name", async () => {
      const { engine, images } = harness();
      const { id } = await create(harness(), images.sleeper);
      const beginning = id.slice(0, 12);
      expect(await engine.inspectContainer(beginning, unaborted)).toBeUndefined();
      await expectKind(engine.startContainer(beginning, unaborted), "not_found");
      await engine.removeContainer(beginning, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("created");
    });

    test("the config of a container is read without what the image and the engine added", async () => {
      const { engine, images } = harness();
      const directory = await tempDir();
      onTestFinished(() => directory[Symbol.asyncDispose]());
      const request = {
        environment: ["GREETING=hello = world", "EMPTY="],
        ports: [{ hostPort: await freeHostPort(), targetPort: 80 }],
        volumes: [
          { local: directory.path, target: "/data", readonly: true },
          { local: directory.path, target: "/more", readonly: false },
        ],
      };
      const { id } = await create(harness(), images.sleeper, request);
      const image = await engine.inspectImage(images.sleeper, unaborted);
      const containerConfig = await engine.readContainerConfig(id, unaborted);
      const listed = (await engine.listContainers(unaborted)).find((container) => container.id === id);
      expect(isSameImage(listed?.imageId ?? "", image!.id)).toBe(true);
      // Podman 4.3 gives variables in any order.
      expect(containerConfig && { ...containerConfig, environment: containerConfig.environment.toSorted() }).toEqual({
        ...request,
        environment: request.environment.toSorted(),
        image: expect.stringContaining(images.sleeper) as string,
        imageId: expect.stringContaining(image!.id.replace("sha256:", "")) as string,
        imageLabels: expect.not.objectContaining({ "io.example.app": expect.anything() as unknown }) as object,
        hostNetwork: false,
        privileged: false,
      });
      expect(await engine.readContainerConfig(uniqueName("nobody"), unaborted)).toBeUndefined();
    });

    test("values of the image are not taken for values of the request", async () => {
      const { engine, images } = harness();
      const labels = { "io.example.emptied": "", "io.example.own": "own" };
      const { id } = await create(harness(), images.laden, { labels, environment: ["GREETING=own"] });
      const containerConfig = await engine.readContainerConfig(id, unaborted);
      expect(containerConfig).toMatchObject({
        environment: ["GREETING=own"],
        ports: [],
        volumes: [],
        imageLabels: IMAGE_LABELS,
      });
      // A label that is given wins, also where it says nothing; one that is not given is the image's.
      const kept = { "io.example.kept": "of the image" };
      expect((await stateOf(harness(), id)).labels).toMatchObject({ ...kept, ...labels });
    });

    test("an image committed from a container has its labels, and they are reported as the image's", async () => {
      const { engine, images } = harness();
      const labels = { "io.example.app": "a" };
      const { id } = await create(harness(), images.sleeper, { labels });
      const { id: copy } = await create(harness(), await harness().commit(id));
      expect((await stateOf(harness(), copy)).labels).toMatchObject(labels);
      expect((await engine.readContainerConfig(copy, unaborted))?.imageLabels).toMatchObject(labels);
      expect((await engine.readContainerConfig(id, unaborted))?.imageLabels).not.toMatchObject(labels);
    });

    test("names that differ only in case are different", async () => {
      const { engine, images } = harness();
      const { id, name } = await create(harness(), images.sleeper);
      const { id: other } = await create(harness(), images.sleeper, { name: name.toUpperCase() });
      expect((await stateOf(harness(), name)).id).toBe(id);
      expect((await engine.inspectContainer(name.toUpperCase(), unaborted))?.id).toBe(other);
    });

    test("a name can be used only once", async () => {
      const { engine, images } = harness();
      const { name } = await create(harness(), images.sleeper);
      await expectKind(engine.createContainer(plainRequest(name, images.sleeper), unaborted), "conflict");
    });

    test("a container of a missing image is not created", async () => {
      const name = uniqueName("app");
      const request = plainRequest(name, `localhost/${name}:1`);
      await expectKind(harness().engine.createContainer(request, unaborted), "image_not_found");
      expect(await harness().engine.inspectContainer(name, unaborted)).toBeUndefined();
    });

    test("removing a running container stops it", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.sleeper);
      await engine.removeContainer(id, unaborted);
      expect(await engine.inspectContainer(id, unaborted)).toBeUndefined();
      expect((await engine.listContainers(unaborted)).map((container) => container.id)).not.toContain(id);
    });

    test("an app with restart policy no is not restarted", async () => {
      const { id } = await run(harness(), harness().images.crasher, { restartPolicy: "no" });
      const ended = await waitForState(harness(), id, "its end", ({ status }) => status === "exited");
      expect(ended).toMatchObject({ exitCode: 7, restartCount: 0 });
    });

    test("an app with restart policy on-failure is restarted after a failure", async () => {
      const { id } = await run(harness(), harness().images.crasher, { restartPolicy: "on-failure" });
      await waitForState(harness(), id, "a restart", ({ restartCount }) => restartCount >= 1);
    });

    test("an app with a limit of restarts stays down after them, and counts anew when it is started again", async () => {
      const options = { max_restarts: 2 };
      const { id } = await run(harness(), harness().images.crasher, { restartPolicy: "on-failure", options });
      const over = await waitForState(harness(), id, "the end of the last run", hasRestartedTwice);
      expect(over).toMatchObject({ exitCode: 7, restartCount: 2, maxRestarts: 2 });
      await harness().engine.startContainer(id, unaborted);
      const isAnew = ({ startedAt }: ContainerState) => startedAt !== over.startedAt;
      await waitForState(harness(), id, "another run", isAnew);
      const again = await waitForState(harness(), id, "the end of the last run of these", hasRestartedTwice);
      expect(again).toMatchObject({ exitCode: 7, restartCount: 2 });
    });

    test("a stopped container is not running, holds no port, and starts again where it was", async () => {
      const { engine, images } = harness();
      const ports = [{ hostPort: await freeHostPort(), targetPort: 80 }];
      const { id } = await run(harness(), images.sleeper, { ports });
      await engine.stopContainer(id, 0, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("exited");
      const listed = await engine.listContainers(unaborted);
      expect(listed.find((container) => container.id === id)).toMatchObject({ status: "exited", hostPorts: [] });
      await engine.stopContainer(id, 0, unaborted);
      await engine.startContainer(id, unaborted);
      expect(await stateOf(harness(), id)).toMatchObject({ id, status: "running" });
    });

    test("stopping a container that was never started or does not exist is no error", async () => {
      const { engine, images } = harness();
      const { id } = await create(harness(), images.sleeper);
      await engine.stopContainer(id, 1_000, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("created");
      await engine.stopContainer(uniqueName("nobody"), 1_000, unaborted);
    });

    test("an app that keeps exiting stays down after it is stopped, also between two runs", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "a first restart", ({ restartCount }) => restartCount >= 1);
      // Then Podman takes it for stopped.
      await waitForState(harness(), id, "the time between two runs", ({ status }) => status === "restarting");
      await engine.stopContainer(id, 0, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("exited");
    });

    test("an app between two runs is restarting, inspected and listed", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "restarting", ({ status }) => status === "restarting");
      await waitFor("restarting in the list", async () => {
        const all = await engine.listContainers(unaborted);
        return all.find((container) => container.id === id)?.status === "restarting";
      });
    });

    test("a container is renamed while it runs, and its old name is free", async () => {
      const { engine, images } = harness();
      const { id, name } = await run(harness(), images.sleeper);
      const other = uniqueName("renamed");
      await engine.renameContainer(id, other, unaborted);
      expect(await stateOf(harness(), id)).toMatchObject({ name: other, status: "running" });
      expect(await engine.inspectContainer(name, unaborted)).toBeUndefined();
      const { id: second } = await create(harness(), images.sleeper, { name });
      await expectKind(engine.renameContainer(second, other, unaborted), "conflict");
      await expectKind(engine.renameContainer(uniqueName("nobody"), uniqueName("app"), unaborted), "not_found");
    });

    test("a container between two runs is renamed, or refused as that and renamed once it is stopped", async () => {
      const { engine, images } = harness();
      const { id, name } = await run(harness(), images.crasher);
      // The pauses double: this one lasts.
      await waitForState(harness(), id, "a pause of a second or more", ({ status, restartCount }) => {
        return status === "restarting" && restartCount >= 4;
      });
      const other = uniqueName("renamed");
      const refusal: unknown = await engine.renameContainer(id, other, unaborted).catch((error: unknown) => error);
      if (refusal !== undefined) {
        await expectKind(Promise.reject(refusal), "between_runs");
        expect((await stateOf(harness(), id)).name).toBe(name);
      }
      await engine.stopContainer(id, 0, unaborted);
      if (refusal !== undefined) await engine.renameContainer(id, other, unaborted);
      expect(await stateOf(harness(), id)).toMatchObject({ name: other, status: "exited" });
    });

    test("an app that keeps exiting is restarted again and again", async () => {
      const { id } = await run(harness(), harness().images.crasher);
      const first = await waitForState(harness(), id, "a first restart", (state) => state.restartCount >= 1);
      // Docker counts a restart when the run before it has ended: until the next run starts, the count is higher and the
      // start is still the old one.
      const second = await waitForState(harness(), id, "the end of a further run", (state) => {
        const isFurtherRun = state.restartCount > first.restartCount && state.startedAt !== first.startedAt;
        return isFurtherRun && state.exitCode === 7 && state.status !== "created";
      });
      expect(Date.parse(second.startedAt)).toBeGreaterThan(Date.parse(first.startedAt));
      expect(["restarting", "running", "exited"]).toContain(second.status);
    });

    test("while a restarted app runs, the end of the run before is known from the engine's history only", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.lateCrasher);
      expect(await engine.readLastExit(id, unaborted)).toBeUndefined();
      const again = await waitForState(harness(), id, "a further run", ({ status, restartCount }) => {
        return status === "running" && restartCount >= 1;
      });
      expect(again.exitCode).toBe(0);
      expect(await engine.readLastExit(id, unaborted)).toEqual({ exitCode: 7, oomKilled: false });
      await engine.stopContainer(id, 0, unaborted);
      const { exitCode, oomKilled } = await stateOf(harness(), id);
      expect(await engine.readLastExit(id, unaborted)).toEqual({ exitCode, oomKilled });
    });

    test("a container that has not run, or does not exist, has no last exit", async () => {
      const { engine, images } = harness();
      const { id } = await create(harness(), images.sleeper);
      expect(await engine.readLastExit(id, unaborted)).toBeUndefined();
      expect(await engine.readLastExit(uniqueName("nobody"), unaborted)).toBeUndefined();
    });
  });

  describe("ports", () => {
    test("published ports are listed while the container runs", async () => {
      const { engine, images } = harness();
      const [first, second] = [await freeHostPort(), await freeHostPort()];
      const ports = [
        { hostPort: first, targetPort: 80 },
        { hostPort: second, targetPort: 80 },
      ];
      const { id } = await create(harness(), images.sleeper, { ports });
      const listed = async (): Promise<readonly number[] | undefined> => {
        const all = await engine.listContainers(unaborted);
        return all
          .find((container) => container.id === id)
          ?.hostPorts.map(({ port }) => port)
          .toSorted((a, b) => a - b);
      };
      expect(await listed()).toEqual([]);
      await engine.startContainer(id, unaborted);
      expect(await listed()).toEqual([first, second].toSorted((a, b) => a - b));
    });

    test("a TCP and a UDP port of the same number are different", async () => {
      const { engine, images } = harness();
      const hostPort = await freeHostPort();
      const tcp = { hostPort, targetPort: 53 };
      const udp = { ...tcp, protocol: "udp" as const };
      const { id } = await run(harness(), images.sleeper, { ports: [tcp] });
      const other = await run(harness(), images.sleeper, { ports: [udp] });
      const listed = await engine.listContainers(unaborted);
      const portsOf = (id: string) => listed.find((container) => container.id === id)?.hostPorts;
      expect(portsOf(id)).toEqual([{ port: hostPort, protocol: "tcp" }]);
      expect(portsOf(other.id)).toEqual([{ port: hostPort, protocol: "udp" }]);
      expect((await engine.readContainerConfig(other.id, unaborted))?.ports).toEqual([udp]);
      const third = await create(harness(), images.sleeper, { ports: [udp] });
      await expectKind(engine.startContainer(third.id, unaborted), "port_in_use");
    });

    test("on the host's network none are published", async () => {
      const { engine, images } = harness();
      const ports = [{ hostPort: await freeHostPort(), targetPort: 80 }];
      const { id } = await run(harness(), images.sleeper, { ports, hostNetwork: true });
      const listed = await engine.listContainers(unaborted);
      expect(listed.find((container) => container.id === id)).toMatchObject({ status: "running", hostPorts: [] });
    });

    test("a port another container holds is in use until that one is removed", async () => {
      const { engine, images } = harness();
      const ports = [{ hostPort: await freeHostPort(), targetPort: 80 }];
      const holder = await run(harness(), images.sleeper, { ports });
      const { id } = await create(harness(), images.sleeper, { ports });
      await expectKind(engine.startContainer(id, unaborted), "port_in_use");
      expect((await stateOf(harness(), id)).status).not.toBe("running");
      await engine.removeContainer(holder.id, unaborted);
      await engine.startContainer(id, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("running");
    });

    test("a port another process holds is in use", async () => {
      const port = await freeHostPort();
      const held = await harness().occupyPort(port);
      onTestFinished(() => held[Symbol.asyncDispose]());
      const ports = [{ hostPort: port, targetPort: 80 }];
      const { id } = await create(harness(), harness().images.sleeper, { ports });
      await expectKind(harness().engine.startContainer(id, unaborted), "port_in_use");
    });
  });
}
