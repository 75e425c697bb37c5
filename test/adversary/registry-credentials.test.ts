import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RegistryAuth } from "../../src/agent/registry/registry.ts";
import { BASIC, client, failure, MACHINE, RegistryRig, soon, USER } from "../contract/registry/rig.ts";
import { CertificateAuthority } from "../support/link/certificates.ts";
import type { RegistryProxyResponse, RegistryProxy } from "../support/registry/registry-proxy.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import { sharedSystem } from "../support/system/test-system.ts";

// Every proxy listens on all addresses of this machine and acts as several hosts: 127.0.0.1 is a registry on this
// machine, the others of 127.0.0.0/8 are other hosts, and `outsideHost` is a remote registry.

const IDENTITY: RegistryAuth = { kind: "identity", username: "", identityToken: "identity-token-planted" };
const BASIC_HEADER = `Basic ${Buffer.from(`${USER.name}:${USER.password}`).toString("base64")}`;

let rig: RegistryRig;
beforeAll(async () => {
  rig = await RegistryRig.start();
});
afterAll(() => rig[Symbol.asyncDispose]());

const at = (host: string, { port }: RegistryProxy): string => `${host}:${port}`;
const challenge = (realm: string): RegistryProxyResponse => {
  return { status: 401, headers: { "WWW-Authenticate": `Bearer realm="${realm}",service="s"` } };
};
const token = (): RegistryProxyResponse => ({ status: 200, body: JSON.stringify({ token: "given-by-somebody" }) });

/** Issues a token to anyone and records the credentials it receives. */
const collectingServer = (): Promise<RegistryProxy> => rig.front({ intercept: () => token() });

