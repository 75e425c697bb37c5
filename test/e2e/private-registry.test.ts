import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, foreignImage, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { engineRequest } from "../support/images/load-image.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";
import { CertificateAuthority } from "../support/link/certificates.ts";
import { outsideAddress, RegistryProxy } from "../support/registry/registry-proxy.ts";
import { smallDisk, smallDiskUnavailableReason } from "../support/small-disk.ts";
import { page } from "../support/system/app-page.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import type { System } from "../support/system.ts";

const MB = 1_000_000;
const USER = { name: "user", password: "registry-Pa55word-planted" };
const AUTH = { username: USER.name, password: USER.password };

const owned = new AsyncDisposableStack();
let open: Registry;
let closed: Registry;
beforeAll(async () => {
  open = owned.use(await Registry.start());
  closed = owned.use(await Registry.start({ user: USER }));
});
afterAll(() => owned.disposeAsync());

async function hasImage(system: System, reference: string): Promise<boolean> {
  return (await engineRequest(system.engineSocket, "GET", `/images/${reference}/json`)).status === 200;
}

const noPodman = await podmanUnavailableReason();
const engines = [
  ["Docker", undefined],
  ["Podman", noPodman],
] as const;

describe.each(engines)("a private registry, with %s", (name, missing) => {
  describe.skipIf(missing !== undefined)(missing ?? "that is there", () => {
    const system = sharedSystem(async (stack) => {
      return name === "Podman" ? { engine: stack.use(await startPodman()) } : {};
    });

    test("accepts the credentials of the device's configuration, also with a password file", async () => {
      const image = system().removeImageLater(await closed.push(await webImage(name), "team/web:1"));
      const app = { name: system().name(), image, ports: [{ host_port: await freeHostPort(), target_port: WEB_PORT }] };
      const event = await expectFailure(system(), app, "ImagePullBackOff");
      expect(event).toMatchObject({ details: { reason: "image_denied" } });
      expect(event.message).toContain("wants a user name and a password, and none are known for it");

      const file = join(system().directory, "password");
      await writeFile(file, `${USER.password}\n`, { mode: 0o600 });
      const entry = { host: closed.host, username: USER.name, password_file: file };
      await system().agent.restart({ registries: [entry] });
      await system().untilOnline();
      const { final, events } = await system().deploy(app);
      expect(final.status).toBe("Success");
      expect(await page(app.ports[0]?.host_port ?? 0)).toContain("edge-agent test app");
      const costEvent = events.find(({ details }) => details?.["download_bytes"] !== undefined);
      expect(costEvent).toMatchObject({
        status: "Running",
        step: "pulling",
        details: { layers: 2, layers_present: 0 },
      });
      await system().agent.restart({});
      await system().untilOnline();
    });

    test("accepts the credentials of the deployment, whose password is neither stored nor logged", async () => {
      const image = system().removeImageLater(await closed.push(await sleeperImage(`auth ${name}`), "team/sleeper:1"));
      const app = { name: system().name(), image };
      const wrong = { ...AUTH, password: "another-Pa55word-planted" };
      const event = await expectFailure(system(), { ...app, registry_auth: wrong }, "ImagePullBackOff");
      expect(event.message).toBe(
        `The registry denies access to the image: ${closed.host} refuses the user name or password it was shown (HTTP 401)`,
      );
      const stream = await system().open({ ...app, registry_auth: AUTH });
      const { final, deploymentId } = await system().finish(stream);
      expect(final.status).toBe("Success");
      const record = JSON.stringify(await system().record(deploymentId));
      const written = [stream.text, record, system().agent.output(), system().control.output()];
      const { dataDir } = system().control;
      for (const entry of await readdir(dataDir, { withFileTypes: true })) {
        if (entry.isFile()) written.push(await readFile(join(dataDir, entry.name), "latin1"));
      }
      for (const password of [USER.password, wrong.password]) {
        const holders = written.filter((text) => text.includes(password));
        expect(holders.map((text) => text.slice(0, 60))).toEqual([]);
      }
    });
  });
});

describe("a remote registry with a private certificate authority and a token server", () => {
  const system = sharedSystem();

  test("is trusted by the agent alone, which passes the image to the engine", async () => {
    const authority = await CertificateAuthority.create(system().directory, "registry-ca");
    const tls = await authority.issue(`IP:${outsideAddress()}`);
    await using front = await RegistryProxy.start({ upstream: open.host, tls, tokens: { user: USER } });
    const image = (await open.push(await sleeperImage("ca"), "team/ca:1")).replace(open.host, front.outsideHost);
    const app = { name: system().name(), image: system().removeImageLater(image), registry_auth: AUTH };
    const untrusted = await expectFailure(system(), app, "ImagePullBackOff");
    expect(untrusted.message).toMatch(/^The connection to the registry cannot be trusted: .*(?:authority|certificate)/);
    expect(untrusted.details).toMatchObject({
      reason: "registry_untrusted",
      next: expect.stringContaining("`ca_file`") as string,
    });
    expect(untrusted.details?.["engine_error"]).toEqual(expect.any(String));

    const caFile = join(system().directory, "registry-ca.pem");
    await writeFile(caFile, authority.cert);
    await system().agent.restart({ registries: [{ host: front.outsideHost, ca_file: caFile }] });
    await system().untilOnline();
    // The engine does not trust the registry, which is not what is missing.
    const { registry_auth: _forgotten, ...anonymous } = app;
    const { events, final } = await system().deploy(anonymous);
    expect(final).toMatchObject({
      code: "ImagePullBackOff",
      message: `The registry denies access to the image: ${front.outsideHost} wants credentials, and none are known for it (HTTP 401)`,
      details: { reason: "image_denied", next: expect.stringContaining("`registry_auth`") as string },
    });
    expect(final.details?.["engine_error"]).toMatch(/certificate|x509/);
    expect(events.filter(({ message }) => message.includes("attempt"))).toEqual([]);
    expect((await system().deploy(app)).final.status).toBe("Success");
    expect(front.requests.some(({ path }) => path.startsWith("/token"))).toBe(true);
    const pinned = { ...app, name: system().name(), image: `${app.image}@${await open.digest("team/ca:1")}` };
    expect((await system().deploy(pinned)).final.status).toBe("Success");
  });
});

