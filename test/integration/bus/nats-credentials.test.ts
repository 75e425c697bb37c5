import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { NatsOptions } from "../../../src/control-plane/bus/nats/options.ts";
import { createKeyUser, createOperator } from "../../support/bus/nats-credentials.ts";
import { NatsRig } from "../../support/bus/nats-rig.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";

const PASSWORD_USERS = ['authorization { users: [ { user: "edge", password: "s3cret-pass" } ] }'];

async function file(server: NatsServer, name: string, content: string): Promise<string> {
  const path = join(server.folder, name);
  await writeFile(path, content);
  return path;
}

async function expectUp(options: NatsOptions): Promise<void> {
  await using rig = new NatsRig(options);
  await rig.reach("up");
}

test("a user and a password", async () => {
  await using server = await NatsServer.start({ config: PASSWORD_USERS });
  const passwordFile = await file(server, "password", "s3cret-pass\n");
  await expectUp(server.options({ kind: "password", user: "edge", passwordFile }));
});

test("a key", async () => {
  const { publicKey, seed } = createKeyUser();
  await using server = await NatsServer.start({ config: [`authorization { users: [ { nkey: ${publicKey} } ] }`] });
  await expectUp(server.options({ kind: "nkey", seedFile: await file(server, "seed", `${seed}\n`) }));
});

test("a creds file", async () => {
  const { config, creds } = createOperator();
  await using server = await NatsServer.start({ config });
  await expectUp(server.options({ kind: "creds", credsFile: await file(server, "user.creds", creds) }));
});

test("a wrong password is said without it, and one that is put right is used without a restart", async () => {
  await using server = await NatsServer.start({ config: PASSWORD_USERS });
  const passwordFile = await file(server, "password", "wrong-pass");
  await using rig = new NatsRig(server.options({ kind: "password", user: "edge", passwordFile }));
  await rig.failedFor(/authorization violation/i);
  expect(rig.link.state).toBe("down");
  await file(server, "password", "s3cret-pass");
  await rig.reach("up");
  expect(rig.changes).toEqual(["not connected to NATS", "connected to NATS"]);
  expect(JSON.stringify(rig.lines)).not.toContain("-pass");
});

test.each(["creds", "nkey"] as const)("a %s file without credentials is named, and not quoted", async (kind) => {
  await using server = await NatsServer.start();
  const path = await file(server, "broken", "SUNOTASEED");
  await using rig = new NatsRig(
    server.options(kind === "creds" ? { kind, credsFile: path } : { kind, seedFile: path }),
  );
  await rig.failedFor(/broken contains no valid credentials/);
  expect(JSON.stringify(rig.lines)).not.toContain("NOTASEED");
});

test("a missing file is named", async () => {
  await using server = await NatsServer.start();
  await using rig = new NatsRig(server.options({ kind: "token", tokenFile: join(server.folder, "nowhere") }));
  await rig.failedFor(/nowhere/);
});

test("a server that no trusted authority has signed is refused", async () => {
  await using server = await NatsServer.start({ tls: "server" });
  const other = await CertificateAuthority.create(server.folder, "other-ca");
  const caFile = await file(server, "other.pem", other.cert);
  await using rig = new NatsRig(server.options({ kind: "none" }, { caFile }));
  await rig.failedFor(/certificate/);
});

test("a server whose certificate is for another name is refused", async () => {
  await using server = await NatsServer.start({ tls: "server" });
  const { urls, ...others } = server.options();
  await using rig = new NatsRig({ ...others, urls: urls.map((url) => url.replace("127.0.0.1", "localhost")) });
  await rig.failedFor(/altnames/);
});

test("a server without TLS is refused where TLS is required", async () => {
  await using server = await NatsServer.start();
  const { urls, ...others } = server.options();
  await using rig = new NatsRig({ ...others, urls: urls.map((url) => url.replace("nats:", "tls:")) });
  await rig.failedFor(/does not support 'tls'/);
});

test("a client without the certificate that the server requires stays down", async () => {
  await using server = await NatsServer.start({ tls: "client" });
  await using rig = new NatsRig(server.options());
  await rig.failedFor(/./);
  expect(rig.link.state).toBe("down");
});

test("a server that carries only small messages is refused, with the size to set", async () => {
  await using server = await NatsServer.start({ config: ["max_payload: 65536"] });
  await using rig = new NatsRig(server.options());
  await rig.failedFor(/max_payload is 65536; set it to 327680 or more/);
});

test("a user that may not subscribe stays down, with the subject", async () => {
  const permissions = 'permissions: { subscribe: { deny: "test.>" } }';
  await using server = await NatsServer.start({
    config: [`authorization { users: [ { user: "edge", password: "p", ${permissions} } ] }`],
  });
  const passwordFile = await file(server, "password", "p");
  await using rig = new NatsRig(server.options({ kind: "password", user: "edge", passwordFile }));
  using _subscription = rig.link.listen("access", () => undefined);
  await rig.failedFor(/permissions violation.*test\.access/i);
});
