import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freeHostPort } from "../support/free-port.ts";
import { crasherImage, ownUserImage, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { Registry } from "../support/registry.ts";
import { page } from "../support/system/app-page.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const ports = async () => [{ host_port: await freeHostPort(), target_port: WEB_PORT }] as const;
const missing = await podmanUnavailableReason();

describe.skipIf(missing !== undefined)(
  `Podman as engine${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const system = sharedSystem(async (owned) => ({ engine: owned.use(await startPodman()) }));

    test("pulls and runs an app, whose port and name are refused to others", async () => {
      await using registry = await Registry.start();
      const image = await registry.push(await webImage(), "team/web:1");
      const app = {
        name: system().name(),
        image,
        environments: [{ key: "GREETING", value: "from podman" }],
        ports: [...(await ports())],
      };
      const { final, deploymentId } = await system().deploy(app);
      expect(final.status).toBe("Success");
      expect(await page(app.ports[0]?.host_port ?? 0)).toContain("from podman");
      const { Config, HostConfig } = await system().inspect(deploymentId);
      expect(Config.Labels).toMatchObject({ "io.edge-agent.app": app.name, "io.edge-agent.deployment": deploymentId });
      expect(HostConfig).toMatchObject({ RestartPolicy: { Name: "unless-stopped" } });
      const event = await expectFailure(system(), { ...app, name: system().name() }, "ErrorPortInUse");
      expect(event.details).toMatchObject({ holder: { kind: "app", name: app.name } });
      await expectFailure(system(), { name: app.name, image }, "AppExists");
    });

    test("removes an app that crashes, and its name and port are free again", async () => {
      const app = { name: system().name(), ports: [...(await ports())] };
      const crasher = await system().load(await crasherImage(7));
      const event = await expectFailure(system(), { ...app, image: crasher }, "CrashLoopBackOff");
      expect(event.details).toMatchObject({ exit_code: 7 });
      expect(event.details?.["logs"]).toEqual(expect.arrayContaining(["starting", "cannot go on"]));
      const image = await system().load(await sleeperImage());
      expect((await system().deploy({ ...app, image })).final.status).toBe("Success");
    });

    test("reports the exit code of an app that is restarted at once", async () => {
      const image = await system().load(await crasherImage(3, 0.3));
      const event = await expectFailure(system(), { name: system().name(), image }, "CrashLoopBackOff");
      expect(event.details).toMatchObject({ exit_code: 3 });
    });

    test("names a directory that cannot be created: InvalidRequest", async () => {
      const volumes = [{ local: "/proc/no/such", target: "/data" }];
      const app = { name: system().name(), image: await system().load(await sleeperImage()), volumes };
      expect((await expectFailure(system(), app, "InvalidRequest")).message).toContain("/proc/no/such");
    });

    test("makes a missing directory for the app's user, and none in place of a missing file", async () => {
      const image = await system().load(await ownUserImage());
      const [data, conf] = [join(system().directory, "new/data"), join(system().directory, "app.conf")];
      const app = { name: system().name(), image, volumes: [{ local: data, target: "/data" }] };
      expect((await system().deploy(app)).final).toMatchObject({ status: "Success" });
      expect(readFileSync(join(data, "flows.json"), "utf8")).toBe("flows\n");
      expect(statSync(data)).toMatchObject({ uid: 1000, gid: 1000 });
      const volumes = [{ local: conf, target: "/conf/app.conf" }];
      const failed = await expectFailure(system(), { name: system().name(), image, volumes }, "InvalidRequest");
      expect(failed.message).toContain(`${conf} does not exist on the device`);
      expect(existsSync(conf)).toBe(false);
    });

    test("reports a missing image", async () => {
      await using registry = await Registry.start();
      const request = { name: system().name(), image: `${registry.host}/team/missing:1` };
      const event = await expectFailure(system(), request, "ImagePullBackOff");
      expect(event.details).toMatchObject({ reason: "image_not_found" });
    });
  },
);
