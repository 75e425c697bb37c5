import { GenericContainer } from "testcontainers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { loadImage, uniqueName, webImage } from "../../support/images.ts";

const socketPath = await dockerSocket();
const unaborted = new AbortController().signal;

describe.skipIf(socketPath === undefined)(
  `a container somebody else started ${socketPath === undefined ? " (skipped: no Docker engine)" : ""}`,
  () => {
    const engine = createDockerEngine({ socketPath: () => socketPath!, clock: systemClock });
    let image: Awaited<ReturnType<typeof loadImage>>;
    beforeAll(async () => {
      image = await loadImage(socketPath!, await webImage(), "foreign");
    });
    afterAll(() => image[Symbol.asyncDispose]());

    it("shows with its name and ports, and without the agent's labels", async () => {
      const name = uniqueName("foreign");
      const port = await freeHostPort();
      const container = await new GenericContainer(image.reference)
        .withName(name)
        .withExposedPorts({ container: 8080, host: port })
        .start();
      try {
        const listed = (await engine.listContainers(unaborted)).find((entry) => entry.name === name);
        expect(listed).toMatchObject({ status: "running", hostPorts: [{ port, protocol: "tcp" }] });
        expect(Object.keys(listed?.labels ?? {}).filter((label) => label.startsWith("io.edge-agent."))).toEqual([]);
      } finally {
        await container.stop();
      }
    });
  },
);
