import { describe, expect, onTestFinished, test } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { RestartPauses } from "../../../src/agent/engine/restart-pauses.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { plainRequest } from "../../contract/engine/harness.ts";
import type { ContainerState } from "../../../src/agent/engine/engine.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { crasherImage, loadImage, uniqueName } from "../../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { waitFor } from "../../support/wait-for.ts";

const unaborted = new AbortController().signal;
const skip = await podmanUnavailableReason();

describe.skipIf(skip !== undefined)(`Podman's restarts${skip === undefined ? "" : ` (skipped: ${skip})`}`, () => {
  test("an app that keeps ending has pauses between its runs, and is restarting in them", async () => {
    await using podman = await startPodman();
    await using image = await loadImage(podman.socketPath, await crasherImage(7), "loop");
    const inner = createDockerEngine({ socketPath: () => podman.socketPath, clock: systemClock });
    const stateDir = `/var/lib/${uniqueName("restarts")}`;
    // A pause lasts until the test lets time pass.
    const clock = new FakeClock();
    const options = { engine: inner, clock, logger: captureLogText().logger, stateDir };
    const pauses = new RestartPauses(options);
    const { engine } = pauses;
    const stopping = new AbortController();
    const running = pauses.run(stopping.signal);
    onTestFinished(() => stopping.abort());

    const labels = { [LABELS.stateDir]: stateDir, [LABELS.app]: "loop" };
    const id = await engine.createContainer(plainRequest(uniqueName("loop"), image.reference, { labels }), unaborted);
    await engine.startContainer(id, unaborted);
    const paused = async (): Promise<ContainerState | false> => {
      const state = await engine.inspectContainer(id, unaborted);
      const isDown = (await inner.inspectContainer(id, unaborted))?.status === "exited";
      if (state?.status === "restarting" && isDown) return state;
      // Podman has left it down: the agent looks again.
      if (state?.status === "exited") await clock.advance(2_000);
      return false;
    };
    const first = await waitFor("a pause", paused);
    expect(first).toMatchObject({ status: "restarting", exitCode: 7 });
    expect(await engine.readLastExit(id, unaborted)).toEqual({ exitCode: 7, oomKilled: false });
    const listed = (await engine.listContainers(unaborted)).find((container) => container.id === id);
    expect(listed).toMatchObject({ status: "restarting" });

    // It ends after its time, and the count goes on.
    await clock.advance(3_200);
    const second = await waitFor("the next pause", async () => {
      const state = await paused();
      return state && state.restartCount > first.restartCount && state;
    });
    expect(second.exitCode).toBe(7);
    // A stop ends it, and no pause begins the app again.
    await engine.stopContainer(id, 0, unaborted);
    await clock.advance(60_000);
    expect(await engine.inspectContainer(id, unaborted)).toMatchObject({ status: "exited" });

    await engine.startContainer(id, unaborted);
    await waitFor("a pause again", paused);
    // While the agent does not run, Podman restarts its apps alone.
    stopping.abort();
    await running;
    expect((await inner.inspectContainer(id, unaborted))?.status).not.toBe("exited");
    await engine.removeContainer(id, unaborted);
  });
});
