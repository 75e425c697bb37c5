import { afterEach, beforeEach, expect, it } from "vitest";
import { countConnections } from "../../../../src/agent/daemon/registry-clients.ts";
import { NetworkWatch } from "../../../../src/agent/ledger/network-watch.ts";
import { TrafficLedger } from "../../../../src/agent/ledger/traffic-ledger.ts";
import { createRegistryClient } from "../../../../src/agent/registry/oci-client.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeNetwork } from "../../../support/fake-network.ts";
import { CertificateAuthority } from "../../../support/link/certificates.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { UpdateAgentRig } from "../../../support/updates/update-agent-rig.ts";
import { waitFor } from "../../../support/wait-for.ts";

/** What ends a TLS connection; who has ended it first does not read the other's. */
const CLOSING_BYTES = 24;

let owned: AsyncDisposableStack;
let rig: UpdateAgentRig;
let ledger: TrafficLedger;

beforeEach(async () => {
  owned = new AsyncDisposableStack();
  const { path } = owned.use(await tempDir());
  const authority = await CertificateAuthority.create(path, "authority");
  rig = owned.use(await UpdateAgentRig.create(await authority.issue("IP:127.0.0.1")));
  const network = new FakeNetwork();
  const { clock, store } = rig;
  const watch = new NetworkWatch(network, clock);
  const { logger } = captureLogText();
  ledger = owned.use(new TrafficLedger({ store: store.ledger, network, watch, clock, logger, bootId: "boot" }));
  const registry = createRegistryClient({
    clock,
    userAgent: "edge-agent/test",
    // Loopback needs no trusted certificate.
    trust: () => Promise.resolve({ insecure: true }),
    onConnection: countConnections(ledger, "agent"),
  });
  rig.services = { source: { registry }, bounds: { ledger, freeBytes: () => Promise.resolve(1_000_000) } };
  await rig.restart();
});
afterEach(() => owned[Symbol.asyncDispose]());

/** What has come to the registry's connections, and gone out of them. */
const carried = (): number =>
  rig.registry.server.connections.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);

const counted = (): number =>
  ledger.read("0000", "9999").traffic.reduce((sum, { sent, received }) => sum + sent + received, 0);

it("a release that is refused for want of disk costs one connection, all of which is counted, with TLS and headers", async () => {
  rig.update("dep_1", { image: await rig.push("1.1.0") });
  expect(await rig.ended("dep_1")).toMatchObject({ code: "InsufficientDisk" });
  await waitFor("both ends to have counted the same", () => {
    const unread = carried() - counted();
    return unread >= 0 && unread <= CLOSING_BYTES;
  });
  const { traffic } = ledger.read("0000", "9999");
  expect(new Set(traffic.map(({ purpose }) => purpose))).toEqual(new Set(["agent"]));
  const documents = traffic.find(({ deployment }) => deployment === "dep_1");
  const rest = traffic.find(({ deployment }) => deployment === "");
  expect(documents?.received).toBeGreaterThan(0);
  expect([rest?.sent, rest?.received].every((bytes) => bytes !== undefined && bytes > 0)).toBe(true);
  expect(rig.registry.server.connections).toHaveLength(1);
});
