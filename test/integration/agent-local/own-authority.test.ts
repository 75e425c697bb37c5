import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { ControlPeer } from "../../support/link/control-peer.ts";
import { waitFor } from "../../support/wait-for.ts";

interface LinkStatus {
  readonly link: { readonly state: string; readonly last_error: { readonly reason: string } | null };
}

const environmentOf = async (pid: number): Promise<string[]> =>
  (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0");

describe("a daemon whose control plane has an authority of its own", () => {
  const owned = { current: new AsyncDisposableStack() };
  let device: LocalAgent;
  let caFile: string;
  let url: string;
  let ca: CertificateAuthority;

  beforeEach(async () => {
    owned.current = new AsyncDisposableStack();
    device = owned.current.use(await LocalAgent.create());
    ca = await CertificateAuthority.create(device.directory, "ca");
    caFile = join(device.directory, "extra-ca.pem");
    await writeFile(caFile, ca.cert);
    const peer = owned.current.use(await ControlPeer.start({ tls: await ca.issue("IP:127.0.0.1") }));
    url = `wss://127.0.0.1:${peer.port}/v1/agent`;
  });
  afterEach(() => owned.current.disposeAsync());

  const until = async (what: string, isSo: (status: LinkStatus) => boolean): Promise<void> => {
    await waitFor(what, async () => isSo(await device.json<LinkStatus>("status")));
  };

  it("trusts it for all connections, under the same process id", async () => {
    await device.configure({ url, config: { extra_ca_file: caFile } });
    const { pid } = await device.start({ NODE_EXTRA_CA_CERTS: undefined });
    await until("the link", ({ link }) => link.state === "online");
    expect(await environmentOf(pid)).toContain(`NODE_EXTRA_CA_CERTS=${caFile}`);
    expect((await device.json<{ agent: { pid: number } }>("status")).agent.pid).toBe(pid);
  });

  it("does not take it for a changed setting when the configuration is read again, unless it was changed", async () => {
    await device.configure({ url, config: { extra_ca_file: caFile } });
    const daemon = await device.start({ NODE_EXTRA_CA_CERTS: undefined });
    await until("the link", ({ link }) => link.state === "online");
    daemon.kill("SIGHUP");
    await daemon.waitForOutput("the configuration was read again");
    await writeFile(caFile, `${ca.cert}${(await CertificateAuthority.create(device.directory, "next")).cert}`);
    daemon.kill("SIGHUP");
    await daemon.waitForOutput("take effect only after a restart");
    const output = daemon.stdout() + daemon.stderr();
    expect(output.match(/take effect only after a restart/g)).toHaveLength(1);
    expect(output).toMatch(/settings[^\n]*extra_ca_file/);
  });

  it("trusts it also if the environment names other certificates", async () => {
    const stranger = await CertificateAuthority.create(device.directory, "stranger");
    const strangers = join(device.directory, "strangers.pem");
    await writeFile(strangers, stranger.cert);
    await device.configure({ url, config: { extra_ca_file: caFile } });
    const { pid } = await device.start({ NODE_EXTRA_CA_CERTS: strangers });
    await until("the link", ({ link }) => link.state === "online");
    expect(await environmentOf(pid)).toContain(`NODE_EXTRA_CA_CERTS=${strangers}`);
  });

  it("reports a file without valid certificates, and keeps trying", async () => {
    await writeFile(caFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    await device.configure({ url, config: { extra_ca_file: caFile } });
    await device.start();
    await until("the reason", ({ link }) =>
      (link.last_error?.reason ?? "").includes("certificate number 1 of extra_ca_file cannot be read"),
    );
  });

  it("does not trust it unless configured", async () => {
    await device.configure({ url });
    await device.start();
    await until("the reason", ({ link }) => (link.last_error?.reason ?? "").includes("extra_ca_file"));
  });
});
