import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { TrustOptions } from "../../../src/agent/registry/trust.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { ConnectProxy } from "../../support/link/connect-proxy.ts";
import { SilentServer } from "../../support/link/silent-server.ts";
import { BASIC, MACHINE, client, failure, soon, RegistryRig } from "./rig.ts";

let rig: RegistryRig;

beforeAll(async () => {
  rig = await RegistryRig.start();
});

afterAll(() => rig[Symbol.asyncDispose]());

describe("TLS", () => {
  test("with a private certificate authority is trusted by each configuration option", async () => {
    const authority = await CertificateAuthority.create(rig.directory, "authority");
    const registry = await rig.front();
    const name = registry.outsideHost.split(":")[0] ?? "";
    const secure = await rig.front({ tls: await authority.issue(`IP:${name}`) });
    const host = secure.outsideHost;
    const error = await failure(client().resolve(`${host}/team/app:1`, MACHINE, undefined, soon()));
    expect(error).toMatchObject({ kind: "registry_untrusted", message: expect.stringContaining("certificate") });

    const certs = join(rig.directory, "certs.d");
    await mkdir(join(certs, host), { recursive: true });
    await writeFile(join(certs, host, "ca.crt"), authority.cert);
    const ways: Partial<TrustOptions>[] = [
      { extraCa: authority.cert },
      { registries: [{ host, insecure: false, ca_file: join(certs, host, "ca.crt") }] },
      { certificateDirectories: [certs] },
      { registries: [{ host, insecure: true }] },
      { engineInsecure: async () => [host] },
    ];
    for (const way of ways) {
      const resolved = await client(way).resolve(`${host}/team/app:1`, MACHINE, undefined, soon());
      expect(resolved.config.digest).toBe(rig.image.id);
    }
  });

  test("is required of every registry except those on loopback and those listed as insecure", async () => {
    const plain = await rig.front();
    const host = plain.outsideHost;
    const error = await failure(client().resolve(`${host}/team/app:1`, MACHINE, BASIC, soon()));
    expect(error).toMatchObject({ kind: "registry_untrusted", message: expect.stringContaining("does not speak TLS") });
    expect(plain.requests).toEqual([]);
    const insecure = { registries: [{ host, insecure: true }] };
    await client(insecure).resolve(`${host}/team/app:1`, MACHINE, undefined, soon());
  });

  test("is required of redirect targets and token servers of a registry with TLS", async () => {
    const authority = await CertificateAuthority.create(rig.directory, "strict");
    const plain = await rig.front();
    const tls = await authority.issue(`IP:${plain.outsideHost.split(":")[0]}`);
    const location = `http://${plain.outsideHost}/x`;
    const answers = [
      { status: 307, headers: { Location: location } },
      { status: 401, headers: { "WWW-Authenticate": `Bearer realm="${location}",service="s"` } },
    ];
    for (const answer of answers) {
      const secure = await rig.front({ tls, intercept: () => answer });
      const trusting = client({ extraCa: authority.cert });
      const error = await failure(trusting.resolve(`${secure.outsideHost}/team/app:1`, MACHINE, BASIC, soon()));
      expect(error).toMatchObject({ kind: "refused_target", message: expect.stringContaining("without TLS") });
    }
    expect(plain.requests).toEqual([]);
  });
});

describe("a registry that is unavailable", () => {
  test("is retried after its Retry-After", async () => {
    const headers = { "Retry-After": "7" };
    const cases = [
      [429, "rate_limited"],
      [503, "registry_unreachable"],
    ] as const;
    for (const [status, kind] of cases) {
      const busy = await rig.front({ intercept: () => ({ status, headers }) });
      const error = await failure(client().resolve(`${busy.host}/team/app:1`, MACHINE, undefined, soon()));
      expect(error).toMatchObject({ kind, retryAfterMs: 7000 });
    }
  });

  test("fails after a timeout", async () => {
    await using silent = await SilentServer.start();
    const error = await failure(
      client({}, 300).resolve(`127.0.0.1:${silent.port}/team/app:1`, MACHINE, undefined, soon()),
    );
    expect(error).toMatchObject({ kind: "registry_unreachable", message: expect.stringContaining("300 ms") });
  });

  test("is abandoned as soon as the caller aborts", async () => {
    await using silent = await SilentServer.start();
    const stopped = new AbortController();
    const pending = client().resolve(`127.0.0.1:${silent.port}/team/app:1`, MACHINE, undefined, stopped.signal);
    stopped.abort(new Error("enough"));
    await expect(pending).rejects.toThrow("enough");
  });

  test("is named in the error if nothing listens", async () => {
    const error = await failure(client().resolve("127.0.0.1:1/team/app:1", MACHINE, undefined, soon()));
    expect(error).toMatchObject({ kind: "registry_unreachable", message: expect.stringContaining("127.0.0.1:1") });
  });
});

function useProxy(port: number): void {
  for (const name of ["http_proxy", "https_proxy"]) vi.stubEnv(name, `http://127.0.0.1:${port}`);
}

describe("a proxy", () => {
  test("is used for remote registries, and its refusal is reported as the proxy's", async () => {
    const registry = await rig.front();
    const insecure = { registries: [{ host: registry.outsideHost, insecure: true }] };
    const reference = `${registry.outsideHost}/team/app:1`;
    await using proxy = await ConnectProxy.start();
    await using refusing = await ConnectProxy.start({ answer: "HTTP/1.1 407 Who are you\r\n\r\n" });
    try {
      useProxy(proxy.port);
      await client(insecure).resolve(reference, MACHINE, undefined, soon());
      expect(proxy.targets).toContain(registry.outsideHost);
      await client(insecure).resolve(`${registry.host}/team/app:1`, MACHINE, undefined, soon());
      expect(proxy.targets).not.toContain(registry.host);
      useProxy(refusing.port);
      const error = await failure(client().resolve(reference, MACHINE, undefined, soon()));
      expect(error).toMatchObject({ kind: "registry_unreachable", message: expect.stringContaining("407") });
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
