import { expect, test, describe, afterAll, beforeAll } from "vitest";
import { type RemoteUser, remoteUser } from "../support/edgectl/remote-user.ts";
import { missingEngine, sharedExampleSystem } from "../support/examples/engine.ts";
import { Example } from "../support/examples/example.ts";
import { waitFor } from "../support/wait-for.ts";

/* The examples of one app whose configuration comes with it, as their READMEs say. */

describe.skipIf(missingEngine !== undefined)(
  `an example${missingEngine === undefined ? "" : ` (skipped: ${missingEngine})`}`,
  () => {
    const system = sharedExampleSystem();
    const owned = new AsyncDisposableStack();
    let user: RemoteUser;
    beforeAll(async () => {
      user = owned.use(await remoteUser(system(), ["apps.forward", "apps.exec"]));
    });
    afterAll(() => owned.disposeAsync());

    test("Mosquitto takes messages with the right password only, and keeps them", async () => {
      const example = await Example.open("mosquitto", system(), user);
      expect(await example.succeed("edgectl apply", "--yes")).toContain("App mosquitto is running.");
      await example.succeed("mosquitto_pub");
      const wrong = await example.run("mosquitto_pub", "-P", "guessed");
      expect(wrong).toMatchObject({ code: 5, stderr: expect.stringContaining("not authorised") as string });
      expect(await example.succeed("mosquitto_sub")).toBe("21.5\n");
      const { stderr: log } = await example.run("edgectl apps logs");
      expect(log).toMatch(/mosquitto version 2\.\S+ running/);
    });

    test("nginx serves the page that comes with it, and a mistake in its site file brings the old version back", async () => {
      const example = await Example.open("nginx", system(), user);
      await example.succeed("edgectl apply", "--yes");
      const served = await waitFor("the page", () => example.succeed(":30080/ "));
      expect(served).toContain("<h1>Pump house 7</h1>");
      expect(await example.succeed("/health")).toBe("in order\n");
      await example.derive("site.conf", "site.conf", "root /usr", "roott /usr");
      const failed = await example.run("edgectl apply", "--yes");
      expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('unknown directive "roott"') as string });
      expect(await example.succeed("/health")).toBe("in order\n");
    });

    test("Prometheus scrapes itself", async () => {
      const example = await Example.open("prometheus", system(), user);
      await example.succeed("edgectl apply", "--yes");
      await waitFor("the target", async () => (await example.succeed("/targets")).includes('"health":"up"'));
    });
  },
);
