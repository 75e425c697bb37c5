import { VERSION } from "../../../src/lib/version.ts";
import { isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import type { Suite } from "../../support/device/device-image.ts";
import { median, type Paired, paired } from "../measure.ts";
import { atMost, type Bench, inMilliseconds, type Row } from "../result.ts";
import { debianOf, Gateway } from "./gateway.ts";
import { Site } from "./site.ts";

/** The service keeps ten releases. */
const MAX_RELEASES = 10;
const END_MS = 300_000;

/**
 * How long a device is away for an update of its agent, from the end of a session to the next one, beside `systemctl restart`
 * on the same device, in turns. Each update is of another release, as in use: its code was never compiled on the device.
 */
export const agentAway: Bench = {
  name: "agent-away",
  isOnRequest: true,
  async run({ quick }) {
    // One more for the first round, which is not counted.
    const rounds = quick ? 2 : MAX_RELEASES - 1;
    await using site = await Site.start("agent-away");
    const versions = Array.from({ length: rounds + 1 }, (_, round) => `${VERSION}+${round + 1}`);
    for (const version of versions) await site.serveRelease(version);
    const suites: readonly Suite[] = quick ? ["trixie"] : ["trixie", "bookworm"];
    const measured: Record<string, Paired> = {};
    for (const suite of suites) {
      await using gateway = await Gateway.start(site, { name: `GW-${suite}`, suite });
      measured[debianOf(suite)] = await paired(
        rounds,
        (round) => update(site, gateway, versions[round] ?? ""),
        () => gateway.restartService(),
      );
    }
    return { data: { rounds, measured }, rows: Object.entries(measured).map(toRow) };
  },
};

/** Goes back afterwards. */
async function update(site: Site, gateway: Gateway, version: string): Promise<number> {
  const back = gateway.untilBack();
  using deployment = await site.backend.updateAgent(gateway.asset, { version });
  const awayMs = await back;
  if ((await gateway.version()) !== version) throw new Error(`${version} does not run`);
  const returned = gateway.untilBack();
  await gateway.device.succeed("edge-agent pin package");
  await returned;
  await deployment.event(`the end of ${version}`, isFinal, END_MS);
  await gateway.device.succeed("edge-agent pin none");
  return awayMs;
}

function toRow([system, { ours, reference, ratio }]: readonly [string, Paired]): Row {
  return {
    what: `release of the agent, ${system}: away, median`,
    value: inMilliseconds(median(ours)),
    reference: `systemctl restart: ${inMilliseconds(median(reference))}`,
    ratio,
    target: atMost(1.2, "x", ratio),
  };
}