describe("before the first byte of a layer", () => {
  const system = sharedSystem();
  let front: RegistryProxy;
  beforeAll(async () => {
    front = owned.use(await RegistryProxy.start({ upstream: open.host }));
  });

  function requestedLayers(digests: readonly string[]): string[] {
    const paths = front.requests.filter(({ method }) => method === "GET").map(({ path }) => path);
    return digests.filter((digest) => paths.some((path) => path.endsWith(`/blobs/${digest}`)));
  }

  test("an image for other platforms is refused with their names", async () => {
    const image = await foreignImage();
    const reference = (await open.push(image, "team/foreign:1")).replace(open.host, front.host);
    const event = await expectFailure(system(), { name: system().name(), image: reference }, "ImagePullBackOff");
    expect(event).toMatchObject({ step: "pulling", details: { reason: "wrong_platform" } });
    expect(event.message).toMatch(
      /^The image is not built for this device: this device is linux\/\w+, and the image is/,
    );
    expect(requestedLayers(image.layers.map(({ digest }) => digest))).toEqual([]);
  });

  test("an image that is too large or too expensive is refused with the numbers", async () => {
    const image = await bigImage(3);
    const reference = (await open.push(image, "team/big:1")).replace(open.host, front.host);
    const app = { name: system().name(), image: reference };
    const asked = await expectFailure(system(), { ...app, max_download_bytes: MB }, "DataBudgetExceeded");
    expect(asked.details).toMatchObject({ max_download_bytes: MB, limit_of: "request", layers: 3 });
    expect(asked.details?.["download_bytes"]).toBeGreaterThan(3 * MB);
    await system().agent.restart({ deploy: { max_download_bytes: 2 * MB } });
    const own = await expectFailure(system(), app, "DataBudgetExceeded");
    expect(own.details).toMatchObject({ max_download_bytes: 2 * MB, limit_of: "device" });
    await system().agent.restart({ policy: { max_image_bytes: 2 * MB } });
    const event = await expectFailure(system(), app, "PolicyDenied");
    expect(event.details).toMatchObject({ rule: "policy.max_image_bytes", max_image_bytes: 2 * MB });
    expect(requestedLayers(image.layers.map(({ digest }) => digest))).toEqual([]);
    await system().agent.restart({});
  });

  test("a dry run reports the cost and changes nothing", async () => {
    const image = await bigImage(2);
    const reference = (await open.push(image, "team/dry:1")).replace(open.host, front.host);
    const app = { name: system().name(), image: reference };
    const stream = await system().open(app, { query: "?dry_run=true" });
    const { final, deploymentId } = await system().finish(stream);
    const bytes = image.layers.reduce((sum, { compressed }) => sum + compressed.length, 0);
    expect(final).toMatchObject({
      status: "Success",
      step: "done",
      message: expect.stringMatching(
        /^Nothing was changed\. Deploying app \S+ would cost: [\d.]+ MB to download/,
      ) as string,
      details: { dry_run: true, download_bytes: bytes, layers: 3, layers_present: 0 },
    });
    expect(await system().containersOf(deploymentId)).toEqual([]);
    expect(await hasImage(system(), reference)).toBe(false);
    expect(requestedLayers(image.layers.map(({ digest }) => digest))).toEqual([]);
    // Layers on the device cost nothing again.
    expect((await system().deploy(app)).final.status).toBe("Success");
    system().removeImageLater(reference);
    const other = await system().finish(
      await system().open({ ...app, name: system().name() }, { query: "?dry_run=true" }),
    );
    expect(other.final.details).toMatchObject({ dry_run: true, download_bytes: 0 });
  });
});

const noDisk = (await smallDiskUnavailableReason()) ?? (await privateEngineUnavailableReason());

describe.skipIf(noDisk !== undefined)(`an image larger than the disk${noDisk ?? ""}`, () => {
  const system = sharedSystem(async (stack) => {
    const disk = stack.use(await smallDisk(60));
    return {
      engine: stack.use(await PrivateEngine.start({ dataRoot: disk.path })),
      agentConfig: { deploy: { disk_reserve_bytes: 5 * MB } },
    };
  });

  test("is refused by its manifest: InsufficientDisk, with the numbers", async () => {
    const image = await bigImage(30);
    const reference = await open.push(image, "team/too-big:1");
    const event = await expectFailure(system(), { name: system().name(), image: reference }, "InsufficientDisk");
    expect(event).toMatchObject({ step: "pulling", details: { reserve_bytes: 5 * MB, layers: 3 } });
    expect(event.message).toMatch(/^The image needs about [\d.]+ MB of disk space/);
    expect(event.details?.["needed_bytes"]).toBeGreaterThan(Number(event.details?.["free_bytes"]) - 5 * MB);
    const fits = await open.push(await sleeperImage("fits"), "team/fits:1");
    expect((await system().deploy({ name: system().name(), image: fits })).final.status).toBe("Success");
  });
});