describe("a storage host behind a redirect", () => {
  test.each([
    ["user name and password", BASIC],
    ["an identity token", IDENTITY],
  ])("does not get %s by an authentication challenge", async (_what, auth) => {
    const collector = await collectingServer();
    for (const realm of [`http://${at("127.0.0.3", collector)}/token`, "basic"]) {
      const wanted =
        realm === "basic" ? { status: 401, headers: { "WWW-Authenticate": 'Basic realm="x"' } } : undefined;
      const storage = await rig.front({ intercept: () => wanted ?? challenge(realm) });
      const registry = await rig.front({
        intercept: ({ path }) => ({ status: 307, headers: { Location: `http://${at("127.0.0.2", storage)}${path}` } }),
      });
      const error = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, auth, soon()));
      expect(error).toMatchObject({ kind: "image_denied", message: expect.stringContaining("127.0.0.2") });
      expect(storage.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    }
    expect(collector.requests).toEqual([]);
  });

  test("does not get the token of the registry's token server", async () => {
    const storage = await rig.front({ intercept: () => ({ status: 200, body: "{}" }) });
    const registry = await rig.front({
      tokens: { user: USER },
      intercept: ({ path, headers }) =>
        path.startsWith("/v2/") && headers.authorization !== undefined
          ? { status: 302, headers: { Location: `http://${at("127.0.0.1", storage)}${path}` } }
          : undefined,
    });
    await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, BASIC, soon()));
    expect(storage.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

describe("a registry's token server", () => {
  test.each([
    ["user name and password", BASIC],
    ["an identity token", IDENTITY],
  ])("on an unrelated host does not get %s", async (_what, auth) => {
    const collector = await collectingServer();
    const host = at("127.0.0.3", collector);
    const registry = await rig.front({ intercept: () => challenge(`http://${host}/token`) });
    const error = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, auth, soon()));
    expect(error).toMatchObject({ kind: "refused_target", message: expect.stringContaining(host) });
    expect(error.message).toContain("auth_hosts");
    expect(collector.requests).toEqual([]);
  });

  test("on another host gets the credentials if the configuration names that host", async () => {
    const server = await collectingServer();
    const host = at("127.0.0.3", server);
    const registry = await rig.front({
      intercept: ({ headers }) =>
        headers.authorization === "Bearer given-by-somebody" ? undefined : challenge(`http://${host}/token`),
    });
    const reference = `${registry.host}/team/app:1`;
    expect((await client().resolve(reference, MACHINE, undefined, soon())).config.digest).toBe(rig.image.id);
    for (const auth_hosts of [["127.0.0.3"], [host]]) {
      const known = { registries: [{ host: registry.host, insecure: false, auth_hosts }] };
      expect((await client(known).resolve(reference, MACHINE, BASIC, soon())).config.digest).toBe(rig.image.id);
    }
    const other = { registries: [{ host: registry.host, insecure: false, auth_hosts: ["127.0.0.3:1"] }] };
    expect((await failure(client(other).resolve(reference, MACHINE, BASIC, soon()))).kind).toBe("refused_target");
    const shown = server.requests.map(({ headers }) => headers.authorization);
    expect(shown).toEqual([undefined, BASIC_HEADER, BASIC_HEADER]);
  });

  test("that redirects to another host does not forward the credentials", async () => {
    const collector = await collectingServer();
    const registry = await rig.front({
      intercept: ({ path, headers }) =>
        path.startsWith("/token")
          ? { status: 307, headers: { Location: `http://${at("127.0.0.3", collector)}/token` } }
          : headers.authorization?.startsWith("Bearer ")
            ? undefined
            : challenge(`http://${headers.host}/token`),
    });
    await client().resolve(`${registry.host}/team/app:1`, MACHINE, BASIC, soon());
    expect(collector.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test("that echoes the credentials does not get them into an error message", async () => {
    for (const code of [401, 500]) {
      const registry = await rig.front({
        intercept: ({ path, headers }) => {
          if (!path.startsWith("/token")) return challenge(`http://${headers.host}/token`);
          const { authorization = "" } = headers;
          const message = `no: ${authorization} ${USER.password} ${encodeURIComponent(USER.password)}`;
          return { status: code, body: JSON.stringify({ errors: [{ code: "NO", message }] }) };
        },
      });
      const error = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, BASIC, soon()));
      expect(error.message).not.toContain(USER.password);
      expect(error.message).not.toContain(encodeURIComponent(USER.password));
      expect(error.message).not.toContain(BASIC_HEADER.slice("Basic ".length, -4));
    }
  });
});

/** Notations of this machine's addresses. */
const LOCAL_HOSTS = [
  "127.0.0.1",
  "127.9.8.7",
  "localhost",
  "LOCALHOST",
  "2130706433",
  "0x7f.1",
  "017700000001",
  "0.0.0.0",
  "0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[0:0:0:0:0:ffff:7f00:1]",
];
/** Link-local addresses, where clouds and modems serve metadata. */
const LINK_HOSTS = ["169.254.169.254", "0xa9fea9fe", "[fe80::1]", "[::ffff:169.254.169.254]"];

const places = (victim: RegistryProxy): string[] => {
  return [...LOCAL_HOSTS.map((host) => at(host, victim)), ...LINK_HOSTS.map((host) => `${host}:80`)];
};
const open = (registry: RegistryProxy) => {
  return client({ registries: [{ host: registry.outsideHost, insecure: true }] }, 3_000);
};

describe("a remote registry", () => {
  test("cannot redirect to this machine or its link", async () => {
    const victim = await rig.front({ intercept: () => ({ status: 200, body: "{}" }) });
    for (const place of places(victim)) {
      const registry = await rig.front({
        intercept: () => ({ status: 307, headers: { Location: `http://${place}/admin?do=it` } }),
      });
      const reference = `${registry.outsideHost}/team/app:1`;
      const error = await failure(open(registry).resolve(reference, MACHINE, BASIC, soon()));
      expect({ place, kind: error.kind }).toEqual({ place, kind: "refused_target" });
    }
    expect(victim.requests).toEqual([]);
  });

  test("cannot lead there by the address of its token server, or by a redirect from that", async () => {
    const victim = await rig.front({ intercept: () => token() });
    for (const place of places(victim)) {
      for (const isDirect of [true, false]) {
        const registry = await rig.front({
          intercept: ({ path, headers }) => {
            if (isDirect) return challenge(`http://${place}/token`);
            if (!path.startsWith("/token")) return challenge(`http://${headers.host}/token`);
            return { status: 302, headers: { Location: `http://${place}/token` } };
          },
        });
        const reference = `${registry.outsideHost}/team/app:1`;
        for (const auth of [undefined, BASIC]) {
          const error = await failure(open(registry).resolve(reference, MACHINE, auth, soon()));
          expect({ place, kind: error.kind }).toEqual({ place, kind: "refused_target" });
        }
      }
    }
    expect(victim.requests).toEqual([]);
  });

  test("cannot lead there over an open connection of another registry", async () => {
    const victim = await rig.front();
    const registry = await rig.front({
      intercept: () => ({ status: 307, headers: { Location: `http://${at("localhost", victim)}/v2/team/app/x` } }),
    });
    const one = open(registry);
    await one.resolve(`${at("localhost", victim)}/team/app:1`, MACHINE, undefined, soon());
    const before = victim.requests.length;
    const error = await failure(one.resolve(`${registry.outsideHost}/team/app:1`, MACHINE, undefined, soon()));
    expect(error.kind).toBe("refused_target");
    expect(victim.requests).toHaveLength(before);
  });

  test("may redirect to another host of a private network", async () => {
    const storage = await rig.front();
    const registry = await rig.front({
      intercept: ({ path }) => ({ status: 307, headers: { Location: `http://${storage.outsideHost}${path}` } }),
    });
    const resolved = await open(registry).resolve(`${registry.outsideHost}/team/app:1`, MACHINE, undefined, soon());
    expect(resolved.config.digest).toBe(rig.image.id);
  });

  test("with TLS cannot redirect to a host without it", async () => {
    const authority = await CertificateAuthority.create(rig.directory, "downgrade");
    const plain = await rig.front({ intercept: () => token() });
    const tls = await authority.issue(`IP:${plain.outsideHost.split(":")[0]}`);
    for (const location of [`http://${plain.outsideHost}/x`, `http://${plain.host}/x`]) {
      for (const answer of [{ status: 307, headers: { Location: location } }, challenge(location)]) {
        const secure = await rig.front({ tls, intercept: () => answer });
        const trusting = client({ extraCa: authority.cert });
        const error = await failure(trusting.resolve(`${secure.outsideHost}/team/app:1`, MACHINE, BASIC, soon()));
        expect(error.kind).toBe("refused_target");
      }
    }
    expect(plain.requests).toEqual([]);
  });
});

describe("a device", () => {
  const system = sharedSystem();

  test("sends a deployment's credentials to no unrelated token server, neither itself nor through its engine", async () => {
    const collector = await collectingServer();
    const registry = await rig.front({ intercept: () => challenge(`http://${at("127.0.0.3", collector)}/token`) });
    const auth = { username: USER.name, password: USER.password };
    const app = { name: system().name(), image: `${registry.host}/team/app:1`, registry_auth: auth };
    const event = await expectFailure(system(), app, "ImagePullBackOff");
    expect(collector.requests).toEqual([]);
    expect(event).toMatchObject({ details: { reason: "refused_target" } });
  });
});
