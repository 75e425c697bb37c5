import { mkdir, writeFile } from "node:fs/promises";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { freePort } from "../../support/free-port.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { SilentServer } from "../../support/link/silent-server.ts";
import { Registry } from "../../support/registry.ts";

interface Check {
  readonly id: string;
  readonly verdict: string;
  readonly text: string;
  readonly next?: string;
}

const USER = { name: "gateway", password: "pl4nted-p4ssword" };

describe("doctor: registries", () => {
  let device: LocalAgent;
  beforeEach(async () => {
    device = await LocalAgent.create();
  });
  afterEach(() => device[Symbol.asyncDispose]());

  const look = async (...registries: readonly object[]): Promise<Check | undefined> => {
    await device.configure({ config: { registries } });
    const { stdout } = await device.command("doctor", "--json");
    expect(stdout).not.toContain(USER.password);
    return (JSON.parse(stdout) as { checks: Check[] }).checks.find(({ id }) => id === "registry");
  };

  const install = async (image: string): Promise<void> => {
    const spec = appSpecSchema.parse({ name: "web", image });
    await mkdir(device.stateDir);
    using store = openSqliteStore({ path: join(device.stateDir, "agent.db"), clock: systemClock, bootId: "boot" });
    const installed = {
      imageId: "sha256:1",
      containerId: "c",
      previousImageId: undefined,
      desired: "running",
    } as const;
    store.save({ app: { name: "web", deploymentId: "d", spec, ...installed } });
  };

  it("none is configured or used", async () => {
    expect(await look()).toMatchObject({ verdict: "good", text: expect.stringContaining("None") as string });
  });

  it("one that accepts the credentials, one that rejects them, and one that requires some", async () => {
    await using registry = await Registry.start({ user: USER });
    const { host } = registry;
    const right = { host, username: USER.name, password: USER.password };
    expect(await look(right)).toMatchObject({ verdict: "good", text: `${host} takes the credentials.` });
    const wrong = await look({ ...right, password: "wrong" });
    expect(wrong).toMatchObject({ verdict: "bad", text: expect.stringContaining(host) as string });
    expect(wrong?.next).toMatch(/Correct the credentials/);
    // As a host with a certificate of its own: without credentials, deployments bring them.
    expect(await look({ host, insecure: true })).toMatchObject({
      verdict: "good",
      text: expect.stringContaining("wants credentials") as string,
    });
  });

  it("of two, the one that does not listen is named", async () => {
    await using registry = await Registry.start();
    const gone = `127.0.0.1:${await freePort()}`;
    const check = await look({ host: registry.host, insecure: true }, { host: gone, insecure: true });
    expect(check).toMatchObject({ verdict: "bad", text: expect.stringMatching(`${gone}.*nothing listens`) as string });
    expect(check?.text).not.toContain(registry.host);
  });

  // On the loopback engines do not look at certificates, and neither does the agent.
  const own = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.internal === false && address.family === "IPv4")?.address;

  it.skipIf(own === undefined)("one whose certificate nobody vouches for, and what to do", async () => {
    const ca = await CertificateAuthority.create(device.directory, "ca");
    const { cert, key } = await ca.issue("IP:127.0.0.1");
    const server = createServer({ cert, key }, (_request, response) => response.end("{}"));
    const address = await new Promise<string>((resolve) => {
      server.listen(0, own, () => resolve(`${own}:${(server.address() as AddressInfo).port}`));
    });
    try {
      const check = await look({ host: address, username: "a", password: "bbbb" });
      expect(check).toMatchObject({ verdict: "bad", next: expect.stringContaining("ca_file") as string });
      const caFile = join(device.directory, "registry-ca.pem");
      await writeFile(caFile, ca.cert);
      expect((await look({ host: address, ca_file: caFile }))?.text).toMatch(/another host name/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it("one that an app uses and that is not configured is a warning only", async () => {
    const registry = `127.0.0.1:${await freePort()}`;
    await install(`${registry}/team/web:1`);
    expect(await look()).toMatchObject({ verdict: "warning", text: expect.stringContaining(registry) as string });
    expect(await look({ host: registry, insecure: true })).toMatchObject({ verdict: "bad" });
  });

  it.skipIf(own === undefined)(
    "one without TLS is not blamed while the engine, which may allow it, is down",
    async () => {
      const server = createPlainServer((_request, response) => response.end("{}"));
      const address = await new Promise<string>((resolve) => {
        server.listen(0, own, () => resolve(`${own}:${(server.address() as AddressInfo).port}`));
      });
      try {
        await install(`${address}/team/web:1`);
        expect(await look()).toMatchObject({
          verdict: "good",
          text: expect.stringContaining("engine's to say") as string,
        });
        expect(await look({ host: address })).toMatchObject({ verdict: "bad" });
      } finally {
        server.closeAllConnections();
        server.close();
      }
    },
  );

  it("one that accepts the connection and sends nothing", async () => {
    await using silent = await SilentServer.start();
    // On a busy machine the time for all checks may be over first.
    expect(await look({ host: `127.0.0.1:${silent.port}`, insecure: true })).toMatchObject({
      verdict: "bad",
      text: expect.stringMatching(/no answer within 4000 ms|does not answer/) as string,
    });
  });
});
